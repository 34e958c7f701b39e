//! What tells the content of a file from that of others, wherever its bytes are: see `container::content_digest`.

use super::file::File;
use crate::container;
use crate::digest::{to_text, Algorithm};
use crate::error::{fail, try_format, Result};
use crate::load::with_range;

impl File {
    /// The digest of names, shapes, types, attributes and digests of all objects, by `sha256` or `xxh3`. Reads the manifest and
    /// no tensor: digests are taken as the file has them. Unsupported where the container has none or a component lacks its digest.
    pub fn content_digest(&self, algorithm: &str) -> Result<String> {
        let found = [Algorithm::Sha256, Algorithm::Xxh3].into_iter().find(|known| known.name() == algorithm);
        let algorithm = found.ok_or_else(|| {
            fail!(InvalidArgument, "content digests are of sha256 or xxh3, not {algorithm:?}")
        })?;
        let part = self.only_file()?;
        let digest = with_range(part.source.as_ref(), part.frame.manifest.clone(), |bytes| {
            container::content_digest(&part.frame, bytes, algorithm)
        });
        let digest = digest.map_err(|e| self.in_file(e))?;
        try_format(format_args!("{}", &*to_text(&digest)?))
    }

    /// The first rule that keeps the file from the canonical form of its container, as its manifest shows it; none where it
    /// shows none. Unsupported where the container has no such form.
    pub fn canonical_violation(&self) -> Result<Option<String>> {
        let part = self.only_file()?;
        container::canonical_violation(&part.frame, &self.manifest).map_err(|e| self.in_file(e))
    }

    fn only_file(&self) -> Result<&super::parts::FilePart> {
        match self.manifest_count() {
            1 => Ok(&self.parts.first),
            count => Err(self.in_file(fail!(
                Unsupported,
                "a model of {count} files has no content digest, but each of its files may"
            ))),
        }
    }
}
