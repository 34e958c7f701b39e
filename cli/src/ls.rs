//! `zt ls`: lists the contents of files, as a table, as sums or as JSON.

use crate::arguments::{is_path, Chosen, Ls, Sort};
use crate::elements::stored_size;
use crate::failure::{error, Failure, Outcome};
use crate::fold::fold;
use crate::names;
use crate::output::{print_errors, Output, Tone};
use crate::remote;
use crate::table::{Align, Table};
use crate::{attributes, elements, json, models, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use ztensor::model::manifest::{Encoding, Format};
use ztensor::reader::{Component, File, Object, OpenOptions};

pub fn run(arguments: &Ls) -> Outcome<()> {
    let forced = arguments.meaning.glob || arguments.meaning.exact;
    let (more, names): (Vec<_>, Vec<_>) =
        arguments.more.iter().cloned().partition(|text| !forced && is_path(text));
    let more = more.into_iter().map(PathBuf::from);
    let paths: Vec<_> = std::iter::once(arguments.file.clone()).chain(more).collect();
    let paths = models::once(&paths, &OpenOptions::default());
    let mut out = Output::new();
    let mut failed = false;
    let mut unmatched: Vec<&str> = names.iter().map(String::as_str).collect();
    for (at, path) in paths.iter().enumerate() {
        if paths.len() > 1 && !arguments.json {
            let shown = remote::shown(path);
            let heading = out.toned(Tone::Heading, &text::one_line(&shown));
            out.line(format_args!("{}{heading}:", if at > 0 { "\n" } else { "" }))?;
        }
        match list(&mut out, path, arguments, &names, &mut unmatched) {
            Ok(()) => {}
            Err(Failure::Pipe) => return Err(Failure::Pipe),
            Err(failure) => {
                out.flush()?;
                failure.report();
                print_errors();
                failed = true;
            }
        }
    }
    out.flush()?;
    // If a file cannot be read, its contents are unknown.
    for text in unmatched.iter().filter(|_| !failed) {
        error(&format!("there is neither an object nor a file {text:?}"));
    }
    match failed || !unmatched.is_empty() {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Lists a file. Removes the names and patterns that select its objects from `unmatched`.
fn list(
    out: &mut Output,
    path: &Path,
    arguments: &Ls,
    names: &[String],
    unmatched: &mut Vec<&str>,
) -> Outcome<()> {
    let file = models::open(path)?;
    let wanted = Chosen::of(names, arguments.meaning, path, &[&file])?;
    let idle: Vec<_> = wanted.idle(&[&file]).map(str::to_owned).collect();
    unmatched.retain(|text| idle.iter().any(|idle| idle == text));
    let objects = chosen(&file, arguments, &wanted);
    if arguments.json {
        return json::write(out, path, &file, &objects, arguments.sha256);
    }
    if arguments.attributes {
        let attributes = attributes::lines(file.attributes()).map_err(|e| Failure::at(path, e))?;
        attributes.iter().try_for_each(|line| out.line(format_args!("{line}")))?;
    }
    let table = match (arguments.fold, arguments.totals) {
        (true, _) => folded(&objects),
        (false, true) => by_type(&objects),
        (false, false) => table(&objects, arguments.long),
    };
    table.write(out)?;
    let totals = totals(&file, &objects);
    out.line(format_args!("{}", out.wrapped(&totals)))
}

/// Objects whose names differ only in a number, as one line.
fn folded(objects: &[Object<'_>]) -> Table {
    let (left, right) = (|heading| (heading, Align::Left), |heading| (heading, Align::Right));
    let mut table =
        Table::new(&[left("NAME"), left("TYPE"), left("SHAPE"), right("OBJECTS"), right("STORED")]);
    for line in fold(objects, true) {
        let (type_of, shape) = line.kinds.first().cloned().unwrap_or_default();
        table.row(vec![
            line.name,
            text::name(&type_of).into_owned(),
            text::shape(&shape),
            line.objects.to_string(),
            text::size(line.stored),
        ]);
    }
    table
}

/// The bytes of each type.
fn by_type(objects: &[Object<'_>]) -> Table {
    let right = |heading| (heading, Align::Right);
    let mut table =
        Table::new(&[("TYPE", Align::Left), right("COMPONENTS"), right("STORED"), right("DECODED")]);
    let mut types: BTreeMap<String, (u64, u64, Option<u64>)> = BTreeMap::new();
    for component in objects.iter().flat_map(|object| object.components()) {
        let (count, stored, decoded) =
            types.entry(elements::full_type_name(&component)).or_insert((0, 0, Some(0)));
        *count += 1;
        *stored = stored.saturating_add(component.stored_size());
        *decoded = decoded.and_then(|sum| Some(sum.saturating_add(component.size().ok()?)));
    }
    for (name, (count, stored, decoded)) in types {
        let name = text::name(&name).into_owned();
        table.row(vec![name, count.to_string(), text::size(stored), size(decoded, false)]);
    }
    table
}

/// The selected objects, in the requested order.
fn chosen<'f>(file: &'f File, arguments: &Ls, wanted: &Chosen) -> Vec<Object<'f>> {
    let mut objects: Vec<_> = file.objects().filter(|object| wanted.has(object)).collect();
    match arguments.sort {
        Some(Sort::Name) => objects.sort_by(|a, b| a.name_bytes().cmp(b.name_bytes())),
        Some(Sort::Offset) => objects.sort_by_key(first_offset),
        Some(Sort::Size) => objects.sort_by_key(stored_size),
        None => {}
    }
    if arguments.reverse {
        objects.reverse();
    }
    objects
}

/// The number of the file of a model, and the offset in it.
fn first_offset(object: &Object<'_>) -> (usize, u64) {
    object.components().map(|c| (c.part_number(), c.offset())).min().unwrap_or((0, 0))
}

/// `None` if the size of a component is unknown.
fn decoded_size(object: &Object<'_>) -> Option<u64> {
    object.components().try_fold(0u64, |sum, c| Some(sum.saturating_add(c.size().ok()?)))
}

/// A table of objects. Without `long` it leaves out columns that say nothing about these objects.
fn table(objects: &[Object<'_>], long: bool) -> Table {
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("FORMAT", Align::Left),
        ("TYPE", Align::Left),
        ("SHAPE", Align::Left),
        ("OFFSET", Align::Right),
        ("STORED", Align::Right),
        ("DECODED", Align::Right),
        ("ENCODING", Align::Left),
        ("DIGEST", Align::Left),
    ]);
    for object in objects {
        let name = names::shown(object).into_owned();
        let format = text::name(object.format_name()).into_owned();
        let shape = text::shape(object.shape());
        let mut components = object.components();
        // An array has one line, for its data. Another object has a line for itself and one for each
        // component.
        match (object.format(), components.next(), components.next()) {
            (Format::Dense | Format::Blocks(_), Some(data), None) => {
                table.row(line(name, format, shape, &data, long))
            }
            _ => {
                let decoded = decoded_size(object);
                table.row(vec![
                    name,
                    format,
                    text::name(&elements::type_of_object(object)).into_owned(),
                    shape,
                    String::new(),
                    size(Some(stored_size(object)), long),
                    size(decoded, long),
                    String::new(),
                    String::new(),
                ]);
                for component in object.components() {
                    let role = format!("  {}", text::name(component.role()));
                    table.row(line(role, String::new(), String::new(), &component, long));
                }
            }
        }
    }
    let components = || objects.iter().flat_map(|object| object.components());
    let is_plain = |c: Component<'_>| c.encoding() == Encoding::Raw && c.size().ok() == Some(c.stored_size());
    if !long {
        table.hide("FORMAT");
        table.hide("OFFSET");
    }
    if !long && components().all(is_plain) {
        table.hide("DECODED");
        table.hide("ENCODING");
    }
    if !long && components().all(|component| digest(&component, long).is_empty()) {
        table.hide("DIGEST");
    }
    table
}

fn line(name: String, format: String, shape: String, component: &Component<'_>, long: bool) -> Vec<String> {
    vec![
        name,
        format,
        text::name(&elements::full_type_name(component)).into_owned(),
        shape,
        component.offset().to_string(),
        size(Some(component.stored_size()), long),
        size(component.size().ok(), long),
        text::name(component.encoding_name()).into_owned(),
        digest(component, long),
    ]
}

fn size(bytes: Option<u64>, long: bool) -> String {
    match (bytes, long) {
        (None, _) => String::from("?"),
        (Some(bytes), true) => bytes.to_string(),
        (Some(bytes), false) => text::size(bytes),
    }
}

/// The digest of a component, or else the CRC-32 of its archive. Several tensors may share a member of a
/// PyTorch file, and its CRC-32.
fn digest(component: &Component<'_>, long: bool) -> String {
    let of_archive = || component.member_crc32().map(|sum| format!("crc32:0x{sum:08X}"));
    component.digest().map(|digest| cut(digest, long)).or_else(of_archive).unwrap_or_default()
}

/// Enough of a digest to distinguish two.
fn cut(text_of: &str, long: bool) -> String {
    const MAX_SHOWN: usize = "crc32c:0x00000000".len();
    let shown = text::name(text_of);
    match shown.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) if !long => format!("{}...", &shown[..end]),
        _ => shown.into_owned(),
    }
}

/// The last line: counts and sums of these objects, and what the file is.
pub fn totals(file: &File, objects: &[Object<'_>]) -> String {
    let shown = objects.len() as u64;
    let all = file.object_count() as u64;
    let of_all = if shown == all { String::new() } else { format!(" of {all}") };
    let components: u64 = objects.iter().map(|o| o.components().len() as u64).sum();
    let stored = objects.iter().map(stored_size).fold(0, u64::saturating_add);
    let decoded =
        objects.iter().map(decoded_size).try_fold(0u64, |sum, size| Some(sum.saturating_add(size?)));
    let container = match (file.container().name(), file.version()) {
        (name, "") => name.to_owned(),
        (name, version) if name.starts_with("zTensor") => format!("zTensor {}", text::name(version)),
        (name, version) => format!("{name} {}", text::name(version)),
    };
    let files = match file.part_count() {
        0 | 1 => String::from("file"),
        count => format!("{count} files"),
    };
    let of_components = match components == shown {
        true => String::new(),
        false => format!(", {}", text::count(components, "component")),
    };
    let sizes = match decoded {
        Some(decoded) if decoded == stored => text::size(stored),
        Some(decoded) => format!("{} stored, {} decoded", text::size(stored), text::size(decoded)),
        None => format!("{} stored, ? decoded", text::size(stored)),
    };
    format!(
        "{}{of_all}{of_components}: {sizes}; {container}, {files} of {}",
        text::count(shown, "object"),
        text::size(file.size()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_digests_are_cut_and_crc32c_is_not() {
        let sha = format!("sha256:{}", "0123456789abcdef".repeat(4));
        assert_eq!(cut(&sha, false), "sha256:0123456789...");
        assert_eq!(cut(&sha, true), sha);
        assert_eq!(cut("crc32c:0x1234ABCD", false), "crc32c:0x1234ABCD");
    }
}
