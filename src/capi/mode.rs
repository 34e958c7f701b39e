//! How a file's bytes are reached, and what will be done with them.

use super::types::unknown;
use crate::error::Result;
use crate::io::Advice;

/// How the file's bytes are reached: one of the ZT_MODE_ values.
pub type zt_mode = i32;

/// The values of zt_mode.
#[repr(C)]
pub enum zt_mode_value {
    /// The file is mapped and bytes can be lent. If somebody cuts the file short while it is open,
    /// touching the lost pages raises SIGBUS in the toucher; if somebody writes to it, the bytes change.
    ZT_MODE_MAP = 0,
    /// Positioned reads only, never a mapping: a file cut short while it is open is ZT_ERROR_IO.
    ZT_MODE_READ = 1,
}

/// What will be done with bytes: one of the ZT_ADVICE_ values.
pub type zt_advice = u32;

/// The values of zt_advice.
#[repr(C)]
pub enum zt_advice_value {
    /// Nothing is known.
    ZT_ADVICE_NONE = 0,
    /// Front to back.
    ZT_ADVICE_SEQUENTIAL = 1,
    /// Here and there.
    ZT_ADVICE_RANDOM = 2,
    /// Soon: starts reading and returns at once.
    ZT_ADVICE_WILLNEED = 3,
    /// Now: returns when the bytes are in memory (where the system can; else as WILLNEED).
    ZT_ADVICE_POPULATE = 4,
    /// Locks the whole mapping in memory, within the process's limit on locked memory.
    ZT_ADVICE_LOCK = 5,
    /// Not again: the pages may be dropped from memory. Their content is read anew when it is touched.
    ZT_ADVICE_DONTNEED = 6,
}

pub(super) fn mode(value: zt_mode) -> Result<crate::reader::Mode> {
    match value {
        0 => Ok(crate::reader::Mode::Map),
        1 => Ok(crate::reader::Mode::Read),
        other => Err(unknown("zt_mode", other)),
    }
}

pub(super) fn advice(value: zt_advice) -> Result<Advice> {
    match value {
        0 => Ok(Advice::Normal),
        1 => Ok(Advice::Sequential),
        2 => Ok(Advice::Random),
        3 => Ok(Advice::WillNeed),
        4 => Ok(Advice::Populate),
        5 => Ok(Advice::Lock),
        6 => Ok(Advice::DontNeed),
        other => Err(unknown("zt_advice", other)),
    }
}
