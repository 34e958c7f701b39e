//! To .zt: objects are copied as they are stored, or written anew where another encoding, dtype or digest is asked for.

use super::output::check_free;
use super::{is_standard, Job, Written};
use crate::arguments::{self, Convert, Floats};
use crate::failure::{report, Failure, Outcome};
use std::io::Write;
use ztensor::error::{Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::model::value::Attributes;
use ztensor::reader::{Advice, Component};
use ztensor::sink::ByteSink;
use ztensor::writer::{Algorithm, Recode, Writer, WriterOptions};

pub fn write(job: &Job<'_>) -> Outcome<Written> {
    let output = &job.arguments.output;
    let at_output = |e: Error| job.failure(e);
    let options = job.arguments.writer_options();
    let mut writer = match is_standard(output) {
        true => Writer::to_sink(Box::new(StandardOutput), &options).map_err(at_output)?,
        false => Writer::create(output, &options).map_err(at_output)?,
    };
    let interrupt = job.interrupt.clone();
    writer.on_progress(move |_| interrupt.check().is_ok()).map_err(at_output)?;
    writer.set_attributes(attributes(job)?).map_err(at_output)?;
    let recode = job.arguments.recode();
    for choice in &job.choices {
        job.interrupt.check()?;
        let object = choice.object;
        let encodes = recode.encoding.is_some() || recode.digest.is_some();
        if let (true, Some(unknown)) = (encodes, object.components().find(is_unknown)) {
            let (file, name, role) = (job.arguments.input.display(), object.name(), unknown.role());
            let why = "it has an unknown dtype or encoding, and is kept as it is stored";
            job.bar.suspend(|| report(&format!("{file}: object {name:?}: component {role:?}: {why}")));
        }
        let name = choice.text_name().ok_or_else(|| {
            let shown = choice.shown();
            Failure::at(
                &job.arguments.input,
                format!("{shown}: its name is not UTF-8; --exclude leaves it out"),
            )
        })?;
        writer.copy_as(object, name, &recode).map_err(at_output)?;
        for component in object.components() {
            let _ = component.advise(Advice::Release); // a hint: it will not be looked at again
            job.bar.inc(component.stored_size());
        }
    }
    job.interrupt.check()?;
    check_free(output, job.arguments.force)?;
    let summary = writer.finish().map_err(at_output)?;
    Ok(Written {
        paths: vec![output.clone()],
        objects: summary.objects,
        data_bytes: summary.data_bytes,
        stored_bytes: summary.stored_bytes,
        size: summary.file_size,
    })
}

/// Those of the file, and what it was made from.
fn attributes(job: &Job<'_>) -> Outcome<Attributes> {
    if job.arguments.no_attributes {
        return Ok(Attributes::default());
    }
    job.file().attributes_to_copy().map_err(|e| job.failure(e))
}

impl Convert {
    fn writer_options(&self) -> WriterOptions {
        let usual = WriterOptions::default();
        WriterOptions {
            alignment: self.alignment.unwrap_or(usual.alignment),
            large_alignment: self.large_alignment.unwrap_or(0),
            encoding: self.encoding().unwrap_or(Encoding::Raw),
            zstd_level: self.zstd.unwrap_or(usual.zstd_level),
            digest: self.digest(),
            durable: self.durable,
            threads: self.threads,
            frame_size: self.frame_size.unwrap_or(usual.frame_size),
            ..usual
        }
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

    /// The dtype that floats are converted to.
    pub fn floats(&self) -> Option<Dtype> {
        self.dtype.map(|dtype| match dtype {
            Floats::F64 => Dtype::F64,
            Floats::F32 => Dtype::F32,
            Floats::F16 => Dtype::F16,
            Floats::Bf16 => Dtype::Bf16,
        })
    }

    fn recode(&self) -> Recode {
        Recode { encoding: self.encoding(), digest: self.digest().map(Some), floats: self.floats() }
    }
}

fn is_unknown(component: &Component<'_>) -> bool {
    component.dtype().is_none() || component.encoding() == Encoding::Other
}

/// Standard output, to which a file is written front to back.
struct StandardOutput;

impl ByteSink for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        std::io::stdout().lock().write_all(bytes).map_err(|e| Error::io("standard output", &e))
    }

    fn publish(&mut self) -> Result<()> {
        std::io::stdout().lock().flush().map_err(|e| Error::io("standard output", &e))
    }
}
