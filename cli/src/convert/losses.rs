//! What the output cannot represent: refused or, with --lossy, left out with a line that says so. Damaged bytes: refused or,
//! with --allow-damaged, listed.

use super::choice::Choice;
use super::Job;
use crate::failure::{report, Failure, Outcome};
use crate::notes::{damage, What};
use ztensor::error::Error;
use ztensor::writer::Loss;

impl Job<'_> {
    /// Leaves something out, or fails with why it cannot be represented.
    pub fn leave_out(&self, what: &str, why: Failure) -> Outcome<()> {
        match (why, self.arguments.lossy) {
            (Failure::Message(why), true) => {
                self.bar.suspend(|| report(&format!("{why}: the {what} is left out")));
                Ok(())
            }
            (Failure::Message(why), false) => {
                Err(Failure::Message(format!("{why}; --lossy leaves the {what} out")))
            }
            (other, _) => Err(other),
        }
    }

    /// Leaves out the object of that name in the output, or fails with why it cannot be represented.
    pub fn leave_object_out(&self, name: &[u8], why: Failure) -> Outcome<()> {
        self.leave_out("object", why)?;
        self.left_out.borrow_mut().insert(name.to_owned());
        Ok(())
    }

    /// Whether the object of that name is not in the output.
    pub fn is_left_out(&self, name: &[u8]) -> bool {
        self.left_out.borrow().contains(name)
    }

    /// Fails with why bytes are damaged, or notes that the object goes on: `left_out` if it is not in the output.
    pub fn allow_damage(&self, choice: &Choice<'_>, why: &Error, left_out: bool) -> Outcome<()> {
        if !self.arguments.allow_damaged {
            return Err(damage::refused(self.failure(why)));
        }
        let name = String::from_utf8_lossy(&choice.name);
        self.notes.add(What::Damaged, "object", &name, damage::reason(left_out));
        if left_out {
            self.left_out.borrow_mut().insert(choice.name.clone());
        }
        Ok(())
    }

    /// Calls the library with what says yes to losses where --lossy is given, and no otherwise; and to damage of the object
    /// where --allow-damaged is given.
    pub fn with_losses<T>(
        &self,
        of: Option<&Choice<'_>>,
        call: impl FnOnce(&mut dyn FnMut(Loss, &Error) -> bool) -> Result<T, Error>,
    ) -> Outcome<T> {
        let mut refusal = None;
        let done = call(&mut |loss, why| {
            let left = match (loss, of) {
                (Loss::Damage | Loss::DamagedObject, Some(choice)) => {
                    self.allow_damage(choice, why, loss == Loss::DamagedObject)
                }
                (Loss::Attribute, _) => self.leave_out("attribute", self.failure(why)),
                (Loss::Digest, _) => self.leave_out("digest", self.failure(why)),
                (Loss::Object | Loss::Damage | Loss::DamagedObject, _) => {
                    self.leave_out("object", self.failure(why))
                }
            };
            left.map_err(|why| refusal = Some(why)).is_ok()
        });
        done.map_err(|e| refusal.unwrap_or_else(|| self.failure(&e)))
    }
}
