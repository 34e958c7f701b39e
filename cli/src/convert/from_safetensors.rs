//! From safetensors: every tensor becomes a dense object, in the order of the file.

use crate::arguments::Convert;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::progress;
use crate::safetensors::{bytes_in_host_order, Mapping, Tensor};
use ztensor::model::value::{Attributes, OwnedValue};
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, Summary, Writer};

/// Bytes that are given to the writer at a time.
const CHUNK: usize = 16 << 20;

pub fn convert(arguments: &Convert, interrupt: &Interrupt) -> Outcome<Summary> {
    let (input, output) = (&arguments.input, &arguments.output);
    let mapping = Mapping::open(input).map_err(|e| Failure::at(input, e))?;
    let header = mapping.header().map_err(|e| Failure::at(input, e))?;
    let mut writer = arguments.writer()?;
    for (key, text) in &header.metadata {
        let set = OwnedValue::text(text).and_then(|value| writer.set_attribute(key, value.get()));
        set.map_err(|e| Failure::at(output, e))?;
    }
    let total = header.tensors.iter().map(|t| t.data.len() as u64).sum();
    let bar = progress::bar(total, output);
    let write = |writer: &mut Writer| {
        header.tensors.iter().try_for_each(|tensor| {
            begin(writer, tensor).map_err(|e| Failure::at(output, e))?;
            for chunk in tensor.data.chunks(CHUNK) {
                interrupt.check()?;
                let given = writer.data(&bytes_in_host_order(chunk, tensor.dtype.size()));
                given.map_err(|e| Failure::at(output, e))?;
                mapping.forget(chunk);
                bar.inc(chunk.len() as u64);
            }
            writer.end().map_err(|e| Failure::at(output, e))
        })
    };
    let written = write(&mut writer);
    bar.finish_and_clear();
    written?;
    arguments.finish(writer, interrupt)
}

fn begin(writer: &mut Writer, tensor: &Tensor<'_>) -> ztensor::error::Result<()> {
    let object = ObjectSpec { name: &tensor.name, format: "dense", shape: &tensor.shape };
    writer.begin(&object, Attributes::default())?;
    let logical = tensor.logical.map(LogicalSpec::Known);
    writer.component(&ComponentSpec { logical, ..ComponentSpec::new("data", tensor.dtype) })
}
