//! Loads: requests that are read while their results are used.

pub(super) mod event;
pub(super) mod load;
pub(super) mod part_stats;
