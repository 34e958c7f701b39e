//! Objects of another file, as they are stored: bytes, digests, attributes. Only what the version
//! that is written cannot represent as it is stands is decoded and written anew.
//!
//! All that can be refused is refused before the first byte goes to the sink: `plan` looks at every component
//! first, and decodes what will be decoded.

mod plan;

use super::canonical::turned;
use super::copied::CopyOf;
use super::loss::{Agree, Losses};
use super::specs::{ObjectSpec, Recode};
use super::state::Writer;
use super::stream::component_entry;
use crate::container::capabilities::{Roles, SharedBytes};
use crate::error::{fail, Error, Quoted, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, Format, LogicalType};
use crate::model::value::{Attributes, Kind, OwnedValue, Value};
use crate::reader::{Component, Object, StoredPlace};
pub(super) use plan::Stored;
use plan::{Plan, Reencode};

impl Writer {
    /// Copies an object of an open file under `name`, as it is stored.
    pub fn copy(&mut self, object: Object<'_>, name: &str) -> Result<()> {
        self.copy_as(object, name, &Recode::default())
    }

    /// Copies an object of an open file under `name`; with another encoding or digest its bytes are
    /// decoded and written anew, a chunk at a time.
    pub fn copy_as(&mut self, object: Object<'_>, name: &str, recode: &Recode) -> Result<()> {
        self.copy_agreed(object, name, recode, &mut |_, _| false).map(drop)
    }

    /// Copies an object as `copy_as` does, without what the file cannot represent and `agree` says may be left out; whether the
    /// object is in the file.
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
            // The source failed halfway, which no look ahead can tell. Half an object in the file would be
            // padding that is not zero: then it is over for good.
            Err(e) if self.position != before && self.is_open() => Err(self.poison(e)),
            Err(e) if self.position != before => Err(e),
            Err(e) => {
                self.forget_object();
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
        let attributes = losses.keep(attributes_of(object)?, check)?;
        self.begin(&spec, attributes)?;
        let recode = self.recode(recode);
        let plans = self.plan_copy(object, &recode, losses)?;
        self.check_plans(&plans)?;
        self.in_order(plans)?.into_iter().try_for_each(|plan| match plan {
            Plan::Stored(stored) => self.copy_stored(stored),
            Plan::Reencode(anew) => self.reencode(&anew),
        })?;
        self.enter_object()
    }

    /// What can be refused before anything is written.
    fn check_copy(&self, object: &Object<'_>) -> Result<()> {
        let to = self.capabilities();
        let in_object = |e: Error| e.within(format_args!("object {}", Quoted(object.name_bytes())));
        let cannot_represent =
            |what: &str, name: &str| in_object(to.cannot_represent(format_args!("the {what} {name:?}")));
        // A name that meant nothing in its file must not begin to mean something in this one.
        let known = |name: &str| {
            fail!(
                Unsupported,
                "object {}: {name:?} is unknown in its file, but means something here",
                Quoted(object.name_bytes())
            )
        };
        if matches!(object.format(), Format::Other(_)) && to.format(object.format_name()).is_some() {
            return Err(known(object.format_name()));
        }
        // zTensor 2 opens an object that lacks one of them, and so may be one of its own.
        let missing = |role: &&&str| !to.checks_objects() && object.component(role).is_none();
        if let Some(role) = object.format().required_roles().iter().find(missing) {
            let name = object.format_name();
            return Err(in_object(
                to.cannot_represent(format_args!("the format {name:?} without a component {role:?}")),
            ));
        }
        for component in object.components() {
            self.check_bytes(object, &component).map_err(in_object)?;
            let name = component.dtype_name();
            let means = Dtype::from_name(name).is_some() || Dtype::from_compound_name(name).is_some();
            if component.dtype().is_none() && means {
                return Err(known(name));
            }
            // Where there is one name for both, the type's would stand for the unknown dtype.
            let one_name = !to.has_type_field();
            if one_name && component.dtype().is_none() && component.known_logical().is_some() {
                return Err(cannot_represent("dtype and type", name));
            }
            match component.logical() {
                LogicalType::Absent | LogicalType::SameAsDtype => {}
                LogicalType::Known(logical) if logical.is_block_type() => {} // the format says it
                LogicalType::Known(_) | LogicalType::Other => {
                    let logical = component.logical_name().unwrap_or_default();
                    if component.known_logical().is_none() && to.knows_type(logical, component.dtype()) {
                        return Err(known(logical));
                    }
                    to.check_logical(component.known_logical(), logical).map_err(in_object)?;
                }
            }
            if component.encoding() == Encoding::Other {
                let name = component.encoding_name();
                if !to.unknown_names {
                    return Err(cannot_represent("encoding", name));
                }
                if to.knows_encoding(name) {
                    return Err(known(name));
                }
            }
            if !to.unknown_names && component.dtype().is_none() {
                return Err(cannot_represent("dtype", component.dtype_name()));
            }
        }
        match to.roles {
            Roles::Only(role) if object.components().len() != 1 || object.component(role).is_none() => {
                Err(cannot_represent("components of the format", object.format_name()))
            }
            Roles::Any | Roles::Only(_) => Ok(()),
        }
    }

    /// Refuses a component of which nobody knows which bytes it has, or what these are.
    fn check_bytes(&self, object: &Object<'_>, component: &Component<'_>) -> Result<()> {
        if component.dtype().is_none() && !component.states_its_size() {
            let name = component.dtype_name();
            return Err(fail!(Unsupported, "the type {name:?} is unknown, and so is how many bytes it has"));
        }
        let blocks = matches!(object.format(), Format::Blocks(_));
        if blocks && component.entry().is_big_endian() && !self.capabilities().big_endian {
            let name = object.format_name();
            return Err(fail!(
                Unsupported,
                "blocks of {name:?} in a big-endian file: nothing says which of their bytes are turned"
            ));
        }
        Ok(())
    }

    /// Stored bytes, front to back; what the manifest said of them.
    fn copy_stored(&mut self, stored: Stored<'_>) -> Result<()> {
        let Stored { component, mut entry, rare } = stored;
        let copy = self.shareable(&component).map(CopyOf::stored);
        if let Some(copied) = copy.and_then(|copy| self.copied.find(&copy)) {
            entry.offset = copied.offset;
            self.data_bytes = self.data_bytes.saturating_add(entry.size().unwrap_or(entry.stored_size));
            return self.push_component(entry, rare);
        }
        let content = self.content_of_pieces(None, |body| component.for_each_stored(body))?;
        if let Some(place) = self.place_of(&content, Some(entry.stored_size)) {
            entry.offset = place;
            return self.push_component(entry, rare);
        }
        self.align(self.alignment_of(Some(entry.stored_size)))?;
        entry.offset = self.position;
        component.for_each_stored(&mut |chunk| self.write_bytes(chunk))?;
        self.data_bytes = self.data_bytes.saturating_add(entry.size().unwrap_or(entry.stored_size));
        entry.offset = self.note_place(content, entry.stored_size, entry.offset)?;
        copy.map_or(Ok(()), |copy| self.copied.insert(copy, &entry, rare.digest))?;
        self.push_component(entry, rare)
    }

    /// Where the bytes of a component are, if another component may have them in the file that is written.
    fn shareable(&self, component: &Component<'_>) -> Option<StoredPlace> {
        // The canonical form knows equal bytes by themselves.
        let shares = self.canonical.is_none() && self.capabilities().shared_bytes == SharedBytes::All;
        component.stored_place().filter(|_| shares)
    }

    /// Decoded, changed, and written anew.
    fn reencode(&mut self, anew: &Reencode<'_>) -> Result<()> {
        let copy = self.shareable(&anew.component).map(|from| CopyOf::anew(from, &anew.spec));
        if let Some(copied) = copy.and_then(|copy| self.copied.find(&copy)) {
            let (mut entry, mut rare) = component_entry(self, &anew.spec)?;
            (entry.offset, entry.stored_size) = (copied.offset, copied.stored_size);
            entry.set_size(anew.spec.size);
            entry.set_size_declared(entry.encoding.has_declared_size());
            rare.digest = copied.digest;
            self.data_bytes = self.data_bytes.saturating_add(anew.spec.size.unwrap_or(0));
            return self.push_component(entry, rare);
        }
        let content = self.content_of_pieces(turned(anew.spec.dtype), |body| anew.for_each(body))?;
        self.component_of(&anew.spec, content)?;
        match anew.is_borrowed_as_written() {
            true => anew.component.for_each_stored(&mut |chunk| self.data(chunk))?,
            false => anew.for_each(&mut |chunk| self.data(chunk))?,
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
    /// Whether the bytes that are written are the stored ones, and many of them are to be had at once: these are digested
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

/// The attributes of a copy: those of the object; of one of blocks, whose container has none, how large a block is.
fn attributes_of(object: &Object<'_>) -> Result<Attributes> {
    let mut attributes = Attributes::of(object.attributes())?;
    let is_foreign = object.components().any(|component| !component.states_its_size());
    if let (Format::Blocks(logical), true) = (object.format(), is_foreign) {
        let block = logical.block();
        for (key, number) in [("elems_per_block", block.elements), ("block_bytes", block.bytes)] {
            attributes.set(key, OwnedValue::scalar(Kind::Unsigned(number))?.get())?;
        }
    }
    Ok(attributes)
}
