//! The header is the manual, and it is generated: it must be fresh, complete, in C words, and name
//! exactly what the library exports.

mod chapters;
mod layout;
mod tables;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn committed() -> String {
    std::fs::read_to_string(root().join("include/ztensor.h")).unwrap()
}

/// All that is declared: ztensor.h, and what is written by hand.
fn all_headers() -> String {
    committed() + &std::fs::read_to_string(root().join("include/ztensor_dlpack.h")).unwrap()
}

/// Functions that the header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let flat = code(header).replace('\n', " ");
    let mut names = BTreeSet::new();
    for statement in flat.split(';') {
        let Some((before, _)) = statement.split_once('(') else { continue };
        let name = before.trim_end().rsplit([' ', '*']).next().unwrap_or_default();
        if name.starts_with("zt_") && !statement.contains("typedef") && !statement.contains("(*") {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Without comments and without lines of the preprocessor.
fn code(text: &str) -> String {
    let text = without_comments(text);
    text.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n")
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The comment lines right above a function's declaration.
fn doc_of<'h>(header: &'h str, name: &str) -> Vec<&'h str> {
    let call = format!("{name}(");
    let lines: Vec<&str> = header.lines().collect();
    let is_declaration = |l: &&str| {
        l.starts_with(|c: char| c.is_ascii_alphabetic()) && l.contains(&call) && !l.starts_with("typedef")
    };
    let at = lines.iter().position(is_declaration).unwrap_or_else(|| panic!("{name} is not declared"));
    let mut doc: Vec<&str> = lines[..at].iter().rev().map_while(|l| l.strip_prefix("///")).collect();
    doc.reverse();
    doc
}

#[test]
fn the_committed_header_is_what_cbindgen_makes_of_the_sources() {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let made = cbindgen::Builder::new().with_crate(root()).with_config(config).generate().unwrap();
    let mut bytes = Vec::new();
    made.write(&mut bytes);
    let made = layout::in_chapters(&String::from_utf8(bytes).unwrap(), &root().join("src/capi"));
    if std::env::var_os("ZT_BLESS").is_some() {
        std::fs::write(root().join("include/ztensor.h"), &made).unwrap();
    }
    let found = committed();
    let differs = made.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert!(
        made == found,
        "include/ztensor.h is stale; `make header` makes it anew. First difference: {differs:?}"
    );
}

/// That of libztensor_remote, whose crate is built without cbindgen.
#[test]
fn the_header_of_the_remote_library_is_what_cbindgen_makes_of_it() {
    let remote = root().join("remote");
    let config = cbindgen::Config::from_file(remote.join("cbindgen.toml")).unwrap();
    let made =
        cbindgen::Builder::new().with_src(remote.join("src/capi.rs")).with_config(config).generate().unwrap();
    let mut bytes = Vec::new();
    made.write(&mut bytes);
    let (made, path) = (String::from_utf8(bytes).unwrap(), remote.join("include/ztensor_remote.h"));
    if std::env::var_os("ZT_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    assert!(made == found, "remote/include/ztensor_remote.h is stale; `make header` makes it anew");
    for name in declared(&found) {
        let doc = doc_of(&found, &name).join(" ");
        assert!(doc.contains("Threads: ") && doc.contains("Since "), "{name}: {doc}");
    }
}

#[test]
fn the_header_speaks_c_and_documents_every_function() {
    let header = all_headers();
    for rust in ["::", "[`", "Option<", "&str", "Vec<"] {
        assert!(!header.contains(rust), "the header says {rust:?}");
    }
    for line in without_comments(&header).lines().filter(|l| l.starts_with("#define")) {
        assert!(line.starts_with("#define ZT"), "a name that is not ours: {line}");
    }
    let functions = declared(&header);
    assert!(functions.len() > 85, "{}", functions.len());
    for name in &functions {
        let doc = doc_of(&header, name).join(" ");
        for due in ["Threads: ", "Since "] {
            assert!(doc.contains(due), "the doc of {name} has no {due:?}: {doc}");
        }
    }
}

/// The chapters stand in the order in which a caller needs them, and each function in the one that says so.
#[test]
fn a_reader_meets_things_in_the_order_of_use() {
    let header = committed();
    let line_of = |text: &str| {
        header.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("the header has no {text:?}"))
    };
    let chapters: Vec<usize> =
        chapters::CHAPTERS.iter().map(|c| line_of(&format!("// {}", c.title))).collect();
    assert!(chapters.is_sorted() && chapters.len() == 11, "{chapters:?}");
    let path = [
        "const char *zt_last_error(",
        "typedef enum zt_dtype_value",
        "zt_status zt_open(",
        "*zt_object_find(",
        "zt_status zt_component_ptr(",
        "zt_status zt_component_read(",
        "zt_status zt_tensor_find(",
        "zt_status zt_read_batch(",
        "zt_status zt_value_get_i64(",
        "zt_status zt_verify(",
        "zt_status zt_write_create(",
        "zt_status zt_write_finish(",
        "typedef struct zt_source",
    ];
    let path: Vec<usize> = path.into_iter().map(line_of).collect();
    assert!(path.is_sorted(), "{path:?}");
    assert!(line_of("zt_status zt_open(") < 420, "zt_open stands in line {}", line_of("zt_status zt_open("));
    assert!(header.lines().count() <= 2400, "{} lines", header.lines().count());
}

/// What the contract names, and what was added since; callers are written against it.
const CONTRACT: &str = "zt_version zt_abi_version zt_last_error zt_status_name zt_dtype_name zt_dtype_from_name zt_dtype_size
zt_type_name zt_type_from_name zt_format_name zt_encoding_name
zt_open zt_open_model zt_open_parts zt_part_count zt_part_path zt_part_size zt_part_identity zt_component_part zt_open_fd zt_open_handle zt_open_memory zt_open_source zt_open_model_from zt_set_last_error zt_retain zt_close
zt_file_version zt_file_size zt_file_mode zt_file_bytes zt_file_attributes zt_object_count zt_object_at zt_object_find zt_object_find_n
zt_object_list zt_component_list zt_object_name zt_object_name_length zt_object_rank zt_object_shape zt_object_element_count zt_object_format
zt_object_format_name zt_object_attributes zt_component_count zt_component_at zt_component_find
zt_component_role zt_component_role_length zt_component_dtype zt_component_dtype_name zt_component_type
zt_component_type_name zt_component_encoding zt_component_encoding_name zt_component_offset
zt_component_stored_size zt_component_size zt_component_digest zt_component_caps
zt_component_ptr zt_component_read zt_component_read_range zt_component_load zt_buffer_data zt_buffer_size
zt_buffer_free zt_object_read_slice zt_object_read_as zt_object_size_as zt_component_advise zt_component_verify zt_verify zt_repair
zt_cache_create zt_cache_get zt_cache_prefetch zt_cache_unpin zt_cache_drop zt_cache_cancel zt_cache_get_stats zt_cache_free
zt_read_batch zt_load_start zt_load_next zt_load_release zt_load_cancel zt_load_get_part_stats zt_load_finish zt_tensor_find zt_csr_view zt_coo_view zt_quantized_view
zt_value_get_kind zt_value_get_bool zt_value_get_i64 zt_value_get_u64 zt_value_get_f64 zt_value_get_string
zt_value_get_bytes zt_value_count zt_value_at zt_value_key_at zt_value_find zt_value_to_json zt_value_read_numbers zt_value_read_strings zt_value_dtype
zt_write_create zt_write_append zt_write_create_sink zt_write_dense zt_write_batch zt_write_csr zt_write_coo
zt_write_quantized zt_write_object zt_write_begin zt_write_component zt_write_data zt_write_end zt_write_copy
zt_write_copy_as zt_write_copy_attributes zt_write_shard zt_write_link
zt_write_set_attribute zt_write_set_open_object_attribute zt_write_remove zt_write_rename
zt_write_set_object_attribute zt_write_finish zt_write_abort";

#[test]
fn no_function_of_the_contract_is_missing() {
    let functions = declared(&committed());
    let missing: Vec<_> = CONTRACT.split_whitespace().filter(|name| !functions.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A function that is new and takes a pointer is called with NULL for it, too.
#[test]
fn every_function_that_takes_pointers_is_called_with_null() {
    let header = code(&all_headers()).replace('\n', " ");
    let calls = ["hostile_null", "hostile_null_write"]
        .map(|part| std::fs::read_to_string(root().join(format!("c_tests/{part}.c"))).unwrap())
        .concat();
    let (mut with_pointers, mut missing) = (0, Vec::new());
    for statement in header.split(';') {
        let Some((before, arguments)) = statement.split_once('(') else { continue };
        let name = before.trim_end().rsplit([' ', '*']).next().unwrap_or_default();
        if !declared(statement).contains(name) || !arguments.contains('*') {
            continue;
        }
        with_pointers += 1;
        let call = format!("{name}(");
        let mut used = calls.match_indices(&call).map(|(at, _)| &calls[at + call.len()..]);
        if !used.any(|rest| rest.split(';').next().unwrap_or_default().contains("NULL")) {
            missing.push(name.to_owned());
        }
    }
    assert!(with_pointers > 80, "{with_pointers}");
    assert!(missing.is_empty(), "c_tests/hostile_null*.c call these with no NULL: {missing:?}");
}

#[test]
fn every_function_is_called_where_memory_or_stack_is_short() {
    let calls = ["files", "opens", "points", "reads", "writes"]
        .map(|part| std::fs::read_to_string(root().join(format!("c_tests/entry_{part}.h"))).unwrap())
        .concat();
    let functions = declared(&all_headers());
    let missing: Vec<_> = functions.iter().filter(|name| !calls.contains(&format!("{name}("))).collect();
    assert!(functions.len() > 100 && missing.is_empty(), "c_tests/entry_*.h do not call {missing:?}");
}

/// The shared library that was built beside this test, if `nm` and it are there.
fn exported() -> Option<BTreeSet<String>> {
    let test = std::env::current_exe().unwrap();
    let library = test.parent()?.join("libztensor.so"); // what cargo builds along with its tests
    if !library.exists() {
        return None;
    }
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().ok()?;
    assert!(listed.status.success());
    let text = String::from_utf8(listed.stdout).unwrap();
    Some(text.lines().filter_map(|l| l.split_whitespace().nth(2)).map(str::to_owned).collect())
}

#[test]
fn the_library_exports_what_the_header_declares_and_nothing_else() {
    let functions = declared(&all_headers());
    let listed = std::fs::read_to_string(root().join("c_tests/abi/symbols.txt")).unwrap();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).filter(|l| !l.is_empty()).collect();
    let same = |what: &str, has: &BTreeSet<String>| {
        let (more, less): (Vec<_>, Vec<_>) =
            (has.difference(&functions).collect(), functions.difference(has).collect());
        assert!(
            more.is_empty() && less.is_empty(),
            "{what} lacks {less:?} of the header, which lacks {more:?}"
        );
    };
    same("c_tests/abi/symbols.txt", &listed);
    if cfg!(target_os = "linux") {
        let exported = exported().expect("libztensor.so is built with the tests, and nm is part of binutils");
        same("libztensor.so", &exported);
    }
}

/// A constant that a comment names is one of the header's.
#[test]
fn what_comments_name_is_declared() {
    let header = committed();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|w| w.starts_with("ZT_") && !w.ends_with('_')).map(str::to_owned).collect()
    };
    let (mut named, mut declared) = (Vec::new(), Vec::new());
    for line in header.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let is_comment = code.trim_start().starts_with('*');
        declared.extend(if is_comment { Vec::new() } else { words(code) });
        named.extend(words(if is_comment { code } else { comment }));
    }
    declared.push("ZT_ERROR_UNKNOWN".to_owned()); // the name of a status that is none
    let missing: Vec<_> = named.iter().filter(|name| !declared.contains(name)).collect();
    assert!(missing.is_empty() && named.len() > 100, "{missing:?} of {}", named.len());
}
