//! Handles what the output cannot represent: refuses it or, with --lossy, leaves it out and notes it. One
//! message has all refusals and the options that help. Damaged bytes are refused or, with --allow-damaged,
//! noted.

use super::blocks;
use super::choice::Choice;
use super::job::{shown_key, Job};
use super::refused::{message, Refused, Remedy};
use crate::elements;
use crate::failure::{Failure, Outcome};
use crate::names;
use crate::notes::{damage, What};
use crate::text;
use ztensor::error::Error;
use ztensor::model::dtype::{Class, Dtype, Numbers};
use ztensor::model::manifest::Format;
use ztensor::model::value::Value;
use ztensor::reader::{Component, Object};
use ztensor::writer::Loss;

/// Whether `--dtype` converts an object: a dense tensor of floats, or a quantized object.
pub fn converts(object: &Object<'_>, to: Dtype) -> bool {
    let is_other = |data: &Component<'_>| data.dtype() != Some(to) || data.known_logical().is_some();
    let first = object.components().next().filter(|_| object.format() == Format::Dense);
    let has_floats = |data: Component<'_>| data.role() == "data" && data.is_of_floats() && is_other(&data);
    first.is_some_and(has_floats) || object.is_quantized()
}

/// Compares the bytes of all components with the checksums in their file.
pub fn check_sources(object: &Object<'_>) -> Result<(), Error> {
    object.components().try_for_each(|component| component.check_source())
}

impl Job<'_> {
    /// Leaves out the thing with this `name`, or refuses it with the reason why it cannot be represented.
    pub fn leave_out(&self, noun: &'static str, subject: &str, name: &str, why: &str) {
        match self.arguments.lossy {
            true => self.notes.add(What::LeftOut, noun, name, why),
            false => self.refuse(noun, Remedy::Lossy, format!("{subject}: {why}")),
        }
    }

    /// Leaves out an object, or refuses it with the reason why it cannot be represented.
    pub fn leave_object_out(&self, choice: &Choice<'_>, remedy: Remedy, why: &str) {
        match self.arguments.lossy {
            true => self.notes.add(What::LeftOut, "object", &choice.shown_name(), why),
            false => self.refuse("object", remedy, format!("{}: {why}", choice.shown())),
        }
        self.left_out.borrow_mut().insert(choice.name.clone());
    }

    /// Leaves out an attribute of the file, or refuses it with the reason why it cannot be represented.
    pub fn leave_attribute_out(&self, key: Value<'_>, why: &str) {
        // Whoever asks for floats does not need to allow that facts about blocks are lost.
        let is_of_blocks = blocks::KEYS.iter().any(|of_blocks| key.is_text(of_blocks));
        let name = key.as_text().map_or_else(|| format!("{key:?}"), str::to_owned);
        match is_of_blocks && self.converts_blocks() {
            true => self.notes.add(
                What::LeftOut,
                "attribute",
                &name,
                "--dtype converts the types that it describes",
            ),
            false => self.leave_out("attribute", &shown_key(key), &name, why),
        }
    }

    /// Remembers something that must not be lost, for [`Job::check_refused`].
    fn refuse(&self, noun: &'static str, remedy: Remedy, first: String) {
        let mut all = self.refused.borrow_mut();
        match all.iter_mut().find(|refused| refused.noun == noun && refused.remedy.is_like(remedy)) {
            Some(refused) => {
                refused.count += 1;
                refused.remedy = refused.remedy.max(remedy);
            }
            None => all.push(Refused { noun, remedy, first, count: 1 }),
        }
    }

    /// Fails if something was refused. Call it before anything is written.
    pub fn check_refused(&self) -> Outcome<()> {
        match self.refused.borrow().as_slice() {
            [] => Ok(()),
            all => Err(self.refusal(message(all))),
        }
    }

    /// Whether blocks become floats, because `--dtype` is given or a refusal proposes it.
    pub fn converts_blocks(&self) -> bool {
        let is_proposed = |refused: &Refused| matches!(refused.remedy, Remedy::Dtype(_));
        self.arguments.dtype.is_some() || self.refused.borrow().iter().any(is_proposed)
    }

    /// Whether the object with this name is not in the output.
    pub fn is_left_out(&self, name: &[u8]) -> bool {
        self.left_out.borrow().contains(name)
    }

    /// Fails with the error about damaged bytes, unless --allow-damaged is given.
    pub fn allow_damage(&self, why: &Error) -> Outcome<()> {
        match self.arguments.allow_damaged {
            true => Ok(()),
            false => Err(damage::refused(self.failure(why))),
        }
    }

    /// Notes a damaged object. `left_out` means that it is not in the output.
    pub fn note_damage(&self, choice: &Choice<'_>, left_out: bool) {
        self.notes.add(What::Damaged, "object", &choice.shown_name(), damage::reason(left_out));
        if left_out {
            self.left_out.borrow_mut().insert(choice.name.clone());
        }
    }

    /// If --allow-damaged is given, leaves out a damaged object that `--dtype` converts but that cannot be
    /// decoded.
    pub fn leaves_undecodable_out(&self, choice: &Choice<'_>) -> Outcome<bool> {
        let to = self.arguments.floats().filter(|_| self.arguments.allow_damaged);
        let object = choice.object;
        if !to.is_some_and(|to| converts(&object, to)) {
            return Ok(false);
        }
        let is_unreadable = |part: Component<'_>| part.for_each_decoded(&mut |_| Ok(())).is_err();
        match check_sources(&object) {
            Err(why) if why.is_damage() && object.components().any(is_unreadable) => {
                self.allow_damage(&why)?;
                self.note_damage(choice, true);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Calls the library with a callback that accepts losses if --lossy is given, and damage of the object if
    /// --allow-damaged is given.
    pub fn with_losses<T>(
        &self,
        of: Option<&Choice<'_>>,
        call: impl FnOnce(&mut dyn FnMut(Loss, &Error) -> bool) -> Result<T, Error>,
    ) -> Outcome<T> {
        let mut refusal = None;
        let (mut is_damaged, mut is_left_out) = (false, false);
        let done = call(&mut |loss, why| {
            let noun = match (loss, of) {
                (Loss::Damage | Loss::DamagedObject, Some(_)) => {
                    let allowed = self.allow_damage(why);
                    is_damaged = true;
                    is_left_out |= loss == Loss::DamagedObject;
                    return allowed.map_err(|why| refusal = Some(why)).is_ok();
                }
                (Loss::Attribute, _) => "attribute",
                (Loss::Digest, _) => "digest",
                (Loss::Object | Loss::Damage | Loss::DamagedObject, _) => {
                    is_left_out = true;
                    "object"
                }
            };
            match (self.failure(why), self.arguments.lossy) {
                (Failure::Message(why), true) => self.notes.add_count(What::LeftOut, noun, 1, why),
                (Failure::Message(why), false) => {
                    let why = format!("{why}; --lossy leaves the {noun} out");
                    refusal = Some(Failure::Message(why));
                }
                (other, _) => refusal = Some(other),
            }
            refusal.is_none()
        });
        let done = done.map_err(|e| refusal.unwrap_or_else(|| self.failure(&e)))?;
        if let Some(choice) = of.filter(|_| is_damaged) {
            self.note_damage(choice, is_left_out); // noted once, although each component asks
        }
        Ok(done)
    }

    /// The name of a tensor that looks like the scale of f8 codes, which are not plain numbers then.
    fn unknown_scale(&self, object: &Object<'_>) -> Option<String> {
        let codes = object.component("data").filter(|_| object.format() == Format::Dense)?;
        let is_f8 = matches!(codes.known_logical()?.numbers(), Numbers::Float8(_));
        if !is_f8 {
            return None;
        }
        let scales = self.scales.get_or_init(|| {
            let named = self.file().objects().filter(|object| {
                let last = object.name_bytes().rsplit(|byte| *byte == b'.').next().unwrap_or_default();
                last.windows(5).any(|part| part == b"scale") && !last.windows(5).any(|part| part == b"input")
            });
            named
                .map(|scale| (module_of(scale.name_bytes()).to_vec(), names::text(&scale).into_owned()))
                .collect()
        });
        scales.get(module_of(object.name_bytes())).cloned()
    }

    /// Refuses f8 codes whose scales are not known, before they are converted, or, with --lossy, notes it.
    pub fn check_scales(&self, choice: &Choice<'_>) -> Outcome<()> {
        let Some(scale) = self.unknown_scale(&choice.object) else { return Ok(()) };
        if !self.arguments.lossy {
            let name = choice.shown();
            let why = format!(
                "{name}: its f8 codes have scales in \"{scale}\", and no scheme says how; \
                 --lossy converts the codes alone"
            );
            return Err(Failure::at(&self.arguments.input, why));
        }
        let why = format!("its f8 codes were converted without their scales in \"{scale}\"");
        self.notes.add(What::Lossy, "object", &choice.shown_name(), why);
        Ok(())
    }

    /// Checks the effect of `--dtype` on an object before it is written. If it would lose numbers, fails or,
    /// with --lossy, notes them; the same for data that it does not convert. Returns the dtype that the data
    /// is converted to.
    pub fn check_dtype(&self, choice: &Choice<'_>) -> Outcome<Option<Dtype>> {
        let Some(to) = self.arguments.floats() else { return Ok(None) };
        let (object, format) = (choice.object, choice.object.format_name());
        if !converts(&object, to) {
            let is_integer = |component: &Component<'_>| {
                let classes = [Class::Signed, Class::Unsigned, Class::Bool];
                component.known_logical().is_none()
                    && component.dtype().is_some_and(|dtype| classes.contains(&dtype.class()))
            };
            let is_there = |component: &Component<'_>| {
                component.is_of_floats() && component.dtype() == Some(to) && object.format() == Format::Dense
            };
            if let Some(kept) = object.components().find(|c| !is_integer(c) && !is_there(c)) {
                let (from, to) = (elements::type_name(&kept), to.name());
                let why = match object.format() {
                    Format::Dense | Format::Blocks(_) => format!("{from} to {to}"),
                    _ => format!("{from} of {format} to {to}"),
                };
                self.notes.add(What::NotConverted, "object", &choice.shown_name(), why);
            }
            return Ok(None);
        }
        self.check_scales(choice)?;
        let found = object.conversion(to).map_err(|e| match e.is_damage() {
            true => damage::refused(self.failure(&e)),
            false => self.failure(&e),
        })?;
        self.interrupt.check()?;
        self.converted.add(&found);
        if found.lost > 0 {
            let numbers = text::count(found.lost, "finite number");
            if self.arguments.lossy {
                let why = format!("{numbers} became infinite as {}", to.name());
                self.notes.add(What::Lossy, "object", &choice.shown_name(), why);
            } else {
                let is_f64 = object.components().any(|component| component.dtype() == Some(Dtype::F64));
                let wider = if is_f64 { Dtype::F64 } else { Dtype::F32 }.name();
                let why = format!("{}: {numbers} would become infinite as {}", choice.shown(), to.name());
                self.refuse("object", Remedy::Wider(wider), why);
            }
        }
        Ok(Some(to))
    }
}

/// What a name has before its last dot; nothing without one.
fn module_of(name: &[u8]) -> &[u8] {
    name.iter().rposition(|byte| *byte == b'.').and_then(|dot| name.get(..dot)).unwrap_or_default()
}
