//! The options of `zt convert`, and outputs that cannot be written.

use crate::common;

use common::ztensor_1::{object, write};
use common::{data, folder, input, listing, names, names_in, run, zt, Ran};
use safetensors::SafeTensors;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Stdio;

#[test]
fn tensors_are_chosen_and_renamed() {
    let (from, folder) = input("options-names");
    let to = folder.join("out.zt");
    let convert = |options: &[&str]| {
        let mut zt = zt();
        Ran::of(zt.args(["convert", "--force"]).args(options).args([&from, &to]).output().unwrap())
    };
    convert(&["--include=*.b.*"]).good();
    assert_eq!(names(&to), ["model.b.weight", "model.b.bias"]);
    convert(&["--include=*.b.*", "--include=*.a.*", "--exclude=*.bias"]).good();
    assert_eq!(names(&to), ["model.a.weight", "model.b.weight"]);
    convert(&["--rename=model.a.weight=first", "--rename=model.*=*"]).good();
    assert_eq!(names(&to), ["first", "b.weight", "b.bias"]);
    let before = std::fs::read(&to).unwrap();
    for (options, why) in [
        (&["--include=none"][..], "no object matches \"none\""),
        (&["--include=none", "--exact"], "no object has the name \"none\""),
        (&["--include=*.a.*", "--include=none*"], "no object matches \"none*\""),
        (&["--exclude=none"], "no object matches \"none\""),
        (&["--exclude=*.a.*", "--exclude=none"], "no object matches \"none\""),
        (&["--include=*.a.*", "--exclude=*.a.*"], "no tensor is chosen"),
        (&["--rename=none=x"], "no object has the name \"none\"; --rename needs one"),
        (&["--rename=*=*", "--rename=none.*=x*"], "no object matches \"none.*\"; --rename needs one"),
    ] {
        convert(options).bad(&["in.safetensors: ", why]);
        assert_eq!(std::fs::read(&to).unwrap(), before, "{options:?}");
    }
    convert(&["--rename=model.a.weight=x", "--rename=model.b.bias=x"])
        .bad(&["two tensors would have the name \"x\""]);
    convert(&["--no-attributes"]).good();
    assert_eq!(listing(&to)["attributes"], serde_json::json!({}));
    assert_eq!(convert(&["--rename=a*=b"]).status, 2);
}

#[test]
fn floats_are_converted_for_every_output() {
    let (from, folder) = input("options-dtype");
    let dtypes = |path: &Path| -> Vec<String> {
        let listing = listing(path);
        let objects = listing["objects"].as_array().unwrap();
        objects.iter().map(|o| o["components"][0]["dtype"].as_str().unwrap().to_owned()).collect()
    };
    for name in ["out.zt", "out.safetensors"] {
        let to = folder.join(name);
        run(&[&"convert", &from, &to, &"--dtype=bf16", &"--verify"]).good();
        assert_eq!(dtypes(&to), ["bf16", "bf16", "u8"]);
    }
    let to = folder.join("out.gguf");
    run(&[&"convert", &from, &to, &"--dtype=f16", &"--exclude=*.bias", &"--verify", &"--lossy"])
        .noted("values lost");
    assert_eq!(dtypes(&to), ["f16", "f16"]);
    let bytes = std::fs::read(folder.join("out.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("model.a.weight").unwrap().data()[..4], [0x80, 0x3f, 0x00, 0x3f]);
}

#[test]
fn contents_that_cannot_be_represented_are_named_and_nothing_is_written() {
    let (from, folder) = input("options-refused");
    let sparse = data().join("v1.2/py-1.2.3-sparse.zt");
    let blocks = data().join("foreign/valid/amber-all-types-py.gguf");
    let cases: [(&Path, &str, &[&str]); 7] = [
        (&from, "out.gguf", &["object \"model.b.bias\": GGUF cannot represent the type \"u8\""]),
        (
            &from,
            "out.npz",
            &["attribute \"format\": npz has no attributes", "--lossy leaves the attribute out"],
        ),
        (&sparse, "out.safetensors", &["safetensors cannot represent the format \"sparse_"]),
        (&sparse, "out.gguf", &["GGUF cannot represent the format \"sparse_"]),
        (&blocks, "out.safetensors", &["safetensors cannot represent the type \"gguf."]),
        (&blocks, "out.npz", &["npz cannot represent the type \"gguf."]),
        (&from, "out.onnx", &["the extension is not .zt, .safetensors, .gguf or .npz", "--to"]),
    ];
    for (input, output, parts) in cases {
        run(&[&"convert", &input, &folder.join(output)]).bad(parts);
        assert_eq!(names_in(&folder), ["in.safetensors"], "{output}");
    }
    for option in [
        "--zstd",
        "--raw",
        "--digest=crc32c",
        "--large-alignment=4K",
        "--alignment=4K",
        "--frame-size=1M",
        "--encoding=zstd",
    ] {
        run(&[&"convert", &from, &folder.join("out.gguf"), &option]).bad(&["only applies to .zt output"]);
    }
    run(&[&"convert", &from, &folder.join("out.npz"), &"--shard-size=1K"])
        .bad(&["only applies to .zt, .safetensors and .gguf output"]);
}

/// The options that a refusal names. `; ` is between alternatives.
fn options_in(refusal: &str) -> Vec<String> {
    let advice: Vec<_> = refusal.split("; ").filter(|part| part.starts_with("--")).collect();
    let options =
        advice.first().unwrap_or_else(|| panic!("no option: {refusal}")).split(", and ").map(|part| {
            let words: Vec<_> =
                part.split(' ').take(if part.starts_with("--dtype") { 2 } else { 1 }).collect();
            words.join("=")
        });
    options.collect()
}

/// A GGUF file with blocks, and with attributes that other containers do not have.
fn gguf_with_blocks(folder: &Path) -> PathBuf {
    let (floats, blocks) = (folder.join("model.zt"), folder.join("model.gguf"));
    let weight = |dtype: &str, offset: u64, length: u64| {
        let data = json!({ "dtype": dtype, "offset": offset, "length": length });
        object("dense", &json!([1, 32]), &json!({ "data": data }))
    };
    let objects = json!({ "a.weight": weight("f32", 128, 128), "b.weight": weight("f16", 256, 64) });
    write(&floats, &json!({ "llama.block_count": 2, "tokens": ["a", "b"] }), &objects);
    run(&[&"convert", &floats, &blocks, &"--type=q8_0"]).good();
    blocks
}

#[test]
fn a_refusal_names_every_option_that_is_needed() {
    let folder = folder("options-needed");
    let from = gguf_with_blocks(&folder);
    let to = |name: &str| folder.join(name);
    run(&[&"convert", &from, &to("out.safetensors")]).bad(&[
        "object \"a.weight\": safetensors cannot represent the type \"gguf.q8_0\" (and 1 more object); \
         attribute \"llama.block_count\": safetensors can only represent texts (and 1 more attribute); \
         --dtype f16 converts 2 objects, and --lossy leaves 2 attributes out\n",
    ]);
    run(&[&"convert", &from, &to("out.npz")]).bad(&[
        "npz has no attributes (and 1 more attribute); --dtype f32 converts 2 objects, and --lossy leaves",
    ]);
    // Facts about the blocks are left out with them, and that is said.
    let ran = run(&[&"convert", &from, &to("out.safetensors"), &"--dtype=f16", &"--lossy"]);
    let facts = "zt: left out: 2 attributes: \"general.quantization_version\", \"general.file_type\": \
                 --dtype converts the types that it describes\n";
    assert!(ran.status == 0 && ran.err.ends_with(facts), "{ran:?}");
    // If there are only those, nothing is refused but the blocks.
    let plain = to("plain.gguf");
    run(&[&"convert", &to("model.zt"), &plain, &"--type=q8_0", &"--no-attributes"]).good();
    run(&[&"convert", &plain, &to("plain.safetensors")])
        .bad(&["(and 1 more object); --dtype f16 converts them; --lossy leaves the objects out\n"]);
    let ran = run(&[&"convert", &plain, &to("plain.safetensors"), &"--dtype=f16"]);
    assert!(ran.status == 0 && ran.err == facts, "{ran:?}");
}

#[test]
fn one_refusal_is_enough_for_every_pair_of_formats() {
    let folder = folder("options-pairs");
    let mut inputs = vec![gguf_with_blocks(&folder), folder.join("model.zt")];
    inputs.extend(
        [
            "foreign/valid/amber-semantic-traps.gguf",
            "foreign/valid/amber-protocol-4.pt",
            "foreign/valid/amber-parameters.pt",
            "foreign/valid/amber-odd-names.pt",
            "foreign/valid/amber-all-stored.npz",
            "foreign/valid/amber-all-types-py.gguf",
            "v1.2/py-1.2.3-all-dtypes.zt",
            "v1.2/py-1.2.3-sparse.zt",
            "v2/real/py-every-dtype.zt",
            "v2/real/py-quant-as-documented.zt",
            "v2/real/rs-attributes-all-kinds.zt",
            "v2/real/py-gguf-layouts.zt",
            "checkpoints/gptq-4",
            "checkpoints/bnb-nf4",
            "checkpoints/mlx-4",
            "checkpoints/hqq-4",
            "checkpoints/fp8-block",
        ]
        .map(|name| data().join(name)),
    );
    let mut refused = 0;
    for from in &inputs {
        for to in ["out.safetensors", "out.gguf", "out.npz", "out.zt", "2.zt"] {
            for option in ["--threads=1", "--dtype=f32", "--dtype=f16"] {
                let spec = if to == "2.zt" { &["--spec=2"][..] } else { &[] };
                let to = folder.join(to);
                let convert = |options: &[String]| {
                    let mut zt = zt();
                    zt.args(["convert", "--force"]).args(spec).args(options).args([from, &to]);
                    Ran::of(zt.output().unwrap())
                };
                let first = convert(&[option.into()]);
                if first.status == 0 {
                    continue;
                }
                refused += 1;
                // An option that is named replaces the one of the first command.
                // A .zt file is refused at its first object that is lost, so --lossy is the sure one there.
                let is_zt = to.extension().is_some_and(|extension| extension == "zt");
                assert!(!is_zt || first.err.contains("; --lossy "), "{first:?}");
                let named = options_in(first.err.trim_end());
                let mut options = if is_zt { vec![String::from("--lossy")] } else { named };
                let has_dtype = options.iter().any(|option| option.starts_with("--dtype"));
                options.extend(Some(option.to_owned()).filter(|_| !has_dtype));
                let second = convert(&options);
                // Numbers may be beyond the dtype. That is only known when they are converted.
                let is_beyond = second.err.contains("would become infinite as ");
                let ran = if is_beyond && option == "--threads=1" {
                    convert(&options_in(second.err.trim_end()))
                } else {
                    second
                };
                assert_eq!(ran.status, 0, "{} {option}: {}{ran:?}", from.display(), first.err);
            }
        }
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn nothing_is_replaced_without_force() {
    let (from, folder) = input("options-force");
    for name in ["out.zt", "out.safetensors", "out.gguf", "out.npz"] {
        let to = folder.join(name);
        std::fs::write(&to, "precious").unwrap();
        let options: [&dyn AsRef<std::ffi::OsStr>; 5] =
            [&"convert", &from, &to, &"--no-attributes", &"--exclude=*.bias"];
        run(&options).bad(&["it exists; --force replaces it"]);
        assert_eq!(std::fs::read(&to).unwrap(), b"precious");
        run(&[&options[..], &[&"--force"]].concat()).good();
        assert_ne!(std::fs::read(&to).unwrap(), b"precious");
    }
    assert_eq!(names_in(&folder), ["in.safetensors", "out.gguf", "out.npz", "out.safetensors", "out.zt"]);
}

#[test]
fn standard_input_and_output_are_files_too() {
    let (from, folder) = input("options-standard");
    let bytes = std::fs::read(&from).unwrap();
    let expected = |target: &str, options: &[&str]| {
        let to = folder.join(format!("expected.{target}"));
        let mut zt = zt();
        Ran::of(zt.arg("convert").args(options).args([&from, &to]).output().unwrap()).good();
        std::fs::read(&to).unwrap()
    };
    let options = ["--no-attributes", "--exclude=*.bias"];
    for target in ["zt", "safetensors", "gguf", "npz"] {
        let wanted = expected(target, &options);
        for piped in [false, true] {
            let mut command = zt();
            command.args(["convert", "--to", target, "-", "-"]).args(options).stdout(Stdio::piped());
            let output = if piped {
                let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
                std::io::Write::write_all(&mut child.stdin.take().unwrap(), &bytes).unwrap();
                child.wait_with_output().unwrap()
            } else {
                command.stdin(std::fs::File::open(&from).unwrap()).output().unwrap()
            };
            assert!(output.status.success() && output.stdout == wanted, "{target} {piped} {output:?}");
        }
    }
    let output = zt().args(["convert", "--to=gguf", "-", "-"]).output().unwrap(); // standard input is empty
    Ran::of(output).bad(&["standard input: "]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_leaves_no_file() {
    let (from, folder) = input("options-full");
    for target in ["zt", "safetensors", "gguf", "npz"] {
        let options = ["convert", "--no-attributes", "--exclude=*.bias", "--to", target];
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = zt().args(options).arg(&from).arg("-").stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{target} {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"), "{output:?}");
        // A size limit of 0 bytes simulates a full disk.
        let script = "ulimit -f 0; exec \"$@\"";
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", script, "sh", env!("CARGO_BIN_EXE_zt")]).args(options);
        let output = limited.arg(&from).arg(folder.join("out")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{target} {output:?}");
        assert_eq!(names_in(&folder), ["in.safetensors"], "{target}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_the_old_file_for_every_output() {
    let folder = folder("options-interrupt");
    let (from, elements) = (folder.join("in.safetensors"), 64 << 20);
    let header =
        format!(r#"{{"zeros":{{"dtype":"F32","shape":[{elements}],"data_offsets":[0,{}]}}}}"#, elements * 4);
    std::fs::write(&from, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&from).unwrap();
    // sparse zeros, which do not use disk space
    file.set_len((8 + header.len() + elements * 4) as u64).unwrap();
    for target in ["safetensors", "gguf", "npz"] {
        let to = folder.join(format!("out.{target}"));
        std::fs::write(&to, "precious").unwrap();
        let mut command = zt();
        command.args(["convert", "--force", "--dtype=f64"]).args([&from, &to]).stderr(Stdio::piped());
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        while names_in(&folder).len() == 2 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{target} {output:?}");
        assert_eq!(std::fs::read(&to).unwrap(), b"precious");
        assert_eq!(names_in(&folder), ["in.safetensors", &format!("out.{target}")]);
        std::fs::remove_file(&to).unwrap();
    }
}

#[test]
fn two_tensors_of_one_name_are_refused_by_every_target() {
    let folder = folder("options-twice");
    let twice = data().join("v0.1/py-0.1.4-duplicate-name.zt");
    for target in ["zt", "safetensors", "gguf", "npz"] {
        let to = folder.join(format!("out.{target}"));
        run(&[&"convert", &twice, &to]).bad(&["two tensors would have the name"]);
    }
    assert!(names_in(&folder).is_empty());
    run(&[&"convert", &twice, &folder.join("model.safetensors.index.json")]).bad(&["the extension is not"]);
}

/// The attributes of a file: key, type and value.
fn attributes(path: &Path) -> Vec<(String, String, String)> {
    let json: serde_json::Value = serde_json::from_str(&run(&[&"attr", &path, &"--json"]).good()).unwrap();
    let text = |entry: &serde_json::Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let entries = json["attributes"].as_array().unwrap().iter();
    entries.map(|entry| (text(entry, "key"), text(entry, "type"), entry["value"].to_string())).collect()
}

#[test]
fn attributes_are_set_in_the_output() {
    let folder = folder("options-set");
    let from = gguf_with_blocks(&folder);
    let convert = |to: &str, options: &[&str]| {
        let to = folder.join(to);
        let ran = zt().args(["convert", "--force", "--verify"]).args(options).args([&from, &to]).output();
        Ran::of(ran.unwrap()).good();
        to
    };
    let set = ["--set=tokens=[\"x\"]", "--set=a.b=it is=text", "--set=n=77", "--set=f=1.5", "--set=m=-1"];
    let to = convert("out.gguf", &set);
    let found = attributes(&to);
    let expected = |key: &str, kind: &str, value: &str| (key.to_owned(), kind.to_owned(), value.to_owned());
    for entry in [
        expected("llama.block_count", "i32", "2"),
        expected("tokens", "[string] x 1", r#"["x"]"#),
        expected("a.b", "string", r#""it is=text""#),
        expected("n", "u32", "77"),
        expected("f", "f32", "1.5"),
        expected("m", "i32", "-1"),
    ] {
        assert!(found.contains(&entry), "{entry:?}: {found:?}");
    }
    let diff = run(&[&"diff", &from, &to]);
    assert!(diff.out.lines().filter(|line| line.starts_with("~ ")).count() == 5, "{diff:?}");
    // A key has the type of the input, in every output; without the other attributes, too.
    for (output, options) in [("one.zt", &[][..]), ("two.zt", &["--spec=2"])] {
        let zt = convert(output, &[options, &["--set=llama.block_count=3"]].concat());
        assert_eq!(run(&[&"attr", &zt, &"llama.block_count"]).good(), "3\n");
        let again = folder.join("again.gguf");
        assert_eq!(run(&[&"convert", &"--force", &zt, &again]).status, 0);
        let entry = expected("llama.block_count", "i32", "3");
        assert!(attributes(&again).contains(&entry), "{:?}", attributes(&again));
        let alone = convert(output, &[options, &["--set=k=1", "--no-attributes"]].concat());
        assert_eq!(attributes(&alone).iter().map(|entry| entry.0.as_str()).collect::<Vec<_>>(), ["k"]);
    }
    let texts = convert("out.safetensors", &["--dtype=f16", "--set=license=MIT", "--no-attributes"]);
    assert_eq!(attributes(&texts), [expected("license", "string", r#""MIT""#)]);
    // It is refused like another attribute that the output does not have.
    let npz = folder.join("out.npz");
    run(&[&"convert", &from, &npz, &"--dtype=f32", &"--no-attributes", &"--set=k=1"])
        .bad(&["attribute \"k\": npz has no attributes; --lossy leaves the attribute out"]);
    // The types of blocks, which this conversion states itself.
    let typed = folder.join("typed.gguf");
    run(&[&"convert", &folder.join("model.zt"), &typed, &"--type=q8_0", &"--set=general.file_type=1"]).good();
    assert!(attributes(&typed).contains(&expected("general.file_type", "u32", "1")));
    for (option, why) in [("k", "not KEY=VALUE"), ("=1", "not KEY=VALUE")] {
        let ran = run(&[&"convert", &from, &to, &"--set", &option]);
        assert!(ran.status == 2 && ran.err.contains(why), "{ran:?}");
    }
    let twice = ["--force", "--set=k=1", "--set=k=2"].map(String::from);
    Ran::of(zt().arg("convert").args(twice).args([&from, &to]).output().unwrap())
        .bad(&["--set: the attribute \"k\" is given twice"]);
    run(&[&"convert", &from, &to, &"--force", &"--set=ztensor.origin=1"]).bad(&["is one that zt writes"]);
}

/// The message has the command, which works.
#[test]
fn a_file_that_cannot_be_edited_names_the_command_that_sets_its_attribute() {
    let folder = folder("options-edit");
    let from = gguf_with_blocks(&folder);
    let before = std::fs::read(&from).unwrap();
    for (words, setting, shown) in [
        (&["llama.block_count", "5"][..], "llama.block_count=5", "5"),
        (&["general.name", "it's me"], r"'general.name=it'\''s me'", "it's me"),
        (&["general.name", "5", "--text"], r#"'general.name="5"'"#, "5"),
    ] {
        let ran = zt().args(["attr", "set", "model.gguf"]).args(words).current_dir(&folder).output();
        let ran = Ran::of(ran.unwrap());
        let command = format!("zt convert model.gguf NEW.gguf --set {setting}");
        let why = format!("zt: model.gguf: a file of GGUF cannot be edited; {command} writes another one\n");
        assert_eq!((ran.status, ran.err.as_str()), (1, why.as_str()));
        if cfg!(unix) {
            let command = command.replacen("zt", env!("CARGO_BIN_EXE_zt"), 1) + " --force";
            let mut shell = std::process::Command::new("sh");
            Ran::of(shell.args(["-c", &command]).current_dir(&folder).output().unwrap()).good();
            let set = run(&[&"attr", &folder.join("NEW.gguf"), &words[0]]).good();
            assert_eq!(set, format!("{shown}\n"));
        }
    }
    run(&[&"attr", &"set", &from, &"a.weight", &"k", &"1"]).bad(&["convert it to .zt first"]);
    assert_eq!(std::fs::read(&from).unwrap(), before);
}
