//! Writes objects: opened, filled with components and ended by separate calls, or all of it in one call.

use super::attributes::check_attributes;
use super::contents::ContentCheck;
use super::specs::{self, check_object_name, ComponentSpec, LogicalSpec, ObjectSpec};
use super::state::{name_exists, Phase, Writer};
use super::stream::component_entry;
use crate::error::{fail, Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::find_duplicate::find_duplicate;
use crate::model::manifest::{Component, Format, Object, RareNames};
use crate::model::sort::sort_by;
use crate::model::value::Attributes;

impl Writer {
    /// Opens an object that is written component by component.
    pub fn begin(&mut self, spec: &ObjectSpec<'_>, attributes: Attributes) -> Result<()> {
        self.check_idle()?;
        let in_object = |e: crate::error::Error| e.within(format_args!("object {:?}", spec.name));
        self.check_object(spec, &attributes).map_err(in_object)?;
        let checkpoint = self.manifest.checkpoint();
        match self.new_object_entry(spec) {
            Ok(entry) => {
                let contents = Some(ContentCheck::new(self.capabilities(), entry.format, spec.shape));
                self.state = Phase::Object { checkpoint, entry, attributes, contents };
                Ok(())
            }
            Err(e) => {
                self.roll_back_manifest(&checkpoint);
                Err(in_object(e))
            }
        }
    }

    pub(super) fn check_object(&self, spec: &ObjectSpec<'_>, attributes: &Attributes) -> Result<()> {
        check_object_name(spec.name, self.capabilities())?;
        if self.has_name(spec.name) {
            return Err(name_exists());
        }
        self.check_name_order(spec.name, None)?;
        check_attributes(attributes)?;
        self.check_attribute_keys(attributes)?;
        if spec.format == "sparse_csr" && spec.shape.len() != 2 {
            let rank = spec.shape.len();
            return Err(fail!(InvalidArgument, "its format is sparse_csr, but its rank is {rank}, not 2"));
        }
        let to = self.capabilities();
        to.check_format(spec.format)?;
        to.check_shape(spec.shape)?;
        to.check_attributes(attributes)
    }

    fn new_object_entry(&mut self, spec: &ObjectSpec<'_>) -> Result<Object> {
        self.reserve_names(1)?;
        let name = self.manifest.texts.add(spec.name)?;
        let format = match self.capabilities().format(spec.format) {
            Some(format) => format,
            None => Format::Other(self.manifest.texts.add(spec.format)?),
        };
        self.manifest.objects.try_reserve(1)?;
        self.object_entry(name, format, spec.shape)
    }

    /// Ends the open object.
    pub fn end(&mut self) -> Result<()> {
        let entry = self.open_object()?;
        self.end_component()?;
        let entry = Object { component_count: self.open_object()?.component_count, ..entry };
        for role in entry.format.required_roles() {
            if self.manifest.component(&entry, role).is_none() {
                let name = self.manifest.texts.get(entry.name);
                return Err(fail!(
                    InvalidArgument,
                    "object {name:?} has no component {role:?}, which its format requires"
                ));
            }
        }
        self.check_object_components(entry, true, None).map_err(|e| self.in_object(entry, e))?;
        if let Some(mut contents) = self.take_contents() {
            // Its bytes are in the file, and no call can make another object of them.
            let checked = self.check_object_components(entry, true, Some(&mut contents));
            checked.map_err(|e| self.in_object(entry, e)).map_err(|e| self.poison(e))?;
        }
        self.push_object()
    }

    fn in_object(&self, object: Object, error: Error) -> Error {
        error.within(format_args!("object {:?}", self.manifest.texts.get(object.name)))
    }

    /// The check of the open object's contents, which is not asked again.
    pub(super) fn take_contents(&mut self) -> Option<ContentCheck> {
        match &mut self.state {
            Phase::Object { contents, .. } => contents.take(),
            Phase::Idle | Phase::Closed(_) => None,
        }
    }

    /// Adds the open object to the manifest. Its components were all checked.
    pub(super) fn push_object(&mut self) -> Result<()> {
        let entry = self.open_object()?;
        let Phase::Object { attributes, .. } = &self.state else {
            return Err(fail!(Internal, "an open object is not open"));
        };
        let attributes = match attributes.is_empty() {
            true => None,
            false => Some(attributes.put(&mut self.manifest.values, None)?),
        };
        self.state = Phase::Idle;
        self.manifest.objects.push(Object { attributes, ..entry })?; // reserved when the object was opened
        self.index_last_name();
        Ok(())
    }

    /// Writes an object with all of its components. Everything is checked before a byte is written.
    pub fn write_object(
        &mut self,
        spec: &ObjectSpec<'_>,
        attributes: Attributes,
        components: &[(ComponentSpec<'_>, &[u8])],
    ) -> Result<()> {
        self.begin(spec, attributes)?;
        let checked = self.check_components(spec, components);
        if let Err(e) = checked {
            self.discard_object();
            return Err(e.within(format_args!("object {:?}", spec.name)));
        }
        let before = self.position;
        let written = match self.canonical {
            None => components.iter().try_for_each(|(spec, data)| self.component_whole(spec, data)),
            Some(_) => by_role(components, |(spec, _)| spec.role).and_then(|sorted| {
                sorted.iter().try_for_each(|(spec, data)| self.component_whole(spec, data))
            }),
        };
        match written.and_then(|()| self.end_component()).and_then(|()| self.push_object()) {
            Ok(()) => Ok(()),
            // After the checks above only the sink fails. Half an object in the file would be padding that is
            // not zero, so the writer is poisoned.
            Err(e) if self.position != before && self.is_open() => Err(self.poison(e)),
            Err(e) => {
                self.discard_object();
                Err(e)
            }
        }
    }

    /// Discards the open object.
    pub(super) fn discard_object(&mut self) {
        if let Phase::Object { checkpoint, .. } = &self.state {
            let checkpoint = *checkpoint;
            self.roll_back_manifest(&checkpoint);
            self.component = None;
            self.state = Phase::Idle;
        }
    }

    fn check_components(
        &mut self,
        spec: &ObjectSpec<'_>,
        components: &[(ComponentSpec<'_>, &[u8])],
    ) -> Result<()> {
        let object = self.open_object()?;
        for role in object.format.required_roles() {
            if !components.iter().any(|(c, _)| c.role == *role) {
                return Err(fail!(
                    InvalidArgument,
                    "it has no component {role:?}, which its format requires"
                ));
            }
        }
        if let Some((twice, _)) = find_duplicate(components, |(a, _), (b, _)| a.role.cmp(b.role))? {
            return Err(fail!(Exists, "it has two components {:?}", twice.role));
        }
        let to = self.capabilities();
        to.check_component_count(components.len())?;
        for (component, data) in components {
            let in_component =
                |e: crate::error::Error| e.within(format_args!("component {:?}", component.role));
            let tried = self.try_entry(component).and_then(|()| {
                specs::check_index_dtype(object.format, component, to)?;
                let expected = specs::expected_size(object.format, spec.shape, component)?;
                let logical = specs::known(component.logical);
                specs::check_final_size(component.dtype, logical, expected, data.len() as u64)
            });
            tried.map_err(in_component)?;
        }
        let entry_of = |writer: &mut Writer, (spec, data): &(ComponentSpec<'_>, &[u8])| {
            let (mut entry, rare) = component_entry(writer, spec)?;
            entry.set_size(Some(data.len() as u64));
            Ok((entry, rare))
        };
        self.check_object_of(components, true, entry_of, &|(spec, data), _, check| {
            check(data).map_err(|e| e.within(format_args!("component {:?}", spec.role)))
        })
    }

    /// Checks that components, with the entries that `entry_of` gives and the bytes that `bytes_of` does,
    /// make an object of the open object's format. `bytes_of` is told whether all bytes have to be seen.
    /// `complete` as in [`Capabilities::check_object`](crate::container::Capabilities::check_object).
    pub(super) fn check_object_of<T>(
        &mut self,
        components: &[T],
        complete: bool,
        entry_of: impl Fn(&mut Writer, &T) -> Result<(Component, RareNames)>,
        bytes_of: &BytesOf<'_, T>,
    ) -> Result<()> {
        let (checkpoint, mut object) = (self.manifest.checkpoint(), self.open_object()?);
        self.take_contents();
        let mut check = || {
            let first = self.manifest.components.len();
            for component in components {
                let (mut entry, rare) = entry_of(self, component)?;
                entry.rare = self.manifest.add_rare_names(rare)?;
                self.manifest.components.try_reserve(1)?;
                self.manifest.components.push(entry)?;
                object.component_count = object.component_count.saturating_add(1);
            }
            self.check_object_components(object, complete, None)?;
            let manifest = &self.manifest;
            let shape = manifest.shape(&object);
            let mut contents = ContentCheck::new(self.capabilities(), object.format, shape);
            for (at, component) in (0..).zip(components) {
                let entry = manifest.components.get(first.saturating_add(at as usize)).copied();
                let Some(entry) = entry else { return Err(fail!(Internal, "a component has no entry")) };
                let (role, mut base) = (manifest.texts.get(entry.role), 0u64);
                let needed = contents.begin((at, role), entry.dtype, entry.known_logical(), shape);
                bytes_of(component, needed, &mut |bytes| {
                    let checked = contents.check(bytes, base);
                    base = base.saturating_add(bytes.len() as u64);
                    checked
                })?;
            }
            self.check_object_components(object, complete, Some(&mut contents))
        };
        let checked = check();
        self.roll_back_manifest(&checkpoint);
        checked
    }

    /// Checks that the components that the manifest has for an object make an object of its format, or, with
    /// `contents`, that what they hold does.
    fn check_object_components(
        &mut self,
        object: Object,
        complete: bool,
        contents: Option<&mut ContentCheck>,
    ) -> Result<()> {
        let to = self.capabilities();
        let Phase::Object { attributes, .. } = &self.state else { return Ok(()) };
        if contents.is_none() && !to.checks_objects() {
            return Ok(());
        }
        let before = self.manifest.checkpoint();
        let attributes = match attributes.is_empty() {
            true => None,
            false => Some(attributes.put(&mut self.manifest.values, None)?),
        };
        let object = Object { attributes, ..object };
        let checked = match contents {
            None => to.check_object(&self.manifest, &object, complete),
            Some(contents) => contents.end(&self.manifest, &object),
        };
        self.manifest.rollback(&before);
        checked
    }

    /// Writes a sparse_csr object.
    #[allow(clippy::too_many_arguments, reason = "a sparse matrix has that many parts")]
    pub fn write_csr(
        &mut self,
        name: &str,
        dtype: Dtype,
        logical: Option<Logical>,
        shape: &[u64],
        values: &[u8],
        indices: &[u64],
        indptr: &[u64],
    ) -> Result<()> {
        let in_object = |e: crate::error::Error| e.within(format_args!("object {name:?}"));
        check_values(dtype, logical, values, indices.len() as u64).map_err(in_object)?;
        let (indices, indptr) = (host_bytes(indices)?, host_bytes(indptr)?);
        let object = ObjectSpec { name, format: "sparse_csr", shape };
        let logical = logical.map(LogicalSpec::Known);
        self.write_object(
            &object,
            Attributes::default(),
            &[
                (ComponentSpec { logical, ..ComponentSpec::new("values", dtype) }, values),
                (ComponentSpec::new("indices", Dtype::U64), &indices),
                (ComponentSpec::new("indptr", Dtype::U64), &indptr),
            ],
        )
    }

    /// Writes a sparse_coo object.
    #[allow(clippy::too_many_arguments, reason = "a sparse tensor has that many parts")]
    pub fn write_coo(
        &mut self,
        name: &str,
        dtype: Dtype,
        logical: Option<Logical>,
        shape: &[u64],
        nnz: u64,
        values: &[u8],
        coords: &[u64],
    ) -> Result<()> {
        let in_object = |e: crate::error::Error| e.within(format_args!("object {name:?}"));
        check_values(dtype, logical, values, nnz).map_err(in_object)?;
        let coords = host_bytes(coords)?;
        let object = ObjectSpec { name, format: "sparse_coo", shape };
        let logical = logical.map(LogicalSpec::Known);
        self.write_object(
            &object,
            Attributes::default(),
            &[
                (ComponentSpec { logical, ..ComponentSpec::new("values", dtype) }, values),
                (ComponentSpec::new("coords", Dtype::U64), &coords),
            ],
        )
    }
}

/// Gives the bytes of a component to a check. The flag says whether the check has to see them.
pub(super) type BytesOf<'a, T> = dyn Fn(&T, bool, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a;

/// Components in the order of their roles' bytes.
fn by_role<T>(components: &[T], role: impl Fn(&T) -> &str) -> Result<Vec<&T>> {
    let mut sorted = Vec::new();
    sorted.try_reserve_exact(components.len())?;
    sorted.extend(components);
    sort_by(&mut sorted, |a: &&T, b: &&T| role(a).as_bytes().cmp(role(b).as_bytes()));
    Ok(sorted)
}

/// Checks that a sparse object has as many values as entries.
fn check_values(dtype: Dtype, logical: Option<Logical>, values: &[u8], nnz: u64) -> Result<()> {
    let block = logical.map_or(dtype.block(), Logical::block);
    let wanted = block.size(nnz);
    if wanted != Some(values.len() as u64) {
        return Err(fail!(
            BufferSize,
            "{nnz} entries take {} bytes of values, {} are given",
            wanted.unwrap_or(u64::MAX),
            values.len()
        ));
    }
    Ok(())
}

/// Numbers as the bytes that they are in memory: what a component takes.
fn host_bytes(numbers: &[u64]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(numbers.len().saturating_mul(8))?;
    numbers.iter().for_each(|n| bytes.extend_from_slice(&n.to_ne_bytes()));
    Ok(bytes)
}
