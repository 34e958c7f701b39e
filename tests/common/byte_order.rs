//! The byte order of this machine's numbers and of files.
#![allow(dead_code)] // each program uses a part of it

use ztensor::reader::Component;

/// Elements of `width` bytes in this machine's order, from little-endian elements.
pub fn little_endian(elements: &[u8], width: usize) -> Vec<u8> {
    let mut turned = elements.to_vec();
    if cfg!(target_endian = "big") {
        turned.chunks_mut(width).for_each(<[u8]>::reverse);
    }
    turned
}

/// The size of its elements in bytes; 1 if the dtype is unknown.
pub fn element_size(component: &Component<'_>) -> usize {
    component.dtype().map_or(1, |dtype| dtype.size())
}

/// Whether its elements are stored in this machine's order. Others are never borrowed.
pub fn is_as_here(component: &Component<'_>) -> bool {
    element_size(component) == 1 || component.entry().is_big_endian() == cfg!(target_endian = "big")
}
