//! A sink for written files that calls the caller's functions.

use crate::capi::arg;
use crate::capi::guard::{deliver, guard};
use crate::capi::opening::progress::outcome;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::writing::options::{self, zt_write_options};
use crate::capi::writing::running_sink::while_running;
use crate::capi::writing::writer::{handle, zt_writer};
use crate::error::{fail, Result};
use crate::memory::try_box;
use crate::sink::ByteSink;
use crate::writer::Writer;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

/// Your functions that receive a written file, front to back. The thread that uses the writer calls them.
/// Statuses as for zt_source.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_sink {
    /// sizeof(zt_sink)
    pub struct_size: usize,
    /// Passed to every function.
    pub context: *mut c_void,
    /// Takes the next size bytes completely, or fails; after a failure nothing more is written. Not NULL.
    pub write:
        Option<unsafe extern "C" fn(context: *mut c_void, data: *const c_void, size: usize) -> zt_status>,
    /// Called when everything was written; zt_write_finish returns its status. Not called after a failure or
    /// an abort. May be NULL.
    pub finish: Option<unsafe extern "C" fn(context: *mut c_void) -> zt_status>,
    /// Called once, last; may be NULL.
    pub close: Option<unsafe extern "C" fn(context: *mut c_void)>,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_sink: context, write, finish, close);

/// [`zt_sink`] as a [`ByteSink`]. Dropping it calls `close`.
pub(in crate::capi) struct CallbackSink {
    functions: zt_sink,
    /// Identifies this sink, for `is_running`; no other sink has this number.
    id: u64,
}

// SAFETY: one thread at a time uses a writer; the context moves with it.
unsafe impl Send for CallbackSink {}

impl CallbackSink {
    /// Takes ownership of the functions: `close` will be called from here on.
    pub(in crate::capi) fn new(functions: zt_sink) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let sink = CallbackSink { functions, id: NEXT.fetch_add(1, Ordering::Relaxed) };
        if functions.write.is_none() {
            return Err(fail!(InvalidArgument, "zt_sink.write is NULL"));
        }
        Ok(sink)
    }
}

impl ByteSink for CallbackSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(write) = self.functions.write else { return Err(fail!(Internal, "no write")) };
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's function, called as declared; bytes has that many readable bytes.
        let call = || unsafe { write(self.functions.context, bytes.as_ptr().cast(), bytes.len()) };
        outcome(while_running(self.id, call), "zt_sink.write")
    }

    fn publish(&mut self) -> Result<()> {
        let Some(finish) = self.functions.finish else { return Ok(()) };
        // SAFETY: the caller's function, called as declared.
        outcome(while_running(self.id, || unsafe { finish(self.functions.context) }), "zt_sink.finish")
    }
}

impl Drop for CallbackSink {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close.take() {
            // SAFETY: the caller's function; `take` ensures that it is called once.
            unsafe { close(self.functions.context) };
        }
    }
}

/// Begins a file that goes to your functions, front to back, without seeking.
/// sink: copied. close is called once, also if this call fails, unless struct_size is refused. A function of
/// the sink that uses the writer gets ZT_ERROR_STATE. options: durable is ignored. writer, statuses: as for
/// zt_write_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_create_sink(
    sink: *const zt_sink,
    options: *const zt_write_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    if writer.is_none() {
        // SAFETY: sink has the size it gives.
        let _ = guard(|| unsafe { arg::required_struct(sink) }.and_then(CallbackSink::new).map(drop));
    }
    deliver(writer, "writer", || {
        // SAFETY: sink has the size it gives.
        let sink = CallbackSink::new(unsafe { arg::required_struct(sink)? })?;
        // SAFETY: options is NULL or has the size it gives.
        let options = unsafe { arg::options(options)? };
        let id = sink.id;
        handle(Writer::to_sink(try_box(sink)?, &options::writer_options(&options)?)?, id, &options)
    })
}
