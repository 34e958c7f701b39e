//! `zt edit`: what the options say is done, all of it or nothing.

use crate::common;

use common::{data, folder, listing, run};

/// Names and attributes of a file's objects.
fn objects(path: &std::path::Path) -> Vec<(String, String)> {
    let listing = listing(path);
    let objects = listing["objects"].as_array().unwrap();
    objects.iter().map(|o| (o["name"].as_str().unwrap().to_owned(), o["attributes"].to_string())).collect()
}

#[test]
fn objects_are_removed_renamed_and_described() {
    let path = folder("edit").join("file.zt");
    std::fs::copy(data().join("v1.2/py-1.2.3-all-dtypes.zt"), &path).unwrap();
    let before = objects(&path);
    let (a, b, c) = (before[0].0.as_str(), before[1].0.as_str(), before[2].0.as_str());
    let out = run(&[
        &"edit",
        &path,
        &"--remove",
        &b,
        &"--rename",
        &c,
        &b,
        &"--rename",
        &a,
        &"x=y",
        &"--set",
        &"x=y",
        &"unit",
        &r#""m""#,
        &"--set",
        &b,
        &"n",
        &"[1]",
        &"--durable",
    ])
    .good();
    assert_eq!(out, format!("{}: edited, {} objects\n", path.display(), before.len() - 1));
    let after = objects(&path);
    assert_eq!(after[0], ("x=y".into(), r#"{"unit":"m"}"#.into()));
    assert_eq!(after[1], (b.into(), r#"{"n":[1]}"#.into()));
    assert_eq!(after[2..], before[3..]);
    run(&[&"edit", &path, &"--unset", &"x=y", &"unit"]).good();
    assert_eq!(objects(&path)[0].1, before[0].1);
    run(&[&"verify", &path]).sound();
}

#[test]
fn what_cannot_be_edited_stays_as_it_is() {
    let path = folder("edit-not").join("file.zt");
    let bytes = std::fs::read(data().join("v1.2/py-1.2.3-all-dtypes.zt")).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    run(&[&"edit", &path, &"--remove", &"u8", &"--remove", &"none"]).bad(&["file.zt: ", "\"none\""]);
    run(&[&"edit", &path, &"--rename", &"u8", &"i8"]).bad(&["\"i8\"", "there already"]);
    run(&[&"edit", &path, &"--unset", &"u8", &"none"]).bad(&["\"u8\"", "\"none\""]);
    run(&[&"edit", &path, &"--set", &"u8", &"k", &"{"]).bad(&["file.zt: "]);
    assert_eq!(run(&[&"edit", &path]).status, 2, "nothing to do");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let old = folder("edit-not").join("old.zt");
    std::fs::copy(data().join("v0.1/py-0.1.4-shapes.zt"), &old).unwrap();
    run(&[&"edit", &old, &"--exact", &"--remove", &"x"]).bad(&["copy it to a new one"]);
}
