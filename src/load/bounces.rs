//! The memory that threads read through where bytes do not go straight to their places, within what a batch may use.

use super::request::BatchOptions;
use crate::source::direct::{Bounce, SMALLEST_BOUNCE};
use crate::source::Profile;

/// As many threads as have bounces within so much temporary memory.
pub fn threads_within(in_flight: u64) -> usize {
    let bounce_and_its_half = 2 * SMALLEST_BOUNCE as u64;
    usize::try_from(in_flight / bounce_and_its_half).unwrap_or(usize::MAX).max(1)
}

/// Bytes of the bounces of all threads that count as temporary memory.
pub fn total_size(options: &BatchOptions, profile: &Profile) -> u64 {
    match profile.gathers() {
        true => (of_thread(options, profile).size() as u64).saturating_mul(options.threads as u64),
        false => 0, // a huge page each
    }
}

/// The memory that a thread's reads go through: its share of what all may use.
pub fn of_thread(options: &BatchOptions, profile: &Profile) -> Bounce {
    let share = options.in_flight.checked_div(options.threads as u64).unwrap_or(0);
    match profile.gathers() {
        // The other half is left for what compressed components need.
        true => Bounce::new((share / 2).min(profile.largest_request), profile.largest_request),
        false => Bounce::new(share.min(options.chunk_size), 0),
    }
}
