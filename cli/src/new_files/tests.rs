use super::*;
use ztensor::sink::file_sink::FileSink;

/// An empty folder for a test, and its path.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zt-new-files-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn new_file(path: &Path, force: bool) -> NewFile {
    let file = NewFile::create(path, force, false).unwrap();
    file.write(path.file_name().unwrap().as_encoded_bytes()).unwrap();
    file.close().unwrap();
    file
}

#[test]
fn of_several_files_none_gets_its_name_where_one_cannot() {
    for (taken, force) in [("b", false), ("c", false), ("b", true), ("c", true)] {
        let folder = folder("publish");
        std::fs::write(folder.join("old"), "old").unwrap();
        if force {
            std::fs::write(folder.join("c"), "old root").unwrap();
        }
        let files = ["a", "b"].map(|name| new_file(&folder.join(name), false)).into();
        let root = Some(new_file(&folder.join("c"), force));
        let old_root = identity(&folder.join("c"));
        let new = NewFiles { files, root, obsolete: vec![folder.join("old")], old_root };
        // Meanwhile, another program has made a file with that name.
        let _ = std::fs::remove_file(folder.join(taken));
        match force {
            true => std::fs::create_dir(folder.join(taken)).unwrap(),
            false => std::fs::write(folder.join(taken), "precious").unwrap(),
        }
        assert!(new.publish().is_err(), "{taken}");
        let expected: &[&str] = if force && taken == "b" { &["b", "c", "old"] } else { &[taken, "old"] };
        assert_eq!(names_in(&folder), expected, "{taken} {force}");
        if !force {
            assert_eq!(std::fs::read(folder.join(taken)).unwrap(), b"precious");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn of_two_commands_that_chose_names_at_once_the_second_changes_nothing() {
    let (same, other) = (["a", "b"], ["x", "y"]);
    // The files of the second command, whether they have a root, whether it exists already, and whether it
    // may be replaced.
    for (names, root, is_old, force) in [
        (same, None, false, false),
        (same, None, false, true),
        (same, Some("c"), false, false),
        (other, Some("c"), false, true),
        (same, Some("c"), true, true),
        (other, Some("c"), true, true),
    ] {
        let folder = folder("at-once");
        let case = format!("{names:?} {root:?} {is_old} {force}");
        if is_old {
            std::fs::write(folder.join("c"), "old root").unwrap();
        }
        let set = |names: [&str; 2]| {
            let files = names.map(|name| new_file(&folder.join(name), force)).into();
            let root = root.map(|name| new_file(&folder.join(name), force));
            NewFiles { files, root, obsolete: Vec::new(), old_root: identity(&folder.join("c")) }
        };
        let (first, second) = (set(same), set(names));
        first.publish().unwrap();
        let found = || {
            let state = names_in(&folder).into_iter().map(|name| {
                let path = folder.join(&name);
                (name, std::fs::read(&path).unwrap(), identity(&path))
            });
            state.collect::<Vec<_>>()
        };
        let visible = || found().into_iter().filter(|(name, ..)| !name.starts_with('.')).collect::<Vec<_>>();
        let before = visible();
        assert_eq!(before.len(), 2 + usize::from(root.is_some()), "{case}");
        let why = second.publish().unwrap_err().text();
        assert!(why.contains("another program") || why.contains("it exists"), "{case}: {why}");
        assert_eq!(found(), before, "{case}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn of_two_sets_of_other_counts_the_second_is_refused() {
    let folder = folder("counts");
    let set = |count: usize, stem: &str| {
        let paths = without_root(&folder.join(format!("{stem}.gguf")), "gguf", count).unwrap();
        let files = paths.iter().map(|path| new_file(path, false)).collect();
        NewFiles { files, ..NewFiles::default() }
    };
    let (first, second, other) = (set(2, "m"), set(3, "m"), set(3, "n"));
    first.publish().unwrap();
    let why = second.publish().unwrap_err().text();
    assert!(why.contains("another program") && why.contains("m-0000"), "{why}");
    other.publish().unwrap();
    assert_eq!(names_in(&folder).iter().filter(|name| name.starts_with("m-")).count(), 2);
    assert_eq!(names_in(&folder).len(), 5);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_replaces_none_is_not_put_over_one_that_came_meanwhile() {
    let folder = folder("meanwhile");
    let path = folder.join("a");
    let new = new_file(&path, false);
    std::fs::write(&path, "precious").unwrap();
    assert!(new.with(FileSink::publish_new).unwrap_err().text().contains("another program"));
    drop(new);
    assert_eq!(
        (names_in(&folder), std::fs::read(&path).unwrap()),
        (vec![String::from("a")], b"precious".to_vec())
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_folder_is_locked_by_one_at_a_time() {
    let folder = folder("locked");
    let path = folder.join("a");
    let Some(held) = lock_folder(&path).unwrap() else { return println!("no locks here") };
    let other = std::fs::File::open(&folder).unwrap();
    assert_eq!(file_lock::lock(&other).unwrap(), Lock::HeldElsewhere);
    drop(held);
    assert_eq!(file_lock::lock(&other).unwrap(), Lock::Held);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_only_the_old_root_named_goes_after_the_new_root_has_its_name() {
    let folder = folder("obsolete");
    std::fs::write(folder.join("m.safetensors"), "old").unwrap();
    std::fs::write(folder.join("old"), "old").unwrap();
    let root = Some(new_file(&folder.join("m.safetensors"), true));
    let files = vec![new_file(&folder.join("a"), false)];
    let old_root = identity(&folder.join("m.safetensors"));
    NewFiles { files, root, obsolete: vec![folder.join("old")], old_root }.publish().unwrap();
    assert_eq!(names_in(&folder), ["a", "m.safetensors"]);
    assert_eq!(std::fs::read(folder.join("m.safetensors")).unwrap(), b"m.safetensors");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn members_have_names_that_no_old_file_has_and_the_old_root_does_not_name() {
    let folder = folder("members");
    let (root, output) = (folder.join("m.safetensors.index.json"), folder.join("m.safetensors"));
    let members = |force| Members::of_root(&root, &output, "safetensors", 2, force);
    assert_eq!(members(false).unwrap().names, ["00001-of-00002", "00002-of-00002"]);
    let index = |files: &[&str]| {
        let map: Vec<_> = files.iter().enumerate().map(|(at, file)| format!("\"{at}\":\"{file}\"")).collect();
        format!("{{\"weight_map\":{{{}}}}}", map.join(","))
    };
    // The old root names this file, but it does not exist: the old model would get a file that does not
    // belong to it.
    std::fs::write(&root, index(&["m-00002-of-00002.safetensors"])).unwrap();
    assert!(members(false).is_err());
    assert_eq!(members(true).unwrap().names, ["r2-00001-of-00002", "r2-00002-of-00002"]);
    // It exists, but no root names it.
    std::fs::write(folder.join("m-r2-00002-of-00002.safetensors"), "left").unwrap();
    let all = ["m-00002-of-00002.safetensors", "m-00001-of-00002.safetensors", "m-base.safetensors", "../x"];
    std::fs::write(&root, index(&all)).unwrap();
    let there = all.map(|name| folder.join(name));
    there[..3].iter().for_each(|path| std::fs::write(path, "old").unwrap());
    let found = members(true).unwrap();
    assert_eq!(found.names, ["r3-00001-of-00002", "r3-00002-of-00002"]);
    assert_eq!(found.obsolete, [there[1].clone(), there[0].clone()], "files that do not go with it stay");
    // A file that another index names is kept.
    std::fs::write(folder.join("m.safetensors.index.fp16.json"), index(&all[..1])).unwrap();
    assert_eq!(members(true).unwrap().obsolete, [there[1].clone()]);
    // Without a root, the old files are a model that cannot be replaced all at once.
    std::fs::remove_file(&root).unwrap();
    assert!(members(true).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn numbered_files_without_a_root_replace_nothing() {
    let folder = folder("numbered");
    let output = folder.join("m.gguf");
    let paths = || without_root(&output, "gguf", 2);
    let expected = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"].map(|name| folder.join(name));
    assert_eq!(paths().unwrap(), expected);
    for name in ["m-00007-of-00009.gguf", "m-00001-of-00002.GGUF", "m.gguf"] {
        std::fs::write(folder.join(name), "old").unwrap();
        assert!(paths().is_err(), "{name}");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    for name in ["m-00001-of-00002.zt", "n-00001-of-00002.gguf", "m-x.gguf"] {
        std::fs::write(folder.join(name), "old").unwrap();
        assert!(paths().is_ok(), "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_whole_model_does_not_get_the_name_of_a_part() {
    for name in ["x-00001-of-00002.gguf", "x_00002-of-00002.safetensors", "x-00001-of-00003.fp16.zt"] {
        assert!(check_whole(Path::new(name)).is_err(), "{name}");
    }
    for name in ["x.gguf", "x-00001-of-00001.gguf", "x-00003-of-00002.gguf"] {
        assert!(check_whole(Path::new(name)).is_ok(), "{name}");
    }
}

#[test]
fn the_stem_is_the_name_without_the_extension_of_its_container() {
    let stems = ["a/m.gguf", "m.GGUF", "m.v1", "m", "m.v1.gguf"].map(|name| stem(Path::new(name), "gguf"));
    assert_eq!(stems, ["m", "m", "m.v1", "m", "m.v1"]);
}

#[test]
fn an_input_that_was_written_since_it_was_read_is_not_replaced() {
    for is_written in [true, false] {
        let folder = folder("in-place");
        let path = folder.join("a");
        std::fs::write(&path, "old").unwrap();
        let old_root = identity(&path);
        let files = vec![new_file(&path, true)];
        if is_written {
            std::fs::write(&path, "edited").unwrap();
        }
        let outcome = NewFiles { files, old_root, ..NewFiles::default() }.publish();
        assert_eq!(outcome.is_err(), is_written);
        assert_eq!(std::fs::read(&path).unwrap(), if is_written { &b"edited"[..] } else { &b"a"[..] });
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn an_input_that_a_writer_has_is_not_replaced() {
    let folder = folder("written");
    let path = folder.join("a");
    std::fs::write(&path, "old").unwrap();
    let writer = std::fs::File::open(&path).unwrap();
    if file_lock::lock(&writer).unwrap() != Lock::Held {
        return println!("no locks here");
    }
    let new =
        NewFiles { files: vec![new_file(&path, true)], old_root: identity(&path), ..NewFiles::default() };
    assert!(new.publish().unwrap_err().text().contains("another program writes to it"));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn parts_have_a_root_that_is_no_link_and_a_name_that_is_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder("odd-roots");
    let (root, link) = (folder.join("m.zt"), folder.join("l.zt"));
    std::fs::write(&root, "old").unwrap();
    std::os::unix::fs::symlink("m.zt", &link).unwrap();
    let why = Members::of_root(&link, &link, "zt", 2, true).err().unwrap().text();
    assert!(why.contains("symbolic link"), "{why}");
    let odd = folder.join(std::ffi::OsStr::from_bytes(b"q\xfe.zt"));
    assert!(Members::of_root(&odd, &odd, "zt", 2, true).err().unwrap().text().contains("not UTF-8"));
    assert!(without_root(&odd, "gguf", 2).unwrap_err().text().contains("not UTF-8"));
    std::fs::remove_dir_all(&folder).unwrap();
}
