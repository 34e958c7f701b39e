//! `zt diff`: shows the differences between two files or models of any containers. The exit status is 0 if
//! they are the same, 1 if they differ, and 2 if that cannot be determined.

mod errors;
mod pairs;
mod values;

use crate::arguments::{Chosen, Diff};
use crate::elements::stored_size;
use crate::failure::{with_errors, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::names;
use crate::names::in_json as name;
use crate::notes::{Notes, What};
use crate::output::{Output, Tone};
use crate::{elements, models, parallel, progress, text};
use errors::{Errors, OfTypes};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;
use values::Values;
use ztensor::container::{json, SPLIT_KEYS};
use ztensor::error::Result;
use ztensor::model::value::Value;
use ztensor::reader::{File, Object};

/// A difference.
enum Difference {
    /// A property with two values.
    Said { what: String, a: String, b: String },
    /// The bytes or numbers of a component differ, or the numbers of objects with different components.
    Values { role: Option<String>, values: Values },
}

/// The result of comparing an object with its counterpart.
#[derive(Default)]
struct Compared {
    differences: Vec<Difference>,
    /// Why some values were not compared.
    passed_over: Option<String>,
    /// If the types differ: both types, and how much the numbers differ.
    errors: Option<((String, String), Errors)>,
}

/// An object of the first file, and its counterpart in the second.
type Pair<'f> = (Object<'f>, Object<'f>);

pub fn run(arguments: &Diff) -> Outcome<()> {
    compare(arguments).map_err(|why| match why {
        Failure::Reported => Failure::Reported,
        other => Failure::Trouble(Box::new(other)),
    })
}

fn compare(arguments: &Diff) -> Outcome<()> {
    let interrupt = Interrupt::listen();
    let (path, other_path) = (&arguments.a, &arguments.b);
    let (a, b) = (models::open(path)?, models::open(other_path)?);
    let found = between((path, &a), (other_path, &b), arguments, &interrupt)?;
    let mut out = Output::new();
    match arguments.json {
        true => out.json(&format!("{:#}\n", with_errors(found.as_json())))?,
        false => found.write(&mut out)?,
    }
    out.flush()?;
    found.notes.report();
    match (found.unknown, found.are_none()) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Reported),
        _ => Err(Failure::Trouble(Box::new(Failure::Reported))),
    }
}

/// All differences between two files. What cannot be compared is reported and counted.
pub fn between<'f>(
    (path, a): (&Path, &'f File),
    (other_path, b): (&Path, &'f File),
    arguments: &Diff,
    interrupt: &Interrupt,
) -> Outcome<Findings<'f>> {
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[a, b])?;
    let wanted = |object: &Object<'_>| chosen.has(object);
    let found_in = |file, object: &Object<'_>| find(file, object).is_some();
    let pairs: Vec<Pair<'_>> =
        a.objects().filter(wanted).filter_map(|object| Some((object, find(b, &object)?))).collect();
    let only_a: Vec<_> = a.objects().filter(wanted).filter(|object| !found_in(b, object)).collect();
    let only_b: Vec<_> = b.objects().filter(wanted).filter(|object| !found_in(a, object)).collect();
    let stored = pairs.iter().map(|(a, _)| stored_size(a));
    let bar = progress::bar(stored.fold(0, u64::saturating_add), path);
    let results = parallel::map(&pairs, arguments.threads, |(a, b)| {
        let differences = of_objects(a, b, !arguments.no_attributes, interrupt);
        a.components().chain(b.components()).for_each(|component| elements::release(&component));
        bar.inc(stored_size(a));
        differences
    });
    bar.finish_and_clear();
    interrupt.check()?;
    let (mut differing, mut unknown, notes) = (Vec::new(), 0u64, Notes::default());
    let mut by_type: BTreeMap<(String, String), OfTypes> = BTreeMap::new();
    for ((object, _), result) in pairs.iter().zip(results) {
        match result {
            Ok(Compared { differences, passed_over, errors }) => {
                if let Some((types, errors)) = errors {
                    let of_types = by_type.entry(types).or_default();
                    of_types.objects += 1;
                    of_types.errors.join(&errors);
                }
                passed_over.into_iter().for_each(|why| {
                    notes.add(What::NotCompared, "object", &name(object.name_bytes()), why);
                });
                if !differences.is_empty() {
                    differing.push((*object, differences));
                }
            }
            Err(error) => {
                unknown += 1;
                let why = Failure::at_either(path, other_path, error).text();
                notes.add(What::NotCompared, "object", &name(object.name_bytes()), why);
            }
        }
    }
    let of_files = match arguments.no_attributes {
        true => {
            notes.add_count(
                What::NotCompared,
                "attribute",
                count_of_attributes(a).max(count_of_attributes(b)),
                "--no-attributes",
            );
            Vec::new()
        }
        false => {
            note_origins(a, b, &notes).map_err(|e| Failure::at(path, e))?;
            of_attributes(a.attributes(), b.attributes(), &|_| true).map_err(|e| Failure::at(path, e))?
        }
    };
    let same = pairs.len() as u64 - differing.len() as u64 - unknown;
    Ok(Findings { only_a, only_b, differing, of_files, by_type, same, unknown, notes })
}

fn find<'f>(file: &'f File, object: &Object<'_>) -> Option<Object<'f>> {
    file.find_position(object.name_bytes()).and_then(|at| file.object(at))
}

fn count_of_attributes(file: &File) -> u64 {
    let count = |map: Option<Value<'_>>| map.unwrap_or(Value::EMPTY_MAP).pairs().count() as u64;
    file.objects().map(|object| count(object.attributes())).sum::<u64>() + count(file.attributes())
}

/// If attributes about the origin or the part of a model differ, notes that.
fn note_origins(a: &File, b: &File, notes: &Notes) -> Result<()> {
    let origin = |file: &File| file.origin()?.map(|origin| json::write(origin.get())).transpose();
    let of = |file: &File, key: &str| {
        let found = file.attributes().and_then(|map| map.get(key));
        found.map(json::write).transpose()
    };
    let why = "it is about the file, not about the model";
    if (of(a, File::ORIGIN)?, of(b, File::ORIGIN)?) != (None, None) && origin(a)? != origin(b)? {
        notes.add(What::NotCompared, "attribute", File::ORIGIN, why);
    }
    for key in SPLIT_KEYS {
        if of(a, key)? != of(b, key)? {
            notes.add(What::NotCompared, "attribute", key, why);
        }
    }
    Ok(())
}

fn of_objects(a: &Object<'_>, b: &Object<'_>, attributes: bool, interrupt: &Interrupt) -> Result<Compared> {
    let mut found = Compared::default();
    let mut said = |what: &str, a: String, b: String| {
        let is_same = a == b;
        if !is_same {
            found.differences.push(Difference::Said { what: what.to_owned(), a, b });
        }
        is_same
    };
    let is_same_shape = said("shape", text::shape(a.shape()), text::shape(b.shape()));
    // A weight that is quantized in one file, or by another scheme, differs by its type alone.
    let is_requantized = (a.is_weight() || b.is_weight()) && a.scheme() != b.scheme();
    let is_same_layout = match is_requantized {
        true => said("type", elements::storage_of(a), elements::storage_of(b)),
        false => {
            said("format", a.format_name().to_owned(), b.format_name().to_owned())
                & said("components", roles(a), roles(b))
        }
    };
    match (is_same_shape, is_same_layout) {
        (true, true) => of_components(a, b, interrupt, &mut found)?,
        (true, false) => match values::numbers_of_objects(a, b, interrupt)? {
            Some((values, errors)) => {
                let types = (elements::type_of_object(a), elements::type_of_object(b));
                found.differences.extend(values.map(|values| Difference::Values { role: None, values }));
                found.errors = Some((types, errors));
            }
            None => {
                found.passed_over = Some(String::from("values of objects whose formats or components differ"))
            }
        },
        (false, _) => found.passed_over = Some(String::from("values of objects whose shapes differ")),
    }
    if attributes {
        let is_kept =
            |key: &str| !is_requantized || !(a.is_of_quantization(key) || b.is_of_quantization(key));
        found.differences.extend(of_attributes(a.attributes(), b.attributes(), &is_kept)?);
    }
    Ok(found)
}

/// Compares objects with the same layout component by component.
fn of_components(a: &Object<'_>, b: &Object<'_>, interrupt: &Interrupt, found: &mut Compared) -> Result<()> {
    for component in a.components() {
        let Some(other) = b.component(component.role()) else { continue };
        let (name, other_name) = (elements::full_type_name(&component), elements::full_type_name(&other));
        let is_same_type = name == other_name;
        let is_comparable = values::are_comparable(&component, &other, is_same_type)?;
        let values = match (is_comparable, is_same_type) {
            (false, _) => {
                found.passed_over =
                    Some(String::from("values of types that are not compared with each other"));
                None
            }
            (true, true) => values::compare(&component, &other, interrupt)?,
            (true, false) => {
                let (values, errors) = values::numbers(&component, &other, false, interrupt)?;
                if a.components().len() == 1 {
                    found.errors = Some(((name.clone(), other_name.clone()), errors));
                }
                values
            }
        };
        if !is_same_type {
            let what = match a.components().len() {
                1 => String::from("type"),
                _ => format!("type of {}", component.role()),
            };
            found.differences.push(Difference::Said { what, a: name, b: other_name });
        }
        let role = Some(component.role().to_owned());
        found.differences.extend(values.map(|values| Difference::Values { role, values }));
    }
    Ok(())
}

/// The roles in order. A role with a comma is quoted, so that it does not look like two.
fn roles(object: &Object<'_>) -> String {
    let mut roles: Vec<_> = object.components().map(|component| component.role()).collect();
    roles.sort_unstable();
    let shown = roles.iter().map(|role| match role.contains([',', '"']) {
        true => format!("{role:?}"),
        false => (*role).to_owned(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Attributes that only one has, or that differ. Attributes about a file's origin do not count, nor the part
/// number of a model, nor attributes that repeat an object's type, nor those that are not `is_kept`.
fn of_attributes(
    a: Option<Value<'_>>,
    b: Option<Value<'_>>,
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<Vec<Difference>> {
    let texts = |map: Option<Value<'_>>| -> Result<Vec<(String, String)>> {
        let pairs = map.unwrap_or(Value::EMPTY_MAP).pairs();
        let own = pairs.filter(|(key, _)| {
            let is_of_part = SPLIT_KEYS.iter().any(|split| key.is_text(split));
            !key.is_text(File::ORIGIN)
                && !is_of_part
                && !elements::restates_type(key.as_text())
                && key.as_text().is_none_or(is_kept)
        });
        let mut texts: Vec<_> =
            own.map(|(key, value)| Ok((json::write(key)?, json::write(value)?))).collect::<Result<_>>()?;
        texts.sort();
        Ok(texts)
    };
    let (a, b) = (texts(a)?, texts(b)?);
    let value = |texts: &[(String, String)], key: &String| {
        let found = texts.binary_search_by(|(other, _)| other.cmp(key));
        found.map_or(String::from("nothing"), |at| texts[at].1.clone())
    };
    let mut keys: Vec<_> = a.iter().chain(&b).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let said = keys.into_iter().map(|key| (key, value(&a, key), value(&b, key)));
    let differing = said.filter(|(_, a, b)| a != b);
    Ok(differing.map(|(key, a, b)| Difference::Said { what: format!("attribute {key}"), a, b }).collect())
}

/// All that was found.
pub struct Findings<'f> {
    only_a: Vec<Object<'f>>,
    only_b: Vec<Object<'f>>,
    differing: Vec<(Object<'f>, Vec<Difference>)>,
    of_files: Vec<Difference>,
    by_type: BTreeMap<(String, String), OfTypes>,
    same: u64,
    pub unknown: u64,
    pub notes: Notes,
}

impl Findings<'_> {
    fn are_none(&self) -> bool {
        self.only_a.is_empty()
            && self.only_b.is_empty()
            && self.differing.is_empty()
            && self.of_files.is_empty()
    }

    fn write(&self, out: &mut Output) -> Outcome<()> {
        let one_sided = [("-", &self.only_a, Tone::Bad), ("+", &self.only_b, Tone::Good)];
        for (sign, objects, tone) in one_sided {
            for object in objects {
                let line = format!("{sign} {} {}", names::shown(object), text::shape(object.shape()));
                let line = out.toned(tone, &out.wrapped(&line));
                out.line(format_args!("{line}"))?;
            }
        }
        let mut line = |text: String| out.line(format_args!("{}", out.wrapped(&text)));
        self.of_files.iter().try_for_each(|found| line(format!("~ {}", found.shown(None))))?;
        for (object, differences) in &self.differing {
            let name = names::shown(object);
            for found in differences {
                line(format!("~ {name}: {}", found.shown(Some(object))))?;
            }
        }
        for ((first, second), of_types) in &self.by_type {
            line(of_types.shown(first, second))?;
        }
        let mut summary = vec![format!("{} the same", text::count(self.same, "object"))];
        let counts = [
            (self.differing.len() as u64, "differ"),
            (self.only_a.len() as u64, "only in the first"),
            (self.only_b.len() as u64, "only in the second"),
            (self.unknown, "could not be compared"),
        ];
        let present = counts.into_iter().filter(|(count, _)| *count > 0);
        summary.extend(present.map(|(count, what)| format!("{count} {what}")));
        line(summary.join(", "))
    }

    pub fn as_json(&self) -> Json {
        fn names<'f>(objects: &[Object<'f>]) -> Vec<std::borrow::Cow<'f, str>> {
            objects.iter().map(|object| name(object.name_bytes())).collect()
        }
        let differing = self.differing.iter().map(|(object, differences)| {
            let list: Vec<_> = differences.iter().map(|found| found.as_json(Some(object))).collect();
            json!({ "name": name(object.name_bytes()), "differences": list })
        });
        let by_type = self.by_type.iter().map(|((first, second), found)| found.as_json(first, second));
        self.notes.with(json!({
            "same": self.same,
            "only_in_first": names(&self.only_a),
            "only_in_second": names(&self.only_b),
            "differing": differing.collect::<Vec<_>>(),
            "attributes": self.of_files.iter().map(|found| found.as_json(None)).collect::<Vec<_>>(),
            "by_type": by_type.collect::<Vec<_>>(),
            "not_compared": self.unknown,
        }))
    }
}

impl Difference {
    fn shown(&self, object: Option<&Object<'_>>) -> String {
        match self {
            Difference::Said { what, a, b } => {
                let (a, b) = shortened(a, b);
                format!("{} {a} and {b}", text::one_line(what))
            }
            Difference::Values { role, values } => {
                let role = match (role, object.map_or(1, |object| object.components().len())) {
                    (None, _) | (_, 1) => String::new(),
                    (Some(role), _) => format!("{}: ", text::name(role)),
                };
                format!("{role}{}", values.shown(object.map_or(&[], |object| object.shape())))
            }
        }
    }

    fn as_json(&self, object: Option<&Object<'_>>) -> Json {
        match self {
            Difference::Said { what, a, b } => json!({ "what": what, "first": a, "second": b }),
            Difference::Values { role, values } => {
                let mut found = values.as_json(object.map_or(&[], |object| object.shape()));
                found["what"] = json!("values");
                found["role"] = json!(role);
                found
            }
        }
    }
}

/// Enough of two different texts to see where they differ. Texts up to this size are shown as a whole.
fn shortened(a: &str, b: &str) -> (String, String) {
    const MAX_SHOWN: usize = 60;
    /// How much is shown before the first difference.
    const BEFORE: usize = 20;
    let (a, b) = (text::one_line(a), text::one_line(b));
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| {
        let count = text.chars().count();
        if count <= MAX_SHOWN {
            return text.to_owned();
        }
        let is_far = same + BEFORE > MAX_SHOWN;
        let begin = if is_far { (same - BEFORE).min(count - MAX_SHOWN) } else { 0 };
        let (before, behind) =
            (if begin > 0 { "..." } else { "" }, if begin + MAX_SHOWN < count { "..." } else { "" });
        let part: String = text.chars().skip(begin).take(MAX_SHOWN).collect();
        format!("{before}{part}{behind}")
    };
    (shown(&a), shown(&b))
}
