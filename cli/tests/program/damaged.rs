//! Damaged data never gets a new, valid digest, for every command that copies it. Bytes without a digest are
//! reported.

use crate::common;

use common::{data, folder, input, run, Ran};
use serde_json::Value;
use std::path::{Path, PathBuf};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};

/// Files with checksums, of each container.
const SOURCES: [&str; 7] = [
    "foreign/valid/amber-all-stored.npz",
    "foreign/valid/amber-all-deflated.npz",
    "foreign/valid/amber-parameters.pt",
    "foreign/valid/amber-deflated-records.pt",
    "foreign/valid/amber-shared-views.pt",
    "v1.2/py-1.2.3-digests.zt",
    "v1.2/py-1.2.3-zstd.zt",
];

/// A copy of a file in the corpus with a flipped bit in the first data that verification checks.
fn damaged(source: &str, folder: &Path) -> PathBuf {
    let from = data().join(source);
    let (bytes, file) = (std::fs::read(&from).unwrap(), File::open(&from, &OpenOptions::default()).unwrap());
    let to = folder.join(format!("damaged-{}", from.file_name().unwrap().to_str().unwrap()));
    // Every container has these types.
    let floats = [Dtype::F32, Dtype::F64, Dtype::F16].map(Some);
    let components = file.objects().flat_map(|o| o.components());
    for component in components.filter(|c| c.stored_size() > 0 && floats.contains(&c.dtype())) {
        for part in [2, 3] {
            let mut bytes = bytes.clone();
            bytes[(component.offset() + component.stored_size() - 1 - component.stored_size() / (part * 4))
                as usize] ^= 4;
            std::fs::write(&to, bytes).unwrap();
            // A header of an array may be deflated with its data.
            let opens = File::open(&to, &OpenOptions::default()).is_ok();
            if opens && run(&[&"verify", &to]).status == 1 {
                return to;
            }
        }
    }
    panic!("no byte of {source} has a checksum");
}

/// Whether verification finds damage in those objects, or reports that they have no digest.
fn is_honest(path: &Path, damaged: &[&str]) -> bool {
    let listing: Value = serde_json::from_str(&run(&[&"ls", &"--json", &path]).good()).unwrap();
    let found = run(&[&"verify", &"--json", &path]);
    let report: Value = serde_json::from_str(&found.out).unwrap();
    let failures = report[0]["failures"].as_array().unwrap();
    let objects = listing["objects"].as_array().unwrap();
    objects.iter().filter(|o| damaged.contains(&o["name"].as_str().unwrap())).all(|object| {
        let has_digest =
            object["components"].as_array().unwrap().iter().any(|c| c["digest"].as_str().is_some());
        !has_digest || failures.iter().any(|failure| failure["object"] == object["name"])
    })
}

/// The names in the line about damaged objects.
fn listed(ran: &Ran) -> Vec<&str> {
    let lines = ran.err.lines().filter_map(|line| line.strip_prefix("zt: damaged: "));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
}

#[test]
fn no_command_copies_damaged_bytes_without_allow_damaged() {
    let folder = folder("damaged-copies");
    for source in SOURCES {
        let from = damaged(source, &folder);
        let out = |name: &str| folder.join(format!("out-{name}"));
        let commands: Vec<(PathBuf, Vec<&str>)> = vec![
            (out("a.zt"), vec!["convert"]),
            (out("b.zt"), vec!["convert", "--spec", "2"]),
            (out("c.zt"), vec!["convert", "--zstd"]),
            (out("d.zt"), vec!["convert", "--digest", "sha256"]),
            (out("e.zt"), vec!["convert", "--digest", "none"]),
            (out("f.zt"), vec!["convert", "--dtype", "f64"]),
            (out("g.zt"), vec!["convert", "--spec", "1.1", "--raw"]),
            (out("h.zt"), vec!["convert", "--shard-size", "64"]),
            (out("i.safetensors"), vec!["convert"]),
            (out("j.gguf"), vec!["convert"]),
            (out("k.npz"), vec!["convert"]),
            (out("l.zt"), vec!["merge"]),
            (out("m.zt"), vec!["split", "--size", "1M"]),
        ];
        for (to, words) in commands {
            let case = format!("{source} {words:?}");
            let (command, options) = words.split_first().unwrap();
            let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![command];
            arguments.extend(options.iter().map(|o| o as &dyn AsRef<std::ffi::OsStr>));
            if *command == "convert" {
                arguments.extend([&"--no-attributes" as &dyn AsRef<std::ffi::OsStr>, &"--lossy"]);
            }
            let strict = run(&[arguments.clone(), vec![&from, &to]].concat());
            if strict.err.contains("left out: 1 object") {
                continue; // this container cannot store the damaged object
            }
            assert_eq!(strict.status, 1, "{case}: {strict:?}");
            assert!(!to.exists(), "{case}");
            if *command == "split" {
                continue; // the table of shards would have a new digest
            }
            if strict.err.contains("it decodes to") {
                continue; // it cannot be read at all
            }
            assert!(strict.err.contains("--allow-damaged goes on"), "{case}: {strict:?}");
            let allowed = run(&[arguments, vec![&"--allow-damaged", &from, &to]].concat());
            assert_eq!(allowed.status, 0, "{case}: {allowed:?}");
            let names = listed(&allowed);
            assert!(!names.is_empty(), "{case}: {allowed:?}");
            let written: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
            let stem = to.file_stem().unwrap().to_str().unwrap();
            let is_of_it = |path: &&PathBuf| {
                **path != from && path.file_stem().unwrap().to_str().unwrap().starts_with(stem)
            };
            let mut count = 0;
            for path in written.iter().filter(is_of_it) {
                assert!(is_honest(path, &names), "{case}: {}", path.display());
                count += 1;
            }
            written.iter().filter(is_of_it).for_each(|path| std::fs::remove_file(path).unwrap());
            assert!(count > 0, "{case}");
        }
    }
}

#[test]
fn add_extract_and_compact_do_not_copy_damage_either() {
    let folder = folder("damaged-in-place");
    let (safetensors, _) = input("damaged-base");
    let base = folder.join("base.zt");
    run(&[&"convert", &safetensors, &base]).good();
    let before = std::fs::read(&base).unwrap();
    for source in ["foreign/valid/amber-all-stored.npz", "v1.2/py-1.2.3-digests.zt"] {
        let from = damaged(source, &folder);
        let strict = run(&[&"add", &base, &from]);
        assert!(strict.status == 1 && strict.err.contains("--allow-damaged goes on"), "{strict:?}");
        assert_eq!(std::fs::read(&base).unwrap(), before, "{source}");
        let allowed = run(&[&"add", &"--allow-damaged", &base, &from]);
        let names = listed(&allowed);
        assert!(allowed.status == 0 && !names.is_empty() && is_honest(&base, &names), "{allowed:?}");
        std::fs::write(&base, &before).unwrap();
        let to = folder.join("extracted");
        let strict = run(&[&"extract", &from, &"--raw", &"--to", &to]);
        assert!(strict.status == 1 && !to.exists(), "{strict:?}");
        let allowed = run(&[&"extract", &from, &"--raw", &"--to", &to, &"--allow-damaged"]);
        assert!(allowed.status == 0 && !listed(&allowed).is_empty(), "{allowed:?}");
        std::fs::remove_dir_all(&to).unwrap();
    }
    let from = damaged("v1.2/py-1.2.3-digests.zt", &folder);
    let before = std::fs::read(&from).unwrap();
    let strict = run(&[&"compact", &from]);
    assert!(strict.status == 1 && std::fs::read(&from).unwrap() == before, "{strict:?}");
    let allowed = run(&[&"compact", &from, &"--allow-damaged"]);
    assert!(allowed.status == 0 && is_honest(&from, &listed(&allowed)), "{allowed:?}");
    assert_eq!(
        run(&[&"verify", &from]).status,
        1,
        "the old digest was not kept, or matches the damaged bytes"
    );
}

/// A PyTorch file with the CRC-32 of these members set to 0, in the directory and in the local headers.
fn without_crc(source: &str, to: &Path, wanted: impl Fn(&[u8]) -> bool) {
    let mut bytes = std::fs::read(data().join(source)).unwrap();
    for (magic, at, name) in [(b"PK\x03\x04", 14, 30), (b"PK\x01\x02", 16, 46)] {
        let places: Vec<_> = (0..bytes.len() - 4).filter(|p| bytes[*p..].starts_with(magic)).collect();
        for place in places {
            let size = usize::from(bytes[place + if name == 30 { 26 } else { 28 }]);
            if wanted(&bytes[place + name..place + name + size]) {
                bytes[place + at..place + at + 4].fill(0);
            }
        }
    }
    // Data descriptors, before the next header, also contain it.
    let mut last_wanted = false;
    for place in 0..bytes.len() - 30 {
        if bytes[place..].starts_with(b"PK\x03\x04") {
            let size = usize::from(bytes[place + 26]);
            last_wanted = wanted(&bytes[place + 30..place + 30 + size]);
        } else if last_wanted && bytes[place..].starts_with(b"PK\x07\x08") {
            bytes[place + 4..place + 8].fill(0);
        }
    }
    std::fs::write(to, bytes).unwrap();
}

#[test]
fn an_archive_without_any_crc_is_unchecked_and_not_damaged() {
    let folder = folder("unchecked");
    for source in ["foreign/valid/amber-parameters.pt", "foreign/valid/amber-deflated-records.pt"] {
        let (all, one, to) = (folder.join("all.pt"), folder.join("one.pt"), folder.join("out.zt"));
        without_crc(source, &all, |_| true);
        let said = "the archive was written without CRC-32s";
        let verified = run(&[&"verify", &"--json", &all]);
        assert_eq!(verified.status, 0, "{verified:?}");
        let json: Value = serde_json::from_str(&verified.out).unwrap();
        assert!(json[0]["bytes_not_covered"].as_u64().unwrap() > 0, "{verified:?}");
        assert_eq!(json[0]["bytes_not_covered"], json[0]["bytes"]);
        assert!(json[0]["notes"].to_string().contains(said), "{verified:?}");
        let required = run(&[&"verify", &"--require-digests", &all]);
        assert!(
            required.status == 1 && required.err.contains("--require-digests: no digest covers "),
            "{required:?}"
        );
        let converted = run(&[&"convert", &"--force", &all, &to]);
        assert!(converted.status == 0 && converted.err.contains(said), "{converted:?}");
        assert!(converted.err.contains("zt: not checked: "), "{converted:?}");
        // If one member has 0 and others do not, it is damaged.
        without_crc(source, &one, |name| name.ends_with(b"/data/0"));
        let verified = run(&[&"verify", &one]);
        let converted = run(&[&"convert", &"--force", &one, &to]);
        assert_eq!((verified.status, converted.status), (1, 1), "{verified:?} {converted:?}");
    }
}

#[test]
fn bytes_without_a_digest_are_counted() {
    let (safetensors, folder) = input("covered");
    let said = run(&[&"verify", &safetensors]);
    assert_eq!(said.status, 0);
    assert!(said.err.starts_with("zt: not covered: 37 bytes: "), "{said:?}");
    assert_eq!(run(&[&"verify", &"--require-digests", &safetensors]).status, 1);
    let to = folder.join("out.zt");
    for (options, covered) in [(vec![], true), (vec!["--spec", "2"], true), (vec!["--digest", "none"], false)]
    {
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &"--force"];
        words.extend(options.iter().map(|o| o as &dyn AsRef<std::ffi::OsStr>));
        run(&[words, vec![&safetensors, &to]].concat()).good();
        let required = run(&[&"verify", &"--require-digests", &to]);
        assert_eq!(
            (required.status == 0, required.err.is_empty()),
            (covered, covered),
            "{options:?} {required:?}"
        );
    }
    let algorithm = |path: &Path| {
        let listing: Value = serde_json::from_str(&run(&[&"ls", &"--json", &path]).good()).unwrap();
        let text = listing["objects"][0]["components"][0]["digest"].as_str().unwrap().to_owned();
        text.split(':').next().unwrap().to_owned()
    };
    for (spec, expected) in [("0.1", "crc32c"), ("1.1", "crc32c"), ("1.2", "crc32c"), ("2", "xxh3")] {
        run(&[&"convert", &"--force", &"--no-attributes", &"--spec", &spec, &safetensors, &to]).good();
        assert_eq!(algorithm(&to), expected, "{spec}");
    }
    // An existing digest is kept.
    run(&[&"convert", &"--force", &"--digest", &"sha256", &safetensors, &to]).good();
    let again = folder.join("again.zt");
    run(&[&"convert", &to, &again]).good();
    assert_eq!(algorithm(&again), "sha256");
}

/// A .zt file with two arrays. One is damaged: its zstd frame cannot be decoded, or one of its bools is
/// neither 0 nor 1.
fn undecodable(folder: &Path, spec: &str, of_bools: bool) -> PathBuf {
    let (from, to) = (folder.join("whole.safetensors"), folder.join("undecodable.zt"));
    let header = concat!(
        r#"{"good":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"#,
        r#""bad":{"dtype":"BOOL","shape":[600],"data_offsets":[8,608]}}"#
    );
    let bools: Vec<u8> = (0..600u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 31) as u8).collect();
    let size = (header.len() as u64).to_le_bytes();
    std::fs::write(&from, [&size[..], header.as_bytes(), &[1; 8], &bools].concat()).unwrap();
    let encoding = if of_bools { "--raw" } else { "--zstd" };
    run(&[&"convert", &"--force", &"--spec", &spec, &encoding, &from, &to]).good();
    let file = File::open(&to, &OpenOptions::default()).unwrap();
    let bad = file.find("bad").unwrap().components().next().unwrap();
    let mut bytes = std::fs::read(&to).unwrap();
    // The first block of a frame gets an invalid type; or 2, which is not a bool.
    bytes[bad.offset() as usize + if of_bools { 5 } else { 7 }] |= 6;
    std::fs::write(&to, bytes).unwrap();
    to
}

#[test]
fn a_damaged_object_is_listed_once_with_its_result() {
    let folder = folder("damaged-once");
    for (spec, of_bools) in [("1.2", false), ("1.2", true), ("2", false), ("2", true)] {
        let from = undecodable(&folder, spec, of_bools);
        assert_eq!(run(&[&"verify", &from]).status, 1, "{spec} {of_bools}");
        let (to, npz, tensors) = (folder.join("to.zt"), folder.join("to.npz"), folder.join("to.safetensors"));
        let base = folder.join("base.zt");
        run(&[&"convert", &"--force", &"--rename=*=old.*", &folder.join("whole.safetensors"), &base]).good();
        let copy = folder.join("copy.zt");
        std::fs::copy(&from, &copy).unwrap();
        let commands: [(&Path, &[&dyn AsRef<std::ffi::OsStr>]); 9] = [
            (&to, &[&"convert", &"--force", &from, &to]),
            (&to, &[&"convert", &"--force", &from, &to, &"--spec", &"2"]),
            (&to, &[&"convert", &"--force", &from, &to, &"--digest", &"sha256"]),
            (&to, &[&"convert", &"--force", &from, &to, &"--dtype", &"f64"]),
            (&npz, &[&"convert", &"--force", &from, &npz]),
            (&tensors, &[&"convert", &"--force", &from, &tensors]),
            (&to, &[&"merge", &"--force", &from, &to]),
            (&base, &[&"add", &base, &from]),
            (&copy, &[&"compact", &copy]),
        ];
        for (output, words) in commands {
            let case = words.iter().map(|word| word.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" ");
            let ran = run(&[words, &[&"--allow-damaged"]].concat());
            assert_eq!((ran.status, listed(&ran).as_slice()), (0, &["bad"][..]), "{case}: {ran:?}");
            let is_there = common::names(output).contains(&String::from("bad"));
            let what = if is_there { "get no new digest" } else { "are left out" };
            assert!(
                ran.err.contains(&format!("\"bad\": the bytes are damaged, and {what}\n")),
                "{case}: {ran:?}"
            );
            if words[0].as_ref() == "add" {
                let added = if is_there { ": 2 objects added" } else { ": 1 object added" };
                assert!(ran.out.contains(added), "{case}: {ran:?}");
            }
        }
        // A good object is not replaced by one that is left out.
        let whole = folder.join("whole.zt");
        run(&[&"convert", &"--force", &folder.join("whole.safetensors"), &whole]).good();
        let before = std::fs::read(&whole).unwrap();
        let ran = run(&[&"add", &"--replace", &"--allow-damaged", &whole, &from]);
        if ran.status != 0 {
            ran.bad(&["\"bad\" is damaged"]);
            assert_eq!(std::fs::read(&whole).unwrap(), before);
        }
        assert_eq!(common::names(&whole).len(), 2);
    }
}
