//! A cached slice: a read request. The numbers of the request are the slice's key.

use crate::cache::{Key, Slice};
use crate::capi::arg;
use crate::capi::handle_table::{zt_component, zt_object, FileReference};
use crate::capi::reading::batch::{request_without_dst, zt_read_request, Target};
use crate::error::{fail, Result};
use crate::reader::{BatchOptions, BatchStats, Destination, Direct, File};
use std::ptr::null;

/// Flags for the arrays of a request that are not NULL. These are 1, 2 and 4.
const START: u64 = 1;
const COUNT: u64 = 2;
const STEP: u64 = 4;
/// Flag for a request for the numbers of an object.
const OF_OBJECT: u64 = 16;
/// Flag for a request with rows, a digest check or a conversion. Its key has five more numbers.
const HAS_MORE: u64 = 8;

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
        object: _,
    } = *request;
    if dst_stride != 0 {
        return Err(fail!(
            InvalidArgument,
            "dst_stride is {dst_stride}, but a slot has its rows one after the other"
        ));
    }
    // SAFETY: each is NULL, or valid as long as its file is open.
    let target: Target<'f> = unsafe { Target::of(request)? };
    let of_object = if let Target::Object(_) = target { OF_OBJECT } else { 0 };
    let arrays = [(start, START), (count, COUNT), (step, STEP)];
    let present = arrays.iter().filter(|(array, _)| !array.is_null());
    let arrays_there = present.clone().fold(0, |flags, (_, flag)| flags | flag);
    let more = [
        rows,
        row_length,
        row_stride,
        u64::from(verify) << 32 | u64::from(u32::from_ne_bytes(convert.to_ne_bytes())),
        u64::from(lossy),
    ];
    let flags = arrays_there | of_object | if more == [0; 5] { 0 } else { HAS_MORE };
    let mut key = Key::new();
    key.extend(&[std::ptr::from_ref(target.handle()).addr() as u64, offset, length, flags])?;
    if flags & HAS_MORE != 0 {
        key.extend(&more)?;
    }
    if arrays_there != 0 {
        let rank = target.object()?.shape().len();
        for (array, _) in present {
            // SAFETY: each array has as many numbers as the object has dimensions.
            key.extend(unsafe { arg::slice(*array, rank, "an array of a slice")? })?;
        }
    }
    Ok((target, key))
}

/// The request for a key, without a destination.
fn request_of(key: &Key, component: *const zt_component, object: *const zt_object) -> zt_read_request {
    let flags = key.words().get(3).copied().unwrap_or(0);
    let count = if flags & HAS_MORE == 0 { 4 } else { 9 };
    let (numbers, arrays) = key.words().split_at_checked(count).unwrap_or_default();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let rank = arrays.len().checked_div((flags & (START | COUNT | STEP)).count_ones() as usize).unwrap_or(0);
    let mut rest = arrays;
    let mut next = |flag: u64| {
        if flags & flag == 0 {
            return null();
        }
        let (array, others) = rest.split_at_checked(rank).unwrap_or_default();
        rest = others;
        array.as_ptr()
    };
    zt_read_request {
        struct_size: size_of::<zt_read_request>(),
        component,
        offset: number(1),
        length: number(2),
        start: next(START),
        count: next(COUNT),
        step: next(STEP),
        rows: number(4),
        row_length: number(5),
        row_stride: number(6),
        verify: u32::try_from(number(7) >> 32).unwrap_or(0),
        convert: i32::from_ne_bytes(u32::try_from(number(7) & 0xffff_ffff).unwrap_or(0).to_ne_bytes()),
        lossy: u32::try_from(number(8)).unwrap_or(0),
        object,
        ..arg::zeroed()
    }
}

/// A requested slice. It has a reference to its file.
pub(in crate::capi) struct CachedSlice {
    file: FileReference,
    /// Either this or `object` is NULL.
    component: *const zt_component,
    object: *const zt_object,
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
            component: request.component,
            object: request.object,
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
        let request = request_of(key, self.component, self.object);
        // SAFETY: our reference keeps the file open. The request was checked; its arrays are in the key.
        let mut planned = unsafe { request_without_dst(Target::of(&request)?, &request)? };
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
