//! What a cache did, and what it has.

/// Counts since it was made, and counts of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Slots that there are.
    pub slots: u64,
    /// Slots that have a slice, or are being read into.
    pub used: u64,
    /// Slots of slices that are pinned, or being read.
    pub pinned: u64,
    /// Slices that wait to be read.
    pub queued: u64,
    /// Bytes of the tables that keep track of the slices.
    pub overhead: u64,
    /// Slices that were there when they were asked for.
    pub hits: u64,
    /// Slices that others had asked for already, and that were not there yet.
    pub joined: u64,
    /// Slices that were read because they were asked for.
    pub misses: u64,
    /// Slices that were read ahead.
    pub prefetches: u64,
    /// Prefetched slices that were asked for later.
    pub prefetches_used: u64,
    /// Slices that were to be read ahead and were not: cancelled, or for want of a slot.
    pub prefetches_dropped: u64,
    /// Slices that went for others.
    pub evictions: u64,
    /// Reads that failed.
    pub failures: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
}
