//! Lists the objects of a .zt file:
//!
//!     cargo run --example inspect FILE

use std::process::ExitCode;
use ztensor::error::Result;
use ztensor::reader::{File, OpenOptions};

fn inspect(path: &str) -> Result<()> {
    let file = File::open(path, &OpenOptions::default())?;
    for object in file.objects() {
        println!("{}: {} {:?}", object.name(), object.format_name(), object.shape());
        for component in object.components() {
            print!("    {} {}", component.role(), component.dtype_name());
            if let Some(logical) = component.logical_name() {
                print!(" ({logical})");
            }
            match component.size() {
                Ok(size) => println!(", {size} bytes"),
                Err(why) => println!(", {why}"),
            }
        }
    }
    println!("{} objects, zTensor {}", file.object_count(), file.version());
    Ok(())
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: inspect FILE");
        return ExitCode::from(2);
    };
    match inspect(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
