//! Whole objects. All ways to write them make descriptions for [`Writer::write_all`], which writes one or
//! many. It checks all of them before it writes the first byte, so a call that is refused writes nothing.
//! Objects that are not complete yet are opened, get their components, and are ended.

use super::attributes::check_attributes;
use super::batch::{compress_in_parallel, threads_to_hash, write_with_offloaded_hashes};
use super::components::component_entry;
use super::content_check::{advise, ContentCheck};
use super::description::{
    attributes_of_format, by_role, check_final_size, check_object_name, check_roles, check_type, dense_size,
    expected_size, known, ComponentSpec, Components, DenseSpec, Describe, Description, LogicalSpec,
    ObjectSpec, Part, QuantizedSpec,
};
use super::state::{last_name, name_exists, Phase, Writer};
use crate::codec::Coding;
use crate::container::QuantizedForm;
use crate::digest::{self, Algorithm};
use crate::error::{fail, Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    element_count, table_position, Component, Encoding, Format, Object, Position, RareNames,
};
use crate::model::sort::find_duplicate;
use crate::model::value::Attributes;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// The name of the format that most objects have.
const DENSE: &str = "dense";

impl Writer {
    /// Writes a dense object. If its type is a block type, the object is made of blocks.
    pub fn write_dense(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        self.write_all(std::slice::from_ref(request), |_, e| e)
    }

    /// Writes dense objects like [`Writer::write_dense`] one after the other.
    pub fn write_batch(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        self.write_all(requests, |at, e| e.within(format_args!("request {at}")))
    }

    /// Writes an object with all of its components.
    pub fn write_object(
        &mut self,
        spec: &ObjectSpec<'_>,
        attributes: Attributes,
        components: &[(ComponentSpec<'_>, &[u8])],
    ) -> Result<()> {
        let components = Components::All(components);
        let whole = Description { object: *spec, attributes: Some(&attributes), components };
        self.write_all(std::slice::from_ref(&whole), |_, e| e)
    }

    /// Writes an object of codes with scales, after checking its geometry.
    pub fn write_quantized(&mut self, spec: &QuantizedSpec<'_>) -> Result<()> {
        let form = spec.form(self.capabilities());
        let QuantizedForm { format, codes: role, attributes } =
            form.map_err(|e| e.within(format_args!("object {:?}", spec.name)))?;
        let object = ObjectSpec { name: spec.name, format, shape: spec.shape };
        let (codes, data) = spec.packed_weight;
        let codes = (ComponentSpec { role, ..codes }, data);
        match spec.zeros {
            Some(zeros) => self.write_object(&object, attributes, &[codes, spec.scales, zeros]),
            None => self.write_object(&object, attributes, &[codes, spec.scales]),
        }
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
        let object = ObjectSpec { name, format: "sparse_csr", shape };
        let positions = [("indices", indices), ("indptr", indptr)];
        self.write_sparse(object, (dtype, logical), (values, indices.len() as u64), &positions)
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
        let object = ObjectSpec { name, format: "sparse_coo", shape };
        self.write_sparse(object, (dtype, logical), (values, nnz), &[("coords", coords)])
    }

    /// Writes `nnz` values with their positions, which are components with these roles.
    fn write_sparse(
        &mut self,
        object: ObjectSpec<'_>,
        (dtype, logical): (Dtype, Option<Logical>),
        (values, nnz): (&[u8], u64),
        positions: &[(&str, &[u64])],
    ) -> Result<()> {
        let wanted = logical.map_or(dtype.block(), Logical::block).size(nnz);
        if wanted != Some(values.len() as u64) {
            let (wanted, given) = (wanted.unwrap_or(u64::MAX), values.len());
            let error =
                fail!(BufferSize, "{nnz} entries take {wanted} bytes of values, but {given} were given");
            return Err(error.within(format_args!("object {:?}", object.name)));
        }
        let (mut bytes, mut parts) = (Vec::new(), Vec::new());
        bytes.try_reserve_exact(
            positions
                .iter()
                .fold(0, |sum: usize, (_, numbers)| sum.saturating_add(numbers.len().saturating_mul(8))),
        )?;
        for (_, numbers) in positions {
            numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_ne_bytes()));
        }
        parts.try_reserve_exact(positions.len().saturating_add(1))?;
        let logical = logical.map(LogicalSpec::Known);
        parts.push((ComponentSpec { logical, ..ComponentSpec::new("values", dtype) }, values));
        let mut rest = bytes.as_slice();
        for (role, numbers) in positions {
            let (these, others) = rest.split_at_checked(numbers.len().saturating_mul(8)).unwrap_or_default();
            parts.push((ComponentSpec::new(role, Dtype::U64), these));
            rest = others;
        }
        self.write_object(&object, Attributes::default(), &parts)
    }

    /// Writes whole objects. All of them are checked before the first byte is written.
    fn write_all<D: Describe>(
        &mut self,
        objects: &[D],
        in_request: impl Fn(usize, Error) -> Error,
    ) -> Result<()> {
        self.check_idle()?;
        let (checkpoint, before) = (self.manifest.checkpoint(), self.position);
        let first = self.manifest.objects.len();
        let mut named = 0;
        let checked = self.reserve_entries(objects).and_then(|()| {
            objects.iter().enumerate().try_for_each(|(at, object)| {
                let whole = object.describe();
                let checked = self.reserve_name(first, objects, at).and_then(|()| {
                    named = at.saturating_add(1);
                    self.check_description(&whole)
                });
                let in_object = |e: Error| e.within(format_args!("object {:?}", whole.object.name));
                checked.map_err(|e| in_request(at, in_object(e)))
            })
        });
        checked.and_then(|()| self.write_checked(objects)).map_err(|e| {
            // After the checks above, only the sink can fail. The half object in the file would be padding
            // that is not zero, so the writer is closed.
            if self.position != before {
                return self.abort(e);
            }
            self.forget_names(first, objects.get(..named).unwrap_or_default());
            self.roll_back_manifest(&checkpoint);
            self.component = None;
            e
        })
    }

    /// Reserves memory for all entries, so that making them cannot fail after bytes were written.
    fn reserve_entries(&mut self, objects: &[impl Describe]) -> Result<()> {
        let default = self.options.digest;
        let (mut texts, mut dimensions, mut components) = (0_usize, 0_usize, 0_usize);
        let mut rare_names = 0_usize;
        for object in objects {
            let Description { object, components: all, .. } = object.describe();
            texts = texts.saturating_add(object.name.len()).saturating_add(1);
            dimensions = dimensions.saturating_add(object.shape.len());
            components = components.saturating_add(all.parts().len());
            for (spec, _) in all.parts() {
                let digest = spec.digest.unwrap_or(default).map_or(0, digest::text_size);
                texts = texts.saturating_add(digest).saturating_add(1);
                rare_names = rare_names.saturating_add(usize::from(digest > 0 || spec.logical.is_some()));
            }
        }
        self.reserve_names(objects.len())?;
        self.manifest.texts.try_reserve(texts)?;
        self.manifest.dimensions.try_reserve(dimensions)?;
        self.manifest.rare_names.try_reserve(rare_names)?;
        self.manifest.components.try_reserve(components)?;
        self.manifest.objects.try_reserve(objects.len())
    }

    /// Adds the name of object number `at` to the index. The object's position will be `first` plus `at`.
    fn reserve_name(&mut self, first: usize, objects: &[impl Describe], at: usize) -> Result<()> {
        let name_at_request = |at: usize| objects.get(at).map(|object| object.describe().object.name);
        let name = name_at_request(at).unwrap_or_default();
        check_object_name(name, self.capabilities())?;
        let position = table_position(first.saturating_add(at))?;
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let name_of = |position: u32| {
            let request = name_at_request((position as usize).wrapping_sub(first));
            request.map_or_else(|| manifest.name_at(position as usize), str::as_bytes)
        };
        let is_it = |position: &u32| name_of(*position) == name.as_bytes();
        let hash = |position: &u32| hasher.hash_one(name_of(*position));
        let is_there = self.append_base.as_ref().is_some_and(|base| base.find(name).is_some());
        let before = || at.checked_sub(1).and_then(name_at_request).or_else(|| last_name(manifest));
        match self.names.entry(hasher.hash_one(name.as_bytes()), is_it, hash) {
            Entry::Vacant(place) if !is_there => {
                self.canonical.check_order("an object", name, before)?;
                place.insert(position);
                Ok(())
            }
            _ => Err(name_exists()),
        }
    }

    /// Removes the names of these objects from the index.
    fn forget_names(&mut self, first: usize, objects: &[impl Describe]) {
        for (position, object) in (first..).zip(objects) {
            let hash = self.hasher.hash_one(object.describe().object.name.as_bytes());
            if let Ok(name) = self.names.find_entry(hash, |other| *other as usize == position) {
                name.remove();
            }
        }
    }

    /// Checks that the object can be written, without its name.
    fn check_description(&mut self, whole: &Description<'_>) -> Result<()> {
        match &whole.components {
            Components::Data([(spec, data)]) if whole.object.format == DENSE => self
                .check_data(whole.object.shape, spec, data)
                .map_err(|e| e.within(format_args!("component {:?}", spec.role))),
            components => {
                let checkpoint = self.manifest.checkpoint();
                let checked = self.check_parts(whole, components.parts());
                self.roll_back_manifest(&checkpoint);
                checked
            }
        }
    }

    fn check_data(&mut self, shape: &[u64], spec: &ComponentSpec<'_>, data: &[u8]) -> Result<()> {
        let (entry, _) = self.entry_of(spec)?;
        let (to, logical) = (self.capabilities(), known(spec.logical));
        to.check_shape(shape)?;
        check_final_size(
            spec.dtype,
            logical,
            dense_size(shape, spec.dtype, spec.logical)?,
            data.len() as u64,
        )?;
        let check = to.element_check(entry.dtype, logical, element_count(shape), false);
        check.check(data, 0).map_err(|e| advise(to, e))
    }

    /// Checks any object. Its entries stay in the manifest.
    fn check_parts(&mut self, whole: &Description<'_>, parts: &[Part<'_>]) -> Result<()> {
        let (to, none) = (self.capabilities(), Attributes::default());
        self.check_object(&whole.object, whole.attributes.unwrap_or(&none))?;
        let object = self.object_of(&whole.object)?;
        let attributes = self.put_attributes(object.format, whole.attributes)?;
        let object = Object { attributes, ..object };
        check_roles(object.format, |role| parts.iter().any(|(spec, _)| spec.role == role))?;
        if let Some((twice, _)) = find_duplicate(parts, |(a, _), (b, _)| a.role.cmp(b.role))? {
            return Err(fail!(Exists, "it has two components {:?}", twice.role));
        }
        to.check_component_count(parts.len())?;
        for (spec, data) in parts {
            self.canonical.check_order("a component", spec.role, || None)?; // the writer sorts them
            let tried = self.try_entry(spec).and_then(|()| {
                check_type(object.format, spec, to)?;
                let expected = expected_size(object.format, whole.object.shape, spec)?;
                check_final_size(spec.dtype, known(spec.logical), expected, data.len() as u64)
            });
            tried.map_err(|e| e.within(format_args!("component {:?}", spec.role)))?;
        }
        let entry_of = |writer: &mut Writer, (spec, data): &Part<'_>| {
            let (mut entry, rare) = component_entry(writer, spec)?;
            entry.set_size(Some(data.len() as u64));
            Ok((entry, rare))
        };
        self.check_object_of(object, parts, true, entry_of, &|(spec, data), _, check| {
            check(data).map_err(|e| e.within(format_args!("component {:?}", spec.role)))
        })
    }

    /// The manifest entry of a component, without the fields that follow from its bytes. Most objects are
    /// dense, and the entries of their data are equal, so the last one is kept.
    pub(super) fn entry_of(&mut self, spec: &ComponentSpec<'_>) -> Result<(Component, RareNames)> {
        let kind = (spec.dtype, known(spec.logical), spec.encoding, spec.digest);
        let is_kept = spec.role == "data" && (spec.logical.is_none() || kind.1.is_some());
        match self.last_entry {
            Some((last, entry)) if is_kept && last == kind => Ok((entry, RareNames::default())),
            _ => {
                let (entry, rare) = component_entry(self, spec)?;
                if is_kept {
                    self.last_entry = Some((kind, entry));
                }
                Ok((entry, rare))
            }
        }
    }

    /// Writes the bytes of checked objects. Neighbours with a single component and the same encoding are
    /// written together.
    fn write_checked<D: Describe>(&mut self, objects: &[D]) -> Result<()> {
        let (encoding, to) = (self.options.encoding, self.capabilities());
        let encoding_of = |object: &D| match object.describe().components.parts() {
            [(spec, _)] if !spec.dtype.swaps(false) => {
                Some(to.encoding(spec.encoding.unwrap_or(encoding)).unwrap_or(Encoding::Other))
            }
            _ => None,
        };
        let same_storage = |a: &D, b: &D| encoding_of(a).is_some_and(|one| encoding_of(b) == Some(one));
        for run in objects.chunk_by(same_storage) {
            let coding = run.first().filter(|_| run.len() > 1).and_then(encoding_of).and_then(Coding::of);
            let helpers = match coding {
                Some(Coding::Compressed(codec)) => {
                    compress_in_parallel(self, codec, run)?;
                    continue;
                }
                Some(Coding::Raw) => threads_to_hash(&self.options, run),
                None => 0,
            };
            match helpers {
                0 => run.iter().try_for_each(|object| self.write_whole(&object.describe(), |_| true))?,
                _ => write_with_offloaded_hashes(self, run, helpers)?,
            }
        }
        Ok(())
    }

    /// Writes the bytes of one object. Components are hashed here with the algorithms in `hashes`.
    pub(super) fn write_whole(
        &mut self,
        whole: &Description<'_>,
        hashes: impl Fn(Algorithm) -> bool,
    ) -> Result<()> {
        let (object, is_sorted) = (self.whole_object(whole)?, self.canonical.is_asked());
        let mut write = |(spec, data): &Part<'_>| {
            let ((entry, rare), size) = (self.entry_of(spec)?, data.len() as u64);
            let digest = spec.digest.unwrap_or(self.options.digest).filter(|digest| hashes(*digest));
            let content = self.canonical.content_of(data, spec.dtype)?;
            self.start_component(entry, rare, digest, Some(size), false, content)?;
            self.feed(data)?;
            self.close_component()
        };
        match whole.components.parts() {
            [part] => write(part)?,
            parts if is_sorted => by_role(parts)?.into_iter().try_for_each(write)?,
            parts => parts.iter().try_for_each(write)?,
        }
        self.push_object(object, whole.attributes)
    }

    /// The entry of a whole object, without components yet.
    pub(super) fn whole_object(&mut self, whole: &Description<'_>) -> Result<Object> {
        match whole.components {
            Components::Data(_) if whole.object.format == DENSE => {
                let name = self.manifest.texts.add(whole.object.name)?;
                self.object_entry(name, Format::Dense, whole.object.shape)
            }
            _ => self.object_of(&whole.object),
        }
    }

    /// Adds an object whose name is in the index, with the components that were added since its entry was
    /// made.
    pub(super) fn push_object(&mut self, object: Object, attributes: Option<&Attributes>) -> Result<()> {
        let attributes = self.put_attributes(object.format, attributes)?;
        let count = self.manifest.components.len().saturating_sub(object.component_start as usize);
        let component_count = table_position(count)?;
        self.manifest.objects.push(Object { attributes, component_count, ..object })
    }

    fn put_attributes(
        &mut self,
        format: Format,
        attributes: Option<&Attributes>,
    ) -> Result<Option<Position>> {
        let of_format;
        let attributes = match (attributes, format) {
            (None, Format::Blocks(_)) => {
                of_format = attributes_of_format(format)?;
                Some(&of_format)
            }
            (given, _) => given.filter(|attributes| !attributes.is_empty()),
        };
        attributes.map(|attributes| attributes.put(&mut self.manifest.values, None)).transpose()
    }
}

/// Objects that separate calls open, fill and end.
impl Writer {
    /// Opens an object that is written component by component.
    pub fn begin(&mut self, spec: &ObjectSpec<'_>, attributes: Attributes) -> Result<()> {
        self.check_idle()?;
        let in_object = |e: Error| e.within(format_args!("object {:?}", spec.name));
        self.check_new_name(spec.name)
            .and_then(|()| self.check_object(spec, &attributes))
            .map_err(in_object)?;
        let checkpoint = self.manifest.checkpoint();
        let mut entry = || {
            self.reserve_names(1)?;
            self.manifest.objects.try_reserve(1)?;
            self.object_of(spec)
        };
        match entry() {
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

    /// Checks that an object with this name may come next.
    pub(super) fn check_new_name(&self, name: &str) -> Result<()> {
        check_object_name(name, self.capabilities())?;
        match self.has_name(name) {
            true => Err(name_exists()),
            false => self.canonical.check_order("an object", name, || last_name(&self.manifest)),
        }
    }

    /// Checks that the object can be written, without its name and components.
    pub(super) fn check_object(&self, spec: &ObjectSpec<'_>, attributes: &Attributes) -> Result<()> {
        check_attributes(attributes)?;
        self.canonical.check_attribute_keys(attributes)?;
        if spec.format == "sparse_csr" && spec.shape.len() != 2 {
            let rank = spec.shape.len();
            return Err(fail!(InvalidArgument, "its format is sparse_csr, but its rank is {rank}, not 2"));
        }
        let to = self.capabilities();
        to.check_format(spec.format)?;
        to.check_shape(spec.shape)?;
        to.check_attributes(attributes)
    }

    /// The entry of an object, without components yet.
    fn object_of(&mut self, spec: &ObjectSpec<'_>) -> Result<Object> {
        let name = self.manifest.texts.add(spec.name)?;
        let format = match self.capabilities().format(spec.format) {
            Some(format) => format,
            None => Format::Other(self.manifest.texts.add(spec.format)?),
        };
        self.object_entry(name, format, spec.shape)
    }

    /// Ends the open object.
    pub fn end(&mut self) -> Result<()> {
        self.open_object()?;
        self.end_component()?;
        let (before, object) = (self.manifest.checkpoint(), self.complete_object()?);
        let checked = check_roles(object.format, |role| self.manifest.component(&object, role).is_some())
            .and_then(|()| self.capabilities().check_object(&self.manifest, &object, true));
        let contents = checked.as_ref().ok().and_then(|()| self.take_contents());
        let held = contents.map_or(Ok(()), |mut contents| contents.end(&self.manifest, &object));
        self.manifest.rollback(&before);
        let in_object =
            |e: Error| e.within(format_args!("object {:?}", self.manifest.texts.get(object.name)));
        let (checked, held) = (checked.map_err(in_object), held.map_err(in_object));
        checked?;
        // The object's bytes are in the file, and no call can repair the object.
        held.map_err(|e| self.abort(e))?;
        self.push_open_object()
    }

    /// The check of the open object's contents. It is removed from the object.
    fn take_contents(&mut self) -> Option<ContentCheck> {
        match &mut self.state {
            Phase::Object { contents, .. } => contents.take(),
            Phase::Idle | Phase::Closed(_) => None,
        }
    }

    /// Adds the open object to the manifest. All of its components were checked.
    pub(super) fn push_open_object(&mut self) -> Result<()> {
        let object = self.complete_object()?;
        self.state = Phase::Idle;
        self.manifest.objects.push(object)?; // memory was reserved when the object was opened
        self.index_last_name();
        Ok(())
    }

    /// The open object with its attributes, which are added to the manifest.
    fn complete_object(&mut self) -> Result<Object> {
        let object = self.open_object()?;
        let attributes = match &self.state {
            Phase::Object { attributes, .. } if !attributes.is_empty() => {
                Some(attributes.put(&mut self.manifest.values, None)?)
            }
            _ => None,
        };
        Ok(Object { attributes, ..object })
    }

    pub(super) fn discard_object(&mut self) {
        if let Phase::Object { checkpoint, .. } = &self.state {
            let checkpoint = *checkpoint;
            self.roll_back_manifest(&checkpoint);
            self.component = None;
            self.state = Phase::Idle;
        }
    }

    /// Like [`Writer::check_object_of`], for all components of the open object at once. Their bytes are not
    /// checked again when they are written.
    pub(super) fn check_open_object_of<T>(
        &mut self,
        components: &[T],
        complete: bool,
        entry_of: impl Fn(&mut Writer, &T) -> Result<(Component, RareNames)>,
        bytes_of: &BytesOf<'_, T>,
    ) -> Result<()> {
        self.take_contents();
        let (before, object) = (self.manifest.checkpoint(), self.complete_object()?);
        let checked = self.check_object_of(object, components, complete, entry_of, bytes_of);
        self.roll_back_manifest(&before);
        checked.map_err(|e| e.within(format_args!("object {:?}", self.manifest.texts.get(object.name))))
    }

    /// Checks that components form an object of this format. `entry_of` returns their entries, which stay in
    /// the manifest; `bytes_of` returns their bytes, and gets a flag that says whether all bytes are needed.
    /// For `complete`, see [`Capabilities::check_object`](crate::container::Capabilities::check_object).
    fn check_object_of<T>(
        &mut self,
        mut object: Object,
        components: &[T],
        complete: bool,
        entry_of: impl Fn(&mut Writer, &T) -> Result<(Component, RareNames)>,
        bytes_of: &BytesOf<'_, T>,
    ) -> Result<()> {
        let first = self.manifest.components.len();
        for component in components {
            let (mut entry, rare) = entry_of(self, component)?;
            entry.rare = self.manifest.add_rare_names(rare)?;
            self.manifest.components.try_reserve(1)?;
            self.manifest.components.push(entry)?;
            object.component_count = object.component_count.saturating_add(1);
        }
        let (to, manifest) = (self.capabilities(), &self.manifest);
        to.check_object(manifest, &object, complete)?;
        let shape = manifest.shape(&object);
        let mut contents = ContentCheck::new(to, object.format, shape);
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
        contents.end(manifest, &object)
    }
}

/// Passes the bytes of a component to a check. The flag says whether the check needs all bytes.
type BytesOf<'a, T> = dyn Fn(&T, bool, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a;
