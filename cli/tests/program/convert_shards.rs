//! Models in several files, split and joined again.

use crate::common;

use common::{content, data, folder, input, names, names_in, run};
use safetensors::SafeTensors;
use std::path::Path;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};

#[test]
fn a_model_is_cut_into_shards_with_an_index() {
    let (from, folder) = input("options-shards");
    run(&[&"convert", &from, &folder.join("model.safetensors"), &"--shard-size=32", &"--verify"]).good();
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    assert_eq!(names_in(&folder), ["in.safetensors", shards[0], shards[1], "model.safetensors.index.json"]);
    let index = std::fs::read_to_string(folder.join("model.safetensors.index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let map = serde_json::json!(
        {"model.a.weight": shards[0], "model.b.weight": shards[0], "model.b.bias": shards[1]}
    );
    assert_eq!(index, serde_json::json!({"metadata": {"total_size": 37}, "weight_map": map}));
    let second = std::fs::read(folder.join(shards[1])).unwrap();
    assert_eq!(SafeTensors::deserialize(&second).unwrap().names(), ["model.b.bias"]);
    // The index, each shard and their folder open the model.
    for part in ["model.safetensors.index.json", shards[1]] {
        let whole = folder.join("joined.safetensors");
        run(&[&"convert", &"--force", &folder.join(part), &whole, &"--verify"]).good();
        assert_eq!(names(&whole), ["model.a.weight", "model.b.weight", "model.b.bias"], "{part}");
    }
    // A single file does not need an index.
    run(&[&"convert", &from, &folder.join("whole.safetensors"), &"--shard-size=1G"]).good();
    assert_eq!(std::fs::read(folder.join("whole.safetensors")).unwrap(), std::fs::read(&from).unwrap());
}

/// GGUF files of several tensors. The data of two tensors is not where writers put it.
const WHOLE: [&str; 7] = [
    "all-types-py",
    "all-types-hand",
    "tensors-gap",
    "tensors-unordered",
    "align-4096",
    "kv-all-be3",
    "split-count-1",
];

#[test]
fn shards_of_zt_become_the_file_again_that_they_were_made_of() {
    let folder = folder("shards-zt");
    let first = folder.join("part-00001-of-00002.zt");
    let sources = WHOLE.map(|name| format!("amber-{name}.gguf"));
    for name in sources.iter().map(String::as_str).chain(["amber-header-order-differs.safetensors"]) {
        let source = data().join("foreign/valid").join(name);
        let back = folder.join("back").with_extension(source.extension().unwrap());
        // Two files: the first has room for all tensors except the last.
        let sizes = sizes(&source);
        let most: u64 = sizes.iter().rev().skip(1).sum();
        let size = format!("--shard-size={}", most.max(*sizes.last().unwrap()));
        run(&[&"convert", &source, &folder.join("part.zt"), &size, &"--verify"]).good();
        assert_eq!(content(&first), content(&source), "{name}");
        run(&[&"convert", &first, &back, &"--verify"]).noted("left out");
        assert!(std::fs::read(&back).unwrap() == std::fs::read(&source).unwrap(), "{name}");
        // One file alone has only its tensors, and the types of the keys.
        let alone = folder.join("alone.zt");
        std::fs::copy(&first, &alone).unwrap();
        let part = back.with_file_name("part").with_extension(source.extension().unwrap());
        run(&[&"convert", &alone, &part, &"--verify"]).noted("left out");
        assert_eq!(typed(&part), typed(&source), "{name}");
        names_in(&folder).iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
    }
}

#[test]
fn shards_of_gguf_name_their_model() {
    let folder = folder("shards-gguf");
    for name in WHOLE.map(|name| format!("amber-{name}.gguf")) {
        let source = data().join("foreign/valid").join(&name);
        let count = names(&source).len();
        run(&[&"convert", &source, &folder.join("m.gguf"), &"--shard-size=1", &"--verify"]).good();
        let part = |number: usize| folder.join(format!("m-{number:05}-of-{count:05}.gguf"));
        assert_eq!(content(&part(1)), content(&source), "{name}");
        for number in [1, count] {
            let file = File::open(part(number), &OpenOptions::default()).unwrap();
            let keys = file.attributes().unwrap();
            let said = ["split.no", "split.count", "split.tensors.count"].map(|key| {
                let value = keys.get(key).unwrap();
                (value.as_u64().unwrap() as usize, value.dtype())
            });
            let expected = [(number - 1, Dtype::U16), (count, Dtype::U16), (count, Dtype::I32)];
            assert_eq!(said, expected.map(|(n, dtype)| (n, Some(dtype))), "{name}");
            let alignment = keys.get("general.alignment").is_some();
            assert!(number == 1 || keys.pairs().len() == 3 + usize::from(alignment), "{name}");
        }
        let back = folder.join("back.gguf");
        run(&[&"convert", &part(1), &back, &"--verify"]).good();
        assert_eq!((content(&back), typed(&back)), (content(&source), typed(&source)), "{name}");
        names_in(&folder).iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
    }
}

#[test]
fn a_size_that_is_large_enough_for_all_makes_one_file() {
    let folder = folder("shards-one");
    for name in WHOLE.map(|name| format!("amber-{name}.gguf")) {
        let source = data().join("foreign/valid").join(&name);
        run(&[&"convert", &"--force", &source, &folder.join("m.gguf"), &"--shard-size=1G"]).good();
        assert_eq!(names_in(&folder), ["m.gguf"]);
        assert!(std::fs::read(folder.join("m.gguf")).unwrap() == std::fs::read(&source).unwrap(), "{name}");
    }
}

#[test]
fn a_split_model_becomes_one_file_with_the_types_of_its_keys() {
    let folder = folder("shards-split");
    for name in ["hand/llm-00001-of-00003", "py/model-00001-of-00003", "empty-first/efamber-00001-of-00003"] {
        let first = data().join(format!("foreign/valid/amber-gguf-split-{name}.gguf"));
        let (direct, zt, back) = (folder.join("a.gguf"), folder.join("a.zt"), folder.join("b.gguf"));
        run(&[&"convert", &"--force", &first, &direct, &"--verify"]).good();
        assert_eq!((content(&direct), typed(&direct)), (content(&first), typed(&first)), "{name}");
        assert_eq!(split_keys(&direct), 0, "{name}");
        run(&[&"convert", &"--force", &first, &zt, &"--verify"]).good();
        run(&[&"convert", &"--force", &zt, &back, &"--verify"]).noted("left out");
        assert!(std::fs::read(&back).unwrap() == std::fs::read(&direct).unwrap(), "{name}");
    }
}

#[test]
fn too_many_shards_are_refused_before_one_is_written() {
    let folder = folder("shards-many");
    let count = 65_536;
    let entry = |n: usize| format!(r#""{n}":{{"dtype":"U8","shape":[1],"data_offsets":[{n},{}]}}"#, n + 1);
    let header = format!("{{{}}}", (0..count).map(entry).collect::<Vec<_>>().join(","));
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; count]].concat();
    std::fs::write(folder.join("in.safetensors"), bytes).unwrap();
    for target in ["zt", "safetensors"] {
        let to = folder.join(format!("out.{target}"));
        run(&[&"convert", &folder.join("in.safetensors"), &to, &"--shard-size=1"]).bad(&["65536 files"]);
    }
    assert_eq!(names_in(&folder), ["in.safetensors"]);
}

fn open(path: &Path) -> File {
    File::open_model(path, &OpenOptions::default()).unwrap()
}

/// The sizes of the tensors in bytes.
fn sizes(path: &Path) -> Vec<u64> {
    open(path).objects().map(|object| object.component("data").unwrap().size().unwrap()).collect()
}

/// The number of keys that describe a part of a model.
fn split_keys(path: &Path) -> usize {
    let file = open(path);
    let pairs = file.attributes().into_iter().flat_map(|map| map.pairs());
    pairs.filter(|(key, _)| key.as_text().is_some_and(|key| key.starts_with("split."))).count()
}

/// Keys, values and their types, without those of a part.
fn typed(path: &Path) -> Vec<String> {
    let file = open(path);
    let pairs = file.attributes().into_iter().flat_map(|map| map.pairs());
    let kept = pairs.filter(|(key, _)| key.as_text().is_none_or(|key| !key.starts_with("split.")));
    kept.map(|(key, value)| format!("{key:?}: {value:?} of {:?}", value.dtype())).collect()
}
