//! Decides which components share one place in the file. In canonical form, equal tensors and attributes give
//! equal files: objects and components are sorted by the bytes of their names, each begins at the next
//! multiple of the alignment, and components with equal bytes share one place. An index by hash finds equal
//! bytes. In other files, copies share bytes that their sources share.

use super::description::{MadeOf, Recode};
use crate::convert::swap_whole;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::error::{fail, Error, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, TextId};
use crate::model::unicode::is_surely_composed;
use crate::model::value::{Attributes, Value};
use crate::reader::StoredPlace;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use std::hash::Hash;

/// How many bytes are swapped at a time.
const HASH_PIECE: usize = 1 << 20;

/// The SHA-256 of a component's bytes.
type ContentHash = [u8; 32];

/// The hash of a component's bytes for the index of [`Canonical`], if it is needed.
#[allow(clippy::large_enum_variant, reason = "a box would ask for memory that cannot be refused")]
pub enum Content {
    /// Not needed, because equal bytes need not be found.
    Untracked,
    /// The hash of all bytes.
    Hashed(ContentHash),
    /// The hash of the bytes so far.
    Hashing(Hasher),
}

/// The rules of the canonical form, and the offsets of the bytes that were written, by their hash and size.
/// `None` for other files.
pub struct Canonical(Option<HashMap<(ContentHash, u64), u64, SeedableRandomState>>);

impl Canonical {
    pub fn new(is_asked: bool) -> Canonical {
        Canonical(is_asked.then(|| HashMap::with_hasher(crate::hash::state())))
    }

    /// Whether the file is in canonical form.
    pub fn is_asked(&self) -> bool {
        self.0.is_some()
    }

    /// How a copy is encoded, for the options in `asked`.
    pub fn recode(&self, asked: &Recode) -> Recode {
        match self.is_asked() {
            false => *asked,
            true => Recode {
                encoding: Some(asked.encoding.unwrap_or(Encoding::Raw)),
                digest: Some(asked.digest.unwrap_or(Some(Algorithm::Xxh3))),
                ..*asked
            },
        }
    }

    /// Refuses an encoding or digest that the canonical form does not allow.
    pub fn check_component(&self, encoding: Encoding, digest: Option<Algorithm>) -> Result<()> {
        match (self.is_asked(), encoding, digest) {
            (false, ..) | (_, Encoding::Raw, Some(Algorithm::Xxh3)) => Ok(()),
            _ => Err(fail!(InvalidArgument, "in canonical form it has to be raw with an xxh3 digest")),
        }
    }

    /// Refuses attributes with a key that may not be in normal form C.
    pub fn check_attribute_keys(&self, attributes: &Attributes) -> Result<()> {
        let keys = attributes.iter().map(|(key, _)| key);
        keys.filter_map(Value::as_text).try_for_each(|key| self.check_attribute_key(key))
    }

    /// Refuses an attribute key that may not be in normal form C.
    pub fn check_attribute_key(&self, key: &str) -> Result<()> {
        match self.is_asked() {
            false => Ok(()),
            true => check_composed("an attribute", key),
        }
    }

    /// Refuses an object or component whose name does not come after the previous name.
    pub fn check_order<'n>(
        &self,
        what: &str,
        name: &str,
        before: impl FnOnce() -> Option<&'n str>,
    ) -> Result<()> {
        if !self.is_asked() {
            return Ok(());
        }
        check_composed(what, name)?;
        match before().filter(|before| *before >= name) {
            None => Ok(()),
            Some(before) => Err(fail!(
                InvalidArgument,
                "in canonical form {what} has to be in the order of names, but {name:?} comes after \
                 {before:?}"
            )),
        }
    }

    /// The content of elements that are all in memory, in the host's order.
    pub fn content_of(&self, elements: &[u8], dtype: Dtype) -> Result<Content> {
        self.content_of_pieces(swap_width(dtype), |body| elements.chunks(HASH_PIECE).try_for_each(body))
    }

    /// The content of bytes that `each` passes piece by piece. If a width is given, elements of this width
    /// are swapped, because they are stored in the other byte order.
    pub fn content_of_pieces(
        &self,
        swap_width: Option<usize>,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Content> {
        match self.0 {
            None => Ok(Content::Untracked),
            Some(_) => hash_of_pieces(swap_width, each).map(Content::Hashed),
        }
    }

    /// The content of a component whose bytes will follow.
    pub fn content_of_stream(&self) -> Content {
        match self.0 {
            None => Content::Untracked,
            Some(_) => Content::Hashing(Hasher::new(Algorithm::Sha256)),
        }
    }

    /// The offset of equal bytes that were written, if there are any.
    pub fn find_equal(&self, content: &Content, size: Option<u64>) -> Option<u64> {
        match (&self.0, content, size) {
            (Some(written), Content::Hashed(content), Some(size)) if size > 0 => {
                written.get(&(*content, size)).copied()
            }
            _ => None,
        }
    }

    /// Records the bytes of a component at `offset`. Returns the offset for its entry, which only differs if
    /// the component is empty.
    pub fn record_content(&mut self, content: Content, size: u64, offset: u64) -> Result<u64> {
        let (content, is_late) = match content {
            Content::Untracked => return Ok(offset),
            Content::Hashed(content) => (content, false),
            Content::Hashing(hasher) => (finish(hasher), true),
        };
        let Some(written) = self.0.as_mut() else { return Ok(offset) };
        written
            .try_reserve(1)
            .map_err(|_| fail!(OutOfMemory, "could not allocate the index of components"))?;
        match *written.entry((content, size)).or_insert(offset) {
            at if at != offset && is_late && size > 0 => Err(duplicate(at)),
            at => Ok(at),
        }
    }
}

/// The hash of all bytes that were added.
fn finish(hasher: Hasher) -> ContentHash {
    match hasher.finish() {
        Digest::Sha256(content) => content,
        _ => [0; 32],
    }
}

/// Identifies a copy by its bytes in the source file and how they are written. Copies with equal keys have
/// equal bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CopyKey {
    pub from: StoredPlace,
    /// `None` if the stored bytes are copied unchanged.
    pub recoded: Option<Recoded>,
}

/// The dtype, encoding, digest and size with which decoded bytes are written, and what they are made of.
type Recoded = (Dtype, Option<Encoding>, Option<Algorithm>, Option<u64>, MadeOf);

/// Few copies have the same bytes and are written in different ways.
impl Hash for CopyKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.from.bytes.hash(state);
    }
}

/// Where the written file has the bytes of each copy: offset, stored size and digest.
pub type CopyIndex = HashMap<CopyKey, (u64, u64, Option<TextId>), SeedableRandomState>;

/// The width of elements that are swapped for storage; `None` if they are stored unchanged.
pub fn swap_width(dtype: Dtype) -> Option<usize> {
    dtype.swaps(false).then_some(dtype.size())
}

fn hash_of_pieces(
    swap_width: Option<usize>,
    each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
) -> Result<ContentHash> {
    let (mut hasher, mut partial) = (Hasher::new(Algorithm::Sha256), Vec::new());
    each(&mut |piece| {
        match swap_width {
            Some(width) => hasher.update(&swap_whole(&mut partial, piece, width)?),
            None => hasher.update(piece),
        }
        Ok(())
    })?;
    hasher.update(&partial);
    Ok(finish(hasher))
}

#[cold]
fn duplicate(at: u64) -> Error {
    fail!(
        Unsupported,
        "its bytes equal the component at {at}, so in canonical form both share one place: give the bytes \
         in one call, so that this is found before they are written"
    )
}

fn check_composed(what: &str, name: &str) -> Result<()> {
    match is_surely_composed(name) {
        true => Ok(()),
        false => Err(fail!(
            InvalidArgument,
            "{what} of the canonical form has a name in Unicode's normal form C, which {name:?} may not be"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_known_by_the_bytes_that_they_are_stored_as() {
        let (host, stored): (Vec<u8>, Vec<u8>) = ((0..24).collect(), [3, 2, 1, 0].repeat(6));
        let stored: Vec<u8> = stored.iter().zip(0..24).map(|(b, at)| b + at / 4 * 4).collect();
        let hash = |swap_width, bytes: &[u8], size| {
            hash_of_pieces(swap_width, |body| bytes.chunks(size).try_for_each(body)).unwrap()
        };
        let wanted = hash(None, &stored, 24);
        for size in 1..=24 {
            assert_eq!(hash(Some(4), &host, size), wanted, "in pieces of {size}");
            assert_ne!(hash(None, &host, size), wanted);
        }
        let on_big_endian = cfg!(target_endian = "big");
        assert_eq!(swap_width(Dtype::F32), on_big_endian.then_some(4));
        assert_eq!(swap_width(Dtype::U8), None);
    }
}
