//! Writes files: a state machine on top of a sink that never seeks. Every call checks everything it can
//! before it writes a byte, so a call that is refused leaves the writer unchanged.

mod append;
mod append_base;
mod attributes;
mod batch;
mod components;
mod content_check;
mod copy;
mod copy_plan;
mod description;
mod frames;
mod objects;
mod options;
mod repair;
mod shared_bytes;
mod state;

pub use crate::convert::into_blocks::check_quantizes_to;
pub use crate::digest::Algorithm;
pub use crate::model::structure::Grouping;
pub(crate) use append::ToAppend;
pub use copy_plan::{Agree, Loss};
pub use description::{ComponentSpec, DenseSpec, LogicalSpec, ObjectSpec, QuantizedSpec, Recode};
pub use options::{Summary, WriterOptions};
pub use repair::{repair, repair_with_progress, RepairOptions, RepairReport};
pub use state::Writer;
