//! `zt ls`: what a file holds, as a table or as JSON.

use crate::arguments::{Ls, Sort};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{json, text};
use ztensor::model::manifest::Format;
use ztensor::reader::{Component, File, Object, OpenOptions};

pub fn run(arguments: &Ls) -> Outcome<()> {
    let path = &arguments.file;
    let file = File::open_model(path, &OpenOptions::default()).map_err(|e| Failure::at(path, e))?;
    let objects = chosen(&file, arguments);
    let mut out = Output::new();
    if arguments.json {
        json::write(&mut out, path, &file, &objects, arguments.sha256)?;
    } else {
        table(&objects, arguments.long).write(&mut out)?;
        out.line(format_args!("{}", totals(&file, &objects)))?;
    }
    out.flush()
}

/// The objects that are asked for, in the order that is asked for.
fn chosen<'f>(file: &'f File, arguments: &Ls) -> Vec<Object<'f>> {
    let wanted =
        |name: &str| arguments.globs.is_empty() || arguments.globs.iter().any(|glob| glob.is_match(name));
    let mut objects: Vec<_> = file.objects().filter(|object| wanted(object.name())).collect();
    match arguments.sort {
        Some(Sort::Name) => objects.sort_by(|a, b| a.name().cmp(b.name())),
        Some(Sort::Offset) => objects.sort_by_key(first_offset),
        Some(Sort::Size) => objects.sort_by_key(stored_size),
        None => {}
    }
    if arguments.reverse {
        objects.reverse();
    }
    objects
}

/// Which file of a model, and where in it.
fn first_offset(object: &Object<'_>) -> (usize, u64) {
    object.components().map(|c| (c.part_number(), c.offset())).min().unwrap_or((0, 0))
}

fn stored_size(object: &Object<'_>) -> u64 {
    object.components().map(|c| c.stored_size()).fold(0, u64::saturating_add)
}

/// None where a component's size is unknown.
fn decoded_size(object: &Object<'_>) -> Option<u64> {
    object.components().try_fold(0u64, |sum, c| Some(sum.saturating_add(c.size().ok()?)))
}

fn table(objects: &[Object<'_>], long: bool) -> Table {
    let mut columns = vec![
        ("NAME", Align::Left),
        ("FORMAT", Align::Left),
        ("DTYPE", Align::Left),
        ("SHAPE", Align::Left),
        ("STORED", Align::Right),
        ("DECODED", Align::Right),
        ("ENCODING", Align::Left),
        ("DIGEST", Align::Left),
    ];
    if long {
        columns.insert(4, ("OFFSET", Align::Right));
    }
    let mut table = Table::new(&columns);
    for object in objects {
        let name = text::name(object.name()).into_owned();
        let format = text::name(object.format_name()).into_owned();
        let shape = text::shape(object.shape());
        let mut components = object.components();
        // A dense object is its data; any other is a line for itself and one for each component.
        match (object.format(), components.next(), components.next()) {
            (Format::Dense, Some(data), None) => table.row(line(name, format, shape, &data, long)),
            _ => {
                let decoded = decoded_size(object);
                let mut cells = vec![
                    name,
                    format,
                    String::new(),
                    shape,
                    size(Some(stored_size(object)), long),
                    size(decoded, long),
                    String::new(),
                    String::new(),
                ];
                if long {
                    cells.insert(4, String::new());
                }
                table.row(cells);
                for component in object.components() {
                    let role = format!("  {}", text::name(component.role()));
                    table.row(line(role, String::new(), String::new(), &component, long));
                }
            }
        }
    }
    table
}

fn line(name: String, format: String, shape: String, component: &Component<'_>, long: bool) -> Vec<String> {
    let mut cells = vec![
        name,
        format,
        dtype(component),
        shape,
        size(Some(component.stored_size()), long),
        size(component.size().ok(), long),
        text::name(component.encoding_name()).into_owned(),
        component.digest().map(|d| digest(d, long)).unwrap_or_default(),
    ];
    if long {
        cells.insert(4, component.offset().to_string());
    }
    cells
}

fn dtype(component: &Component<'_>) -> String {
    let dtype = text::name(component.dtype_name());
    match component.logical_name() {
        Some(logical) => format!("{dtype} ({})", text::name(logical)),
        None => dtype.into_owned(),
    }
}

fn size(bytes: Option<u64>, long: bool) -> String {
    match (bytes, long) {
        (None, _) => String::from("?"),
        (Some(bytes), true) => bytes.to_string(),
        (Some(bytes), false) => text::size(bytes),
    }
}

/// Enough of a digest to distinguish two.
fn digest(text_of: &str, long: bool) -> String {
    const KEPT: usize = "crc32c:0x00000000".len();
    let shown = text::name(text_of);
    match shown.char_indices().nth(KEPT) {
        Some((end, _)) if !long => format!("{}...", &shown[..end]),
        _ => shown.into_owned(),
    }
}

fn totals(file: &File, objects: &[Object<'_>]) -> String {
    let shown = objects.len() as u64;
    let all = file.object_count() as u64;
    let of_all = if shown == all { String::new() } else { format!(" of {all}") };
    let components: u64 = objects.iter().map(|o| o.components().len() as u64).sum();
    let stored = objects.iter().map(stored_size).fold(0, u64::saturating_add);
    let decoded =
        objects.iter().map(decoded_size).try_fold(0u64, |sum, size| Some(sum.saturating_add(size?)));
    format!(
        "{}{of_all}, {}: {} stored, {} decoded; version {}, file of {}",
        text::count(shown, "object"),
        text::count(components, "component"),
        text::size(stored),
        decoded.map_or(String::from("?"), text::size),
        text::name(file.version()),
        text::size(file.size()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_digests_are_cut_and_crc32c_is_not() {
        let sha = format!("sha256:{}", "0123456789abcdef".repeat(4));
        assert_eq!(digest(&sha, false), "sha256:0123456789...");
        assert_eq!(digest(&sha, true), sha);
        assert_eq!(digest("crc32c:0x1234ABCD", false), "crc32c:0x1234ABCD");
    }
}
