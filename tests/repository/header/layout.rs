//! Sorts cbindgen's output into chapters. cbindgen writes all constants, then all types, then all functions.
//! A manual has each item where a reader needs it.

use super::chapters::{Chapter, Header, ATTRIBUTE_MACROS, DISCARDABLE, HANDLES, HEADERS, MACROS};
use super::tables::with_values;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The line width.
const WIDTH: usize = 118;

/// The items, and the text before the first one.
struct Frame<'t> {
    before: &'t str,
    items: &'t str,
}

/// The headers in chapters, made from cbindgen's text.
pub fn in_chapters(made: &str) -> Vec<(&'static str, String)> {
    let frame = split(made);
    let mut items = items_by_name(frame.items);
    let mut types = String::new();
    for name in HANDLES {
        let item = items.remove(*name).unwrap_or_else(|| panic!("cbindgen made no {name}"));
        write!(types, "\n{item}").unwrap();
    }
    types += &forward_declarations(&mut items);
    let headers = HEADERS.iter().map(|header| (header.file, whole(header, &frame, &types, &mut items)));
    let headers = headers.collect();
    assert!(items.is_empty(), "in no chapter of tests/repository/header/chapters.rs: {:?}", items.keys());
    headers
}

fn whole(header: &Header, frame: &Frame<'_>, types: &str, items: &mut BTreeMap<String, String>) -> String {
    let (mut out, guard) = match header.prologue {
        None => (frame.before.replace("\n\n\n", "\n\n") + "\n" + MACROS, "ZTENSOR_H"),
        Some(prologue) => (prologue.to_owned(), "ZTENSOR_ADVANCED_H"),
    };
    out.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    if header.prologue.is_none() {
        out.push_str(types);
    }
    for chapter in header.chapters {
        write_chapter(&mut out, chapter, items);
    }
    out + "\n#ifdef __cplusplus\n}  // extern \"C\"\n#endif  // __cplusplus\n\n"
        + &format!("#endif  /* {guard} */\n")
}

/// The types of enumerations, which are integers, and the struct declarations. With these first, other
/// declarations can be in any order.
fn forward_declarations(items: &mut BTreeMap<String, String>) -> String {
    let (mut integers, mut structs) = (String::from("\n"), String::from("\n"));
    let names: Vec<String> = items.keys().cloned().collect();
    for name in names {
        let item = &items[&name];
        let code = code_of(item).join("\n");
        if code.starts_with("typedef struct") {
            writeln!(structs, "typedef struct {name} {name};").unwrap();
        } else if code.starts_with("typedef") && !code.contains(['{', '(']) {
            let doc: Vec<&str> =
                item.lines().filter_map(|line| line.trim_start().strip_prefix("/// ")).collect();
            writeln!(integers, "{code} ///< {}", doc.join(" ")).unwrap();
            items.remove(&name);
        }
    }
    integers + &structs
}

fn split(made: &str) -> Frame<'_> {
    const OPEN: &str = "#ifdef __cplusplus\nextern \"C\" {\n#endif // __cplusplus\n";
    let start = made.find("#include <stdint.h>\n").expect("cbindgen.toml does not include stdint.h")
        + "#include <stdint.h>\n".len();
    let end = made.rfind("#ifdef __cplusplus").expect("cpp_compat is not set");
    assert!(made[start..end].contains(OPEN), "cbindgen opens the functions with extern \"C\"");
    Frame { before: &made[..start], items: &made[start..end] }
}

fn items_by_name(text: &str) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    let (mut item, mut depth) = (String::new(), 0usize);
    for line in text.lines() {
        if line.starts_with("#ifdef") || line.starts_with("extern \"C\"") || line.starts_with("#endif") {
            continue;
        }
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment {
            depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        }
        if !(line.is_empty() && depth == 0) {
            item.push_str(line);
            item.push('\n');
            continue;
        }
        if !item.is_empty() {
            let item = std::mem::take(&mut item);
            let name = name_of(&item);
            assert!(items.insert(name.clone(), item).is_none(), "{name} is there twice");
        }
    }
    assert!(item.is_empty(), "cbindgen ends each item with an empty line: {item}");
    items
}

/// The name that an item declares.
fn name_of(item: &str) -> String {
    let code: String = code_of(item).join(" ");
    let is_name = |word: &&str| word.starts_with("zt_") || word.starts_with("ZT_");
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(is_name).map(str::to_owned).collect()
    };
    let found = match () {
        () if code.starts_with("#define") => words(&code).into_iter().next(),
        () if code.starts_with("typedef") && !code.contains('{') && code.contains("(*") => {
            words(code.split("(*").nth(1).unwrap_or_default()).into_iter().next()
        }
        () if code.starts_with("typedef") => words(&code).pop(),
        () => words(code.split('(').next().unwrap_or_default()).pop(),
    };
    found.unwrap_or_else(|| panic!("an item without a name: {item}"))
}

fn code_of(item: &str) -> Vec<&str> {
    item.lines().filter(|l| !l.trim_start().starts_with("//")).collect()
}

fn write_chapter(out: &mut String, chapter: &Chapter, items: &mut BTreeMap<String, String>) {
    write!(out, "\n// {}\n// {}\n//\n", "-".repeat(WIDTH - 3), chapter.title).unwrap();
    for line in chapter.intro.lines() {
        writeln!(out, "{}", format!("// {line}").trim_end()).unwrap();
    }
    let mut before_is_define = false;
    for name in chapter.items.split_whitespace() {
        let item = items.remove(name).unwrap_or_else(|| panic!("no {name}, or it is in two chapters"));
        let is_define = code_of(&item).concat().starts_with("#define");
        // Constants of a group stay together.
        if !(is_define && before_is_define) {
            out.push('\n');
        }
        before_is_define = is_define;
        out.push_str(&tidy(name, &with_values(name, &item)));
        if name == ATTRIBUTE_MACROS.0 {
            out.push_str(ATTRIBUTE_MACROS.1);
        }
    }
}

/// Types are declared before their use, so `struct` and `enum` before their names are removed. The parameters
/// of a function fill lines.
fn tidy(name: &str, item: &str) -> String {
    let code = code_of(item);
    let is_function = !code[0].starts_with("typedef") && !code[0].starts_with("#define");
    let mut out: String =
        item.lines().filter(|l| l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
    if is_function {
        let joined: Vec<&str> = code.iter().map(|l| l.trim()).collect();
        let joined = joined.join(" ").replace("struct zt_", "zt_");
        let has_status = joined.starts_with("zt_status ") && !DISCARDABLE.contains(&name);
        return out + &filled(&format!("{}{joined}", if has_status { "ZT_NODISCARD " } else { "" }));
    }
    out.clear();
    let lines: Vec<&str> = item.lines().collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let continues = at > 1 && lines[at - 2].trim_start().starts_with("///");
        match one_line_member(&lines[at - 1..]).filter(|_| !continues) {
            Some(member) => {
                out.push_str(&member);
                at += 1;
            }
            None => writeln!(out, "{}", without_tag(line)).unwrap(),
        }
    }
    // The prologue describes every struct_size.
    out = out.replace(&format!("size_t struct_size; ///< sizeof({name})\n"), "size_t struct_size;\n");
    // Its type is declared with the others.
    let end = format!("}} {name};\n");
    if let (true, Some(members)) = (out.contains("typedef struct "), out.strip_suffix(&end)) {
        out = members.replacen("typedef struct ", "struct ", 1) + "};\n";
    }
    with_bare_values_joined(&out)
}

/// Puts the values of an enum without comments on few lines.
fn with_bare_values_joined(item: &str) -> String {
    let is_bare = |line: &str| {
        line.strip_prefix("    ZT_").is_some_and(|rest| rest.ends_with(',') && !rest.contains("///"))
    };
    let (mut out, mut last) = (String::new(), 0);
    for line in item.lines() {
        let fits = last > 0 && last + line.trim().len() < WIDTH;
        if is_bare(line) && fits {
            out.pop();
            last += line.trim().len() + 1;
            writeln!(out, " {}", line.trim()).unwrap();
        } else {
            last = if is_bare(line) { line.len() } else { 0 };
            writeln!(out, "{line}").unwrap();
        }
    }
    out
}

/// A member of a struct or an enum whose comment fits on its line.
fn one_line_member(lines: &[&str]) -> Option<String> {
    let (comment, member) = (lines.first()?.strip_prefix("    /// ")?, lines.get(1)?);
    let is_last_of_comment = !member.trim_start().starts_with("///") && member.ends_with([',', ';']);
    let line = format!("{} ///< {comment}\n", without_tag(member));
    (is_last_of_comment && line.len() <= WIDTH + 1).then_some(line)
}

fn without_tag(line: &str) -> String {
    let is_member = line.starts_with(' ') && !line.trim_start().starts_with("//");
    let is_callback = line.starts_with("typedef") && line.contains("(*");
    match is_member || is_callback {
        true => line.replace("struct zt_", "zt_"),
        false => line.to_owned(),
    }
}

fn filled(declaration: &str) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in declaration.split_inclusive(", ") {
        if !line.is_empty() && line.len() + word.trim_end().len() > WIDTH {
            writeln!(out, "{}", line.trim_end()).unwrap();
            line = "    ".to_owned();
        }
        line.push_str(word);
    }
    writeln!(out, "{}", line.trim_end()).unwrap();
    out
}
