//! `zt convert` of files that say more than they have: sizes, places, padding.

mod common;

use common::ztensor_1::{object, write};
use common::{folder, names_in, run};
use serde_json::{json, Value};

/// A compressed tensor that says that it decodes to so many bytes.
fn claims(size: u64) -> Value {
    let data = json!({
        "dtype": "f32", "offset": 64, "length": 64, "encoding": "zstd", "uncompressed_length": size
    });
    object("dense", &json!([size / 4]), &json!({ "data": data }))
}

fn numbered(count: usize, one: &Value) -> Value {
    Value::Object((0..count).map(|at| (format!("t{at:06}"), one.clone())).collect())
}

/// Whatever is written, the sum of sizes leaves 64 bits in none of its counts.
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
        run(&[&"convert", &"--force", &"--shard-size", &"1M", &from, &to]).good();
        run(&[&"convert", &"--force", &"--shard-size", &"1M", &"--dtype", &"f64", &from, &to]);
    }
    assert!(names_in(&folder).iter().all(|name| name.ends_with(".zt")), "{:?}", names_in(&folder));
}
