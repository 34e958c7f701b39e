//! Keeps this machine's free memory touched between timed sections (`--hold`).
//!
//! On a virtual machine with a memory balloon that reports free pages, memory that was free for some seconds
//! returns to the host. Its next use costs a host fault: 0.5 GB/s instead of 20. Page-cache writes and fresh
//! allocations then measure the host. With `--hold`, all free memory is touched once and kept. `borrow` frees
//! as much as a timed section needs just before it, and takes it back afterwards. Without `--hold` these
//! functions only call their argument.

use crate::anon::Anon;
use std::fs::{read_to_string, write};
use std::sync::Mutex;

const CHUNK: usize = 64 << 20;
/// Memory that is always left free for other programs.
const SLACK: usize = 512 << 20;

static POOL: Mutex<Option<Vec<Anon>>> = Mutex::new(None);

fn pool() -> std::sync::MutexGuard<'static, Option<Vec<Anon>>> {
    POOL.lock().unwrap_or_else(|e| e.into_inner())
}

fn mem_free() -> usize {
    let s = read_to_string("/proc/meminfo").unwrap_or_default();
    let kib =
        s.lines().find_map(|l| l.strip_prefix("MemFree:")?.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}

/// Starts to keep memory; takes as long as touching all free memory.
pub fn start() {
    *pool() = Some(Vec::new());
    refill();
}

/// Frees kept memory until `bytes` (and the slack) are free.
pub fn make_free(bytes: usize) {
    if let Some(pool) = pool().as_mut() {
        while mem_free() < bytes + SLACK && pool.pop().is_some() {}
    }
}

/// Takes memory beyond the slack again.
pub fn refill() {
    if let Some(pool) = pool().as_mut() {
        while mem_free() > SLACK + CHUNK {
            pool.push(Anon::new(CHUNK, true));
        }
    }
}

/// Runs `timed` with `bytes` of free memory that the machine already has. `cleanup` frees what it left in
/// memory (its page cache, for example) before that memory is kept again.
pub fn borrow<T>(bytes: usize, timed: impl FnOnce() -> T, cleanup: impl FnOnce()) -> T {
    make_free(bytes);
    let r = timed();
    cleanup();
    refill();
    r
}

/// While it exists, the kernel accepts gigabytes of dirty page cache. Its limits do not count kept memory, so
/// it would throttle writes early.
pub struct DirtyLimits(Vec<(String, String)>);

impl DirtyLimits {
    pub fn raise() -> DirtyLimits {
        let mut old = Vec::new();
        if pool().is_some() {
            for (bytes, ratio, gib) in [
                ("dirty_bytes", "dirty_ratio", 8u64),
                ("dirty_background_bytes", "dirty_background_ratio", 4),
            ] {
                let path = |k: &str| format!("/proc/sys/vm/{k}");
                // If the limit is a ratio, bytes reads 0, and the ratio is restored.
                let keep = [bytes, ratio].map(|k| (path(k), read_to_string(path(k)).unwrap_or_default()));
                if write(path(bytes), (gib << 30).to_string()).is_ok() {
                    old.extend(keep.into_iter().filter(|(_, v)| v.trim() != "0"));
                }
            }
        }
        DirtyLimits(old)
    }
}

impl Drop for DirtyLimits {
    fn drop(&mut self) {
        for (path, value) in &self.0 {
            let _ = write(path, value);
        }
    }
}
