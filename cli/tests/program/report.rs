//! `zt report`: the page has the data of the files. tests/report tests its layout and behaviour in a browser.

use crate::common;

use common::{data, folder, input, names_in, run, valid_files, zt, Ran};
use serde_json::{json, Value};
use std::path::Path;
use std::process::Stdio;

/// The data of a page, as the browser reads it.
fn data_of(page: &str) -> Value {
    let (_, behind) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (json, _) = behind.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"))
}

fn report(path: &Path, more: &[&str]) -> Value {
    let out = zt().arg("report").arg(path).args(more).args(["-o", "-"]).output().unwrap();
    data_of(&Ran::of(out).good())
}

fn text<'v>(file: &'v Value, row: &'v Value, at: usize) -> &'v Value {
    row[at].as_u64().map_or(&Value::Null, |place| &file["texts"][place as usize])
}

#[test]
fn every_component_of_every_file_is_a_row() {
    for (path, entry) in valid_files() {
        let file = &report(&path, &[])["files"][0];
        let mut rows = file["rows"].as_array().unwrap().iter();
        for object in entry["objects"].as_array().unwrap() {
            let components = object["components"].as_array().unwrap();
            for component in components {
                let row = rows.next().unwrap();
                let found = json!([row[0], row[5], text(file, row, 4), row[7], row[8], row[10]]);
                let shape =
                    object["shape"].as_array().unwrap().iter().map(|dimension| match dimension.as_u64() {
                        Some(large) if large >= 1 << 53 => json!(large.to_string()), // JavaScript would round it
                        _ => dimension.clone(),
                    });
                let (name, shape) = (&object["name"], shape.collect::<Vec<_>>());
                let expected = ["encoding", "offset", "length", "digest"].map(|key| component[key].clone());
                let [encoding, offset, length, digest] = expected;
                assert_eq!(
                    found,
                    json!([name, shape, encoding, offset, length, digest]),
                    "{}",
                    path.display()
                );
                let role = if components.len() == 1 { &Value::Null } else { &component["role"] };
                assert_eq!(text(file, row, 1), role, "{}", path.display());
                assert_eq!(row[11], Value::Null, "values were written without --values");
            }
        }
        assert!(rows.next().is_none(), "{}", path.display());
    }
}

#[test]
fn values_are_those_of_stats() {
    let (path, _) = input("report-values");
    let file = &report(&path, &["--stats"])["files"][0];
    let stats: Value = serde_json::from_str(&run(&[&"stats", &"--json", &path]).good()).unwrap();
    for (row, tensor) in file["rows"].as_array().unwrap().iter().zip(stats["tensors"].as_array().unwrap()) {
        assert_eq!(row[0], tensor["name"]);
        let keys = ["numbers", "min", "max", "mean", "std", "zero", "nan", "infinite"];
        keys.iter().enumerate().for_each(|(at, key)| assert_eq!(row[11][at], tensor[*key], "{key}"));
        let counts = row[11][8].as_array().unwrap().iter().map(|count| count.as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), tensor["numbers"].as_u64().unwrap());
    }
}

#[test]
fn two_files_are_compared_as_by_diff() {
    let (path, folder) = input("report-diff");
    let half = folder.join("half.zt");
    run(&[&"convert", &path, &half, &"--dtype", &"bf16"]).good();
    let other = half.to_str().unwrap();
    let diff = zt().args(["diff", "--json", "--attributes"]).args([&path, &half]).output().unwrap();
    let expected: Value = serde_json::from_slice(&diff.stdout).unwrap();
    let found = report(&path, &[other, "--diff"]);
    assert_eq!(found["diff"], expected);
    assert_eq!(found["files"].as_array().unwrap().len(), 2);
    assert_eq!(report(&path, &[other])["diff"], Value::Null);
    run(&[&"report", &path, &"--diff", &"-o", &folder.join("page.html")]).bad(&["--diff needs two files"]);
    assert_eq!(names_in(&folder), ["half.zt", "in.safetensors"]);
}

#[test]
fn no_name_ends_the_data_or_begins_a_script() {
    let path = folder("report-names").join("a.zt");
    std::fs::copy(data().join("v1.2/py-1.2.3-all-dtypes.zt"), &path).unwrap();
    let listed = common::names(&path);
    let hostile = "</script><script>alert(1)</script><!--&amp;\u{2028}";
    run(&[&"mv", &path, &listed[0], &hostile]).good();
    run(&[&"attr", &"set", &path, &hostile, &hostile]).good();
    let page = run(&[&"report", &path, &"-o", &"-"]).good();
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert!(!page.contains("<!--"), "the script starts a comment");
    let file = &data_of(&page)["files"][0];
    assert!(file["rows"].as_array().unwrap().iter().any(|row| row[0] == hostile), "{file}");
    assert_eq!(file["attributes"].as_array().unwrap().len(), 1, "{file}");
}

#[test]
fn files_are_only_replaced_with_force() {
    let (path, folder) = input("report-force");
    let page = folder.join("page.html");
    let out = run(&[&"report", &path, &"-o", &page]).good();
    assert!(out.contains("page.html: 1 file, "), "{out}");
    run(&[&"report", &path, &"-o", &page]).bad(&["it exists; --force replaces it"]);
    run(&[&"report", &path, &"-o", &page, &"--force"]).good();
    run(&[&"report", &path, &"-o", &page, &"--force", &"missing.zt"]).bad(&["missing.zt"]);
    run(&[&"report", &path, &"-o", &path, &"--force"]).bad(&["is one of the input files"]);
    assert_eq!(names_in(&folder), ["in.safetensors", "page.html"]);
    run(&[&"ls", &path]).good();
    let model = folder.join("model");
    std::fs::create_dir(&model).unwrap();
    let sharded = data().join("foreign/valid/amber-hf-sharded");
    for name in names_in(&sharded) {
        std::fs::copy(sharded.join(&name), model.join(&name)).unwrap();
    }
    for name in ["model-00002-of-00003.safetensors", "model.safetensors.index.json"] {
        run(&[&"report", &model, &"-o", &model.join(name), &"--force"]).bad(&["is one of the input files"]);
    }
    run(&[&"ls", &model]).good();
}

#[test]
fn unreadable_tensors_are_reported_and_the_rest_is_shown() {
    let page = folder("report-broken").join("page.html");
    run(&[&"report", &data().join("invalid/zstd-corrupt-block.zt"), &"--stats", &"-o", &page])
        .bad(&["zstd-corrupt-block.zt", "\"data\""]);
    let file = &data_of(&std::fs::read_to_string(&page).unwrap())["files"][0];
    assert!(!file["rows"].as_array().unwrap().is_empty());
}

#[test]
fn a_closed_pipe_is_quiet_and_a_full_disk_is_not() {
    let (path, folder) = input("report-pipe");
    let mut child = zt();
    child.arg("report").arg(&path).args(["-o", "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr), "");
    if cfg!(target_os = "linux") {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = zt().arg("report").arg(&path).args(["-o", "-"]).stdout(full).output().unwrap();
        assert_eq!(out.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&out.stderr).starts_with("zt: standard output: "));
    }
    assert_eq!(names_in(&folder), ["in.safetensors"]);
}
