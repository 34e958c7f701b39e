//! What the writer needs to know about a component to copy it.

use super::copy_windows::for_each_window;
use super::file::File;
use super::object::{Component, Object};
use crate::codec::{Coding, Decoding, KnownSize};
use crate::error::{broken, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::Encoding;

/// Identifies the stored bytes of a component and how they are decoded: two components with equal values have
/// equal elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StoredPlace {
    /// The number of the open file, the number of the part, the offset of the first byte in it, and the size.
    pub bytes: (u64, usize, u64, u64),
    dtype: Option<Dtype>,
    logical: Option<Logical>,
    encoding: Encoding,
    is_big_endian: bool,
}

impl File {
    /// A number that no other file of this process has or had.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Object<'_> {
    pub(crate) fn file_number(&self) -> u64 {
        self.file.number
    }
}

impl Component<'_> {
    /// Calls `body` with its stored bytes front to back.
    pub(crate) fn for_each_stored(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.file.unless_changed(self.bytes_part(), for_each_window(&self.stored()?, body))
    }

    /// Whether its stored bytes can be borrowed: they are mapped or in memory.
    pub(crate) fn borrows_stored(&self) -> bool {
        self.stored().is_ok_and(|stored| stored.borrow().is_some())
    }

    /// Whether the headers of its frames give `size` as the decoded size. False if they give no size, an
    /// error if they give another. True for raw components.
    pub(crate) fn frames_give_size(&self, size: u64) -> Result<bool> {
        let codec = match Coding::of(self.entry.encoding) {
            Some(Coding::Compressed(codec)) => codec,
            Some(Coding::Raw) | None => return Ok(true),
        };
        let known = self.size_by_frames(codec).map_err(|e| self.wrap(e))?;
        match known {
            KnownSize::Exact(exact) if exact == size => Ok(true),
            KnownSize::AtMost(most) if size <= most => Ok(false),
            KnownSize::Exact(other) | KnownSize::AtMost(other) => Err(self.wrap(broken!(
                codec.length_rule(),
                "its decoded size is {size} bytes, but its {} frames hold {other}",
                codec.name()
            ))),
        }
    }

    /// Decodes it, and calls `check` with each chunk and the position of the chunk's first element.
    pub(crate) fn check_decoded_chunks(&self, check: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let width = self.entry.width() as u64;
        let mut base = 0u64;
        self.for_each_decoded(&mut |chunk| {
            check(chunk, base)?;
            base = base.saturating_add((chunk.len() as u64).checked_div(width).unwrap_or(0));
            Ok(())
        })
    }

    /// Whether files of this container give the sizes of components.
    pub fn file_states_sizes(&self) -> bool {
        self.file_part().capabilities().states_sizes
    }

    /// Whether its stored bytes are its decoded bytes, so that decoding cannot fail.
    pub(crate) fn is_raw(&self) -> bool {
        self.known_decoding() == Some(Decoding::Raw)
    }

    /// Whether its stored bytes alone do not determine its elements, because these have strides or are
    /// compressed together with a header.
    pub(crate) fn is_array_of_archive(&self) -> bool {
        self.array().is_some()
    }

    /// Identifies its stored bytes. `None` if these alone do not determine its elements.
    pub(crate) fn stored_place(&self) -> Option<StoredPlace> {
        let entry = self.entry;
        let place = StoredPlace {
            bytes: (self.file.number, self.part_number(), entry.offset, entry.stored_size),
            dtype: entry.dtype,
            logical: entry.known_logical(),
            encoding: entry.encoding,
            is_big_endian: entry.is_big_endian(),
        };
        Some(place).filter(|_| !self.is_array_of_archive())
    }

    pub(crate) fn any_byte_is_true(&self) -> bool {
        self.file_part().capabilities().any_byte_is_true
    }

    /// Whether it has a bool byte that is neither 0 nor 1.
    pub(crate) fn has_noncanonical_bools(&self) -> Result<bool> {
        let mut odd = false;
        self.for_each_decoded(&mut |chunk| {
            odd |= chunk.iter().any(|b| *b > 1);
            Ok(())
        })?;
        Ok(odd)
    }
}
