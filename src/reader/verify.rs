//! Verification of a whole file: digests, decoding, structure, bool bytes, padding.

use super::file::File;
use super::manifest;
use super::object::{Component, Object};
use super::parts::FilePart;
use super::shared_bytes::{Fact, SharedChecks};
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::lock::Mutex;
use crate::threads;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Called for each failure, with the position of its object and the position of its component among all
/// components of the file. Each is `None` if the failure does not belong to one. If it returns false, the
/// verification stops. One thread at a time calls it.
pub type OnFailure<'a> = dyn Fn(Option<usize>, Option<usize>, &Error) -> bool + Sync + 'a;

/// What the threads of one verification share.
struct VerifyState<'a> {
    options: &'a VerifyOptions,
    on_failure: Option<&'a OnFailure<'a>>,
    /// Locked while a thread reports a failure.
    reporting: Mutex<()>,
    /// Whether `on_failure` asked to stop.
    stopped: AtomicBool,
    progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
    next: AtomicUsize,
    total: u64,
    /// The first object in file order that has failed so far.
    failed_at: AtomicUsize,
    /// The first failure in file order so far, and its object.
    failure: Mutex<Option<(usize, Error)>>,
    /// The first thing in file order that could not be checked, and its object.
    unchecked: Mutex<Option<(usize, Error)>>,
    report: Mutex<VerifyReport>,
    checks: SharedChecks,
    /// How many stored bytes were reported as done. Locked while a thread reports progress.
    done_bytes: Mutex<u64>,
}

impl File {
    /// Verifies up to the first failure. `progress` is called with the bytes done and the total; if it
    /// returns false, the verification stops. `report` is filled on failure, too.
    pub fn verify(
        &self,
        options: &VerifyOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
        report: &mut VerifyReport,
    ) -> Result<()> {
        self.verify_all(options, progress, None, report)
    }

    /// Verifies everything. Calls `on_failure` for every failure and everything that could not be checked.
    /// Returns the first failure in file order; without a failure, the first thing that could not be checked.
    /// Without `on_failure`, it is the same as [`File::verify`].
    pub fn verify_all(
        &self,
        options: &VerifyOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
        on_failure: Option<&OnFailure<'_>>,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let shards = self.manifest.shards.iter().filter(|_| options.shards).map(|shard| shard.size);
        let total = self.manifest.components.iter().map(|c| c.stored_size);
        let total = total.chain(shards).fold(0, u64::saturating_add);
        let all = 0..self.manifest.components.len();
        let state = VerifyState::new(self, all, options, on_failure, progress, total)?;
        let open = self.parts().filter(|part| part.is_open());
        let allowed = open.map(|part| part.source().profile().threads(options.threads));
        let wanted = allowed.min().unwrap_or(1).min(self.object_count().max(1));
        threads::run(wanted, self.thread_hooks, &|| self.verify_next_objects(&state));
        *report = *state.report.lock();
        let continues = state.failed_at.load(Ordering::Relaxed) == usize::MAX;
        let mut first = state.failure.lock().take().map(|(_, error)| error);
        if continues && (options.contents || options.padding) {
            for part in self.parts() {
                if let Err(error) = self.verify_padding(part, options, report) {
                    state.record_failure(None, None, error, &mut first)?;
                }
            }
        }
        if continues && options.shards {
            for part in self.parts().skip(self.manifest_count()) {
                match self.verify_shard(part, &mut |bytes| state.advance(self, bytes)) {
                    Ok(true) => {}
                    Ok(false) => {
                        report.digests_unknown = report.digests_unknown.saturating_add(1);
                        let why = fail!(Unsupported, "the algorithm of its digest is unknown");
                        state.record_unchecked(None, None, part.named(why), report)?;
                    }
                    Err(error) if error.cause() == Cause::Cancelled => return Err(error),
                    Err(error) => state.record_failure(None, None, error, &mut first)?,
                }
            }
        }
        self.unless_any_changed(state.outcome(first))
    }

    /// Verifies one object or one of its components, on this thread. Does not check padding.
    pub fn verify_object(
        &self,
        (at, only): (usize, Option<usize>),
        options: &VerifyOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
        on_failure: Option<&OnFailure<'_>>,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let Some(object) = self.object(at) else { return Err(fail!(Internal, "there is no object {at}")) };
        let wanted = || object.components().filter(|c| only.is_none_or(|only| only == c.index));
        let total = wanted().map(|c| c.stored_size()).fold(0, u64::saturating_add);
        let components = wanted().next().map_or(0, |c| c.index)..wanted().last().map_or(0, |c| c.index + 1);
        let state = VerifyState::new(self, components, options, on_failure, progress, total)?;
        if only.is_none() {
            let done = object.verify(at, &state, report).and_then(|()| state.outcome(None));
            return self.unless_any_changed(done);
        }
        let mut first = None;
        wanted()
            .try_for_each(|component| object.verify_component(at, &component, &state, report, &mut first))?;
        self.unless_any_changed(state.outcome(first))
    }

    fn verify_padding(
        &self,
        part: &FilePart,
        options: &VerifyOptions,
        report: &mut VerifyReport,
    ) -> Result<()> {
        if !part.capabilities().zero_gaps {
            return Ok(());
        }
        let (count, first) = self.nonzero_padding(part).map_err(|e| part.named(e))?;
        report.padding_nonzero = report.padding_nonzero.saturating_add(count);
        match first.filter(|_| options.padding || self.strict) {
            None => Ok(()),
            Some(first) => Err(part.named(broken!(
                Rule::PaddingNonzero,
                "{count} bytes of padding are not zero, the first at {first}"
            ))),
        }
    }

    /// The loop of one thread: verifies objects in file order, until none is left or an earlier one has
    /// failed.
    fn verify_next_objects(&self, state: &VerifyState<'_>) {
        loop {
            let at = state.next.fetch_add(1, Ordering::Relaxed);
            let Some(object) = self.object(at) else { return };
            if at > state.failed_at.load(Ordering::Relaxed) {
                return; // threads verify every object before the failure
            }
            let mut report = VerifyReport::default();
            let outcome = object.verify(at, state, &mut report);
            state.report.lock().add(&report);
            if let Err(error) = outcome {
                if state.on_failure.is_none() || error.cause() == Cause::Cancelled {
                    state.failed_at.fetch_min(at, Ordering::Relaxed);
                } else if state.stopped.load(Ordering::Relaxed) {
                    state.failed_at.store(0, Ordering::Relaxed);
                }
                let mut first = state.failure.lock();
                if first.as_ref().is_none_or(|(other, _)| at < *other) {
                    *first = Some((at, error));
                }
            }
        }
    }

    /// How many bytes between the components and before the manifest are not zero, and the first of them.
    pub(super) fn nonzero_padding(&self, part: &FilePart) -> Result<(u64, Option<u64>)> {
        let (mut count, mut first) = (0u64, None);
        let components = self.parts.components_of(part, &self.manifest);
        let record = match part.capabilities().zero_gaps {
            true => part.record_of_append()?,
            false => 0..0,
        };
        for gap in manifest::gaps(components, &part.hidden, part.frame())? {
            let mut base = gap.start;
            let done = crate::source::for_each_chunk(part.source(), gap, &mut |chunk| {
                let places = (base..).zip(chunk).filter(|(at, byte)| **byte != 0 && !record.contains(at));
                for (at, _) in places {
                    first = first.or(Some(at));
                    count = count.saturating_add(1);
                }
                base = base.saturating_add(chunk.len() as u64);
                Ok(())
            });
            done?;
        }
        Ok((count, first))
    }
}

impl<'a> VerifyState<'a> {
    fn new(
        file: &File,
        components: Range<usize>,
        options: &'a VerifyOptions,
        on_failure: Option<&'a OnFailure<'a>>,
        progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
        total: u64,
    ) -> Result<VerifyState<'a>> {
        Ok(VerifyState {
            options,
            on_failure,
            reporting: Mutex::new(()),
            stopped: AtomicBool::new(false),
            progress,
            next: AtomicUsize::new(0),
            total,
            failed_at: AtomicUsize::new(usize::MAX),
            failure: Mutex::new(None),
            unchecked: Mutex::new(None),
            report: Mutex::new(VerifyReport::default()),
            checks: SharedChecks::new(file, components)?,
            done_bytes: Mutex::new(0),
        })
    }

    /// Reports that `bytes` more stored bytes were verified.
    fn advance(&self, file: &File, bytes: u64) -> Result<()> {
        let mut done = self.done_bytes.lock();
        *done = done.saturating_add(bytes);
        match (self.progress)(*done, self.total) {
            true => Ok(()),
            false => Err(file.in_file(fail!(Cancelled, "stopped after {} of {} bytes", *done, self.total))),
        }
    }

    /// Calls `on_failure`. If the failure is the first in file order, stores it. Returns the first failure if
    /// the verification has to stop.
    fn record_failure(
        &self,
        object: Option<usize>,
        component: Option<usize>,
        error: Error,
        first: &mut Option<Error>,
    ) -> Result<()> {
        let Some(continues) = self.continues(object, component, &error) else { return Err(error) };
        let error = first.take().unwrap_or(error);
        if continues {
            *first = Some(error);
            return Ok(());
        }
        Err(error)
    }

    /// Calls `on_failure` and returns its answer; `None` if there is no `on_failure`.
    fn continues(&self, object: Option<usize>, component: Option<usize>, error: &Error) -> Option<bool> {
        let on_failure = self.on_failure?;
        let _reporting = self.reporting.lock();
        let continues = !self.stopped.load(Ordering::Relaxed) && on_failure(object, component, error);
        if !continues {
            self.stopped.store(true, Ordering::Relaxed);
        }
        Some(continues)
    }

    /// Counts something that could not be checked, and keeps the first one in file order. An error if
    /// `on_failure` asks to stop.
    fn record_unchecked(
        &self,
        object: Option<usize>,
        component: Option<usize>,
        error: Error,
        report: &mut VerifyReport,
    ) -> Result<()> {
        report.not_checked = report.not_checked.saturating_add(1);
        if self.continues(object, component, &error) == Some(false) {
            return Err(error);
        }
        let at = object.unwrap_or(usize::MAX);
        let mut unchecked = self.unchecked.lock();
        if unchecked.as_ref().is_none_or(|(other, _)| at < *other) {
            *unchecked = Some((at, error));
        }
        Ok(())
    }

    /// The result: the first failure, or what could not be checked.
    fn outcome(&self, failure: Option<Error>) -> Result<()> {
        let unchecked = || self.unchecked.lock().take().map(|(_, error)| error);
        failure.or_else(unchecked).map_or(Ok(()), Err)
    }
}

impl Object<'_> {
    fn verify(&self, at: usize, state: &VerifyState<'_>, report: &mut VerifyReport) -> Result<()> {
        let (mut first, before) = (None, report.not_checked);
        for component in self.components() {
            self.verify_component(at, &component, state, report, &mut first)?;
        }
        if state.options.contents && first.is_none() {
            match self.check_structure(&state.checks) {
                Err(error) if error.cause() == Cause::Unsupported => {
                    // If a component could not be checked, this was counted already.
                    if report.not_checked == before {
                        state.record_unchecked(Some(at), None, error, report)?;
                    }
                }
                Err(error) => state.record_failure(Some(at), None, error, &mut first)?,
                Ok(()) => {}
            }
        }
        if let Some(first) = first {
            return Err(first);
        }
        if report.not_checked == before {
            report.objects = report.objects.saturating_add(1);
        }
        Ok(())
    }

    fn verify_component(
        &self,
        at: usize,
        component: &Component<'_>,
        state: &VerifyState<'_>,
        report: &mut VerifyReport,
        first: &mut Option<Error>,
    ) -> Result<()> {
        let mut reported = 0;
        match component.verify(state, report, &mut reported) {
            Ok(None) => {}
            Ok(Some(why)) => state.record_unchecked(Some(at), Some(component.index), why, report)?,
            Err(error) if error.cause() == Cause::Cancelled => return Err(error),
            Err(error) => state.record_failure(Some(at), Some(component.index), error, first)?,
        }
        state.advance(self.file, component.stored_size().saturating_sub(reported))
    }
}

/// Why something could not be checked; `None` if it was.
type Unchecked = Option<Error>;

/// Converts an error that says something could not be checked to a value.
fn unchecked(outcome: Result<()>) -> Result<Unchecked> {
    match outcome {
        Ok(()) => Ok(None),
        Err(why) if why.cause() == Cause::Unsupported => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

impl Component<'_> {
    /// Verifies it. `reported` becomes the number of its stored bytes that were reported as done meanwhile.
    fn verify(
        &self,
        state: &VerifyState<'_>,
        report: &mut VerifyReport,
        reported: &mut u64,
    ) -> Result<Unchecked> {
        if let Some(why) = unchecked(state.checks.open(self).map_err(|error| self.wrap(error)))? {
            return Ok(Some(why));
        }
        // Decoded bytes are checked before their digest: spec 2 section 7.2.
        let contents_first = self.entry.has_digest_of_decoded();
        let contents = || match state.options.contents {
            true => unchecked(self.verify_contents(state).map_err(|error| self.wrap_unless_cancelled(error))),
            false => Ok(None),
        };
        let mut why = if contents_first { contents()? } else { None };
        if state.options.digests {
            why = why.or(self.verify_digest_into(state, report, reported)?);
        }
        if !contents_first {
            why = why.or(contents()?);
        }
        if why.is_none() {
            report.components = report.components.saturating_add(1);
        }
        report.bytes = report.bytes.saturating_add(self.stored_size());
        Ok(why)
    }

    fn verify_digest_into(
        &self,
        state: &VerifyState<'_>,
        report: &mut VerifyReport,
        reported: &mut u64,
    ) -> Result<Unchecked> {
        let checked = match self.digest().map(|text| self.parse_digest(text)) {
            None => match self.checksum() {
                Some(checksum) => state.checks.checksum(self, checksum.start),
                None => {
                    report.digests_absent = report.digests_absent.saturating_add(1);
                    return unchecked(self.count_not_covered(state, report));
                }
            },
            Some(Ok(claim)) => {
                let check = || self.verify_digest_with_progress(state, reported);
                state.checks.once(self, self.digest_fact(claim), check)
            }
            Some(Err(_)) => self.verify_digest(), // returns the error
        };
        let why = unchecked(checked)?;
        match why {
            None => report.digests_verified = report.digests_verified.saturating_add(1),
            Some(_) => {
                report.digests_unknown = report.digests_unknown.saturating_add(1);
                unchecked(self.count_not_covered(state, report))?;
            }
        }
        Ok(why)
    }

    /// Counts its bytes, which no digest covers. If the options require digests, fails.
    fn count_not_covered(&self, state: &VerifyState<'_>, report: &mut VerifyReport) -> Result<()> {
        let size = self.stored_size();
        report.bytes_not_covered = report.bytes_not_covered.saturating_add(size);
        match size > 0 && state.options.require_digests {
            true => {
                Err(self.wrap(fail!(Unsupported, "no digest that can be checked covers its {size} bytes")))
            }
            false => Ok(()),
        }
    }

    /// Checks the digest. Reports progress if that takes long.
    fn verify_digest_with_progress(&self, state: &VerifyState<'_>, reported: &mut u64) -> Result<()> {
        let checked = self.check_digest(&mut |hasher| {
            self.for_each_hashed(&mut |chunk| {
                hasher.update(chunk);
                let bytes = chunk.len() as u64;
                if reported.saturating_add(bytes) >= self.stored_size() {
                    return Ok(()); // the caller reports the whole component as done
                }
                *reported = reported.saturating_add(bytes);
                state.advance(self.file, bytes)
            })
        });
        checked.map_err(|error| self.wrap_unless_cancelled(error))
    }

    /// Adds the component's name to an error, unless it is a cancellation, which already says what was
    /// stopped.
    fn wrap_unless_cancelled(&self, error: Error) -> Error {
        match error.cause() {
            Cause::Cancelled => error,
            _ => self.wrap(error),
        }
    }

    /// Checks that it decodes to its size, that this is a whole number of elements, and that the elements
    /// follow the container's rules for bools and unused bits.
    fn verify_contents(&self, state: &VerifyState<'_>) -> Result<()> {
        self.decoding()?;
        self.check_value_count()?;
        let check = self.element_check()?;
        let size = self.decoded_size()?;
        if let Some(last) = check.needs_last_byte().filter(|last| last.checked_add(1) == Some(size)) {
            let mut byte = [0];
            self.read_range(last, &mut byte)?;
            check.check(&byte, last)?;
        }
        let bools = check.needs_all_bytes();
        if !bools && !self.entry.encoding.is_compressed() {
            return Ok(());
        }
        let mut base = 0u64;
        state.checks.once(self, Fact::Contents(self.encoding(), size, bools), || {
            self.stored_component()?.for_each_decoded(&mut |chunk| {
                check.check(chunk, base)?;
                base = base.saturating_add(chunk.len() as u64);
                // Reports 0 new bytes, only to ask whether to stop.
                if base < size {
                    state.advance(self.file, 0)
                } else {
                    Ok(())
                }
            })
        })
    }
}

/// What a verification checks.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions {
    /// Check the digests of components that have one.
    pub digests: bool,
    /// Refuse components with bytes that neither a digest nor a CRC-32 covers. Needs `digests`.
    pub require_digests: bool,
    /// Check decoding, sizes, the structure of sparse and quantized objects, and bools.
    pub contents: bool,
    /// Check all bytes of shards against the digests in the table of shards.
    pub shards: bool,
    /// Refuse padding that is not zero.
    pub padding: bool,
    /// The number of threads; 0 for one per processor.
    pub threads: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions {
            digests: true,
            require_digests: false,
            contents: true,
            shards: true,
            padding: false,
            threads: 0,
        }
    }
}

/// What a verification has checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects verified.
    pub objects: u64,
    /// Components verified.
    pub components: u64,
    /// Stored bytes verified.
    pub bytes: u64,
    /// Digests that agree.
    pub digests_verified: u64,
    /// Components without a digest.
    pub digests_absent: u64,
    /// Digests of unknown algorithms.
    pub digests_unknown: u64,
    /// Padding bytes that are not zero.
    pub padding_nonzero: u64,
    /// Stored bytes of components without a digest or CRC-32 that can be checked.
    pub bytes_not_covered: u64,
    /// Components, objects and shards that could not be checked, or not in full.
    pub not_checked: u64,
}

impl VerifyReport {
    pub(super) fn add(&mut self, other: &VerifyReport) {
        self.objects = self.objects.saturating_add(other.objects);
        self.components = self.components.saturating_add(other.components);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.digests_verified = self.digests_verified.saturating_add(other.digests_verified);
        self.digests_absent = self.digests_absent.saturating_add(other.digests_absent);
        self.digests_unknown = self.digests_unknown.saturating_add(other.digests_unknown);
        self.padding_nonzero = self.padding_nonzero.saturating_add(other.padding_nonzero);
        self.bytes_not_covered = self.bytes_not_covered.saturating_add(other.bytes_not_covered);
        self.not_checked = self.not_checked.saturating_add(other.not_checked);
    }
}
