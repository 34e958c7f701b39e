//! Many dense objects in one call: all entries are made before the first byte is written, so that what can be
//! refused is; then the bytes go to the sink on the caller's thread while others hash.

use super::store;
use super::stream::{check_final_size, component_entry, expected_size};
use super::{Algorithm, ComponentSpec, LogicalName, ObjectSpec, Writer};
use crate::error::{fail, Result};
use crate::io::direct_sink::WINDOWS;
use crate::lock::Lock;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, Encoding, Extra, Format, Mark, Object};
use crate::payload::byte_order::to_host_needed;
use crate::payload::digest::{self, Claim};
use crate::threads;

/// Bytes that a thread takes to hash at a time, at least.
const PORTION: usize = 64 << 10;

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
}

impl Writer {
    /// Writes objects as [`Writer::write_object`] would one after the other. Everything is checked, of all of
    /// them, before a byte is written.
    pub fn write_batch(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        self.check_idle()?;
        let (mark, before) = (self.manifest.mark(), self.position);
        let (first_object, first) = (self.manifest.objects.len(), self.manifest.components.len());
        let outcome = self.enter_all(requests).and_then(|()| self.put_all(first, requests));
        outcome.map_err(|e| match self.is_alive() {
            true if self.position != before => self.break_down(e),
            true => {
                self.forget_objects(first_object, &mark);
                e
            }
            false => e,
        })
    }

    /// Makes the entries of all objects, which lack what only writing tells.
    fn enter_all(&mut self, requests: &[DenseSpec<'_>]) -> Result<()> {
        self.reserve_names(requests.len())?;
        self.manifest.objects.try_reserve(requests.len())?;
        self.manifest.components.try_reserve(requests.len())?;
        requests.iter().enumerate().try_for_each(|(at, request)| {
            let entered = self.enter(request);
            entered.map_err(|e| e.within(format_args!("request {at}: object {:?}", request.name)))
        })
    }

    fn enter(&mut self, request: &DenseSpec<'_>) -> Result<()> {
        let object = ObjectSpec { name: request.name, format: "dense", shape: request.shape };
        let component = ComponentSpec {
            logical: request.logical.map(LogicalName::Known),
            encoding: request.encoding,
            ..ComponentSpec::new("data", request.dtype)
        };
        self.check_object(&object, &[])?;
        let object = self.open_entry(&object)?;
        let (entry, _) = component_entry(self, &component)?;
        let expected = expected_size(Format::Dense, request.shape, &component)?;
        check_final_size(request.dtype, expected, request.data.len() as u64)?;
        self.manifest.components.push(entry)?;
        self.manifest.objects.push(Object { component_count: 1, ..object })?;
        self.remember_last();
        Ok(())
    }

    /// Back to before the objects from that position on were entered.
    fn forget_objects(&mut self, first: usize, mark: &Mark) {
        self.forget_names(first);
        self.manifest.rollback(mark);
        self.component = None;
    }

    /// Writes the bytes of objects that were entered; the component of the first is at `first`.
    fn put_all(&mut self, first: usize, requests: &[DenseSpec<'_>]) -> Result<()> {
        let encoding = self.options.encoding;
        let as_they_are = |request: &DenseSpec<'_>| {
            request.encoding.unwrap_or(encoding) != Encoding::Zstd
                && !to_host_needed(false, request.dtype.size())
        };
        let mut at = first;
        for run in requests.chunk_by(|a, b| as_they_are(a) && as_they_are(b)) {
            match run {
                [request] if !as_they_are(request) => self.put_encoded(at, request)?,
                _ => self.put_run(at, run)?,
            }
            at = at.saturating_add(run.len());
        }
        Ok(())
    }

    fn entry(&mut self, at: usize) -> Result<&mut Component> {
        self.manifest.components.get_mut(at).ok_or_else(|| fail!(Internal, "no entry of a component"))
    }

    /// One whose bytes are not stored as they are given, in the way of all others.
    fn put_encoded(&mut self, at: usize, request: &DenseSpec<'_>) -> Result<()> {
        let algorithm = request.digest.unwrap_or(self.options.digest);
        let (entry, size) = (*self.entry(at)?, request.data.len() as u64);
        self.start_component(entry, Extra::default(), algorithm, Some(size), false)?;
        self.take_in(request.data)?;
        if let Some((mut entry, extra)) = self.finish_component()? {
            entry.extra = self.manifest.add_extra(extra)?;
            self.stored_bytes = self.stored_bytes.saturating_add(entry.stored_size);
            *self.entry(at)? = entry;
        }
        Ok(())
    }

    /// Neighbours whose bytes are stored as they are given; some of their digests are computed apart.
    fn put_run(&mut self, first: usize, run: &[DenseSpec<'_>]) -> Result<()> {
        let default = self.options.digest;
        let bytes_apart = |of: Algorithm| {
            let apart =
                run.iter().filter(|r| r.digest.unwrap_or(default) == Some(of) && is_apart(of, r.data));
            apart.fold(0, |sum: usize, r| sum.saturating_add(r.data.len()))
        };
        let pays = store::helpers_to_hash(bytes_apart(Algorithm::Sha256), bytes_apart(Algorithm::Crc32c));
        let many = pays > 0 || run.iter().any(|r| store::is_large(r.data.len()));
        let threads = if many { threads::count(self.options.threads) } else { 1 };
        // A durable file may take bytes from several threads, too.
        let writers = if self.options.durable { WINDOWS } else { 1 };
        let others = threads.saturating_sub(1);
        let helpers = threads.saturating_sub(writers).max(1).min(others).min(pays);
        if helpers == 0 {
            return self.put_raw(first, run, threads, false);
        }
        let mut claims = Vec::new();
        claims.try_reserve_exact(run.len())?;
        claims.resize(run.len(), None);
        let unhashed = Unhashed { rest: Lock::new((run, &mut claims)), default };
        let writing = Lock::new((&mut *self, Ok(())));
        threads::around(helpers, &|| unhashed.help(), &|| {
            let mut held = writing.hold(); // only the caller's thread comes here
            let (writer, outcome) = &mut *held;
            *outcome = writer.put_raw(first, run, threads.saturating_sub(helpers), true);
            match outcome {
                Ok(()) => unhashed.help(),
                Err(_) => unhashed.stop(),
            }
        });
        writing.into_inner().1?;
        for (at, claim) in (first..).zip(&claims) {
            claim.iter().try_for_each(|claim| self.note_digest(at, claim))?;
        }
        Ok(())
    }

    /// The bytes of neighbours, with the zeros between them; `others` compute the digests that are apart.
    fn put_raw(&mut self, first: usize, run: &[DenseSpec<'_>], threads: usize, others: bool) -> Result<()> {
        for (at, request) in (first..).zip(run) {
            let size = request.data.len() as u64;
            self.align(self.alignment_of(Some(size)))?;
            let offset = self.position;
            let mine = request.digest.unwrap_or(self.options.digest);
            let mine = mine.filter(|of| !others || !is_apart(*of, request.data));
            let claim = mine.map(|of| digest::compute(of, request.data));
            self.put_unhashed(request.data, threads)?;
            // Counted once it is there: what fails before the first byte leaves the writer as it was.
            let mut entry = *self.entry(at)?;
            (entry.offset, entry.stored_size) = (offset, size);
            self.note_given(&mut entry, size);
            self.stored_bytes = self.stored_bytes.saturating_add(size);
            *self.entry(at)? = entry;
            claim.iter().try_for_each(|claim| self.note_digest(at, claim))?;
        }
        Ok(())
    }

    fn note_digest(&mut self, at: usize, claim: &Claim) -> Result<()> {
        let digest = Some(self.keep_digest(claim)?);
        let extra = self.manifest.add_extra(Extra { digest, ..Extra::default() })?;
        self.entry(at)?.extra = extra;
        Ok(())
    }
}

/// Whether a digest is better computed by another thread than just before the bytes are written, which brings them
/// into the cache for both: not a CRC of a few bytes, for which memory is what takes the time.
fn is_apart(algorithm: Algorithm, data: &[u8]) -> bool {
    algorithm == Algorithm::Sha256 || data.len() >= store::TO_HASH_CRC32C
}

/// What is not hashed yet, and where the digests go.
type Rest<'w, 'd> = (&'w [DenseSpec<'d>], &'w mut [Option<Claim>]);

/// Objects whose digests are computed on any number of threads.
struct Unhashed<'w, 'd> {
    rest: Lock<Rest<'w, 'd>>,
    /// The digest of those that ask for none.
    default: Option<Algorithm>,
}

impl<'w, 'd> Unhashed<'w, 'd> {
    /// The next, of together at least so many bytes.
    fn take(&self, least: usize) -> Option<Rest<'w, 'd>> {
        let mut rest = self.rest.hold();
        let (requests, claims) = std::mem::take(&mut *rest);
        let mut size = 0_usize;
        let last = requests.iter().position(|request| {
            size = size.saturating_add(request.data.len());
            size >= least
        });
        let count = last.map_or(requests.len(), |last| last.saturating_add(1));
        let (now, later) = requests.split_at_checked(count)?;
        let (places, left) = claims.split_at_mut_checked(count)?;
        *rest = (later, left);
        (!now.is_empty()).then_some((now, places))
    }

    /// Hashes until nothing is left.
    fn help(&self) {
        while let Some((requests, claims)) = self.take(PORTION) {
            for (request, claim) in requests.iter().zip(claims) {
                let algorithm = request.digest.unwrap_or(self.default);
                let apart = algorithm.filter(|of| is_apart(*of, request.data));
                *claim = apart.map(|of| digest::compute(of, request.data));
            }
        }
    }

    /// Leaves the rest: nobody will ask for it.
    fn stop(&self) {
        *self.rest.hold() = Default::default();
    }
}
