//! An encoding that this version does not know: stored bytes are never returned as decoded bytes.

use crate::common;

use common::{compressible, data, numbers, written};
use std::cell::Cell;
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Attributes;
use ztensor::reader::{File, Hyperslab, OpenOptions, Selection, VerifyOptions, VerifyReport};
use ztensor::writer::{Algorithm, ComponentSpec, DenseSpec, ObjectSpec, Recode, Writer, WriterOptions};

/// The number of elements of the dense object.
const COUNT: usize = 300_000;

/// Renames the file's encoding to an unknown name of the same length.
fn bytes_of(version: Version) -> Vec<u8> {
    let options = WriterOptions {
        version,
        encoding: Encoding::Zstd,
        digest: Some(Algorithm::Crc32c),
        frame_size: 64 << 10,
        ..WriterOptions::default()
    };
    let mut bytes = written(&options, |writer| {
        let dense = compressible(COUNT * 4);
        let request = DenseSpec::new("dense", Dtype::F32, &[COUNT as u64], &dense);
        writer.write_batch(&[request]).unwrap();
        if version == Version::V0_1 {
            return;
        }
        writer
            .begin(&ObjectSpec { name: "csr", format: "sparse_csr", shape: &[1, 9] }, Attributes::default())
            .unwrap();
        for (role, dtype, bytes) in [
            ("values", Dtype::F32, compressible(8)),
            ("indices", Dtype::U64, numbers(&[1, 2])),
            ("indptr", Dtype::U64, numbers(&[0, 2])),
        ] {
            writer.component_whole(&ComponentSpec::new(role, dtype), &bytes).unwrap();
        }
        writer.end().unwrap();
    });
    let end = bytes.len();
    let start = end - 16 - common::manifest_bytes(&bytes).len();
    let mut renamed = 0;
    for at in start..end - 4 {
        if &bytes[at..at + 4] == b"zstd" {
            bytes[at..at + 4].copy_from_slice(b"zlz9");
            renamed += 1;
        }
    }
    assert_eq!(renamed, if version == Version::V0_1 { 1 } else { 4 });
    bytes
}

fn is_refused<T>(what: &str, outcome: Result<T>) {
    let error: Error = outcome.err().unwrap_or_else(|| panic!("{what} gave bytes"));
    assert_eq!(error.cause(), Cause::Unsupported, "{what}: {error}");
    assert!(error.to_string().contains("zlz9"), "{what}: {error}");
}

fn every_route_is_refused(file: &File) {
    let dense = file.find("dense").unwrap();
    let component = data(file, "dense");
    assert_eq!(component.encoding(), Encoding::Other);
    let mut dst = vec![0x5A; COUNT * 8];
    is_refused("read", component.read(&mut dst));
    for (offset, length) in [(0, 0), (0, 1), (3, 100), (0, COUNT * 4)] {
        is_refused("read_range", component.read_range(offset, &mut dst[..length]));
    }
    for to in Dtype::ALL {
        is_refused("read_as", dense.read_as(to, &mut dst));
    }
    is_refused("load", component.load().map(drop));
    is_refused("borrow", component.borrow());
    is_refused("tensor_view", dense.tensor_view().map(drop));
    let whole = Hyperslab { start: &[0], count: &[COUNT as u64], step: None };
    let strided = Hyperslab { start: &[1], count: &[9], step: Some(&[7]) };
    for slab in [&whole, &strided] {
        is_refused("read_slice", dense.read_slice(slab, &mut dst));
    }
    let decoded = Cell::new(0);
    let count = component.for_each_decoded(&mut |chunk| {
        decoded.set(decoded.get() + chunk.len());
        Ok(())
    });
    is_refused("for_each_decoded", count);
    assert_eq!(decoded.get(), 0);
    let part = Selection::Range { offset: 0, length: 16 };
    for part in [Selection::Whole, part, Selection::Slab(whole), Selection::Slab(strided)] {
        is_refused("request", component.request(&part, &mut dst, 0).map(drop));
    }
    assert!(dst.iter().all(|byte| *byte == 0x5A), "stored bytes were returned");
    let caps = component.caps();
    assert!(!(caps.map || caps.read || caps.range || caps.direct), "{caps:?}");
    component.verify_digest().unwrap(); // digests of stored bytes do not need a codec
    let contents = VerifyOptions { threads: 1, ..VerifyOptions::default() };
    is_refused("verify", file.verify(&contents, &|_, _| true, &mut VerifyReport::default()));
    if let Some(csr) = file.find("csr") {
        is_refused("csr_view", csr.csr_view().map(drop));
    }
}

#[test]
fn every_route_to_decoded_bytes_is_refused() {
    let folder = common::Folder::new();
    for version in [Version::V0_1, Version::V1_1, Version::V1_2] {
        let bytes = bytes_of(version);
        let path = folder.path("unknown.zt");
        std::fs::write(&path, &bytes).unwrap();
        every_route_is_refused(&common::open(bytes));
        every_route_is_refused(&File::open(&path, &OpenOptions::default()).unwrap());
    }
}

/// A copy keeps the stored bytes and the encoding's name, and does not decode them.
#[test]
fn a_copy_keeps_the_encoding() {
    let source = common::open(bytes_of(Version::V1_2));
    let stored = data(&source, "dense").stored_size();
    for encoding in [None, Some(Encoding::Raw), Some(Encoding::Zstd)] {
        let bytes = written(&WriterOptions::default(), |writer| {
            let recode = Recode { encoding, ..Recode::default() };
            writer.copy_as(source.find("dense").unwrap(), "copy", &recode).unwrap();
        });
        let copy = common::open(bytes);
        let component = data(&copy, "copy");
        assert_eq!((component.encoding_name(), component.stored_size()), ("zlz9", stored), "{encoding:?}");
    }
}

/// The encoding cannot be written by any call, because there is no codec.
#[test]
fn it_cannot_be_written() {
    let bytes = written(&WriterOptions::default(), |writer: &mut Writer| {
        let encoding = Some(Encoding::Other);
        let request = DenseSpec { encoding, ..DenseSpec::new("dense", Dtype::U8, &[4], b"abcd") };
        for requests in [&[request][..], &[request, request]] {
            let refused = writer.write_batch(requests).unwrap_err();
            assert_eq!(refused.cause(), Cause::InvalidArgument, "{refused}");
        }
        writer
            .begin(&ObjectSpec { name: "object", format: "dense", shape: &[4] }, Attributes::default())
            .unwrap();
        let spec = ComponentSpec { encoding, ..ComponentSpec::new("data", Dtype::U8) };
        for outcome in [writer.component(&spec), writer.component_whole(&spec, b"abcd")] {
            assert_eq!(outcome.unwrap_err().cause(), Cause::InvalidArgument);
        }
        writer.component_whole(&ComponentSpec::new("data", Dtype::U8), b"abcd").unwrap();
        writer.end().unwrap();
    });
    assert_eq!(common::open(bytes).objects().len(), 1);
}
