//! Reads one tensor: its bytes without a copy, and its elements as f32 from any dtype:
//!
//!     cargo run --example read_tensor FILE NAME

use std::process::ExitCode;
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};

fn read(path: &str, name: &str) -> Result<()> {
    let file = File::open(path, &OpenOptions::default())?;
    let object = file.required(name)?;
    let data = object
        .component("data")
        .ok_or_else(|| Error::new(Cause::Unsupported, format_args!("{path}: {name:?} is not an array")))?;

    // Borrowed from the mapping if possible, otherwise decoded into new memory.
    let bytes = data.load()?;
    println!("{name}: {} {:?}, {} bytes", data.dtype_name(), object.shape(), bytes.as_slice().len());

    let size = usize::try_from(object.size_as(Dtype::F32)?);
    let mut floats =
        vec![0; size.map_err(|_| Error::new(Cause::OutOfMemory, format_args!("{name:?} is too large")))?];
    object.read_as(Dtype::F32, &mut floats)?;
    let values: Vec<f32> =
        floats.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
    println!("first: {:?}", &values[..values.len().min(4)]);
    println!("sum: {}", values.iter().map(|v| f64::from(*v)).sum::<f64>());
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else {
        eprintln!("usage: read_tensor FILE NAME");
        return ExitCode::from(2);
    };
    match read(path, name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
