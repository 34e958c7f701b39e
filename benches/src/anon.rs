//! Anonymous memory.

pub const PAGE: usize = 4096;

/// Anonymous page-aligned memory, touched once so that later writes do not fault.
pub struct Anon {
    ptr: *mut u8,
    len: usize,
}

unsafe impl Send for Anon {}
unsafe impl Sync for Anon {}

impl Anon {
    pub fn new(len: usize, huge: bool) -> Anon {
        let buf = Anon::untouched(len, huge);
        for i in (0..buf.len).step_by(PAGE) {
            unsafe { buf.ptr.add(i).write_volatile(0) };
        }
        buf
    }
    /// Memory that is not touched yet.
    pub fn untouched(len: usize, huge: bool) -> Anon {
        let cap = len.next_multiple_of(2 << 20).max(2 << 20);
        let ptr = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                cap,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert!(ptr != libc::MAP_FAILED, "mmap of {cap} bytes failed");
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        unsafe { libc::madvise(ptr, cap, advice) };
        Anon { ptr: ptr.cast(), len: cap }
    }
    pub fn slice(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
    pub fn slice_mut(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.len) }
    }
}

impl Drop for Anon {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.ptr.cast(), self.len) };
    }
}
