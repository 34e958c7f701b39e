//! What is left out of an open model.

use crate::error::Result;
use crate::memory::Budget;

/// What a model has beside what is shown of it.
#[derive(Debug, Default)]
pub struct ModelInfo {
    /// Other models in the folder that was named, and states of trainings: their names.
    pub passed_over: Vec<String>,
    /// How many tensors its files hold that its index names nowhere, and that are not shown.
    pub unlisted: u64,
    /// The names of the first few of them.
    pub unlisted_names: Vec<Vec<u8>>,
}

/// How many names of tensors that the index omits are kept.
const MAX_UNLISTED_NAMES: usize = 1000;

impl ModelInfo {
    /// Counts a tensor that the index names nowhere.
    pub(super) fn add_unlisted(&mut self, name: &[u8], budget: &Budget) -> Result<()> {
        self.unlisted = self.unlisted.saturating_add(1);
        if self.unlisted_names.len() < MAX_UNLISTED_NAMES {
            budget.charge(name.len() as u64, "the names of tensors that the index omits")?;
            let mut copy = Vec::new();
            copy.try_reserve_exact(name.len())?;
            copy.extend_from_slice(name);
            self.unlisted_names.try_reserve(1)?;
            self.unlisted_names.push(copy);
        }
        Ok(())
    }
}
