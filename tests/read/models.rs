//! Models of several files, opened as one. Every guarantee for a file holds for all their parts.

use crate::dump;

use crate::common;

use common::byte_order::{element_size, is_as_here, little_endian};
use common::Folder;
use serde_json::Value;
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error, Result, Rule};
use ztensor::reader::{
    Advice, BatchOptions, BatchStats, File, Mode, OpenOptions, Selection, VerifyOptions, VerifyReport,
};
use ztensor::writer::{Writer, WriterOptions};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name)
}

fn sets(folder: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(data(folder).join("sets.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["files"].as_array().unwrap().clone()
}

fn entry_path(folder: &str, entry: &Value) -> PathBuf {
    data(folder).join(entry["file"].as_str().unwrap()).join(entry["open"].as_str().unwrap())
}

fn open(path: impl AsRef<Path>) -> Result<File> {
    File::open_model(path, &OpenOptions::default())
}

fn refusal(path: impl AsRef<Path>) -> Error {
    open(path).expect_err("opened an invalid model")
}

/// Three parts written by gguf-split.
fn split() -> PathBuf {
    data("valid/amber-gguf-split-hand/llm-00001-of-00003.gguf")
}

/// Three parts and their index.
fn indexed() -> PathBuf {
    data("valid/amber-hf-sharded/model.safetensors.index.json")
}

#[test]
fn valid_sets_match_their_manifest() {
    let (mut looked_at, mut objects) = (0, 0);
    for entry in sets("valid") {
        let path = entry_path("valid", &entry);
        for mode in [Mode::Map, Mode::Read, Mode::Auto, Mode::Private] {
            for threads in [1, 5] {
                let file =
                    match File::open_model(&path, &OpenOptions { mode, threads, ..OpenOptions::default() }) {
                        Err(_) if entry["required"] == false => continue,
                        Err(e) => panic!("{e}"),
                        Ok(file) => file,
                    };
                let found = dump::dump(&file);
                let (wanted, found_objects) =
                    (entry["objects"].as_array().unwrap(), found["objects"].as_array().unwrap());
                assert_eq!(wanted.len(), found_objects.len(), "{path:?}");
                for (wanted, found) in wanted.iter().zip(found_objects) {
                    for key in
                        ["name", "shape", "dtype", "offset", "stored_len", "sha256_stored", "sha256_le"]
                    {
                        assert!(wanted[key].is_null() || wanted[key] == found[key], "{wanted} {found}");
                    }
                    assert!(found["error"].is_null(), "{found}");
                }
                for (wanted, found) in
                    entry["kv"].as_array().into_iter().flatten().zip(found["kv"].as_array().unwrap())
                {
                    assert!(
                        wanted["key"] == found["key"] && wanted["value"] == found["value"],
                        "{wanted} {found}"
                    );
                }
                let mut report = VerifyReport::default();
                file.verify(&VerifyOptions::default(), &|_, _| true, &mut report).unwrap();
                assert_eq!(report.objects as usize, wanted.len());
                (looked_at, objects) = (looked_at + 1, objects + wanted.len());
            }
        }
    }
    assert!(looked_at >= 6 * 8 && objects > 200, "{looked_at} {objects}");
}

#[test]
fn invalid_sets_are_rejected_at_the_right_stage() {
    let (mut wrong, mut looked_at) = (Vec::new(), 0);
    for entry in sets("invalid") {
        for threads in [1, 4] {
            let options = OpenOptions { threads, ..OpenOptions::default() };
            let outcome = File::open_model(entry_path("invalid", &entry), &options);
            looked_at += 1;
            match (entry["expected"].as_str().unwrap(), outcome) {
                ("reject", Ok(_)) => wrong.push(format!("{entry}")),
                ("accept", Err(e)) => wrong.push(format!("{entry}: {e}")),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(looked_at >= 90, "{looked_at}");
}

#[test]
fn a_refusal_names_the_rule_the_part_and_the_tensor() {
    let index = "model.safetensors.index.json";
    let (first, nested) = ("m-00001-of-00003.gguf", "model/model.safetensors.index.json");
    let cases: [(&str, &str, Option<Rule>, &[&str]); 13] = [
        ("hf-missing-shard", index, None, &["model-0000"]),
        ("hf-tensor-absent", index, Some(Rule::IndexTensor), &["tensor \"", "which does not have it"]),
        ("hf-tensor-in-wrong-shard", index, Some(Rule::IndexTensor), &["tensor \"", ".safetensors"]),
        ("hf-path-dotdot", nested, Some(Rule::IndexPath), &["tensor \"", "leads out of the folder"]),
        ("hf-path-absolute", nested, Some(Rule::IndexPath), &["is absolute"]),
        ("hf-path-backslash", nested, Some(Rule::IndexPath), &["backslash"]),
        ("hf-index-duplicate-key", index, Some(Rule::JsonDuplicateKey), &["is twice in the weight_map"]),
        ("hf-index-no-weight-map", index, Some(Rule::IndexType), &[index]),
        ("gguf-missing-second", first, None, &["m-00002-of-00003.gguf"]),
        ("gguf-count-4", first, Some(Rule::SplitKeys), &["part 1 of 4", "part 1 of 3"]),
        ("gguf-no-order", first, Some(Rule::SplitKeys), &["m-0000"]),
        ("gguf-tensors-count-wrong", first, Some(Rule::SplitKeys), &["tensors, but they have"]),
        (
            "gguf-duplicate-tensor",
            first,
            Some(Rule::NameDuplicate),
            &["is in two parts", "m-00001-of", "-of-00003.gguf"],
        ),
    ];
    for (name, open, rule, texts) in cases {
        let error = refusal(data("invalid").join(format!("amber-set-{name}")).join(open));
        assert_eq!(error.rule(), rule, "{error}");
        for text in texts.iter().chain([&name]) {
            assert!(error.message().contains(text), "{error} lacks {text}");
        }
        assert!(rule.is_some() || error.cause() == Cause::NoFile, "{error}");
    }
    let alone = refusal(data("invalid/amber-set-gguf-name-pattern/m.gguf"));
    assert_eq!(alone.rule(), Some(Rule::SplitKeys), "{alone}");
    let one = data("invalid/amber-set-gguf-name-pattern/m.gguf");
    assert!(File::open(one, &OpenOptions::default()).is_ok(), "the part is also a valid file");
}

/// All bytes of each object, by name.
fn contents(file: &File) -> Vec<(String, Vec<u8>)> {
    let one = |object: ztensor::reader::Object<'_>| {
        let data = object.component("data").unwrap();
        (object.name().to_owned(), data.load().unwrap().as_slice().to_vec())
    };
    file.objects().map(one).collect()
}

#[test]
fn parts_are_known_by_number_and_so_is_the_part_of_each_component() {
    let model = open(split()).unwrap();
    assert_eq!(model.part_count(), 3);
    let mut size = 0;
    let mut whole = Vec::new();
    for (at, part) in model.parts().enumerate() {
        let name = format!("llm-0000{}-of-00003.gguf", at + 1);
        let path = split().with_file_name(&name);
        assert_eq!(part.path(), Some([path.to_str().unwrap().as_bytes(), b"\0"].concat().as_slice()));
        let alone = File::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!((part.size(), part.container()), (alone.size(), alone.container()));
        assert_eq!(part.identity().unwrap(), alone.identity().unwrap());
        assert_eq!(part.borrow().unwrap(), std::fs::read(&path).unwrap());
        whole.extend(contents(&alone));
        size += part.size();
    }
    assert!(model.part(3).is_none() && model.size() == size);
    assert_eq!(contents(&model), whole);
    let first = File::open(split(), &OpenOptions::default()).unwrap();
    assert_eq!(format!("{:?}", model.attributes()), format!("{:?}", first.attributes()));
    let identity = model.identity().unwrap();
    assert!(identity.size == size && identity.manifest_hash != first.identity().unwrap().manifest_hash);
    for object in model.objects() {
        let data = object.component("data").unwrap();
        let part = model.part(data.part_number()).unwrap();
        let start = usize::try_from(data.offset()).unwrap();
        let stored = &part.borrow().unwrap()[start..start + data.stored_size() as usize];
        match is_as_here(&data) {
            true => {
                assert_eq!(data.borrow().unwrap(), stored, "its offset counts from the start of its part")
            }
            false => {
                let loaded = data.load().unwrap();
                assert_eq!(little_endian(loaded.as_slice(), element_size(&data)), stored);
            }
        }
        assert_eq!(model.find(object.name()).unwrap().name(), object.name());
        // On other systems it depends on the version.
        let refused = data.advise(Advice::WillNeed).err().map(|e| e.cause());
        assert!(refused.is_none() || !cfg!(unix) && refused == Some(Cause::Unsupported), "{refused:?}");
    }
}

#[test]
fn a_batch_a_copy_and_a_view_reach_all_parts() {
    for mode in [Mode::Map, Mode::Read] {
        let model = File::open_model(indexed(), &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
        let expected = contents(&model);
        let mut buffers: Vec<Vec<u8>> = expected.iter().map(|(_, bytes)| vec![0; bytes.len()]).collect();
        let datas = model.objects().map(|object| object.component("data").unwrap());
        let mut requests: Vec<_> = datas
            .zip(&mut buffers)
            .map(|(data, dst)| data.request(&Selection::Whole, dst, 0).unwrap())
            .collect();
        let mut stats = BatchStats::default();
        File::read_batch(&mut requests, &BatchOptions::default(), &|_, _| {}, &|_, _| true, &mut stats)
            .unwrap();
        assert!(buffers.iter().zip(&expected).all(|(found, (_, bytes))| found == bytes));
        assert_eq!(stats.requests as usize, expected.len());
        let folder = Folder::new();
        let path = folder.0.as_path().join("copy.zt");
        let mut writer = Writer::create(&path, &WriterOptions::default()).unwrap();
        for object in model.objects() {
            writer.copy(object, object.name()).unwrap();
            assert_eq!(object.tensor_view().unwrap().shape, object.shape());
        }
        writer.finish().unwrap();
        let copy = File::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(contents(&copy), expected);
    }
}

#[test]
fn a_folder_is_opened_by_the_only_model_in_it() {
    let folder = Folder::new();
    let at = |name: &str| folder.0.as_path().join(name);
    let no_model = refusal(folder.0.as_path());
    assert!(no_model.cause() == Cause::NoFile && no_model.message().contains("holds no model"), "{no_model}");
    let names: Vec<String> = (1..=3).map(|n| format!("llm-0000{n}-of-00003.gguf")).collect();
    for name in &names {
        std::fs::copy(split().with_file_name(name), at(name)).unwrap();
    }
    std::fs::write(at("config.json"), "{}").unwrap();
    std::fs::write(at(".hidden.gguf"), "").unwrap();
    assert_eq!(contents(&open(folder.0.as_path()).unwrap()), contents(&open(split()).unwrap()));
    std::fs::copy(data("valid/amber-hf-no-metadata/a.safetensors"), at("a.safetensors")).unwrap();
    let two = refusal(folder.0.as_path());
    assert_eq!(two.cause(), Cause::InvalidArgument);
    assert!(two.message().contains(r#""a.safetensors", "llm-00001-of-00003.gguf""#), "{two}");
    for number in 0..20 {
        std::fs::write(at(&format!("m{number:02}.gguf")), "").unwrap();
    }
    assert!(
        refusal(folder.0.as_path()).message().ends_with(r#""m05.gguf" and more"#),
        "{}",
        refusal(folder.0.as_path())
    );
    // An index defines the model.
    std::fs::write(at("x.index.json"), r#"{"weight_map": {"enc.0.norm.gain.15": "a.safetensors"}}"#).unwrap();
    let missing = refusal(folder.0.as_path());
    assert_eq!(missing.rule(), Some(Rule::IndexTensor), "{missing}");
    std::fs::write(at("y.index.json"), "{}").unwrap();
    assert!(refusal(folder.0.as_path()).message().contains(r#""x.index.json", "y.index.json""#));
    // Without its first part the model cannot be opened.
    std::fs::remove_file(at(&names[0])).unwrap();
    let missing = refusal(at(&names[1]));
    assert!(missing.cause() == Cause::NoFile && missing.message().contains(&names[0]), "{missing}");
}

#[test]
fn a_tensor_that_the_index_does_not_name_is_not_shown() {
    let folder = Folder::new();
    let all = File::open(data("valid/amber-hf-no-metadata/a.safetensors"), &OpenOptions::default()).unwrap();
    let names: Vec<String> = all.objects().map(|object| object.name().to_owned()).collect();
    std::fs::copy(data("valid/amber-hf-no-metadata/a.safetensors"), folder.0.as_path().join("a.st")).unwrap();
    assert!(names.len() >= 2);
    let index = folder.0.as_path().join("m.index.json");
    for shown in &names {
        std::fs::write(&index, format!(r#"{{"weight_map": {{"{shown}": "a.st"}}}}"#)).unwrap();
        let model = open(&index).unwrap();
        assert_eq!((model.object_count(), model.object(0).unwrap().name()), (1, shown.as_str()));
        assert!(names.iter().all(|name| model.find(name).is_some() == (name == shown)));
        let mut report = VerifyReport::default();
        let options = VerifyOptions { padding: true, ..VerifyOptions::default() };
        model.verify(&options, &|_, _| true, &mut report).unwrap();
        assert_eq!(
            (report.objects, report.padding_nonzero),
            (1, 0),
            "bytes of objects that are not listed are not padding"
        );
        let expected = all.find(shown).unwrap().component("data").unwrap();
        let found = model.find(shown).unwrap().component("data").unwrap();
        assert_eq!(common::read(&found), common::read(&expected));
        assert_eq!(found.borrow().is_ok(), is_as_here(&found));
    }
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_followed_as_caches_of_downloads_have_them() {
    let cache = Folder::new();
    let (blobs, snapshot) = (cache.0.join("blobs"), cache.0.join("snapshots/0123"));
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::create_dir_all(&snapshot).unwrap();
    let from = indexed();
    for (number, entry) in std::fs::read_dir(from.parent().unwrap()).unwrap().enumerate() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, blobs.join(number.to_string())).unwrap();
        let link = snapshot.join(path.file_name().unwrap());
        std::os::unix::fs::symlink(format!("../../blobs/{number}"), link).unwrap();
    }
    for path in [
        snapshot.join("model.safetensors.index.json"),
        snapshot.join("model-00002-of-00003.safetensors"),
        snapshot,
    ] {
        assert_eq!(contents(&open(path).unwrap()), contents(&open(&from).unwrap()));
    }
}
