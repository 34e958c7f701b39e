//! What all conversions have: the input, its selected objects, the options, and the result.

use super::choice::Choice;
use super::converted::Converted;
use super::input::Input;
use super::refused::Refused;
use crate::arguments::{Convert, Target};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::new_files::NewFiles;
use crate::notes::{Notes, What};
use crate::progress::Bar;
use crate::text;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use ztensor::error::Error;
use ztensor::model::value::{OwnedValue, Value};
use ztensor::reader::{File, StoredTensor};

/// The data of a conversion.
pub struct Job<'a> {
    pub arguments: &'a Convert,
    pub input: &'a Input,
    pub choices: Vec<Choice<'a>>,
    pub interrupt: &'a Interrupt,
    pub bar: Bar,
    /// The names of objects that the output does not have, because it cannot represent them.
    pub left_out: RefCell<HashSet<Vec<u8>>>,
    /// What the output cannot represent, and must not leave out.
    pub refused: RefCell<Vec<Refused>>,
    pub notes: Notes,
    /// The effect of `--dtype`.
    pub converted: Converted,
    /// The modules that have a tensor named like a scale, and that name.
    pub scales: OnceCell<HashMap<Vec<u8>, String>>,
}

/// The result of a conversion.
#[derive(Default)]
pub struct Written {
    /// The files, complete except for their names; none for standard output.
    pub files: NewFiles,
    pub objects: u64,
    pub data_bytes: u64,
    pub stored_bytes: u64,
    pub size: u64,
}

/// The key of an attribute in messages.
pub fn shown_key(key: Value<'_>) -> String {
    key.as_text().map_or_else(|| format!("attribute {key:?}"), |key| format!("attribute {key:?}"))
}

impl<'a> Job<'a> {
    pub fn new(
        arguments: &'a Convert,
        input: &'a Input,
        choices: Vec<Choice<'a>>,
        interrupt: &'a Interrupt,
        bar: Bar,
    ) -> Job<'a> {
        let (left_out, notes, converted) = (RefCell::default(), Notes::default(), Converted::default());
        let (refused, scales) = (RefCell::default(), OnceCell::new());
        Job { arguments, input, choices, interrupt, bar, left_out, refused, notes, converted, scales }
    }

    /// Notes digests of the input that the output cannot store.
    pub fn note_lost_digests(&self, target: Target) {
        let components = self.choices.iter().flat_map(|choice| choice.object.components());
        let digests = components.filter(|component| component.digest().is_some()).count();
        if target != Target::Zt && digests > 0 {
            self.notes.add_count(What::LeftOut, "digest", digests as u64, "only .zt files have digests");
        }
    }

    /// Notes that settings of quantized weights are not in the output, which has their tensors.
    pub fn note_lost_settings(&self) {
        if !self.input.has_settings() {
            return;
        }
        let becomes_tensors =
            |choice: &&Choice<'_>| self.tensors_of(choice).is_ok_and(|found| found.is_some());
        let count = self.choices.iter().filter(becomes_tensors).count() + self.input.separate_weights();
        if count > 0 {
            let weights = text::count(count as u64, "quantized weight");
            let why =
                format!("{weights} may need it; --combine keeps it in a .zt file, --dtype bf16 decodes them");
            self.notes.add(What::LeftOut, "file", "config.json", why);
        }
    }

    /// The input.
    pub fn file(&self) -> &'a File {
        &self.input.file
    }

    /// A failure of the input; if the error does not name the input, of the output.
    pub fn failure(&self, error: &Error) -> Failure {
        // If a signal stopped the library, report that as the cause.
        match self.interrupt.check() {
            Err(interrupted) => interrupted,
            Ok(()) => {
                // A writer to a sink calls its file like this.
                let message = error.message().strip_prefix("the file: ").unwrap_or(error.message());
                Failure::at_either(&self.arguments.input, &self.arguments.output, message)
            }
        }
    }

    /// A failure of the output.
    pub fn refusal(&self, why: impl std::fmt::Display) -> Failure {
        Failure::at(&self.arguments.output, why)
    }

    /// The attributes of the file to write, with those of `--set`, and without the one about its origin.
    pub fn attributes(&self) -> Vec<(Value<'a>, Value<'a>)> {
        let given = self.arguments;
        let part_keys = self.file().part_keys();
        let pairs =
            self.file().attributes().filter(|_| !given.no_attributes).unwrap_or(Value::EMPTY_MAP).pairs();
        let is_kept = |(key, value): &(Value<'a>, Value<'a>)| {
            let is_origin = key.is_text(File::ORIGIN) && value.as_map().is_some();
            !is_origin && !part_keys.iter().any(|other| key.is_text(other))
        };
        let changed = |(key, value): (Value<'a>, Value<'a>)| {
            let set = given.set.iter().find(|set| key.is_text(set.key()));
            (key, set.map_or(value, |set| set.value()))
        };
        let mut all: Vec<_> = pairs.filter(is_kept).map(changed).collect();
        for set in &given.set {
            if !all.iter().any(|(key, _)| key.is_text(set.key())) {
                all.push((set.key_value(), set.value()));
            }
        }
        all
    }

    /// Whether `--set` has this key.
    pub fn sets(&self, key: &str) -> bool {
        self.arguments.set.iter().any(|set| set.key() == key)
    }

    /// The tensors that are written in place of a quantized weight, which was these; none if it is written as
    /// one object.
    pub fn tensors_of(&self, choice: &Choice<'a>) -> Outcome<Option<Vec<StoredTensor<'a>>>> {
        let becomes_one = choice.blocks.is_some() || self.arguments.dtype.is_some();
        if becomes_one || self.arguments.target()? == Target::Zt {
            return Ok(None);
        }
        if !self.arguments.types.is_empty() && choice.object.is_weight() {
            let why = "its numbers are codes of a tool, and --type does not take it; --exclude leaves it out";
            return Err(self.refusal(format!("{}: {why}", choice.shown())));
        }
        choice.object.stored_tensors(&choice.name).map_err(|e| self.failure(&e))
    }

    /// Whether all tensors are written as they are, to one file.
    pub fn is_whole(&self) -> bool {
        let given = self.arguments;
        let all = given.include.is_empty() && given.exclude.is_empty() && given.rename.is_empty();
        all && !self.converts() && given.shard_size.is_none()
    }

    /// Whether tensors are written with another type, so that their sizes change.
    pub fn converts(&self) -> bool {
        self.arguments.dtype.is_some() || self.choices.iter().any(|choice| choice.blocks.is_some())
    }

    /// The origin of the file, or the file's own, if that is a `container`.
    pub fn origin(&self, container: &str) -> Outcome<Option<OwnedValue>> {
        let origin = self.file().origin().map_err(|e| self.input.failure(e))?;
        Ok(origin.filter(|origin| origin.get().get("container").is_some_and(|name| name.is_text(container))))
    }
}
