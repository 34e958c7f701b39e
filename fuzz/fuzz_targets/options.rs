//! C functions with all kinds of option structs and descriptions, on generated files.
#![no_main]

use arbitrary::{Result, Unstructured};
use ztensor_fuzz::{c, c_read, c_write, generate, read};

/// The start of the input selects the calls, the rest generates the file.
fn run(input: &[u8]) -> Result<()> {
    let (calls, rest) = input.split_at(input.len() / 2);
    let made = generate::file(&mut Unstructured::new(rest))?;
    let u = &mut Unstructured::new(calls);
    let file = c_read::open(&made.bytes, u)?;
    let mut outcome = Ok(());
    if !file.is_null() {
        outcome = c_read::walk(file, &made.bytes, u);
    }
    let written = c_write::some(file, u);
    unsafe { c::zt_close(file) };
    if let Some(bytes) = written? {
        read::open(&bytes, false).unwrap_or_else(|e| panic!("the finished file: {e}"));
    }
    outcome?;
    c_read::repair(&made.bytes, u)
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = run(input);
});
