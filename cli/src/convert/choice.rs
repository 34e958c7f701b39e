//! Selects the objects that are converted, and their names in the output.

use super::input::Input;
use crate::arguments::{Chosen, Convert, Rename};
use crate::failure::{Failure, Outcome};
use crate::names;
use crate::notes::{Notes, What};
use std::borrow::Cow;
use std::collections::HashSet;
use ztensor::model::dtype::Logical;
use ztensor::reader::{File, Object};

/// An object that is converted.
pub struct Choice<'f> {
    pub object: Object<'f>,
    /// Its new name, which may not be UTF-8.
    pub name: Vec<u8>,
    /// The block type that it is quantized to, if any.
    pub blocks: Option<Logical>,
}

impl<'f> Choice<'f> {
    /// Its new name as text.
    pub fn text_name(&self) -> Option<&str> {
        std::str::from_utf8(&self.name).ok()
    }

    /// Its new name in notes.
    pub fn shown_name(&self) -> Cow<'_, str> {
        names::in_json(&self.name)
    }

    /// Its name in messages.
    pub fn shown(&self) -> String {
        match self.text_name() {
            Some(name) => format!("object {name:?}"),
            None => format!("object \"{}\"", self.shown_name()),
        }
    }
}

/// Why an object is not written if its name is not UTF-8, and what to do.
pub const NOT_UTF8: &str =
    "its name, which is not UTF-8; rename it with --rename 'NAME=NEW', with NAME as shown";

/// The objects that the options select, in file order.
pub fn choose<'f>(input: &'f Input, arguments: &Convert) -> Outcome<Vec<Choice<'f>>> {
    let (include, exclude) = (&arguments.include, &arguments.exclude);
    let path = &arguments.input;
    let chosen = |texts: &[String]| Chosen::some_of(texts, arguments.meaning, path, &[&input.file]);
    let (wanted, unwanted) = (chosen(include)?, chosen(exclude)?);
    let mut choices = Vec::new();
    let rules: Vec<_> = arguments.rename.iter().map(|rename| Rule::of(rename, &input.file)).collect();
    for (rule, rename) in rules.iter().zip(&arguments.rename) {
        let fits = |object: Object<'_>| renamed(object.name_bytes(), std::slice::from_ref(rule)).is_some();
        if !input.file.objects().any(fits) {
            let what = match rename {
                Rename::Whole(old, _) => format!("has the name {old:?}"),
                Rename::Around((before, behind), _) => format!("matches {:?}", format!("{before}*{behind}")),
            };
            return Err(Failure::at(path, format!("no object {what}; --rename needs one")));
        }
    }
    for object in input.file.objects() {
        let name = object.name_bytes();
        if wanted.has(&object) && !unwanted.names(&object) {
            let renamed = renamed(name, &rules);
            let name = renamed.unwrap_or_else(|| name.to_owned());
            choices.push(Choice { object, name, blocks: None });
        }
    }
    if choices.is_empty() && !(include.is_empty() && exclude.is_empty()) {
        return Err(Failure::at(&arguments.input, "no tensor is chosen by --include and --exclude"));
    }
    let mut names = HashSet::new();
    if let Some(twice) = choices.iter().find(|choice| !names.insert(choice.name.as_slice())) {
        let name = names::in_json(&twice.name);
        let why = format!("two tensors would have the name \"{name}\"; --exclude leaves both out");
        return Err(Failure::at(&arguments.input, why));
    }
    Ok(choices)
}

/// The objects that can be read or, if their file gives their sizes, copied. For others, notes them if the
/// options allow leaving them out; otherwise fails.
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
        // A weight of several tensors is read as numbers, if these are asked for.
        let converts = arguments.dtype.is_some() || !arguments.types.is_empty();
        let of_weight = choice.object.scheme().filter(|_| converts);
        let why = of_weight.and_then(|_| choice.object.check_weight().err());
        let unreadable = unreadable.or(why.map(|why| why.message().to_owned()));
        match unreadable {
            Some(why) if arguments.skip_unreadable => {
                notes.add(What::LeftOut, "object", &choice.shown_name(), why);
            }
            Some(why) if !arguments.lossy || of_weight.is_some() => {
                let why = format!("{}: {why}; --skip-unreadable leaves the object out", choice.shown());
                return Err(Failure::at(&arguments.input, why));
            }
            _ => readable.push(choice),
        }
    }
    Ok(readable)
}

/// A `--rename` rule for the objects of a file.
enum Rule<'r> {
    /// Renames the object with this name.
    One(Vec<u8>, Vec<u8>),
    Around(&'r (String, String), &'r (String, String)),
}

impl<'r> Rule<'r> {
    /// A rule with a `*` applies to a single object if one has exactly that name. The old name may contain a
    /// `=`. Both names are written like messages show them.
    fn of(rename: &'r Rename, file: &File) -> Rule<'r> {
        let new_name = |new: &str| names::unescaped(new).unwrap_or_else(|| new.as_bytes().to_vec());
        match rename {
            Rename::Whole(old, new) => {
                let both = format!("{old}={new}");
                let mut splits = both.match_indices('=').map(|(at, _)| (&both[..at], &both[at + 1..]));
                let found = splits.find(|(old, _)| names::find(file, old).is_ok());
                let (old, new) = found.unwrap_or((old, new));
                Rule::One(names::named(old, &[file]), new_name(new))
            }
            Rename::Around(old, new) => match names::find(file, &format!("{}*{}", old.0, old.1)) {
                Ok(object) => {
                    Rule::One(object.name_bytes().to_vec(), new_name(&format!("{}*{}", new.0, new.1)))
                }
                Err(_) => Rule::Around(old, new),
            },
        }
    }
}

/// The new name by the first matching rule, if there is one.
fn renamed(name: &[u8], rules: &[Rule<'_>]) -> Option<Vec<u8>> {
    rules.iter().find_map(|rule| match rule {
        Rule::One(old, new) => (old == name).then(|| new.clone()),
        Rule::Around((before, behind), (new_before, new_behind)) => {
            let between = |before: &[u8], behind: &[u8]| name.strip_prefix(before)?.strip_suffix(behind);
            let bytes = |text: &str| names::unescaped(text).unwrap_or_else(|| text.as_bytes().to_vec());
            let kept = between(before.as_bytes(), behind.as_bytes());
            let kept = kept.or_else(|| between(&bytes(before), &bytes(behind)))?;
            Some([new_before.as_bytes(), kept, new_behind.as_bytes()].concat())
        }
    })
}
