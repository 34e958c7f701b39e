//! `zt convert` of files with wrong sizes, offsets and padding.

use crate::common;

use common::ztensor_1::{object, write};
use common::{folder, names_in, run};
use serde_json::{json, Value};
use std::path::Path;

/// A compressed tensor that declares this decoded size.
fn claims(size: u64) -> Value {
    let data = json!({
        "dtype": "f32", "offset": 64, "length": 64, "encoding": "zstd", "uncompressed_length": size
    });
    object("dense", &json!([size / 4]), &json!({ "data": data }))
}

fn numbered(count: usize, one: &Value) -> Value {
    Value::Object((0..count).map(|at| (format!("t{at:06}"), one.clone())).collect())
}

/// A tensor without elements.
fn nothing() -> Value {
    object("dense", &json!([0]), &json!({ "data": { "dtype": "f32", "offset": 64, "length": 0 } }))
}

/// The size of a GGUF file before the data, for this number of tensors.
fn data_start(count: usize) -> usize {
    (24 + count * (8 + 7 + 4 + 8 + 4 + 8)).next_multiple_of(32)
}

fn origin(more: &Value) -> Value {
    let mut origin = json!({ "container": "GGUF", "version": 3, "keys": [] });
    more.as_object().unwrap().iter().for_each(|(key, value)| origin[key] = value.clone());
    json!({ "ztensor.origin": origin })
}

/// For every kind of output, the sum of sizes must not overflow 64 bits.
#[test]
fn sizes_that_no_file_has_are_refused() {
    let folder = folder("hostile-sizes");
    let from = folder.join("a.zt");
    for (count, size) in [(5, 1 << 62), (2, u64::MAX - 3), (1, u64::MAX - 3), (3, 1 << 60)] {
        write(&from, &json!({}), &numbered(count, &claims(size)));
        for name in ["a.safetensors", "a.gguf", "a.npz"] {
            let to = folder.join(name);
            for options in [&[][..], &["--dtype", "f64"], &["--shard-size", "1M"]] {
                if name == "a.npz" && options.contains(&"1M") {
                    continue;
                }
                let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert"];
                options.iter().for_each(|option| arguments.push(option));
                arguments.extend([&from as &dyn AsRef<_>, &to]);
                run(&arguments).bad(&["a."]);
            }
        }
        let to = folder.join("b.zt");
        run(&[&"convert", &"--shard-size", &"1M", &from, &to]).bad(&["a.zt", "zstd frame"]);
        run(&[&"convert", &"--shard-size", &"1M", &"--dtype", &"f64", &from, &to]).bad(&["a.zt"]);
    }
    assert_eq!(names_in(&folder), ["a.zt"]);
}

fn size_of_copy(from: &Path, to: &Path) -> u64 {
    run(&[&"convert", &"--force", &from, &to]).good();
    to.metadata().unwrap().len()
}

/// The original file may have had padding, but the output must not fill a disk with it.
#[test]
fn padding_between_tensors_without_bytes_has_a_limit() {
    const COUNT: usize = 100;
    let folder = folder("hostile-padding");
    let (from, to) = (folder.join("a.zt"), folder.join("a.gguf"));
    for (step, is_taken) in [(4096, true), (1 << 17, true), (1 << 20, false), (1 << 24, false)] {
        let offsets: Vec<usize> = (0..COUNT).map(|at| at * step).collect();
        let start = data_start(COUNT);
        write(
            &from,
            &origin(&json!({ "offsets": offsets, "data_start": start })),
            &numbered(COUNT, &nothing()),
        );
        let expected = if is_taken { start + (COUNT - 1) * step } else { start };
        assert_eq!(size_of_copy(&from, &to), expected as u64, "{step}");
    }
}

/// So many pieces between so many tensors that searching all pieces for each tensor would take minutes.
#[test]
fn pieces_of_padding_are_looked_at_once() {
    const COUNT: usize = 100_000;
    let folder = folder("hostile-pieces");
    let (from, to) = (folder.join("a.zt"), folder.join("a.gguf"));
    let start = data_start(COUNT);
    let late = json!([1_u64 << 40, "cbor:40"]);
    let mut pieces = vec![late; COUNT];
    pieces[7] = json!([start - 2, "cbor:420102"]);
    let origin = origin(&json!({ "data_start": start, "size": start + 64, "padding": pieces }));
    write(&from, &origin, &numbered(COUNT, &nothing()));
    assert_eq!(size_of_copy(&from, &to), start as u64 + 64);
    let bytes = std::fs::read(&to).unwrap();
    assert_eq!(bytes[start - 2..start + 2], [1, 2, 0, 0]);
}
