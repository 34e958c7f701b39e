//! The system's own page.

/// Bytes of a page.
#[cfg(unix)]
pub fn page_size() -> usize {
    // SAFETY: a query without arguments in memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|s| s.is_power_of_two()).unwrap_or(4096)
}

/// Bytes of a page.
#[cfg(not(unix))]
pub fn page_size() -> usize {
    4096
}
