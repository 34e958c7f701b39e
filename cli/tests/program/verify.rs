//! `zt verify`: a line for each file, a summary, and a correct exit status.

use crate::common;

use common::{data, folder, run, valid_files, zt, Ran};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Stdio;
use ztensor::reader::{File, OpenOptions};

#[test]
fn every_sound_file_of_the_corpus_passes() {
    let files = valid_files();
    let out = Ran::of(zt().arg("verify").args(files.iter().map(|(path, _)| path)).output().unwrap()).sound();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), files.len() + 1);
    for ((path, _), line) in files.iter().zip(&lines) {
        let states = ["ok", "structure ok"].map(|state| format!("{}: {state}, ", path.display()));
        assert!(states.iter().any(|state| line.starts_with(state)), "{line}");
    }
    let partly = lines.iter().filter(|line| line.contains(": structure ok, ")).count();
    let counts = format!("137 files: {} ok, {partly} structure ok, 0 failed; ", 137 - partly);
    assert!(partly > 0 && lines[files.len()].starts_with(&counts), "{out}");
}

/// The line says what was checked before anything else.
#[test]
fn a_file_without_digests_is_not_just_ok() {
    let said = |words: &[&str], file: &str| {
        let path = data().join(file);
        let ran = Ran::of(zt().arg("verify").args(words).arg(&path).output().unwrap());
        let out = ran.sound();
        let (line, sum) = out.split_once('\n').unwrap();
        let line = line.strip_prefix(&format!("{}: ", path.display())).unwrap();
        (line.to_owned(), sum.split("; ").next().unwrap().to_owned())
    };
    let line = |text: &str, sum: &str| (text.to_owned(), sum.to_owned());
    let (all, some) = ("1 file: 1 ok, 0 failed", "1 file: 0 ok, 1 structure ok, 0 failed");
    assert_eq!(
        said(&[], "v1.2/py-1.2.3-digests.zt"),
        line("structure ok, 5 of 7 components have digests, all verified; 7 objects, 1.1 KiB", some)
    );
    assert_eq!(
        said(&[], "v1.1/py-1.1.1-all-dtypes.zt"),
        line("structure ok, 0 of 13 components have digests; 13 objects, 705 B", some)
    );
    assert_eq!(
        said(&[], "valid-odd/padding-nonzero.zt"),
        line(
            "structure ok, 0 of 1 components have digests; 1 object, 2 B, 56 bytes of padding not zero",
            some
        )
    );
    assert_eq!(
        said(&[], "foreign/valid/amber-all-stored.npz"),
        line("ok, 14 digests verified; 14 objects, 1.1 KiB", all)
    );
    let quick = said(&["--quick"], "foreign/valid/amber-all-stored.npz");
    assert_eq!(quick, line("structure ok, data not read; 14 objects, 1.1 KiB", some));
    let unknown = run(&[&"verify", &data().join("v2/cases/d3-unknown-algorithm-opens.zt")]);
    let line = ": not checked in full, 0 of 1 components have known digests; ";
    assert!(unknown.status == 2 && unknown.out.contains(line), "{unknown:?}");
}

/// JSON and SARIF have every component.
/// The SHA-256 of a download, as a hub shows it.
#[test]
fn a_file_is_compared_with_its_sha256() {
    let folder = folder("verify-sha256");
    let (good, bad) = (folder.join("good.safetensors"), folder.join("bad.safetensors"));
    let mut bytes = std::fs::read(data().join("../../examples/data/minilm-small.safetensors")).unwrap();
    std::fs::write(&good, &bytes).unwrap();
    let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&bad, &bytes).unwrap();
    let verify = |path: &Path, more: &[&str]| {
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"verify", &"--sha256", &digest, &path];
        words.extend(more.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
        run(&words)
    };
    let out = verify(&good, &[]).good();
    assert!(out.contains("good.safetensors: ok, SHA-256 verified; 66 objects"), "{out}");
    let ran = verify(&bad, &[]);
    assert!(ran.status == 1 && ran.err.contains(&format!("not {}", digest.to_lowercase())), "{ran:?}");
    let ran = verify(&bad, &["--json"]);
    let entries: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.status, &entries[0]["failures"][0]["rule"]), (1, &serde_json::json!("digest-mismatch")));
    for more in [&good as &dyn AsRef<std::ffi::OsStr>, &folder] {
        let ran = run(&[&"verify", &"--sha256", &digest, &bad, &more]);
        assert!(ran.status == 2 && ran.err.contains("--sha256 needs exactly one FILE"), "{ran:?}");
    }
    let ran = run(&[&"verify", &"--sha256", &&digest[1..], &good]);
    assert!(ran.status == 2 && ran.err.contains("not 64 hexadecimal digits"), "{ran:?}");
}

#[test]
fn components_without_digests_are_one_line_for_a_file() {
    let plain = data().join("../../examples/data/minilm-small.safetensors").canonicalize().unwrap();
    let (some, damaged) =
        (data().join("v1.2/py-1.2.3-digests.zt"), data().join("invalid/digest-sha256-flipped-bit.zt"));
    let ran = run(&[&"verify", &"--require-digests", &plain, &some, &damaged]).without_notes();
    let lines: Vec<_> = ran.err.lines().collect();
    assert_eq!((ran.status, lines.len()), (1, 3), "{ran:?}");
    let begin = format!(
        "zt: {}: --require-digests: no digest covers 66 components: \"embeddings.position_ids\", ",
        plain.display()
    );
    let end = "\"encoder.layer.0.attention.output.dense.bias\" and 58 more; zt convert to .zt writes digests";
    assert!(lines[0].starts_with(&begin) && lines[0].ends_with(end), "{ran:?}");
    let names =
        "no digest covers 2 components: \"raw-None\", \"zstd-None\"; zt convert to .zt writes digests";
    assert!(lines[1].ends_with(names), "{ran:?}");
    assert!(lines[2].contains("object \"a\": component \"data\": expected sha256:"), "{ran:?}");
    let json = run(&[&"verify", &"--require-digests", &"--json", &plain]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["failures"].as_array().map(Vec::len), Some(66));
    let sarif = run(&[&"verify", &"--require-digests", &"--sarif", &plain]).out;
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(66));
}

#[test]
fn one_bad_file_fails_the_run_and_is_named() {
    let (good, bad) =
        (data().join("v1.2/py-1.2.3-zstd.zt"), data().join("invalid/digest-sha256-flipped-bit.zt"));
    let ran = run(&[&"verify", &good, &bad, &"nowhere.zt", &good]).without_notes();
    assert_eq!(ran.status, 1);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].contains(": structure ok, ") && lines[3].contains(": structure ok, "));
    assert_eq!(lines[1], format!("{}: FAILED", bad.display()));
    assert_eq!(lines[2], "nowhere.zt: cannot be read");
    assert!(lines[4].starts_with("4 files: 0 ok, 2 structure ok, 1 failed, 1 not checked in full; "));
    let errors: Vec<_> = ran.err.lines().collect();
    assert_eq!(errors.len(), 2);
    assert!(errors[0].starts_with(&format!("zt: {}: ", bad.display())), "{}", ran.err);
    assert!(errors[1].starts_with("zt: nowhere.zt: "), "{}", ran.err);
}

#[test]
fn errors_in_contents_are_found() {
    for file in ["bool-2.zt", "csr-column-equal.zt", "zstd-corrupt-block.zt", "coo-out-of-range-row.zt"] {
        run(&[&"verify", &data().join("invalid").join(file)]).without_notes().bad(&[file]);
    }
}

#[test]
fn all_that_is_broken_is_listed_as_lines_and_as_json() {
    let path = folder("verify-all").join("broken.zt");
    std::fs::copy(data().join("v1.2/py-1.2.3-digests.zt"), &path).unwrap();
    let listed = common::listing(&path);
    let objects = listed["objects"].as_array().unwrap();
    let has_digest = |o: &&serde_json::Value| !o["components"][0]["digest"].is_null() && o["shape"][0] != 0;
    let with_digest = objects.iter().filter(has_digest);
    let mut bytes = std::fs::read(&path).unwrap();
    let mut names = Vec::new();
    for object in with_digest.take(2) {
        let component = &object["components"][0];
        let last = component["offset"].as_u64().unwrap() + component["length"].as_u64().unwrap() - 1;
        bytes[last as usize] ^= 1;
        names.push(object["name"].as_str().unwrap());
    }
    std::fs::write(&path, bytes).unwrap();
    let ran = run(&[&"verify", &path]).without_notes();
    assert_eq!((ran.status, ran.err.lines().count()), (1, 2), "{ran:?}");
    assert!(names.iter().all(|name| ran.err.contains(&format!("{name:?}"))), "{ran:?}");
    let ran = run(&[&"verify", &"--json", &path, &data().join("v1.2/py-1.2.3-zstd.zt")]).without_notes();
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let failures = found[0]["failures"].as_array().unwrap();
    assert_eq!((ran.status, failures.len(), ran.err.as_str()), (1, 2, ""));
    assert!(failures.iter().all(|f| f["rule"] == "digest-mismatch" && f["role"] == "data"), "{found}");
    assert!(found[1]["ok"] == true && found[1]["failures"].as_array().unwrap().is_empty(), "{found}");
    // No data is read, so damage is not detected.
    run(&[&"verify", &"--quick", &path]).sound();
}

#[test]
fn strict_rejects_what_a_lenient_reader_accepts() {
    for file in ["unknown-type.zt", "padding-nonzero.zt", "unknown-format.zt"] {
        let path = data().join("valid-odd").join(file);
        run(&[&"verify", &path]).sound();
        run(&[&"verify", &"--strict", &path]).without_notes().bad(&[file]);
    }
}

#[test]
fn a_closed_pipe_does_not_hide_a_failure() {
    let bad = data().join("invalid/bool-2.zt");
    let mut child =
        zt().arg("verify").args([&bad, &bad]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors =
        String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("its bool")).count();
    assert_eq!(errors, 2);
}

/// Scanners rely on it: 1 is about the file, 2 is about reading it.
#[test]
fn damage_and_what_cannot_be_read_have_different_statuses() {
    let (good, bad) = (data().join("v1.2/py-1.2.3-zstd.zt"), data().join("invalid/bool-2.zt"));
    let text = folder("verify-status").join("text.zt");
    std::fs::write(&text, "not a file of tensors").unwrap();
    assert_eq!(run(&[&"verify", &good]).status, 0);
    assert_eq!(run(&[&"verify", &text]).status, 1);
    for flag in ["--json", "--sarif", "--quiet"] {
        assert_eq!(run(&[&"verify", &flag, &good, &"nowhere.zt"]).status, 2);
        assert_eq!(run(&[&"verify", &flag, &"nowhere.zt", &bad]).status, 1);
    }
    let json: Value = serde_json::from_str(&run(&[&"verify", &"--json", &text, &"no.zt"]).out).unwrap();
    let rules = [0, 1].map(|at| json[at]["failures"][0]["rule"].as_str().unwrap());
    assert_eq!(rules, ["unknown-container", "no-file"]);
}

#[test]
fn sarif_has_the_rule_the_place_and_the_level_of_each_failure() {
    let folder = folder("verify-sarif");
    let bad = folder.join("a b.zt");
    std::fs::copy(data().join("invalid/digest-sha256-flipped-bit.zt"), &bad).unwrap();
    let ran = run(&[&"verify", &"--sarif", &bad, &data().join("v1.2/py-1.2.3-zstd.zt"), &"nowhere.zt"]);
    assert_eq!(ran.status, 1);
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let (driver, results) = (&log["runs"][0]["tool"]["driver"], &log["runs"][0]["results"]);
    let rules: Vec<_> =
        driver["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!((driver["name"].as_str(), rules), (Some("zt"), vec!["digest-mismatch", "no-file"]));
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let shown: Vec<_> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let place = &result["locations"][0];
            let uri = place["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
            let name = &place["logicalLocations"][0]["fullyQualifiedName"];
            (result["ruleId"].as_str().unwrap(), result["level"].as_str().unwrap(), uri, name.as_str())
        })
        .collect();
    let uri = format!("file://{}/a%20b.zt", folder.display());
    let digest = ("digest-mismatch", "error", &*uri, Some("a: data"));
    assert_eq!(shown, [digest, ("no-file", "warning", "nowhere.zt", None)]);
    #[cfg(target_os = "linux")]
    {
        let odd = std::os::unix::ffi::OsStrExt::from_bytes(&b"bad\xff.zt"[..]);
        let log =
            run(&[&"verify", &"--sarif", &<std::ffi::OsStr as AsRef<std::ffi::OsStr>>::as_ref(odd)]).out;
        assert!(log.contains("\"uri\": \"bad%FF.zt\""), "{log}");
    }
    // Of a sound file there is a log, too.
    let sound = run(&[&"verify", &"--sarif", &data().join("v1.2/py-1.2.3-zstd.zt")]).sound();
    assert_eq!(serde_json::from_str::<Value>(&sound).unwrap()["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn files_from_strangers_have_limits() {
    let many = folder("verify-untrusted").join("many.safetensors");
    let entry = |at| format!(r#""{at}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    let mut header = format!("{{{}}}", (0..(1 << 20) + 1).map(entry).collect::<Vec<_>>().join(","));
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    std::fs::write(&many, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()).unwrap();
    let ran = run(&[&"verify", &"--untrusted", &"--json", &many]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.status, &json[0]["failures"][0]["rule"]), (1, &serde_json::json!("limit")), "{ran:?}");
    let good = run(&[&"verify", &"--untrusted", &data().join("v1.2/py-1.2.3-zstd.zt")]).sound();
    assert!(good.contains(": structure ok, "), "{good}");
    // Each tensor cannot be checked, for another reason than its neighbours.
    let mut gguf =
        [&b"GGUF"[..], &3u32.to_le_bytes(), &30_000u64.to_le_bytes(), &0u64.to_le_bytes()].concat();
    for at in 0..30_000u32 {
        let name = format!("{at:05}");
        gguf.extend(
            [&5u64.to_le_bytes()[..], name.as_bytes(), &1u32.to_le_bytes(), &0u64.to_le_bytes()].concat(),
        );
        gguf.extend([&(1000 + at).to_le_bytes()[..], &0u64.to_le_bytes()].concat());
    }
    gguf.resize(gguf.len().next_multiple_of(32), 0);
    let unknown = folder("verify-untrusted").join("unknown.gguf");
    std::fs::write(&unknown, gguf).unwrap();
    let ran = run(&[&"verify", &"--untrusted", &"--json", &unknown]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.status, json[0]["notes"].as_array().map(Vec::len)), (2, Some(30_000)));
}

/// The limits hold for indexes, too, which are read to find out what belongs together.
#[test]
fn limits_apply_when_several_files_are_given() {
    let folder = folder("verify-several");
    let index = folder.join("model.safetensors.index.json");
    let text = format!(r#"{{"weight_map":{{"a":"model.safetensors"}}}}{}"#, " ".repeat(101 << 20));
    std::fs::write(&index, text).unwrap();
    let part = folder.join("model.safetensors");
    std::fs::copy(data().join("../../examples/data/minilm-small.safetensors"), &part).unwrap();
    let files = |words: &[&dyn AsRef<std::ffi::OsStr>]| run(words).out.lines().last().unwrap().to_owned();
    let both = files(&[&"verify", &"--untrusted", &index, &part]);
    assert!(both.starts_with("2 files: 0 ok, 2 failed"), "the index was not read: {both}");
    let one = files(&[&"verify", &index, &part]);
    assert!(one.starts_with("1 file: "), "without limits, the index says that they are one model: {one}");
}

/// What is known to be damaged is not hidden by what could not be reached.
#[cfg(unix)]
#[test]
fn a_damaged_file_and_a_url_are_status_1() {
    let damaged = data().join("invalid/zstd-corrupt-block.zt");
    let words: [&dyn AsRef<std::ffi::OsStr>; 3] = [&"verify", &damaged, &"https://host/a.zt"];
    let ran = Ran::of(zt().args(words).env_remove("LD_LIBRARY_PATH").output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
}

#[test]
fn no_file_at_all_is_wrong_usage() {
    let ran = run(&[&"verify"]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("zt verify --help"), "{ran:?}");
}

#[test]
fn control_characters_in_a_path_are_escaped() {
    let path = folder("verify").join("a\nb\u{1b}[31m.zt");
    std::fs::copy(data().join("v1.2/py-1.2.3-zstd.zt"), &path).unwrap();
    let out = run(&[&"verify", &path]).sound();
    assert_eq!(out.lines().count(), 2);
    assert!(out.contains("a\\nb\\u{1b}[31m.zt: structure ok"), "{out}");
}

#[test]
fn a_model_is_verified_by_any_of_its_files() {
    let split = data().join("foreign/valid/amber-gguf-split-hand/llm-00002-of-00003.gguf");
    let out = run(&[&"verify", &split, &data().join("foreign/valid/amber-hf-sharded")]).sound();
    assert!(
        out.contains("llm-00002-of-00003.gguf: structure ok, ")
            && out.contains("\n2 files: 0 ok, 2 structure ok, 0 failed; "),
        "{out}"
    );
    let missing = data().join("foreign/invalid/amber-set-gguf-missing-second/m-00001-of-00003.gguf");
    let ran = run(&[&"verify", &missing]);
    assert!(ran.status == 2 && ran.err.contains("m-00002-of-00003.gguf"), "{}", ran.err);
}

#[test]
fn each_object_of_damaged_shared_bytes_is_named_in_its_own_failure() {
    let folder = folder("verify-shared");
    let path = folder.join("shared.pt");
    let source = data().join("foreign/valid/amber-shared-views.pt");
    let file = File::open(&source, &OpenOptions::default()).unwrap();
    let mut bytes = std::fs::read(&source).unwrap();
    let components: Vec<_> = file.objects().flat_map(|object| object.components()).collect();
    let first = components.iter().filter(|c| c.stored_size() > 0).map(|c| c.offset()).min().unwrap();
    bytes[first as usize] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let ran = run(&[&"verify", &"--json", &path]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let failures = json[0]["failures"].as_array().unwrap();
    assert!(ran.status == 1 && failures.len() > 1, "{json}");
    let names: std::collections::BTreeSet<_> =
        failures.iter().map(|f| f["object"].as_str().unwrap()).collect();
    assert_eq!(names.len(), failures.len(), "{json}");
    for failure in failures {
        let (name, message) = (failure["object"].as_str().unwrap(), failure["message"].as_str().unwrap());
        assert_eq!(message.matches("object \"").count(), 1, "{message}");
        assert!(message.contains(&format!(": object {name:?}: component")), "{message}");
        // A command that reads one of them names that object.
        let to = folder.join("to.zt");
        let converted = run(&[&"convert", &"--include", &name, &path, &to]);
        assert!(converted.err.contains(&format!("object {name:?}")), "{converted:?}");
    }
    let lines = run(&[&"verify", &path]).err;
    assert!(names.iter().all(|name| lines.contains(&format!("object {name:?}: "))), "{lines}");
}
