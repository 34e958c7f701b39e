//! Copies objects of another file as they are stored: bytes, digests, attributes. Only components that the
//! version that is written cannot represent are decoded and encoded again.
//!
//! Whatever can be refused is refused before the first byte goes to the sink: `plan` checks every component
//! first, and decodes those that will be decoded.

mod plan;

use super::canonical::swap_width;
use super::copied::CopyKey;
use super::loss::{Agree, Loss, Losses};
use super::specs::{ObjectSpec, Recode};
use super::state::Writer;
use super::stream::component_entry;
use crate::container::capabilities::{Roles, SharedBytes};
use crate::digest::Hasher;
use crate::error::{fail, Error, Quoted, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, Format, LogicalType};
use crate::model::value::{Attributes, Kind, OwnedValue, Value};
use crate::reader::{Component, Object, StoredPlace};
use plan::Reencode;
pub(super) use plan::{Plan, Stored};

impl Writer {
    /// Copies an object of an open file under `name`, as it is stored.
    pub fn copy(&mut self, object: Object<'_>, name: &str) -> Result<()> {
        self.copy_as(object, name, &Recode::default())
    }

    /// Copies an object of an open file under `name`; with another encoding or digest its bytes are
    /// decoded and written anew, a chunk at a time.
    pub fn copy_as(&mut self, object: Object<'_>, name: &str, recode: &Recode) -> Result<()> {
        let allow = self.options.allow_damaged;
        self.copy_agreed(object, name, recode, &mut |loss, _| allow && loss == Loss::Damage).map(drop)
    }

    /// Copies an object as `copy_as` does, but leaves out what the file cannot represent, if `agree` allows
    /// it. Returns whether the object was copied.
    pub fn copy_agreed(
        &mut self,
        object: Object<'_>,
        name: &str,
        recode: &Recode,
        agree: &mut Agree<'_>,
    ) -> Result<bool> {
        self.check_idle()?;
        let (before, mut losses) = (self.position, Losses::new(agree));
        match self.copy_without(&object, name, recode, &mut losses) {
            Ok(()) => Ok(true),
            // The source failed halfway, which no check before can rule out. Half an object in the file would
            // be padding that is not zero, so the writer is poisoned.
            Err(e) if self.position != before && self.is_open() => Err(self.poison(e)),
            Err(e) if self.position != before => Err(e),
            Err(e) => {
                self.discard_object();
                losses.leave_object_out(e).map(|()| false)
            }
        }
    }

    fn copy_without(
        &mut self,
        object: &Object<'_>,
        name: &str,
        recode: &Recode,
        losses: &mut Losses<'_, '_>,
    ) -> Result<()> {
        let in_object = |e: Error| e.within(format_args!("object {}", Quoted(object.name_bytes())));
        self.check_copy(object)?;
        let spec = ObjectSpec { name, format: object.format_name(), shape: object.shape() };
        let as_new = |e: Error| match name.as_bytes() == object.name_bytes() {
            true => in_object(e),
            false => in_object(e.within(format_args!("as {name:?}"))),
        };
        self.check_object(&spec, &Attributes::default()).map_err(as_new)?;
        let to = self.capabilities();
        let check = |key: Option<&str>, value: Value<'_>| to.check_attribute(key, value).map_err(in_object);
        let attributes = losses.retain_attributes(attributes_of(object)?, check)?;
        self.begin(&spec, attributes)?;
        let recode = self.recode(recode);
        let plans = self.plan_copy(object, &recode, losses)?;
        self.check_plans(&plans, false)?;
        self.in_order(plans)?.into_iter().try_for_each(|plan| match plan {
            Plan::Stored(stored) => self.copy_stored(stored),
            Plan::Reencode(reencode) => self.reencode(&reencode),
        })?;
        self.push_object()
    }

    /// Refuses, before anything is written, what the file cannot represent.
    fn check_copy(&self, object: &Object<'_>) -> Result<()> {
        let to = self.capabilities();
        let in_object = |e: Error| e.within(format_args!("object {}", Quoted(object.name_bytes())));
        let format = object.format_name();
        if matches!(object.format(), Format::Other(_)) && to.format(format).is_some() {
            return Err(in_object(gains_a_meaning(format)));
        }
        // zTensor 2 opens an object that lacks a component, so a file of it may have one.
        let missing = |role: &&&str| !to.checks_objects() && object.component(role).is_none();
        if let Some(role) = object.format().required_roles().iter().find(missing) {
            return Err(in_object(
                to.cannot_represent(format_args!("the format {format:?} without a component {role:?}")),
            ));
        }
        object.components().try_for_each(|component| {
            self.check_bytes(object, &component)
                .and_then(|()| self.check_component_copy(&component))
                .map_err(in_object)
        })?;
        match to.roles {
            Roles::Only(role) if object.components().len() != 1 || object.component(role).is_none() => {
                Err(in_object(to.cannot_represent(format_args!("the components of the format {format:?}"))))
            }
            Roles::Any | Roles::Only(_) => Ok(()),
        }
    }

    /// Refuses a component whose dtype, type or encoding the file cannot represent.
    fn check_component_copy(&self, component: &Component<'_>) -> Result<()> {
        let to = self.capabilities();
        let cannot_represent =
            |what: &str, name: &str| to.cannot_represent(format_args!("the {what} {name:?}"));
        let dtype = component.dtype_name();
        let is_known_here = Dtype::from_name(dtype).is_some() || Dtype::from_compound_name(dtype).is_some();
        if component.dtype().is_none() && is_known_here {
            return Err(gains_a_meaning(dtype));
        }
        // If the container has one name for dtype and type, that of the type would stand for the unknown
        // dtype.
        if !to.has_type_field() && component.dtype().is_none() && component.known_logical().is_some() {
            return Err(cannot_represent("dtype and type", dtype));
        }
        match component.logical() {
            LogicalType::Absent | LogicalType::SameAsDtype => {}
            LogicalType::Known(logical) if logical.is_block_type() => {} // the format says it
            LogicalType::Known(_) | LogicalType::Other => {
                let logical = component.logical_name().unwrap_or_default();
                if component.known_logical().is_none() && to.knows_type(logical, component.dtype()) {
                    return Err(gains_a_meaning(logical));
                }
                to.check_logical(component.known_logical(), logical)?;
            }
        }
        if component.encoding() == Encoding::Other {
            let encoding = component.encoding_name();
            if !to.unknown_names {
                return Err(cannot_represent("encoding", encoding));
            }
            if to.knows_encoding(encoding) {
                return Err(gains_a_meaning(encoding));
            }
        }
        match to.unknown_names || component.dtype().is_some() {
            true => Ok(()),
            false => Err(cannot_represent("dtype", dtype)),
        }
    }

    /// Refuses a component whose size is unknown, or whose byte order cannot be kept or changed.
    fn check_bytes(&self, object: &Object<'_>, component: &Component<'_>) -> Result<()> {
        if component.dtype().is_none() && !component.file_states_sizes() {
            let name = component.dtype_name();
            return Err(fail!(Unsupported, "the type {name:?} is unknown, and so is how many bytes it has"));
        }
        let blocks = matches!(object.format(), Format::Blocks(_));
        if blocks && component.entry().is_big_endian() && !self.capabilities().big_endian {
            let name = object.format_name();
            return Err(fail!(
                Unsupported,
                "blocks of {name:?} in a big-endian file: nothing says which of their bytes to swap"
            ));
        }
        Ok(())
    }

    /// Copies a component's stored bytes and its entry.
    fn copy_stored(&mut self, stored: Stored<'_>) -> Result<()> {
        let Stored { component, mut entry, mut rare, hashes, is_damaged } = stored;
        self.damaged = self.damaged.saturating_add(u64::from(is_damaged));
        let copy = self.shareable(&component).map(CopyKey::stored);
        if let Some(copied) = copy.and_then(|copy| self.copied.find(&copy)) {
            entry.offset = copied.offset;
            rare.digest = rare.digest.or(copied.digest.filter(|_| hashes.is_some()));
            self.data_bytes = self.data_bytes.saturating_add(entry.size().unwrap_or(entry.stored_size));
            return self.push_component(entry, rare);
        }
        let content = self.content_of_pieces(None, |body| component.for_each_stored(body))?;
        if let Some(place) = self.find_equal(&content, Some(entry.stored_size)) {
            entry.offset = place;
            return self.push_component(entry, rare);
        }
        self.align(self.alignment_of(Some(entry.stored_size)))?;
        entry.offset = self.position;
        let mut hasher = hashes.map(Hasher::new);
        match component.digests_stored_bytes(self.capabilities().digest_of) {
            true => component.for_each_stored(&mut |chunk| self.write_and_hash(chunk, hasher.as_mut()))?,
            false => {
                if let Some(hasher) = &mut hasher {
                    component.for_each_digested(&mut |chunk| {
                        hasher.update(chunk);
                        Ok(())
                    })?;
                }
                component.for_each_stored(&mut |chunk| self.write_and_hash(chunk, None))?;
            }
        }
        if let Some(hasher) = hasher {
            rare.digest = Some(self.push_digest(&hasher.finish())?);
        }
        self.data_bytes = self.data_bytes.saturating_add(entry.size().unwrap_or(entry.stored_size));
        entry.offset = self.record_content(content, entry.stored_size, entry.offset)?;
        copy.map_or(Ok(()), |copy| self.copied.insert(copy, &entry, rare.digest))?;
        self.push_component(entry, rare)
    }

    /// Identifies the bytes of a component, if components of the written file may share bytes.
    fn shareable(&self, component: &Component<'_>) -> Option<StoredPlace> {
        // The canonical form knows equal bytes by themselves.
        let shares = self.canonical.is_none() && self.capabilities().shared_bytes == SharedBytes::All;
        component.stored_place().filter(|_| shares)
    }

    /// Decodes a component, converts it, and encodes it again.
    fn reencode(&mut self, reencode: &Reencode<'_>) -> Result<()> {
        self.damaged = self.damaged.saturating_add(u64::from(reencode.is_damaged));
        let copy = self.shareable(&reencode.component).map(|from| CopyKey::recoded(from, &reencode.spec));
        if let Some(copied) = copy.and_then(|copy| self.copied.find(&copy)) {
            let (mut entry, mut rare) = component_entry(self, &reencode.spec)?;
            (entry.offset, entry.stored_size) = (copied.offset, copied.stored_size);
            entry.set_size(reencode.spec.size);
            entry.set_size_declared(entry.encoding.has_declared_size());
            rare.digest = copied.digest;
            self.data_bytes = self.data_bytes.saturating_add(reencode.spec.size.unwrap_or(0));
            return self.push_component(entry, rare);
        }
        let content =
            self.content_of_pieces(swap_width(reencode.spec.dtype), |body| reencode.for_each(body))?;
        self.component_of(&reencode.spec, content)?;
        match reencode.is_borrowed_as_written() {
            true => reencode.component.for_each_stored(&mut |chunk| self.data(chunk))?,
            false => reencode.for_each(&mut |chunk| self.data(chunk))?,
        }
        self.end_component()?;
        match (copy, self.manifest.components.last()) {
            (Some(copy), Some(entry)) => {
                let digest = self.manifest.rare(entry).digest;
                self.copied.insert(copy, entry, digest)
            }
            _ => Ok(()),
        }
    }
}

impl Reencode<'_> {
    /// Whether the bytes that are written are the stored ones, and can be borrowed: large pieces are hashed
    /// while they are written.
    fn is_borrowed_as_written(&self) -> bool {
        let (component, dtype) = (&self.component, self.spec.dtype);
        let keeps_dtype = component.dtype().is_none_or(|from| from == dtype) && dtype != Dtype::Bool;
        let keeps_order = !component.entry().swaps() && !dtype.swaps(false);
        keeps_dtype && keeps_order && component.is_raw() && component.borrows_stored()
    }

    /// The bytes as they are written, in the host's order.
    fn for_each(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (component, dtype) = (&self.component, self.spec.dtype);
        let from = component.dtype().unwrap_or(dtype);
        let odd_bools = from == Dtype::Bool && component.any_byte_is_true();
        match from == dtype && !odd_bools {
            true => component.for_each_decoded(body),
            false => component.for_each_converted(dtype, body),
        }
    }
}

/// The attributes of a copy: those of the object, and for blocks of a container without attributes their
/// size.
fn attributes_of(object: &Object<'_>) -> Result<Attributes> {
    let mut attributes = Attributes::of(object.attributes())?;
    let is_foreign = object.components().any(|component| !component.file_states_sizes());
    if let (Format::Blocks(logical), true) = (object.format(), is_foreign) {
        let block = logical.block();
        for (key, number) in [("elems_per_block", block.elements), ("block_bytes", block.bytes)] {
            attributes.set(key, OwnedValue::scalar(Kind::Unsigned(number))?.get())?;
        }
    }
    Ok(attributes)
}

/// The error of a name that is unknown in the file that is copied, and must not begin to mean something in
/// the copy.
#[cold]
fn gains_a_meaning(name: &str) -> Error {
    fail!(Unsupported, "{name:?} is unknown in its file, but means something in the file that is written")
}
