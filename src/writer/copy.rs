//! Objects of another file, as they are stored: bytes, digests, attributes. Only what the version
//! that is written cannot say as it is stands is decoded and written anew.

use super::{Algorithm, ComponentSpec, LogicalName, ObjectSpec, Writer};
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, Extra, Format, LogicalType, Version};
use crate::model::value::Value;
use crate::payload::convert;
use crate::payload::digest::{self, Claim};
use crate::reader::{Component, Object};

/// How a copy is encoded, where not as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recode {
    /// The encoding; none for the one that it has.
    pub encoding: Option<Encoding>,
    /// The digest; the outer none for the kind that it has, the inner one for no digest.
    pub digest: Option<Option<Algorithm>>,
}

/// What has to change about a component before it can be said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Nothing: its stored bytes are copied.
    None,
    /// Its bytes become little-endian, its bools 0 and 1, its indices the given dtype.
    Anew(Dtype),
}

impl Writer {
    /// Copies an object of an open file under `name`, as it is stored.
    pub fn copy(&mut self, object: Object<'_>, name: &str) -> Result<()> {
        self.copy_as(object, name, &Recode::default())
    }

    /// Copies an object of an open file under `name`; with another encoding or digest its bytes are
    /// decoded and written anew, a chunk at a time.
    pub fn copy_as(&mut self, object: Object<'_>, name: &str, recode: &Recode) -> Result<()> {
        let mut attributes = Vec::new();
        for (key, value) in object.attributes().and_then(Value::pairs).unwrap_or_default() {
            attributes.try_reserve(1)?;
            attributes.push((key.try_clone()?, value.try_clone()?));
        }
        self.check_copy(&object)?;
        let spec = ObjectSpec { name, format: object.format_name(), shape: object.shape() };
        self.begin(&spec, attributes)?;
        let before = self.position;
        let copied = object.components().try_for_each(|c| self.copy_component(&object, &c, recode));
        match copied.and_then(|()| self.end()) {
            Ok(()) => Ok(()),
            // Half an object in the file would be padding that is not zero: then it is over for good.
            Err(e) if self.position != before && self.is_alive() => Err(self.break_down(e)),
            Err(e) => {
                self.forget_object();
                Err(e)
            }
        }
    }

    /// What can be refused before anything is written.
    fn check_copy(&self, object: &Object<'_>) -> Result<()> {
        let version = self.options.version;
        let cannot = |what: &str, name: &str| {
            let version = crate::wire::v1_encode::version_text(version);
            fail!(Unsupported, "object {:?}: spec {version} cannot say the {what} {name:?}", object.name())
        };
        // A name that meant nothing in its file must not begin to mean something in this one.
        let known = |name: &str| {
            fail!(
                Unsupported,
                "object {:?}: {name:?} is unknown in its file, but means something here",
                object.name()
            )
        };
        if matches!(object.format(), Format::Other(_)) && Format::from_name(object.format_name()).is_some() {
            return Err(known(object.format_name()));
        }
        for component in object.components() {
            let name = component.dtype_name();
            let means = Dtype::from_name(name).is_some() || Dtype::from_compound_name(name).is_some();
            if component.dtype().is_none() && means {
                return Err(known(name));
            }
            if version == Version::V1_2 || self.base.is_some() {
                continue;
            }
            let logical = component.logical_name().unwrap_or_default();
            // Before 1.2 there is one name for both, and the type's would stand for the unknown dtype.
            if component.dtype().is_none() && component.known_logical().is_some() {
                return Err(cannot("dtype and type", name));
            }
            match component.logical() {
                LogicalType::Known(t) if version == Version::V1_1 && t.name_in_1_1().is_some() => {}
                LogicalType::Absent | LogicalType::SameAsDtype => {}
                _ => return Err(cannot("type", logical)),
            }
            if version == Version::V0_1 && component.encoding() == Encoding::Other {
                return Err(cannot("encoding", component.encoding_name()));
            }
            if version == Version::V0_1 && component.dtype().is_none() {
                return Err(cannot("dtype", component.dtype_name()));
            }
        }
        if version == Version::V0_1 && (object.components().len() != 1 || object.component("data").is_none())
        {
            return Err(cannot("components of the format", object.format_name()));
        }
        Ok(())
    }

    fn copy_component(
        &mut self,
        object: &Object<'_>,
        component: &Component<'_>,
        recode: &Recode,
    ) -> Result<()> {
        let recoded = *recode != Recode::default() && component.encoding() != Encoding::Other;
        match (self.change(object, component)?, component.dtype()) {
            (Change::None, Some(dtype)) if recoded => self.write_anew(component, dtype, recode),
            (Change::None, _) => self.copy_stored(component),
            (Change::Anew(dtype), _) => self.write_anew(component, dtype, recode),
        }
    }

    fn change(&self, object: &Object<'_>, component: &Component<'_>) -> Result<Change> {
        let Some(dtype) = component.dtype() else { return Ok(Change::None) };
        let from = component.source_version();
        let to = self.options.version;
        if component.entry().is_big_endian() && to != Version::V0_1 {
            return Ok(Change::Anew(dtype));
        }
        let sparse = matches!(object.format(), Format::SparseCsr | Format::SparseCoo);
        let index = sparse && matches!(component.role(), "indices" | "indptr" | "coords");
        let narrow = component.entry().integer_dtype().is_some_and(|dtype| dtype != Dtype::U64);
        // An append leaves the file's version where older indices are in it already.
        if index && narrow && to == Version::V1_2 && self.base.is_none() {
            return Ok(Change::Anew(Dtype::U64));
        }
        if dtype == Dtype::Bool
            && from == Version::V0_1
            && to != Version::V0_1
            && component.has_odd_bools()?
        {
            return Ok(Change::Anew(dtype));
        }
        Ok(Change::None)
    }

    /// Stored bytes, front to back; what the manifest said of them.
    fn copy_stored(&mut self, component: &Component<'_>) -> Result<()> {
        let source = component.entry();
        let decoded = match source.encoding {
            Encoding::Zstd => Some(component.size()?),
            _ => source.size(),
        };
        if let (Some(size), true) = (decoded, self.options.version != Version::V1_2) {
            // The size cannot be said, so a reader will ask the frames.
            component.check_frames(size)?;
        }
        let role = self.manifest.intern_role(component.role())?;
        let mut extra = Extra::default();
        if source.dtype.is_none() {
            extra.dtype = Some(self.manifest.texts.add(component.dtype_name())?);
        }
        if let (LogicalType::SameAsDtype | LogicalType::Other, Some(name)) =
            (source.logical, component.logical_name())
        {
            extra.logical = Some(self.manifest.texts.add(name)?);
        }
        if source.encoding == Encoding::Other {
            extra.encoding = Some(self.manifest.texts.add(component.encoding_name())?);
        }
        if let Some(digest) = component.digest() {
            extra.digest = Some(self.manifest.texts.add(digest)?);
        }
        let large = source.stored_size >= self.options.large_size;
        self.align(self.options.alignment.max(if large { self.options.large_alignment } else { 0 }))?;
        let mut entry = *source;
        (entry.role, entry.offset) = (role, self.position);
        entry.set_size(decoded);
        entry.set_size_declared(source.encoding != Encoding::Raw);
        entry.set_page_exclusive(false);
        component.for_each_stored(&mut |chunk| self.put(chunk))?;
        self.data_bytes = self.data_bytes.saturating_add(decoded.unwrap_or(source.stored_size));
        self.push_component(entry, extra)
    }

    /// Decoded, changed, and written anew: as the source was, or as `recode` has it.
    fn write_anew(&mut self, component: &Component<'_>, dtype: Dtype, recode: &Recode) -> Result<()> {
        let from = component.dtype().unwrap_or(dtype);
        let size = convert::converted_size(component.size()?, (from, None), dtype)?;
        let claim = component.digest().and_then(|text| digest::parse(text).ok());
        let spec = ComponentSpec {
            logical: match component.logical() {
                LogicalType::Known(known) => Some(LogicalName::Known(known)),
                LogicalType::Other => component.logical_name().map(LogicalName::Other),
                LogicalType::Absent | LogicalType::SameAsDtype => None,
            },
            encoding: Some(recode.encoding.unwrap_or(component.encoding())),
            digest: Some(recode.digest.unwrap_or(claim.as_ref().and_then(Claim::algorithm))),
            size: Some(size),
            ..ComponentSpec::new(component.role(), dtype)
        };
        self.component(&spec)?;
        let odd_bools = from == Dtype::Bool && component.source_version() == Version::V0_1;
        let mut converted = Vec::new();
        component.for_each_decoded(&mut |chunk| {
            if from == dtype && !odd_bools {
                return self.data(chunk);
            }
            let size = convert::converted_size(chunk.len() as u64, (from, None), dtype)?;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            converted.clear();
            converted.try_reserve(size)?;
            converted.resize(size, 0);
            // What is written next has to stay in the cache: it is as if that were all.
            convert::convert(chunk, (from, None), dtype, &mut converted, size as u64)?;
            self.data(&converted)
        })?;
        self.end_component()
    }
}
