//! Which objects are converted, and their names in what is written.

use super::input::Input;
use crate::arguments::{is_chosen, Convert, Rename};
use crate::failure::{Failure, Outcome};
use std::borrow::Cow;
use std::collections::HashSet;
use ztensor::reader::Object;

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
    let wanted = |name: &str| is_chosen(name, include) && !exclude.iter().any(|glob| glob.is_match(name));
    let mut choices = Vec::new();
    for object in input.file.objects() {
        let name = object.name_bytes();
        if wanted(&String::from_utf8_lossy(name)) {
            let renamed = std::str::from_utf8(name).ok().and_then(|name| renamed(name, &arguments.rename));
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
