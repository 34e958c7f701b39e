//! What a copy asks before it takes bytes: whether they agree with every checksum that their file has.

use super::file::File;
use super::known::Verified;
use super::object::Component;
use crate::digest::{Digest, DigestOf};
use crate::error::{Cause, Error, Result};
use crate::memory::try_box;
use crate::model::manifest::Encoding;

impl File {
    fn source_checks(&self) -> Result<&Verified> {
        let kept = &self.source_checks.0;
        if let Some(known) = kept.get() {
            return Ok(known);
        }
        let new = try_box(Verified::new(self, 0..self.manifest.components.len())?)?;
        Ok(kept.get_or_init(|| new))
    }
}

impl Component<'_> {
    /// Checks the bytes against the component's digest or against the CRC-32 of an archive's member. If the
    /// file has neither, checks the digest of the shard and the checksums of compressed frames. Bytes that
    /// several components share are read once, also if calls for other components come later. A digest of an
    /// unknown algorithm is not checked.
    pub fn check_source(&self) -> Result<()> {
        let known = self.file.source_checks()?;
        let claim = self.digest().map(|text| self.parse_digest(text));
        let checked = match (claim, self.checksum()) {
            (Some(Ok(Digest::Unknown)), _) | (None, None) => None,
            (Some(Ok(claim)), _) => Some(known.digest(self, claim, || self.verify_digest())),
            (Some(Err(_)), _) => Some(self.verify_digest()), // which says what is wrong
            (None, Some(sum)) => Some(known.checksum(self, sum.start)),
        };
        match checked {
            None => {}
            // Nobody can decode the bytes, so nobody can check a digest of decoded bytes.
            Some(Err(e)) if e.cause() == Cause::Unsupported => {}
            Some(outcome) => return outcome,
        }
        if self.entry.is_in_shard() {
            known.shard(self.part_number(), || {
                self.file.verify_shard(self.bytes_part(), &mut |_| Ok(())).map(drop)
            })?;
        }
        match self.decoding() {
            Ok(_) if self.entry.encoding.is_compressed() => {
                let decode = || self.for_each_decoded(&mut |_| Ok(()));
                self.size().and_then(|size| known.contents(self, size, false, decode))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Gives `body` the decoded bytes in the order of the file, which a digest of decoded bytes covers.
    pub(crate) fn for_each_digested(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.blob().and_then(|blob| blob.for_each_decoded_byte(body)).map_err(|e| self.wrap(e))
    }

    /// Whether a digest `of` a copy covers the bytes as they are stored.
    pub(crate) fn digests_stored_bytes(&self, of: DigestOf) -> bool {
        of == DigestOf::Stored || self.entry.encoding == Encoding::Raw
    }

    /// Whether a copy that keeps the stored bytes can get a new digest: a digest of decoded bytes needs a
    /// known encoding.
    pub(crate) fn can_be_digested(&self, of: DigestOf) -> bool {
        self.digests_stored_bytes(of) || self.decoding().is_ok()
    }
}

impl Error {
    /// Whether it says that bytes are not those that were written.
    pub fn is_damage(&self) -> bool {
        matches!(self.cause(), Cause::Broken(_) | Cause::DigestMismatch)
    }
}
