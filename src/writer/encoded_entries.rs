//! Entries of the manifest that are encoded before the file's end, while another thread writes: the end does not
//! wait for them.

use crate::container;
use crate::error::Result;
use crate::model::manifest::{Manifest, Version};

/// The first objects, encoded for the manifest.
#[derive(Default)]
pub struct EncodedEntries {
    bytes: Vec<u8>,
    objects: usize,
}

impl EncodedEntries {
    /// How far it is.
    pub fn checkpoint(&self) -> (usize, usize) {
        (self.bytes.len(), self.objects)
    }

    /// Back to there.
    pub fn rollback(&mut self, (size, objects): (usize, usize)) {
        self.bytes.truncate(size);
        self.objects = objects;
    }

    /// Encodes the objects that are pending, which nothing changes any more.
    pub fn encode_pending(&mut self, manifest: &Manifest, version: Version) -> Result<()> {
        for object in manifest.objects.get(self.objects..).unwrap_or_default() {
            let whole = self.bytes.len();
            let encoded = container::encode_object(manifest, object, version, &mut self.bytes);
            encoded.inspect_err(|_| self.bytes.truncate(whole))?;
            self.objects = self.objects.saturating_add(1);
        }
        Ok(())
    }

    /// What is encoded.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
