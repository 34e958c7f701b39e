//! Files made by hand: blobs at their offsets, a manifest after them, a footer.

use crate::item::{EncodingStyle, Item};
use arbitrary::Result;
use std::cell::RefCell;
use zstd_safe::CCtx;

thread_local! {
    /// Made once, because making one takes longer than most compressions.
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

/// The containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    V0_1,
    V1_0,
    V1,
}

/// A file that is being made.
pub struct Layout {
    pub bytes: Vec<u8>,
    pub container: Container,
}

impl Layout {
    pub fn new(container: Container) -> Layout {
        let magic = if container == Container::V0_1 { b"ZTEN0001" } else { b"ZTEN1000" };
        Layout { bytes: magic.to_vec(), container }
    }

    /// Adds a blob and returns its offset.
    pub fn place(&mut self, blob: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
        self.bytes.extend_from_slice(blob);
        (self.bytes.len() - blob.len()) as u64
    }

    /// Adds the manifest and returns its offset.
    pub fn manifest(&mut self, root: &Item, style: &mut EncodingStyle<'_, '_>) -> Result<usize> {
        let start = self.bytes.len();
        style.put(&mut self.bytes, root)?;
        Ok(start)
    }

    /// Adds the footer for a manifest of that size.
    pub fn footer(mut self, size: u64) -> Vec<u8> {
        self.bytes.extend_from_slice(&size.to_le_bytes());
        if self.container == Container::V1 {
            self.bytes.extend_from_slice(b"ZTEN1000");
        }
        self.bytes
    }
}

/// `data` in frames of at most `frame` bytes, possibly after a skippable frame.
pub fn compressed(data: &[u8], frame: usize, skippable: bool) -> Vec<u8> {
    let mut out = if skippable { vec![0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3] } else { Vec::new() };
    let one = |part: &[u8], out: &mut Vec<u8>| {
        let mut packed = vec![0; zstd_safe::compress_bound(part.len())];
        let size = COMPRESSOR.with_borrow_mut(|context| {
            context.compress(&mut packed[..], part, 1).expect("the buffer is too small")
        });
        out.extend_from_slice(&packed[..size]);
    };
    if data.is_empty() {
        one(data, &mut out);
    }
    data.chunks(frame.max(1)).for_each(|part| one(part, &mut out));
    out
}
