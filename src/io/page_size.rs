//! The system's own page.

/// Bytes of a page: a power of two. Nobody else asks the system.
pub fn page_size() -> usize {
    #[cfg(test)]
    if let Some(pretended) = pretend::SIZE.get() {
        return pretended;
    }
    system()
}

#[cfg(unix)]
fn system() -> usize {
    // SAFETY: a query without arguments in memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|s| s.is_power_of_two()).unwrap_or(4096)
}

#[cfg(windows)]
fn system() -> usize {
    use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};
    let mut info = SYSTEM_INFO::default();
    // SAFETY: it fills the struct, and cannot fail.
    unsafe { GetSystemInfo(&raw mut info) };
    usize::try_from(info.dwPageSize).ok().filter(|s| s.is_power_of_two()).unwrap_or(4096)
}

#[cfg(not(any(unix, windows)))]
fn system() -> usize {
    4096
}

/// Pages of other sizes than this machine's.
#[cfg(test)]
pub mod pretend {
    use std::cell::Cell;

    thread_local! {
        pub(super) static SIZE: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// The sizes that processors have.
    pub const SIZES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];

    /// Runs `test` with pages of each size, on this thread.
    pub fn each_size(test: impl Fn(usize)) {
        for size in SIZES {
            SIZE.set(Some(size));
            test(size);
        }
        SIZE.set(None);
    }
}
