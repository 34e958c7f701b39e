//! `zt split`: a file of zTensor 2 whose bytes are in shards next to it, each of which is a file by itself.

use crate::arguments::Split;
use crate::convert::{check_is_zt, NewFile};
use crate::elements::{self, group_by_size, stored_size};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::{progress, remote, text};
use std::path::{Path, PathBuf};
use ztensor::error::Error;
use ztensor::model::manifest::Version;
use ztensor::writer::{Writer, WriterOptions};

/// The most shards: their names have five digits.
const MAX_PARTS: usize = 99_999;

pub fn split(arguments: &Split) -> Outcome<()> {
    let (input, output) = (&arguments.input, &arguments.output);
    let interrupt = Interrupt::listen();
    check_is_zt(output)?;
    let file = remote::open(input)?;
    let groups = group_by_size(file.objects(), arguments.size, stored_size);
    if groups.len() > MAX_PARTS {
        return Err(Failure::at(
            output,
            format!("{} shards are more than {MAX_PARTS}; --size allows larger ones", groups.len()),
        ));
    }
    let options =
        WriterOptions { version: Version::V2, durable: arguments.durable, ..WriterOptions::default() };
    let failed = |e: Error| match interrupt.check() {
        Err(interrupted) => interrupted,
        Ok(()) => Failure::at_either(input, output, e),
    };
    let writer_to = |file: &NewFile| {
        let mut writer = Writer::to_sink(file.sink(), &options)?;
        let listener = interrupt.clone();
        writer.on_progress(move |_| listener.check().is_ok())?;
        Ok(writer)
    };
    let root = NewFile::create(output, arguments.force, arguments.durable)?;
    let mut writer = writer_to(&root).map_err(failed)?;
    let attributes = file.attributes_to_copy().map_err(failed)?;
    writer.set_attributes(attributes).map_err(failed)?;
    let stored = groups.iter().flatten().map(stored_size);
    let bar = progress::bar(stored.fold(0, u64::saturating_add), input);
    let mut shards = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let name = format!("{:05}-of-{:05}", at + 1, groups.len());
        let shard = NewFile::create(&shard_path(output, &name), arguments.force, arguments.durable)?;
        let mut own = writer_to(&shard).map_err(failed)?;
        for object in group {
            interrupt.check()?;
            object.text_name().and_then(|name| own.copy(*object, name)).map_err(failed)?;
            object.components().for_each(|component| elements::release(&component));
            bar.inc(stored_size(object));
        }
        own.finish().map_err(failed)?;
        let written = shard.open()?;
        writer.add_shard(&name, &written).map_err(failed)?;
        for object in written.objects() {
            object.text_name().and_then(|name| writer.link(&object, name)).map_err(failed)?;
        }
        shards.push(shard);
    }
    let summary = writer.finish().map_err(failed)?;
    bar.finish_and_clear();
    interrupt.check()?;
    let count = shards.len();
    NewFile::publish_all(shards.into_iter().chain([root]))?; // the one that names the others comes last
    let mut out = Output::new();
    let shown = output.display().to_string();
    out.line(format_args!(
        "{}: {} in {}, file of {}",
        text::one_line(&shown),
        text::count(summary.objects, "object"),
        text::count(count as u64, "shard"),
        text::size(summary.file_size)
    ))?;
    out.flush()
}

/// `STEM-NAME.zt` next to `STEM.zt`, where readers look for a shard.
fn shard_path(root: &Path, name: &str) -> PathBuf {
    let mut file = root.file_stem().unwrap_or_default().to_owned();
    file.push(format!("-{name}.zt"));
    root.with_file_name(file)
}
