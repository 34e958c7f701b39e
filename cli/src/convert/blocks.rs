//! `--type`: which tensors are quantized to blocks, and what files declare about it.

use super::choice::Choice;
use super::input::Input;
use super::job::Job;
use crate::arguments::{Chosen, Convert, Floats};
use crate::failure::{Failure, Outcome};
use crate::notes::{Notes, What};
use crate::{elements, text};
use std::collections::BTreeMap;
use ztensor::model::dtype::Logical;
use ztensor::model::manifest::Format;

/// Tensors with one of these in their names are only quantized if the user names them, because llama.cpp
/// needs their floats.
const KEPT: [&str; 3] = ["_norm.", "ffn_gate_inp", "ssm_conv1d"];

/// The keys of a GGUF file about its blocks. llama.cpp reads them only as u32.
pub const KEYS: [&str; 2] = [FILE_TYPE, QUANTIZATION_VERSION];
const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION_VERSION: &str = "general.quantization_version";

/// Decides for each object whether to quantize it, and to which type.
pub fn decide(choices: &mut [Choice<'_>], input: &Input, given: &Convert, notes: &Notes) -> Outcome<()> {
    let usual = given.types.iter().find(|rule| rule.name.is_none()).and_then(|rule| rule.to);
    let mut rules = Vec::new();
    for rule in &given.types {
        if let Some(name) = &rule.name {
            let names = std::slice::from_ref(name);
            let chosen = Chosen::some_of(names, given.meaning, &given.input, &[&input.file])?;
            if !choices.iter().any(|choice| chosen.names(&choice.object)) {
                let why = format!("--type: every object that matches {name:?} is left out by another option");
                return Err(Failure::at(&given.input, why));
            }
            rules.push((chosen, rule.to));
        }
    }
    for choice in choices {
        let by_name = rules.iter().find(|(names, _)| names.names(&choice.object));
        let usual = usual.filter(|_| is_usual(choice, given));
        let Some(to) = by_name.map_or(usual, |(_, to)| *to) else { continue };
        match obstacle(choice, to) {
            None => choice.blocks = Some(to),
            Some(Obstacle::Rows(why)) if given.strict => {
                let why = format!("{}: {why}; without --strict it keeps its type", choice.shown());
                return Err(Failure::at(&given.input, why));
            }
            Some(Obstacle::Rows(why) | Obstacle::Type(why)) => {
                notes.add(What::NotConverted, "object", &choice.shown_name(), why);
            }
        }
    }
    Ok(())
}

/// Whether an object is quantized if no rule names it.
fn is_usual(choice: &Choice<'_>, given: &Convert) -> bool {
    let name = choice.object.name_bytes();
    let holds = |part: &&str| name.windows(part.len()).any(|bytes| bytes == part.as_bytes());
    let is_weight = (name.ends_with(b"weight") || choice.object.is_weight()) && !KEPT.iter().any(holds);
    choice.object.shape().len() >= 2 && (is_weight || !given.include.is_empty())
}

/// Why an object cannot be quantized.
enum Obstacle {
    /// Its elements are not floats.
    Type(String),
    /// Its rows are not whole blocks.
    Rows(String),
}

fn obstacle(choice: &Choice<'_>, to: Logical) -> Option<Obstacle> {
    let (object, name) = (choice.object, short(to));
    let data = object.components().next()?;
    let is_of_floats = object.format() == Format::Dense && data.role() == "data" && data.is_of_floats();
    if !is_of_floats && !object.is_weight() {
        return Some(Obstacle::Type(format!("{} to {name}", elements::type_of_object(&object))));
    }
    let (row, block) = (object.shape().last().copied().unwrap_or(1), to.block());
    (!block.divides(row)).then(|| {
        Obstacle::Rows(format!("rows of {row} elements are not whole blocks of {} of {name}", block.elements))
    })
}

/// How many objects were quantized, by type.
pub fn counts(job: &Job<'_>) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    let left_out = job.left_out.borrow();
    for choice in job.choices.iter().filter(|choice| !left_out.contains(&choice.name)) {
        if let Some(blocks) = choice.blocks {
            *counts.entry(short(blocks)).or_default() += 1;
        }
    }
    counts
}

/// The number of weights that several tensors made, and that became one, by the scheme.
pub fn combined<'f>(job: &Job<'f>) -> BTreeMap<&'f str, u64> {
    let mut counts = BTreeMap::new();
    let left_out = job.left_out.borrow();
    for choice in job.choices.iter().filter(|choice| !left_out.contains(&choice.name)) {
        let becomes_one = job.tensors_of(choice).is_ok_and(|tensors| tensors.is_none());
        if let Some(scheme) = choice.object.scheme().filter(|_| becomes_one) {
            *counts.entry(scheme).or_default() += 1;
        }
    }
    counts
}

/// A block type as ggml calls it.
fn short(blocks: Logical) -> &'static str {
    blocks.name().strip_prefix("gguf.").unwrap_or(blocks.name())
}

/// The end of the summary; nothing without `--type` and without weights of several tensors.
pub fn line(job: &Job<'_>) -> String {
    let of_weights = |(scheme, count)| format!("; {} of {scheme} combined", text::count(count, "weight"));
    let combined: String = combined(job).into_iter().map(of_weights).collect();
    let counts = counts(job);
    if counts.is_empty() && !job.arguments.types.is_empty() {
        return combined + "; no object was quantized";
    }
    let each = |(name, count)| format!("; {} quantized to {name}", text::count(count, "object"));
    combined + &counts.into_iter().map(each).collect::<String>()
}

/// The keys of a GGUF file about its types: the version of the blocks' layouts, and the type that most
/// quantized tensors have. If a model with that key is converted to floats, the type of the floats. `--set`
/// overrides them.
pub fn facts(job: &Job<'_>) -> Vec<(&'static str, u32)> {
    let mut facts = all_facts(job);
    facts.retain(|(key, _)| !job.sets(key));
    facts
}

fn all_facts(job: &Job<'_>) -> Vec<(&'static str, u32)> {
    if let Some(floats) = job.arguments.dtype {
        let has_type = job.attributes().iter().any(|(key, _)| key.as_text() == Some(FILE_TYPE));
        let number = match floats {
            Floats::F32 => Some(0),
            Floats::F16 => Some(1),
            Floats::Bf16 => Some(32),
            Floats::F64 => None,
        };
        return number.filter(|_| has_type).map(|number| (FILE_TYPE, number)).into_iter().collect();
    }
    if job.choices.iter().all(|choice| choice.blocks.is_none()) {
        return Vec::new();
    }
    let mut counts = BTreeMap::new();
    for choice in &job.choices {
        let blocks = choice.blocks.or(match choice.object.format() {
            Format::Blocks(blocks) => Some(blocks),
            _ => None,
        });
        if let Some(blocks) = blocks {
            counts.entry(short(blocks)).or_insert((0u64, blocks)).0 += 1;
        }
    }
    let most = counts.into_values().max_by_key(|(count, _)| *count);
    let number = most.and_then(|(_, blocks)| file_type(blocks));
    [(QUANTIZATION_VERSION, Some(2)), (FILE_TYPE, number)]
        .into_iter()
        .filter_map(|(key, number)| Some((key, number?)))
        .collect()
}

/// The number in `enum llama_ftype` for a model that mostly has these blocks.
fn file_type(blocks: Logical) -> Option<u32> {
    Some(match blocks {
        Logical::Q4_0 => 2,
        Logical::Q4_1 => 3,
        Logical::Q8_0 => 7,
        Logical::Q5_0 => 8,
        Logical::Q5_1 => 9,
        Logical::Iq4Nl => 25,
        Logical::Tq1_0 => 36,
        Logical::Tq2_0 => 37,
        Logical::Mxfp4 => 38,
        _ => return None,
    })
}
