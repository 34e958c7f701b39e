//! Hyperslabs of dense objects, in bytes.

use super::batch::{Hyperslab, Selection};
use super::object::{Component, Object};
use crate::error::{fail, Result};
use crate::load::Slab;
use crate::model::dtype::Block;

/// From so many bytes on a slab is worth several threads.
const MIN_THREADED: usize = 1 << 20;

impl Object<'_> {
    /// Fills the front of `dst` with the slab's elements, row-major and without gaps.
    pub fn read_slice(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<()> {
        if !self.format().is_array() {
            let format = self.format_name();
            return Err(
                self.wrap(fail!(Unsupported, "its format is {format:?}; only dense objects can be sliced"))
            );
        }
        let data = self.required("data")?;
        data.read_slab(slab, dst)
    }
}

impl Component<'_> {
    /// The slab in bytes of this component.
    pub(super) fn slab(&self, slab: &Hyperslab<'_>) -> Result<Slab> {
        let Some(block) = self.entry.block() else {
            return Err(match self.entry.dtype {
                None => fail!(Unsupported, "its dtype {:?} is unknown", self.dtype_name()),
                Some(_) => {
                    let name = self.logical_name().unwrap_or_default();
                    fail!(Unsupported, "its type {name:?} is unknown, so its elements cannot be separated")
                }
            });
        };
        self.check_shape_size()?;
        let shape = self.file.manifest.shape(self.object);
        match block.elements {
            1 => Slab::new(shape, slab.start, slab.count, slab.step, block.bytes),
            _ => slab_of_blocks(shape, slab, block),
        }
    }

    /// Fills the front of `dst` with the slab: a large one on several threads.
    fn read_slab(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<()> {
        let part = self.selected(&Selection::Slab(*slab)).map_err(|e| self.wrap(e))?;
        let threads = if dst.len() < MIN_THREADED { 1 } else { self.threads() };
        self.run(part, None, dst, threads)
    }
}

/// A slab whose borders in the last dimension are borders of blocks.
fn slab_of_blocks(shape: &[u64], slab: &Hyperslab<'_>, block: Block) -> Result<Slab> {
    let (rank, of) = (shape.len(), block.elements);
    if slab.start.len() != rank || slab.count.len() != rank || slab.step.is_some_and(|s| s.len() != rank) {
        return Slab::new(shape, slab.start, slab.count, slab.step, block.bytes);
        // which says so
    }
    let step = slab.step.and_then(|step| step.last()).copied().unwrap_or(1);
    let last = [shape.last(), slab.start.last(), slab.count.last()].map(|n| n.copied().unwrap_or(0));
    let [dimension, start, count] = last;
    if rank == 0 || !block.divides(dimension) {
        return Err(fail!(
            Unsupported,
            "its rows of {dimension} elements are no whole number of blocks of {of}, so they cannot be separated"
        ));
    }
    // A single element or none has no step.
    if !block.divides(start) || !block.divides(count) || (step != 1 && count > 0) {
        return Err(fail!(
            InvalidArgument,
            "the last dimension's start {start}, count {count} and step {step} do not keep to blocks of {of} elements"
        ));
    }
    let in_blocks = |numbers: &[u64]| -> Result<Vec<u64>> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(numbers.len())?;
        copy.extend_from_slice(numbers);
        if let Some(last) = copy.last_mut() {
            *last = last.checked_div(of).unwrap_or(0);
        }
        Ok(copy)
    };
    Slab::new(&in_blocks(shape)?, &in_blocks(slab.start)?, &in_blocks(slab.count)?, slab.step, block.bytes)
}
