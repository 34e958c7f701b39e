//! `zt split`: writes a zTensor 2 file whose data is in shards next to it. Each shard is a complete file.

use crate::arguments::Split;
use crate::elements::{self, group_by_size, stored_size};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::new_files::{check_is_zt, check_whole, Members, NewFile, NewFiles};
use crate::output::Output;
use crate::{models, progress, text};
use ztensor::error::Error;
use ztensor::model::manifest::Version;
use ztensor::writer::{Writer, WriterOptions};

/// The most shards: their names have five digits.
const MAX_PARTS: usize = 99_999;

pub fn split(arguments: &Split) -> Outcome<()> {
    let (input, output) = (&arguments.input, &arguments.output);
    let interrupt = Interrupt::listen_and_protect();
    check_is_zt(output)?;
    check_whole(output)?;
    let file = models::open(input)?;
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
    // Readers look for a shard at `STEM-NAME.zt` next to `STEM.zt`.
    let members = Members::of_root(output, output, "zt", groups.len(), arguments.force)?;
    let root = NewFile::create(output, arguments.force, arguments.durable)?;
    let mut writer = writer_to(&root).map_err(failed)?;
    let attributes = file.attributes_to_copy().map_err(failed)?;
    writer.set_attributes(attributes).map_err(failed)?;
    let stored = groups.iter().flatten().map(stored_size);
    let bar = progress::bar(stored.fold(0, u64::saturating_add), input);
    let mut shards = Vec::new();
    for ((group, name), path) in groups.iter().zip(&members.names).zip(&members.paths) {
        let shard = NewFile::create(path, false, arguments.durable)?;
        let mut own = writer_to(&shard).map_err(failed)?;
        for object in group {
            interrupt.check()?;
            object.text_name().and_then(|name| own.copy(*object, name)).map_err(failed)?;
            object.components().for_each(|component| elements::release(&component));
            bar.inc(stored_size(object));
        }
        own.finish().map_err(failed)?;
        let written = shard.open_verified()?;
        writer.add_shard(name, &written).map_err(failed)?;
        for object in written.objects() {
            object.text_name().and_then(|name| writer.link(&object, name)).map_err(failed)?;
        }
        shards.push(shard);
    }
    let summary = writer.finish().map_err(failed)?;
    bar.finish_and_clear();
    let count = shards.len();
    let (obsolete, old_root) = (members.obsolete, members.old_root);
    let files = NewFiles { files: shards, root: Some(root), obsolete, old_root };
    drop(files.open()?);
    interrupt.check()?;
    files.publish()?;
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
