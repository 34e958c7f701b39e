//! A source of a file's bytes that calls the caller's functions.

use crate::capi::arg;
use crate::capi::guard::{deliver, guard};
use crate::capi::opening::open::zt_file;
use crate::capi::opening::options::{opened, zt_open_options};
use crate::capi::opening::progress::outcome;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::error::{fail, try_format, Result};
use crate::memory::{try_box, with_capacity};
use crate::reader::{File, OpenOptions};
use crate::source::{ByteSource, Profile, ReadMany, ReadRange};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// A range that a source is asked for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_source_range {
    /// First byte.
    pub offset: u64,
    /// Receives the bytes.
    pub dst: *mut c_void,
    /// Number of bytes, at least 1.
    pub size: usize,
}

/// Your functions that read a file. Any thread that uses the file may call them, several at once (but see
/// callers_thread). They must not call zt_close on the same file. They return ZT_OK or a ZT_ERROR_ status,
/// which the failing call returns; other values become ZT_ERROR_IO. zt_set_last_error sets the message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_source {
    /// sizeof(zt_source)
    pub struct_size: usize,
    /// Passed to every function.
    pub context: *mut c_void,
    /// Gives the bytes of the file. Called once. Not NULL.
    pub size: Option<unsafe extern "C" fn(context: *mut c_void, size: *mut u64) -> zt_status>,
    /// Reads exactly size bytes from offset on into dst, or fails. Not NULL.
    pub read_at: Option<
        unsafe extern "C" fn(context: *mut c_void, offset: u64, dst: *mut c_void, size: usize) -> zt_status,
    >,
    /// Called once, last; may be NULL.
    pub close: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Reads all ranges, or fails. They are sorted by offset and may overlap; the array is valid during the
    /// call. After a failure the library calls read_at for each. NULL: read_at is used.
    pub read_many: Option<
        unsafe extern "C" fn(context: *mut c_void, ranges: *const zt_source_range, count: usize) -> zt_status,
    >,
    /// What messages call the file; NULL for "the caller's source". Copied.
    pub name: *const c_char,
    /// Bytes between two wanted ranges that are better read than skipped; 0 for the default.
    pub gap: u64,
    /// Largest useful read_at and read_many in bytes; 0 for the default, 1 to never join reads.
    pub largest_request: u64,
    /// Number of concurrent reads that help, at most 16. Calls whose options leave threads at 0 use this many
    /// threads. 0 and 1: as for a file.
    pub concurrency: u32,
    /// 1: call the functions only from threads that call the library. (close may come from a thread of a
    /// zt_cache.) 0: from any thread.
    pub callers_thread: u32,
    /// A number that changes when the bytes do, such as a hash of an ETag, for zt_file_identity. 0: not
    /// known.
    pub identity: u64,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_source:
    context, size, read_at, close, read_many, name, gap, largest_request, concurrency, callers_thread,
    identity
);

/// [`zt_source`] as a [`ByteSource`]. Dropping it calls `close`.
pub(in crate::capi) struct CallbackSource {
    functions: zt_source,
    profile: Profile,
    size: u64,
}

// SAFETY: any thread may call the functions, and the struct is never changed.
unsafe impl Send for CallbackSource {}
// SAFETY: as above.
unsafe impl Sync for CallbackSource {}

impl CallbackSource {
    /// Takes ownership of the functions: `close` will be called from here on.
    fn taken(functions: zt_source) -> Self {
        CallbackSource { functions, profile: Profile::calls(), size: 0 }
    }

    /// Takes ownership of the functions, checks them, and gets the size.
    pub(in crate::capi) fn new(functions: zt_source) -> Result<Self> {
        let mut source = CallbackSource::taken(functions);
        source.profile = profile_of(&functions)?;
        let Some(size) = functions.size else { return Err(fail!(InvalidArgument, "zt_source.size is NULL")) };
        if functions.read_at.is_none() {
            return Err(fail!(InvalidArgument, "zt_source.read_at is NULL"));
        }
        // SAFETY: the caller's function, called as declared.
        outcome(unsafe { size(functions.context, &raw mut source.size) }, "zt_source.size")?;
        Ok(source)
    }
}

/// The name of the file in messages, if the struct gives one.
pub(in crate::capi) fn label_of(source: &zt_source) -> Result<Option<String>> {
    // SAFETY: the name is NULL or ends in a NUL.
    let name = unsafe { arg::optional_text(source.name, "zt_source.name")? };
    name.map(|name| try_format(format_args!("{name}"))).transpose()
}

/// The profile of the source's reads, from the fields of the struct.
fn profile_of(source: &zt_source) -> Result<Profile> {
    Ok(Profile {
        gap: arg::or_default(source.gap, Profile::calls().gap),
        largest_request: match arg::or_default(source.largest_request, Profile::calls().largest_request) {
            1 => 0,
            bytes => bytes,
        },
        concurrency: source.concurrency as usize,
        callers_thread: arg::flag(source.callers_thread, "zt_source.callers_thread")?,
        read_many: match source.read_many {
            Some(_) => ReadMany::Anywhere,
            None => ReadMany::OneByOne,
        },
    })
}

impl ByteSource for CallbackSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let Some(read_at) = self.functions.read_at else { return Err(fail!(Internal, "no read_at")) };
        if dst.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's function, called as declared; dst has that many writable bytes.
        let status = unsafe { read_at(self.functions.context, offset, dst.as_mut_ptr().cast(), dst.len()) };
        outcome(status, "zt_source.read_at")
            .map_err(|e| e.within(format_args!("could not read {} bytes at {offset}", dst.len())))
    }

    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        let Some(read_many) = self.functions.read_many else {
            return ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.dst));
        };
        let mut given = with_capacity(ranges.len())?;
        let wanted = ranges.iter_mut().filter(|range| !range.dst.is_empty());
        given.extend(wanted.map(|range| zt_source_range {
            offset: range.offset,
            dst: range.dst.as_mut_ptr().cast(),
            size: range.dst.len(),
        }));
        if given.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's function, called as declared; each dst has that many writable bytes.
        let status = unsafe { read_many(self.functions.context, given.as_ptr(), given.len()) };
        outcome(status, "zt_source.read_many")
            .map_err(|e| e.within(format_args!("could not read {} ranges", given.len())))
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn identity(&self) -> u64 {
        self.functions.identity
    }
}

impl Drop for CallbackSource {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close.take() {
            // SAFETY: the caller's function; `take` ensures that it is called once.
            unsafe { close(self.functions.context) };
        }
    }
}

/// Opens a file that your functions read.
///
/// source: copied. Its functions are used until the last zt_close. close is called once, also if this call
/// fails, unless struct_size is refused.
/// Opening reads both ends in one read_many or two read_at, and then the rest of the manifest.
/// options: mode and advice are ignored. file, statuses: as for zt_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_source(
    source: *const zt_source,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    if file.is_none() {
        // SAFETY: source has the size it gives.
        let _ = guard(|| unsafe { arg::required_struct(source) }.map(|it| drop(CallbackSource::taken(it))));
    }
    deliver(file, "file", || {
        // SAFETY: source has the size it gives.
        let functions: zt_source = unsafe { arg::required_struct(source)? };
        let source = CallbackSource::new(functions)?;
        let open = |wanted: &OpenOptions| {
            let label = match (&wanted.name, label_of(&functions)?) {
                (Some(name), _) => try_format(format_args!("{name}"))?,
                (None, Some(label)) => label,
                (None, None) => try_format(format_args!("the caller's source"))?,
            };
            File::from_source(try_box(source)?, wanted, label)
        };
        // SAFETY: options is NULL or has the size it gives.
        unsafe { opened(options, open) }
    })
}
