//! `zt edit` makes all changes of its options, or none.

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
fn files_that_cannot_be_edited_do_not_change() {
    let path = folder("edit-not").join("file.zt");
    let bytes = std::fs::read(data().join("v1.2/py-1.2.3-all-dtypes.zt")).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    run(&[&"edit", &path, &"--remove", &"u8", &"--remove", &"none"]).bad(&["file.zt: ", "\"none\""]);
    run(&[&"edit", &path, &"--rename", &"u8", &"i8"]).bad(&["\"i8\"", "exists already"]);
    run(&[&"edit", &path, &"--unset", &"u8", &"none"]).bad(&["\"u8\"", "\"none\""]);
    run(&[&"edit", &path, &"--set", &"u8", &"k", &"{"]).bad(&["file.zt: "]);
    assert_eq!(run(&[&"edit", &path]).status, 2, "no change was requested");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let old = folder("edit-not").join("old.zt");
    std::fs::copy(data().join("v0.1/py-0.1.4-shapes.zt"), &old).unwrap();
    run(&[&"edit", &old, &"--exact", &"--remove", &"x"]).bad(&["convert it to .zt"]);
}

/// A model in three files: with a root that names its shards, or only numbered.
fn parts(name: &str, with_root: bool) -> (std::path::PathBuf, Vec<std::path::PathBuf>) {
    let folder = folder(name);
    let (from, to) = (folder.join("from.zt"), folder.join("m.zt"));
    run(&[&"convert", &data().join("v1.2/py-1.2.3-all-dtypes.zt"), &from, &"--include=u8", &"--include=i8"])
        .good();
    match with_root {
        true => run(&[&"split", &from, &to, &"--size=1"]).good(),
        false => run(&[&"convert", &from, &to, &"--shard-size=1", &"--no-attributes"]).good(),
    };
    std::fs::remove_file(&from).unwrap();
    let parts = (1..=2).map(|at| folder.join(format!("m-0000{at}-of-00002.zt"))).collect();
    (folder, parts)
}

#[test]
fn a_part_of_a_model_is_changed_only_with_part() {
    let other = data().join("v1.2/py-1.2.3-sparse.zt");
    for with_root in [true, false] {
        let (folder, parts) = parts(&format!("parts-{with_root}"), with_root);
        let link = folder.join("link.zt");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&parts[1], &link).unwrap();
        let name = |part: &std::path::Path| {
            let of = listing_of_part(part)["objects"][0]["name"].as_str().unwrap().to_owned();
            of
        };
        let names = [name(&parts[0]), name(&parts[1])];
        let state = || common::names_in(&folder).into_iter().map(|n| std::fs::read(folder.join(n)).unwrap());
        let before: Vec<_> = state().collect();
        for (path, name) in [(&parts[0], &names[0]), (&parts[1], &names[1]), (&link, &names[1])] {
            if !path.exists() {
                continue;
            }
            let commands: [&[&dyn AsRef<std::ffi::OsStr>]; 9] = [
                &[&"attr", &"set", path, &"k", &"v"],
                &[&"attr", &"rm", path, &"k"],
                &[&"rm", path, name],
                &[&"rm", path, &"*"],
                &[&"rm", &"--exact", path, name],
                &[&"mv", path, name, &"z"],
                &[&"edit", path, &"--set", name, &"k", &"1"],
                &[&"add", path, &other],
                &[&"compact", path],
            ];
            for command in commands {
                let model = if with_root { "m.zt, " } else { "m-00001-of-00002.zt and 1 more, " };
                run(command).bad(&[model, "it is a part of the model", "--part"]);
                assert!(state().eq(before.iter().cloned()), "{path:?}");
            }
        }
        run(&[&"--part", &"attr", &"set", &parts[0], &"k", &"v"]).good();
        run(&[&"--part", &"mv", &parts[0], &names[0], &"z"]).good();
        run(&[&"--part", &"compact", &parts[0]]).good();
        assert_eq!(name(&parts[0]), "z");
        // A part whose model is incomplete is still a part.
        std::fs::remove_file(&parts[1]).unwrap();
        run(&[&"rm", &parts[0], &"z"]).bad(&["--part"]);
        run(&[&"--part", &"rm", &parts[0], &"z"]).good();
    }
    // A file that names the others, and a file that only looks like a part, can be changed as before.
    let (folder, _) = parts("parts-root", true);
    run(&[&"attr", &"set", &folder.join("m.zt"), &"k", &"v"]).good();
    for name in ["x-00001-of-00001.zt", "m-more.zt"] {
        std::fs::copy(&other, folder.join(name)).unwrap();
        run(&[&"attr", &"set", &folder.join(name), &"k", &"v"]).good();
    }
}

fn listing_of_part(path: &std::path::Path) -> serde_json::Value {
    serde_json::from_str(&run(&[&"--part", &"ls", &"--json", &path]).good()).unwrap()
}
