//! Appending to arbitrary and to generated files; then the append is cut off at an arbitrary byte.
#![no_main]

use arbitrary::{Result, Unstructured};
use ztensor_fuzz::{append, generate};

/// The front of the input makes the calls, the rest is the file or makes it.
fn run(input: &[u8]) -> Result<()> {
    let Some((&kind, input)) = input.split_first() else { return Ok(()) };
    let (calls, file) = input.split_at(input.len().min(usize::from(kind) * 4));
    let made;
    let old = if kind % 4 == 0 {
        file
    } else {
        made = generate::file(&mut Unstructured::new(file))?;
        &made.bytes
    };
    append::to(old, &mut Unstructured::new(calls))
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = run(input);
});
