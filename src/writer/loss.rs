//! Leaves out of a copy what the written container cannot represent, if the caller agrees.

use crate::error::{Cause, Error, Result};
use crate::model::value::{Attributes, Value};

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// An attribute of the file or of an object.
    Attribute,
    /// The digest of a component. If its bytes are written anew they get the writer's own digest, if it has
    /// one.
    Digest,
    /// An object.
    Object,
    /// The bytes of a component do not agree with a checksum of their file. If the caller agrees, they are
    /// copied without a new digest.
    Damage,
    /// An object with damaged bytes that cannot be decoded, or are not written as they are stored.
    DamagedObject,
}

/// Called before something is left out, with the reason; false makes the reason the error of the copy.
pub type Agree<'a> = dyn FnMut(Loss, &Error) -> bool + 'a;

/// The losses of one call.
pub struct Losses<'c, 'a> {
    agree: &'c mut Agree<'a>,
    is_refused: bool,
}

impl<'c, 'a> Losses<'c, 'a> {
    pub fn new(agree: &'c mut Agree<'a>) -> Self {
        Losses { agree, is_refused: false }
    }

    /// Asks whether something may be left out; if not, the reason is the error.
    pub fn leave_out(&mut self, loss: Loss, why: Error) -> Result<()> {
        match (self.agree)(loss, &why) {
            true => Ok(()),
            false => {
                self.is_refused = true;
                Err(why)
            }
        }
    }

    /// Leaves out an object whose copy failed before a byte of it was written, unless it could not be read,
    /// or a part of it was not to be left out.
    pub fn leave_object_out(&mut self, why: Error) -> Result<()> {
        match why.cause() {
            Cause::Unsupported | Cause::InvalidArgument | Cause::BufferSize if !self.is_refused => {
                self.leave_out(Loss::Object, why)
            }
            Cause::Broken(_) | Cause::DigestMismatch if !self.is_refused => {
                self.leave_out(Loss::DamagedObject, why)
            }
            _ => Err(why),
        }
    }

    /// The attributes without those that `check` refuses.
    pub fn retain_attributes(
        &mut self,
        attributes: Attributes,
        check: impl Fn(Option<&str>, Value<'_>) -> Result<()>,
    ) -> Result<Attributes> {
        if attributes.iter().all(|(key, value)| check(key.as_text(), value).is_ok()) {
            return Ok(attributes);
        }
        let mut kept = Attributes::default();
        for (key, value) in attributes.iter() {
            match check(key.as_text(), value) {
                Ok(()) => kept.push(key, value)?,
                Err(why) if why.cause() == Cause::Unsupported => self.leave_out(Loss::Attribute, why)?,
                Err(why) => return Err(why),
            }
        }
        Ok(kept)
    }
}
