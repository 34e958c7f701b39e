//! Kernel and memory: buffers, page-cache control, parallel reads and writes. These are the physical limits
//! for the peers.

use crate::anon::{Anon, PAGE};
use crate::outcome::not_measured;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many times a file is read into memory or evicted before its row is given up.
const TRIES: u32 = 5;

/// Memory for the benchmark's own buffers: like `Anon`, from the kept memory.
pub struct Buf(Anon);

impl Buf {
    pub fn new(len: usize, huge: bool) -> Buf {
        crate::balloon::make_free(len);
        Buf(Anon::new(len, huge))
    }
    pub fn slice(&self) -> &[u8] {
        self.0.slice()
    }
    pub fn slice_mut(&mut self) -> &mut [u8] {
        self.0.slice_mut()
    }
}

/// A pointer that threads may share, because each writes separate ranges.
#[derive(Clone, Copy)]
pub struct Shared(*mut u8);
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Shared {
    pub fn new(s: &mut [u8]) -> Shared {
        Shared(s.as_mut_ptr())
    }
    /// # Safety
    /// The range must be inside the slice, which must outlive the result, and only one thread at a time may
    /// use it.
    pub unsafe fn range<'a>(self, at: usize, len: usize) -> &'a mut [u8] {
        std::slice::from_raw_parts_mut(self.0.add(at), len)
    }
}

/// The CPUs that this thread may use.
fn affinity(set: Option<libc::cpu_set_t>) -> libc::cpu_set_t {
    unsafe {
        let mut now: libc::cpu_set_t = std::mem::zeroed();
        let size = std::mem::size_of_val(&now);
        libc::sched_getaffinity(0, size, &mut now);
        if let Some(s) = set {
            libc::sched_setaffinity(0, size, &s);
        }
        now
    }
}

/// Runs `f` on `n` threads. If there are enough CPUs, each is pinned to a different one. Some hosts'
/// schedulers put new threads on one virtual CPU, which hides the speed of two cores for a second.
pub fn threads(n: usize, f: impl Fn() + Sync) {
    if n <= 1 {
        return f();
    }
    struct Restored(libc::cpu_set_t); // restores them even if `f` panics
    impl Drop for Restored {
        fn drop(&mut self) {
            affinity(Some(self.0));
        }
    }
    let allowed = affinity(None);
    let _restored = Restored(allowed);
    let cpus: Vec<usize> = (0..1024).filter(|&c| unsafe { libc::CPU_ISSET(c, &allowed) }).collect();
    let pinned = |k: usize| {
        let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        unsafe { libc::CPU_SET(cpus[k % cpus.len()], &mut one) };
        affinity(Some(one));
        f();
    };
    std::thread::scope(|s| {
        for k in 1..n {
            let pinned = &pinned;
            s.spawn(move || pinned(k));
        }
        pinned(0);
    });
}

/// Returns 0, step, 2 step, … below `end`, on any thread.
pub struct Next {
    at: AtomicUsize,
    step: usize,
    end: usize,
}

impl Next {
    pub fn new(end: usize, step: usize) -> Next {
        Next { at: AtomicUsize::new(0), step, end }
    }
    pub fn take(&self) -> Option<usize> {
        let at = self.at.fetch_add(self.step, Ordering::Relaxed);
        (at < self.end).then_some(at)
    }
}

/// Calls `f(offset, len)` for every block of `total`, from `n` threads.
pub fn blocks(total: usize, block: usize, n: usize, f: impl Fn(usize, usize) + Sync) {
    let next = Next::new(total, block);
    threads(n, || {
        while let Some(at) = next.take() {
            f(at, block.min(total - at));
        }
    });
}

pub fn open_read(path: &Path, direct: bool) -> File {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    opened(OpenOptions::new().read(true).custom_flags(flags).open(path), path, direct)
}

/// A file system without O_DIRECT is not a failure.
fn opened(file: std::io::Result<File>, path: &Path, direct: bool) -> File {
    match file {
        Err(e) if direct && e.raw_os_error() == Some(libc::EINVAL) => {
            not_measured("the file system does not support O_DIRECT")
        }
        file => file.unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    }
}

/// Reads `len` bytes of the file into `dst`, which is page-aligned and large enough to round up the last
/// block.
pub fn read_parallel(path: &Path, dst: &mut [u8], len: usize, threads: usize, block: usize, direct: bool) {
    let file = open_read(path, direct);
    let out = Shared::new(dst);
    blocks(len, block, threads, |at, n| {
        let want = if direct { n.next_multiple_of(PAGE) } else { n };
        let buf = unsafe { out.range(at, want) };
        let mut got = 0;
        while got < n {
            let r = file.read_at(&mut buf[got..], (at + got) as u64).expect("read");
            assert!(r > 0, "unexpected end of file");
            got += r;
        }
    });
}

/// Reads with O_DIRECT like `read_parallel`. Each thread reads into a huge page, and copies from there to
/// `dst`.
pub fn read_and_copy(path: &Path, dst: &mut [u8], len: usize, n: usize) {
    const BLOCK: usize = 2 << 20;
    let file = open_read(path, true);
    let (out, next) = (Shared::new(dst), Next::new(len, BLOCK));
    threads(n, || {
        let mut page = Anon::untouched(BLOCK, true);
        while let Some(at) = next.take() {
            let size = BLOCK.min(len - at);
            let mut got = 0;
            while got < size {
                let r = file.read_at(&mut page.slice_mut()[got..], (at + got) as u64).expect("read");
                assert!(r > 0, "unexpected end of file");
                got += r;
            }
            unsafe { out.range(at, size) }.copy_from_slice(&page.slice()[..size]);
        }
    });
}

/// Reads sequentially through the page cache into a small reused buffer. Afterwards the file is cached in the
/// same way, whoever wrote it.
pub fn warm(path: &Path) {
    let file = open_read(path, false);
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_SEQUENTIAL) };
    let mut buf = vec![0u8; 8 << 20];
    let mut at = 0;
    loop {
        match file.read_at(&mut buf, at).expect("read") {
            0 => break,
            n => at += n as u64,
        }
    }
}

/// The pages of the file in the page cache, by mincore(2), and all its pages.
pub fn resident(path: &Path) -> (usize, usize) {
    let file = open_read(path, false);
    let map = unsafe { memmap2::Mmap::map(&file).expect("mmap") };
    let pages = map.len().div_ceil(PAGE);
    let mut vec = vec![0u8; pages];
    let rc = unsafe { libc::mincore(map.as_ptr() as *mut _, map.len(), vec.as_mut_ptr()) };
    assert_eq!(rc, 0, "mincore");
    (vec.iter().filter(|&&b| b & 1 == 1).count(), pages)
}

/// Reads all of the file into the page cache. A machine with little memory evicts pages again. A few pages
/// may be reported as absent although they are present: parts of large ones that a write filled.
pub fn warm_whole(path: &Path) {
    let (mut there, mut pages) = (0, 0);
    for _ in 0..TRIES {
        crate::balloon::make_free(pages * PAGE);
        warm(path);
        (there, pages) = resident(path);
        if there >= pages - pages / 100 {
            return;
        }
    }
    not_measured(format!("of {pages} pages of the file {there} stay in memory after {TRIES} reads of all"));
}

/// Evicts all of the file from the page cache.
pub fn evict_whole(path: &Path) {
    let mut left = 0;
    for _ in 0..TRIES {
        left = evict(path);
        if left == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100)); // pages in I/O cannot be dropped
    }
    not_measured(format!("{left} pages of the file stay in memory after {TRIES} evictions"));
}

/// Drops the file from this machine's page cache. Returns the pages that stayed (0 on success). The file must
/// be clean, so it is synced first.
pub fn evict(path: &Path) -> usize {
    let file = open_read(path, false);
    file.sync_all().expect("fsync");
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    let mut left = resident(path).0;
    if left > 0 && std::fs::write("/proc/sys/vm/drop_caches", "1").is_ok() {
        left = resident(path).0;
    }
    left
}

/// A value in KiB from /proc/self/status, such as VmHWM or RssAnon.
pub fn status_kib(key: &str) -> u64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    s.lines()
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))
        .and_then(|v| v.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Adds up one byte of every page: maps all pages without copying.
pub fn touch(s: &[u8]) -> u64 {
    let mut sum = 0u64;
    for i in (0..s.len()).step_by(PAGE) {
        sum += unsafe { std::ptr::read_volatile(s.as_ptr().add(i)) } as u64;
    }
    sum
}

pub fn create(path: &Path, direct: bool) -> File {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(true).custom_flags(flags);
    opened(how.open(path), path, direct)
}

pub fn fallocate(f: &File, len: usize) {
    let rc = unsafe { libc::fallocate(f.as_raw_fd(), 0, 0, len as i64) };
    let error = std::io::Error::last_os_error();
    if rc != 0 && error.raw_os_error() == Some(libc::EOPNOTSUPP) {
        not_measured("the file system does not support fallocate");
    }
    assert_eq!(rc, 0, "fallocate: {error}");
}

/// Starts to write the range's dirty pages, without waiting.
pub fn start_writeback(f: &File, at: usize, len: usize) {
    unsafe { libc::sync_file_range(f.as_raw_fd(), at as i64, len as i64, libc::SYNC_FILE_RANGE_WRITE) };
}

/// The relevant CPU features, as the kernel reports them.
pub fn cpu() -> (String, Vec<&'static str>) {
    const WANT: [&str; 14] = [
        "sse4_2",
        "pclmulqdq",
        "vpclmulqdq",
        "aes",
        "vaes",
        "sha_ni",
        "f16c",
        "avx2",
        "avx512f",
        "avx512bw",
        "avx512vl",
        "avx512_bf16",
        "erms",
        "fsrm",
    ];
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |k: &str| {
        info.lines()
            .find(|l| l.starts_with(k))
            .and_then(|l| l.split_once(':'))
            .map(|(_, v)| v.trim().to_string())
            .unwrap_or_default()
    };
    let model = format!("{} family {} model {}", field("model name"), field("cpu family"), field("model\t"));
    let flags = field("flags");
    let has = |f: &str| flags.split_whitespace().any(|x| x == f);
    (model, WANT.into_iter().filter(|f| has(f)).collect())
}

/// Bytes that malloc has allocated, in arenas and in separate mappings.
pub fn malloc_kib() -> i64 {
    let m = unsafe { libc::mallinfo2() };
    ((m.uordblks + m.hblkhd) / 1024) as i64
}

/// Makes glibc merge the small blocks that a case freed (some readers free 500,000). Otherwise the next
/// allocation of a large block does that, which costs another case 60 ms.
pub fn tidy_heap() {
    unsafe { libc::free(std::hint::black_box(libc::malloc(100_000))) };
}
