//! `zt split`: a root and its shards have the contents of the input, and `zt merge` joins them into one file.

use crate::common;

use common::{data, folder, listing, names_in, run};
use std::path::Path;

/// Checks that both have the same values.
fn assert_same(a: &Path, b: &Path) {
    let ran = run(&[&"diff", &a, &b]);
    assert!(ran.status == 0 && ran.out.ends_with("the same\n"), "{ran:?}");
    // Only other files in the model's folder are reported.
    assert!(ran.err.lines().all(|line| line.starts_with("zt: passed over: ")), "{ran:?}");
}

#[test]
fn a_model_is_split_and_merged() {
    let folder = folder("split");
    let (input, output) = (data().join("v1.2/py-1.2.3-1000.zt"), folder.join("m.zt"));
    let out = run(&[&"split", &input, &output, &"--size", &"1K"]).good();
    assert!(out.contains("1,000 objects in ") || out.contains("1000 objects in "), "{out}");
    let names = names_in(&folder);
    assert!(names.len() > 2 && names.contains(&"m.zt".to_owned()), "{names:?}");
    assert!(names.iter().all(|name| name == "m.zt" || name.starts_with("m-0000")), "{names:?}");
    assert_same(&input, &output);
    run(&[&"verify", &output]).sound();
    assert_same(&input, &folder); // a folder with such a file and its shards opens as that model
    let components = listing(&output)["objects"][0]["components"].clone();
    assert_eq!(components[0]["part"], 1);
    let merged = folder.join("merged.zt");
    run(&[&"merge", &output, &merged]).good();
    assert_same(&input, &merged);
    let one = listing(&merged);
    assert_eq!(one["version"], listing(&output)["version"]);
    run(&[&"attr", &"set", &output, &"author", &"Jane"]).good();
    let size = std::fs::metadata(&output).unwrap().len();
    run(&[&"compact", &output]).bad(&["m.zt", "shards", "zt merge"]);
    assert_eq!(
        std::fs::metadata(&output).unwrap().len(),
        size,
        "the output contains the bytes of the shards"
    );
    run(&[&"compact", &merged]).good();
    std::fs::remove_file(folder.join(&names[0])).unwrap();
    run(&[&"ls", &output]).good();
    run(&[&"merge", &output, &folder.join("not.zt")]).bad(&["shard", &names[0]]);
    assert!(!folder.join("not.zt").exists());
}

#[test]
fn no_file_is_replaced_or_left_without_an_option() {
    let folder = folder("split-not");
    let (input, output) = (data().join("v1.2/py-1.2.3-1000.zt"), folder.join("m.zt"));
    std::fs::write(folder.join("m-00001-of-00001.zt"), "mine").unwrap();
    for force in [&[][..], &["--force"]] {
        let mut split = common::zt();
        split.arg("split").args([&input, &output]).args(["--size", "1G"]).args(force);
        common::Ran::of(split.output().unwrap()).bad(&["m-00001-of-00001.zt", "choose a new folder"]);
        assert_eq!(names_in(&folder), ["m-00001-of-00001.zt"]);
    }
    // An old root is replaced. Files that it did not name stay, and are not part of the new model.
    run(&[&"convert", &data().join("v1.2/py-1.2.3-sparse.zt"), &output]).good();
    run(&[&"split", &input, &output, &"--size", &"1G"]).bad(&["m.zt", "--force"]);
    run(&[&"split", &input, &output, &"--size", &"1G", &"--force"]).good();
    assert_eq!(names_in(&folder), ["m-00001-of-00001.zt", "m-r2-00001-of-00001.zt", "m.zt"]);
    assert_same(&input, &output);
    let of_folder = run(&[&"diff", &input, &folder]);
    assert!(of_folder.out.ends_with("the same\n"), "{of_folder:?}");
    assert!(of_folder.err.contains("passed over: 1 file: \"m-00001-of-00001.zt\""), "{of_folder:?}");
    run(&[&"split", &input, &output, &"--size", &"1G", &"--force"]).good();
    assert_eq!(names_in(&folder), ["m-00001-of-00001.zt", "m-r3-00001-of-00001.zt", "m.zt"]);
    assert_same(&input, &output);
    run(&[&"split", &folder.join("none.zt"), &output, &"--size", &"1G"]).bad(&["none.zt"]);
}
