//! How a file's bytes are reached, and what will be done with them.

use super::types::unknown;
use crate::error::Result;
use crate::source::Advice;

/// How the file's bytes are reached.
pub type zt_mode = i32;

/// The values of zt_mode.
#[repr(C)]
pub enum zt_mode_value {
    /// Map the file; bytes can be borrowed. If another program truncates the file, touching a lost page
    /// raises SIGBUS. If it writes to the file, the bytes change and no call detects it.
    ZT_MODE_MAP = 0,
    /// Read the file, never map it. A read returns ZT_ERROR_IO if the file was truncated, or if its size or
    /// modification time changed. A .zt file that only grew by an append stays readable.
    ZT_MODE_READ = 1,
    /// ZT_MODE_MAP, but ZT_MODE_READ if the file is on a network or user-space file system, if the system
    /// refuses the mapping, or if the address space is too small. zt_file_mode tells which.
    ZT_MODE_AUTO = 2,
    /// ZT_MODE_MAP, but the caller may write to borrowed bytes after casting away const. Pages that are
    /// written become private copies of this handle; the file does not change. Borrowed pointers show the
    /// changes. Calls that copy or check (reads, verification, zt_write_copy) see the file's bytes.
    ZT_MODE_PRIVATE = 3,
}

/// A hint what will be done with bytes.
pub type zt_advice = u32;

/// The values of zt_advice.
#[repr(C)]
pub enum zt_advice_value {
    /// No hint.
    ZT_ADVICE_NONE = 0,
    /// Bytes will be read front to back.
    ZT_ADVICE_SEQUENTIAL = 1,
    /// Start reading the bytes and return at once.
    ZT_ADVICE_WILLNEED = 3,
    /// Read the bytes into memory before returning, where the system can.
    ZT_ADVICE_POPULATE = 4,
    /// No process needs the bytes soon: as ZT_ADVICE_RELEASE, and the page cache drops them, unless another
    /// process maps them or they are not written yet. Linux only.
    ZT_ADVICE_EVICT = 6,
    /// This process does not need the bytes soon: it gives back its mapped pages; the page cache keeps them.
    ZT_ADVICE_RELEASE = 7,
}

pub(super) fn mode(value: zt_mode) -> Result<crate::reader::Mode> {
    match value {
        0 => Ok(crate::reader::Mode::Map),
        1 => Ok(crate::reader::Mode::Read),
        2 => Ok(crate::reader::Mode::Auto),
        3 => Ok(crate::reader::Mode::Private),
        other => Err(unknown("zt_mode", other)),
    }
}

pub(super) fn advice(value: zt_advice) -> Result<Advice> {
    match value {
        0 => Ok(Advice::Normal),
        1 => Ok(Advice::Sequential),
        3 => Ok(Advice::WillNeed),
        4 => Ok(Advice::Populate),
        6 => Ok(Advice::Evict),
        7 => Ok(Advice::Release),
        other => Err(unknown("zt_advice", other)),
    }
}

pub(super) fn mode_number(mode: crate::reader::Mode) -> zt_mode {
    use crate::reader::Mode;
    let value = match mode {
        Mode::Map => zt_mode_value::ZT_MODE_MAP,
        Mode::Read => zt_mode_value::ZT_MODE_READ,
        Mode::Auto => zt_mode_value::ZT_MODE_AUTO,
        Mode::Private => zt_mode_value::ZT_MODE_PRIVATE,
    };
    value as zt_mode
}
