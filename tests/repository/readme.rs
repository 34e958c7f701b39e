//! The README's program compiles as printed and does what the README says. Its tables agree with the library.

use std::path::{Path, PathBuf};
use std::process::Command;
use ztensor::container::capabilities;
use ztensor::container::capabilities::{Roles, SharedBytes};
use ztensor::model::manifest::Container;

/// The folder of the libraries that were built with this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// Compiles the page's first block in that language. Runs it on a valid and an invalid file. Returns its
/// output and its error text, or None without the compiler.
fn compile_and_run(page: &str, language: &str, compiler: &str, standard: &str) -> Option<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let program = text.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
    let program = program.unwrap_or_else(|| panic!("{page} has no {language} program"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme").join(language);
    std::fs::create_dir_all(&out).unwrap();
    let source = format!("list.{language}");
    std::fs::write(out.join(&source), program).unwrap();
    let libraries = libraries();
    // The SONAME that the loader needs.
    let link = out.join("libztensor.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(libraries.join("libztensor.so"), &link).unwrap();
    let compiled = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror", &source, "-o", "list", "-lztensor"])
        .arg(format!("-I{}", root.join("include").display()))
        .arg(format!("-L{}", libraries.display()))
        .current_dir(&out)
        .output();
    let compiled = match compiled {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
        compiled => compiled.unwrap(),
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |argument: &Path| {
        Command::new(out.join("list")).arg(argument).env("LD_LIBRARY_PATH", &out).output().unwrap()
    };
    let listed = run(&root.join("tests/data/v1.2/py-1.2.3-all-dtypes.zt"));
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let refused = run(&root.join("tests/data/invalid/offset-align-8.zt"));
    assert_eq!(refused.status.code(), Some(1));
    Some((String::from_utf8(listed.stdout).unwrap(), String::from_utf8(refused.stderr).unwrap()))
}

fn assert_listed((text, said): (String, String)) {
    assert_eq!(text.lines().count(), 13, "{text}");
    assert!(text.contains("bf16"), "{text}");
    assert!(said.contains("offset 8 is not a multiple of 64"), "{said}");
}

#[test]
fn the_c_program_of_the_readme_runs_as_printed() {
    let compiler = std::env::var("CC").unwrap_or_else(|_| String::from("cc"));
    assert_listed(compile_and_run("README.md", "c", &compiler, "-std=c99").expect("C compiler not found"));
}

#[test]
fn the_cpp_program_of_the_embedding_page_runs_as_printed() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    match compile_and_run("docs/embedding.md", "cpp", &compiler, "-std=c++17") {
        Some(printed) => assert_listed(printed),
        None => println!("the C++ program: skipped: C++ compiler not found"),
    }
}

#[test]
fn the_readme_states_the_minimum_rust_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let stated = manifest
        .lines()
        .find_map(|l| l.strip_prefix("rust-version = "))
        .unwrap()
        .trim_matches('"')
        .to_owned();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains(&format!("Rust {stated} or later")), "Rust {stated}");
}

/// A container's row in the first table of docs/containers.md, made from its capabilities.
fn row_of(container: Container) -> String {
    let can = capabilities(container);
    let yes = |is: bool| if is { " yes " } else { " " };
    let written = match container {
        Container::Safetensors | Container::Gguf | Container::Npz => " `zt convert` ",
        _ => yes(can.number.is_some()),
    };
    let components = match can.roles {
        Roles::Any => " any ",
        Roles::Only(_) => " one ",
    };
    let shared = match can.shared_bytes {
        SharedBytes::None => " ",
        SharedBytes::All => " identical ranges ",
        SharedBytes::Any => " any overlap ",
    };
    let cells =
        [yes(can.appends_as.is_some()), yes(can.file_attributes), components, yes(can.big_endian), shared];
    format!("| {} |{written}|{}|\n", container.name(), cells.join("|"))
}

#[test]
fn the_tables_of_containers_agree_with_the_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (readme, page) = (text("README.md"), text("docs/containers.md"));
    for container in Container::ALL {
        let row = row_of(container);
        assert!(page.contains(&row), "docs/containers.md lacks the row\n{row}");
        let name = container.name();
        assert_eq!(page.matches(&format!("\n| {name}")).count(), 2, "rows of {name}");
        let by = match row.split('|').nth(2).unwrap() {
            " yes " => " the library ",
            " " => " read only ",
            by => by,
        };
        assert!(readme.contains(&format!("\n| {name} |{by}|")), "README.md: {name}");
    }
}

#[test]
fn the_readme_names_each_platform_under_how_it_was_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (readme, page, list) =
        (text("README.md"), text("docs/platforms.md"), text("tools/platforms/list.txt"));
    let requirements = readme.split("## Requirements").nth(1).unwrap().replace('\n', " ");
    let said = |from: &str, to: &str| {
        requirements
            .split(from)
            .nth(1)
            .and_then(|rest| rest.split(to).next())
            .unwrap_or_else(|| panic!("{from}"))
    };
    let (run, emulated, compiled) = (
        said("Tests also run on ", ", and"),
        said("emulated on ", ". macOS"),
        said("(wine). ", " are only compiled"),
    );
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (name, _, how) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let passed = page.lines().find(|row| row.starts_with(&format!("| {name} |")));
        let row = passed.unwrap_or_else(|| panic!("docs/platforms.md has no row of {name}"));
        assert!(row.contains(&format!("| {how}")), "docs/platforms.md: {row}");
        let place = match how {
            "on hardware" => run,
            "compiled" => compiled,
            _ => emulated,
        };
        // Page sizes of 16 and 64 KiB are in parentheses after aarch64.
        let word = name.split('-').nth(1).map_or(name, |pages| pages.trim_end_matches('k')).to_lowercase();
        assert!(
            place.to_lowercase().contains(&word),
            "README.md does not name {name} under \"{how}\": {place}"
        );
    }
}

#[test]
fn the_readme_is_short() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    assert!(std::fs::metadata(path).unwrap().len() <= 6 << 10);
}
