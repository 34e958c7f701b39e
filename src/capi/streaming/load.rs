//! Loads: reads that continue in the background while the caller uses what is ready.

use crate::capi::advanced::hooks::thread_hooks;
use crate::capi::arg;
use crate::capi::guard::{deliver, guard, guard_value};
use crate::capi::handle_table::{zt_file, FileReference};
use crate::capi::reading::batch::{
    add_request, check_disjoint, stats_of, zt_read_request, zt_read_stats, Target,
};
use crate::capi::status::zt_status;
use crate::capi::streaming::event::{
    event_of, load_options, zt_load_event, zt_load_kind, zt_load_kind_value, zt_load_options, ZT_NO_SLOT,
};
use crate::error::{fail, Result};
use crate::memory::{push, try_box, with_capacity};
use crate::model::sort::{sort, sort_by_key};
use crate::reader::{BatchStats, Load, Request, Ring, SourceStats};
use crate::source::ByteSource;
use crate::threads::{ThreadGroup, Work};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::time::Duration;

/// Requests that are being read in the background.
pub struct zt_load {
    /// Dropped before `files`, because its requests use them.
    group: ThreadGroup<Load<'static>>,
    /// The files, in the order in which requests use them.
    files: Vec<FileReference>,
    /// The files and parts that it reads. The list is made when it is first needed.
    parts: OnceLock<Vec<ReadPart>>,
}

/// A file, or a part of one, that a load reads.
pub(in crate::capi) struct ReadPart {
    pub(in crate::capi) file: *const zt_file,
    pub(in crate::capi) part: u32,
    /// The number of its source in the load.
    source: usize,
}

impl Drop for zt_load {
    /// Ends the load. This also happens if its handle could not be made: its threads would wait for a
    /// consumer forever.
    fn drop(&mut self) {
        if self.group.is_here() {
            self.group.value().end();
        }
    }
}

/// Takes references to the files of requests. `named` has each file with the number of a request.
fn references(mut named: Vec<(*const zt_file, usize)>) -> Result<Vec<FileReference>> {
    sort(&mut named);
    named.dedup_by_key(|(file, _)| *file);
    sort_by_key(&mut named, |(_, request)| *request);
    let mut files = with_capacity(named.len())?;
    // SAFETY: the files are open during the call.
    files.extend(named.into_iter().map(|(file, _)| unsafe { FileReference::new(file) }));
    Ok(files)
}

/// Starts to read the requests in the background and returns at once; zt_load_next gives what was read.
///
/// requests, count: used during the call; each may be of another file. options: NULL for the defaults. load:
/// receives the handle, NULL on failure. End it with zt_load_finish. Until then the load keeps its files
/// open, and you keep every dst and the ring. Do not touch a dst before its event.
/// A request without dst (NULL, dst_size 0) is delivered in a slot of the ring. Small requests share a slot.
/// A request larger than a slot comes in several pieces, in any order; event.offset says where a piece
/// belongs, and it may end within an element. Such a request needs temporary memory for its whole size if it
/// is compressed, verified, a slice, rows, sparse or quantized; if that exceeds in_flight, it is
/// ZT_ERROR_LIMIT.
/// For wrong requests returns what zt_read_batch returns; errors of reading come as events. Starts threads,
/// which live until zt_load_finish. If no thread can be started, zt_load_next reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_load_start(
    requests: *const zt_read_request,
    count: usize,
    options: *const zt_load_options,
    load: Option<&mut MaybeUninit<*mut zt_load>>,
) -> zt_status {
    deliver(load, "load", || {
        // SAFETY: options is NULL or has the size it gives, and so do its hooks.
        let (options, hooks) = unsafe {
            let options = arg::options(options)?;
            (options, (!options.thread_hooks.is_null()).then(|| thread_hooks(options.thread_hooks)))
        };
        let hooks = hooks.transpose()?;
        let how = load_options(&options)?;
        // SAFETY: requests has count structs. The files are kept open, and the load owns the memory until it
        // ends.
        let (plan, files, ring) = unsafe {
            let (plan, files) = plan(requests, count)?;
            let ring = ring(&options, &plan)?;
            (plan, files, ring)
        };
        let load = Load::new(plan, ring, &how)?;
        let (threads, hooks) = (load.threads(), hooks.unwrap_or_else(|| load.thread_hooks()));
        let group = ThreadGroup::start(try_box(Work::new(load, hooks, Load::work))?, threads);
        group.value().set_threads(group.threads());
        Ok(Box::into_raw(try_box(zt_load { group, files, parts: OnceLock::new() })?))
    })
}

/// Waits for the next event of a load: bytes, a failed request, the end, or nothing if the timeout passes.
///
/// timeout_ns: nanoseconds; 0 does not wait, below 0 waits without limit. After the end every call reports
/// the end. A request of 0 bytes gives one event of size 0. Bytes for the ring need a free slot: release
/// events before you wait again, or a wait without a timeout may never end. Returns ZT_OK also if the event
/// reports a failed request or a failed load. ZT_ERROR_STATE in a forked child.
/// Several threads may call it at once; each event goes to one of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_load_next(
    load: Option<&zt_load>,
    timeout_ns: i64,
    event: *mut zt_load_event,
) -> zt_status {
    guard(|| {
        let load = arg::required(load, "load")?;
        let next = || {
            load.check_here()?;
            let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
            Ok(event_of(load.group.value().next(timeout)))
        };
        // SAFETY: event is NULL or has the size it gives.
        unsafe { arg::fill_required(event, next) }
    })
}

/// Releases the bytes of an event. When all bytes of a slot are released, the slot is filled again.
/// event: as zt_load_next filled it, or a copy. NULL, an event without a slot and a second release do
/// nothing. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_load_release(load: Option<&zt_load>, event: *const zt_load_event) {
    guard_value((), || {
        let Some(load) = load.filter(|load| !event.is_null() && load.group.is_here()) else { return };
        // SAFETY: event has the size it gives.
        if let Ok(event) = unsafe { arg::options(event) } {
            if event.kind == zt_load_kind_value::ZT_LOAD_KIND_DATA as zt_load_kind && event.slot != ZT_NO_SLOT
            {
                load.group.value().release(event.piece, event.slot);
            }
        }
    });
}

/// Stops a load: every thread that waits in zt_load_next gets ZT_LOAD_KIND_DONE with status
/// ZT_ERROR_CANCELLED. A load that has ended stays unchanged. Returns ZT_ERROR_STATE in a forked child.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_load_cancel(load: Option<&zt_load>) -> zt_status {
    guard(|| {
        let load = arg::required(load, "load")?;
        load.check_here()?;
        load.group.value().cancel();
        Ok(())
    })
}

/// Ends a load: stops it if it is not done, waits for its threads, frees its ring.
///
/// load: NULL does nothing. stats: may be NULL; filled on failure, too.
/// Returns ZT_OK if everything was read, else the first failure, or ZT_ERROR_CANCELLED. In a forked child
/// ZT_ERROR_STATE, and nothing changes. No other thread may use load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_load_finish(load: *mut zt_load, stats: *mut zt_read_stats) -> zt_status {
    guard(|| {
        if load.is_null() {
            // SAFETY: stats is NULL or has the size it gives.
            return unsafe { arg::fill(stats, stats_of(&BatchStats::default())) };
        }
        // SAFETY: zt_load_start made it, and the caller does not use it any more.
        let mut load = unsafe { Box::from_raw(load) };
        // SAFETY: stats is NULL or has the size it gives.
        let checked = unsafe { arg::struct_size(stats.cast_const()) };
        if let Err(error) = load.check_here() {
            std::mem::forget(load); // threads of the parent process may hold its locks
            return Err(error);
        }
        let mut did = BatchStats::default();
        load.group.value().end();
        load.group.join();
        let outcome = load.group.value().report(&mut did);
        checked?;
        // SAFETY: as above.
        unsafe { arg::fill(stats, stats_of(&did))? };
        outcome
    })
}

impl zt_load {
    /// The files and parts that it reads. The list is made once, because a caller may ask for them one by
    /// one.
    pub(in crate::capi) fn parts(&self) -> Result<&[ReadPart]> {
        if let Some(parts) = self.parts.get() {
            return Ok(parts);
        }
        let address = |source: &dyn ByteSource| std::ptr::from_ref(source).addr();
        let mut sources: Vec<(usize, usize)> = Vec::new();
        for (number, source) in self.group.value().sources().enumerate() {
            push(&mut sources, (address(source), number))?;
        }
        sort(&mut sources);
        let mut parts = Vec::new();
        for file in &self.files {
            for (number, part) in (0u32..).zip(file.file().file().parts()) {
                let found = sources.binary_search_by_key(&address(part.source()), |(address, _)| *address);
                if let Some((_, source)) = found.ok().and_then(|at| sources.get(at)) {
                    push(&mut parts, ReadPart { file: file.file(), part: number, source: *source })?;
                }
            }
        }
        Ok(self.parts.get_or_init(|| parts))
    }

    /// How a part was read so far.
    pub(in crate::capi) fn source_stats(&self, part: &ReadPart) -> Option<SourceStats> {
        self.group.value().source_stats(part.source)
    }

    /// Fails in a child process, because the load's threads are not in it.
    pub(in crate::capi) fn check_here(&self) -> Result<()> {
        match self.group.is_here() {
            true => Ok(()),
            false => Err(fail!(State, "another process started the load and has its threads")),
        }
    }
}

/// Checks the caller's requests one by one.
///
/// # Safety
/// `requests` has `count` structs. The load owns the destinations until it ends, and keeps the files open.
unsafe fn plan(
    requests: *const zt_read_request,
    count: usize,
) -> Result<(Vec<Request<'static>>, Vec<FileReference>)> {
    let mut plan: Vec<Request<'static>> = with_capacity(count)?;
    let mut named: Vec<(*const zt_file, usize)> = Vec::new();
    let mut with = |request: &zt_read_request| {
        // SAFETY: each is NULL or belongs to a file that is open and kept open.
        let target: Target<'static> = unsafe { Target::of(request)? };
        let file = target.handle().file();
        // Most requests have the file of the request before.
        if named.last().is_none_or(|(last, _)| *last != file) {
            push(&mut named, (file, plan.len()))?;
        }
        // SAFETY: the caller ensures this.
        let planned = unsafe { add_request(&mut plan, target, request)? };
        planned.in_ring = request.dst.is_null() && request.dst_size == 0;
        Ok(())
    };
    // SAFETY: requests has count structs.
    unsafe { arg::for_each(requests, count, "request", &mut with)? };
    check_disjoint(&plan)?;
    Ok((plan, references(named)?))
}

/// The default size of a slot, and the default number of slots.
const SLOT_SIZE: usize = 16 << 20;
const SLOTS: usize = 4;

/// The smallest slots of a caller's ring. Smaller slots would cause too many events.
const MIN_SLOT_SIZE: usize = 64 << 10;

/// Every slot of an aligned ring is aligned, and so are the numbers in it.
const SLOT_ALIGNMENT: usize = 64;

/// The ring, if a request needs one.
///
/// # Safety
/// The caller's ring is as large as the options say. The load owns it until it ends.
unsafe fn ring(options: &zt_load_options, plan: &[Request<'static>]) -> Result<Option<Ring<'static>>> {
    let zt_load_options { ring, slot_size, slot_count, .. } = *options;
    let is_default = slot_size == 0 && ring.is_null();
    if slot_size < MIN_SLOT_SIZE && !is_default {
        return Err(fail!(InvalidArgument, "slots of {slot_size} bytes are below {MIN_SLOT_SIZE}"));
    }
    if slot_size % SLOT_ALIGNMENT != 0 {
        return Err(fail!(InvalidArgument, "slot_size {slot_size} is not a multiple of {SLOT_ALIGNMENT}"));
    }
    if !ring.is_null() && slot_count == 0 {
        return Err(fail!(InvalidArgument, "zt_load_options.slot_count is 0, but a ring is given"));
    }
    let wanted = plan.iter().filter(|request| request.in_ring);
    if wanted.clone().next().is_none() {
        return Ok(None);
    }
    if !ring.is_null() {
        let too_large =
            || fail!(InvalidArgument, "{slot_count} slots of {slot_size} bytes do not fit in memory");
        let size = slot_size.checked_mul(slot_count).ok_or_else(too_large)?;
        // SAFETY: ring has slot_count slots of slot_size bytes, and the load owns them until zt_load_finish.
        let memory = unsafe { arg::bytes_mut(ring, size, "ring")? };
        let ring = memory.as_ptr().addr();
        let shares = |(start, length): (usize, usize)| {
            start < ring.saturating_add(size) && ring < start.saturating_add(length)
        };
        if let Some(at) = plan.iter().position(|request| request.places().any(shares)) {
            return Err(fail!(InvalidArgument, "request {at} and the ring share memory"));
        }
        return Ok(Some(Ring::of(memory, slot_size)));
    }
    // Not more than all requests need together.
    let all = wanted
        .map(|request| request.size().saturating_add(Ring::padding_per_request()))
        .fold(0, u64::saturating_add);
    let all = usize::try_from(all).unwrap_or(usize::MAX);
    let slot_size = if slot_size == 0 { SLOT_SIZE.min(all).max(MIN_SLOT_SIZE) } else { slot_size };
    Ring::new(slot_size, if slot_count == 0 { SLOTS } else { slot_count }).map(Some)
}
