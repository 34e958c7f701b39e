//! The output of `--json` matches the schemas in docs/schema, for files of every container. docs/zt.md lists
//! every command and output.

use crate::common;

use common::schema::Schema;
use common::{data, run, valid_files};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Files and models of the corpus that can be opened.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<_> = valid_files().into_iter().map(|(path, _)| path).collect();
    let foreign = std::fs::read_dir(data().join("foreign/valid")).unwrap();
    files.extend(foreign.map(|entry| entry.unwrap().path()));
    files.sort();
    files
}

/// Runs a command, possibly on a file that it cannot read, and returns its output.
fn printed(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let ran = run(arguments);
    assert!((0..=2).contains(&ran.status), "{ran:?}");
    ran.out
}

fn commands() -> Vec<String> {
    let help = run(&[&"--help"]).good();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

#[test]
fn lists_match_their_schema() {
    let schema = Schema::of("ls");
    let opened: usize = files().iter().map(|file| schema.holds(&printed(&[&"ls", &"--json", file]))).sum();
    assert!(opened > 200, "{opened}");
    let some = data().join("v1.1");
    for entry in std::fs::read_dir(some).unwrap().map(|entry| entry.unwrap().path()) {
        schema.holds(&printed(&[&"ls", &"--json", &"--sha256", &entry]));
    }
}

#[test]
fn verifications_match_their_schema() {
    let schema = Schema::of("verify");
    let mut bad: Vec<_> =
        std::fs::read_dir(data().join("invalid")).unwrap().map(|e| e.unwrap().path()).collect();
    bad.retain(|path| path.extension().is_some_and(|extension| extension == "zt"));
    for files in [files(), bad] {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"verify", &"--json"];
        arguments.extend(files.iter().map(|file| file as &dyn AsRef<std::ffi::OsStr>));
        assert_eq!(schema.holds(&printed(&arguments)), 1);
    }
}

#[test]
fn identities_match_their_schema() {
    let schema = Schema::of("id");
    let mut files = files();
    files.push("nowhere.zt".into());
    files.extend(std::fs::read_dir(data().join("v2/real")).unwrap().map(|entry| entry.unwrap().path()));
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"id", &"--json"];
    arguments.extend(files.iter().map(|file| file as &dyn AsRef<std::ffi::OsStr>));
    assert_eq!(schema.holds(&printed(&arguments)), 1);
}

#[test]
fn facts_and_attributes_match_their_schemas() {
    let (schema, of_attributes) = (Schema::of("info"), Schema::of("attr"));
    let mut made = 0;
    for file in files() {
        made += schema.holds(&printed(&[&"info", &"--json", &file]));
        schema.holds(&printed(&[&"info", &"--json", &file, &"--glob", &"*"]));
        schema.holds(&printed(&[&"info", &"--json", &"--memory", &file]));
        of_attributes.holds(&printed(&[&"attr", &"get", &"--json", &file]));
    }
    assert!(made > 200, "{made}");
}

#[test]
fn summaries_of_reports_match_their_schema() {
    let (path, folder) = common::input("schema-report");
    let out = run(&[&"report", &"--json", &path, &"-o", &folder.join("page.html")]).good();
    assert_eq!(Schema::of("report").holds(&out), 1);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["files"], &found["notes"]), (&json!(1), &json!([])));
    assert_eq!(found["size"], std::fs::metadata(folder.join("page.html")).unwrap().len());
}

/// With --json a failure is in the output, too: in `errors` of the result or, without a result, alone.
#[test]
fn errors_are_in_the_json_and_the_status_is_the_same() {
    let (good, folder) = common::input("schema-errors");
    let (missing, page) = (folder.join("missing.zt"), folder.join("page.html"));
    let corrupt = data().join("invalid/zstd-corrupt-block.zt");
    let cases: [(&[&dyn AsRef<std::ffi::OsStr>], &str); 13] = [
        (&[&"ls", &missing], "missing.zt: "),
        (&[&"ls", &good, &"none"], "neither an object nor a file"),
        (&[&"info", &missing], "missing.zt: "),
        (&[&"info", &good, &"none"], "\"none\""),
        (&[&"diff", &good, &missing], "missing.zt: "),
        (&[&"head", &corrupt], "zstd-corrupt-block.zt: "),
        (&[&"stats", &corrupt], "zstd-corrupt-block.zt: "),
        (&[&"bench", &missing], "missing.zt: "),
        (&[&"report", &missing, &"-o", &page], "missing.zt: "),
        (&[&"report", &corrupt, &"--stats", &"-o", &page], "zstd-corrupt-block.zt: "),
        (&[&"attr", &"get", &good, &"none"], "has no attribute \"none\""),
        (&[&"convert", &missing, &folder.join("new.zt")], "missing.zt: "),
        (&[&"ls", &good, &"--colour"], "unexpected argument '--colour'"),
    ];
    for (words, said) in cases {
        let without = run(words);
        let _ = std::fs::remove_file(&page);
        let json: &[&dyn AsRef<std::ffi::OsStr>] = &[&"--json"];
        let ran = run(&[words, json].concat());
        let _ = std::fs::remove_file(&page);
        assert!(
            ran.status > 0 && ran.status == without.status && ran.err == without.err,
            "{ran:?} {without:?}"
        );
        let documents = serde_json::Deserializer::from_str(&ran.out).into_iter::<serde_json::Value>();
        let last = documents.last().unwrap().unwrap();
        assert_eq!(last["errors"].as_array().unwrap().len(), 1, "{ran:?}");
        let error = last["errors"][0].as_str().unwrap();
        assert!(error.contains(said) && ran.err == format!("zt: {error}\n"), "{ran:?}");
    }
    // A file that is written to standard output has no JSON behind it.
    assert_eq!(run(&[&"convert", &"--json", &missing, &"-", &"--to", &"zt"]).out, "");
    // The entries of id and verify have their own errors.
    for command in ["id", "verify"] {
        let ran = run(&[&command, &"--json", &missing]);
        let all: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert!(all[0].to_string().contains("missing.zt: "), "{ran:?}");
    }
}

#[test]
fn statistics_match_their_schema() {
    let schema = Schema::of("stats");
    let made: usize = files()
        .iter()
        .map(|file| schema.holds(&printed(&[&"stats", &"--json", &"--histogram=3", file])))
        .sum();
    assert!(made > 200, "{made}");
}

#[test]
fn first_numbers_match_their_schema() {
    let schema = Schema::of("head");
    let made: usize =
        files().iter().map(|file| schema.holds(&printed(&[&"head", &"--json", &"-n3", file]))).sum();
    assert!(made > 200, "{made}");
}

/// Compares each file with the one before it; these often have the same names.
#[test]
fn differences_match_their_schema() {
    let schema = Schema::of("diff");
    let files = files();
    let mut made = 0;
    for pair in files.windows(2) {
        made += schema.holds(&printed(&[&"diff", &"--json", &pair[0], &pair[1]]));
    }
    assert!(made > 200, "{made}");
}

/// A difference of each kind.
#[test]
fn differing_values_match_their_schema() {
    let schema = Schema::of("diff");
    let (path, folder) = common::input("schema-diff");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let other = folder.join("other.safetensors");
    std::fs::write(&other, bytes).unwrap();
    let out = printed(&[&"diff", &"--json", &path, &other]);
    assert!(out.contains("\"unit\": \"number\""), "{out}");
    assert_eq!(schema.holds(&out), 1);
}

/// The validation detects missing values, wrong types, values that are too small, and undocumented keys.
#[test]
fn values_that_a_schema_does_not_allow_are_rejected() {
    let (path, _) = common::input("schema-refused");
    let schema = Schema::of("ls");
    let good = common::listing(&path);
    schema.check(&good).unwrap();
    for (change, expected) in [
        (json!({"version": 3}), "$.version: 3 breaks type"),
        (json!({"news": 1}), "the schema does not name news"),
        (json!({"objects": [{}]}), "$.objects[0]: {} breaks required"),
        (json!({"objects": [{"shape": [-1]}]}), "$.objects[0].shape[0]: -1 breaks minimum"),
    ] {
        let mut bad = good.clone();
        for (key, value) in change.as_object().unwrap() {
            bad[key] = value.clone();
        }
        let wrong = schema.check(&bad).unwrap_err();
        assert!(wrong.contains(expected) || wrong.contains("breaks required"), "{wrong}");
    }
    let difference = json!({"same": 0, "only_in_first": [], "only_in_second": [], "attributes": [], "not_compared": 0, "notes": [],
        "differing": [{"name": "a", "differences": [{"what": "values", "role": "data", "unit": "furlong"}]}]});
    assert!(Schema::of("diff").check(&difference).unwrap_err().contains("breaks anyOf"));
}

#[test]
fn every_command_has_its_row_and_every_output_in_json_its_schema() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = std::fs::read_to_string(docs.join("zt.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| command"))
        .take_while(|line| line.starts_with('|'))
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let names: Vec<_> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(names, commands());
    let mut with_schema = Vec::new();
    for row in &rows {
        let command = row[0].trim_matches('`');
        let help = match command {
            "attr" => run(&[&"attr", &"get", &"--help"]).good(),
            _ => run(&[&command, &"--help"]).good(),
        };
        match help.contains("--json") {
            true => {
                assert_eq!(row[3], format!("[{command}](schema/{command}.json)"));
                with_schema.push(format!("{command}.json"));
            }
            false => assert_eq!(row[3], "", "{command}"),
        }
    }
    with_schema.push(String::from("errors.json"));
    with_schema.sort();
    assert_eq!(common::names_in(&docs.join("schema")), with_schema);
    for file in with_schema {
        let command = file.trim_end_matches(".json");
        let schema = Schema::of(command).0;
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let id = schema["$id"].as_str().unwrap();
        let version = id.strip_prefix(&format!("urn:libztensor:zt:{command}:")).unwrap();
        assert!(version.parse::<u32>().unwrap() > 0, "{id}");
        assert!(page.contains(&format!("`{id}`")), "{id}");
    }
}
