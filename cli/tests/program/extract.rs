//! `zt extract` of types that NumPy does not have.

use crate::common;

use common::{data, folder, names_in, run};
use std::path::Path;

fn dtypes(path: &Path) -> Vec<(String, String)> {
    let listing = common::listing(path);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let of = |object: &serde_json::Value| {
        let data = &object["components"][0];
        let kind = if data["type"].is_null() { &data["dtype"] } else { &data["type"] };
        (text(&object["name"]), text(kind))
    };
    listing["objects"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn bf16_and_f8_are_numbers_in_numpy_or_keep_their_type_in_safetensors() {
    let folder = folder("extract-floats");
    let from = data().join("foreign/valid/amber-all-dtypes-rust.safetensors");
    let all = dtypes(&from);
    let floats: Vec<_> =
        all.iter().filter(|(_, kind)| kind == "bf16" || kind.starts_with("f8_e")).cloned().collect();
    assert!(floats.len() > 2, "{all:?}");
    for (name, kind) in &floats {
        let (arrays, one) =
            (folder.join(format!("{name}-arrays")), folder.join(format!("{name}.safetensors")));
        let ran = run(&[&"extract", &"--exact", &from, name, &"--to", &arrays]);
        ran.bad(&[&format!(
            "\"{kind}\"; --dtype f32 writes its numbers, --to FILE.safetensors keeps its type"
        )]);
        run(&[&"extract", &"--exact", &from, name, &"--to", &arrays, &"--dtype", &"f32"]).good();
        assert_eq!(names_in(&arrays), [format!("{name}.npy")]);
        assert_eq!(dtypes(&arrays.join(format!("{name}.npy")))[0].1, "f32");
        run(&[&"extract", &"--exact", &from, name, &"--to", &one]).good();
        assert_eq!(dtypes(&one), [(name.clone(), kind.clone())]);
        let bytes = |path: &Path| common::zt().arg("cat").arg(path).arg(name).output().unwrap().stdout;
        assert_eq!(bytes(&one), bytes(&from), "{name}");
    }
    // It replaces nothing without --force.
    let one = folder.join(format!("{}.safetensors", floats[0].0));
    run(&[&"extract", &from, &floats[0].0, &"--to", &one]).bad(&["--force"]);
}

#[test]
fn blocks_become_numbers_in_numpy_and_in_safetensors() {
    let folder = folder("extract-blocks");
    let from = data().join("foreign/valid/amber-all-types-py.gguf");
    let all = dtypes(&from);
    let (name, _) = all.iter().find(|(_, kind)| kind == "gguf.q8_0").unwrap();
    let one = folder.join("one.safetensors");
    run(&[&"extract", &from, name, &"--to", &folder.join("arrays")])
        .bad(&["\"gguf.q8_0\"; --dtype f32 writes its numbers, --to FILE.zt keeps its type"]);
    run(&[&"extract", &from, name, &"--to", &one]).bad(&["\"gguf.q8_0\"", "--dtype f16 converts it"]);
    run(&[&"extract", &from, name, &"--to", &one, &"--dtype", &"bf16"]).good();
    assert_eq!(dtypes(&one), [(name.clone(), String::from("bf16"))]);
    let zt = folder.join("one.zt");
    run(&[&"extract", &from, name, &"--to", &zt]).good();
    assert_eq!(dtypes(&zt), [(name.clone(), String::from("gguf.q8_0"))]);
}

#[test]
fn the_name_of_a_format_is_neither_a_folder_nor_a_file() {
    let from = data().join("foreign/valid/amber-all-types-py.gguf");
    let ran = run(&[&"extract", &from, &"--to", &"safetensors"]);
    assert!(ran.status == 2 && ran.err.contains("FILE.safetensors"), "{ran:?}");
}
