//! Decides for each component of a copy how it is written, and checks it, before a byte is written.

use crate::codec::Coding;
use crate::container::capabilities::{IndexDtypes, LogicalTypes};
use crate::convert;
use crate::digest::{Algorithm, Digest, DigestOf};
use crate::error::{broken, Quoted, Result, Rule};
use crate::model::dtype::{Class, Dtype};
use crate::model::manifest::{Component as Entry, Encoding, Format, LogicalType, RareNames};
use crate::model::sort::sort_by;
use crate::model::structure::each_index;
use crate::reader::{Component, Object};
use crate::writer::loss::{Loss, Losses};
use crate::writer::specs::{ComponentSpec, LogicalSpec, Recode};
use crate::writer::state::Writer;
use crate::writer::stream::component_entry;

/// How a component gets into the file.
pub enum Plan<'f> {
    Stored(Stored<'f>),
    Reencode(Reencode<'f>),
}

impl Plan<'_> {
    fn role(&self) -> &str {
        match self {
            Plan::Stored(stored) => stored.component.role(),
            Plan::Reencode(reencode) => reencode.spec.role,
        }
    }

    /// Gives `check` the bytes that readers of the written file will get, if it needs them.
    fn for_each(&self, needed: bool, check: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            // What cannot be read is copied as it is, and stays so.
            Plan::Stored(Stored { component, .. })
                if component.encoding() == Encoding::Other
                    || component.dtype().is_none()
                    || component.is_never_interpreted() =>
            {
                Ok(())
            }
            Plan::Stored(Stored { component, .. }) if needed => component.for_each_decoded(check),
            Plan::Reencode(reencode) if needed => reencode.for_each(check),
            Plan::Stored(_) | Plan::Reencode(_) => Ok(()),
        }
    }
}

/// Its stored bytes are copied.
pub struct Stored<'f> {
    pub component: Component<'f>,
    /// Its entry, but for the offset.
    pub entry: Entry,
    pub rare: RareNames,
    /// The algorithm of the digest that it gets, if it has no digest to keep.
    pub hashes: Option<Algorithm>,
    /// Its bytes do not agree with a checksum of their file.
    pub is_damaged: bool,
}

/// It is decoded and written again: its bytes become little-endian, its bools 0 and 1, its elements of the
/// dtype in `spec`.
pub struct Reencode<'f> {
    pub component: Component<'f>,
    pub spec: ComponentSpec<'f>,
    /// Its bytes do not agree with a checksum of their file.
    pub is_damaged: bool,
}

impl Writer {
    /// The plans of all components of the object.
    pub(super) fn plan_copy<'f>(
        &mut self,
        object: &Object<'f>,
        recode: &Recode,
        losses: &mut Losses<'_, '_>,
    ) -> Result<Vec<Plan<'f>>> {
        let mut plans = Vec::new();
        let count = object.components().len();
        plans.try_reserve_exact(count)?;
        self.manifest.components.try_reserve(count)?;
        self.manifest.rare_names.try_reserve(count)?;
        for component in object.components() {
            component.source().map_err(|error| component.wrap(error))?;
            let is_damaged = self.is_damaged(&component, losses)?;
            plans.push(match self.dtype_to_reencode(object, &component, recode)? {
                Some(dtype) => {
                    let mut plan = self.plan_reencode(object, component, dtype, recode, losses)?;
                    if is_damaged {
                        (plan.spec.digest, plan.is_damaged) = (Some(None), true);
                    }
                    Plan::Reencode(plan)
                }
                None => {
                    let mut plan = self.plan_copy_of_stored(component, recode, losses)?;
                    plan.hashes = plan.hashes.filter(|_| !is_damaged);
                    plan.is_damaged = is_damaged;
                    Plan::Stored(plan)
                }
            });
        }
        Ok(plans)
    }

    /// Whether a component does not agree with a checksum of its file, and is copied all the same. The
    /// canonical form has no component without a digest, so that it has no damaged one.
    fn is_damaged(&self, component: &Component<'_>, losses: &mut Losses<'_, '_>) -> Result<bool> {
        match component.check_source() {
            Ok(()) => Ok(false),
            Err(why) if why.is_damage() && self.canonical.is_none() => {
                losses.leave_out(Loss::Damage, why).map(|()| true)
            }
            Err(why) => Err(why),
        }
    }

    /// The order in which components are written: in canonical form that of their roles.
    pub(super) fn in_order<'f>(&self, mut plans: Vec<Plan<'f>>) -> Result<Vec<Plan<'f>>> {
        if self.canonical.is_some() {
            sort_by(&mut plans, |a, b| a.role().cmp(b.role()));
            plans.iter().try_for_each(|plan| match plan {
                Plan::Stored(stored) => {
                    self.check_canonical(stored.entry.encoding, stored.component.digest_algorithm())
                }
                Plan::Reencode(_) => Ok(()),
            })?;
        }
        Ok(plans)
    }

    /// Checks that the planned components make an object that the container allows. `complete` as in
    /// [`Capabilities::check_object`](crate::container::Capabilities::check_object).
    pub(in crate::writer) fn check_plans(&mut self, plans: &[Plan<'_>], complete: bool) -> Result<()> {
        let name = self.open_object()?.name;
        let entry_of = |writer: &mut Writer, plan: &Plan<'_>| match plan {
            Plan::Stored(stored) => {
                let mut entry = stored.entry;
                if entry.size().is_none() && entry.encoding != Encoding::Other {
                    entry.set_size(Some(stored.component.size()?));
                }
                Ok((entry, stored.rare))
            }
            Plan::Reencode(reencode) => {
                let (mut entry, rare) = component_entry(writer, &reencode.spec)?;
                entry.set_size(reencode.spec.size);
                Ok((entry, rare))
            }
        };
        let checked = self
            .check_object_of(plans, complete, entry_of, &|plan, needed, check| plan.for_each(needed, check));
        checked.map_err(|e| e.within(format_args!("object {:?}", self.manifest.texts.get(name))))
    }

    /// The dtype in which a component has to be written again; none if its stored bytes can be copied.
    fn dtype_to_reencode(
        &self,
        object: &Object<'_>,
        component: &Component<'_>,
        recode: &Recode,
    ) -> Result<Option<Dtype>> {
        let to = self.capabilities();
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
        let Recode { encoding, digest, floats, lossy: _ } = *recode;
        let is_data = object.format() == Format::Dense && component.role() == "data";
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
        Ok(match self.loses_its_size(object, component)? {
            true => Some(dtype),
            false => None,
        })
    }

    /// Whether readers of the written file could not find the decoded size of a component whose stored bytes
    /// are copied. It is in the manifest, or the shape of a dense object gives it, or the frames have to.
    fn loses_its_size(&self, object: &Object<'_>, component: &Component<'_>) -> Result<bool> {
        let undeclared = !self.capabilities().declares_sizes;
        let Some(size) = component.entry().size().filter(|_| undeclared) else { return Ok(false) };
        let by_shape = object.format() == Format::Dense && component.role() == "data";
        Ok(!component.frames_give_size(size)? && !by_shape)
    }

    /// Plans a copy of a component's stored bytes, without its digest if that is not of the bytes that the
    /// container's digests are of.
    fn plan_copy_of_stored<'f>(
        &mut self,
        component: Component<'f>,
        recode: &Recode,
        losses: &mut Losses<'_, '_>,
    ) -> Result<Stored<'f>> {
        let to = self.capabilities();
        let keeps_digest = component.can_keep_digest(to.digest_of)?;
        if let Some(digest) = component.digest().filter(|_| !keeps_digest) {
            let of = match to.digest_of {
                DigestOf::Stored => "decoded",
                DigestOf::Decoded => "stored",
            };
            let why = to.cannot_represent(format_args!(
                "the digest {digest:?} of the {of} bytes, as its type or its encoding is unknown"
            ));
            losses.leave_out(Loss::Digest, component.wrap(why))?;
        }
        let mut stored = self.plan_stored(component)?;
        if !keeps_digest {
            stored.rare.digest = None;
        }
        if component.digest().is_none() && component.can_be_digested(to.digest_of) {
            stored.hashes = recode.digest.unwrap_or(self.options.digest);
            to.check_digest(stored.hashes)?;
        }
        Ok(stored)
    }

    /// The entry of a component whose stored bytes are kept.
    pub(in crate::writer) fn plan_stored<'f>(&mut self, component: Component<'f>) -> Result<Stored<'f>> {
        let source = component.entry();
        let to = self.capabilities();
        let decoded = match Coding::of(source.encoding) {
            Some(Coding::Compressed(_)) if to.declares_sizes => Some(component.size()?),
            Some(Coding::Compressed(_) | Coding::Raw) | None => source.size(),
        };
        let mut entry = *source;
        entry.role = self.manifest.intern_role(component.role())?;
        let mut rare = RareNames::default();
        if source.dtype.is_none() {
            rare.dtype = Some(self.manifest.texts.add(component.dtype_name())?);
        }
        match (source.logical, component.logical_name()) {
            // A type that is the dtype means no more than none, and none can be written.
            (LogicalType::SameAsDtype, _) if to.logical_types != LogicalTypes::Any => {
                entry.logical = LogicalType::Absent;
            }
            (LogicalType::SameAsDtype | LogicalType::Other, Some(name)) => {
                rare.logical = Some(self.manifest.texts.add(name)?);
            }
            _ => {}
        }
        if source.encoding == Encoding::Other {
            rare.encoding = Some(self.manifest.texts.add(component.encoding_name())?);
        }
        if let Some(digest) = component.digest() {
            rare.digest = Some(self.manifest.texts.add(digest)?);
        }
        entry.set_size(decoded);
        entry.set_size_declared(source.encoding.has_declared_size());
        entry.set_page_exclusive(false);
        entry.set_in_shard(false);
        entry.set_digest_of_decoded(to.digest_of == DigestOf::Decoded);
        Ok(Stored { component, entry, rare, hashes: None, is_damaged: false })
    }

    /// Plans to decode a component and write it as `dtype`, with the encoding and digest of the source, or of
    /// `recode`.
    fn plan_reencode<'f>(
        &mut self,
        object: &Object<'f>,
        component: Component<'f>,
        dtype: Dtype,
        recode: &Recode,
        losses: &mut Losses<'_, '_>,
    ) -> Result<Reencode<'f>> {
        let from = component.dtype().unwrap_or(dtype);
        let digest = component.digest().and_then(|text| component.parse_digest(text).ok());
        let algorithm = digest
            .as_ref()
            .and_then(Digest::algorithm)
            .map(|algorithm| self.capabilities().digest_of.similar(algorithm));
        let unknown = component.digest().filter(|_| algorithm.is_none() && recode.digest.is_none());
        if let Some(digest) = unknown {
            let why = self.capabilities().cannot_represent(format_args!(
                "the digest {digest:?} of bytes that are written anew, as its algorithm is unknown"
            ));
            losses.leave_out(Loss::Digest, component.wrap(why))?;
        }
        let index = object.format().is_index(component.role());
        if index || !component.is_raw() {
            component.check_decoded_chunks(&mut |chunk, base| match index {
                true => check_not_negative(component.role(), from, chunk, base),
                false => Ok(()),
            })?;
        }
        let becomes_floats = component.is_of_floats() && recode.floats == Some(dtype);
        if becomes_floats && !recode.lossy {
            component.check_conversion(dtype)?;
        }
        let size = convert::converted_size(
            component.size()?,
            (from, component.known_logical().filter(|_| becomes_floats)),
            dtype,
        )?;
        let spec = ComponentSpec {
            logical: match component.logical() {
                LogicalType::Known(_) if becomes_floats => None,
                LogicalType::Known(known) if known.is_block_type() => None,
                LogicalType::Known(known) => Some(LogicalSpec::Known(known)),
                LogicalType::Other => component.logical_name().map(LogicalSpec::Other),
                LogicalType::Absent | LogicalType::SameAsDtype => None,
            },
            encoding: recode.encoding.or(self.capabilities().similar_encoding(component.encoding())),
            digest: recode.digest.or(algorithm.map(Some)), // else the writer's own
            size: Some(size),
            ..ComponentSpec::new(component.role(), dtype)
        };
        let check = |writer: &mut Writer| {
            writer.check_component(&spec, spec.size)?;
            writer.try_entry(&spec)
        };
        check(self).map_err(|e| {
            let name = Quoted(object.name_bytes());
            e.within(format_args!("object {name} component {:?}", spec.role))
        })?;
        Ok(Reencode { component, spec, is_damaged: false })
    }
}

/// Whether the positions of a sparse object have to become u64: where one of them is of another dtype than
/// the container has, or where it wants all of one and they are not.
fn widens_indices(object: &Object<'_>, allowed: IndexDtypes) -> bool {
    let indices = || object.components().filter(|c| object.format().is_index(c.role()));
    let first = indices().next().and_then(|c| c.dtype());
    indices().any(|c| {
        let is_of_another = allowed == IndexDtypes::Unsigned && c.dtype() != first;
        is_of_another || c.entry().integer_dtype().is_some_and(|dtype| !allowed.contains(dtype))
    })
}

/// Refuses a negative index: as an unsigned number it would be another one.
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
