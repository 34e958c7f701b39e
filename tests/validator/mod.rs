//! A second reader of 0.1, 1.1 and 1.2 files, written only from the texts of the spec. It shares no code with
//! the library, reads everything, is slow, and rejects everything that a writer must not write.
#![allow(dead_code)] // each program uses a part of it

mod bytes;
pub mod contents;
mod manifest;

use ciborium::Value;

/// The contents of a valid file.
#[derive(Clone, Debug)]
pub struct Valid {
    /// (0, 1), (1, 1), (1, 2) or later.
    pub version: (u32, u32),
    pub attributes: Vec<(Value, Value)>,
    pub objects: Vec<Object>,
    /// Bytes outside of all components that are not zero.
    pub padding_nonzero: usize,
}

#[derive(Clone, Debug)]
pub struct Object {
    pub name: String,
    pub shape: Vec<u64>,
    pub format: String,
    pub attributes: Vec<(Value, Value)>,
    pub parts: Vec<Part>,
}

/// A component with its decoded bytes.
#[derive(Clone, Debug)]
pub struct Part {
    pub role: String,
    /// Its name in 1.2.
    pub dtype: String,
    /// The logical type, if it is not the dtype itself.
    pub logical: Option<String>,
    /// Little-endian.
    pub bytes: Vec<u8>,
    pub stored: std::ops::Range<usize>,
}

/// An entry of the manifest.
#[derive(Clone, Debug)]
struct Entry {
    role: String,
    dtype: String,
    logical: Option<String>,
    offset: u64,
    length: u64,
    decoded: Option<u64>,
    zstd: bool,
    big_endian: bool,
    digest: Option<String>,
}

/// An object in the manifest, with the entries of its components.
type Listed = (Object, Vec<Entry>);

type Checked<T> = Result<T, String>;

/// The file's contents, or the first rule that it breaks.
pub fn validate(file: &[u8]) -> Checked<Valid> {
    let (old, start, end) = frame(file)?;
    let listed = manifest::read(&file[start..end], old)?;
    let mut valid = Valid {
        version: listed.version,
        attributes: listed.attributes,
        objects: Vec::new(),
        padding_nonzero: 0,
    };
    let magic = 0..8;
    let mut ranges = vec![magic];
    for (mut object, entries) in listed.objects {
        for entry in entries {
            let at = format!("object {:?} component {:?}", object.name, entry.role);
            let part = part(file, start, &object, entry, valid.version, &mut ranges);
            object.parts.push(part.map_err(|e| format!("{at}: {e}"))?);
        }
        contents::check(&object, valid.version).map_err(|e| format!("object {:?}: {e}", object.name))?;
        valid.objects.push(object);
    }
    valid.padding_nonzero = padding(file, start, ranges)?;
    Ok(valid)
}

/// Whether it is 0.1, and the position of the manifest.
fn frame(file: &[u8]) -> Checked<(bool, usize, usize)> {
    let old = file.starts_with(b"ZTEN0001");
    if !old && !file.starts_with(b"ZTEN1000") {
        return Err("the file does not start with a magic".into());
    }
    let end = file.len().checked_sub(if old { 8 } else { 16 }).filter(|end| *end >= 8).ok_or("too short")?;
    if !old && &file[end + 8..] != b"ZTEN1000" {
        return Err("the file does not end with a magic".into());
    }
    let size = u64::from_le_bytes(file[end..end + 8].try_into().unwrap());
    let start = usize::try_from(size).ok().and_then(|size| end.checked_sub(size)).filter(|start| *start >= 8);
    match start {
        Some(start) if size <= 1 << 30 => Ok((old, start, end)),
        _ => Err(format!("a manifest of {size} bytes")),
    }
}

/// Bytes between the components that are not zero. Components have identical ranges or do not overlap.
fn padding(file: &[u8], start: usize, mut ranges: Vec<std::ops::Range<usize>>) -> Checked<usize> {
    ranges.retain(|r| !r.is_empty());
    ranges.sort_by_key(|r| (r.start, r.end));
    ranges.dedup();
    ranges.push(start..start);
    let mut count = 0;
    for pair in ranges.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        if a.end > b.start {
            return Err(format!("{a:?} and {b:?} overlap"));
        }
        count += file[a.end..b.start].iter().filter(|byte| **byte != 0).count();
    }
    Ok(count)
}

fn part(
    file: &[u8],
    start: usize,
    object: &Object,
    entry: Entry,
    version: (u32, u32),
    ranges: &mut Vec<std::ops::Range<usize>>,
) -> Checked<Part> {
    let end = entry.offset.checked_add(entry.length).ok_or("its range exceeds 64 bits")?;
    if entry.offset % 64 != 0 {
        return Err(format!("its offset is {}", entry.offset));
    }
    if end > file.len() as u64 || entry.length > 0 && (entry.offset < 64 || end > start as u64) {
        return Err(format!("its bytes are {} to {end}, the manifest is at {start}", entry.offset));
    }
    let stored = entry.offset as usize..end as usize;
    ranges.push(stored.clone());
    let bytes = &file[stored.clone()];
    if let Some(digest) = &entry.digest {
        bytes::check_digest(digest, bytes)?;
    }
    let width = bytes::width(&entry.dtype).ok_or_else(|| format!("its dtype is {:?}", entry.dtype))?;
    let dense = object.format == "dense" && entry.role == "data";
    let by_shape = match bytes::ratio(entry.logical.as_deref()) {
        Some(ratio) if dense => Some(contents::dense_size(&object.shape, width * ratio)?),
        _ => None,
    };
    if entry.zstd && entry.decoded.is_none() && version >= (1, 2) {
        return Err("it is zstd without uncompressed_length".into());
    }
    if let (Some(reported), Some(due)) = (entry.decoded, by_shape) {
        if reported != due {
            return Err(format!("it decodes to {reported} bytes, its shape needs {due}"));
        }
    }
    let mut decoded =
        if entry.zstd { bytes::unzstd(bytes, entry.decoded.or(by_shape))? } else { bytes.to_vec() };
    for due in [entry.decoded, by_shape].into_iter().flatten() {
        if decoded.len() as u64 != due {
            return Err(format!("it has {} bytes, {due} are due", decoded.len()));
        }
    }
    if entry.big_endian {
        decoded.chunks_mut(width as usize).for_each(<[u8]>::reverse);
    }
    Ok(Part { role: entry.role, dtype: entry.dtype, logical: entry.logical, bytes: decoded, stored })
}
