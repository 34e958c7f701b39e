//! Writes a .zt file: a tensor in one call, a compressed one with attributes, and a tensor whose bytes are
//! written in pieces:
//!
//!     cargo run --example write_file FILE

use std::process::ExitCode;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::model::value::{Attributes, OwnedValue, ValueKind};
use ztensor::writer::{Algorithm, ComponentSpec, ObjectSpec, Summary, Writer, WriterOptions};

fn write(path: &str) -> Result<Summary> {
    let options = WriterOptions { digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
    let mut writer = Writer::create(path, &options)?;
    writer.set_attribute("made by", OwnedValue::text("write_file.rs")?.get())?;

    let weight: Vec<u8> = [1f32, 2., 3., 4., 5., 6.].iter().flat_map(|v| v.to_ne_bytes()).collect();
    let object = ObjectSpec { name: "weight", format: "dense", shape: &[2, 3] };
    writer.write_object(
        &object,
        Attributes::default(),
        &[(ComponentSpec::new("data", Dtype::F32), &weight)],
    )?;

    let object = ObjectSpec { name: "embedding", format: "dense", shape: &[16, 16] };
    let data = ComponentSpec {
        encoding: Some(Encoding::Zstd),
        digest: Some(Some(Algorithm::Sha256)),
        ..ComponentSpec::new("data", Dtype::F16)
    };
    let mut attributes = Attributes::default();
    attributes.set("trained", OwnedValue::scalar(ValueKind::Bool(true))?.get())?;
    writer.write_object(&object, attributes, &[(data, &[0; 512])])?;

    // A component may be larger than memory: only one piece is in memory at a time.
    writer
        .begin(&ObjectSpec { name: "counter", format: "dense", shape: &[100, 10] }, Attributes::default())?;
    writer.component(&ComponentSpec::new("data", Dtype::I32))?;
    for row in 0..100i32 {
        let piece: Vec<u8> = (0..10).flat_map(|i| (row * 10 + i).to_ne_bytes()).collect();
        writer.data(&piece)?;
    }
    writer.end()?;

    writer.finish() // only now the file exists, complete
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: write_file FILE");
        return ExitCode::from(2);
    };
    match write(&path) {
        Ok(summary) => {
            println!("{path}: {} objects, {} bytes", summary.objects, summary.file_size);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
