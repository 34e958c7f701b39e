//! Appends to random and to generated files, then truncates the append at a random byte.
#![no_main]

use arbitrary::{Result, Unstructured};
use ztensor_fuzz::{append, generate};

/// The start of the input selects the calls. The rest is the file, or generates it.
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
