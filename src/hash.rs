//! Hashing with a new seed for each table, so that an attacker cannot choose names that collide. It does not
//! allocate; foldhash's own random seed does, and aborts if that fails.

use foldhash::fast::SeedableRandomState;
use foldhash::SharedSeed;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// The hash function for the names of a new table.
pub fn state() -> SeedableRandomState {
    static SEEDS_OF_PROCESS: OnceLock<(SharedSeed, u64)> = OnceLock::new();
    static TABLES: AtomicU64 = AtomicU64::new(0);
    let (shared, own) = SEEDS_OF_PROCESS.get_or_init(|| (SharedSeed::from_u64(random()), random()));
    let table = TABLES.fetch_add(1, Ordering::Relaxed);
    SeedableRandomState::with_seed(mix(own ^ mix(table)), shared)
}

/// A number that an attacker cannot guess: from the system, or else from things that differ from run to run.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let seed = if fill(&mut bytes) { u64::from_ne_bytes(bytes) } else { 0 };
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let places = [(&raw const bytes).addr(), (state as fn() -> SeedableRandomState as *const ()).addr()];
    let more = [since.as_secs(), u64::from(since.subsec_nanos()), u64::from(std::process::id())];
    places.into_iter().map(|place| place as u64).chain(more).fold(seed, |sum, n| mix(sum ^ n))
}

/// The finalizer of SplitMix64: each bit of the result depends on all bits.
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Gets random bytes from the system. Returns whether it succeeded.
#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8; 8]) -> bool {
    // SAFETY: local memory of this size. Called by number, because supported C libraries may not have the
    // function.
    let count =
        unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), libc::GRND_NONBLOCK) };
    usize::try_from(count) == Ok(bytes.len())
}

/// Gets random bytes from the system. Returns whether it succeeded.
#[cfg(target_vendor = "apple")]
fn fill(bytes: &mut [u8; 8]) -> bool {
    // SAFETY: memory of that size that lives here.
    unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) == 0 }
}

/// There is no such call on this platform.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn fill(_bytes: &mut [u8; 8]) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn each_table_has_its_own_seed() {
        let hashes: HashSet<u64> = (0..1000).map(|_| state().hash_one("layer.weight")).collect();
        assert_eq!(hashes.len(), 1000);
        let one = state();
        assert_eq!(one.hash_one("layer.weight"), one.hash_one("layer.weight"));
    }

    #[test]
    fn the_numbers_that_a_process_begins_with_differ() {
        let numbers: HashSet<u64> = (0..1000).map(|_| random()).collect();
        assert_eq!(numbers.len(), 1000);
    }
}
