//! What the output cannot represent: refused or, with --lossy, left out with a line that says so.

use super::Job;
use crate::failure::{report, Failure, Outcome};
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

    /// Calls the library with what says yes to losses where --lossy is given, and no otherwise.
    pub fn with_losses<T>(
        &self,
        call: impl FnOnce(&mut dyn FnMut(Loss, &Error) -> bool) -> Result<T, Error>,
    ) -> Outcome<T> {
        let mut refusal = None;
        let done = call(&mut |loss, why| {
            let what = match loss {
                Loss::Attribute => "attribute",
                Loss::Digest => "digest",
                Loss::Object => "object",
            };
            let left = self.leave_out(what, self.failure(why));
            left.map_err(|why| refusal = Some(why)).is_ok()
        });
        done.map_err(|e| refusal.unwrap_or_else(|| self.failure(&e)))
    }
}
