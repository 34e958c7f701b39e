//! `zt split`: a file and its shards have what the input has, and `zt merge` makes one file of them again.

mod common;

use common::{data, folder, listing, names_in, run};
use std::path::Path;

/// Both have the same values.
fn assert_same(a: &Path, b: &Path) {
    let out = run(&[&"diff", &a, &b]).good();
    assert!(out.ends_with("the same\n"), "{out}");
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
    assert_same(&input, &folder); // a folder with such a file and its shards is that model
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
    assert_eq!(std::fs::metadata(&output).unwrap().len(), size, "its shards are not put into it");
    run(&[&"compact", &merged]).good();
    std::fs::remove_file(folder.join(&names[0])).unwrap();
    run(&[&"ls", &output]).good();
    run(&[&"merge", &output, &folder.join("not.zt")]).bad(&["shard", &names[0]]);
    assert!(!folder.join("not.zt").exists());
}

#[test]
fn nothing_is_replaced_or_left_behind_unless_that_is_wanted() {
    let folder = folder("split-not");
    let (input, output) = (data().join("v1.2/py-1.2.3-1000.zt"), folder.join("m.zt"));
    std::fs::write(folder.join("m-00001-of-00001.zt"), "mine").unwrap();
    run(&[&"split", &input, &output, &"--size", &"1G"]).bad(&["m-00001-of-00001.zt", "--force"]);
    assert_eq!(names_in(&folder), ["m-00001-of-00001.zt"]);
    run(&[&"split", &input, &output, &"--size", &"1G", &"--force"]).good();
    assert_same(&input, &output);
    run(&[&"split", &folder.join("none.zt"), &output, &"--size", &"1G"]).bad(&["none.zt"]);
}
