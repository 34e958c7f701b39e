//! Which objects are converted, and their names in what is written.

use super::input::Input;
use crate::arguments::{is_chosen, Convert, Rename};
use crate::failure::{Failure, Outcome};
use crate::names;
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

    /// Its name for messages.
    pub fn shown(&self) -> String {
        match self.text_name() {
            Some(name) => format!("object {name:?}"),
            None => format!("object \"{}\"", names::of_bytes(&self.name)),
        }
    }
}

/// Why an object is not written whose name is not text, and what to do.
pub const NOT_UTF8: &str = "its name, which is not UTF-8; --rename 'NAME=NEW' gives it another, with NAME as it is shown";

/// The objects that the options choose, in their order.
pub fn choose<'f>(input: &'f Input, arguments: &Convert) -> Outcome<Vec<Choice<'f>>> {
    let (include, exclude) = (&arguments.include, &arguments.exclude);
    let wanted = |name: &str| is_chosen(name, include) && !exclude.iter().any(|glob| glob.is_match(name));
    let mut choices = Vec::new();
    for object in input.file.objects() {
        let name = object.name_bytes();
        if wanted(&names::of_bytes(name)) {
            let renamed = renamed(name, &arguments.rename);
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
