//! Copies objects of another file unchanged: bytes, digests, attributes. Components that the output's version
//! cannot represent are decoded and encoded again.
//!
//! All checks run before the first byte goes to the sink. `plan` checks every component, and decodes those
//! that will be encoded again.

use super::copy_plan::{check_plans, plan_stored, Agree, Loss, Losses, Plan, Planner};
use super::description::{attributes_of_format, MadeOf, ObjectSpec, Recode};
use super::shared_bytes::{swap_width, CopyKey};
use super::state::Writer;
use crate::container::capabilities::{Roles, SharedBytes};
use crate::container::{Quantized, QuantizedForm, MAX_SHARDS};
use crate::convert::into_blocks::check_quantizes_to;
use crate::digest::{to_text, Algorithm, Hasher};
use crate::error::{fail, Cause, Error, Quoted, Result};
use crate::memory::with_capacity;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    table_position, Component as Entry, Encoding, Format, LogicalType, Manifest, Position, RareNames, Shard,
};
use crate::model::value::{Attributes, Value};
use crate::reader::{Component, File, Object};
use std::hash::BuildHasher;

/// The name of the format of codes with scales that most containers have.
const QUANTIZED_GROUP: &str = "quantized_group";
/// Attributes of layouts of groups that no scheme has.
const LAYOUT_KEYS: [&str; 4] = ["block_size", "packing", "scale_form", "zero_point"];

impl Writer {
    /// Copies an object of an open file under `name`, with its stored bytes.
    pub fn copy(&mut self, object: Object<'_>, name: &str) -> Result<()> {
        self.copy_as(object, name, &Recode::default())
    }

    /// Copies an object of an open file under `name`. If `recode` has another encoding or digest, decodes the
    /// bytes and writes them again in chunks.
    pub fn copy_as(&mut self, object: Object<'_>, name: &str, recode: &Recode) -> Result<()> {
        let allow = self.options.allow_damaged;
        self.copy_agreed(object, name, recode, &mut |loss, _| allow && loss == Loss::Damage).map(drop)
    }

    /// Like `copy_as`, but leaves out what the file cannot represent, if `agree` allows it. Returns whether
    /// the object was copied.
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
            // The source failed in the middle, which no check can exclude. The half object in the file would
            // be padding that is not zero, so the writer is closed.
            Err(e) if self.position != before => Err(self.abort(e)),
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
        let blocks = quantizes_to(object, recode).map_err(in_object)?;
        let of_blocks = blocks.filter(|_| object.is_weight()).map(Logical::dtype);
        let numbers = recode.floats.filter(|_| object.is_quantized()).or(of_blocks);
        if numbers.is_none() {
            self.check_copy(object)?;
        }
        let groups = match numbers.is_none() && object.scheme().is_some() {
            true => self.groups_of(object).map_err(in_object)?,
            false => None,
        };
        let format = match (&groups, blocks.is_some() || numbers.is_some()) {
            (_, true) => Format::of_array(blocks),
            (Some((_, form)), false) => form.format,
            (None, false) => object.format_name(),
        };
        let spec = ObjectSpec { name, format, shape: object.shape() };
        let as_new = |e: Error| match name.as_bytes() == object.name_bytes() {
            true => in_object(e),
            false => in_object(e.within(format_args!("as {name:?}"))),
        };
        self.check_new_name(name)
            .and_then(|()| self.check_object(&spec, &Attributes::default()))
            .map_err(as_new)?;
        let to = self.capabilities();
        let check = |key: Option<&str>, value: Value<'_>| to.check_attribute(key, value).map_err(in_object);
        let mut attributes =
            losses.retain_attributes(attributes_of(object, blocks, numbers.is_some())?, check)?;
        if let Some((_, form)) = &groups {
            match object.format() {
                Format::QuantizedGroup => object.keep_tensors(&mut attributes)?,
                _ => {
                    for key in LAYOUT_KEYS {
                        attributes.remove(key);
                    }
                }
            }
            for (key, value) in form.attributes.iter() {
                attributes.set(key.as_text().unwrap_or_default(), value)?;
            }
        }
        self.begin(&spec, attributes)?;
        let recode = Recode { blocks, ..self.canonical.recode(recode) };
        let plans = Planner { writer: self, object, recode, numbers, groups, losses }.plan()?;
        plans.iter().try_for_each(|plan| self.copy_component(plan))?;
        self.push_open_object()
    }

    /// How a weight of several tensors is written if the file stores groups of codes in another form, or
    /// `None`.
    fn groups_of(&self, object: &Object<'_>) -> Result<Option<(Quantized<'static>, QuantizedForm)>> {
        let to = self.capabilities();
        let is_group = object.format() == Format::QuantizedGroup;
        if is_group == to.has_format(QUANTIZED_GROUP) || is_group && !object.is_weight() {
            return Ok(None);
        }
        if !is_group {
            let attributes = Attributes::default();
            let form = QuantizedForm { format: QUANTIZED_GROUP, codes: "packed_weight", attributes };
            return Ok(object.groups_before().map(|groups| (groups, form)));
        }
        let groups = object.as_groups().map_err(|e| match e.cause() {
            Cause::Unsupported => to.cannot_represent(format_args!("{e}; write zTensor 1.2 instead")),
            _ => e,
        })?;
        let form = to.quantized(&groups)?;
        Ok(Some((groups, form)))
    }

    /// Refuses an object that the file cannot represent, before anything is written.
    fn check_copy(&self, object: &Object<'_>) -> Result<()> {
        let to = self.capabilities();
        let in_object = |e: Error| e.within(format_args!("object {}", Quoted(object.name_bytes())));
        let format = object.format_name();
        if matches!(object.format(), Format::Other(_)) && to.format(format).is_some() {
            return Err(in_object(gains_a_meaning(format)));
        }
        // A zTensor 2 file opens even if an object lacks a component, so such an object can be copied to one.
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
        // If the container uses one name for dtype and type, it would replace the unknown dtype by the type's
        // name.
        if !to.has_type_field() && component.dtype().is_none() && component.known_logical().is_some() {
            return Err(cannot_represent("dtype and type", dtype));
        }
        match component.logical() {
            LogicalType::Absent | LogicalType::SameAsDtype => {}
            LogicalType::Known(logical) if logical.is_block_type() => {} // the format gives the type
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

    /// Refuses a component of unknown size, and one whose byte order cannot be kept or changed.
    fn check_bytes(&self, object: &Object<'_>, component: &Component<'_>) -> Result<()> {
        if component.dtype().is_none() && !component.file_states_sizes() {
            let name = component.dtype_name();
            return Err(fail!(Unsupported, "the type {name:?} is unknown, and so is its size"));
        }
        let blocks = matches!(object.format(), Format::Blocks(_));
        if blocks && component.entry().is_big_endian() && !self.capabilities().big_endian {
            let name = object.format_name();
            return Err(fail!(
                Unsupported,
                "blocks of {name:?} in a big-endian file: it is unknown which of their bytes to swap"
            ));
        }
        Ok(())
    }

    /// Copies a component as planned. If the same bytes were copied before and the file may share them,
    /// shares them.
    fn copy_component(&mut self, plan: &Plan<'_>) -> Result<()> {
        self.written.damaged = self.written.damaged.saturating_add(u64::from(plan.is_damaged));
        // The canonical form finds equal bytes itself.
        let shares = !self.canonical.is_asked() && self.capabilities().shared_bytes == SharedBytes::All;
        let is_whole = plan.made_of != MadeOf::Numbers || plan.component.object().format().is_array();
        let place = plan.component.stored_place().filter(|_| shares && is_whole);
        let recoded = plan.recoded.map(|to| (to.dtype, to.encoding, plan.hashes, to.size, plan.made_of));
        let key = place.map(|from| CopyKey { from, recoded });
        if let Some((offset, stored_size, digest)) = key.and_then(|key| self.copies.get(&key).copied()) {
            let (mut entry, mut rare) = (plan.entry, plan.rare);
            (entry.offset, entry.stored_size) = (offset, stored_size);
            rare.digest = rare.digest.or(digest.filter(|_| plan.hashes.is_some()));
            return self.push_copy(entry, rare);
        }
        match &plan.recoded {
            Some(spec) => {
                let width = swap_width(spec.dtype);
                let content = self.canonical.content_of_pieces(width, |body| plan.for_each_decoded(body))?;
                self.start_component(plan.entry, plan.rare, plan.hashes, spec.size, false, content)?;
                plan.for_each_written(&mut |chunk| self.feed(chunk))?;
                self.end_component()?;
            }
            None => self.copy_stored(plan)?,
        }
        let (Some(key), Some(entry)) = (key, self.manifest.components.last()) else { return Ok(()) };
        if entry.stored_size > 0 {
            let reserved = self.copies.try_reserve(1);
            reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of copies"))?;
            let digest = self.manifest.rare(entry).digest;
            self.copies.insert(key, (entry.offset, entry.stored_size, digest));
        } // an empty component has no position
        Ok(())
    }

    /// Copies a component's stored bytes and its entry.
    fn copy_stored(&mut self, plan: &Plan<'_>) -> Result<()> {
        let Plan { component, mut entry, mut rare, hashes, .. } = *plan;
        let content = self.canonical.content_of_pieces(None, |body| plan.for_each_written(body))?;
        if let Some(place) = self.canonical.find_equal(&content, Some(entry.stored_size)) {
            entry.offset = place;
            return self.push_copy(entry, rare);
        }
        self.align(self.alignment_of(Some(entry.stored_size)))?;
        entry.offset = self.position;
        let mut hasher = hashes.map(Hasher::new);
        let of_stored = component.digests_stored_bytes(self.capabilities().digest_of);
        if let Some(hasher) = hasher.as_mut().filter(|_| !of_stored) {
            component.for_each_digested(&mut |chunk| {
                hasher.update(chunk);
                Ok(())
            })?;
        }
        plan.for_each_written(&mut |chunk| {
            self.write_and_hash(chunk, hasher.as_mut().filter(|_| of_stored))
        })?;
        if let Some(hasher) = hasher {
            rare.digest = Some(self.push_digest(&hasher.finish())?);
        }
        entry.offset = self.canonical.record_content(content, entry.stored_size, entry.offset)?;
        self.push_copy(entry, rare)
    }

    fn push_copy(&mut self, entry: Entry, rare: RareNames) -> Result<()> {
        let size = entry.size().unwrap_or(entry.stored_size);
        self.written.data_bytes = self.written.data_bytes.saturating_add(size);
        self.push_component(entry, rare)
    }
}

/// Objects whose bytes stay in other files. These become shards of the written file.
impl Writer {
    /// Makes an open file a shard of the written file. Readers look for the shard as `STEM-NAME.zt` next to
    /// `STEM.zt`. All of its bytes are read, to check its digests and to compute the new one.
    pub fn add_shard(&mut self, name: &str, file: &File) -> Result<()> {
        self.check_idle()?;
        let named = |e: Error| e.within(format_args!("shard {}", Quoted(name.as_bytes())));
        self.check_shard(name, file).map_err(named)?;
        // The table of shards gets a new digest of the whole file.
        let mut components = file.objects().flat_map(|object| object.components());
        components.try_for_each(|component| component.check_source()).map_err(named)?;
        let mut hasher = Hasher::new(Algorithm::Xxh3);
        let size = file.for_each_byte(&mut |chunk| {
            hasher.update(chunk);
            self.report(chunk.len())
        })?;
        let digest = to_text(&hasher.finish())?;
        let hash = self.hasher.hash_one(name.as_bytes());
        let (name, digest) = (self.manifest.texts.add(name)?, self.manifest.texts.add(&digest)?);
        let number = table_position(self.manifest.shards.len())?;
        let at = Position::after(self.manifest.shards.len())?;
        self.manifest.shards.try_reserve(1)?;
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let hash_of = |at: &u32| hasher.hash_one(name_of(manifest, *at));
        let reserved = self.shard_names.try_reserve(1, hash_of);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of shards"))?;
        let reserved = self.shard_files.try_reserve(1);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of shards"))?;
        self.shard_names.insert_unique(hash, number, hash_of);
        self.shard_files.entry(file.number()).or_insert(at);
        self.manifest.shards.push(Shard { name, size, digest });
        Ok(())
    }

    fn check_shard(&self, name: &str, file: &File) -> Result<()> {
        let to = self.capabilities();
        if self.canonical.is_asked() {
            return Err(fail!(InvalidArgument, "the canonical form has no shards"));
        }
        if self.append_base.is_some() {
            return Err(fail!(
                Unsupported,
                "only a new file can get shards: an existing file keeps its table"
            ));
        }
        to.check_shard_name(name)?;
        if file.container() != to.container {
            let (from, to) = (file.container().name(), to.container.name());
            return Err(fail!(
                Unsupported,
                "it is a file of {from}; a file of {to} needs shards of the same container"
            ));
        }
        if file.manifest_count() != 1 {
            return Err(fail!(Unsupported, "it is a model of several files; each of them may be a shard"));
        }
        let hash = self.hasher.hash_one(name.as_bytes());
        if self.shard_names.find(hash, |at| name_of(&self.manifest, *at) == name.as_bytes()).is_some() {
            return Err(fail!(Exists, "a shard of that name exists"));
        }
        match self.manifest.shards.len() < MAX_SHARDS {
            true => Ok(()),
            false => Err(fail!(Limit, "there are {MAX_SHARDS} shards already, which is the limit")),
        }
    }

    /// Adds an object of a file that was made a shard, under `name`. The object's bytes stay in the shard.
    pub fn link(&mut self, object: &Object<'_>, name: &str) -> Result<()> {
        self.check_idle()?;
        let shard = *self.shard_files.get(&object.file_number()).ok_or_else(|| {
            let what = fail!(InvalidArgument, "its file was not made a shard");
            what.within(format_args!("object {}", Quoted(object.name_bytes())))
        })?;
        let spec = ObjectSpec { name, format: object.format_name(), shape: object.shape() };
        self.begin(&spec, Attributes::of(object.attributes())?)?;
        let linked = self.link_components(shard, object);
        linked.and_then(|()| self.end()).inspect_err(|_| self.discard_object())
    }

    /// Adds the entries of all components. Their content is checked like in a copy.
    fn link_components(&mut self, shard: Position, object: &Object<'_>) -> Result<()> {
        let mut plans = with_capacity(object.components().len())?;
        for component in object.components() {
            plans.push(self.plan_link(component)?);
        }
        check_plans(self, &plans, true)?;
        for Plan { mut entry, rare, .. } in plans {
            entry.set_in_shard(true);
            self.push_component(entry, RareNames { shard: Some(shard), ..rare })?;
        }
        Ok(())
    }

    fn plan_link<'f>(&mut self, component: Component<'f>) -> Result<Plan<'f>> {
        if component.entry().is_in_shard() {
            return Err(component.wrap(fail!(
                Unsupported,
                "it is in a shard of that file; shards of shards are not followed"
            )));
        }
        if component.is_never_interpreted() {
            let name = component.logical_name().unwrap_or_default();
            let why = self.capabilities().cannot_represent(format_args!("the type {name:?}"));
            return Err(component.wrap(why));
        }
        plan_stored(self, component)
    }
}

/// The block type that the object is quantized to, if its elements are floats and `recode` asks for it.
fn quantizes_to(object: &Object<'_>, recode: &Recode) -> Result<Option<Logical>> {
    let Some(to) = recode.blocks else { return Ok(None) };
    check_quantizes_to(to)?;
    if let Some(floats) = recode.floats {
        let (blocks, floats) = (to.name(), floats.name());
        return Err(fail!(
            InvalidArgument,
            "a copy is either quantized to {blocks} or converted to {floats}"
        ));
    }
    let data = object.components().next().filter(|data| data.role() == "data");
    let is_of_floats = object.format() == Format::Dense && data.is_some_and(|data| data.is_of_floats());
    Ok(Some(to).filter(|_| is_of_floats || object.is_weight()))
}

/// The attributes of a copy: the object's own. If the copy becomes dense, attributes about quantization are
/// left out. Attributes for the block size are added if the object becomes blocks, or has blocks in a
/// container without attributes.
fn attributes_of(object: &Object<'_>, quantized: Option<Logical>, is_dense: bool) -> Result<Attributes> {
    let mut attributes = Attributes::default();
    for (key, value) in object.attributes().unwrap_or(Value::EMPTY_MAP).pairs() {
        // Why a weight cannot be read may change: by a later version, or beside another file.
        let is_of_reading = object.scheme().is_some() && key.is_text("unreadable");
        let is_lost = is_dense && key.as_text().is_some_and(|key| object.is_of_quantization(key));
        if !is_of_reading && !is_lost {
            attributes.push(key, value)?;
        }
    }
    if let Some(shapes) = object.shapes_to_keep()?.filter(|_| !is_dense) {
        attributes.set("shapes", shapes.get())?;
    }
    let is_foreign = !is_dense && object.components().any(|component| !component.file_states_sizes());
    let format = quantized.map_or(object.format(), Format::Blocks);
    if is_foreign || quantized.is_some() {
        for (key, value) in attributes_of_format(format)?.iter() {
            attributes.set(key.as_text().unwrap_or_default(), value)?;
        }
    }
    Ok(attributes)
}

/// The error for a name that is unknown in the source but has a meaning in the output: the copy must not
/// change what it means.
#[cold]
fn gains_a_meaning(name: &str) -> Error {
    fail!(Unsupported, "{name:?} is unknown in its file, but has a meaning in the output file")
}

/// The name of a shard.
fn name_of(manifest: &Manifest, at: u32) -> &[u8] {
    let shard = manifest.shards.get(at as usize);
    shard.map(|shard| manifest.texts.get_bytes(shard.name)).unwrap_or_default()
}
