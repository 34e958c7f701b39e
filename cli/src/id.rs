//! `zt id`: prints the digest that identifies a file's content, and why the file is not in canonical form.

use crate::arguments::Id;
use crate::failure::{with_errors, Failure, Outcome};
use crate::names;
use crate::notes::{Notes, What};
use crate::output::Output;
use crate::{models, remote, text};
use serde_json::{json, Value as Json};
use std::path::Path;
use unicode_normalization::is_nfc;
use ztensor::error::{Cause, Error};
use ztensor::model::value::Value;
use ztensor::reader::{File, Object, OpenOptions};

/// The result for a file: its digest, or why it has none.
struct Found {
    digest: Result<String, String>,
    /// Why the file is not canonical.
    violation: Option<String>,
    notes: Notes,
}

pub fn run(arguments: &Id) -> Outcome<()> {
    let mut out = Output::new();
    let mut all = Vec::new();
    let (mut is_broken, mut is_missing, mut notes) = (false, false, Vec::new());
    for path in models::once(&arguments.files, &OpenOptions::default()) {
        let found = match find(path, &arguments.digest) {
            Ok(found) => found,
            Err(error) => {
                is_broken = true;
                if arguments.json {
                    all.push(json!({ "file": remote::shown(path), "error": error.message() }));
                }
                Failure::at(path, error.message()).report();
                continue;
            }
        };
        is_missing |= found.digest.is_err();
        notes.push((path, found.notes.clone()));
        if arguments.json {
            all.push(found.as_json(path));
            continue;
        }
        let form = found.violation.map_or(String::new(), |why| format!("  not canonical: {why}"));
        let shown = remote::shown(path);
        match found.digest {
            Ok(digest) => {
                out.line(format_args!("{digest}  {}{}", text::one_line(&shown), text::one_line(&form)))?
            }
            Err(why) => drop(Failure::at(path, why).report()),
        }
    }
    if arguments.json {
        out.json(&format!("{:#}\n", with_errors(Json::Array(all))))?;
    }
    out.flush()?;
    notes.iter().for_each(|(path, notes)| notes.report_of(path));
    match (is_broken, is_missing) {
        (true, _) => Err(Failure::Reported),
        (false, true) => Err(Failure::Trouble(Box::new(Failure::Reported))),
        (false, false) => Ok(()),
    }
}

fn find(path: &Path, algorithm: &str) -> Result<Found, Error> {
    let file = models::open_with(path, &OpenOptions::default())?;
    let digest = match file.content_digest(algorithm) {
        Ok(digest) => Ok(digest),
        Err(error) if error.cause() == Cause::Unsupported => Err(error.message().to_owned()),
        Err(error) => return Err(error),
    };
    let violation = match file.canonical_violation() {
        Ok(violation) => violation.or_else(|| decomposed_name(&file)),
        Err(error) if error.cause() == Cause::Unsupported => Some(error.message().to_owned()),
        Err(error) => return Err(error),
    };
    let notes = Notes::default();
    let count = |map: Option<Value<'_>>| map.unwrap_or(Value::EMPTY_MAP).pairs().count() as u64;
    let attributes = file.objects().map(|object| count(object.attributes())).sum::<u64>();
    let attributes = attributes + count(file.attributes());
    if attributes > 0 && digest.is_ok() {
        notes.add_count(What::NotCovered, "attribute", attributes, "the content digest covers only tensors");
    }
    Ok(Found { digest, violation, notes })
}

/// The first name that is not in Unicode's normal form C. The check needs tables that the library does not
/// have.
fn decomposed_name(file: &File) -> Option<String> {
    let keys = |map: Option<Value<'_>>, what: &str| {
        let found = map?.pairs().filter_map(|(key, _)| key.as_text()).find(|key| !is_composed(key))?;
        Some(format!("K5: the key {found:?} of {what}'s attributes is not in normal form C"))
    };
    let object = |object: Object<'_>| {
        let name = &*names::text(&object);
        if !is_composed(name) {
            return Some(format!("K5: the name is not in normal form C: object {name:?}"));
        }
        let role = object.components().map(|c| c.role()).find(|role| !is_composed(role));
        let role = role
            .map(|role| format!("K5: the name is not in normal form C: object {name:?}, component {role:?}"));
        role.or_else(|| keys(object.attributes(), &format!("object {name:?}")))
    };
    keys(file.attributes(), "the file").or_else(|| file.objects().find_map(object))
}

fn is_composed(name: &str) -> bool {
    name.is_ascii() || is_nfc(name)
}

impl Found {
    fn as_json(&self, path: &Path) -> Json {
        self.notes.with_of(
            path,
            json!({
                "file": remote::shown(path),
                "content_digest": self.digest.as_ref().ok(),
                "why_no_digest": self.digest.as_ref().err(),
                "why_not_canonical": self.violation,
            }),
        )
    }
}
