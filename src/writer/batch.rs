//! Writes one or many dense objects in one call. All are checked before the first byte is written, so that a
//! call that is refused writes nothing. Then each is written as a streamed component is; digests or
//! compression of many may take several threads.

mod offloaded_hashes;
mod parallel_frames;

use super::contents::advise;
use super::specs::{check_final_size, check_object_name, dense_size, ComponentSpec, LogicalSpec};
use super::state::{name_at, name_exists, Writer};
use super::stream::{component_entry, unwritable_encoding};
use crate::codec::Coding;
use crate::digest::{self, Algorithm};
use crate::error::{Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    element_count, table_position, Checkpoint, Component, Encoding, Format, Object, RareNames,
};
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// A dense object to be written, with its elements.
#[derive(Clone, Copy, Debug)]
pub struct DenseSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its storage type.
    pub dtype: Dtype,
    /// Its logical type.
    pub logical: Option<Logical>,
    /// Its dimensions.
    pub shape: &'a [u64],
    /// Its elements, in the host's byte order.
    pub data: &'a [u8],
    /// Its encoding; none for the writer's.
    pub encoding: Option<Encoding>,
    /// Its digest; the outer none for the writer's, the inner one for no digest.
    pub digest: Option<Option<Algorithm>>,
}

impl<'a> DenseSpec<'a> {
    /// An object as the writer's options have it.
    pub fn new(name: &'a str, dtype: Dtype, shape: &'a [u64], data: &'a [u8]) -> Self {
        DenseSpec { name, dtype, logical: None, shape, data, encoding: None, digest: None }
    }

    fn component(&self) -> ComponentSpec<'a> {
        ComponentSpec {
            logical: self.logical.map(LogicalSpec::Known),
            encoding: self.encoding,
            digest: self.digest,
            ..ComponentSpec::new("data", self.dtype)
        }
    }
}

impl Writer {
    /// Writes an object as [`Writer::write_object`] would.
    pub fn write_dense(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        self.write_all(std::slice::from_ref(request), |_, e| e)
    }

    /// Writes objects as [`Writer::write_object`] would one after the other. Everything is checked, of all of
    /// them, before a byte is written.
    pub fn write_batch(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        self.write_all(requests, |at, e| e.within(format_args!("request {at}")))
    }

    fn write_all(
        &mut self,
        requests: &[DenseSpec<'_>],
        in_request: impl Fn(usize, Error) -> Error,
    ) -> Result<()> {
        self.check_idle()?;
        let (checkpoint, before) = (self.manifest.checkpoint(), self.position);
        let first = self.manifest.objects.len();
        let mut named = 0;
        let checked = self.reserve_entries(requests).and_then(|()| {
            requests.iter().try_for_each(|request| {
                let at = named;
                let taken = self.reserve_name(first, requests, at);
                named = at.saturating_add(usize::from(taken.is_ok()));
                let checked = taken.and_then(|()| self.check_dense(request));
                let in_object = |e: Error| e.within(format_args!("object {:?}", request.name));
                checked.map_err(|e| in_request(at, in_object(e)))
            })
        });
        checked.and_then(|()| self.write_checked(requests)).map_err(|e| match self.is_open() {
            true if self.position != before => self.poison(e),
            true => {
                self.forget_names(first, requests.get(..named).unwrap_or_default());
                self.roll_back_objects(&checkpoint);
                e
            }
            false => e,
        })
    }

    /// Reserves memory for all entries, so that making them cannot fail for lack of it once bytes are
    /// written.
    fn reserve_entries(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        let default = self.options.digest;
        let (mut texts, mut dimensions, mut rare_names) = (0_usize, 0_usize, 0_usize);
        for request in requests {
            let digest = request.digest.unwrap_or(default).map_or(0, digest::text_size);
            texts = texts.saturating_add(request.name.len()).saturating_add(digest).saturating_add(2);
            dimensions = dimensions.saturating_add(request.shape.len());
            rare_names = rare_names.saturating_add(usize::from(digest > 0));
        }
        self.reserve_names(requests.len())?;
        self.manifest.texts.try_reserve(texts)?;
        self.manifest.dimensions.try_reserve(dimensions)?;
        self.manifest.rare_names.try_reserve(rare_names)?;
        self.manifest.components.try_reserve(requests.len())?;
        self.manifest.objects.try_reserve(requests.len())
    }

    /// Checks that such an object can be written, whatever its name.
    fn check_dense(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let mut check = || {
            let entry = self.dense_entry(request)?;
            let logical = request.logical.map(LogicalSpec::Known);
            self.capabilities().check_shape(request.shape)?;
            let expected = dense_size(request.shape, request.dtype, logical)?;
            check_final_size(request.dtype, request.logical, expected, request.data.len() as u64)?;
            let (to, count) = (self.capabilities(), element_count(request.shape));
            let check = to.element_check(entry.dtype, request.logical, count, false);
            check.check(request.data, 0).map_err(|e| advise(to, e))
        };
        check().map_err(|e| e.within(format_args!("component \"data\"")))
    }

    /// The entry of its data, without what only the bytes give. Most objects of a file have equal entries, so
    /// the last one is kept.
    fn dense_entry(&mut self, request: &DenseSpec<'_>) -> Result<Component> {
        let kind = (request.dtype, request.logical, request.encoding, request.digest);
        match self.last_entry {
            Some((last, entry)) if last == kind => Ok(entry),
            _ => {
                let (entry, _) = component_entry(self, &request.component())?;
                self.last_entry = Some((kind, entry));
                Ok(entry)
            }
        }
    }

    /// Adds the name of request number `at`, whose object will be `at` positions behind `first`.
    fn reserve_name(&mut self, first: usize, requests: &[DenseSpec<'_>], at: usize) -> Result<()> {
        let name = requests.get(at).map_or("", |request| request.name);
        check_object_name(name, self.capabilities())?;
        let before = at.checked_sub(1).and_then(|at| requests.get(at));
        self.check_name_order(name, before.map(|request| request.name))?;
        let position = table_position(first.saturating_add(at))?;
        let (manifest, hasher) = (&self.manifest, &self.hasher);
        let name_of = |position: u32| match requests.get((position as usize).wrapping_sub(first)) {
            Some(request) => request.name.as_bytes(),
            None => name_at(manifest, position),
        };
        let is_it = |position: &u32| name_of(*position) == name.as_bytes();
        let hash = |position: &u32| hasher.hash_one(name_of(*position));
        match self.names.entry(hasher.hash_one(name.as_bytes()), is_it, hash) {
            Entry::Vacant(place) if !self.append_base.as_ref().is_some_and(|base| base.has(name)) => {
                place.insert(position);
                Ok(())
            }
            _ => Err(name_exists()),
        }
    }

    /// Takes the names of these requests out of the index.
    fn forget_names(&mut self, first: usize, requests: &[DenseSpec<'_>]) {
        for (position, request) in (first..).zip(requests) {
            let hash = self.hasher.hash_one(request.name.as_bytes());
            if let Ok(name) = self.names.find_entry(hash, |other| *other as usize == position) {
                name.remove();
            }
        }
    }

    /// Takes the objects since the checkpoint out of the manifest.
    fn roll_back_objects(&mut self, checkpoint: &Checkpoint) {
        self.roll_back_manifest(checkpoint);
        self.component = None;
    }

    /// Writes the bytes of objects that were checked; neighbours with one encoding go together.
    fn write_checked(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        let (encoding, to) = (self.options.encoding, self.capabilities());
        let is_swapped = |request: &DenseSpec<'_>| request.dtype.swaps(false);
        let encoding_of = |request: &DenseSpec<'_>| {
            let asked = request.encoding.unwrap_or(encoding);
            to.encoding(asked).unwrap_or(Encoding::Other)
        };
        let same_storage = |a: &DenseSpec<'_>, b: &DenseSpec<'_>| {
            !is_swapped(a) && !is_swapped(b) && encoding_of(a) == encoding_of(b)
        };
        for run in requests.chunk_by(same_storage) {
            let coding = run.first().map_or(Some(Coding::Raw), |first| Coding::of(encoding_of(first)));
            let helpers = match coding.ok_or_else(unwritable_encoding)? {
                Coding::Compressed(codec) if run.len() > 1 => {
                    self.compress_in_parallel(codec, run)?;
                    continue;
                }
                Coding::Raw if run.len() > 1 => self.threads_to_hash(run),
                Coding::Raw | Coding::Compressed(_) => 0,
            };
            match helpers {
                0 => run.iter().try_for_each(|request| {
                    self.write_one(request, request.digest.unwrap_or(self.options.digest))
                })?,
                _ => self.write_with_offloaded_hashes(run, helpers)?,
            }
        }
        Ok(())
    }

    /// Writes the bytes of one object, as a streamed component is written.
    fn write_one(&mut self, request: &DenseSpec<'_>, digest: Option<Algorithm>) -> Result<()> {
        let (entry, size) = (self.dense_entry(request)?, request.data.len() as u64);
        let content = self.content_of(request.data, request.dtype)?;
        self.start_component(entry, RareNames::default(), digest, Some(size), false, content)?;
        self.feed(request.data)?;
        self.finish_frames()?;
        self.push_dense_object(request)
    }

    /// Adds the object to the manifest. Its component is open, and all of its bytes were written.
    fn push_dense_object(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let name = self.manifest.texts.add(request.name)?; // reserved, as all others are
        let object = self.object_entry(name, Format::Dense, request.shape)?;
        self.finish_component()?;
        self.manifest.objects.push(Object { component_count: 1, ..object })
    }
}
