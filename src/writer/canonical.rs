//! The canonical form of a container, where it has one: the same tensors and attributes give the same bytes. Objects and
//! components come in the order of their names' bytes, each at the next step; those of equal bytes have one place.

use super::specs::WriterOptions;
use crate::container;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::error::{fail, Result};
use crate::model::manifest::Encoding;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The SHA-256 of bytes, by which they are known again.
pub type ContentHash = [u8; 32];

/// What is known of the bytes of a component that is written.
#[allow(clippy::large_enum_variant, reason = "a box would ask for memory that cannot be refused")]
pub enum Content {
    /// Nothing is asked.
    Any,
    /// Their hash.
    Known(ContentHash),
    /// They are still coming.
    Coming(Hasher),
}

/// Where bytes are.
pub struct Place {
    pub content: ContentHash,
    pub size: u64,
    pub offset: u64,
}

/// The components that were written, by their bytes.
pub struct Canonical {
    places: HashTable<Place>,
    hasher: SeedableRandomState,
}

impl Canonical {
    pub fn new() -> Canonical {
        Canonical { places: HashTable::new(), hasher: crate::hash::state() }
    }

    pub fn find(&self, content: &ContentHash, size: u64) -> Option<u64> {
        let is_it = |place: &Place| place.content == *content && place.size == size;
        self.places.find(self.hasher.hash_one(content), is_it).map(|place| place.offset)
    }

    pub fn insert(&mut self, place: Place) -> Result<()> {
        let hash = |place: &Place| self.hasher.hash_one(place.content);
        let reserved = self.places.try_reserve(1, hash);
        reserved.map_err(|_| fail!(OutOfMemory, "could not allocate the index of components"))?;
        self.places.insert_unique(self.hasher.hash_one(place.content), place, hash);
        Ok(())
    }
}

/// The hash of all that was given.
pub fn finish(hasher: Hasher) -> ContentHash {
    match hasher.finish() {
        Digest::Sha256(content) => content,
        _ => [0; 32],
    }
}

impl WriterOptions {
    /// The same with what the version has where nothing else is asked for, and with what its canonical form has.
    pub(super) fn resolved(&self) -> Result<WriterOptions> {
        let to = container::capabilities(self.version);
        let usual = to.usual_digest.filter(|_| self.usual_digest);
        let resolved = WriterOptions { digest: self.digest.or(usual), usual_digest: false, ..self.clone() };
        let step = match (self.canonical, to.canonical_step) {
            (false, _) => return Ok(resolved),
            (true, None) => return Err(to.cannot_represent("a canonical form")),
            (true, Some(step)) => step,
        };
        let asked = [
            ("an encoding", self.encoding != Encoding::Raw),
            ("a digest other than xxh3", self.digest.is_some_and(|digest| digest != Algorithm::Xxh3)),
            ("an alignment", self.alignment > step || (self.large_alignment > step)),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((what, _)) => {
                Err(fail!(InvalidArgument, "{what} is asked for, which the canonical form has not"))
            }
            None => Ok(WriterOptions {
                alignment: step,
                large_alignment: 0,
                digest: Some(Algorithm::Xxh3),
                ..resolved
            }),
        }
    }
}
