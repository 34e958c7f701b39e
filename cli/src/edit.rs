//! `zt edit`: objects of a file are taken away and renamed, their attributes set and taken away, all at once.

use crate::arguments::Edit;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::text;
use ztensor::container::json;
use ztensor::error::Result;
use ztensor::writer::{Writer, WriterOptions};

pub fn run(arguments: &Edit) -> Outcome<()> {
    let path = &arguments.file;
    let objects = edit(arguments).map_err(|e| Failure::at(path, e))?;
    let shown = path.display().to_string();
    let mut out = Output::new();
    out.line(format_args!("{}: edited, {}", text::one_line(&shown), text::count(objects, "object")))?;
    out.flush()
}

/// Does what the options say, kind by kind. A writer that is dropped leaves the file as it was.
fn edit(arguments: &Edit) -> Result<u64> {
    let options = WriterOptions { durable: arguments.durable, ..WriterOptions::default() };
    let mut writer = Writer::append(&arguments.file, &options)?;
    for name in &arguments.remove {
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
    writer.finish().map(|summary| summary.objects)
}
