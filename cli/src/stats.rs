//! `zt stats`: statistics about the numbers in a file's tensors.

mod summary;

use crate::arguments::{Chosen, Stats};
use crate::failure::{with_errors, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::names;
use crate::notes::{Notes, What};
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{elements, models, parallel, progress, text};
use serde_json::{json, Value};
use std::path::Path;
use summary::{Histogram, Summary};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{Component, Object};

/// The statistics of a component.
pub struct Found {
    pub summary: Summary,
    pub histogram: Option<Histogram>,
}

pub fn run(arguments: &Stats) -> Outcome<()> {
    let path = &arguments.file;
    let interrupt = Interrupt::listen();
    let file = models::open(path)?;
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[&file])?;
    let objects = || file.objects().filter(|object| chosen.has(object));
    let notes = passed_over(objects());
    let (numbers, others): (Vec<_>, Vec<_>) = objects()
        .flat_map(|object| object.components().map(move |component| (object, component)))
        .partition(|(_, component)| elements::are_numbers(component));
    let components: Vec<_> = numbers.iter().map(|(_, component)| *component).collect();
    let found = of_components(path, &components, arguments.histogram, arguments.threads, &interrupt)?;
    let (mut rows, mut failed) = (Vec::new(), false);
    for ((object, component), found) in numbers.iter().zip(found) {
        match found {
            Ok(found) => rows.push((*object, *component, found)),
            Err(error) => {
                failed = true;
                Failure::at(path, error).report();
            }
        }
    }
    let mut out = Output::new();
    match arguments.json {
        true => out.json(&format!("{}\n", with_errors(notes.with(as_json(&rows, &others)))))?,
        false => write(&mut out, &rows)?,
    }
    out.flush()?;
    notes.report();
    match failed {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Notes the components whose elements are not numbers.
pub fn passed_over<'f>(objects: impl Iterator<Item = Object<'f>>) -> Notes {
    let notes = Notes::default();
    for object in objects {
        let parts = object.components().filter(|_| !object.is_weight());
        for component in parts.filter(|component| !elements::are_numbers(component)) {
            let why = match elements::is_known(&component) {
                true => format!("elements of {} cannot be decoded", elements::type_name(&component)),
                false => String::from("its dtype or encoding is unknown"),
            };
            notes.add(What::NotChecked, "component", &elements::shown(&object, &component), why);
        }
    }
    notes
}

/// The statistics of these components, whose elements are numbers.
pub fn of_components(
    path: &Path,
    components: &[Component<'_>],
    bins: Option<u16>,
    threads: usize,
    interrupt: &Interrupt,
) -> Outcome<Vec<Result<Found>>> {
    let passes = if bins.is_some() { 2 } else { 1 };
    let bytes = components.iter().map(|component| component.stored_size().saturating_mul(passes));
    let bar = progress::bar(bytes.fold(0, u64::saturating_add), path);
    let found = parallel::map(components, threads, |component| {
        let found = find(component, bins, interrupt);
        elements::release(component);
        bar.inc(component.stored_size().saturating_mul(passes));
        found
    });
    bar.finish_and_clear();
    interrupt.check().map(|()| found)
}

fn find(component: &Component<'_>, bins: Option<u16>, interrupt: &Interrupt) -> Result<Found> {
    let continues = || match interrupt.check() {
        Ok(()) => Ok(()),
        Err(_) => Err(Error::new(Cause::Cancelled, format_args!("interrupted"))),
    };
    let mut summary = Summary::default();
    elements::each_chunk(component, &mut |numbers| {
        summary.add(numbers);
        continues()
    })?;
    let mut histogram = bins.and_then(|bins| Histogram::over(&summary, usize::from(bins)));
    if let Some(histogram) = &mut histogram {
        elements::each_chunk(component, &mut |numbers| {
            histogram.add(numbers);
            continues()
        })?;
    }
    Ok(Found { summary, histogram })
}

/// Whether its numbers are made from several components of the object.
fn is_of_parts(object: &Object<'_>, component: &Component<'_>) -> bool {
    object.components().len() > 1 && elements::is_quantized(component)
}

fn write(out: &mut Output, rows: &[(Object<'_>, Component<'_>, Found)]) -> Outcome<()> {
    let right = |heading| (heading, Align::Right);
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("TYPE", Align::Left),
        right("NUMBERS"),
        right("MIN"),
        right("MAX"),
        right("MEAN"),
        right("STD"),
        right("ZERO"),
        right("NAN"),
        right("INF"),
    ]);
    let finite = |number: Option<f64>| number.map_or(String::from("-"), text::number);
    for (object, component, Found { summary, .. }) in rows {
        table.row(vec![
            elements::shown(object, component),
            match is_of_parts(object, component) {
                true => elements::type_of_object(object),
                false => elements::full_type_name(component),
            },
            summary.count.to_string(),
            finite(summary.min()),
            finite(summary.max()),
            finite(summary.mean()),
            finite(summary.deviation()),
            summary.zero.to_string(),
            summary.nan.to_string(),
            summary.infinite.to_string(),
        ]);
    }
    table.write(out)?;
    for (object, component, found) in rows {
        let Some(histogram) = &found.histogram else { continue };
        let name = elements::shown(object, component);
        out.line(format_args!("\n{}", out.wrapped(&name)))?;
        histogram.lines().try_for_each(|line| out.line(format_args!("  {line}")))?;
    }
    Ok(())
}

fn as_json(rows: &[(Object<'_>, Component<'_>, Found)], others: &[(Object<'_>, Component<'_>)]) -> Value {
    let row = |(object, component, found): &(Object<'_>, Component<'_>, Found)| {
        let summary = &found.summary;
        let mut row = json!({
            "name": names::in_json(object.name_bytes()),
            "role": component.role(),
            "type": match is_of_parts(object, component) {
                true => object.format_name(),
                false => elements::type_name(component),
            },
            "numbers": summary.count,
            "min": summary.min(),
            "max": summary.max(),
            "mean": summary.mean(),
            "std": summary.deviation(),
            "zero": summary.zero,
            "nan": summary.nan,
            "infinite": summary.infinite,
        });
        if let Some(histogram) = &found.histogram {
            row["histogram"] = json!({ "edges": histogram.edges(), "counts": histogram.counts });
        }
        row
    };
    let other = |(object, component): &(Object<'_>, Component<'_>)| {
        json!({
            "name": names::in_json(object.name_bytes()),
            "role": component.role(),
            "type": elements::type_name(component),
        })
    };
    json!({
        "tensors": rows.iter().map(row).collect::<Vec<_>>(),
        "left_out": others.iter().map(other).collect::<Vec<_>>(),
    })
}
