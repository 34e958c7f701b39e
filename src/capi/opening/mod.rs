//! Opening files and models, and the parts of a model.

pub(super) mod open;
pub(super) mod options;
pub(super) mod progress;
