//! `zt info`: everything about a file, or about some of its objects.

use crate::arguments::{Chosen, Info};
use crate::failure::{Failure, Outcome};
use crate::memory::Memory;
use crate::names;
use crate::notes::Notes;
use crate::output::{Output, Tone};
use crate::{attributes, elements, models, text};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;
use ztensor::model::value::Value;
use ztensor::reader::{Component, File, Object};

pub fn run(arguments: &Info) -> Outcome<()> {
    let path = &arguments.file;
    let file = models::open(path)?;
    let mut out = Output::new();
    if arguments.json {
        out.json(&as_json(arguments, &file)?)?;
        return out.flush();
    }
    if arguments.memory {
        Memory::of(&file, arguments.context).write(&mut out)?;
    } else if arguments.names.is_empty() {
        of_file(&mut out, path, &file)?;
    }
    let mut is_first = true;
    for text in &arguments.names {
        let chosen = Chosen::some_of(std::slice::from_ref(text), arguments.meaning, path, &[&file])?;
        for object in file.objects().filter(|object| chosen.has(object)) {
            if !std::mem::take(&mut is_first) {
                out.put("\n")?;
            }
            of_object(&mut out, path, &object)?;
        }
    }
    out.flush()
}

/// The same in JSON.
fn as_json(arguments: &Info, file: &File) -> Outcome<String> {
    let path = &arguments.file;
    if arguments.memory {
        let memory = Memory::of(file, arguments.context).as_json();
        return Ok(format!("{:#}\n", Notes::default().with(json!({ "memory": memory }))));
    }
    let at_path = |e| Failure::at(path, e);
    if arguments.names.is_empty() {
        let identity = file.identity().map_err(at_path)?;
        let types = by_type(file).into_iter().map(|(name, (components, elements, stored))| {
            json!({ "type": name, "components": components, "elements": elements, "stored": stored })
        });
        let parts = file.parts().map(|part| json!({ "name": part.label(), "size": part.size() }));
        let facts = json!({
            "container": file.container().name(),
            "version": file.version(),
            "size": file.size(),
            "manifest_hash": format!("{:016x}", identity.manifest_hash),
            "parts": parts.collect::<Json>(),
            "object_count": file.object_count(),
            "types": types.collect::<Vec<_>>(),
            "quantized": quantized(path, file)?,
        });
        let attributes = attributes::as_json(file.attributes()).map_err(at_path)?;
        return Ok(with_attributes(&Notes::default().with(facts), &attributes) + "\n");
    }
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[file])?;
    let objects: Outcome<Vec<_>> = file
        .objects()
        .filter(|object| chosen.has(object))
        .map(|object| {
            let attributes = attributes::as_json(object.attributes()).map_err(at_path)?;
            Ok(with_attributes(&object_facts(&object), &attributes))
        })
        .collect();
    let notes = Notes::default().with(json!({}))["notes"].to_string();
    Ok(format!("{{\"objects\": [\n{}\n],\n\"notes\": {notes}}}\n", objects?.join(",\n")))
}

/// Facts in JSON, with attributes that are JSON already.
fn with_attributes(facts: &Json, attributes: &str) -> String {
    let facts = facts.to_string();
    format!("{}, \"attributes\": {attributes}}}", facts.strip_suffix('}').unwrap_or(&facts))
}

fn object_facts(object: &Object<'_>) -> Json {
    let components = object.components().map(|component| {
        json!({
            "role": component.role(),
            "type": elements::full_type_name(&component),
            "encoding": component.encoding_name(),
            "offset": component.offset(),
            "stored": component.stored_size(),
            "decoded": component.size().ok(),
            "digest": component.digest(),
            "crc32": component.member_crc32(),
            "in_place": component.caps().map,
            "part": component.part_number(),
        })
    });
    json!({
        "name": names::in_json(object.name_bytes()),
        "format": object.format_name(),
        "type": elements::type_of_object(object),
        "shape": object.shape(),
        "elements": object.element_count(),
        "components": components.collect::<Vec<_>>(),
    })
}

/// Prints a property with its name.
fn fact(out: &mut Output, name: &str, value: impl std::fmt::Display) -> Outcome<()> {
    out.line(format_args!("{name:<12} {value}"))
}

fn of_file(out: &mut Output, path: &Path, file: &File) -> Outcome<()> {
    fact(out, "container", file.container().name())?;
    if !file.version().is_empty() {
        fact(out, "version", text::name(file.version()))?;
    }
    fact(out, "size", exact(file.size()))?;
    let identity = file.identity().map_err(|e| Failure::at(path, e))?;
    fact(out, "manifest", format_args!("{:016x} (its hash)", identity.manifest_hash))?;
    for (number, part) in file.parts().enumerate().filter(|_| file.part_count() > 1) {
        fact(
            out,
            &format!("part {number}"),
            format_args!("{}, {}", text::name(part.label()), exact(part.size())),
        )?;
    }
    let components: u64 = file.objects().map(|object| object.components().len() as u64).sum();
    let count = text::count(file.object_count() as u64, "object");
    fact(out, "objects", format_args!("{count}, {}", text::count(components, "component")))?;
    for (name, (count, elements, stored)) in by_type(file) {
        let count = text::count(count, "component");
        let name = text::name(&name);
        fact(out, "", format_args!("{name}: {count}, {elements} elements, {} stored", text::size(stored)))?;
    }
    if let Some(line) = quantized(path, file)? {
        fact(out, "quantized", line)?;
    }
    write_attributes(out, path, file.attributes())
}

/// The weights of a checkpoint that a tool quantized, by their schemes, and the other tensors by their types;
/// none where there are no such weights.
fn quantized(path: &Path, file: &File) -> Outcome<Option<String>> {
    let opened = models::combined(path, file);
    let file = opened.as_ref().unwrap_or(file);
    let (mut weights, mut others) = (BTreeMap::new(), BTreeMap::new());
    for object in file.objects() {
        let counts = if object.scheme().is_some() { &mut weights } else { &mut others };
        *counts.entry(elements::storage_of(&object)).or_insert(0u64) += 1;
    }
    if weights.is_empty() {
        return Ok(None);
    }
    let of_weights = weights.iter().map(|(what, count)| format!("{} {what}", text::count(*count, "weight")));
    let of_others = others.iter().map(|(what, count)| format!("{} {what}", count));
    let all: Vec<_> = of_weights.chain(of_others).collect();
    Ok(Some(text::name(&all.join(", ")).into_owned()))
}

/// Components, elements and stored bytes of each type. What is in blocks has the elements of its shape.
fn by_type(file: &File) -> BTreeMap<String, (u64, u64, u64)> {
    let mut types = BTreeMap::new();
    for object in file.objects() {
        for component in object.components() {
            let entry = types.entry(elements::full_type_name(&component)).or_insert((0u64, 0u64, 0u64));
            entry.0 += 1;
            let of_shape = if object.components().len() == 1 { object.element_count() } else { None };
            let width = component.dtype().map_or(1, |dtype| dtype.size() as u64);
            let by_size = || component.known_size().map(|size| size / width);
            entry.1 = entry.1.saturating_add(of_shape.or_else(by_size).unwrap_or(0));
            entry.2 = entry.2.saturating_add(component.stored_size());
        }
    }
    types
}

fn of_object(out: &mut Output, path: &Path, object: &Object<'_>) -> Outcome<()> {
    let name = out.toned(Tone::Heading, &names::shown(object));
    out.line(format_args!("{name}"))?;
    fact(out, "format", text::name(object.format_name()))?;
    let elements = object.element_count().map_or(String::from("more than 2^64"), |count| count.to_string());
    fact(out, "shape", format_args!("{}, {elements} elements", text::shape(object.shape())))?;
    for component in object.components() {
        of_component(out, &component)?;
    }
    write_attributes(out, path, object.attributes())
}

fn of_component(out: &mut Output, component: &Component<'_>) -> Outcome<()> {
    fact(out, "component", text::name(component.role()))?;
    fact(out, "  type", text::name(&elements::full_type_name(component)))?;
    fact(out, "  encoding", text::name(component.encoding_name()))?;
    let offset = component.offset();
    let alignment = 1u64.checked_shl(offset.trailing_zeros().min(30)).unwrap_or(1);
    fact(out, "  offset", format_args!("{offset}, a multiple of {alignment}"))?;
    fact(out, "  stored", exact(component.stored_size()))?;
    let decoded = component.size().map_or_else(|e| format!("unknown: {e}"), exact);
    fact(out, "  decoded", text::one_line(&decoded))?;
    let of_archive = || component.member_crc32().map(|sum| format!("crc32:0x{sum:08X}, of the archive"));
    let digest = component.digest().map(|digest| text::name(digest).into_owned()).or_else(of_archive);
    fact(out, "  digest", digest.unwrap_or_else(|| String::from("none")))?;
    let caps = component.caps();
    let borrowed = if caps.map { "yes" } else { "no: it is read or decoded" };
    fact(out, "  in place", borrowed)?;
    if component.part_number() > 0 {
        let label = component.file_part().label();
        fact(out, "  part", format_args!("{}, {}", component.part_number(), text::name(label)))?;
    }
    Ok(())
}

fn write_attributes(out: &mut Output, path: &Path, map: Option<Value<'_>>) -> Outcome<()> {
    let lines = attributes::lines(map).map_err(|e| Failure::at(path, e))?;
    fact(out, "attributes", lines.len())?;
    lines.iter().try_for_each(|line| out.line(format_args!("  {line}")))
}

fn exact(bytes: u64) -> String {
    match bytes {
        0..1024 => text::size(bytes),
        _ => format!("{} ({bytes} bytes)", text::size(bytes)),
    }
}
