//! Zip archives around an input.

/// An archive of stored members, in the order of the list.
pub fn stored(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in members {
        let at = out.len() as u32;
        let size = (data.len() as u32).to_le_bytes();
        let numbers =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0], &crc32(data).to_le_bytes()[..], &size, &size].concat();
        let name_size = (name.len() as u16).to_le_bytes();
        out.extend([b"PK\x03\x04", &numbers[..], &name_size, &[0; 2], name.as_bytes(), data].concat());
        let places = [&[0; 12], &at.to_le_bytes()[..]].concat();
        directory.extend([b"PK\x01\x02\x14\0", &numbers[..], &name_size, &places, name.as_bytes()].concat());
    }
    let (start, size) = (out.len() as u32, directory.len() as u32);
    let count = (members.len() as u16).to_le_bytes();
    out.extend(directory);
    out.extend(
        [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size.to_le_bytes(), &start.to_le_bytes(), &[0; 2]]
            .concat(),
    );
    out
}

/// The first pickle of a checkpoint of PyTorch before 1.6.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// A PyTorch checkpoint with that pickle, and storages of 16 and 64 bytes. If the input starts like a file
/// from before 1.6, the input is the file.
pub fn checkpoint(pickle: &[u8]) -> Vec<u8> {
    if pickle.starts_with(LEGACY) {
        return pickle.to_vec();
    }
    let bytes: [u8; 64] = std::array::from_fn(|at| at as u8);
    stored(&[("a/data.pkl", pickle), ("a/version", b"3\n"), ("a/data/0", &bytes[..16]), ("a/data/1", &bytes)])
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(sum & 1)))
    })
}
