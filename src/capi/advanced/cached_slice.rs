//! A cached slice: a read request. The numbers of the request are the slice's key.

use crate::cache::{Key, Slice};
use crate::capi::arg;
use crate::capi::handle_table::FileReference;
use crate::capi::reading::batch::{request_without_dst, zt_read_request, Target};
use crate::error::{fail, Result};
use crate::reader::{BatchOptions, BatchStats, Destination, Direct, File};

/// How many numbers of a key come before those of the arrays.
const NUMBERS: usize = 8;

/// The key of a slice: all numbers of the request except its destination and its tag.
///
/// # Safety
/// The request is as zt_read_batch demands.
pub(in crate::capi) unsafe fn key_of<'f>(request: &zt_read_request) -> Result<(Target<'f>, Key)> {
    // A new field must be added here: either to the key, or as a field that does not matter.
    let zt_read_request {
        struct_size: _,
        component: _,
        offset,
        length,
        start,
        count,
        step,
        dst: _,
        dst_size: _,
        tag: _,
        rows,
        row_length,
        row_stride,
        dst_stride,
        verify,
        convert,
        lossy,
        reserved: _,
        object,
    } = *request;
    if dst_stride != 0 {
        return Err(fail!(
            InvalidArgument,
            "dst_stride is {dst_stride}, but a slot has its rows one after the other"
        ));
    }
    // SAFETY: each is NULL, or valid as long as its file is open.
    let target: Target<'f> = unsafe { Target::of(request)? };
    let arrays = [start, count, step].into_iter().filter(|array| !array.is_null());
    // Which pointers are set, one bit each. A component and an object may have the same handle, so the object
    // is one of them.
    let is_set = [object.is_null(), start.is_null(), count.is_null(), step.is_null()].map(|is_null| !is_null);
    let flags = is_set.into_iter().fold(0, |flags, is_set| flags << 1 | u32::from(is_set));
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let handle = std::ptr::from_ref(target.handle()).addr() as u64;
    let (options, conversion) = (pair(flags, verify), pair(convert as u32, lossy));
    let numbers: [u64; NUMBERS] = [handle, offset, length, rows, row_length, row_stride, options, conversion];
    let mut key = Key::new();
    key.extend(&numbers)?;
    for array in arrays {
        let rank = target.object()?.shape().len();
        // SAFETY: each array has as many numbers as the object has dimensions.
        key.extend(unsafe { arg::slice(array, rank, "an array of a slice")? })?;
    }
    Ok((target, key))
}

/// A requested slice. It has a reference to its file.
pub(in crate::capi) struct CachedSlice {
    file: FileReference,
    /// Its arrays may be gone. The key has their numbers.
    request: zt_read_request,
    size: usize,
    verify: bool,
    is_callers_thread: bool,
}

// SAFETY: any thread may use files, components and objects.
unsafe impl Send for CachedSlice {}

impl CachedSlice {
    /// Checks the request and finds its size.
    ///
    /// # Safety
    /// The request is as zt_read_batch demands.
    pub(in crate::capi) unsafe fn new(
        target: Target<'_>,
        request: &zt_read_request,
        verify: bool,
    ) -> Result<CachedSlice> {
        // SAFETY: the caller ensures this.
        let size = unsafe { request_without_dst(target, request)? }.size();
        Ok(CachedSlice {
            // SAFETY: the target's file is open.
            file: unsafe { FileReference::new(target.handle().file()) },
            request: *request,
            size: arg::to_usize(size, "a slice")?,
            verify,
            is_callers_thread: target.is_callers_thread()?,
        })
    }
}

impl Slice for CachedSlice {
    fn size(&self) -> usize {
        self.size
    }

    fn is_callers_thread(&self) -> bool {
        self.is_callers_thread
    }

    /// Reads on this thread alone, with as little temporary memory as possible.
    fn read(&self, key: &Key, dst: &mut [u8]) -> Result<()> {
        let mut request = self.request;
        // SAFETY: our reference keeps the file open.
        let target: Target<'_> = unsafe { Target::of(&request)? };
        let (rank, mut arrays) = (target.object()?.shape().len(), key.words().get(NUMBERS..));
        for array in [&mut request.start, &mut request.count, &mut request.step] {
            if !array.is_null() {
                let numbers = arrays.and_then(|arrays| arrays.split_at_checked(rank));
                let (numbers, rest) = numbers.ok_or_else(|| fail!(Internal, "a key without its arrays"))?;
                (*array, arrays) = (numbers.as_ptr(), Some(rest));
            }
        }
        // SAFETY: as above. The request was checked, and its arrays are in the key.
        let mut planned = unsafe { request_without_dst(target, &request)? };
        if planned.size() != self.size as u64 {
            return Err(fail!(Internal, "a slice of {} bytes has become {}", self.size, planned.size()));
        }
        planned.dst = Destination::Bytes(dst);
        let options = BatchOptions {
            threads: 1,
            direct: Direct::Never,
            in_flight: 0,
            verify: self.verify,
            ..BatchOptions::default()
        };
        let (requests, stats) = (std::slice::from_mut(&mut planned), &mut BatchStats::default());
        File::read_batch(requests, &options, &|_, _| {}, &|_, _| true, stats)
    }
}
