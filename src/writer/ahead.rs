//! Entries of the manifest that are spelled before the file's end, while another thread writes: what is spelled then
//! the end does not wait for.

use crate::error::Result;
use crate::model::manifest::{Manifest, Version};
use crate::wire::v1_encode;

/// The first objects as the manifest will spell them.
#[derive(Default)]
pub struct Ahead {
    bytes: Vec<u8>,
    objects: usize,
}

impl Ahead {
    /// How far it is.
    pub fn mark(&self) -> (usize, usize) {
        (self.bytes.len(), self.objects)
    }

    /// Back to there.
    pub fn rollback(&mut self, (size, objects): (usize, usize)) {
        self.bytes.truncate(size);
        self.objects = objects;
    }

    /// Spells the objects that were not spelled yet, which nothing changes any more.
    pub fn rest(&mut self, manifest: &Manifest, version: Version) -> Result<()> {
        for object in manifest.objects.get(self.objects..).unwrap_or_default() {
            let whole = self.bytes.len();
            let spelled = v1_encode::encode_object(manifest, object, version, &mut self.bytes);
            spelled.inspect_err(|_| self.bytes.truncate(whole))?;
            self.objects = self.objects.saturating_add(1);
        }
        Ok(())
    }

    /// What is spelled.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
