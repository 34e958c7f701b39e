//! What a writer does otherwise in canonical form: it keeps an order, and stores equal bytes once.

use super::canonical::{finish, hash_of, Content, Place};
use super::specs::Recode;
use super::state::Writer;
use crate::digest::{Algorithm, Hasher};
use crate::error::{fail, Error, Result};
use crate::model::manifest::{Encoding, TextId};

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

    /// Refuses what a component of the canonical form has not.
    pub(super) fn check_canonical(&self, encoding: Encoding, digest: Option<Algorithm>) -> Result<()> {
        match (&self.canonical, encoding, digest) {
            (None, ..) | (_, Encoding::Raw, Some(Algorithm::Xxh3)) => Ok(()),
            _ => Err(fail!(InvalidArgument, "in canonical form it is raw and has a digest by xxh3")),
        }
    }

    /// Refuses an object that does not come behind the one before it, whose name is `before` unless it was written.
    pub(super) fn check_name_order(&self, name: &str, before: Option<&str>) -> Result<()> {
        if self.canonical.is_none() {
            return Ok(());
        }
        let last = || self.manifest.objects.last().map(|object| self.manifest.texts.get(object.name));
        self.check_order("an object", name, before.or_else(last))
    }

    /// Refuses a component that does not come behind that of another role.
    pub(super) fn check_role_order(&self, role: &str, before: Option<TextId>) -> Result<()> {
        match self.canonical {
            None => Ok(()),
            Some(_) => {
                self.check_order("a component", role, before.map(|text| self.manifest.texts.get(text)))
            }
        }
    }

    fn check_order(&self, what: &str, name: &str, before: Option<&str>) -> Result<()> {
        if !crate::model::normal_form::is_surely_composed(name) {
            return Err(fail!(
                InvalidArgument,
                "{what} of the canonical form has a name in Unicode's normal form C, which {name:?} may not be"
            ));
        }
        match before.filter(|before| *before >= name) {
            None => Ok(()),
            Some(before) => Err(fail!(
                InvalidArgument,
                "in canonical form {what} comes behind those whose names are smaller, but {name:?} comes behind {before:?}"
            )),
        }
    }

    /// What is known of bytes that are there as a whole.
    pub(super) fn content_of(&self, bytes: &[u8]) -> Content {
        match self.canonical {
            None => Content::Any,
            Some(_) => Content::Known(hash_of(bytes)),
        }
    }

    /// What is known of bytes that come in pieces, which `each` gives; read once for that.
    pub(super) fn content_of_pieces(
        &self,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Content> {
        if self.canonical.is_none() {
            return Ok(Content::Any);
        }
        let mut hasher = Hasher::new(Algorithm::Sha256);
        each(&mut |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        Ok(Content::Known(finish(hasher)))
    }

    /// Of bytes that nobody knows yet.
    pub(super) fn coming_content(&self) -> Content {
        match self.canonical {
            None => Content::Any,
            Some(_) => Content::Coming(Hasher::new(Algorithm::Sha256)),
        }
    }

    /// Where equal bytes are.
    pub(super) fn place_of(&self, content: &Content, size: Option<u64>) -> Option<u64> {
        match (&self.canonical, content, size) {
            (Some(canonical), Content::Known(content), Some(size)) if size > 0 => {
                canonical.find(content, size)
            }
            _ => None,
        }
    }

    /// Notes where the bytes of a component are; where it then begins, which is elsewhere only of one without bytes.
    pub(super) fn note_place(&mut self, content: Content, size: u64, offset: u64) -> Result<u64> {
        let (content, is_late) = match content {
            Content::Any => return Ok(offset),
            Content::Known(content) => (content, false),
            Content::Coming(hasher) => (finish(hasher), true),
        };
        let Some(canonical) = self.canonical.as_mut() else { return Ok(offset) };
        match canonical.find(&content, size) {
            Some(at) if is_late && size > 0 => Err(duplicate(at)),
            Some(at) => Ok(at),
            None => canonical.insert(Place { content, size, offset }).map(|()| offset),
        }
    }
}

#[cold]
fn duplicate(at: u64) -> Error {
    fail!(
        Unsupported,
        "its bytes are those of the component at {at}, whose place it has in canonical form: give them in one call, which \
         finds that before it writes"
    )
}
