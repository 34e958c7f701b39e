//! Dense objects in one call: all are checked before the first byte is written, so that what can be refused is; then
//! the bytes go to the sink on the caller's thread while others hash, or write what this one gathers.

mod packed;
mod unhashed;

use super::objects::check_name_size;
use super::store;
use super::stream::component_entry;
use super::stream::rules::{check_final_size, expected_size};
use super::{name_at, Algorithm, ComponentSpec, LogicalName, Writer};
use crate::error::{fail, Error, Result};
use crate::io::behind::{Behind, GATHER};
use crate::io::direct_sink::WINDOWS;
use crate::lock::Lock;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, Encoding, Extra, Format, Mark, Object, Position, Version};
use crate::payload::byte_order::to_host_needed;
use crate::payload::digest::{self, Claim};
use crate::threads;
use crate::wire::tables::table_position;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;
use unhashed::{is_apart, Unhashed};

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
            logical: self.logical.map(LogicalName::Known),
            encoding: self.encoding,
            ..ComponentSpec::new("data", self.dtype)
        }
    }
}

/// The entry that was made last: most objects of a file have the same, but for where their bytes are.
#[derive(Default)]
struct Made(Option<(Kind, Component)>);

type Kind = (Dtype, Option<Logical>, Option<Encoding>);

impl Made {
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
    sha256_apart: usize,
    crc32c_apart: usize,
}

impl Sizes {
    fn of(run: &[DenseSpec<'_>], default: Option<Algorithm>) -> Sizes {
        let mut sizes = Sizes::default();
        for request in run {
            let size = request.data.len();
            sizes.all = sizes.all.saturating_add(size);
            sizes.largest = sizes.largest.max(size);
            let apart = request.digest.unwrap_or(default).filter(|of| is_apart(*of, request.data));
            let sum = match apart {
                Some(Algorithm::Sha256) => &mut sizes.sha256_apart,
                Some(Algorithm::Crc32c) => &mut sizes.crc32c_apart,
                None => continue,
            };
            *sum = sum.saturating_add(size);
        }
        sizes
    }
}

/// Who has a part in writing neighbours.
struct Way<'w> {
    /// Threads that may write one of them.
    threads: usize,
    /// Where another thread writes what is gathered.
    behind: Option<&'w Behind>,
    /// Whether others compute the digests that are apart.
    others: bool,
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
        let (mark, before, ahead) = (self.manifest.mark(), self.position, self.ahead.mark());
        let first = self.manifest.objects.len();
        let mut named = 0;
        let checked = self.make_room(requests).and_then(|()| {
            let mut made = Made::default();
            requests.iter().try_for_each(|request| {
                let at = named;
                let taken = self.take_name(first, requests, at);
                named = at.saturating_add(usize::from(taken.is_ok()));
                let checked = taken.and_then(|()| self.check_dense(request, &mut made));
                let in_object = |e: Error| e.within(format_args!("object {:?}", request.name));
                checked.map_err(|e| in_request(at, in_object(e)))
            })
        });
        checked.and_then(|()| self.put_all(requests)).map_err(|e| match self.is_alive() {
            true if self.position != before => self.break_down(e),
            true => {
                self.forget_names(first, requests.get(..named).unwrap_or_default());
                self.forget_objects(&mark);
                self.ahead.rollback(ahead);
                e
            }
            false => e,
        })
    }

    /// Room for all entries, so that making them cannot fail for lack of memory once bytes are written.
    fn make_room(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        let default = self.options.digest;
        let (mut texts, mut dimensions, mut extras) = (0_usize, 0_usize, 0_usize);
        for request in requests {
            let digest = request.digest.unwrap_or(default).map_or(0, digest::spelled_size);
            texts = texts.saturating_add(request.name.len()).saturating_add(digest).saturating_add(2);
            dimensions = dimensions.saturating_add(request.shape.len());
            extras = extras.saturating_add(usize::from(digest > 0));
        }
        self.reserve_names(requests.len())?;
        self.manifest.texts.try_reserve(texts)?;
        self.manifest.dimensions.try_reserve(dimensions)?;
        self.manifest.extras.try_reserve(extras)?;
        self.manifest.components.try_reserve(requests.len())?;
        self.manifest.objects.try_reserve(requests.len())
    }

    /// Whether such an object can be written, but for its name.
    fn check_dense(&mut self, request: &DenseSpec<'_>, made: &mut Made) -> Result<()> {
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
            Entry::Vacant(place) if !self.base.as_ref().is_some_and(|base| base.has(name)) => {
                place.insert(position);
                Ok(())
            }
            _ => Err(super::name_is_taken()),
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
    fn forget_objects(&mut self, mark: &Mark) {
        self.manifest.rollback(mark);
        self.component = None;
    }

    /// Writes the bytes of objects that were checked.
    fn put_all(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        let encoding = self.options.encoding;
        let is_turned = |request: &DenseSpec<'_>| to_host_needed(false, request.dtype.size());
        let is_packed = |request: &DenseSpec<'_>| request.encoding.unwrap_or(encoding) == Encoding::Zstd;
        let alike = |a: &DenseSpec<'_>, b: &DenseSpec<'_>| {
            !is_turned(a) && !is_turned(b) && is_packed(a) == is_packed(b)
        };
        for run in requests.chunk_by(alike) {
            match run {
                [request] if is_turned(request) || is_packed(request) => self.put_encoded(request)?,
                [request, ..] if is_packed(request) => self.put_packed(run)?,
                _ => self.put_run(run)?,
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
    fn put_encoded(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let algorithm = request.digest.unwrap_or(self.options.digest);
        let (entry, size) = (Made::default().entry(self, request)?, request.data.len() as u64);
        self.start_component(entry, Extra::default(), algorithm, Some(size), false)?;
        self.take_in(request.data)?;
        self.last_frame()?;
        self.enter_packed(request)
    }

    /// The open component has all of its frames.
    fn enter_packed(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let Some((mut entry, extra)) = self.finish_component(request.data.len() as u64)? else {
            return Ok(());
        };
        entry.extra = self.manifest.add_extra(extra)?;
        self.enter(request, entry)
    }

    /// Neighbours whose bytes are stored as they are given; some of their digests are computed apart.
    fn put_run(&mut self, run: &[DenseSpec<'_>]) -> Result<()> {
        let first = self.manifest.components.len();
        let default = self.options.digest;
        let sizes = Sizes::of(run, default);
        let pays = store::helpers_to_hash(sizes.sha256_apart, sizes.crc32c_apart);
        let many = pays > 0 || store::is_large(sizes.largest);
        let threads = if many { threads::count(self.options.threads) } else { 1 };
        // A durable file may take bytes from several threads, too.
        let writers = if self.options.durable { WINDOWS } else { 1 };
        let others = threads.saturating_sub(1);
        let helpers = threads.saturating_sub(writers).max(1).min(others).min(pays);
        if helpers == 0 {
            return match self.behind(sizes.all, run.len()) {
                Some(behind) => self.put_behind(run, behind),
                None => self.put_raw(run, &Way { threads, behind: None, others: false }),
            };
        }
        let mut claims = Vec::new();
        claims.try_reserve_exact(run.len())?;
        claims.resize(run.len(), None);
        let unhashed = Unhashed { rest: Lock::new((run, &mut claims)), default };
        let writing = Lock::new((&mut *self, Ok(())));
        threads::around(helpers, &|| unhashed.help(), &|| {
            let mut held = writing.hold(); // only the caller's thread comes here
            let (writer, outcome) = &mut *held;
            let way = Way { threads: threads.saturating_sub(helpers), behind: None, others: true };
            *outcome = writer.put_raw(run, &way);
            match outcome {
                Ok(()) => unhashed.help(),
                Err(_) => unhashed.stop(),
            }
        });
        writing.into_inner().1?;
        for (at, claim) in (first..).zip(&claims) {
            let Some(claim) = claim else { continue };
            let extra = self.digest_extra(claim)?;
            let entry = self.manifest.components.get_mut(at);
            entry.ok_or_else(|| fail!(Internal, "no entry of a component"))?.extra = extra;
        }
        Ok(())
    }

    /// Where another thread may write what this one gathers, if so many neighbours of together so many bytes are enough
    /// of small ones for that.
    fn behind(&mut self, size: usize, count: usize) -> Option<Behind> {
        let pays = store::is_large(size) && size / count.max(1) < GATHER;
        let more = pays && threads::count(self.options.threads) > 1;
        self.sink.as_mut().filter(|_| more)?.behind()
    }

    /// Small neighbours, which this thread gathers while another writes.
    fn put_behind(&mut self, run: &[DenseSpec<'_>], behind: Behind) -> Result<()> {
        let writing = Lock::new((&mut *self, Ok(())));
        threads::beside(&|| behind.work(), &|| {
            let _ending = behind.ending();
            let mut held = writing.hold(); // only the caller's thread comes here
            let (writer, outcome) = &mut *held;
            *outcome = writer.put_raw(run, &Way { threads: 1, behind: Some(&behind), others: false });
        });
        writing.into_inner().1?;
        behind.outcome().map_err(|e| self.break_down(e))
    }

    /// The bytes of neighbours, with the zeros between them.
    fn put_raw(&mut self, run: &[DenseSpec<'_>], way: &Way<'_>) -> Result<()> {
        let mut made = Made::default();
        for request in run {
            let size = request.data.len() as u64;
            self.align_by(self.alignment_of(Some(size)), way.behind)?;
            let mut entry = made.entry(self, request)?;
            (entry.offset, entry.stored_size) = (self.position, size);
            let mine = request.digest.unwrap_or(self.options.digest);
            let mine = mine.filter(|of| !way.others || !is_apart(*of, request.data));
            let claim = mine.map(|of| digest::compute(of, request.data));
            match way.behind {
                Some(_) => self.put_by(request.data, way.behind)?,
                None => self.put_unhashed(request.data, way.threads)?,
            }
            // Counted once it is there: what fails before the first byte leaves the writer as it was.
            self.note_given(&mut entry, size);
            if let Some(claim) = claim {
                entry.extra = self.digest_extra(&claim)?;
            }
            self.enter(request, entry)?;
            if way.behind.is_some() {
                self.spell_ahead();
            }
        }
        Ok(())
    }

    fn digest_extra(&mut self, claim: &Claim) -> Result<Option<Position>> {
        let digest = Some(self.keep_digest(claim)?);
        self.manifest.add_extra(Extra { digest, ..Extra::default() })
    }

    /// Spells what is entered, if that is how the file will end.
    fn spell_ahead(&mut self) {
        if self.base.is_none() && self.options.version != Version::V0_1 {
            // What cannot be spelled now is left to the end, which tells why.
            let _ = self.ahead.rest(&self.manifest, self.options.version);
        }
    }
}
