//! The order of bytes in this machine's numbers, beside that of files.
#![allow(dead_code)] // each program uses a part of it

use ztensor::reader::Component;

/// Elements of `width` bytes in this machine's order, as a little-endian machine has them.
pub fn little_endian(elements: &[u8], width: usize) -> Vec<u8> {
    let mut turned = elements.to_vec();
    if cfg!(target_endian = "big") {
        turned.chunks_mut(width).for_each(<[u8]>::reverse);
    }
    turned
}

/// Bytes of its elements; 1 of those whose dtype is unknown.
pub fn element_size(component: &Component<'_>) -> usize {
    component.dtype().map_or(1, |dtype| dtype.size())
}

/// Whether its elements are stored in this machine's order: others are never lent.
pub fn is_as_here(component: &Component<'_>) -> bool {
    element_size(component) == 1 || component.entry().is_big_endian() == cfg!(target_endian = "big")
}
