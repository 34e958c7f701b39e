//! Every output opens under its name and verifies. Otherwise the command fails with a line that gives the
//! reason, and writes nothing.

use crate::common;

use common::ztensor_1::{object, write};
use common::{data, folder, names_in, run, valid_files, zt, Ran};
use serde_json::{json, Map, Value};
use std::path::{Path, PathBuf};
use ztensor::model::dtype::{Block, Dtype, Logical};

/// A random number generator; each test has a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize].clone()
    }
}

/// The position of 192 zeros in the data of those files.
const ZEROS: u64 = 128;

const NAMES: [&str; 18] = [
    "w",
    "model.layers.0.weight",
    "a.npy",
    "x/../y",
    "/absolute",
    "folder/",
    "__metadata__",
    "__MACOSX/._w",
    ".hidden",
    "two words",
    "\u{fc}\u{1f600}",
    "quote\"back\\slash",
    "C:x",
    "line\nbreak",
    "m-00001-of-00002",
    "split.count",
    "tab\tand\u{1b}[31m",
    "layers[0].{w}*?",
];

fn shape(random: &mut Random) -> Vec<u64> {
    match random.below(8) {
        0 => Vec::new(),
        1 => vec![0],
        2 => {
            random.one_of(&[vec![0, 1 << 63], vec![1 << 63, 0], vec![u64::MAX, 0], vec![0, 1 << 40, 1 << 40]])
        }
        3 => vec![1; random.one_of(&[5, 8, 9, 32, 33, 64, 65, 70, 255])],
        4 => vec![random.one_of(&[1, 3, 7, 9, 15])],
        5 => vec![random.one_of(&[32, 64, 128])],
        6 => vec![2, random.one_of(&[2, 4, 32])],
        _ => (0..random.below(5)).map(|_| 1 + random.below(3)).collect(),
    }
}

/// A dense object of a random type, or None if its bytes do not fit.
fn dense(random: &mut Random) -> Option<Value> {
    let (dtype, logical) = match random.below(3) {
        0 => (None, Some(random.one_of(&Logical::ALL))),
        _ => (Some(random.one_of(&Dtype::ALL)), None),
    };
    let block = dtype.map_or_else(|| logical.map_or(Dtype::U8.block(), Logical::block), Dtype::block);
    let dtype = dtype.or(logical.map(Logical::dtype)).unwrap();
    let shape = shape(random);
    let count = match shape.contains(&0) {
        true => 0,
        false => shape.iter().product::<u64>(),
    };
    let Block { elements, bytes } = block;
    let length = count.div_ceil(elements) * bytes;
    let mut component = json!({ "dtype": dtype.name(), "offset": ZEROS, "length": length });
    if let Some(logical) = logical {
        component["type"] = json!(logical.name());
    }
    (length <= 192).then(|| object("dense", &json!(shape), &json!({ "data": component })))
}

fn attributes(random: &mut Random) -> Value {
    let mut map = Map::new();
    for _ in 0..random.below(3) {
        let key =
            random.one_of(&["a", "general.alignment", "split.count", "format", "__metadata__", "key \u{fc}"]);
        let depth = random.one_of(&[0, 0, 1, 2, 7, 8, 9, 12, 30]);
        let mut value =
            random.one_of(&[json!(7), json!("text"), json!(32), json!(3), json!(u64::MAX), json!({})]);
        (0..depth).for_each(|_| value = json!([value]));
        map.insert(key.to_owned(), value);
    }
    Value::Object(map)
}

/// A random model. Each object gives the position of its data.
fn write_model(random: &mut Random, path: &Path) {
    let mut objects = Map::new();
    for _ in 0..1 + random.below(4) {
        let name = match random.below(12) {
            0 => "n".repeat(random.one_of(&[64, 255, 300, 70_000])),
            _ => random.one_of(&NAMES).to_owned(),
        };
        if let Some(object) = dense(random) {
            objects.insert(name, object);
        }
    }
    write(path, &attributes(random), &Value::Object(objects));
}

/// The ways in which a model is converted.
const CASES: [&[&str]; 9] = [
    &["o.zt"],
    &["o.zt", "--spec=2"],
    &["o.zt", "--spec=0.1"],
    &["o.safetensors"],
    &["o.gguf"],
    &["o.npz"],
    &["o.npz", "--lossy", "--dtype=f32"],
    &["o.gguf", "--lossy"],
    &["o.safetensors", "--lossy", "--shard-size=16"],
];

#[track_caller]
fn assert_verifies(path: &Path) {
    let ran = run(&[&"verify", &path]);
    assert_eq!(ran.status, 0, "{ran:?}");
}

/// Converts a file by one case into an empty folder. Returns whether it succeeded.
fn convert(input: &Path, into: &Path, case: &[&str]) -> bool {
    let _ = std::fs::remove_dir_all(into);
    std::fs::create_dir_all(into).unwrap();
    let what = format!("{} {case:?}", input.display());
    let mut command = zt();
    command.arg("convert").arg(input).arg(into.join(case[0])).args(&case[1..]);
    let ran = Ran::of(command.output().unwrap());
    assert!(!ran.err.contains("internal error"), "{what} {ran:?}");
    let names = names_in(into);
    if ran.status != 0 {
        assert_eq!((ran.status, names.as_slice()), (1, [].as_slice()), "{what} {ran:?}");
        assert!(ran.err.lines().count() > 0, "{what} {ran:?}");
        return false;
    }
    let entry = names.iter().find(|name| name.ends_with(".json")).or(names.first());
    let entry = into.join(entry.unwrap_or_else(|| panic!("{what}: nothing was written")));
    let verified = run(&[&"verify", &entry]);
    assert_eq!(verified.status, 0, "{what} {ran:?} {verified:?}");
    true
}

/// Converts a file in all ways, and extracts its arrays. Returns how many succeeded.
fn convert_in_all_cases(input: &Path, folder: &Path) -> usize {
    let converted = CASES.iter().filter(|case| convert(input, &folder.join("out"), case)).count();
    let arrays = folder.join("arrays");
    let _ = std::fs::remove_dir_all(&arrays);
    let ran = run(&[&"extract", &input, &"--to", &arrays]);
    // If a name is too long for a file, the other arrays are written.
    if ran.status != 0 && !ran.err.contains("too long for a file") {
        assert!(!arrays.exists(), "{} {ran:?}", input.display());
        return converted;
    }
    for name in names_in(&arrays) {
        assert_verifies(&arrays.join(name));
    }
    converted + 1
}

#[test]
fn conversions_of_random_models_verify_or_are_rejected() {
    let folder = folder("outputs-random");
    let path = folder.join("in.zt");
    let (mut random, mut done, mut refused) = (Random(37), 0, 0);
    for _ in 0..60 {
        write_model(&mut random, &path);
        let verified = run(&[&"verify", &path]);
        if verified.status != 0 {
            continue; // a file that readers reject is not a model
        }
        let converted = convert_in_all_cases(&path, &folder);
        done += converted;
        refused += CASES.len() + 1 - converted;
    }
    println!("{done} conversions, {refused} refusals");
    assert!(done > 100 && refused > 50, "{done} {refused}");
}

#[test]
fn conversions_of_the_corpus_verify_or_are_rejected() {
    /// One of this number of files is tried.
    const STEP: usize = 5;
    let folder = folder("outputs-corpus");
    let mut files: Vec<_> = valid_files().into_iter().map(|(path, _)| path).collect();
    for folder in ["foreign/valid", "v2/cases", "v2/real"] {
        files.extend(names_in(&data().join(folder)).iter().map(|name| data().join(folder).join(name)));
    }
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|found| found.len() < 64 << 10);
    let mut done = 0;
    for path in files.iter().filter(|path| is_small(path)).step_by(STEP) {
        if run(&[&"verify", path]).status == 0 {
            done += convert_in_all_cases(path, &folder);
        }
    }
    assert!(done > 100, "{done}");
}

/// A file with one object.
fn model_of(folder: &Path, shape: &Value, component: &Value, attributes: &Value) -> PathBuf {
    let path = folder.join("in.zt");
    write(&path, attributes, &json!({ "w": object("dense", shape, &json!({ "data": component })) }));
    path
}

#[test]
fn writers_enforce_the_limits_of_their_containers() {
    let folder = folder("outputs-limits");
    let byte = |length: u64| json!({ "dtype": "u8", "offset": ZEROS, "length": length });
    let f4 = |length: u64| json!({ "dtype": "u8", "type": "f4_e2m1", "offset": ZEROS, "length": length });
    let deep = |depth: usize| (0..depth).fold(json!(1), |value, _| json!([value]));
    let float = json!({ "dtype": "f32", "offset": ZEROS, "length": 4 });
    let cases = [
        (json!(vec![1; 64]), byte(1), json!({}), "o.npz", ""),
        (json!(vec![1; 65]), byte(1), json!({}), "o.npz", "its 65 dimensions"),
        (json!([0, (1_u64 << 63) - 1]), byte(0), json!({}), "o.npz", ""),
        (json!([0, 1_u64 << 63]), byte(0), json!({}), "o.npz", "a dimension of 9223372036854775808"),
        (json!([10]), f4(5), json!({}), "o.safetensors", ""),
        (json!([9]), f4(5), json!({}), "o.safetensors", "9 elements of \"f4_e2m1\""),
        (json!(vec![1; 8]), float.clone(), json!({}), "o.gguf", ""),
        (json!(vec![1; 9]), float.clone(), json!({}), "o.gguf", "its 9 dimensions"),
        (json!([1]), float.clone(), json!({ "k": deep(8) }), "o.gguf", ""),
        (json!([1]), float.clone(), json!({ "k": deep(9) }), "o.gguf", "arrays nested more than 8 deep"),
    ];
    for (shape, component, attributes, name, why) in cases {
        let input = model_of(&folder, &shape, &component, &attributes);
        let to = folder.join(name);
        let ran = run(&[&"convert", &input, &to]);
        match why {
            "" => {
                assert_eq!(ran.status, 0, "{ran:?}");
                assert_verifies(&to);
                std::fs::remove_file(&to).unwrap();
            }
            why => ran.bad(&[name, "cannot represent", why, "--lossy"]),
        }
        assert_eq!(names_in(&folder), ["in.zt"], "{name} {why}");
        if name == "o.npz" {
            let arrays = folder.join("arrays");
            let ran = run(&[&"extract", &input, &"--to", &arrays]);
            match why {
                "" => {
                    assert_verifies(&arrays.join("w.npy"));
                    std::fs::remove_dir_all(&arrays).unwrap();
                    drop(ran.good());
                }
                why => ran.bad(&["\"w\"", why, "--raw"]),
            }
            assert_eq!(names_in(&folder), ["in.zt"], "{why}");
        }
    }
}

#[test]
fn a_complete_model_cannot_have_the_name_of_a_part() {
    let folder = folder("outputs-part");
    let float = json!({ "dtype": "f32", "offset": ZEROS, "length": 4 });
    let input = model_of(&folder, &json!([1]), &float, &json!({}));
    let names = [
        "new-00001-of-00002.gguf",
        "new-00002-of-00002.safetensors",
        "new-00001-of-00003.zt",
        "new_00001-of-00002.safetensors",
        "new-00001-of-00002.fp16.safetensors",
        "new-00001-of-00002.npz",
    ];
    for name in names {
        run(&[&"convert", &input, &folder.join(name)]).bad(&[
            name,
            "the name of part",
            "choose another name",
        ]);
    }
    run(&[&"merge", &input, &folder.join(names[2])]).bad(&["the name of part 1 of 3"]);
    run(&[&"split", &input, &folder.join(names[2]), &"--size=1"]).bad(&["the name of part 1 of 3"]);
    assert_eq!(names_in(&folder), ["in.zt"]);
    // A set of one file is complete.
    run(&[&"convert", &input, &folder.join("new-00001-of-00001.gguf")]).good();
    assert_verifies(&folder.join("new-00001-of-00001.gguf"));
}

#[test]
fn a_file_that_would_be_read_with_others_is_not_written() {
    let folder = folder("outputs-index");
    let float = json!({ "dtype": "f32", "offset": ZEROS, "length": 4 });
    let input = model_of(&folder, &json!([1]), &float, &json!({}));
    let to = folder.join("m.safetensors.index.json");
    run(&[&"convert", &input, &to, &"--to=safetensors"]).bad(&["m.safetensors.index.json", "would not open"]);
    assert_eq!(names_in(&folder), ["in.zt"]);
}

#[test]
fn the_extension_chooses_the_container_and_another_needs_to() {
    let folder = folder("outputs-extension");
    let float = json!({ "dtype": "f32", "offset": ZEROS, "length": 4 });
    let input = model_of(&folder, &json!([1]), &float, &json!({}));
    let containers = [
        ("a.zt", "zTensor 1.2"),
        ("a.ZT", "zTensor 1.2"),
        ("a.safetensors", "safetensors"),
        ("a.SafeTensors", "safetensors"),
        ("a.GGUF", "GGUF"),
        ("a.b.Npz", "npz"),
    ];
    for (name, container) in containers {
        let to = folder.join(name);
        run(&[&"convert", &input, &to]).good();
        let info = run(&[&"info", &to]).good();
        assert!(info.contains(container), "{name}: {info}");
        std::fs::remove_file(to).unwrap();
    }
    for name in
        ["m.safetensor", "m.ztensor", "m.pt", "m.bin", "m.npy", "m.json", "m", "m.zt.tmp", ".zt", "m."]
    {
        let to = folder.join(name);
        run(&[&"convert", &input, &to]).bad(&[name, "the extension is not", "--to"]);
        run(&[&"merge", &input, &to]).bad(&[name, "this command writes only .zt files"]);
        run(&[&"split", &input, &to, &"--size=1K"]).bad(&[name, "this command writes only .zt files"]);
        assert_eq!(names_in(&folder), ["in.zt"], "{name}");
        run(&[&"convert", &input, &to, &"--to=gguf"]).good();
        assert!(run(&[&"info", &to]).good().contains("GGUF"), "{name}");
        std::fs::remove_file(to).unwrap();
    }
    run(&[&"convert", &input, &"-"]).bad(&["standard output", "--to"]);
    // Also for changes: a file with another extension is unchanged.
    let other = folder.join("m.safetensors");
    std::fs::copy(&input, &other).unwrap();
    let before = std::fs::read(&other).unwrap();
    run(&[&"add", &other, &data().join("v1.2/py-1.2.3-sparse.zt")]).bad(&["m.safetensors", "only .zt files"]);
    run(&[&"compact", &other]).bad(&["m.safetensors", "only .zt files"]);
    assert_eq!(std::fs::read(&other).unwrap(), before);
    // Several files have the name of the single one, without the extension of another container.
    run(&[&"convert", &input, &folder.join("m.v1"), &"--to=gguf", &"--shard-size=1"]).good();
    assert!(folder.join("m.v1").exists());
}

/// Runs both at the same time, and returns which succeeded.
fn at_once(commands: [&[&std::ffi::OsStr]; 2]) -> [Ran; 2] {
    let children = commands.map(|words| {
        let pipes = || std::process::Stdio::piped();
        zt().args(words).stdout(pipes()).stderr(pipes()).spawn().unwrap()
    });
    children.map(|child| Ran::of(child.wait_with_output().unwrap()))
}

#[test]
fn two_commands_at_once_into_one_place_never_make_a_mixture() {
    const ROUNDS: usize = 12;
    let folder = folder("outputs-at-once");
    let models = [1u8, 2].map(|byte| {
        let path = folder.join(format!("{byte}.safetensors"));
        let entry = |at: usize| {
            format!(r#""t{at}":{{"dtype":"I8","shape":[64],"data_offsets":[{},{}]}}"#, at * 64, at * 64 + 64)
        };
        let header = format!("{{{}}}", (0..24).map(entry).collect::<Vec<_>>().join(","));
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[byte; 24 * 64]].concat();
        std::fs::write(&path, bytes).unwrap();
        path
    });
    let to = folder.join("to");
    for (words, output, found) in [
        ("convert --shard-size=64 --force", "m.safetensors", "m.safetensors.index.json"),
        ("convert --shard-size=64", "m.safetensors", "m.safetensors.index.json"),
        ("convert --shard-size=64", "m.zt", "m-00001-of-00024.zt"),
        ("convert --shard-size=64", "m.gguf", "m-00001-of-00024.gguf"),
        ("split --size=64 --force", "m.zt", "m.zt"),
        ("split --size=64", "m.zt", "m.zt"),
        ("convert", "m.zt", "m.zt"),
        ("extract", "m", "m"),
    ] {
        for round in 0..ROUNDS {
            // With --force every second round starts with an old model.
            if round % 2 == 0 || !words.contains("--force") {
                let _ = std::fs::remove_dir_all(&to);
                std::fs::create_dir_all(&to).unwrap();
            }
            let output = to.join(output);
            let commands = [0, 1].map(|at: usize| {
                let mut all: Vec<&std::ffi::OsStr> = words.split(' ').map(AsRef::as_ref).collect();
                all.push(models[at].as_ref());
                all.extend(words.starts_with("extract").then_some(std::ffi::OsStr::new("--to")));
                all.push(output.as_ref());
                all
            });
            let ran = at_once([&commands[0], &commands[1]]);
            let case = format!("{words}, round {round}: {ran:?}");
            let of_model = |byte: u8| match words {
                "extract" => (0..24).all(|at| {
                    let array = std::fs::read(output.join(format!("t{at}.npy"))).unwrap();
                    array.ends_with(&[byte; 64])
                }),
                _ => run(&[&"diff", &models[usize::from(byte) - 1], &to.join(found)]).status == 0,
            };
            let is = [of_model(1), of_model(2)];
            assert!(is[0] != is[1], "{case}: a mixture");
            let (one, other) = (ran[0].status == 0, ran[1].status == 0);
            assert!(one || other, "{case}: both failed");
            // A command without --force is not replaced.
            if !words.contains("--force") {
                assert_eq!([one, other], is, "{case}");
            }
            let left = names_in(&to);
            assert!(left.iter().all(|name| !name.starts_with('.')), "{case}: {left:?}");
        }
    }
}

/// Readers of the folder would use the old index.
#[test]
fn one_file_does_not_replace_a_model_of_several() {
    let folder = folder("one-for-several");
    let path = folder.join("m.safetensors");
    let (from, _) = common::input("one-for-several-input");
    run(&[&"convert", &"--shard-size", &"24", &from, &path]).good();
    let before = names_in(&folder);
    run(&[&"convert", &"--shard-size", &"1M", &"--force", &from, &path]).bad(&["m.safetensors.index.json"]);
    assert_eq!(names_in(&folder), before);
}
