//! A process whose files may only grow so far (RLIMIT_FSIZE, `ulimit -f`) is sent a signal when one would
//! grow further, which kills it by default. A library's write must fail instead.

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
