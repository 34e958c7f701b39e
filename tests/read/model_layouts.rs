//! The files of a model. For every layout in a table, each file of the model, its index, its folder and links
//! to these open the same tensors.

use crate::common;

use common::Folder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{part_of_set, ByteSource, File, Mode, OpenOptions, Opened, Store};
use ztensor::writer::{Writer, WriterOptions};

/// A safetensors file with tensors of one byte.
fn safetensors(tensors: &[(&str, u8)]) -> Vec<u8> {
    let entry = |(at, (name, _)): (usize, &(&str, u8))| {
        format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{at},{}]}}"#, at + 1)
    };
    let header = format!("{{{}}}", tensors.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
    let data: Vec<u8> = tensors.iter().map(|(_, value)| *value).collect();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn gguf(tensors: &[(&str, u8)]) -> Vec<u8> {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend(0u64.to_le_bytes());
    for (at, (name, _)) in tensors.iter().enumerate() {
        out.extend((name.len() as u64).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(1u64.to_le_bytes());
        out.extend(24u32.to_le_bytes()); // i8
        out.extend((at as u64 * 32).to_le_bytes());
    }
    for (_, value) in tensors {
        out.resize(out.len().next_multiple_of(32), 0);
        out.push(*value);
    }
    out.resize(out.len().next_multiple_of(32), 0);
    out
}

fn zt(tensors: &[(&str, u8)]) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.0.join("made.zt");
    let (from, mut writer) =
        (safetensors(tensors), Writer::create(&path, &WriterOptions::default()).unwrap());
    let file = File::open_memory(from, &OpenOptions::default()).unwrap();
    file.objects().for_each(|object| writer.copy(object, object.name()).unwrap());
    writer.finish().unwrap();
    drop(writer);
    std::fs::read(&path).unwrap()
}

/// The content determines a file's format, so these contents are also used for names that end in .bin, .pt
/// and .pth.
fn file(extension: &str, tensors: &[(&str, u8)]) -> Vec<u8> {
    match extension {
        "gguf" => gguf(tensors),
        "zt" => zt(tensors),
        _ => safetensors(tensors),
    }
}

type Tensors = BTreeMap<String, u8>;

fn tensors_of(file: &File) -> Tensors {
    let value = |object: ztensor::reader::Object<'_>| {
        (object.name().to_owned(), common::read(&object.component("data").unwrap())[0])
    };
    file.objects().map(value).collect()
}

fn open(path: &Path) -> Result<Tensors> {
    File::open_model(path, &OpenOptions::default()).map(|file| tensors_of(&file))
}

fn opened(path: impl AsRef<Path>) -> Tensors {
    open(path.as_ref()).unwrap_or_else(|e| panic!("{e}"))
}

fn tensors(all: &[(&str, u8)]) -> Tensors {
    all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn index(map: &[(&str, &str)]) -> String {
    let entries: Vec<_> = map.iter().map(|(tensor, file)| format!(r#""{tensor}": "{file}""#)).collect();
    format!(r#"{{"metadata": {{"total_size": 3}}, "weight_map": {{{}}}}}"#, entries.join(", "))
}

/// Forms of numbered names: the names of three files.
const FORMS: [[&str; 3]; 10] = [
    ["m-00001-of-00003.EXT", "m-00002-of-00003.EXT", "m-00003-of-00003.EXT"],
    ["m_00001-of-00003.EXT", "m_00002-of-00003.EXT", "m_00003-of-00003.EXT"],
    ["m-00000-of-00003.EXT", "m-00001-of-00003.EXT", "m-00002-of-00003.EXT"],
    ["m-00001-of-000003.EXT", "m-00002-of-000003.EXT", "m-00003-of-000003.EXT"],
    ["m-00001-OF-00003.EXT", "m-00002-OF-00003.EXT", "m-00003-OF-00003.EXT"],
    ["m-1-of-3.EXT", "m-2-of-3.EXT", "m-3-of-3.EXT"],
    ["m-00001-of-00003.fp16.EXT", "m-00002-of-00003.fp16.EXT", "m-00003-of-00003.fp16.EXT"],
    ["m.fp16-00001-of-00003.EXT", "m.fp16-00002-of-00003.EXT", "m.fp16-00003-of-00003.EXT"],
    ["pytorch_m-00001-of-00003.EXT", "pytorch_m-00002-of-00003.EXT", "pytorch_m-00003-of-00003.EXT"],
    ["part-1-of-2-00001-of-00003.EXT", "part-1-of-2-00002-of-00003.EXT", "part-1-of-2-00003-of-00003.EXT"],
];
const EXTENSIONS: [&str; 6] = ["safetensors", "gguf", "zt", "bin", "pt", "pth"];
/// Names of an index; "" for none.
const INDEXES: [&str; 6] = [
    "",
    "m.EXT.index.json",
    "m.EXT.index.fp16.json",
    "m.EXT.fp16.index.json",
    "weights.json",
    "any.index.json",
];

/// Every path that may open the files of a folder: each file, the folder, and links to these from another
/// folder.
fn paths(folder: &Path, names: &[String], elsewhere: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    paths.push(folder.to_owned());
    if cfg!(unix) && names[0].ends_with("safetensors") {
        for (number, path) in paths.clone().into_iter().enumerate() {
            // One link keeps the name of the file, one has another name.
            let own = elsewhere.join(number.to_string());
            std::fs::create_dir_all(&own).unwrap();
            let name = path.file_name().unwrap();
            for link in [own.join(name), own.join(format!("link{number}"))] {
                link_to(&path, &link);
                paths.push(link);
            }
        }
    }
    paths
}

#[cfg(unix)]
fn link_to(target: &Path, link: &Path) {
    std::os::unix::fs::symlink(target, link).unwrap();
}

#[cfg(not(unix))]
fn link_to(_: &Path, _: &Path) {}

#[test]
fn every_path_of_a_layout_opens_the_same_tensors() {
    let expected = tensors(&[("a", 1), ("b", 2), ("c", 3)]);
    let mut looked_at = 0;
    for form in FORMS {
        for extension in EXTENSIONS {
            for index_name in INDEXES {
                let root = Folder::new();
                let (folder, elsewhere) = (root.0.join("model"), root.0.join("links"));
                std::fs::create_dir_all(&folder).unwrap();
                let mut names: Vec<String> = form.iter().map(|name| name.replace("EXT", extension)).collect();
                for (name, tensor) in names.iter().zip([("a", 1), ("b", 2), ("c", 3)]) {
                    std::fs::write(folder.join(name), file(extension, &[tensor])).unwrap();
                    assert_eq!(part_of_set(name).map(|(_, count)| count), Some(3), "{name}");
                }
                std::fs::write(folder.join("config.json"), "{\"a\": 1}").unwrap();
                if !index_name.is_empty() {
                    let map = [("a", &*names[0]), ("b", &*names[1]), ("c", &*names[2])];
                    let name = index_name.replace("EXT", extension);
                    std::fs::write(folder.join(&name), index(&map)).unwrap();
                    names.push(name);
                }
                for path in paths(&folder, &names, &elsewhere) {
                    assert_eq!(opened(&path), expected, "{}", path.display());
                    looked_at += 1;
                }
                // Each part separately, if the test wants that.
                let alone = OpenOptions { part: true, ..OpenOptions::default() };
                for (name, tensor) in names.iter().zip([("a", 1), ("b", 2), ("c", 3)]) {
                    let file = File::open_model(folder.join(name), &alone).unwrap();
                    assert_eq!(tensors_of(&file), tensors(&[tensor]));
                }
                // If one of the files is missing, the error names it.
                std::fs::remove_file(folder.join(&names[1])).unwrap();
                for name in names.iter().filter(|name| **name != names[1]) {
                    let error = open(&folder.join(name)).unwrap_err();
                    assert_eq!(error.cause(), Cause::NoFile, "{error}");
                    assert!(error.message().contains(&names[1]), "{error}");
                }
            }
        }
    }
    assert!(looked_at > 1000, "{looked_at}");
}

/// The files of a folder by name.
fn folder_of(files: &[(&str, Vec<u8>)]) -> Folder {
    let folder = Folder::new();
    for (name, bytes) in files {
        let path = folder.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

fn one(value: u8) -> Vec<u8> {
    safetensors(&[("w", value)])
}

#[test]
fn a_folder_is_the_model_that_is_preferred_and_the_rest_is_counted() {
    let text = |text: &str| text.as_bytes().to_vec();
    let set = |name: &str| text(&index(&[("w", name)]));
    // The files, the expected value, and the number of ignored files.
    type Files<'a> = &'a [(&'a str, Vec<u8>)];
    let cases: [(Files<'_>, u8, usize); 11] = [
        (
            &[
                ("model.safetensors", one(1)),
                ("optimizer.pt", one(2)),
                ("rng_state_0.pth", one(2)),
                ("scheduler.pt", one(2)),
                ("training_args.bin", one(2)),
                ("trainer_state.json", text("{}")),
            ],
            1,
            4,
        ),
        (&[("pytorch_model.bin", one(1)), ("config.json", text("{}"))], 1, 0),
        (&[("optimizer.pt", one(1))], 1, 0),
        (&[("model.safetensors", one(1)), ("pytorch_model.bin", one(2))], 1, 1),
        (&[("model.fp16.safetensors", one(2)), ("model.safetensors", one(1))], 1, 1),
        (&[("model.fp16.safetensors", one(2)), ("pytorch_model.bin", one(1))], 1, 1),
        (&[("model.fp16.safetensors", one(1))], 1, 0),
        (
            &[
                ("model.safetensors.index.json", set("x.safetensors")),
                ("x.safetensors", one(1)),
                ("y.gguf", one(2)),
            ],
            1,
            1,
        ),
        (
            &[
                ("model.safetensors.index.json", set("x.safetensors")),
                ("x.safetensors", one(1)),
                ("pytorch_model.bin.index.json", set("x.bin")),
                ("x.bin", one(2)),
            ],
            1,
            2,
        ),
        (
            &[
                ("model.safetensors.index.json", set("x.safetensors")),
                ("x.safetensors", one(1)),
                ("model.safetensors.index.fp16.json", set("y.safetensors")),
                ("y.safetensors", one(2)),
            ],
            1,
            2,
        ),
        (
            &[
                ("model-00001-of-00001.safetensors", one(1)),
                ("model.fp16-00001-of-00001.safetensors", one(2)),
                ("model-00001-of-00001.bin", one(2)),
            ],
            1,
            2,
        ),
    ];
    for (files, value, passed_over) in cases {
        let folder = folder_of(files);
        let file = File::open_model(&folder.0, &OpenOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(tensors_of(&file), tensors(&[("w", value)]), "{:?}", file.model_info());
        assert_eq!(file.model_info().passed_over.len(), passed_over, "{:?}", file.model_info());
    }
    for files in
        [["a.safetensors", "b.safetensors"], ["m.fp16.gguf", "m.q8.gguf"], ["m.gguf", "m.safetensors"]]
    {
        let folder = folder_of(&files.map(|name| (name, one(1))));
        let error = open(&folder.0).unwrap_err();
        assert_eq!(error.cause(), Cause::InvalidArgument, "{error}");
        assert!(files.iter().all(|name| error.message().contains(name)), "{error}");
    }
}

#[test]
fn an_index_rules_whichever_of_its_files_is_named() {
    let map =
        [("a", "m-00001-of-00002.st"), ("b", "m-overlay.safetensors"), ("c", "m-00002-of-00002.safetensors")];
    let map = map.map(|(tensor, name)| {
        (tensor, if name.ends_with(".st") { "m-00001-of-00002.safetensors" } else { name })
    });
    let folder = folder_of(&[
        ("m-00001-of-00002.safetensors", safetensors(&[("a", 1), ("b", 9)])),
        ("m-00002-of-00002.safetensors", safetensors(&[("c", 3)])),
        ("m-overlay.safetensors", safetensors(&[("b", 2)])),
        ("other.safetensors", one(7)),
        ("m.safetensors.index.json", index(&map).into_bytes()),
    ]);
    let expected = tensors(&[("a", 1), ("b", 2), ("c", 3)]);
    for name in ["", "m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors", "m-overlay.safetensors"]
    {
        let file = File::open_model(folder.0.join(name), &OpenOptions::default()).unwrap();
        assert_eq!(tensors_of(&file), expected, "{name}");
        assert_eq!(file.model_info().unlisted, 0, "the index assigns \"b\" to another file");
    }
    assert_eq!(opened(folder.0.join("other.safetensors")), tensors(&[("w", 7)]));
}

#[test]
fn an_index_opened_by_path_is_checked_completely() {
    let map = index(&[("a", "x.safetensors"), ("b", "y.safetensors")]);
    let after = |notes: String| map.replace("{\"total_size\": 3}", &format!("{{\"notes\": \"{notes}\"}}"));
    for size in [0, 60_000, 70_000, 1 << 20] {
        let folder = folder_of(&[
            ("x.safetensors", safetensors(&[("a", 1)])),
            ("y.safetensors", safetensors(&[("b", 2)])),
            ("weights.json", after("n".repeat(size)).into_bytes()),
        ]);
        for mode in [Mode::Auto, Mode::Read] {
            let options = OpenOptions { mode, ..OpenOptions::default() };
            let file = File::open_model(folder.0.join("weights.json"), &options).unwrap();
            assert_eq!(tensors_of(&file), tensors(&[("a", 1), ("b", 2)]), "{size}");
        }
        // Larger than the limit for an index.
        let small = OpenOptions { max_manifest_size: 1000, ..OpenOptions::default() };
        let limited = File::open_model(folder.0.join("weights.json"), &small).map(|file| tensors_of(&file));
        assert_eq!(limited.is_ok(), size == 0);
    }
}

#[test]
fn tensors_that_the_index_omits_are_counted_and_can_be_included() {
    let folder = folder_of(&[
        ("m-00001-of-00003.safetensors", safetensors(&[("a", 1), ("x", 8)])),
        ("m-00002-of-00003.safetensors", safetensors(&[("b", 2)])),
        ("m-00003-of-00003.safetensors", safetensors(&[("y", 9)])),
        (
            "m.safetensors.index.json",
            index(&[("a", "m-00001-of-00003.safetensors"), ("b", "m-00002-of-00003.safetensors")])
                .into_bytes(),
        ),
    ]);
    let all = OpenOptions { include_unlisted: true, ..OpenOptions::default() };
    for name in
        ["", "m-00001-of-00003.safetensors", "m-00003-of-00003.safetensors", "m.safetensors.index.json"]
    {
        let path = folder.0.join(name);
        let file = File::open_model(&path, &OpenOptions::default()).unwrap();
        assert_eq!(tensors_of(&file), tensors(&[("a", 1), ("b", 2)]), "{name}");
        assert_eq!(file.model_info().unlisted, 2);
        assert_eq!(file.model_info().unlisted_names, [b"x", b"y"]);
        let file = File::open_model(&path, &all).unwrap();
        assert_eq!(tensors_of(&file), tensors(&[("a", 1), ("x", 8), ("b", 2), ("y", 9)]));
        assert_eq!(file.model_info().unlisted, 0);
    }
}

#[cfg(unix)]
#[test]
fn the_other_files_are_in_the_folder_of_a_link_or_of_its_target() {
    let root = folder_of(&[
        ("blobs/1", one(1)),
        ("blobs/2", safetensors(&[("v", 2)])),
        ("far/m-00001-of-00002.safetensors", one(1)),
        ("far/m-00002-of-00002.safetensors", safetensors(&[("v", 2)])),
        ("near/none", Vec::new()),
        ("mixed/m-00002-of-00002.safetensors", safetensors(&[("v", 5)])),
    ]);
    let at = |name: &str| root.0.join(name);
    std::fs::create_dir_all(at("snapshots/r")).unwrap();
    for number in 1..=2 {
        let name = format!("snapshots/r/m-0000{number}-of-00002.safetensors");
        link_to(Path::new(&format!("../../blobs/{number}")), &at(&name));
    }
    link_to(&at("far/m-00001-of-00002.safetensors"), &at("near/m-00001-of-00002.safetensors"));
    link_to(&at("far/m-00001-of-00002.safetensors"), &at("mixed/m-00001-of-00002.safetensors"));
    link_to(&at("snapshots/r/m-00002-of-00002.safetensors"), &at("latest"));
    let expected = tensors(&[("w", 1), ("v", 2)]);
    for name in [
        "snapshots/r",
        "snapshots/r/m-00001-of-00002.safetensors",
        "near/m-00001-of-00002.safetensors",
        "latest",
    ] {
        assert_eq!(opened(at(name)), expected, "{name}");
    }
    assert_eq!(
        opened(at("mixed/m-00001-of-00002.safetensors")),
        tensors(&[("w", 1), ("v", 5)]),
        "first beside the link"
    );
}

#[test]
fn a_folder_without_a_model_names_those_below_it() {
    let root = folder_of(&[
        ("models--o--n/refs/main", b"beef\n".to_vec()),
        ("models--o--n/snapshots/beef/model.safetensors", one(1)),
        ("models--o--n/snapshots/aaaa/model.safetensors", one(1)),
        ("pipe/model_index.json", b"{}".to_vec()),
        ("pipe/unet/diffusion_pytorch_model.safetensors", one(1)),
        ("pipe/vae/diffusion_pytorch_model.safetensors", one(1)),
        ("loading/model.safetensors.incomplete", Vec::new()),
    ]);
    for (name, parts) in [
        ("models--o--n", &["\"snapshots/beef\", \"snapshots/aaaa\""][..]),
        ("pipe", &["\"unet\", \"vae\""]),
        ("loading", &["not complete", "model.safetensors.incomplete"]),
    ] {
        let error = open(&root.0.join(name)).unwrap_err();
        assert_eq!(error.cause(), Cause::NoFile);
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    }
}

/// Files in memory, in a folder "m". The store may support listing or not.
struct InMemory(BTreeMap<String, Vec<u8>>, bool);

impl Store for InMemory {
    fn for_each_name(
        &self,
        path: &Path,
        body: &mut dyn FnMut(&std::ffi::OsStr) -> Result<()>,
    ) -> Result<bool> {
        if !self.1 || path.to_str() != Some("m") {
            return Ok(false);
        }
        self.0.keys().try_for_each(|name| body(name.as_ref()))?;
        Ok(true)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let name = path.to_str().and_then(|path| path.strip_prefix("m/")).unwrap_or_default();
        let missing = || Error::new(Cause::NoFile, format_args!("{} is not there", path.display()));
        let bytes = self.0.get(name).ok_or_else(missing)?;
        let source: Box<dyn ByteSource> = Box::new(common::ReadOnly(bytes.clone()));
        Ok(Opened { source, label: None, path: Vec::new(), modified: 0 })
    }

    fn threads(&self, _: usize) -> usize {
        2
    }
}

#[test]
fn a_store_gives_the_same_model_as_a_folder() {
    for index_name in ["m.safetensors.index.json", "m.safetensors.index.fp16.json"] {
        let suffix = if index_name.contains("fp16") { ".fp16" } else { "" };
        let names = [1, 2].map(|number| format!("m-0000{number}-of-00002{suffix}.safetensors"));
        let map = [("a", &*names[0]), ("b", "m-overlay.safetensors"), ("c", &*names[1])];
        let files = [
            (names[0].clone(), safetensors(&[("a", 1), ("b", 9)])),
            (names[1].clone(), safetensors(&[("c", 3)])),
            ("m-overlay.safetensors".to_owned(), safetensors(&[("b", 2)])),
            (index_name.to_owned(), index(&map).into_bytes()),
        ];
        let expected = tensors(&[("a", 1), ("b", 2), ("c", 3)]);
        for is_listed in [true, false] {
            let store = InMemory(files.clone().into_iter().collect(), is_listed);
            let listed: &[&str] = if is_listed { &["m", "m/m-overlay.safetensors"] } else { &[] };
            let named = [&names[0], &names[1], index_name].map(|name| format!("m/{name}"));
            for path in named.iter().map(String::as_str).chain(listed.iter().copied()) {
                let file = File::open_model_from(&store, Path::new(path), &OpenOptions::default());
                let file = file.unwrap_or_else(|e| panic!("{path} {is_listed}: {e}"));
                assert_eq!(tensors_of(&file), expected, "{path} {is_listed}");
            }
        }
    }
}

#[test]
fn hostile_indexes_are_refused_and_do_not_hide_other_files() {
    let error = |index: &str, name: &str| {
        let folder = folder_of(&[("m.safetensors", one(1)), ("m.index.json", index.as_bytes().to_vec())]);
        open(&folder.0.join(name))
    };
    for leaving in ["../x", "/etc/passwd", "a\\\\b", ""] {
        let text = format!(r#"{{"weight_map": {{"w": "m.safetensors", "v": "{leaving}"}}}}"#);
        assert!(matches!(error(&text, "").unwrap_err().cause(), Cause::Broken(_)), "{leaving}");
        // The index of the file cannot be read.
        assert!(
            error(&text, "m.safetensors").unwrap_err().message().contains("index beside the file"),
            "{leaving}"
        );
    }
    let other = r#"{"weight_map": {"w": "other.safetensors"}}"#;
    assert_eq!(error(other, "m.safetensors").unwrap(), tensors(&[("w", 1)]));
    let folder = folder_of(&[
        ("x-00000-of-00002.safetensors", one(1)),
        ("x-00002-of-00002.safetensors", one(2)),
        ("x-00001-of-00002.safetensors", one(3)),
    ]);
    assert_eq!(
        open(&folder.0.join("x-00001-of-00002.safetensors")).unwrap_err().cause(),
        Cause::InvalidArgument
    );
    let many = folder_of(&[("x-00001-of-99999.safetensors", one(1))]);
    let missing = open(&many.0.join("x-00001-of-99999.safetensors")).unwrap_err();
    assert!(
        missing.message().contains("\"x-00002-of-99999.safetensors\"")
            && missing.message().contains("and more"),
        "{missing}"
    );
}
