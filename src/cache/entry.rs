//! The entry of a slice that is queued, is being read, or is in a slot; the table of all entries, by key; and
//! the lists of entries.

use super::slice::Key;
use crate::error::{Error, Result};
use crate::memory::{collected, filled, Slot};
use foldhash::fast::SeedableRandomState;
use std::hash::BuildHasher;

/// The state of an entry.
pub enum Phase {
    /// The entry is free.
    Unused,
    /// The slice waits for a thread that reads it.
    Queued,
    /// A thread is reading the slice.
    Reading,
    /// The slot has the slice's bytes.
    Ready,
    /// The read failed. The entry stays until no thread waits for it.
    Failed(Error),
}

pub struct Entry<S> {
    pub key: Key,
    hash: u64,
    next_of_bucket: u32,
    links: Links,
    /// Whether a lookup of its key finds the entry.
    pub has_key: bool,
    pub phase: Phase,
    /// `None` while the slice is being read: the reading thread has it.
    pub slice: Option<S>,
    /// Its slot, while it is ready.
    pub slot: Option<Slot>,
    pub pins: u64,
    /// How many threads wait until it is read. Each of them gets a pin then.
    pub waiters: u32,
    /// Distinguishes pins of this slice from pins of slices that used this entry earlier.
    pub generation: u32,
    /// It was prefetched, and no caller has got it since.
    pub is_prefetched: bool,
    /// How often callers got it since it was read.
    pub uses: u64,
    /// It is ready, has no pin, and is protected: unprotected slices are evicted first.
    pub is_protected: bool,
}

impl<S> Entry<S> {
    fn unused() -> Entry<S> {
        Entry {
            key: Key::new(),
            hash: 0,
            next_of_bucket: NONE,
            links: Links::NOWHERE,
            has_key: false,
            phase: Phase::Unused,
            slice: None,
            slot: None,
            pins: 0,
            waiters: 0,
            generation: 0,
            is_prefetched: false,
            uses: 0,
            is_protected: false,
        }
    }
}

/// A fixed number of entries, with a hash table of their keys. Only [`Entries::new`] allocates.
pub struct Entries<S> {
    all: Vec<Entry<S>>,
    /// The first entry of each bucket, by the last bits of the hash.
    buckets: Vec<u32>,
    hasher: SeedableRandomState,
}

impl<S> Entries<S> {
    pub fn new(count: usize) -> Result<Entries<S>> {
        let all = collected(count, std::iter::repeat_with(Entry::unused))?;
        let buckets = filled(NONE, count.next_power_of_two())?;
        Ok(Entries { all, buckets, hasher: crate::hash::state() })
    }

    /// The largest number of bytes that `count` entries take.
    pub const fn memory(count: usize) -> usize {
        count * (size_of::<Entry<S>>() + 2 * size_of::<u32>())
    }

    pub fn count(&self) -> u32 {
        self.all.len() as u32
    }

    pub fn get(&self, at: u32) -> &Entry<S> {
        &self.all[at as usize]
    }

    pub fn get_mut(&mut self, at: u32) -> &mut Entry<S> {
        &mut self.all[at as usize]
    }

    /// The entry at a position that a caller passed and that may be invalid.
    pub fn checked(&self, at: u64) -> Option<&Entry<S>> {
        self.all.get(usize::try_from(at).ok()?)
    }

    fn bucket(&mut self, hash: u64) -> &mut u32 {
        let mask = self.buckets.len() - 1;
        &mut self.buckets[hash as usize & mask]
    }

    pub fn find(&self, key: &Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key.words());
        let mut at = self.buckets[hash as usize & (self.buckets.len() - 1)];
        while at != NONE {
            let entry = self.get(at);
            if entry.hash == hash && entry.key.words() == key.words() {
                return Some(at);
            }
            at = entry.next_of_bucket;
        }
        None
    }

    /// Sets the key of an entry. No other entry may have this key.
    pub fn insert_key(&mut self, at: u32, key: &Key) {
        let hash = self.hasher.hash_one(key.words());
        let next = std::mem::replace(self.bucket(hash), at);
        let entry = self.get_mut(at);
        (entry.key, entry.hash, entry.next_of_bucket, entry.has_key) = (*key, hash, next, true);
    }

    /// Removes the key of an entry, so that lookups do not find it any more.
    pub fn remove_key(&mut self, at: u32) {
        let entry = self.get_mut(at);
        if !std::mem::replace(&mut entry.has_key, false) {
            return;
        }
        let (hash, next) = (entry.hash, entry.next_of_bucket);
        let mut before = *self.bucket(hash);
        if before == at {
            *self.bucket(hash) = next;
            return;
        }
        while self.get(before).next_of_bucket != at {
            before = self.get(before).next_of_bucket;
        }
        self.get_mut(before).next_of_bucket = next;
    }
}

/// Not a position.
pub const NONE: u32 = u32::MAX;

/// The neighbours of an entry in its list.
#[derive(Clone, Copy)]
pub struct Links {
    pub before: u32,
    pub after: u32,
}

impl Links {
    /// The links of an entry that is in no list.
    pub const NOWHERE: Links = Links { before: NONE, after: NONE };
}

/// The ends of a list, and its length. An entry is in one list at a time.
#[derive(Clone, Copy)]
pub struct List {
    pub first: u32,
    pub last: u32,
    pub count: usize,
}

impl List {
    pub const EMPTY: List = List { first: NONE, last: NONE, count: 0 };

    /// Inserts an entry after `before`, or at the front if that is [`NONE`].
    pub fn insert_after<S>(&mut self, entries: &mut Entries<S>, before: u32, at: u32) {
        let after = match before {
            NONE => std::mem::replace(&mut self.first, at),
            _ => std::mem::replace(&mut entries.get_mut(before).links.after, at),
        };
        match after {
            NONE => self.last = at,
            _ => entries.get_mut(after).links.before = at,
        }
        entries.get_mut(at).links = Links { before, after };
        self.count += 1;
    }

    pub fn push<S>(&mut self, entries: &mut Entries<S>, at: u32) {
        self.insert_after(entries, self.last, at);
    }

    pub fn remove<S>(&mut self, entries: &mut Entries<S>, at: u32) {
        let Links { before, after } = std::mem::replace(&mut entries.get_mut(at).links, Links::NOWHERE);
        match before {
            NONE => self.first = after,
            _ => entries.get_mut(before).links.after = after,
        }
        match after {
            NONE => self.last = before,
            _ => entries.get_mut(after).links.before = before,
        }
        self.count -= 1;
    }
}
