//! Batches: many reads in one call, sorted by file offset, on several threads.

use crate::capi::arg;
use crate::capi::finding::component::zt_component;
use crate::capi::finding::object::{hyperslab, zt_object};
use crate::capi::guard::guard;
use crate::capi::handle_table::Handle;
use crate::capi::opening::open::zt_file;
use crate::capi::opening::progress::progress;
use crate::capi::reading::options::{batch_options, on_done, zt_read_options};
use crate::capi::sized::{of_fields, sized_struct};
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, zt_dtype, ZT_WHOLE};
use crate::error::{fail, Cause, Error, Result};
use crate::memory::{push, with_capacity};
use crate::model::sort::sort;
use crate::reader::{
    BatchStats, Component, Destination, File, Object, Request, RowsMut, Selected, Selection, Wanted,
};
use std::ffi::{c_char, c_void, CStr};
use std::ptr::NonNull;

/// One read of a batch or load. To read bytes, set component. To read numbers, set convert, and component or
/// object. Set dst, dst_size, and one of these: length = ZT_WHOLE for everything; offset and length for a
/// range of a component; start and count for a slice; rows (of a component: and row_length).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_read_request {
    /// sizeof(zt_read_request)
    pub struct_size: usize,
    /// The component to read; NULL if object is set.
    pub component: *const zt_component,
    /// First decoded byte of a range.
    pub offset: u64,
    /// Bytes of the range: ZT_WHOLE to the end; 0 reads nothing. For a slice or rows it must be 0.
    pub length: u64,
    /// For a slice: rank starts, as for zt_object_read_slice; else NULL.
    pub start: *const u64,
    /// For a slice: rank counts; else NULL.
    pub count: *const u64,
    /// Rank steps; NULL for 1.
    pub step: *const u64,
    /// Receives the bytes. The memory of two requests in one call must not overlap. In a load, NULL and
    /// dst_size 0 ask for a slot of the ring.
    pub dst: *mut c_void,
    /// Bytes at dst: at least what the request reads.
    pub dst_size: usize,
    /// Passed to on_done and events; the library does not use it.
    pub tag: u64,
    /// For evenly spaced rows: their number; else 0. Row i is row_length bytes at offset + i * row_stride and
    /// goes to dst + i * dst_stride.
    pub rows: u64,
    /// Decoded bytes of a row; whole elements if they are converted or swapped.
    pub row_length: u64,
    /// From one row to the next in the component, at least row_length; 0 for row_length.
    pub row_stride: u64,
    /// From one row to the next at dst, at least row_length; 0 for row_length. Bytes between rows stay
    /// unchanged.
    pub dst_stride: u64,
    /// 1: check digests if everything is read; not for a range, slice or rows.
    pub verify: u32,
    /// The dtype to convert to, as zt_object_read_as does; 0 for none. Sizes at dst are those after
    /// conversion. Ranges, rows and slices must then be whole elements or blocks.
    pub convert: zt_dtype,
    /// 1: a conversion may lose numbers: too large floats become infinity, integers saturate, NaN becomes 0.
    /// 0: ZT_ERROR_LIMIT.
    pub lossy: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The object whose numbers to read, as zt_object_read_as does; NULL if component is set. A row of an
    /// object is its whole last dimension: offset and row_stride count rows, row_length must be 0, dst_stride
    /// is in bytes.
    pub object: *const zt_object,
}

/// What a batch or load did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_read_stats {
    /// sizeof(zt_read_stats)
    pub struct_size: usize,
    /// Bytes delivered.
    pub bytes: u64,
    /// Stored bytes that were read for them.
    pub stored_bytes: u64,
    /// Requests that are done.
    pub requests: u64,
    /// Requests whose digests were checked and match.
    pub digests_verified: u64,
    /// Elapsed time.
    pub nanoseconds: u64,
    /// Threads that were used.
    pub threads: u32,
    /// 1 if reads bypassed the page cache.
    pub direct: u32,
    /// Why the page cache was used or bypassed, in one line; valid as long as the library.
    pub reason: *const c_char,
    /// Requests that failed; 0 if wrong arguments refused the batch.
    pub failed: u64,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct! {
    zt_read_request:
        component, offset, length, start, count, step, dst, dst_size, tag,
        rows, row_length, row_stride, dst_stride, verify, convert, lossy, reserved, object;
    zt_read_stats:
        bytes, stored_bytes, requests, digests_verified, nanoseconds, threads, direct, reason, failed;
}

/// Reads many components, ranges and slices in one call: sorted by file position, on several threads,
/// straight into the caller's memory where the encoding allows.
///
/// requests, count: used during the call. options: NULL for the defaults. stats: may be NULL; filled on
/// failure, too.
/// Returns the first failure, which stops the batch unless options.keep_going is set. on_done reports which
/// requests are done; the content of the other destinations is undefined.
/// Returns what zt_component_read, zt_component_read_range, zt_object_read_slice and zt_verify return;
/// ZT_ERROR_CANCELLED if progress stops it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_read_batch(
    file: Option<&zt_file>,
    requests: *const zt_read_request,
    count: usize,
    options: *const zt_read_options,
    stats: *mut zt_read_stats,
) -> zt_status {
    guard(|| {
        // SAFETY: stats is NULL or has the size it gives.
        unsafe { arg::struct_size(stats.cast_const())? };
        let mut did = BatchStats::default();
        let mut read = || {
            let file = arg::required(file, "file")?;
            // SAFETY: options is NULL or has the size it gives.
            let options = unsafe { arg::options(options)? };
            let batch = batch_options(&options)?;
            let progress = progress(options.progress, options.context);
            let on_done = on_done(&options);
            let mut refused: Vec<(u64, Error)> = Vec::new();
            let keep = |tag, error: Error| {
                // Errors in a file only affect a request. Errors in the caller's arguments are returned
                // before anything is read.
                if !batch.keep_going || !is_of_the_file(&error) {
                    return Err(error);
                }
                push(&mut refused, (tag, error))
            };
            // SAFETY: requests has count structs.
            let mut plan = unsafe { plan(file, requests, count, keep)? };
            let outcome = File::read_batch(&mut plan, &batch, &on_done, &progress, &mut did);
            if outcome.as_ref().is_err_and(|error| !is_of_the_file(error)) {
                return outcome;
            }
            refused.into_iter().fold(outcome, |outcome, (tag, error)| {
                let one = Err(error);
                on_done(tag, &one);
                did.failed = did.failed.saturating_add(1);
                outcome.and(one)
            })
        };
        let outcome = read();
        // SAFETY: stats is NULL or has the size it gives.
        unsafe { arg::fill(stats, stats_of(&did))? };
        outcome
    })
}

/// Checks the caller's requests one by one.
///
/// # Safety
/// `requests` has `count` structs. The destinations are writable and do not overlap.
unsafe fn plan<'a>(
    file: &'a zt_file,
    requests: *const zt_read_request,
    count: usize,
    mut refused: impl FnMut(u64, Error) -> Result<()>,
) -> Result<Vec<Request<'a>>> {
    let mut plan: Vec<Request<'a>> = with_capacity(count)?;
    let (mut is_ascending, mut end) = (true, 0);
    let mut add = |request: &zt_read_request| {
        // SAFETY: each is NULL, or valid as long as its file is open.
        let target = unsafe { Target::of(request)? };
        if !std::ptr::eq(target.handle().file(), file) {
            return Err(fail!(InvalidArgument, "its component or object belongs to another file"));
        }
        // SAFETY: the caller ensures this.
        let planned = unsafe { add_request(&mut plan, target, request)? };
        for (start, size) in planned.places() {
            is_ascending &= end <= start;
            end = start.saturating_add(size);
        }
        Ok(())
    };
    let each = |request: &zt_read_request| add(request).or_else(|error| refused(request.tag, error));
    // SAFETY: requests has count structs.
    unsafe { arg::for_each(requests, count, "request", each)? };
    // Usually it is, and then another pass over many requests would take longer than this one.
    if !is_ascending {
        check_disjoint(&plan)?;
    }
    Ok(plan)
}

/// Refuses requests that fill the same memory, because they would race. No option allows this.
pub(in crate::capi) fn check_disjoint(plan: &[Request<'_>]) -> Result<()> {
    let count = plan.iter().map(|request| request.places().len()).fold(0, usize::saturating_add);
    let mut places = with_capacity(count)?;
    for (at, request) in plan.iter().enumerate() {
        places.extend(request.places().map(|(start, size)| (start, size, at))); // within what was reserved
    }
    sort(&mut places);
    let mut before: Option<(usize, usize)> = None;
    for (start, size, at) in places {
        if let Some((end, other)) = before.filter(|(end, _)| start < *end) {
            let shared = end.saturating_sub(start);
            return Err(fail!(InvalidArgument, "requests {other} and {at} share {shared} bytes of memory"));
        }
        before = Some((start.saturating_add(size), at));
    }
    Ok(())
}

/// Checks a request and adds it to `plan`, which has reserved memory for it. It is built in place because a
/// request is large.
///
/// # Safety
/// The request is as zt_read_batch demands. Its destination is borrowed for `'a`.
pub(in crate::capi) unsafe fn add_request<'p, 'a>(
    plan: &'p mut Vec<Request<'a>>,
    target: Target<'a>,
    request: &zt_read_request,
) -> Result<&'p mut Request<'a>> {
    // SAFETY: the caller ensures this.
    plan.push(unsafe { request_without_dst(target, request)? });
    let Some(planned) = plan.last_mut() else { return Err(fail!(Internal, "a request was not added")) };
    // SAFETY: the caller ensures this.
    unsafe { set_dst(planned, request)? };
    Ok(planned)
}

/// Sets the memory that a request fills. Memory after its size is not touched; another request may use it.
///
/// # Safety
/// dst has dst_size bytes. The part that is filled is borrowed for `'a`.
unsafe fn set_dst<'a>(planned: &mut Request<'a>, request: &zt_read_request) -> Result<()> {
    let (size, dst_size) = (planned.size(), request.dst_size);
    let row_length = size.checked_div(request.rows).unwrap_or(0);
    if request.dst.is_null() && request.dst_size == 0 && request.dst_stride != 0 && size > 0 {
        let stride = request.dst_stride;
        return Err(fail!(
            InvalidArgument,
            "dst_stride is {stride}, but a slot of the ring has its rows one after the other"
        ));
    }
    if request.dst_stride == 0 || request.dst_stride == row_length {
        let capacity = usize::try_from(size).map_or(dst_size, |n| n.min(dst_size));
        // SAFETY: dst has dst_size bytes.
        planned.dst = Destination::Bytes(unsafe { arg::bytes_mut(request.dst, capacity, "dst")? });
        return Ok(());
    }
    let (rows, stride) = (request.rows, request.dst_stride);
    if stride < row_length {
        return Err(fail!(InvalidArgument, "dst_stride is {stride}, but a row has {row_length} bytes"));
    }
    let last = rows.checked_sub(1).and_then(|last| last.checked_mul(stride)?.checked_add(row_length));
    if last.is_none_or(|end| end > dst_size as u64) {
        return Err(fail!(
            BufferSize,
            "{rows} rows of {row_length} bytes, every {stride}, do not fit the {dst_size} bytes of its memory"
        ));
    }
    let base = arg::required(NonNull::new(request.dst.cast()), "dst")?;
    let number = |n: u64| arg::to_usize(n, "a row");
    // SAFETY: dst has dst_size bytes, and the rows are inside.
    let rows = unsafe { RowsMut::new(base, number(rows)?, number(row_length)?, number(stride)?) };
    planned.dst = Destination::Rows(rows);
    Ok(())
}

/// Whether a request is refused because of the file's content, not because of the caller's arguments.
fn is_of_the_file(error: &Error) -> bool {
    use Cause::{Broken, DigestMismatch, Io, Limit, Unsupported};
    matches!(error.cause(), Broken(_) | DigestMismatch | Io | Limit | Unsupported)
}

/// The component or object that a request reads.
#[derive(Clone, Copy)]
pub(in crate::capi) enum Target<'a> {
    Component(&'a zt_component),
    /// Reads the numbers of this object.
    Object(&'a zt_object),
}

impl<'a> Target<'a> {
    /// The component or object of a request.
    ///
    /// # Safety
    /// Each pointer is NULL or valid for `'a`.
    pub(in crate::capi) unsafe fn of(request: &zt_read_request) -> Result<Target<'a>> {
        // SAFETY: the caller ensures this.
        let (component, object) = unsafe { (request.component.as_ref(), request.object.as_ref()) };
        match (component, object) {
            (Some(component), None) => Ok(Target::Component(component)),
            (None, Some(object)) if request.convert != 0 => Ok(Target::Object(object)),
            (None, Some(_)) => Err(fail!(InvalidArgument, "object is set, but convert is 0")),
            (None, None) => Err(fail!(InvalidArgument, "both component and object are NULL")),
            (Some(_), Some(_)) => Err(fail!(InvalidArgument, "it has both a component and an object")),
        }
    }

    pub(in crate::capi) fn handle(self) -> &'a Handle {
        match self {
            Target::Component(component) => &component.handle,
            Target::Object(object) => &object.handle,
        }
    }

    /// The object itself, or the object of the component.
    pub(in crate::capi) fn object(self) -> Result<Object<'a>> {
        match self {
            Target::Component(component) => component.component().map(|component| component.object()),
            Target::Object(object) => object.object(),
        }
    }

    /// Whether only threads of the caller may read its source.
    pub(in crate::capi) fn is_callers_thread(self) -> Result<bool> {
        match self {
            Target::Component(component) => {
                component.component().map(|component| component.is_callers_thread())
            }
            Target::Object(object) => Ok(object.object()?.components().any(|one| one.is_callers_thread())),
        }
    }
}

/// Checks a request of the caller. Its memory is set later.
///
/// # Safety
/// The arrays of a hyperslab have as many numbers as the object has dimensions.
#[inline(always)] // into its place, not moved there: a request is large
pub(in crate::capi) unsafe fn request_without_dst<'a>(
    target: Target<'a>,
    request: &zt_read_request,
) -> Result<Request<'a>> {
    arg::zero(request.reserved, "zt_read_request.reserved")?;
    let convert = match request.convert {
        0 => None,
        other => Some(types::dtype(other)?),
    };
    let verify = arg::flag(request.verify, "zt_read_request.verify")?;
    let lossy = arg::flag(request.lossy, "zt_read_request.lossy")?;
    let wanted = Wanted { convert, lossy, verify, tag: request.tag };
    match target {
        Target::Component(handle) => {
            let component = handle.component()?;
            // SAFETY: the caller ensures this.
            let selection = unsafe { selection_of(&component, request)? };
            component.request_as(&selection, wanted, &mut [])
        }
        Target::Object(handle) => {
            let object = handle.object()?;
            // SAFETY: the caller ensures this.
            let selected = unsafe { selected_of(&object, request)? };
            object.request_as(&selected, wanted, &mut [])
        }
    }
}

/// The part of its component that a request reads.
///
/// # Safety
/// The arrays of a hyperslab have as many numbers as the object has dimensions.
#[inline]
unsafe fn selection_of<'a>(component: &Component<'_>, request: &zt_read_request) -> Result<Selection<'a>> {
    check_one_kind(request)?;
    let zt_read_request { offset, length, rows, row_length, row_stride, .. } = *request;
    Ok(if rows > 0 {
        let row_stride = if row_stride == 0 { row_length } else { row_stride };
        Selection::Rows { offset, rows, row_length, row_stride }
    } else if !request.count.is_null() {
        // SAFETY: each array has as many numbers as the object has dimensions.
        Selection::Slab(unsafe {
            hyperslab(&component.object(), request.start, request.count, request.step)?
        })
    } else {
        match (offset, length) {
            (0, ZT_WHOLE) => Selection::Whole,
            (offset, ZT_WHOLE) => {
                let size = component.size()?;
                let beyond = || fail!(InvalidArgument, "offset {offset} passes its {size} bytes");
                Selection::Range { offset, length: size.checked_sub(offset).ok_or_else(beyond)? }
            }
            (offset, length) => Selection::Range { offset, length },
        }
    })
}

/// The numbers of its object that a request reads.
///
/// # Safety
/// The arrays of a hyperslab have as many numbers as the object has dimensions.
unsafe fn selected_of<'a>(object: &Object<'_>, request: &zt_read_request) -> Result<Selected<'a>> {
    check_one_kind(request)?;
    let zt_read_request { offset, length, rows, row_length, row_stride, .. } = *request;
    if rows > 0 {
        if row_length != 0 {
            return Err(fail!(
                InvalidArgument,
                "row_length is {row_length}; for the rows of an object it is 0"
            ));
        }
        return Ok(Selected::Rows { first: offset, rows, stride: row_stride.max(1) });
    }
    if !request.count.is_null() {
        // SAFETY: each array has as many numbers as the object has dimensions.
        return Ok(Selected::Slab(unsafe { hyperslab(object, request.start, request.count, request.step)? }));
    }
    match (offset, length) {
        (0, ZT_WHOLE) => Ok(Selected::Whole),
        _ => Err(fail!(
            InvalidArgument,
            "offset is {offset} and length {length}; for the numbers of an object, set rows, a slice, or \
             length to ZT_WHOLE"
        )),
    }
}

/// Refuses a request that mixes a range, rows and a hyperslab.
#[inline]
fn check_one_kind(request: &zt_read_request) -> Result<()> {
    let zt_read_request { offset, length, rows, row_length, row_stride, dst_stride, .. } = *request;
    let why = if rows > 0 {
        let arrays = [request.start, request.count, request.step];
        if length == 0 && arrays.iter().all(|array| array.is_null()) {
            return Ok(());
        }
        "it has both rows and a range or a hyperslab"
    } else if (row_length, row_stride, dst_stride) != (0, 0, 0) {
        "it has row_length, row_stride or dst_stride, but no rows"
    } else if !request.count.is_null() {
        if (offset, length) == (0, 0) {
            return Ok(());
        }
        "it has both a range and a hyperslab"
    } else if !request.start.is_null() || !request.step.is_null() {
        "it has start or step, but no count"
    } else {
        return Ok(());
    };
    Err(fail!(InvalidArgument, "{why}"))
}

/// The statistics of a batch, for C.
pub(in crate::capi) fn stats_of(did: &BatchStats) -> zt_read_stats {
    let (direct, reason) = (u32::from(did.direct), reason_of(did.reason));
    of_fields!(zt_read_stats {
        bytes, stored_bytes, requests, digests_verified, nanoseconds, threads, failed
    } of did, direct: direct, reason: reason)
}

/// The reason why the page cache was used or bypassed, for C; NULL if there was no read.
pub(in crate::capi) fn reason_of(reason: &'static CStr) -> *const c_char {
    if reason.is_empty() { c"nothing was read" } else { reason }.as_ptr()
}
