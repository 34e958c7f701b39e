//! Dense objects in one call: all are checked before the first byte is written, so that what can be refused is; then
//! the bytes go to the sink on the caller's thread while others hash, or write what this one buffers.

mod compressed;
mod hash_queue;

use super::objects::check_name_size;
use super::store;
use super::stream::rules::{check_final_size, expected_size};
use super::stream::{component_entry, unwritable_encoding};
use super::{name_at, Algorithm, ComponentSpec, LogicalSpec, Writer};
use crate::codec::Coding;
use crate::convert::byte_order::to_host_needed;
use crate::digest::{self, Digest};
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{
    table_position, Checkpoint, Component, Encoding, Format, Object, Position, RareNames,
};
use crate::sink::direct_sink::WRITE_BUFFERS;
use crate::sink::write_behind::{WriteBehind, BUFFER_SIZE};
use crate::threads;
use hash_queue::{is_offloaded, HashQueue};
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
            ..ComponentSpec::new("data", self.dtype)
        }
    }
}

/// The entry that was made last: most objects of a file have the same, but for the offset.
#[derive(Default)]
struct LastEntry(Option<(EntryKind, Component)>);

type EntryKind = (Dtype, Option<Logical>, Option<Encoding>);

impl LastEntry {
    fn entry(&mut self, writer: &mut Writer, request: &DenseSpec<'_>) -> Result<Component> {
        let kind = (request.dtype, request.logical, request.encoding);
        if let Some((_, entry)) = self.0.as_ref().filter(|(made, _)| *made == kind) {
            return Ok(*entry);
        }
        let (entry, _) = component_entry(writer, &request.component())?;
        self.0 = Some((kind, entry));
        Ok(entry)
    }
}

/// How much there is for several threads.
#[derive(Default)]
struct Sizes {
    all: usize,
    largest: usize,
    sha256_offloaded: usize,
    crc32c_offloaded: usize,
}

impl Sizes {
    fn of(run: &[DenseSpec<'_>], default: Option<Algorithm>) -> Sizes {
        let mut sizes = Sizes::default();
        for request in run {
            let size = request.data.len();
            sizes.all = sizes.all.saturating_add(size);
            sizes.largest = sizes.largest.max(size);
            let offloaded = request.digest.unwrap_or(default).filter(|of| is_offloaded(*of, request.data));
            let sum = match offloaded {
                Some(Algorithm::Sha256) => &mut sizes.sha256_offloaded,
                Some(Algorithm::Crc32c) => &mut sizes.crc32c_offloaded,
                None => continue,
            };
            *sum = sum.saturating_add(size);
        }
        sizes
    }
}

/// Who has a part in writing neighbours.
struct RunPlan<'w> {
    /// Threads that may write one of them.
    threads: usize,
    /// Where another thread writes what is buffered.
    queue: Option<&'w WriteBehind>,
    /// Whether others compute the digests that are apart.
    offload: bool,
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
        let (checkpoint, before, encoded) =
            (self.manifest.checkpoint(), self.position, self.encoded.checkpoint());
        let first = self.manifest.objects.len();
        let mut named = 0;
        let checked = self.reserve_entries(requests).and_then(|()| {
            let mut made = LastEntry::default();
            requests.iter().try_for_each(|request| {
                let at = named;
                let taken = self.take_name(first, requests, at);
                named = at.saturating_add(usize::from(taken.is_ok()));
                let checked = taken.and_then(|()| self.check_dense(request, &mut made));
                let in_object = |e: Error| e.within(format_args!("object {:?}", request.name));
                checked.map_err(|e| in_request(at, in_object(e)))
            })
        });
        checked.and_then(|()| self.write_runs(requests)).map_err(|e| match self.is_open() {
            true if self.position != before => self.poison(e),
            true => {
                self.forget_names(first, requests.get(..named).unwrap_or_default());
                self.forget_objects(&checkpoint);
                self.encoded.rollback(encoded);
                e
            }
            false => e,
        })
    }

    /// Room for all entries, so that making them cannot fail for lack of memory once bytes are written.
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

    /// Whether such an object can be written, but for its name.
    fn check_dense(&mut self, request: &DenseSpec<'_>, made: &mut LastEntry) -> Result<()> {
        let mut check = || {
            made.entry(self, request)?;
            let expected = expected_size(Format::Dense, request.shape, &request.component())?;
            check_final_size(request.dtype, request.logical, expected, request.data.len() as u64)
        };
        check().map_err(|e| e.within(format_args!("component \"data\"")))
    }

    /// Notes the name of a request whose object will be as far behind the first.
    fn take_name(&mut self, first: usize, requests: &[DenseSpec<'_>], at: usize) -> Result<()> {
        let name = requests.get(at).map_or("", |request| request.name);
        check_name_size(name)?;
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
            _ => Err(super::name_exists()),
        }
    }

    /// Forgets the names of these requests.
    fn forget_names(&mut self, first: usize, requests: &[DenseSpec<'_>]) {
        for (position, request) in (first..).zip(requests) {
            let hash = self.hasher.hash_one(request.name.as_bytes());
            if let Ok(name) = self.names.find_entry(hash, |other| *other as usize == position) {
                name.remove();
            }
        }
    }

    /// Back to before the objects were entered.
    fn forget_objects(&mut self, checkpoint: &Checkpoint) {
        self.manifest.rollback(checkpoint);
        self.component = None;
    }

    /// Writes the bytes of objects that were checked.
    fn write_runs(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        let encoding = self.options.encoding;
        let is_swapped = |request: &DenseSpec<'_>| to_host_needed(false, request.dtype.size());
        let encoding_of = |request: &DenseSpec<'_>| request.encoding.unwrap_or(encoding);
        let same_encoding = |a: &DenseSpec<'_>, b: &DenseSpec<'_>| {
            !is_swapped(a) && !is_swapped(b) && encoding_of(a) == encoding_of(b)
        };
        for run in requests.chunk_by(same_encoding) {
            let Some(first) = run.first() else { continue };
            let coding = Coding::of(encoding_of(first)).ok_or_else(unwritable_encoding)?;
            match (coding, run) {
                (_, [request]) if is_swapped(request) => self.write_encoded(request)?,
                (Coding::Compressed(_), [request]) => self.write_encoded(request)?,
                (Coding::Compressed(codec), _) => self.write_compressed(codec, run)?,
                (Coding::Raw, _) => self.write_run(run)?,
            }
        }
        Ok(())
    }

    /// Makes the manifest's entry of an object whose bytes are written.
    fn enter(&mut self, request: &DenseSpec<'_>, entry: Component) -> Result<()> {
        let name = self.manifest.texts.add(request.name)?; // reserved, as all others are
        let object = self.object_entry(name, Format::Dense, request.shape)?;
        self.manifest.components.push(entry)?;
        self.manifest.objects.push(Object { component_count: 1, ..object })?;
        self.stored_bytes = self.stored_bytes.saturating_add(entry.stored_size);
        Ok(())
    }

    /// One whose bytes are not stored as they are given, in the way of all others.
    fn write_encoded(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let algorithm = request.digest.unwrap_or(self.options.digest);
        let (entry, size) = (LastEntry::default().entry(self, request)?, request.data.len() as u64);
        self.start_component(entry, RareNames::default(), algorithm, Some(size), false)?;
        self.feed(request.data)?;
        self.last_frame()?;
        self.enter_compressed(request)
    }

    /// The open component has all of its frames.
    fn enter_compressed(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let Some((mut entry, rare)) = self.take_component(request.data.len() as u64)? else {
            return Ok(());
        };
        entry.rare = self.manifest.add_rare_names(rare)?;
        self.enter(request, entry)
    }

    /// Neighbours whose bytes are stored as they are given; some of their digests are computed apart.
    fn write_run(&mut self, run: &[DenseSpec<'_>]) -> Result<()> {
        let first = self.manifest.components.len();
        let default = self.options.digest;
        let sizes = Sizes::of(run, default);
        let pays = store::helpers_to_hash(sizes.sha256_offloaded, sizes.crc32c_offloaded);
        let many = pays > 0 || store::is_large(sizes.largest);
        let threads = if many { threads::count(self.options.threads) } else { 1 };
        // A durable file may take bytes from several threads, too.
        let writers = if self.options.durable { WRITE_BUFFERS } else { 1 };
        let others = threads.saturating_sub(1);
        let helpers = threads.saturating_sub(writers).max(1).min(others).min(pays);
        if helpers == 0 {
            return match self.write_behind_queue(sizes.all, run.len()) {
                Some(queue) => self.write_run_behind(run, queue),
                None => self.write_raw(run, &RunPlan { threads, queue: None, offload: false }),
            };
        }
        let mut digests = Vec::new();
        digests.try_reserve_exact(run.len())?;
        digests.resize(run.len(), None);
        let hooks = self.options.thread_hooks;
        let hash_queue = HashQueue { rest: Mutex::new((run, &mut digests)), default };
        let writing = Mutex::new((&mut *self, Ok(())));
        threads::with_workers(helpers, hooks, &|| hash_queue.run(), &|| {
            let mut guard = writing.lock(); // only the caller's thread comes here
            let (writer, outcome) = &mut *guard;
            let plan = RunPlan { threads: threads.saturating_sub(helpers), queue: None, offload: true };
            *outcome = writer.write_raw(run, &plan);
            match outcome {
                Ok(()) => hash_queue.run(),
                Err(_) => hash_queue.stop(),
            }
        });
        writing.into_inner().1?;
        for (at, digest) in (first..).zip(&digests) {
            let Some(digest) = digest else { continue };
            let rare = self.digest_names(digest)?;
            let entry = self.manifest.components.get_mut(at);
            entry.ok_or_else(|| fail!(Internal, "no entry of a component"))?.rare = rare;
        }
        Ok(())
    }

    /// Where another thread may write what this one gathers, if so many neighbours of together so many bytes are enough
    /// of small ones for that.
    fn write_behind_queue(&mut self, size: usize, count: usize) -> Option<WriteBehind> {
        let pays = store::is_large(size) && size / count.max(1) < BUFFER_SIZE;
        let more = pays && threads::count(self.options.threads) > 1;
        self.sink.as_mut().filter(|_| more)?.write_behind_queue()
    }

    /// Small neighbours, which this thread buffers while another writes.
    fn write_run_behind(&mut self, run: &[DenseSpec<'_>], queue: WriteBehind) -> Result<()> {
        let hooks = self.options.thread_hooks;
        let writing = Mutex::new((&mut *self, Ok(())));
        threads::with_worker(hooks, &|| queue.work(), &|| {
            let _close = queue.close_guard();
            let mut guard = writing.lock(); // only the caller's thread comes here
            let (writer, outcome) = &mut *guard;
            *outcome = writer.write_raw(run, &RunPlan { threads: 1, queue: Some(&queue), offload: false });
        });
        writing.into_inner().1?;
        queue.outcome().map_err(|e| self.poison(e))
    }

    /// The bytes of neighbours, with the zeros between them.
    fn write_raw(&mut self, run: &[DenseSpec<'_>], plan: &RunPlan<'_>) -> Result<()> {
        let mut made = LastEntry::default();
        for request in run {
            let size = request.data.len() as u64;
            self.align_by(self.alignment_of(Some(size)), plan.queue)?;
            let mut entry = made.entry(self, request)?;
            (entry.offset, entry.stored_size) = (self.position, size);
            let inline = request.digest.unwrap_or(self.options.digest);
            let inline = inline.filter(|of| !plan.offload || !is_offloaded(*of, request.data));
            let digest = inline.map(|of| digest::compute(of, request.data));
            match plan.queue {
                Some(_) => self.write_by(request.data, plan.queue)?,
                None => self.write_hashed_elsewhere(request.data, plan.threads)?,
            }
            // Counted once it is there: what fails before the first byte leaves the writer as it was.
            self.record_input_size(&mut entry, size);
            if let Some(digest) = digest {
                entry.rare = self.digest_names(&digest)?;
            }
            self.enter(request, entry)?;
            if plan.queue.is_some() {
                self.encode_pending();
            }
        }
        Ok(())
    }

    fn digest_names(&mut self, digest: &Digest) -> Result<Option<Position>> {
        let digest = Some(self.push_digest(digest)?);
        self.manifest.add_rare_names(RareNames { digest, ..RareNames::default() })
    }

    /// Encodes what is entered, if the file will end with it.
    fn encode_pending(&mut self) {
        if self.append_base.is_none() {
            // What cannot be encoded now is left to the end, which fails with the reason.
            let _ = self.encoded.encode_pending(&self.manifest, self.options.version);
        }
    }
}
