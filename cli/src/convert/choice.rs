//! Which objects are converted, and their names in what is written.

use super::input::Input;
use crate::arguments::{Chosen, Convert, Rename};
use crate::failure::{Failure, Outcome};
use crate::json;
use crate::names;
use crate::notes::{Notes, What};
use std::borrow::Cow;
use std::collections::HashSet;
use ztensor::reader::{File, Object};

/// An object that is converted.
pub struct Choice<'f> {
    pub object: Object<'f>,
    /// Its new name, which need not be text.
    pub name: Vec<u8>,
}

impl<'f> Choice<'f> {
    /// Its new name as text.
    pub fn text_name(&self) -> Option<&str> {
        std::str::from_utf8(&self.name).ok()
    }

    /// Its new name for notes.
    pub fn shown_name(&self) -> Cow<'_, str> {
        json::name(&self.name)
    }

    /// Its name for messages.
    pub fn shown(&self) -> String {
        match self.text_name() {
            Some(name) => format!("object {name:?}"),
            None => format!("object \"{}\"", self.shown_name()),
        }
    }
}

/// Why an object is not written whose name is not text, and what to do.
pub const NOT_UTF8: &str =
    "its name, which is not UTF-8; --rename 'NAME=NEW' gives it another, with NAME as it is shown";

/// The objects that the options choose, in their order.
pub fn choose<'f>(input: &'f Input, arguments: &Convert) -> Outcome<Vec<Choice<'f>>> {
    let (include, exclude) = (&arguments.include, &arguments.exclude);
    let path = &arguments.input;
    let chosen = |texts: &[String]| Chosen::some_of(texts, arguments.meaning, path, &[&input.file]);
    let (wanted, unwanted) = (chosen(include)?, chosen(exclude)?);
    let mut choices = Vec::new();
    let rules: Vec<_> = arguments.rename.iter().map(|rule| exact(rule, &input.file)).collect();
    for rule in &rules {
        if !input
            .file
            .objects()
            .any(|object| renamed(object.name_bytes(), std::slice::from_ref(rule)).is_some())
        {
            let why = match rule {
                Rename::Whole(old, _) => format!("no object has the name {old:?}, which --rename replaces"),
                Rename::Around((before, behind), _) => {
                    format!("no object matches {:?}, which --rename replaces", format!("{before}*{behind}"))
                }
            };
            return Err(Failure::at(path, why));
        }
    }
    for object in input.file.objects() {
        let name = object.name_bytes();
        if wanted.has(&object) && !unwanted.names(&object) {
            let renamed = renamed(name, &rules);
            choices.push(Choice { object, name: renamed.unwrap_or_else(|| name.to_owned()) });
        }
    }
    if choices.is_empty() && !(include.is_empty() && exclude.is_empty()) {
        return Err(Failure::at(&arguments.input, "no tensor is chosen by --include and --exclude"));
    }
    let mut names = HashSet::new();
    if let Some(twice) = choices.iter().find(|choice| !names.insert(choice.name.as_slice())) {
        let name = names::of_bytes(&twice.name);
        let why = format!("two tensors would have the name \"{name}\"; --exclude leaves both out");
        return Err(Failure::at(&arguments.input, why));
    }
    Ok(choices)
}

/// The objects that can be read or, as their file states how many bytes they have, copied. The others are noted if the
/// options say that they may be left out, and an error otherwise.
pub fn readable<'f>(
    choices: Vec<Choice<'f>>,
    arguments: &Convert,
    notes: &Notes,
) -> Outcome<Vec<Choice<'f>>> {
    let mut readable = Vec::new();
    for choice in choices {
        let unreadable = choice.object.components().find_map(|component| {
            let is_kept = component.file_states_sizes() && !arguments.skip_unreadable;
            let why = component.unreadable().filter(|_| !is_kept)?;
            Some(why.message().to_owned())
        });
        match unreadable {
            Some(why) if arguments.skip_unreadable => {
                notes.add(What::LeftOut, "object", &choice.shown_name(), why);
            }
            Some(why) if !arguments.lossy => {
                let why = format!("{}: {why}; --skip-unreadable leaves the object out", choice.shown());
                return Err(Failure::at(&arguments.input, why));
            }
            _ => readable.push(choice),
        }
    }
    Ok(readable)
}

/// A rule whose old name is exactly that of an object is for that object alone, although it has a `*`.
fn exact(rule: &Rename, file: &File) -> Rename {
    match rule {
        Rename::Around((before, behind), (new_before, new_behind)) => {
            let old = format!("{before}*{behind}");
            match names::find(file, &old).ok() {
                Some(_) => Rename::Whole(old, format!("{new_before}*{new_behind}")),
                None => rule.clone(),
            }
        }
        Rename::Whole(..) => rule.clone(),
    }
}

/// The new name by the first rule that fits, if one does.
fn renamed(name: &[u8], rules: &[Rename]) -> Option<Vec<u8>> {
    rules.iter().find_map(|rule| match rule {
        Rename::Whole(old, new) => names::is(name, old).then(|| new.clone().into_bytes()),
        Rename::Around((before, behind), (new_before, new_behind)) => {
            let between = |before: &[u8], behind: &[u8]| name.strip_prefix(before)?.strip_suffix(behind);
            let bytes = |text: &str| names::unescaped(text).unwrap_or_else(|| text.as_bytes().to_vec());
            let kept = between(before.as_bytes(), behind.as_bytes());
            let kept = kept.or_else(|| between(&bytes(before), &bytes(behind)))?;
            Some([new_before.as_bytes(), kept, new_behind.as_bytes()].concat())
        }
    })
}
