//! Common code of the tests: the program, the corpus, output folders.
#![allow(dead_code)] // each test program uses a part of it

pub mod commands;
pub mod schema;
pub mod ztensor_1;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Folders of the corpus with files that can be opened.
pub const VALID: [&str; 5] = ["v0.1", "v1.0", "v1.1", "v1.2", "valid-odd"];

pub fn zt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zt"));
    command.stdin(Stdio::null());
    command
}

/// Runs `zt` with these arguments.
pub fn run(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Ran {
    Ran::of(zt().args(arguments.iter().map(|a| a.as_ref())).output().unwrap())
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("zt did not write UTF-8");
        Ran {
            status: output.status.code().expect("a signal killed zt"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// It succeeded, and standard error is empty. Returns the output.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// It succeeded, and standard error has only the lines for bytes without a digest. Returns the output.
    #[track_caller]
    pub fn sound(self) -> String {
        self.without_notes().good()
    }

    /// The result without the lines for bytes without a digest.
    pub fn without_notes(mut self) -> Ran {
        let kept = self.err.split_inclusive('\n').filter(|line| !line.starts_with("zt: not covered: "));
        self.err = kept.collect();
        self
    }

    /// It succeeded, and every line on standard error is a note of this kind: `left out`, `not covered`.
    #[track_caller]
    pub fn noted(self, what: &str) -> String {
        let is_note = |line: &str| line.starts_with("zt: ") && line.contains(&format!(": {what}: "));
        assert!(self.status == 0 && !self.err.is_empty() && self.err.lines().all(is_note), "{self:?}");
        self.out
    }

    /// It failed. Standard error has one line that begins with `zt: ` and contains all of these parts.
    #[track_caller]
    pub fn bad(self, parts: &[&str]) {
        assert_eq!(self.status, 1, "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.starts_with("zt: ") && !self.err.contains("panicked"), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in {self:?}");
        }
    }
}

pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").canonicalize().unwrap()
}

/// The manifest of a folder in the corpus, as text and as JSON.
pub fn manifest(folder: &str) -> (String, Value) {
    let text = std::fs::read_to_string(data().join(folder).join("manifest.json")).unwrap();
    let json = serde_json::from_str(&text).unwrap();
    (text, json)
}

/// Every valid file of the corpus with its expected contents.
pub fn valid_files() -> Vec<(PathBuf, Value)> {
    let mut files = Vec::new();
    for folder in VALID {
        let (_, manifest) = manifest(folder);
        for (name, entry) in manifest.as_object().unwrap() {
            files.push((data().join(folder).join(name), entry.clone()));
        }
        let there = std::fs::read_dir(data().join(folder)).unwrap();
        let there =
            there.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "zt")).count();
        assert_eq!(there, manifest.as_object().unwrap().len(), "{folder}: a file is not in the manifest");
    }
    files
}

/// The output of `zt ls --json --sha256` for a file.
#[track_caller]
pub fn listing(path: &Path) -> Value {
    let out = run(&[&"ls", &"--json", &"--sha256", &path]).good();
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{}: {e}\n{out}", path.display()))
}

/// An empty folder with that name. Each file of tests has one.
#[track_caller]
pub fn folder(name: &str) -> PathBuf {
    let caller = Path::new(std::panic::Location::caller().file()).file_stem().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zt").join(caller).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The names in a folder, to check that an output leaves no other file.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A file with tensors of f32, u8 and f16, and an attribute.
#[track_caller]
pub fn input(name: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let header = concat!(
        r#"{"__metadata__":{"format":"pt"},"model.a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#,
        r#""model.b.weight":{"dtype":"F16","shape":[4],"data_offsets":[24,32]},"#,
        r#""model.b.bias":{"dtype":"U8","shape":[5],"data_offsets":[32,37]}}"#
    );
    let padded = format!("{header:<0$}", header.len().next_multiple_of(8));
    let floats = [1.0f32, 0.5, -2.0, 3.0, 1e9, -0.25].map(f32::to_le_bytes).concat();
    let halves = [0x3c00u16, 0xc000, 0x7bff, 0x0001].map(u16::to_le_bytes).concat();
    let size = (padded.len() as u64).to_le_bytes();
    let bytes = [&size[..], padded.as_bytes(), &floats, &halves, &[1, 2, 3, 4, 5]].concat();
    let path = folder.join("in.safetensors");
    std::fs::write(&path, bytes).unwrap();
    (path, folder)
}

/// The names of a file's objects.
pub fn names(path: &Path) -> Vec<String> {
    let listing = listing(path);
    listing["objects"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap().to_owned()).collect()
}

/// Names, shapes, types and the hashes of all bytes.
pub fn content(path: &Path) -> Vec<String> {
    let listing = listing(path);
    let text = |object: &Value| {
        let data = &object["components"][0];
        let hash = &data["sha256_of_decoded_little_endian_bytes"];
        format!("{} {} {} {} {hash}", object["name"], object["shape"], data["dtype"], data["type"])
    };
    listing["objects"].as_array().unwrap().iter().map(text).collect()
}
