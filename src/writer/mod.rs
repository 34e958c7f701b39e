//! Writing files: a state machine over a sink that never seeks. Every call checks everything that it
//! can before it writes a byte, so that a refused call leaves the writer as it was.

mod append;
mod append_base;
mod attributes;
mod batch;
mod canonical;
mod content_index;
mod contents;
mod copied;
mod copy;
mod edit;
mod frame_stream;
mod frames;
mod link;
mod loss;
mod objects;
mod quantized;
mod repair;
mod specs;
mod state;
mod store;
mod stream;

pub use crate::digest::Algorithm;
pub use crate::model::structure::Grouping;
pub(crate) use append::ToAppend;
pub use batch::DenseSpec;
pub use loss::{Agree, Loss};
pub use quantized::QuantizedSpec;
pub use repair::{repair, repair_with_progress, RepairOptions, RepairReport};
pub use specs::{ComponentSpec, LogicalSpec, ObjectSpec, Recode, Summary, WriterOptions};
pub use state::Writer;
