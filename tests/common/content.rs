//! Compares files: the description of all objects, and the encoded parts.

use super::{compressible, digest_text, Sample};
use std::path::Path;
use ztensor::container::json;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Value;
use ztensor::reader::File;
use ztensor::writer::{Algorithm, Writer, WriterOptions};

/// The default options.
pub fn raw() -> WriterOptions {
    WriterOptions::default()
}

/// Options for 1.2: compressed, with a digest.
pub fn zstd() -> WriterOptions {
    WriterOptions { encoding: Encoding::Zstd, digest: Some(Algorithm::Sha256), ..raw() }
}

/// Options for zTensor 2: compressed, with a digest.
pub fn ztensor_2() -> WriterOptions {
    WriterOptions { version: Version::V2, digest: None, usual_digest: true, ..zstd() }
}

/// Writes an object of 1000 bytes.
pub fn new_object(name: &str) -> Sample {
    Sample::dense(name, Dtype::U16, &[5, 100], compressible(1000))
}

/// Appends the objects that `body` writes.
pub fn append(path: &Path, options: &WriterOptions, body: impl FnOnce(&mut Writer)) {
    let mut writer = Writer::append(path, options).unwrap_or_else(|e| panic!("{e}"));
    body(&mut writer);
    let summary = writer.finish().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(summary.file_size, std::fs::metadata(path).unwrap().len());
}

/// The description of all objects of a file, and their bytes.
pub fn contents(file: &File) -> Vec<String> {
    let json = |v: Option<Value<'_>>| v.map(|v| json::write(v).unwrap());
    let mut all = Vec::new();
    for object in file.objects() {
        all.push(format!(
            "{:?} {:?} {} {:?}",
            object.name(),
            object.shape(),
            object.format_name(),
            json(object.attributes())
        ));
        for c in object.components() {
            let place = (c.offset(), c.stored_size(), c.size().ok(), c.entry().is_size_declared());
            let names = (c.role(), c.dtype_name(), c.logical_name(), c.encoding_name(), c.digest());
            all.push(format!(
                "{names:?} {place:?} {:?}",
                c.load().map(|l| digest_text(Algorithm::Sha256, l.as_slice())).ok()
            ));
        }
    }
    all
}
