//! Formats that the library does not open but `zt` reads. They are recognised by their content.

#[cfg(feature = "compat")]
use crate::failure::Failure;
use std::fs::File as SystemFile;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::File;

/// One of these formats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Hdf5,
    Onnx,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::Hdf5 => "an HDF5 file",
            Format::Onnx => "an ONNX model",
        }
    }
}

/// Opens such a file; `None` if the file has another format.
pub fn open(path: &Path) -> Result<Option<File>> {
    let Ok(Some(format)) = detect(path) else { return Ok(None) };
    match format {
        #[cfg(feature = "compat")]
        Format::Hdf5 | Format::Onnx => match crate::compat::open(path, format.name()) {
            Ok(file) => Ok(Some(file)),
            Err(Failure::Interrupted(_)) => Err(Error::new(Cause::Cancelled, format_args!("interrupted"))),
            Err(why) => Err(Error::new(Cause::NotZtensor, format_args!("{}", why.text()))),
        },
        #[cfg(not(feature = "compat"))]
        Format::Hdf5 | Format::Onnx => {
            let name = format.name();
            Err(Error::new(
                Cause::Unsupported,
                format_args!("it is {name}, which zt reads if it is built with the cargo feature \"compat\""),
            ))
        }
    }
}

fn detect(path: &Path) -> std::io::Result<Option<Format>> {
    const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
    let mut file = SystemFile::open(path)?;
    let size = file.metadata()?.len();
    let mut head = Vec::new();
    file.by_ref().take(HDF5.len() as u64).read_to_end(&mut head)?;
    if head == HDF5 {
        return Ok(Some(Format::Hdf5));
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(is_onnx(&mut BufReader::new(file), size)?.then_some(Format::Onnx))
}

/// Whether a file is a single protobuf message with the fields of an ONNX model, including a graph. No magic
/// marks such a file: every field has to fit, up to the end of the file.
fn is_onnx(file: &mut BufReader<SystemFile>, size: u64) -> std::io::Result<bool> {
    const GRAPH: u64 = 7;
    /// More than any model has: each of its functions is a field.
    const MAX_FIELDS: usize = 1 << 16;
    let (mut at, mut has_graph) = (0, false);
    for _ in 0..MAX_FIELDS {
        if at == size {
            return Ok(has_graph);
        }
        let Some(tag) = varint(file, &mut at)? else { return Ok(false) };
        match (tag >> 3, tag & 7) {
            (1 | 5, 0) => {
                if varint(file, &mut at)?.is_none() {
                    return Ok(false);
                }
            }
            (field @ (2 | 3 | 4 | 6 | 7 | 8 | 14 | 20 | 25 | 26), 2) => {
                let Some(length) = varint(file, &mut at)? else { return Ok(false) };
                let Some(end) = at.checked_add(length).filter(|end| *end <= size) else { return Ok(false) };
                let Ok(skipped) = i64::try_from(length) else { return Ok(false) };
                file.seek_relative(skipped)?;
                at = end;
                has_graph |= field == GRAPH;
            }
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// A number with seven bits in each byte. `None` if the file ends inside it or it has more than 64 bits.
fn varint(file: &mut impl BufRead, at: &mut u64) -> std::io::Result<Option<u64>> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        if file.read(&mut byte)? == 0 {
            return Ok(None);
        }
        *at += 1;
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
