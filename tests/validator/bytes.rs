//! Types, encodings and digests.

use super::Checked;
use sha2::Digest as _;

/// The 13 dtypes of 1.2, their names before 1.1, and their widths.
const DTYPES: [(&str, &str, u64); 13] = [
    ("f64", "float64", 8),
    ("f32", "float32", 4),
    ("f16", "float16", 2),
    ("bf16", "bfloat16", 2),
    ("i64", "int64", 8),
    ("i32", "int32", 4),
    ("i16", "int16", 2),
    ("i8", "int8", 1),
    ("u64", "uint64", 8),
    ("u32", "uint32", 4),
    ("u16", "uint16", 2),
    ("u8", "uint8", 1),
    ("bool", "bool", 1),
];

/// The logical types of 1.2, their dtypes, and their names as dtypes of 1.1.
const TYPES: [(&str, &str, Option<&str>); 6] = [
    ("f8_e4m3fn", "u8", Some("f8_e4m3")),
    ("f8_e5m2", "u8", Some("f8_e5m2")),
    ("f8_e4m3fnuz", "u8", None),
    ("f8_e5m2fnuz", "u8", None),
    ("complex64", "f32", Some("complex64")),
    ("complex128", "f64", Some("complex128")),
];

pub fn width(dtype: &str) -> Option<u64> {
    DTYPES.iter().find(|(name, ..)| *name == dtype).map(|(.., width)| *width)
}

pub fn of_old_name(old: &str) -> Option<&'static str> {
    DTYPES.iter().find(|(_, name, _)| *name == old).map(|(name, ..)| *name)
}

/// The dtype and logical type for a dtype that only 1.1 has.
pub fn of_1_1(name: &str) -> Option<(&'static str, &'static str)> {
    TYPES.iter().find(|(.., old)| *old == Some(name)).map(|(logical, dtype, _)| (*dtype, *logical))
}

/// The dtype of a logical type, or None if it is unknown.
pub fn dtype_of(logical: &str) -> Option<&'static str> {
    TYPES.iter().find(|(name, ..)| *name == logical).map(|(_, dtype, _)| *dtype)
}

/// Stored elements per element, or None for an unknown type.
pub fn ratio(logical: Option<&str>) -> Option<u64> {
    match logical {
        None => Some(1),
        Some("complex64" | "complex128") => Some(2),
        Some(other) => dtype_of(other).map(|_| 1),
    }
}

/// Decodes frames. Fails if they have more than `due` bytes.
pub fn unzstd(stored: &[u8], due: Option<u64>) -> Checked<Vec<u8>> {
    let most = due.unwrap_or(1 << 30);
    let mut context = zstd_safe::DCtx::create();
    let largest = if usize::BITS == 32 { 30 } else { 31 }; // the largest window of zstd
    context.set_parameter(zstd_safe::DParameter::WindowLogMax(largest)).map_err(name)?;
    let mut input = zstd_safe::InBuffer::around(stored);
    let (mut decoded, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let mut output = zstd_safe::OutBuffer::around(&mut chunk[..]);
        let left = context.decompress_stream(&mut output, &mut input).map_err(name)?;
        let size = output.pos();
        decoded.extend_from_slice(&chunk[..size]);
        if decoded.len() as u64 > most {
            return Err(format!("its frames hold more than {most} bytes"));
        }
        if input.pos() == stored.len() {
            match (left, size) {
                (0, _) => return Ok(decoded),
                (_, 0) => return Err("its last frame ends early".into()),
                _ => {}
            }
        }
    }
}

fn name(code: usize) -> String {
    String::from(zstd_safe::get_error_name(code))
}

/// CRC-32C, one bit at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

/// Checks "algorithm:hex" against the stored bytes. An unknown algorithm cannot be checked.
pub fn check_digest(text: &str, stored: &[u8]) -> Checked<()> {
    let (algorithm, hex) = text.split_once(':').ok_or_else(|| format!("its digest is {text:?}"))?;
    let hex = hex.strip_prefix("0x").or(hex.strip_prefix("0X")).unwrap_or(hex).to_ascii_lowercase();
    if algorithm.is_empty() || hex.is_empty() || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!("its digest is {text:?}"));
    }
    let found = match algorithm {
        "crc32c" => format!("{:08x}", crc32c(stored)),
        "sha256" => sha2::Sha256::digest(stored).iter().map(|b| format!("{b:02x}")).collect(),
        _ => return Ok(()),
    };
    match format!("{hex:0>width$}", width = if algorithm == "crc32c" { 8 } else { 64 }) == found {
        true => Ok(()),
        false => Err(format!("its digest is {text:?}, its bytes have {found}")),
    }
}

#[test]
fn crc32c_has_the_check_value_of_its_definition() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}
