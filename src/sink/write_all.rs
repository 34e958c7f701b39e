//! All of some bytes in one write, if the system takes them so, and no signal where it does not.
//!
//! A process whose files may only grow so far (RLIMIT_FSIZE, `ulimit -f`) is sent a signal when one would
//! grow further, which kills it by default. A library's write must fail instead.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, IoSlice, Write};

/// The bytes of `front`, then those of `rest`; interruptions and short counts are taken up again.
pub(super) fn write_all(mut file: &File, mut front: &[u8], mut rest: &[u8]) -> Result<()> {
    let all = front.len().saturating_add(rest.len());
    let failed =
        |error: &std::io::Error| Error::io("", error).within(format_args!("could not write {all} bytes"));
    let _quiet = WithoutFileSizeSignal::new();
    while !front.is_empty() || !rest.is_empty() {
        let written = match (front, rest) {
            (one, []) | ([], one) => file.write(one),
            (front, rest) => file.write_vectored(&[IoSlice::new(front), IoSlice::new(rest)]),
        };
        match written {
            Ok(0) => return Err(failed(&ErrorKind::WriteZero.into())),
            Ok(n) => {
                let of_rest = n.saturating_sub(front.len());
                front = front.get(n..).unwrap_or_default();
                rest = rest.get(of_rest..).unwrap_or_default();
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(&e)),
        }
    }
    Ok(())
}

/// While it lives, a write or a truncation of this thread past the limit is EFBIG and nothing else.
pub struct WithoutFileSizeSignal {
    #[cfg(unix)]
    before: Option<libc::sigset_t>,
}

#[cfg(not(unix))]
impl WithoutFileSizeSignal {
    /// No such signal here.
    pub fn new() -> Self {
        WithoutFileSizeSignal {}
    }
}

#[cfg(unix)]
impl WithoutFileSizeSignal {
    /// Blocks the signal for this thread, unless the host has done so.
    pub fn new() -> Self {
        // SAFETY: plain calls on sets of signals that live here; an all-zero set is a valid one to fill.
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
        // SAFETY: as above. The signal is sent to the thread that writes: taken here, it is gone.
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
