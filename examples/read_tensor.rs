//! Reads one tensor: its bytes without copying them, and its elements as f32 whatever they are stored
//! as:
//!
//!     cargo run --example read_tensor FILE NAME

use std::process::ExitCode;
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};

fn read(path: &str, name: &str) -> Result<()> {
    let file = File::open(path, &OpenOptions::default())?;
    let data = file.find(name).and_then(|object| object.component("data"));
    let data =
        data.ok_or_else(|| Error::new(Cause::NotFound, format_args!("{path}: no dense object {name:?}")))?;

    // Borrowed from the mapping where that can be, decoded into fresh memory where not.
    let bytes = data.load()?;
    println!("{name}: {} {:?}, {} bytes", data.dtype_name(), data.object().shape(), bytes.as_slice().len());

    let count = bytes.as_slice().len() / data.dtype().map_or(1, Dtype::size);
    let mut floats = vec![0; count * 4];
    data.read_as(Dtype::F32, &mut floats)?;
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
