//! npz and npy: unchanged archives, and random members in an archive with matching headers and directory.
//! Released readers agree on files that both accept.
#![no_main]

use ztensor_fuzz::{peers, read};

/// A member with its local header, and its entry.
fn member(name: &[u8], method: u16, data: &[u8], size: u32, at: u32) -> (Vec<u8>, Vec<u8>) {
    let (stored, name_size) = (data.len() as u32, name.len() as u16);
    let mut common = Vec::new();
    for number in [20, 0, method, 0, 0] {
        common.extend(u16::to_le_bytes(number));
    }
    for number in [0, stored, size] {
        common.extend(u32::to_le_bytes(number));
    }
    common.extend(name_size.to_le_bytes());
    let local = [b"PK\x03\x04", &common[..], &[0; 2], name, data].concat();
    let entry = [b"PK\x01\x02\x14\0", &common[..], &[0; 12], &at.to_le_bytes(), name].concat();
    (local, entry)
}

fn look(bytes: &[u8]) {
    if let Some((file, _)) = read::everything_but_copies(bytes) {
        peers::compare_compat(bytes, &file);
        peers::compare_npyz(bytes, &file);
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [kind, split, rest @ ..] = input else { return };
    if input.starts_with(b"PK") || input.starts_with(b"\x93NUMPY") {
        look(input);
        return;
    }
    let split = rest.len() * usize::from(*split) / 256;
    let (first, second) = rest.split_at(split);
    let method = if kind & 1 == 0 { 0 } else { 8 };
    let size = if method == 0 { second.len() as u32 } else { first.len() as u32 * 4 };
    let array = [b"\x93NUMPY\x01\0", first].concat();
    let (mut file, mut directory) = member(b"a.npy", 0, &array, array.len() as u32, 0);
    let (local, entry) = member(b"b.npy", method, second, size, file.len() as u32);
    file.extend(local);
    directory.extend(entry);
    let (start, count) = (file.len() as u32, 2u16.to_le_bytes());
    file.extend(&directory);
    file.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count].concat());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0; 2]);
    look(&file);
});
