//! The decoder's state, and what libzstd says.

use crate::codec::frames::Header;
use crate::error::{broken, fail, Error, Result, Rule};
use zstd_safe::DCtx;

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
    /// How many this thread has asked for.
    pub static CREATED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A decoder's state, which is of a fixed size.
pub(super) fn context() -> Result<DCtx<'static>> {
    #[cfg(test)]
    CREATED.set(CREATED.get() + 1);
    DCtx::try_create().ok_or_else(|| fail!(OutOfMemory, "could not allocate a zstd decoder"))
}

/// The number of an error in `zstd_errors.h`; libzstd returns it negated.
pub(super) fn code_number(code: usize) -> usize {
    code.wrapping_neg()
}

/// What libzstd says of one frame.
#[cold]
pub(super) fn frame_error(code: usize, header: &Header) -> Error {
    decoder_error(code, format_args!("zstd frame at byte {} of the stored bytes", header.stored.start))
}

/// What libzstd says, with what it was about.
#[cold]
pub(super) fn decoder_error(code: usize, about: std::fmt::Arguments<'_>) -> Error {
    let name = zstd_safe::get_error_name(code);
    if code_number(code) == CODE_MEMORY {
        return fail!(OutOfMemory, "{about}: {name}");
    }
    broken!(Rule::ZstdCorrupt, "{about}: {name}")
}

/// libzstd refuses what it never should.
#[cold]
pub(super) fn internal(code: usize) -> Error {
    fail!(Internal, "zstd: {}", zstd_safe::get_error_name(code))
}
