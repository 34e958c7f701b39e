//! The canonical form of a container: the same tensors and attributes give the same bytes. Objects and
//! components are in the order of their names' bytes, each at the next multiple of the alignment; components
//! with equal bytes share one place.

use super::content_index::{finish, Content, ContentHash, StoredContent};
use super::specs::Recode;
use super::state::Writer;
use super::stream::swap_bytes;
use crate::digest::{Algorithm, Hasher};
use crate::error::{fail, Error, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, TextId};
use crate::model::normal_form::is_surely_composed;
use crate::model::value::{Attributes, Value};

/// Bytes that are swapped at a time.
const HASH_PIECE: usize = 1 << 20;

impl Writer {
    /// How a copy is encoded.
    pub(super) fn recode(&self, asked: &Recode) -> Recode {
        match self.canonical {
            None => *asked,
            Some(_) => Recode {
                encoding: Some(asked.encoding.unwrap_or(Encoding::Raw)),
                digest: Some(asked.digest.unwrap_or(Some(Algorithm::Xxh3))),
                ..*asked
            },
        }
    }

    /// Refuses an encoding or a digest that components of the canonical form do not have.
    pub(super) fn check_canonical(&self, encoding: Encoding, digest: Option<Algorithm>) -> Result<()> {
        match (&self.canonical, encoding, digest) {
            (None, ..) | (_, Encoding::Raw, Some(Algorithm::Xxh3)) => Ok(()),
            _ => Err(fail!(InvalidArgument, "in canonical form it is raw and has a digest by xxh3")),
        }
    }

    /// Refuses an object whose name is not behind that of the one before it: `before`, or that of the last
    /// object written.
    pub(super) fn check_name_order(&self, name: &str, before: Option<&str>) -> Result<()> {
        if self.canonical.is_none() {
            return Ok(());
        }
        let last = || self.manifest.objects.last().map(|object| self.manifest.texts.get(object.name));
        self.check_order("an object", name, before.or_else(last))
    }

    /// Refuses a component whose role is not behind `before`.
    pub(super) fn check_role_order(&self, role: &str, before: Option<TextId>) -> Result<()> {
        match self.canonical {
            None => Ok(()),
            Some(_) => {
                self.check_order("a component", role, before.map(|text| self.manifest.texts.get(text)))
            }
        }
    }

    /// Refuses attributes with keys that are perhaps not in normal form.
    pub(super) fn check_attribute_keys(&self, attributes: &Attributes) -> Result<()> {
        let keys = attributes.iter().map(|(key, _)| key);
        keys.filter_map(Value::as_text).try_for_each(|key| self.check_attribute_key(key))
    }

    /// Refuses a key of attributes that is perhaps not in normal form.
    pub(super) fn check_attribute_key(&self, key: &str) -> Result<()> {
        match self.canonical {
            None => Ok(()),
            Some(_) => check_composed("an attribute", key),
        }
    }

    fn check_order(&self, what: &str, name: &str, before: Option<&str>) -> Result<()> {
        check_composed(what, name)?;
        match before.filter(|before| *before >= name) {
            None => Ok(()),
            Some(before) => Err(fail!(
                InvalidArgument,
                "in canonical form {what} comes behind those whose names are smaller, but {name:?} comes behind {before:?}"
            )),
        }
    }

    /// The content of elements that are all in memory, in the host's order.
    pub(super) fn content_of(&self, elements: &[u8], dtype: Dtype) -> Result<Content> {
        self.content_of_pieces(swap_width(dtype), |body| elements.chunks(HASH_PIECE).try_for_each(body))
    }

    /// The content of bytes that `each` gives piece by piece. Elements that are stored in another order than
    /// the host's are swapped, by the width that is given.
    pub(super) fn content_of_pieces(
        &self,
        swap_width: Option<usize>,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Content> {
        match self.canonical {
            None => Ok(Content::Untracked),
            Some(_) => hash_of_pieces(swap_width, each).map(Content::Hashed),
        }
    }

    /// The content of a component whose bytes are still to come.
    pub(super) fn content_of_stream(&self) -> Content {
        match self.canonical {
            None => Content::Untracked,
            Some(_) => Content::Hashing(Hasher::new(Algorithm::Sha256)),
        }
    }

    /// The offset of equal bytes that were written, if there are any.
    pub(super) fn find_equal(&self, content: &Content, size: Option<u64>) -> Option<u64> {
        match (&self.canonical, content, size) {
            (Some(canonical), Content::Hashed(content), Some(size)) if size > 0 => {
                canonical.find(content, size)
            }
            _ => None,
        }
    }

    /// Records the bytes of a component at `offset`. Returns the offset of its entry, which is another one
    /// only for a component without bytes.
    pub(super) fn record_content(&mut self, content: Content, size: u64, offset: u64) -> Result<u64> {
        let (content, is_late) = match content {
            Content::Untracked => return Ok(offset),
            Content::Hashed(content) => (content, false),
            Content::Hashing(hasher) => (finish(hasher), true),
        };
        let Some(canonical) = self.canonical.as_mut() else { return Ok(offset) };
        match canonical.find(&content, size) {
            Some(at) if is_late && size > 0 => Err(duplicate(at)),
            Some(at) => Ok(at),
            None => canonical.insert(StoredContent { content, size, offset }).map(|()| offset),
        }
    }
}

/// The width of elements that are swapped when they are stored; none where they are stored as they are given.
pub(super) fn swap_width(dtype: Dtype) -> Option<usize> {
    dtype.swaps(false).then_some(dtype.size())
}

fn hash_of_pieces(
    swap_width: Option<usize>,
    each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
) -> Result<ContentHash> {
    let (mut hasher, mut partial) = (Hasher::new(Algorithm::Sha256), Vec::new());
    each(&mut |piece| {
        match swap_width {
            Some(width) => hasher.update(&swap_bytes(&mut partial, piece, width)?),
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
        "its bytes are those of the component at {at}, whose place it has in canonical form: give them in one call, which \
         finds that before it writes"
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
