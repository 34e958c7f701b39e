//! Which objects are converted, and their names in what is written.

use super::input::Input;
use crate::arguments::{Chosen, Convert, Rename};
use crate::failure::{Failure, Outcome};
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

    /// Its new name for people.
    pub fn shown_name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// Its name for messages.
    pub fn shown(&self) -> String {
        format!("object {:?}", self.shown_name())
    }
}

/// The objects that the options choose, in their order.
pub fn choose<'f>(input: &'f Input, arguments: &Convert) -> Outcome<Vec<Choice<'f>>> {
    let (include, exclude) = (&arguments.include, &arguments.exclude);
    let chosen = |texts: &[String]| Chosen::of(texts, arguments.meaning, &arguments.input, &[&input.file]);
    let (wanted, unwanted) = (chosen(include)?, chosen(exclude)?);
    let mut choices = Vec::new();
    let rules: Vec<_> = arguments.rename.iter().map(|rule| exact(rule, &input.file)).collect();
    for object in input.file.objects() {
        let name = object.name_bytes();
        if wanted.has(&object) && !unwanted.names(&object) {
            let renamed = std::str::from_utf8(name).ok().and_then(|name| renamed(name, &rules));
            choices
                .push(Choice { object, name: renamed.map_or_else(|| name.to_owned(), String::into_bytes) });
        }
    }
    if choices.is_empty() && !(include.is_empty() && exclude.is_empty()) {
        return Err(Failure::at(&arguments.input, "no tensor is chosen by --include and --exclude"));
    }
    let mut names = HashSet::new();
    if let Some(twice) = choices.iter().find(|choice| !names.insert(choice.name.as_slice())) {
        let name = String::from_utf8_lossy(&twice.name);
        let why = format!("two tensors would have the name {name:?}; --exclude leaves both out");
        return Err(Failure::at(&arguments.input, why));
    }
    Ok(choices)
}

/// A rule whose old name is exactly that of an object is for that object alone, although it has a `*`.
fn exact(rule: &Rename, file: &File) -> Rename {
    match rule {
        Rename::Around((before, behind), (new_before, new_behind)) => {
            let old = format!("{before}*{behind}");
            match file.find(&old) {
                Some(_) => Rename::Whole(old, format!("{new_before}*{new_behind}")),
                None => rule.clone(),
            }
        }
        Rename::Whole(..) => rule.clone(),
    }
}

/// The new name by the first rule that fits, if one does.
fn renamed(name: &str, rules: &[Rename]) -> Option<String> {
    rules.iter().find_map(|rule| match rule {
        Rename::Whole(old, new) => (name == old).then(|| new.clone()),
        Rename::Around((before, behind), (new_before, new_behind)) => {
            let kept = name.strip_prefix(before.as_str())?.strip_suffix(behind.as_str())?;
            Some(format!("{new_before}{kept}{new_behind}"))
        }
    })
}
