//! `zt head`: shows the first numbers of tensors, with shape and type.

use crate::arguments::{Chosen, Head};
use crate::elements;
use crate::failure::{with_errors, Failure, Outcome};
use crate::notes::Notes;
use crate::number::{any_in_json, place, Number};
use crate::output::{Output, Tone};
use crate::{models, names, text};
use serde_json::json;
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::{Class, Dtype};
use ztensor::reader::Object;

/// The most numbers in a line.
const IN_A_LINE: usize = 8;

pub fn run(arguments: &Head) -> Outcome<()> {
    let path = &arguments.file;
    let file = models::open(path)?;
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[&file])?;
    let (mut out, mut failed) = (Output::new(), false);
    if arguments.json {
        return write_json(arguments, &mut out, file.objects().filter(|object| chosen.has(object)));
    }
    for (at, object) in file.objects().filter(|object| chosen.has(object)).enumerate() {
        if at > 0 {
            out.put("\n")?;
        }
        let name = out.toned(Tone::Heading, &names::shown(&object));
        let (shape, kind) = (text::shape(object.shape()), elements::type_of_object(&object));
        out.line(format_args!("{name} {shape} {}", text::name(&kind)))?;
        match first(&object, arguments.count) {
            Ok((numbers, per_element)) => {
                // The parts of a complex number are an additional dimension.
                let parts = Some(per_element).filter(|parts| *parts > 1);
                let shape: Vec<u64> = object.shape().iter().copied().chain(parts).collect();
                write(&mut out, &numbers, &shape)?;
            }
            Err(why) => {
                out.flush()?;
                Failure::at(path, why).report();
                failed = true;
            }
        }
    }
    out.flush()?;
    match failed {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Writes all that can be read; what cannot is reported, and missing.
fn write_json<'f>(
    arguments: &Head,
    out: &mut Output,
    objects: impl Iterator<Item = Object<'f>>,
) -> Outcome<()> {
    let (mut tensors, mut failed) = (Vec::new(), false);
    for object in objects {
        match first(&object, arguments.count) {
            Ok((numbers, per_element)) => tensors.push(json!({
                "name": names::in_json(object.name_bytes()),
                "shape": object.shape(),
                "type": elements::type_of_object(&object),
                "numbers_per_element": per_element,
                "numbers": numbers.into_iter().map(any_in_json).collect::<Vec<_>>(),
            })),
            Err(why) => {
                Failure::at(&arguments.file, why).report();
                failed = true;
            }
        }
    }
    let found = Notes::default().with(json!({ "tensors": tensors }));
    out.json(&format!("{}\n", with_errors(found)))?;
    out.flush()?;
    match failed {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// The first numbers of an object, at most `count`, and how many of them make an element.
fn first(object: &Object<'_>, count: u64) -> Result<(Vec<Number>, u64)> {
    let role = if object.format().is_array() { "data" } else { "values" };
    let values = object.component(role).filter(|values| values.known_logical().is_none());
    // f64 does not hold every integer.
    let to = match values.and_then(|values| values.dtype()).map(Dtype::class) {
        Some(Class::Signed) => Dtype::I64,
        Some(Class::Unsigned | Class::Bool) => Dtype::U64,
        _ => Dtype::F64,
    };
    let size = object.size_as(to)?;
    let per_element = object.element_count().and_then(|count| (size / 8).checked_div(count)).unwrap_or(1);
    let (mut numbers, mut left, number) = (Vec::new(), count.min(size / 8), Number::reader(to));
    if left == 0 {
        return Ok((numbers, per_element));
    }
    let read = object.for_each_number(to, true, &mut |bytes| {
        for bytes in bytes.chunks_exact(8).take(usize::try_from(left).unwrap_or(usize::MAX)) {
            numbers.push(number(bytes.try_into().unwrap_or_default()));
            left -= 1;
        }
        match left {
            0 => Err(Error::new(Cause::Cancelled, format_args!("enough"))), // stops reading
            _ => Ok(()),
        }
    });
    match left {
        0 => Ok((numbers, per_element)),
        _ => read.map(|()| (numbers, per_element)),
    }
}

/// Writes lines that begin with the position of their first number. A line ends at the end of a row, or
/// earlier.
fn write(out: &mut Output, numbers: &[Number], shape: &[u64]) -> Outcome<()> {
    let row = shape.last().map_or(1, |last| usize::try_from(*last).unwrap_or(usize::MAX)).max(1);
    let (mut lines, mut at, mut rest) = (Vec::new(), 0, numbers);
    while !rest.is_empty() {
        let count = IN_A_LINE.min(row - at % row).min(rest.len());
        let (now, later) = rest.split_at(count);
        let place = place(at as u64, shape).unwrap_or_default();
        lines.push((text::shape(&place), now.iter().map(|number| number.shown()).collect::<Vec<_>>()));
        (at, rest) = (at + count, later);
    }
    let of_place = lines.iter().map(|(place, _)| place.len()).max().unwrap_or(0);
    let of_number = lines.iter().flat_map(|(_, texts)| texts).map(String::len).max().unwrap_or(0);
    lines.iter().try_for_each(|(place, texts)| {
        let texts: Vec<_> = texts.iter().map(|text| format!("{text:>of_number$}")).collect();
        out.line(format_args!("  {place:<of_place$}  {}", texts.join("  ")))
    })
}
