//! Writes safetensors: a header in the form of the official writer, then the tensors.

use super::choice::NOT_UTF8;
use super::job::{Job, Written};
use super::output::Sink;
use super::shards::{self, json};
use super::tensor::{Elements, Refusal, Tensor};
use crate::failure::{Failure, Outcome};
use crate::new_files::Members;
use std::fmt::Write;
use std::path::Path;
use ztensor::container::{safetensors_dtype, SAFETENSORS_MAX_HEADER};
use ztensor::model::manifest::element_count;
use ztensor::model::value::{Value, ValueKind};

const NAME: &str = "safetensors";

/// A header ends in blanks, so that the data begins at a multiple of this.
const ALIGNMENT: usize = 8;

pub fn write(job: &Job<'_>) -> Outcome<Written> {
    let mut tensors = Tensor::all(job, NAME, |tensor| match () {
        () if dtype_name(tensor.elements).is_none() => Err(Refusal::of_type(tensor)),
        () if std::str::from_utf8(&tensor.name).is_err() => Err(Refusal::Represent(NOT_UTF8.into())),
        () if tensor.name == b"__metadata__" => Err(Refusal::Represent(String::from("the name"))),
        () => check_whole_bytes(tensor),
    })?;
    let origin = if job.is_whole() { job.origin(NAME)? } else { None };
    let origin = origin.as_ref().map(|origin| origin.get());
    if origin.is_none() {
        // Like the official writer, so that each tensor is aligned to its elements.
        tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.elements.alignment()));
    }
    let metadata = metadata(job, origin);
    job.check_refused()?;
    let total: u64 = tensors.iter().map(|tensor| tensor.size).sum();
    let parts = shards::group_for_files(job, tensors, |tensor| tensor.size)?;
    let (output, index_path) = (&job.arguments.output, shards::index_path(&job.arguments.output));
    let Members { paths, mut obsolete, old_root, .. } = match parts.len() {
        1 if index_path.symlink_metadata().is_ok() => {
            let why =
                "the folder has the index of an older model and would open as that; remove the index first";
            return Err(Failure::at(&index_path, why));
        }
        1 => Members::alone(output)?,
        count => Members::of_root(&index_path, output, NAME, count, job.arguments.force)?,
    };
    let mut written =
        Written { objects: parts.iter().map(|part| part.len() as u64).sum(), ..Written::default() };
    (written.data_bytes, written.stored_bytes) = (total, total);
    let origin = origin.filter(|_| parts.len() == 1);
    for (part, path) in parts.iter().zip(&paths) {
        let sink = write_file(job, part, &metadata, origin, path)?;
        written.size += sink.position;
        written.files.files.extend(sink.close()?);
    }
    if parts.len() > 1 {
        // The requested name must not lead to a file of an older model.
        obsolete.extend(Some(output.clone()).filter(|path| path.symlink_metadata().is_ok()));
        let mut index = Sink::create_at(job, &index_path)?;
        index.write(shards::index(&parts, &paths, total).as_bytes())?;
        written.files.root = index.close()?;
        (written.files.obsolete, written.files.old_root) = (obsolete, old_root);
    }
    Ok(written)
}

fn write_file<'j>(
    job: &'j Job<'j>,
    tensors: &[Tensor<'_>],
    metadata: &str,
    origin: Option<Value<'_>>,
    path: &Path,
) -> Outcome<Sink<'j>> {
    let offsets = offsets(tensors, origin);
    let mut header = format!("{{{metadata}");
    for (tensor, offset) in tensors.iter().zip(&offsets) {
        let name = json(&String::from_utf8_lossy(&tensor.name));
        let dtype = dtype_name(tensor.elements).unwrap_or_default();
        let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
        let comma = if header.len() > 1 { "," } else { "" };
        let (shape, end) = (shape.join(","), offset + tensor.size);
        let _ = write!(
            header,
            "{comma}{name}:{{\"dtype\":\"{dtype}\",\"shape\":[{shape}],\"data_offsets\":[{offset},{end}]}}"
        );
    }
    header.push('}');
    let blanks = origin.and_then(|origin| origin.get("blanks")?.as_u64()).filter(|blanks| *blanks < 1 << 20);
    let size = match blanks {
        Some(blanks) => header.len() + blanks as usize,
        None => header.len().next_multiple_of(ALIGNMENT),
    };
    if size as u64 > SAFETENSORS_MAX_HEADER {
        return Err(Failure::at(
            path,
            format!("its header would have {size} bytes, but safetensors allows {SAFETENSORS_MAX_HEADER}"),
        ));
    }
    header.extend(std::iter::repeat_n(' ', size - header.len()));
    let mut sink = Sink::create_at(job, path)?;
    sink.write(&(header.len() as u64).to_le_bytes())?;
    sink.write(header.as_bytes())?;
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|at| offsets[*at]);
    for at in order {
        tensors[at].emit(job, false, &mut |bytes| sink.write(bytes))?;
    }
    Ok(sink)
}

/// The start of each tensor: as in the file that these came from, if they still fill the data without gaps.
fn offsets(tensors: &[Tensor<'_>], origin: Option<Value<'_>>) -> Vec<u64> {
    let noted = origin.and_then(|origin| match origin.get("offsets")?.kind() {
        ValueKind::Array(items) => items.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>(),
        _ => None,
    });
    let tiles = |offsets: &Vec<u64>| {
        let mut ranges: Vec<_> = offsets.iter().zip(tensors).map(|(at, tensor)| (*at, tensor.size)).collect();
        ranges.sort_unstable();
        let mut end = Some(0u64);
        ranges.iter().all(|(at, size)| Some(*at) == std::mem::replace(&mut end, at.checked_add(*size)))
    };
    noted.filter(|offsets| offsets.len() == tensors.len() && tiles(offsets)).unwrap_or_else(|| {
        let next = |end: &mut u64, t: &Tensor<'_>| Some(std::mem::replace(end, *end + t.size));
        tensors.iter().scan(0, next).collect()
    })
}

/// `__metadata__` with its content, or nothing.
fn metadata(job: &Job<'_>, origin: Option<Value<'_>>) -> String {
    let mut pairs = Vec::new();
    for (key, value) in job.attributes() {
        match (key.as_text(), value.as_text()) {
            (Some(key), Some(value)) => pairs.push(format!("{}:{}", json(key), json(value))),
            _ => job.leave_attribute_out(key, "safetensors can only represent texts"),
        }
    }
    let is_empty_map = origin.is_some_and(|origin| origin.get("metadata").is_some());
    match pairs.is_empty() && !is_empty_map {
        true => String::new(),
        false => format!("\"__metadata__\":{{{}}}", pairs.join(",")),
    }
}

/// Refuses elements smaller than a byte that do not fill whole bytes.
fn check_whole_bytes(tensor: &Tensor<'_>) -> Result<(), Refusal> {
    let count = element_count(&tensor.shape).unwrap_or(u64::MAX);
    match tensor.elements.block().divides(count) {
        true => Ok(()),
        false => {
            let name = tensor.elements.name();
            Err(Refusal::Represent(format!("{count} elements of {name:?}, which do not fill whole bytes")))
        }
    }
}

/// The format's name of a type, if it has one.
fn dtype_name(elements: Elements) -> Option<&'static str> {
    safetensors_dtype(elements.dtype(), elements.logical())
}
