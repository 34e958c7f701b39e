//! The caller's functions as a source, a sink, and a report of progress.

use super::arg::SizedStruct;
use super::status::{value, zt_status, NAMES};
use crate::error::{fail, Cause, Error, Result};
use crate::io::{ByteSink, ByteSource};
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Tells the bytes of the file. Called once. Not NULL.
    pub size: Option<unsafe extern "C" fn(context: *mut c_void, size: *mut u64) -> zt_status>,
    /// Fills dst with n bytes from offset on: all of them, or a failure. Not NULL.
    pub read_at: Option<
        unsafe extern "C" fn(context: *mut c_void, offset: u64, dst: *mut c_void, n: usize) -> zt_status,
    >,
    /// The file is done with the source. Called once, last; may be NULL.
    pub close: Option<unsafe extern "C" fn(context: *mut c_void)>,
}

// SAFETY: repr(C), begins with its size, pointers and optional functions, all of which may be zero.
unsafe impl SizedStruct for zt_source {
    const NAME: &'static str = "zt_source";
    const SIZE: usize = offset_of!(zt_source, close) + size_of::<usize>();
}

/// Where the bytes of a written file go: the caller's functions, called with context from the thread
/// that uses the writer, front to back. They return ZT_OK or the status that the failing call shall
/// return; one that is no ZT_ERROR_ value becomes ZT_ERROR_IO.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_sink {
    /// sizeof (zt_sink)
    pub struct_size: usize,
    /// Passed to every function; may be NULL.
    pub context: *mut c_void,
    /// Takes the next n bytes: all of them, or a failure, after which nothing more is written. Not NULL.
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, data: *const c_void, n: usize) -> zt_status>,
    /// Everything was written; what it returns zt_writer_finish returns. Not called after a failure or
    /// an abort; may be NULL.
    pub finish: Option<unsafe extern "C" fn(context: *mut c_void) -> zt_status>,
    /// The writer is done with the sink. Called once, last; may be NULL.
    pub close: Option<unsafe extern "C" fn(context: *mut c_void)>,
}

// SAFETY: as for zt_source.
unsafe impl SizedStruct for zt_sink {
    const NAME: &'static str = "zt_sink";
    const SIZE: usize = offset_of!(zt_sink, close) + size_of::<usize>();
}

/// Told about progress: done of total bytes. Returns 0 to go on, anything else to stop with
/// ZT_ERROR_CANCELLED. Called from one thread at a time, not necessarily the caller's.
pub type zt_progress_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64) -> i32>;

/// A context pointer that the caller allows to be used from any thread.
#[derive(Clone, Copy)]
pub(super) struct Context(pub *mut c_void);

// SAFETY: "called with context, from any thread"; this type never looks behind the pointer.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn get(self) -> *mut c_void {
        self.0
    }
}

/// What a callback returned, as a result.
fn outcome(status: zt_status, doing: &str) -> Result<()> {
    if status == value::ZT_OK as zt_status {
        return Ok(());
    }
    let known: [(value, Cause); 8] = [
        (value::ZT_ERROR_INVALID_ARGUMENT, Cause::InvalidArgument),
        (value::ZT_ERROR_NOT_FOUND, Cause::NotFound),
        (value::ZT_ERROR_CANCELLED, Cause::Cancelled),
        (value::ZT_ERROR_OUT_OF_MEMORY, Cause::OutOfMemory),
        (value::ZT_ERROR_UNSUPPORTED, Cause::Unsupported),
        (value::ZT_ERROR_LIMIT, Cause::Limit),
        (value::ZT_ERROR_EXISTS, Cause::Exists),
        (value::ZT_ERROR_STATE, Cause::State),
    ];
    let found = known.into_iter().find(|(v, _)| status == *v as zt_status);
    let cause = match found {
        Some((_, cause)) => cause,
        // What these mean of a file is not for a callback to say, so they are carried through as they are.
        None if (0..NAMES.len() as zt_status).contains(&status)
            && status != value::ZT_ERROR_IO as zt_status =>
        {
            Cause::Caller(status)
        }
        None => Cause::Io,
    };
    Err(Error::new(cause, format_args!("the caller's {doing} returned status {status}")))
}

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

/// [`zt_sink`] as a [`ByteSink`]. Dropping it calls `close`.
pub(super) struct CallbackSink {
    functions: zt_sink,
    /// What tells it from all others.
    id: u64,
}

/// A sink whose function runs on this thread right now, and the one around it.
struct Running {
    sink: u64,
    outer: *const Running,
}

thread_local! {
    static RUNNING: Cell<*const Running> = const { Cell::new(null()) };
}

/// Whether a function of that sink is under way on this thread: then its writer must not be used.
pub(super) fn is_running(sink: u64) -> bool {
    let mut place = RUNNING.with(Cell::get);
    // SAFETY: each stands on this thread's stack, below us, for as long as its function runs.
    while let Some(running) = unsafe { place.as_ref() } {
        if running.sink == sink {
            return true;
        }
        place = running.outer;
    }
    false
}

// SAFETY: a writer belongs to one thread at a time; the context moves with it.
unsafe impl Send for CallbackSink {}

impl CallbackSink {
    /// Takes the functions over: from here on `close` will be called.
    pub(super) fn new(functions: zt_sink) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let sink = CallbackSink { functions, id: NEXT.fetch_add(1, Ordering::Relaxed) };
        if functions.write.is_none() {
            return Err(fail!(InvalidArgument, "zt_sink.write is NULL"));
        }
        Ok(sink)
    }

    /// What [`is_running`] knows it by.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Calls one of its functions.
    fn run<T>(&self, function: impl FnOnce() -> T) -> T {
        RUNNING.with(|top| {
            let this = Running { sink: self.id, outer: top.get() };
            top.set(&raw const this);
            let outcome = function();
            top.set(this.outer);
            outcome
        })
    }
}

impl ByteSink for CallbackSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(write) = self.functions.write else { return Err(fail!(Internal, "no write")) };
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's function; bytes has that many readable bytes.
        let call = || unsafe { write(self.functions.context, bytes.as_ptr().cast(), bytes.len()) };
        let status = self.run(call);
        outcome(status, "zt_sink.write")
    }

    fn publish(&mut self) -> Result<()> {
        let Some(finish) = self.functions.finish else { return Ok(()) };
        // SAFETY: the caller's function, called as its declaration says.
        outcome(self.run(|| unsafe { finish(self.functions.context) }), "zt_sink.finish")
    }
}

impl Drop for CallbackSink {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close.take() {
            // SAFETY: the caller's function; called once, as `take` sees to.
            unsafe { close(self.functions.context) };
        }
    }
}

/// A progress callback as a question: go on?
pub(super) fn progress(
    callback: zt_progress_callback,
    context: *mut c_void,
) -> impl Fn(u64, u64) -> bool + Send + Sync {
    let context = Context(context);
    move |done, total| match callback {
        None => true,
        // SAFETY: the caller's function, called as its declaration says.
        Some(callback) => (unsafe { callback(context.get(), done, total) }) == 0,
    }
}
