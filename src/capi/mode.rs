//! How a file's bytes are reached, and what will be done with them.

use super::types::unknown;
use crate::error::Result;
use crate::source::Advice;

/// How the file's bytes are reached: one of the ZT_MODE_ values.
pub type zt_mode = i32;

/// The values of zt_mode.
#[repr(C)]
pub enum zt_mode_value {
    /// The file is mapped and bytes can be lent. If somebody cuts the file short while it is open,
    /// touching the lost pages raises SIGBUS in the toucher; if somebody writes to it, the bytes change, and no call can
    /// detect that: ZT_MODE_READ does.
    ZT_MODE_MAP = 0,
    /// Positioned reads only, never a mapping. A call fails with ZT_ERROR_IO if the file was cut short, or if its size or
    /// modification time, compared after reading, was changed. A .zt file that only grew by an append stays readable.
    ZT_MODE_READ = 1,
    /// As ZT_MODE_MAP, but as ZT_MODE_READ where the file is on a network file system or one that a program serves
    /// (NFS, SMB, FUSE, 9p, Ceph, Lustre and others; known on Linux and macOS), where the system refuses the mapping,
    /// and where the file does not fit the process's address space. zt_file_mode tells which it is.
    ZT_MODE_AUTO = 2,
    /// As ZT_MODE_MAP, and the caller may write, const cast away, to what is lent (zt_component_ptr, zt_file_bytes,
    /// views, zt_component_load, DLPack): a page that is written to becomes this file handle's own copy, in memory;
    /// neither the file on disk nor anybody else sees it. All that the handle lends shows the change. What copies or
    /// checks (zt_component_read, ranges, slices, batches, conversions, verification, zt_write_copy) sees the file's
    /// bytes. The library writes nothing there. Two threads at the same bytes are the caller's to keep apart.
    ZT_MODE_PRIVATE = 3,
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
    /// Needed next: starts reading and returns at once.
    ZT_ADVICE_WILLNEED = 3,
    /// Now: returns when the bytes are in memory (where the system can; else as WILLNEED).
    ZT_ADVICE_POPULATE = 4,
    /// Not needed soon by any process: as ZT_ADVICE_RELEASE where the file is mapped, and the page cache gives the pages
    /// back, too, unless another process has them mapped or they were not written yet. Linux only.
    ZT_ADVICE_EVICT = 6,
    /// Not needed soon by this process: it gives back its pages of the mapping, which are mapped anew when they are
    /// touched. The page cache keeps them. Of a mapping only, and not in ZT_MODE_PRIVATE: it would undo changes.
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
