//! `zt report`: writes a page that shows the contents of files in a browser. It is a single file that loads
//! no others.

mod data;
mod page;

use crate::arguments::{Diff, Meaning, Report};
use crate::diff;
use crate::elements;
use crate::failure::{with_errors, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::models;
use crate::new_files::check_free;
use crate::notes::Notes;
use crate::output::Output;
use crate::stats;
use crate::text;
use data::{FileData, StatsOf};
use page::Page;
use serde_json::json;
use std::path::{Path, PathBuf};
use ztensor::reader::{Component, File, FilePart, OpenOptions};

/// The number of ranges in a histogram.
const BINS: u16 = 40;

pub fn run(arguments: &Report) -> Outcome<()> {
    let interrupt = Interrupt::of_output(&arguments.output);
    let page_path = &arguments.output;
    check_free(page_path, arguments.force)?;
    if arguments.diff && arguments.files.len() != 2 {
        let why = format!("--diff needs two files, not {}", arguments.files.len());
        return Err(Failure::Message(why));
    }
    let paths = match arguments.diff {
        true => arguments.files.iter().map(PathBuf::as_path).collect(), // a model equals itself
        false => models::once(&arguments.files, &OpenOptions::default()),
    };
    let opened = paths.iter().map(|path| models::open(path));
    let files: Vec<File> = opened.collect::<Outcome<_>>()?;
    check_page_is_none_of(page_path, &arguments.files, &files)?;
    let mut page = Page::create(page_path, arguments.force)?;
    page.put_json(&format!(r#"{{"program":"zt {}","files":["#, env!("CARGO_PKG_VERSION")))?;
    let (mut failed, mut notes) = (false, Vec::new());
    for (at, (path, file)) in paths.iter().zip(&files).enumerate() {
        let stats = match arguments.stats {
            true => {
                notes.push(stats::passed_over(file.objects()));
                Some(stats_of(path, file, arguments.threads, &interrupt, &mut failed)?)
            }
            false => None,
        };
        page.put_json(if at > 0 { ",\n" } else { "\n" })?;
        FileData::new(path, file).write(&mut page, stats, &interrupt)?;
    }
    page.put_json("],\n\"diff\":")?;
    match (arguments.diff, &arguments.files[..], &files[..]) {
        (true, [a, b], [file, other]) => {
            let wanted = Diff {
                a: a.clone(),
                b: b.clone(),
                names: Vec::new(),
                meaning: Meaning::default(),
                no_attributes: false,
                attributes: false,
                json: false,
                threads: arguments.threads,
            };
            let found = diff::between((a, file), (b, other), &wanted, &interrupt)?;
            failed |= found.unknown > 0;
            notes.extend(Some(found.notes.clone()));
            page.put_json(&found.as_json().to_string())?;
        }
        _ => page.put_json("null")?,
    }
    page.put_json("}")?;
    let size = page.publish(&interrupt)?;
    if page_path.as_os_str() != "-" {
        let shown = page_path.display().to_string();
        let mut out = Output::new();
        let what = text::count(files.len() as u64, "file");
        match arguments.json {
            true => {
                let all = Notes::default();
                notes.iter().for_each(|notes| all.absorb(notes.clone()));
                let facts = all.with(json!({ "file": shown, "files": files.len(), "size": size }));
                out.json(&format!("{:#}\n", with_errors(facts)))?;
            }
            false => out.line(format_args!("{}: {what}, {}", text::one_line(&shown), text::size(size)))?,
        }
        out.flush()?;
    }
    notes.iter().for_each(Notes::report);
    match failed {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Refuses a page whose path is one of the reported files, or a part of a reported model.
fn check_page_is_none_of(page: &Path, paths: &[PathBuf], files: &[File]) -> Outcome<()> {
    let Ok(page_now) = std::fs::canonicalize(page) else { return Ok(()) }; // it does not exist yet
    let is_page = |path: &Path| std::fs::canonicalize(path).is_ok_and(|path| path == page_now);
    let is_part = |part: &FilePart| {
        let path = part.path().and_then(|path| std::str::from_utf8(path).ok());
        path.is_some_and(|path| is_page(Path::new(path.trim_end_matches('\0'))))
        // as C has it
    };
    let is_index = |path: &PathBuf| {
        let is_in_folder = std::fs::canonicalize(path).is_ok_and(|path| page_now.parent() == Some(&path));
        is_in_folder && page_now.to_string_lossy().ends_with(".index.json")
    };
    let is_given = |path: &PathBuf| is_page(path) || is_index(path);
    match paths.iter().any(is_given) || files.iter().any(|file| file.parts().any(is_part)) {
        true => Err(Failure::at(page, "is one of the input files")),
        false => Ok(()),
    }
}

/// The statistics of each component in file order; `None` for components that are not numbers. Components
/// that cannot be read are reported.
fn stats_of(
    path: &Path,
    file: &File,
    threads: usize,
    interrupt: &Interrupt,
    failed: &mut bool,
) -> Outcome<StatsOf> {
    let all = || file.objects().flat_map(|object| object.components());
    let numbers: Vec<Component<'_>> = all().filter(elements::are_numbers).collect();
    let found = stats::of_components(path, &numbers, Some(BINS), threads, interrupt)?;
    let mut found = found.into_iter();
    let mut each = |component: Component<'_>| match elements::are_numbers(&component) {
        false => None,
        true => match found.next()? {
            Ok(found) => Some(found),
            Err(error) => {
                *failed = true;
                Failure::at(path, error).report();
                None
            }
        },
    };
    Ok(all().map(&mut each).collect())
}
