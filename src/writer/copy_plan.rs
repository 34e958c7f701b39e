//! Decides how each component of a copy is written, and checks it before any byte is written. If the caller
//! agrees, leaves out what the output container cannot represent.

use super::components::component_entry;
use super::description::{ComponentSpec, LogicalSpec, MadeOf, Recode};
use super::state::Writer;
use crate::codec::Coding;
use crate::container::capabilities::{IndexDtypes, LogicalTypes};
use crate::container::{Quantized, QuantizedForm};
use crate::convert;
use crate::digest::{Algorithm, Digest, DigestOf};
use crate::error::{broken, Cause, Error, Quoted, Result, Rule};
use crate::model::dtype::{Class, Dtype};
use crate::model::manifest::{Component as Entry, Encoding, Format, LogicalType, RareNames};
use crate::model::sort::sort_by;
use crate::model::structure::each_index;
use crate::model::value::{Attributes, Value};
use crate::reader::{Component, Object, ROLES_OF_GROUPS};

/// How a component gets into the file: copied as stored, or decoded and encoded again.
pub struct Plan<'f> {
    pub component: Component<'f>,
    /// Its entry, without the offset.
    pub entry: Entry,
    pub rare: RareNames,
    /// The description of a component that is encoded again: little-endian, with bools of 0 and 1, and
    /// elements of this dtype. `None` if the stored bytes are copied.
    pub recoded: Option<ComponentSpec<'f>>,
    /// What its elements are made from.
    pub made_of: MadeOf,
    /// The algorithm for a new digest, if it cannot keep a digest.
    pub hashes: Option<Algorithm>,
    /// Whether its bytes do not match a checksum of their file.
    pub is_damaged: bool,
}

impl Plan<'_> {
    /// Calls `body` with the bytes that are encoded again, in the host's order. If stored bytes are copied,
    /// with the bytes that readers of the copy will get.
    pub fn for_each_decoded(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let component = &self.component;
        let Some(ComponentSpec { dtype, .. }) = self.recoded else { return component.for_each_decoded(body) };
        match self.made_of {
            MadeOf::Elements => {}
            MadeOf::Floats(blocks) => return component.for_each_quantized(blocks, body),
            MadeOf::Numbers => return component.object().for_each_number(dtype, true, body),
            MadeOf::NumbersInBlocks(blocks) => {
                return component.object().for_each_quantized(blocks, false, body);
            }
        }
        let from = component.dtype().unwrap_or(dtype);
        let odd_bools = from == Dtype::Bool && component.any_byte_is_true();
        match from == dtype && !odd_bools {
            true => component.for_each_decoded(body),
            false => component.for_each_converted(dtype, body),
        }
    }

    /// Calls `body` with the bytes that go to the file, before encoding.
    pub fn for_each_written(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self.recoded.is_some() && !self.is_borrowed_as_written() {
            true => self.for_each_decoded(body),
            false => self.component.for_each_stored(body),
        }
    }

    /// Whether the bytes to encode again equal the stored ones and can be borrowed. Then large pieces are
    /// hashed while they are written.
    fn is_borrowed_as_written(&self) -> bool {
        let (component, dtype) = (&self.component, self.entry.dtype.unwrap_or(Dtype::Bool));
        let keeps_dtype = component.dtype().is_none_or(|from| from == dtype) && dtype != Dtype::Bool;
        let keeps_order = !component.entry().swaps() && !dtype.swaps(false);
        self.made_of == MadeOf::Elements
            && keeps_dtype
            && keeps_order
            && component.is_raw()
            && component.borrows_stored()
    }

    /// Whether its contents cannot be checked. What cannot be read is copied unchanged.
    fn is_opaque(&self) -> bool {
        let component = &self.component;
        let is_known = component.encoding() != Encoding::Other && component.dtype().is_some();
        self.recoded.is_none() && (!is_known || component.is_never_interpreted())
    }
}

/// Checks that the planned components form an object that the container allows. For `complete`, see
/// [`Capabilities::check_object`](crate::container::Capabilities::check_object).
pub fn check_plans(writer: &mut Writer, plans: &[Plan<'_>], complete: bool) -> Result<()> {
    let entry_of = |_: &mut Writer, plan: &Plan<'_>| {
        let mut entry = plan.entry;
        if entry.size().is_none() && entry.encoding != Encoding::Other {
            entry.set_size(Some(plan.component.size()?));
        }
        Ok((entry, plan.rare))
    };
    writer.check_open_object_of(plans, complete, entry_of, &|plan, needed, check| match needed
        && !plan.is_opaque()
    {
        true => plan.for_each_decoded(check),
        false => Ok(()),
    })
}

/// Plans the copy of an open object.
pub struct Planner<'p, 'f, 'c, 'a> {
    pub writer: &'p mut Writer,
    pub object: &'p Object<'f>,
    pub recode: Recode,
    /// The dtype that all numbers of the object become, or their blocks, if it is quantized and becomes one
    /// array.
    pub numbers: Option<Dtype>,
    /// How a weight of several tensors is written, if the file has another form for it.
    pub groups: Option<(Quantized<'static>, QuantizedForm)>,
    pub losses: &'p mut Losses<'c, 'a>,
}

impl<'f> Planner<'_, 'f, '_, '_> {
    /// The plans of all components in the order of writing. In canonical form, this is the order of the
    /// roles.
    pub fn plan(&mut self) -> Result<Vec<Plan<'f>>> {
        let mut plans = Vec::new();
        let count = self.object.components().len();
        plans.try_reserve_exact(count)?;
        self.writer.manifest.components.try_reserve(count)?;
        self.writer.manifest.rare_names.try_reserve(count)?;
        let mut damaged = 0usize;
        for component in self.object.components() {
            component.source().map_err(|error| component.wrap(error))?;
            let is_damaged = self.is_damaged(&component)?;
            damaged = damaged.saturating_add(usize::from(is_damaged));
            let is_kept = self.object.format() != Format::QuantizedGroup
                || self.groups.is_none()
                || ROLES_OF_GROUPS.contains(&component.role());
            if self.numbers.is_some() || !is_kept {
                continue;
            }
            let mut plan = match self.dtype_to_reencode(&component)? {
                Some(dtype) => self.plan_reencode(component, dtype)?,
                None => self.plan_copy_of_stored(component)?,
            };
            self.name_in_group(&mut plan.entry, component.role())?;
            plans.push(Plan { hashes: plan.hashes.filter(|_| !is_damaged), is_damaged, ..plan });
        }
        if let (Some(dtype), Some(data)) = (self.numbers, self.object.codes()) {
            let (plan, is_damaged) = (self.plan_reencode(data, dtype)?, damaged > 0);
            plans.push(Plan { hashes: plan.hashes.filter(|_| !is_damaged), is_damaged, ..plan });
        }
        check_plans(self.writer, &plans, false)?;
        let canonical = &self.writer.canonical;
        if canonical.is_asked() {
            sort_by(&mut plans, |a, b| a.component.role().cmp(b.component.role()));
            plans.iter().filter(|plan| plan.recoded.is_none()).try_for_each(|plan| {
                canonical.check_component(plan.entry.encoding, plan.component.digest_algorithm())
            })?;
        }
        Ok(plans)
    }

    /// Gives a part of a group the role and the type that it has in the file. Its bytes stay as they are.
    fn name_in_group(&mut self, entry: &mut Entry, role: &str) -> Result<()> {
        let Some((groups, form)) = &self.groups else { return Ok(()) };
        let (role, (dtype, logical)) = match role {
            "packed_weight" | "data" => (form.codes, groups.codes),
            "scales" => (role, groups.scales),
            _ => return Ok(()),
        };
        entry.role = self.writer.manifest.intern_role(role)?;
        entry.dtype = Some(dtype);
        entry.logical = logical.map_or(LogicalType::Absent, LogicalType::Known);
        Ok(())
    }

    /// Whether a component does not match a checksum of its file but is copied anyway. In canonical form
    /// every component has a digest, so damaged ones are refused.
    fn is_damaged(&mut self, component: &Component<'_>) -> Result<bool> {
        match component.check_source() {
            Ok(()) => Ok(false),
            Err(why) if why.is_damage() && !self.writer.canonical.is_asked() => {
                self.losses.leave_out(Loss::Damage, why).map(|()| true)
            }
            Err(why) => Err(why),
        }
    }

    /// The dtype to encode a component with again; `None` if its stored bytes can be copied.
    fn dtype_to_reencode(&self, component: &Component<'_>) -> Result<Option<Dtype>> {
        let (to, object) = (self.writer.capabilities(), self.object);
        let encoding_is_known = component.encoding() != Encoding::Other;
        let readable_only =
            encoding_is_known && to.encoding(component.encoding()) != Some(component.encoding());
        let Some(dtype) = component.dtype().filter(|_| !component.is_never_interpreted()) else {
            let encoding = component.encoding_name();
            let dtype = component.logical_name().unwrap_or(component.dtype_name());
            return match readable_only {
                true => Err(component.wrap(to.cannot_represent(format_args!(
                    "the encoding {encoding:?} of the unknown type {dtype:?}"
                )))),
                false => Ok(None),
            };
        };
        let entry = component.entry();
        let narrow = entry.integer_dtype().is_some_and(|dtype| dtype != Dtype::U64);
        if narrow && object.format().is_index(component.role()) && widens_indices(object, to.index_dtypes) {
            return Ok(Some(Dtype::U64));
        }
        let Recode { encoding, digest, floats, blocks, lossy: _ } = self.recode;
        let is_data = object.format() == Format::Dense && component.role() == "data";
        if let Some(blocks) = blocks.filter(|_| is_data) {
            return Ok(Some(blocks.dtype()));
        }
        if let Some(to) = floats.filter(|to| is_data && component.is_of_floats() && *to != dtype) {
            return Ok(Some(to));
        }
        let is_recoded =
            encoding.is_some() || digest.is_some() || !component.can_keep_digest(to.digest_of)?;
        if readable_only || (encoding_is_known && is_recoded) {
            return Ok(Some(dtype));
        }
        if component.is_array_of_archive() || (entry.is_big_endian() && !to.big_endian) {
            return Ok(Some(dtype));
        }
        let any_is_true = component.any_byte_is_true() && !to.any_byte_is_true;
        if dtype == Dtype::Bool && any_is_true && component.has_noncanonical_bools()? {
            return Ok(Some(dtype));
        }
        Ok(match self.loses_its_size(component)? {
            true => Some(dtype),
            false => None,
        })
    }

    /// Whether a copy of the stored bytes would lose the component's decoded size. Readers get it from the
    /// manifest, the shape of a dense object, or the frames.
    fn loses_its_size(&self, component: &Component<'_>) -> Result<bool> {
        let undeclared = !self.writer.capabilities().declares_sizes;
        let Some(size) = component.entry().size().filter(|_| undeclared) else { return Ok(false) };
        let by_shape = self.object.format() == Format::Dense && component.role() == "data";
        Ok(!component.frames_give_size(size)? && !by_shape)
    }

    /// Plans a copy of a component's stored bytes. Its digest is left out if the output's digests cover other
    /// bytes (stored or decoded) than the source's.
    fn plan_copy_of_stored(&mut self, component: Component<'f>) -> Result<Plan<'f>> {
        let to = self.writer.capabilities();
        let keeps_digest = component.can_keep_digest(to.digest_of)?;
        if let Some(digest) = component.digest().filter(|_| !keeps_digest) {
            let of = match to.digest_of {
                DigestOf::Stored => "decoded",
                DigestOf::Decoded => "stored",
            };
            let why = to.cannot_represent(format_args!(
                "the digest {digest:?} of the {of} bytes, as its type or its encoding is unknown"
            ));
            self.losses.leave_out(Loss::Digest, component.wrap(why))?;
        }
        let mut plan = plan_stored(self.writer, component)?;
        if !keeps_digest {
            plan.rare.digest = None;
        }
        if plan.component.digest().is_none() && plan.component.can_be_digested(to.digest_of) {
            plan.hashes = self.recode.digest.unwrap_or(self.writer.options.digest);
            to.check_digest(plan.hashes)?;
        }
        Ok(plan)
    }

    /// Plans to decode a component and write it as `dtype`, with the encoding and digest of the source or of
    /// `recode`.
    fn plan_reencode(&mut self, component: Component<'f>, dtype: Dtype) -> Result<Plan<'f>> {
        let (to, object, recode) = (self.writer.capabilities(), self.object, self.recode);
        let from = component.dtype().unwrap_or(dtype);
        let digest = component.digest().and_then(|text| component.parse_digest(text).ok());
        let algorithm =
            digest.as_ref().and_then(Digest::algorithm).map(|algorithm| to.digest_of.similar(algorithm));
        let unknown = component.digest().filter(|_| algorithm.is_none() && recode.digest.is_none());
        if let Some(digest) = unknown {
            let why = to.cannot_represent(format_args!(
                "the digest {digest:?} of rewritten bytes, as its algorithm is unknown"
            ));
            self.losses.leave_out(Loss::Digest, component.wrap(why))?;
        }
        let index = object.format().is_index(component.role());
        if index || !component.is_raw() {
            component.check_decoded_chunks(&mut |chunk, base| match index {
                true => check_not_negative(component.role(), from, chunk, base),
                false => Ok(()),
            })?;
        }
        let made_of = match (recode.blocks, self.numbers) {
            (Some(blocks), Some(_)) => MadeOf::NumbersInBlocks(blocks),
            (None, Some(_)) => MadeOf::Numbers,
            (Some(blocks), None) if component.is_of_floats() => MadeOf::Floats(blocks),
            (_, None) => MadeOf::Elements,
        };
        let becomes_floats = component.is_of_floats() && recode.floats == Some(dtype);
        match made_of {
            // This also checks that everything can be decoded.
            MadeOf::Numbers => object.for_each_number(dtype, recode.lossy, &mut |_| Ok(()))?,
            _ if becomes_floats && !recode.lossy => component.check_conversion(dtype)?,
            _ => {}
        }
        let size = match made_of {
            MadeOf::Floats(_) | MadeOf::Numbers | MadeOf::NumbersInBlocks(_) => None, // the shape gives it
            MadeOf::Elements => Some(convert::converted_size(
                component.size()?,
                (from, component.known_logical().filter(|_| becomes_floats)),
                dtype,
            )?),
        };
        let spec = ComponentSpec {
            logical: match component.logical() {
                LogicalType::Known(_) if becomes_floats || made_of != MadeOf::Elements => None,
                LogicalType::Known(known) if known.is_block_type() => None,
                LogicalType::Known(known) => Some(LogicalSpec::Known(known)),
                LogicalType::Other => component.logical_name().map(LogicalSpec::Other),
                LogicalType::Absent | LogicalType::SameAsDtype => None,
            },
            encoding: recode.encoding.or(to.similar_encoding(component.encoding())),
            digest: recode.digest.or(algorithm.map(Some)), // otherwise the writer's own
            size,
            ..ComponentSpec::new(if self.numbers.is_some() { "data" } else { component.role() }, dtype)
        };
        let writer = &mut *self.writer;
        let mut check = || {
            to.check_component_count(object.components().len())?;
            let size = writer.check_component(&spec, spec.size)?;
            component_entry(writer, &spec).map(|made| (made, size))
        };
        let ((mut entry, rare), size) = check().map_err(|e| {
            let name = Quoted(object.name_bytes());
            e.within(format_args!("object {name} component {:?}", spec.role))
        })?;
        entry.set_size(size);
        entry.set_size_declared(entry.encoding.has_declared_size());
        let hashes = spec.digest.unwrap_or(writer.options.digest);
        match made_of {
            MadeOf::Floats(blocks) => component.check_quantization(blocks)?,
            MadeOf::NumbersInBlocks(blocks) => object.for_each_quantized(blocks, true, &mut |_| Ok(()))?,
            MadeOf::Elements | MadeOf::Numbers => {}
        }
        let recoded = Some(ComponentSpec { size, ..spec });
        Ok(Plan { component, entry, rare, recoded, made_of, hashes, is_damaged: false })
    }
}

/// The plan for a component whose stored bytes are kept.
pub fn plan_stored<'f>(writer: &mut Writer, component: Component<'f>) -> Result<Plan<'f>> {
    let source = component.entry();
    let to = writer.capabilities();
    let decoded = match Coding::of(source.encoding) {
        Some(Coding::Compressed(_)) if to.declares_sizes => Some(component.size()?),
        Some(Coding::Compressed(_) | Coding::Raw) | None => source.size(),
    };
    let mut entry = *source;
    entry.role = writer.manifest.intern_role(component.role())?;
    let mut rare = RareNames::default();
    if source.dtype.is_none() {
        rare.dtype = Some(writer.manifest.texts.add(component.dtype_name())?);
    }
    match (source.logical, component.logical_name()) {
        // A logical type with the dtype's own name has no meaning, so write none.
        (LogicalType::SameAsDtype, _) if to.logical_types != LogicalTypes::Any => {
            entry.logical = LogicalType::Absent;
        }
        (LogicalType::SameAsDtype | LogicalType::Other, Some(name)) => {
            rare.logical = Some(writer.manifest.texts.add(name)?);
        }
        _ => {}
    }
    if source.encoding == Encoding::Other {
        rare.encoding = Some(writer.manifest.texts.add(component.encoding_name())?);
    }
    if let Some(digest) = component.digest() {
        rare.digest = Some(writer.manifest.texts.add(digest)?);
    }
    entry.set_size(decoded);
    entry.set_size_declared(source.encoding.has_declared_size());
    entry.set_page_exclusive(false);
    entry.set_in_shard(false);
    entry.set_digest_of_decoded(to.digest_of == DigestOf::Decoded);
    Ok(Plan {
        component,
        entry,
        rare,
        recoded: None,
        made_of: MadeOf::Elements,
        hashes: None,
        is_damaged: false,
    })
}

/// Whether the positions of a sparse object have to become u64: the container lacks one of their dtypes, or
/// they differ but the container demands one dtype for all.
fn widens_indices(object: &Object<'_>, allowed: IndexDtypes) -> bool {
    let indices = || object.components().filter(|c| object.format().is_index(c.role()));
    let first = indices().next().and_then(|c| c.dtype());
    indices().any(|c| {
        let is_of_another = allowed == IndexDtypes::Unsigned && c.dtype() != first;
        is_of_another || c.entry().integer_dtype().is_some_and(|dtype| !allowed.contains(dtype))
    })
}

/// Refuses a negative index, because as an unsigned number it would be a different one.
fn check_not_negative(role: &str, dtype: Dtype, chunk: &[u8], base: u64) -> Result<()> {
    if dtype.class() == Class::Unsigned {
        return Ok(());
    }
    let rule = match role {
        "indptr" => Rule::CsrIndptrOrder,
        "coords" => Rule::CooCoordinate,
        _ => Rule::CsrColumn,
    };
    each_index(dtype, chunk, base, |value, at| match value {
        u64::MAX => Err(broken!(rule, "its element {at} is negative, but an index is not")),
        _ => Ok(()),
    })
}

/// What a copy leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// An attribute of the file or of an object.
    Attribute,
    /// The digest of a component. If its bytes are encoded again, it gets the writer's own digest, if there
    /// is one.
    Digest,
    /// An object.
    Object,
    /// Bytes of a component that do not match a checksum of their file. If the caller agrees, they are copied
    /// without a new digest.
    Damage,
    /// An object with damaged bytes that cannot be decoded, or that would have to be changed.
    DamagedObject,
}

/// Called with the reason before something is left out. If it returns false, the copy fails with that reason.
pub type Agree<'a> = dyn FnMut(Loss, &Error) -> bool + 'a;

/// The losses of one call.
pub struct Losses<'c, 'a> {
    agree: &'c mut Agree<'a>,
    is_refused: bool,
}

impl<'c, 'a> Losses<'c, 'a> {
    pub fn new(agree: &'c mut Agree<'a>) -> Self {
        Losses { agree, is_refused: false }
    }

    /// Asks whether something may be left out. If not, fails with the reason.
    pub fn leave_out(&mut self, loss: Loss, why: Error) -> Result<()> {
        match (self.agree)(loss, &why) {
            true => Ok(()),
            false => {
                self.is_refused = true;
                Err(why)
            }
        }
    }

    /// Leaves out an object whose copy failed before any of its bytes was written. Does not leave it out if
    /// it could not be read, or if the caller refused to leave out a part of it.
    pub fn leave_object_out(&mut self, why: Error) -> Result<()> {
        match why.cause() {
            Cause::Unsupported | Cause::InvalidArgument | Cause::BufferSize if !self.is_refused => {
                self.leave_out(Loss::Object, why)
            }
            Cause::Broken(_) | Cause::DigestMismatch if !self.is_refused => {
                self.leave_out(Loss::DamagedObject, why)
            }
            _ => Err(why),
        }
    }

    /// Returns the attributes without those that `check` refuses.
    pub fn retain_attributes(
        &mut self,
        attributes: Attributes,
        check: impl Fn(Option<&str>, Value<'_>) -> Result<()>,
    ) -> Result<Attributes> {
        if attributes.iter().all(|(key, value)| check(key.as_text(), value).is_ok()) {
            return Ok(attributes);
        }
        let mut kept = Attributes::default();
        for (key, value) in attributes.iter() {
            match check(key.as_text(), value) {
                Ok(()) => kept.push(key, value)?,
                Err(why) if why.cause() == Cause::Unsupported => self.leave_out(Loss::Attribute, why)?,
                Err(why) => return Err(why),
            }
        }
        Ok(kept)
    }
}
