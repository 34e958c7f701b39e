//! Objects of a manifest, read as a writer encodes them.

use super::*;
use crate::memory::Budget;
use crate::model::manifest::Container;

#[test]
fn attributes_of_the_same_bytes_are_interned() {
    let map = |bits: u8| [&b"\xa1\x64bits"[..], &[bits]].concat();
    let bytes = [map(4), map(8), map(4), map(4), map(8)].concat();
    let frame = Frame::with_data_first(Container::V1_2, 64..64 + bytes.len() as u64, 1000);
    let budget = Budget::new(u64::MAX);
    let mut d = Decoder::new(&frame, &bytes, &budget);
    let kept: Vec<usize> = (0..5).map(|_| d.object_attributes().unwrap().unwrap().index()).collect();
    let second = d.manifest.values.size() / 2;
    assert_eq!(kept, [0, second, 0, 0, second]);
}
