//! `zt convert`: converts a file or model of any container that the library opens to another container.
//!
//! Reading is the same for all: objects are selected and possibly renamed. For each output container there is
//! a file in this folder.

mod blocks;
mod choice;
mod compare;
mod converted;
mod gguf_keys;
mod gguf_layout;
mod input;
mod job;
mod losses;
mod output;
mod refused;
mod shards;
pub mod tensor;
mod to_gguf;
mod to_npz;
mod to_safetensors;
mod to_zt;
mod zip;

use crate::arguments::{Convert, Target};
use crate::elements::stored_size;
use crate::failure::{with_errors, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::new_files::{check_free, identity, of_input};
use crate::notes::{note_unchecked, Notes};
use crate::output::{refuse_terminal, Output};
use crate::standard_input::is_standard;
use crate::{progress, text};
use input::Input;
use job::{Job, Written};
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;
pub use tensor::{emit, emit_numbers, Elements};
use ztensor::error::Cause;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};

pub fn run(arguments: &Convert) -> Outcome<()> {
    let started = Instant::now();
    let interrupt = Interrupt::of_output(&arguments.output);
    let target = arguments.target()?;
    arguments.check(target)?;
    if is_standard(&arguments.output) {
        refuse_terminal("a file of tensors")?;
    }
    let old = identity(&arguments.output); // before the input is read, which it may be
    let options = OpenOptions {
        allow_trailing: arguments.allow_trailing,
        // Numbers are those of weights, in however many tensors a tool stored them.
        combine_quantized: arguments.dtype.is_some() || !arguments.types.is_empty(),
        ..OpenOptions::default()
    };
    let input = Input::open(&arguments.input, &options, &interrupt)?;
    // After the input: whoever confuses the two is not told to replace it.
    check_free(&arguments.output, arguments.force)?;
    if arguments.verify {
        verify(&input, arguments, &interrupt)?;
    }
    let notes = Notes::default();
    let mut choices = choice::readable(choice::choose(&input, arguments)?, arguments, &notes)?;
    blocks::decide(&mut choices, &input, arguments, &notes)?;
    let total = choices.iter().map(|choice| stored_size(&choice.object)).fold(0, u64::saturating_add);
    let bar = progress::bar(total, &arguments.output);
    let job = Job { notes, ..Job::new(arguments, &input, choices, &interrupt, bar) };
    note_unchecked(&job.notes, &input.file);
    let written = match target {
        Target::Zt => to_zt::write(&job),
        Target::Safetensors => to_safetensors::write(&job),
        Target::Gguf => to_gguf::write(&job),
        Target::Npz => to_npz::write(&job),
    };
    job.bar.finish_and_clear();
    let mut written = written?;
    if written.files.entry().is_some_and(|path| path == arguments.output) {
        written.files.old_root = of_input(&arguments.output, old, &[&input.file]).or(written.files.old_root);
    }
    let files = publish(&job, &mut written)?;
    job.note_lost_digests(target);
    job.note_lost_settings();
    report(&job, &written, files, started)
}

/// Gives all files their names after checking them. Returns how many there are.
fn publish(job: &Job<'_>, written: &mut Written) -> Outcome<usize> {
    let files = std::mem::take(&mut written.files);
    if files.is_empty() {
        return Ok(0);
    }
    compare::compare(job, &files.open()?)?;
    job.interrupt.check()?;
    let count = files.count();
    files.publish().map(|()| count)
}

/// Prints a line about the result: to standard output, unless that is the output.
fn report(job: &Job<'_>, written: &Written, files: usize, started: Instant) -> Outcome<()> {
    let arguments = job.arguments;
    let shown = arguments.output.display().to_string();
    let of_files = match files {
        0 | 1 => String::from("file"),
        count => format!("{count} files"),
    };
    let line = format!(
        "{}: {}, {} stored as {}, {of_files} of {} in {:.2} s{}{}",
        text::one_line(&shown),
        text::count(written.objects, "object"),
        text::size(written.data_bytes),
        text::size(written.stored_bytes),
        text::size(written.size),
        started.elapsed().as_secs_f64(),
        arguments.floats().map_or(String::new(), |to| job.converted.line(to)),
        blocks::line(job),
    );
    if !is_standard(&arguments.output) {
        let facts = json!({
            "file": shown,
            "objects": written.objects,
            "files": files,
            "size": written.size,
            "data_bytes": written.data_bytes,
            "stored_bytes": written.stored_bytes,
            "converted": job.converted.json(arguments.floats()),
            "quantized": blocks::counts(job),
            "combined": blocks::combined(job),
        });
        let mut out = Output::new();
        match arguments.json {
            true => out.json(&format!("{:#}\n", with_errors(job.notes.with(facts))))?,
            false => out.line(format_args!("{}", out.wrapped(&line)))?,
        }
        out.flush()?;
    }
    job.notes.report();
    Ok(())
}

/// The container for the extension of a name, in upper or lower case.
pub fn target_of(path: &Path) -> Option<Target> {
    let extension = path.extension().map(|e| e.to_ascii_lowercase());
    match extension.as_deref().and_then(|e| e.to_str()) {
        Some("zt") => Some(Target::Zt),
        Some("safetensors") => Some(Target::Safetensors),
        Some("gguf") => Some(Target::Gguf),
        Some("npz") => Some(Target::Npz),
        _ => None,
    }
}

fn verify(input: &Input, arguments: &Convert, interrupt: &Interrupt) -> Outcome<()> {
    let threads = arguments.threads;
    let options = VerifyOptions { threads, ..VerifyOptions::default() };
    let continues = |_, _| interrupt.check().is_ok();
    let verified = input.file.verify(&options, &continues, &mut VerifyReport::default());
    interrupt.check()?; // if a signal stopped it, that is the cause
    let is_choice = !arguments.include.is_empty() || !arguments.exclude.is_empty();
    let leaves_out = arguments.skip_unreadable || is_choice;
    match verified {
        // Data that cannot be checked cannot be read, either, and is left out.
        Err(e) if leaves_out && e.cause() == Cause::Unsupported => Ok(()),
        verified => verified.map_err(|e| input.failure(e)),
    }
}

impl Convert {
    /// The container to write.
    fn target(&self) -> Outcome<Target> {
        if let Some(target) = self.to {
            return Ok(target);
        }
        if is_standard(&self.output) {
            let why = "standard output has no extension; choose a format with --to";
            return Err(Failure::Message(String::from(why)));
        }
        if self.output.is_dir() {
            return Err(Failure::at(&self.output, "it is a folder"));
        }
        let why = "the extension is not .zt, .safetensors, .gguf or .npz; choose a format with --to";
        target_of(&self.output).ok_or_else(|| Failure::at(&self.output, why))
    }

    /// Refuses options that have no meaning for the output container.
    fn check(&self, target: Target) -> Outcome<()> {
        let refused = |option: &str, of: &str| {
            Err(Failure::at(&self.output, format!("{option} only applies to {of} output")))
        };
        if target != Target::Zt {
            let zt = [
                ("--zstd", self.zstd.is_some()),
                ("--raw", self.raw),
                ("--encoding", self.encoding.is_some()),
                ("--digest", self.digest.is_some()),
                ("--alignment", self.alignment.is_some()),
                ("--large-alignment", self.large_alignment.is_some()),
                ("--frame-size", self.frame_size.is_some()),
                ("--spec", self.spec.is_some()),
                ("--canonical", self.canonical),
            ];
            if let Some((option, _)) = zt.iter().find(|(_, given)| *given) {
                return refused(option, ".zt");
            }
        }
        let mut keys = HashSet::new();
        if let Some(set) = self.set.iter().find(|set| set.key() == File::ORIGIN || !keys.insert(set.key())) {
            let why =
                format!("--set: the attribute {:?} is given twice, or is one that zt writes", set.key());
            return Err(Failure::Message(why));
        }
        let usual = self.types.iter().filter(|rule| rule.name.is_none()).count();
        match self.shard_size {
            _ if usual > 1 => {
                Err(Failure::Message(String::from("--type gives several types; use NAME=TYPE")))
            }
            _ if !self.types.is_empty() && !matches!(target, Target::Zt | Target::Gguf) => {
                refused("--type", ".zt and .gguf")
            }
            Some(_) if target == Target::Npz => refused("--shard-size", ".zt, .safetensors and .gguf"),
            Some(_) if is_standard(&self.output) => {
                Err(Failure::at(&self.output, "several files cannot be written to standard output"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;

    #[test]
    fn what_does_not_compare_equal_never_gets_the_name() {
        let folder = std::env::temp_dir().join(format!("zt-compare-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
        let from = data.join("foreign/valid/amber-all-types-py.gguf");
        for target in ["zt", "gguf"] {
            let to = folder.join(format!("out.{target}"));
            std::fs::write(&to, "precious").unwrap();
            let words = ["zt", "convert", "--verify", "--force"].map(std::ffi::OsString::from);
            let paths = [from.clone(), to.clone()].map(std::ffi::OsString::from);
            let parsed = Arguments::parse_from(words.into_iter().chain(paths));
            let Command::Convert(arguments) = parsed.command else { panic!() };
            let interrupt = Interrupt::default();
            let input = Input::open(&arguments.input, &OpenOptions::default(), &interrupt).unwrap();
            let choices = choice::choose(&input, &arguments).unwrap();
            let bar = progress::Bar::hidden();
            let job = Job::new(&arguments, &input, choices, &interrupt, bar);
            for is_damaged in [true, false] {
                let mut written = match target {
                    "zt" => to_zt::write(&job).unwrap(),
                    _ => to_gguf::write(&job).unwrap(),
                };
                if is_damaged {
                    let new = written.files.files[0].open().unwrap();
                    let at = new.objects().map(|o| o.components().next().unwrap().offset()).max().unwrap();
                    let path = written.files.files[0].temporary_path();
                    let mut bytes = std::fs::read(&path).unwrap();
                    bytes[at as usize] ^= 1;
                    std::fs::write(&path, bytes).unwrap();
                }
                let outcome = publish(&job, &mut written);
                drop(written);
                let is_there = std::fs::read(&to).unwrap() == b"precious";
                assert_eq!((outcome.is_err(), is_there), (is_damaged, is_damaged), "{target} {outcome:?}");
            }
        }
        let left = std::fs::read_dir(&folder).unwrap().count();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, 2, "no temporary file is left");
    }
}
