//! Writes .zt: copies objects as stored, or encodes them again if another encoding, dtype or digest is
//! requested.

use super::blocks;
use super::choice::{Choice, NOT_UTF8};
use super::job::{Job, Written};
use super::losses::converts;
use super::refused::Remedy;
use super::shards;
use crate::arguments::{self, Convert, Floats, Spec};
use crate::elements;
use crate::failure::Outcome;
use crate::new_files::NewFile;
use crate::notes::What;
use crate::standard_input::is_standard;
use std::io::Write;
use ztensor::error::{Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{element_count, Encoding, Version};
use ztensor::model::value::{Attributes, OwnedValue, ValueKind};
use ztensor::reader::{Component, File};
use ztensor::sink::ByteSink;
use ztensor::writer::{Algorithm, Recode, Summary, Writer, WriterOptions};

const EXTENSION: &str = "zt";

pub fn write(job: &Job<'_>) -> Outcome<Written> {
    let output = &job.arguments.output;
    let mut choices: Vec<&Choice<'_>> = job.choices.iter().collect();
    if job.arguments.canonical {
        choices.sort_by(|a, b| a.text_name().cmp(&b.text_name())); // the canonical form has this order
    }
    let floats = job.arguments.floats();
    let parts = shards::group_for_files(job, choices, |choice| decoded_size(choice, floats))?;
    let paths = shards::paths(output, parts.len(), EXTENSION)?;
    let mut written = Written::default();
    for (at, (choices, path)) in parts.iter().zip(&paths).enumerate() {
        // The first file has the attributes of the whole model.
        let attributes = if at == 0 { attributes(job, parts.len())? } else { Attributes::default() };
        let file = match is_standard(path) {
            true => None,
            false => Some(NewFile::create(path, job.arguments.force, job.arguments.durable)?),
        };
        let sink = file.as_ref().map_or_else(|| Box::new(StandardOutput) as Box<dyn ByteSink>, NewFile::sink);
        let summary = write_file(job, sink, attributes, choices)?;
        written.files.files.extend(file);
        written.objects += summary.objects;
        written.data_bytes = written.data_bytes.saturating_add(summary.data_bytes);
        written.stored_bytes += summary.stored_bytes;
        written.size += summary.file_size;
    }
    Ok(written)
}

fn write_file(
    job: &Job<'_>,
    sink: Box<dyn ByteSink>,
    attributes: Attributes,
    choices: &[&Choice<'_>],
) -> Outcome<Summary> {
    let at_output = |e: Error| job.failure(&e);
    let mut writer = Writer::to_sink(sink, &job.arguments.writer_options()).map_err(at_output)?;
    let interrupt = job.interrupt.clone();
    writer.on_progress(move |_| interrupt.check().is_ok()).map_err(at_output)?;
    job.with_losses(None, |agree| writer.set_attributes_agreed(attributes, agree))?;
    let recode = job.arguments.recode();
    for choice in choices {
        job.interrupt.check()?;
        let object = choice.object;
        let encodes = recode.encoding.is_some() || recode.digest.is_some();
        if let (true, Some(unknown)) = (encodes, object.components().find(is_unknown)) {
            let why = format!(
                "component {:?} has an unknown dtype or encoding; its stored bytes are copied",
                unknown.role()
            );
            job.notes.add(What::NotConverted, "object", &choice.shown_name(), why);
        }
        let Some(name) = choice.text_name() else {
            job.leave_object_out(choice, Remedy::Lossy, &format!("a .zt file cannot represent {NOT_UTF8}"));
            job.check_refused()?;
            continue;
        };
        if job.leaves_undecodable_out(choice)? {
            continue;
        }
        match choice.blocks {
            Some(_) => job.check_scales(choice)?,
            None => drop(job.check_dtype(choice)?),
        }
        job.check_refused()?;
        let recode = Recode { blocks: choice.blocks, ..recode };
        if !job.with_losses(Some(choice), |agree| writer.copy_agreed(object, name, &recode, agree))? {
            job.left_out.borrow_mut().insert(choice.name.clone());
        }
        for component in object.components() {
            elements::release(&component);
            job.bar.inc(component.stored_size());
        }
    }
    job.interrupt.check()?;
    writer.finish().map_err(at_output)
}

/// The size of an object without compression in the output; the stored size if that is unknown.
fn decoded_size(choice: &Choice<'_>, floats: Option<Dtype>) -> u64 {
    let object = choice.object;
    if let Some(Ok(size)) = floats.filter(|_| object.is_quantized()).map(|to| object.size_as(to)) {
        return size;
    }
    let size = |component: Component<'_>| {
        let size = component.size().unwrap_or(component.stored_size());
        let count = element_count(object.shape());
        if let Some(size) = choice.blocks.zip(count).and_then(|(blocks, count)| blocks.block().size(count)) {
            return size;
        }
        match (floats.filter(|to| converts(&object, *to)), component.dtype()) {
            (Some(to), Some(from)) => (size / from.size() as u64).saturating_mul(to.size() as u64),
            _ => size,
        }
    };
    object.components().map(size).fold(0, u64::saturating_add)
}

/// The attributes of the output, including `ztensor.origin`. For several files, that says how many there are.
fn attributes(job: &Job<'_>, parts: usize) -> Outcome<Attributes> {
    let copied = match job.arguments.no_attributes {
        true => Ok(Attributes::default()),
        false => job.file().attributes_to_copy(),
    };
    let copied = copied.and_then(|mut attributes| {
        let Some(origin) = attributes.get(File::ORIGIN).filter(|_| parts > 1) else { return Ok(attributes) };
        let origin = OwnedValue::build(|map| {
            map.begin_map(None)?;
            for (key, value) in origin.pairs() {
                map.copy(key)?;
                map.copy(value)?;
            }
            map.text(File::ORIGIN_PARTS)?;
            map.unsigned(parts as u64)?;
            map.end().map(drop)
        })?;
        attributes.set(File::ORIGIN, origin.get())?;
        Ok(attributes)
    });
    let copied = copied.and_then(|mut attributes| {
        let is_of_llama = attributes.get("general.architecture").is_some();
        for (key, number) in blocks::facts(job).into_iter().filter(|_| is_of_llama) {
            attributes.set(key, OwnedValue::scalar(ValueKind::Unsigned(number.into()))?.get())?;
        }
        for set in &job.arguments.set {
            attributes.set(set.key(), set.value())?;
        }
        Ok(attributes)
    });
    copied.map_err(|e| job.failure(&e))
}

impl Convert {
    fn writer_options(&self) -> WriterOptions {
        let usual = WriterOptions::default();
        WriterOptions {
            alignment: self.alignment.unwrap_or(usual.alignment),
            large_alignment: self.large_alignment.unwrap_or(0),
            encoding: self.encoding().unwrap_or(Encoding::Raw),
            zstd_level: self.zstd.unwrap_or(usual.zstd_level),
            version: match self.spec {
                Some(Spec::V0_1) => Version::V0_1,
                Some(Spec::V1_1) => Version::V1_1,
                Some(Spec::V1_2) | None => usual.version,
                Some(Spec::V2) => Version::V2,
            },
            canonical: self.canonical,
            usual_digest: self.digest.is_none(),
            digest: self.digest().flatten(),
            durable: self.durable,
            threads: self.threads,
            frame_size: self.frame_size.unwrap_or(usual.frame_size),
            ..usual
        }
    }

    /// The requested encoding, from whichever option.
    fn encoding(&self) -> Option<Encoding> {
        match (self.zstd, self.raw) {
            (Some(_), _) => Some(Encoding::Zstd),
            (None, true) => Some(Encoding::Raw),
            (None, false) => self.encoding,
        }
    }

    /// The requested digest. The inner `None` means no digest.
    fn digest(&self) -> Option<Option<Algorithm>> {
        self.digest.map(|digest| match digest {
            arguments::Digest::Sha256 => Some(Algorithm::Sha256),
            arguments::Digest::Crc32c => Some(Algorithm::Crc32c),
            arguments::Digest::Xxh3 => Some(Algorithm::Xxh3),
            arguments::Digest::None => None,
        })
    }

    /// The dtype to convert floats to.
    pub fn floats(&self) -> Option<Dtype> {
        self.dtype.map(Floats::dtype)
    }

    fn recode(&self) -> Recode {
        let (encoding, digest, floats) = (self.encoding(), self.digest(), self.floats());
        Recode { encoding, digest, floats, lossy: true, blocks: None }
    }
}

fn is_unknown(component: &Component<'_>) -> bool {
    component.dtype().is_none() || component.encoding() == Encoding::Other
}

/// Standard output, written front to back.
struct StandardOutput;

impl ByteSink for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        std::io::stdout().lock().write_all(bytes).map_err(|e| Error::io("standard output", &e))
    }

    fn publish(&mut self) -> Result<()> {
        std::io::stdout().lock().flush().map_err(|e| Error::io("standard output", &e))
    }
}
