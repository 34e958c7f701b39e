//! The caller's functions as the bytes of a file.

use super::arg;
use super::open::{deliver, open_options, verified, zt_file, zt_open_options};
use super::progress::{outcome, Context};
use super::sized::sized_struct;
use super::status::zt_status;
use crate::error::{fail, try_format, Result};
use crate::io::{boxed, ByteSource};
use crate::reader::File;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Where the bytes of a file come from: the caller's functions. All are called with context, from any
/// thread that uses the file, also several at once; they must not call back into the same file's
/// zt_close. They return ZT_OK or the status that the failing call shall return; one that is no
/// ZT_ERROR_ value becomes ZT_ERROR_IO.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_source {
    /// sizeof (zt_source)
    pub struct_size: usize,
    /// Passed to every function; may be NULL.
    pub context: *mut c_void,
    /// Returns the bytes of the file. Called once. Not NULL.
    pub size: Option<unsafe extern "C" fn(context: *mut c_void, size: *mut u64) -> zt_status>,
    /// Fills dst with n bytes from offset on: all of them, or a failure. Not NULL.
    pub read_at: Option<
        unsafe extern "C" fn(context: *mut c_void, offset: u64, dst: *mut c_void, n: usize) -> zt_status,
    >,
    /// The file is done with the source. Called once, last; may be NULL.
    pub close: Option<unsafe extern "C" fn(context: *mut c_void)>,
}

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_source: context, size, read_at, close);

/// [`zt_source`] as a [`ByteSource`]. Dropping it calls `close`.
pub(super) struct CallbackSource {
    context: Context,
    functions: zt_source,
    size: u64,
}

// SAFETY: the functions are "called from any thread"; the struct is never changed.
unsafe impl Send for CallbackSource {}
// SAFETY: as above.
unsafe impl Sync for CallbackSource {}

impl CallbackSource {
    /// Takes the functions over: from here on `close` will be called.
    pub(super) fn new(functions: zt_source) -> Result<Self> {
        let mut source = CallbackSource { context: Context(functions.context), functions, size: 0 };
        let Some(size) = functions.size else { return Err(fail!(InvalidArgument, "zt_source.size is NULL")) };
        if functions.read_at.is_none() {
            return Err(fail!(InvalidArgument, "zt_source.read_at is NULL"));
        }
        // SAFETY: the caller's function, called as its declaration says.
        outcome(unsafe { size(source.context.get(), &raw mut source.size) }, "zt_source.size")?;
        Ok(source)
    }
}

impl ByteSource for CallbackSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let Some(read_at) = self.functions.read_at else { return Err(fail!(Internal, "no read_at")) };
        if dst.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's function; dst has that many writable bytes.
        let status = unsafe { read_at(self.context.get(), offset, dst.as_mut_ptr().cast(), dst.len()) };
        outcome(status, "zt_source.read_at")
            .map_err(|e| e.within(format_args!("could not read {} bytes at {offset}", dst.len())))
    }
}

impl Drop for CallbackSource {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close.take() {
            // SAFETY: the caller's function; called once, as `take` sees to.
            unsafe { close(self.context.get()) };
        }
    }
}

/// Opens a .zt file that the caller reads: from a network, an archive, a decryptor.
///
/// source: copied during the call; not NULL. Its context and functions are used until the last
/// zt_close, from any thread that uses the file, also several at once. Its close function is called
/// once, also when this call fails.
/// options: NULL for the defaults; mode and advice do not matter. file, statuses: as zt_open, and
/// whatever status a function of source gives.
/// Threads: any. Since 0.9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_source(
    source: *const zt_source,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, || {
        // SAFETY: source of the size it says.
        let source = CallbackSource::new(unsafe { arg::required_struct(source)? })?;
        // SAFETY: options NULL or of the size it says.
        let options = unsafe { arg::options(options)? };
        let wanted = open_options(&options)?;
        let label = try_format(format_args!("{}", wanted.name.as_deref().unwrap_or("the caller's source")))?;
        verified(File::from_source(boxed(source)?, &wanted, label)?, &options)
    })
}
