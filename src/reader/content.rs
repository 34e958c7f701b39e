//! The content digest of a file, which does not depend on where its bytes are (`container::content_digest`),
//! and its canonical form.

use super::file::File;
use super::parts::FilePart;
use crate::container;
use crate::digest::{to_text, Algorithm};
use crate::error::{fail, try_format, Result};
use crate::source::with_range;

impl File {
    /// The digest of names, shapes, types, attributes and digests of all objects, by `sha256` or `xxh3`.
    /// Reads the manifest and no tensor: digests are taken as the file has them. Unsupported where the
    /// container has none or a component lacks its digest.
    pub fn content_digest(&self, algorithm: &str) -> Result<String> {
        let found = [Algorithm::Sha256, Algorithm::Xxh3].into_iter().find(|known| known.name() == algorithm);
        let algorithm = found.ok_or_else(|| {
            fail!(InvalidArgument, "content digests are of sha256 or xxh3, not {algorithm:?}")
        })?;
        // What no file of the container has, a part of the model alone has not either.
        container::check_content_digest(self.parts.first.frame()).map_err(|e| self.in_file(e))?;
        let part = self.only_part("has no content digest")?;
        let digest = with_range(part.source.as_ref(), part.frame.manifest.clone(), |bytes| {
            container::content_digest(&part.frame, bytes, algorithm)
        });
        let digest = digest.map_err(|e| self.in_file(e))?;
        try_format(format_args!("{}", &*to_text(&digest)?))
    }

    /// The first rule that keeps the file from the canonical form of its container; none where nothing does.
    /// Reads the manifest and what belongs to nothing, and no tensor: digests are taken as the file has them.
    /// Unsupported where the container has no such form.
    pub fn canonical_violation(&self) -> Result<Option<String>> {
        container::check_canonical(self.parts.first.frame()).map_err(|e| self.in_file(e))?;
        let part = self.only_part("has no canonical form")?;
        let (frame, source) = (&part.frame, part.source.as_ref());
        let found =
            with_range(source, frame.manifest.clone(), |bytes| {
                match container::canonical_violation(frame, &self.manifest, bytes)? {
                    Some(why) => Ok(Some(why)),
                    None => self.nonzero_byte(part),
                }
            });
        found.map_err(|e| self.in_file(e))
    }

    /// The first byte that belongs to nothing and is not zero.
    fn nonzero_byte(&self, part: &FilePart) -> Result<Option<String>> {
        if let (count, Some(first)) = self.nonzero_padding(part)? {
            return try_format(format_args!(
                "F14: {count} bytes of padding are not zero, the first at {first}"
            ))
            .map(Some);
        }
        let reserved = container::reserved_bytes(&part.frame);
        let start = reserved.start;
        with_range(part.source.as_ref(), reserved, |bytes| match bytes.iter().all(|byte| *byte == 0) {
            true => Ok(None),
            false => {
                try_format(format_args!("F11: the reserved bytes of the footer at {start} are not zero"))
                    .map(Some)
            }
        })
    }
}
