//! Decodes frames: each at once, or piece by piece if the stored or decoded bytes are not all in memory.

use crate::codec::frame_format::{Decoded, FrameDecoder, StreamDecoder};
use crate::codec::frames::Header;
use crate::error::{broken, fail, Error, Result, Rule};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// `ZSTD_error_prefix_unknown`.
pub(super) const CODE_PREFIX: usize = 10;
/// `ZSTD_error_frameParameter_windowTooLarge`.
pub(super) const CODE_WINDOW: usize = 16;
/// `ZSTD_error_memory_allocation`.
pub(super) const CODE_MEMORY: usize = 64;
/// `ZSTD_error_dstSize_tooSmall`.
pub(super) const CODE_DST_TOO_SMALL: usize = 70;

#[cfg(test)]
thread_local! {
    /// How many this thread has made.
    pub static CREATED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A decoder's state. Its size is fixed.
pub(super) fn context() -> Result<DCtx<'static>> {
    #[cfg(test)]
    CREATED.set(CREATED.get() + 1);
    DCtx::try_create().ok_or_else(|| fail!(OutOfMemory, "could not allocate a zstd decoder"))
}

/// The number of an error in `zstd_errors.h`. libzstd returns it negated.
pub(super) fn code_number(code: usize) -> usize {
    code.wrapping_neg()
}

/// An error of libzstd; `about` says where it happened.
#[cold]
pub(super) fn decoder_error(code: usize, about: std::fmt::Arguments<'_>) -> Error {
    let name = zstd_safe::get_error_name(code);
    if code_number(code) == CODE_MEMORY {
        return fail!(OutOfMemory, "{about}: {name}");
    }
    broken!(Rule::ZstdCorrupt, "{about}: {name}")
}

/// An error of libzstd that can only be caused by a bug.
#[cold]
pub(super) fn internal(code: usize) -> Error {
    fail!(Internal, "zstd: {}", zstd_safe::get_error_name(code))
}

/// libzstd's state, reused for each frame. Back-references read from the decoded bytes, so no window is
/// allocated.
pub(crate) struct OneShotDecoder(DCtx<'static>);

impl FrameDecoder for OneShotDecoder {
    fn new() -> Result<Self> {
        context().map(OneShotDecoder)
    }

    fn decode(&mut self, frame: &[u8], header: &Header, out: &mut [u8]) -> Result<Decoded> {
        match self.0.decompress(out, frame) {
            Ok(size) => Ok(Decoded::Size(size)),
            Err(code) if code_number(code) == CODE_DST_TOO_SMALL => Ok(Decoded::TooLarge),
            Err(code) => {
                let at = header.stored.start;
                Err(decoder_error(code, format_args!("zstd frame at byte {at} of the stored bytes")))
            }
        }
    }
}

/// The largest window that is kept: 128 MiB, which is what zstd decoders support by default.
pub(super) const WINDOW_LOG: u32 = 27;

/// Decodes frames from pieces of the stored bytes, in order.
pub(crate) struct PiecewiseDecoder {
    /// libzstd's state. It allocates the window or the content of a frame, whichever is smaller.
    context: DCtx<'static>,
    /// How many stored bytes were consumed.
    consumed: u64,
    /// How many frames have ended.
    frames: u64,
    /// Whether the last consumed byte was the last byte of a frame.
    finished: bool,
}

impl StreamDecoder for PiecewiseDecoder {
    fn new() -> Result<Self> {
        let mut context = context()?;
        context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).map_err(internal)?;
        Ok(PiecewiseDecoder { context, consumed: 0, frames: 0, finished: false })
    }

    fn decode(&mut self, input: &mut &[u8], out: &mut [u8]) -> Result<usize> {
        let mut written = 0;
        // At the end of a frame all bytes were returned. Another call would begin a frame that does not
        // exist.
        while written < out.len() && !(input.is_empty() && (self.finished || self.consumed == 0)) {
            let mut from = InBuffer::around(input);
            let mut to = OutBuffer::around_pos(&mut *out, written);
            let result = self.context.decompress_stream(&mut to, &mut from);
            let (taken, now) = (from.pos(), to.pos());
            let result = match result {
                Ok(result) => result,
                Err(code) => {
                    let error = self.error(code, taken);
                    self.finished = false; // the stored bytes must not end here
                    return Err(error);
                }
            };
            self.finished = result == 0;
            self.frames = self.frames.saturating_add(u64::from(self.finished));
            self.consumed = self.consumed.saturating_add(taken as u64);
            *input = input.get(taken..).unwrap_or_default();
            let idle = taken == 0 && now == written;
            written = now;
            if input.is_empty() || idle {
                break; // `out` has space left, so all decoded bytes were written
            }
        }
        Ok(written)
    }

    fn check_end(&self) -> Result<()> {
        match (self.finished, self.consumed) {
            (true, _) => Ok(()),
            (false, 0) => Err(broken!(
                Rule::ZstdCorrupt,
                "it has no stored bytes; even empty zstd data needs one frame"
            )),
            (false, consumed) => {
                Err(broken!(Rule::ZstdCorrupt, "the stored bytes end within a zstd frame, at {consumed}"))
            }
        }
    }
}

impl PiecewiseDecoder {
    #[cfg(test)]
    /// Whether exactly one frame was decoded, to its end. The stored bytes may end there.
    pub(crate) fn finished_frame(&self) -> bool {
        self.finished
    }

    /// The error for an error code of libzstd.
    #[cold]
    fn error(&self, code: usize, taken: usize) -> crate::error::Error {
        let at = self.consumed.saturating_add(taken as u64);
        match code_number(code) {
            CODE_PREFIX if self.finished && self.frames > 0 => {
                broken!(Rule::ZstdTrailing, "the stored bytes from {} on are not a zstd frame", self.consumed)
            }
            CODE_WINDOW => fail!(
                Unsupported,
                "a zstd frame before byte {at} of the stored bytes has a window over 2^{WINDOW_LOG} bytes"
            ),
            _ => decoder_error(code, format_args!("zstd data near byte {at} of the stored bytes")),
        }
    }
}
