//! `zt edit`: removes and renames objects of a file, and sets and removes their attributes, all at once.

use crate::arguments::{Chosen, Edit};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::{models, remote, text};
use std::path::Path;
use ztensor::container::json;
use ztensor::error::Result;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{Writer, WriterOptions};

/// Makes the requested changes, one kind after the other.
pub fn run(arguments: &Edit) -> Outcome<()> {
    let removed = removed(arguments)?;
    change(&arguments.file, arguments.durable, |writer| {
        for name in &removed {
            writer.remove_object(name)?;
        }
        for names in arguments.rename.chunks_exact(2) {
            writer.rename_object(&names[0], &names[1])?;
        }
        for texts in arguments.unset.chunks_exact(2) {
            writer.remove_attribute_of(&texts[0], &texts[1])?;
        }
        for texts in arguments.set.chunks_exact(3) {
            let value = json::parse(&texts[2])?;
            writer.set_attribute_of(&texts[0], &texts[1], value.get())?;
        }
        Ok(())
    })
}

/// The names of the objects to remove.
fn removed(arguments: &Edit) -> Outcome<Vec<String>> {
    let path = &arguments.file;
    if arguments.remove.is_empty() || arguments.meaning.exact {
        return Ok(arguments.remove.clone());
    }
    check_may_change(path)?;
    check_is_whole(path)?;
    let file = File::open(path, &OpenOptions::default()).map_err(|e| Failure::at(path, e))?;
    let chosen = Chosen::some_of(&arguments.remove, arguments.meaning, path, &[&file])?;
    let names = file.objects().filter(|object| chosen.names(object)).map(|object| object.text_name());
    let names = names.map(|name| name.map(str::to_owned).map_err(|e| Failure::at(path, e)));
    names.collect()
}

/// Refuses a file that may not be written, even if another file could replace it.
pub fn check_may_change(path: &Path) -> Outcome<()> {
    if path.is_dir() {
        return Err(Failure::at(path, "it is a folder; name the file to change"));
    }
    // Opening a pipe would wait for its reader.
    match path.is_file().then(|| std::fs::OpenOptions::new().write(true).open(path)) {
        Some(Err(error)) => Err(Failure::at(path, format!("could not open it for writing: {error}"))),
        _ => Ok(()),
    }
}

/// Refuses a part of a model of several files, because it would not match the other parts after a change.
pub fn check_is_whole(path: &Path) -> Outcome<()> {
    let is_zt = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zt"));
    let options = models::with_choice(&OpenOptions::default());
    if !is_zt || options.part || !path.is_file() {
        return Ok(()); // opening it reports the error
    }
    let files = File::model_paths(path, &options).map_err(|e| Failure::at(path, e))?;
    let is_same =
        |other: &Path| matches!((other.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let model = match files.as_slice() {
        [] => return Ok(()),
        [one] if is_same(one) => return Ok(()),
        [root] => remote::shown(root),
        [first, others @ ..] => format!("{} and {} more", remote::shown(first), others.len()),
    };
    let why = format!(
        "it is a part of the model {model}, and the rest may not match it after the change; --part changes \
         only this file"
    );
    Err(Failure::at(path, why))
}

/// Changes a file, or leaves it unchanged: dropping a writer restores the file. A signal only takes effect
/// after that.
pub fn change(path: &Path, durable: bool, edit: impl FnOnce(&mut Writer) -> Result<()>) -> Outcome<()> {
    let interrupt = Interrupt::listen_and_protect();
    let at_path = |e| Failure::at(path, e);
    check_may_change(path)?;
    check_is_whole(path)?;
    let options = WriterOptions { durable, ..WriterOptions::default() };
    let mut writer = Writer::append(path, &options).map_err(at_path)?;
    edit(&mut writer).map_err(at_path)?;
    interrupt.check()?;
    let summary = writer.finish().map_err(at_path)?;
    let path = path.display().to_string();
    let mut out = Output::new();
    out.line(format_args!("{}: edited, {}", text::one_line(&path), text::count(summary.objects, "object")))?;
    out.flush()
}
