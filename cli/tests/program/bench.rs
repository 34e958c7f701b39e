//! `zt bench`: each mode with each number of threads, on files of every encoding; and errors.

use crate::common;

use common::schema::Schema;
use common::{data, folder, input, run};
use serde_json::Value;

fn bench(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Value {
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"bench", &"--json", &"--rounds=1"];
    all.extend(arguments);
    let out = run(&all).good();
    assert_eq!(Schema::of("bench").holds(&out), 1);
    serde_json::from_str(&out).unwrap()
}

#[test]
fn each_mode_is_measured_with_each_number_of_threads() {
    let (path, _) = input("bench");
    let found = bench(&[&path, &"--threads", &"3,1"]);
    let runs: Vec<_> = found["runs"].as_array().unwrap().iter().collect();
    let name = |run: &&Value| (run["mode"].as_str().unwrap().to_owned(), run["threads"].as_u64().unwrap());
    let names: Vec<_> = runs.iter().map(name).collect();
    let modes = |threads| ["plain", "map", "read", "direct"].map(|mode| (mode.to_owned(), threads));
    assert_eq!(names, [modes(1), modes(3)].concat());
    assert_eq!(
        (&found["bytes"], &found["stored_bytes"], &found["left_out"]),
        (&37.into(), &37.into(), &0.into())
    );
    for run in &runs {
        assert!(
            run["gb_per_second"].as_f64().unwrap() > 0.0 && !run["reason"].as_str().unwrap().is_empty(),
            "{run}"
        );
        assert!(run["mode"] != "plain" || run["of_plain"] == 1.0, "{run}");
        assert!(run["mode"] != "read" || run["direct"] == false, "{run}");
    }
    assert_eq!(bench(&[&path, &"--cold"])["cold"], true);
    let table = run(&[&"bench", &path, &"--rounds=1", &"--threads=1"]).good();
    let first: Vec<_> = table.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(first, ["MODE", "plain", "map", "read", "direct", "37"]);
}

#[test]
fn files_of_all_containers_are_measured() {
    let mut measured = 0;
    for folder in ["v1.1", "v1.2", "foreign/valid"] {
        for entry in std::fs::read_dir(data().join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            let ran = run(&[&"bench", &"--json", &"--rounds=1", &"--threads=2", &entry]);
            match ran.status {
                0 => measured += Schema::of("bench").holds(&ran.out),
                _ => ran.bad(&[]),
            }
        }
    }
    assert!(measured > 100, "{measured}");
}

#[test]
fn files_that_cannot_be_measured_are_an_error_of_one_line() {
    let folder = folder("bench-bad");
    run(&[&"bench", &folder.join("nothing.zt")]).bad(&["nothing.zt"]);
    let empty = data().join("foreign/valid/amber-empty.safetensors");
    run(&[&"bench", &empty]).bad(&["amber-empty.safetensors", "has no readable tensor"]);
    run(&[&"bench", &"https://localhost/model.zt"]).bad(&["https://"]);
}
