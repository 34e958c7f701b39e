//! `zt convert`: a .safetensors file, or a .zt file of any version, becomes a .zt file of spec 1.2.

mod from_safetensors;
mod from_zt;

use crate::arguments::{self, Convert};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::text;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;
use ztensor::model::manifest::Encoding;
use ztensor::writer::{Algorithm, Summary, Writer, WriterOptions};

pub fn run(arguments: &Convert) -> Outcome<()> {
    let started = Instant::now();
    let interrupt = Interrupt::listen();
    let summary = match kind(&arguments.input)? {
        Kind::Safetensors => from_safetensors::convert(arguments, &interrupt)?,
        Kind::Ztensor => from_zt::convert(arguments, &interrupt)?,
    };
    let shown = arguments.output.display().to_string();
    let mut out = Output::new();
    out.line(format_args!(
        "{}: {}, {} stored as {}, file of {} in {:.2} s",
        text::one_line(&shown),
        text::count(summary.objects, "object"),
        text::size(summary.data_bytes),
        text::size(summary.stored_bytes),
        text::size(summary.file_size),
        started.elapsed().as_secs_f64(),
    ))?;
    out.flush()
}

enum Kind {
    Safetensors,
    Ztensor,
}

/// By the first bytes: a safetensors file begins with the length of its header, whose upper bytes are
/// zero, and the header with a brace.
fn kind(path: &Path) -> Outcome<Kind> {
    let meta = std::fs::metadata(path).map_err(|e| Failure::at(path, e))?;
    if !meta.is_file() {
        return Err(Failure::at(path, "not a regular file"));
    }
    let mut head = Vec::new();
    let file = File::open(path).map_err(|e| Failure::at(path, e))?;
    file.take(9).read_to_end(&mut head).map_err(|e| Failure::at(path, e))?;
    let named = |extension: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension));
    match head.as_slice() {
        [b'Z', b'T', b'E', b'N', ..] => Ok(Kind::Ztensor),
        [.., 0, 0, 0, b'{'] if head.len() == 9 => Ok(Kind::Safetensors),
        _ if named("zt") => Ok(Kind::Ztensor),
        _ if named("safetensors") => Ok(Kind::Safetensors),
        _ => Err(Failure::at(path, "neither a safetensors nor a zTensor file")),
    }
}

impl Convert {
    fn writer(&self) -> Outcome<Writer> {
        let options = WriterOptions {
            alignment: self.alignment,
            large_alignment: self.large_alignment.unwrap_or(0),
            encoding: self.encoding().unwrap_or(Encoding::Raw),
            zstd_level: self.zstd.unwrap_or(WriterOptions::default().zstd_level),
            digest: self.digest(),
            durable: self.durable,
            ..WriterOptions::default()
        };
        Writer::create(&self.output, &options).map_err(|e| Failure::at(&self.output, e))
    }

    /// What is asked for, in whichever way.
    fn encoding(&self) -> Option<Encoding> {
        match (self.zstd, self.raw) {
            (Some(_), _) => Some(Encoding::Zstd),
            (None, true) => Some(Encoding::Raw),
            (None, false) => self.encoding,
        }
    }

    fn digest(&self) -> Option<Algorithm> {
        self.digest.map(|digest| match digest {
            arguments::Digest::Sha256 => Algorithm::Sha256,
            arguments::Digest::Crc32c => Algorithm::Crc32c,
        })
    }

    /// The end of every conversion.
    fn finish(&self, mut writer: Writer, interrupt: &Interrupt) -> Outcome<Summary> {
        interrupt.check()?;
        writer.finish().map_err(|e| Failure::at(&self.output, e))
    }
}
