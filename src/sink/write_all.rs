//! Writes all of some bytes, with one call if the system accepts that, and without a signal if it does not.
//!
//! If the size of a process's files is limited (RLIMIT_FSIZE, `ulimit -f`), the system sends a signal when a
//! file would exceed it, and the signal kills the process by default. A library's write must fail instead.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, IoSlice, Write};

/// Writes `front`, then `rest`. Continues after interruptions and short writes.
pub(super) fn write_all(mut file: &File, mut front: &[u8], mut rest: &[u8]) -> Result<()> {
    let all = front.len().saturating_add(rest.len());
    let _quiet = WithoutFileSizeSignal::new();
    while !front.is_empty() || !rest.is_empty() {
        let written = match (front, rest) {
            (one, []) | ([], one) => file.write(one),
            (front, rest) => file.write_vectored(&[IoSlice::new(front), IoSlice::new(rest)]),
        };
        match written {
            Ok(0) => return Err(could_not_write(all, &ErrorKind::WriteZero.into())),
            Ok(n) => {
                let of_rest = n.saturating_sub(front.len());
                front = front.get(n..).unwrap_or_default();
                rest = rest.get(of_rest..).unwrap_or_default();
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(could_not_write(all, &e)),
        }
    }
    Ok(())
}

pub(super) fn could_not_write(all: usize, error: &std::io::Error) -> Error {
    Error::io("", error).within(format_args!("could not write {all} bytes"))
}

/// While this exists, a write or truncation on this thread that exceeds the limit only fails with EFBIG.
pub struct WithoutFileSizeSignal {
    #[cfg(unix)]
    before: Option<libc::sigset_t>,
}

#[cfg(not(unix))]
impl WithoutFileSizeSignal {
    /// There is no such signal on this system.
    pub fn new() -> Self {
        WithoutFileSizeSignal {}
    }
}

#[cfg(unix)]
impl WithoutFileSizeSignal {
    /// Blocks the signal for this thread, unless it is blocked already.
    pub fn new() -> Self {
        // SAFETY: calls with local sets of signals; all zeros are valid before a set is filled.
        unsafe {
            let mut before: libc::sigset_t = std::mem::zeroed();
            let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, &file_size_signal(), &mut before) == 0
                && libc::sigismember(&before, libc::SIGXFSZ) == 0;
            WithoutFileSizeSignal { before: blocked.then_some(before) }
        }
    }
}

#[cfg(unix)]
fn file_size_signal() -> libc::sigset_t {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGXFSZ);
        set
    }
}

#[cfg(unix)]
impl Drop for WithoutFileSizeSignal {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        // SAFETY: as above. The signal was sent to this thread; accepting it here removes it.
        unsafe {
            let mut pending: libc::sigset_t = std::mem::zeroed();
            libc::sigpending(&mut pending);
            if libc::sigismember(&pending, libc::SIGXFSZ) == 1 {
                let mut signal = 0;
                libc::sigwait(&file_size_signal(), &mut signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut());
        }
    }
}
