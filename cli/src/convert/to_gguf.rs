//! Writes GGUF: keys and tensor descriptions, then the data. Each tensor gets the position that it had in the
//! GGUF file it came from.

use super::gguf_keys::{Keys, Part};
use super::gguf_layout::{Encoder, Layout};
use super::job::{Job, Written};
use super::output::Sink;
use super::shards;
use super::tensor::{Elements, Refusal, Tensor};
use crate::failure::{report, Outcome};
use std::path::Path;
use ztensor::container::GGUF_MAX_RANK;
use ztensor::model::dtype::ggml_type_number;
use ztensor::model::value::Value;

const NAME: &str = "GGUF";
const EXTENSION: &str = "gguf";
const MAGIC: &[u8; 4] = b"GGUF";
const NEWEST: u64 = 3;
/// The longest name and the highest rank that ggml can open.
const MAX_NAME_SIZE: usize = 63;
const MAX_RANK: usize = 4;

pub fn write(job: &Job<'_>) -> Outcome<Written> {
    let origin = job.origin(NAME)?;
    let origin = origin.as_ref().map(|origin| origin.get());
    let noted = |key: &str| origin.and_then(|origin| origin.get(key));
    let version = noted("version").and_then(Value::as_u64).filter(|v| (1..=NEWEST).contains(v));
    // The byte order of blocks in a big-endian file is unknown.
    let has_blocks = job.choices.iter().any(|choice| choice.blocks.is_some());
    let big_endian = !has_blocks && noted("byte_order").is_some_and(|order| order.is_text("big"));
    let format = Format { version: version.unwrap_or(NEWEST), big_endian };
    let tensors = Tensor::all(job, NAME, |tensor| check(tensor, big_endian))?;
    let keys = Keys::of(job, origin);
    job.check_refused()?;
    warn_of_limits(job, &tensors);
    let total: u64 = tensors.iter().map(|tensor| tensor.size).sum();
    let mut written = Written {
        objects: tensors.len() as u64,
        data_bytes: total,
        stored_bytes: total,
        ..Written::default()
    };
    let all = i32::try_from(tensors.len()).unwrap_or(i32::MAX);
    let parts = shards::group_for_files(job, tensors, |tensor| tensor.size)?;
    let paths = shards::paths(&job.arguments.output, parts.len(), EXTENSION)?;
    for (at, (tensors, path)) in parts.iter().zip(&paths).enumerate() {
        let split = match parts.len() {
            1 => None,
            count => Some(Part { number: at as u16, count: count as u16, tensors: all }),
        };
        let places = origin.filter(|_| split.is_none() && !job.converts());
        let sink = write_file(job, format, &keys, split.as_ref(), tensors, places, path)?;
        written.size += sink.position;
        written.files.files.extend(sink.close()?);
    }
    Ok(written)
}

/// The encoding of numbers in a file.
#[derive(Clone, Copy)]
struct Format {
    version: u64,
    big_endian: bool,
}

fn write_file<'j>(
    job: &'j Job<'j>,
    Format { version, big_endian }: Format,
    keys: &Keys<'_>,
    split: Option<&Part>,
    tensors: &[Tensor<'_>],
    origin: Option<Value<'_>>,
    path: &Path,
) -> Outcome<Sink<'j>> {
    let mut encoder = Encoder { bytes: MAGIC.to_vec(), big_endian, narrow: version == 1 };
    encoder.u32(version as u32);
    encoder.size(tensors.len() as u64);
    encoder.size(keys.count(split));
    keys.encode(split, &mut encoder);
    let layout = Layout::of(tensors, keys.alignment(), origin);
    for (tensor, offset) in tensors.iter().zip(&layout.offsets) {
        encoder.string(&tensor.name);
        encoder.u32(tensor.shape.len() as u32);
        tensor.shape.iter().rev().for_each(|dimension| encoder.size(*dimension));
        encoder.u32(type_number(tensor.elements).unwrap_or_default());
        encoder.u64(*offset);
    }
    let mut padding = layout.padding(encoder.bytes.len() as u64, tensors, origin);
    let mut sink = Sink::create_at(job, path)?;
    sink.write(&encoder.bytes)?;
    for at in layout.order() {
        padding.fill(&mut sink, padding.data_start + layout.offsets[at])?;
        tensors[at].emit(job, big_endian, &mut |bytes| sink.write(bytes))?;
    }
    padding.fill(&mut sink, padding.file_size)?;
    Ok(sink)
}

/// Refuses what a file cannot have.
fn check(tensor: &Tensor<'_>, big_endian: bool) -> Result<(), Refusal> {
    let refused = |what: String| Err(Refusal::Represent(what));
    if type_number(tensor.elements).is_none() {
        return Err(Refusal::of_type(tensor));
    }
    let (rank, row) = (tensor.shape.len(), tensor.shape.last().copied().unwrap_or(1));
    if rank > GGUF_MAX_RANK {
        return refused(format!("its {rank} dimensions"));
    }
    let block = tensor.elements.block();
    if !block.divides(row) {
        return refused(format!("rows of {row} elements in blocks of {}", block.elements));
    }
    if tensor.has_big_endian_blocks() != (big_endian && is_of_blocks(tensor)) {
        return refused(String::from("its blocks: it is unknown which of their bytes to swap"));
    }
    Ok(())
}

/// Warns about things that ggml cannot open.
fn warn_of_limits(job: &Job<'_>, tensors: &[Tensor<'_>]) {
    let odd = tensors.iter().filter(|t| t.name.len() > MAX_NAME_SIZE || t.shape.len() > MAX_RANK).count();
    if odd > 0 {
        let output = job.arguments.output.display();
        let why = format!("names of more than {MAX_NAME_SIZE} bytes or more than {MAX_RANK} dimensions");
        job.bar.suspend(|| report(&format!("{output}: {odd} tensors have {why}: ggml does not open them")));
    }
}

fn is_of_blocks(tensor: &Tensor<'_>) -> bool {
    matches!(tensor.elements, Elements::Typed(_))
}

/// ggml's number of a type, if ggml has it.
fn type_number(elements: Elements) -> Option<u32> {
    ggml_type_number(elements.dtype(), elements.logical())
}
