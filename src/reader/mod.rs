//! Opening a file and asking what it holds.
//!
//! An open [`File`] never changes: any number of threads may use it at once. [`Object`] and
//! [`Component`] are places in it, as cheap as two numbers.

mod advise;
mod aliases;
mod batch;
mod bytes;
mod changes;
mod content;
mod copy_windows;
mod download;
mod ends;
mod file;
mod for_copies;
mod front;
mod identity;
mod index;
mod item_extent;
mod known;
mod lazy_shard;
mod lazy_sizes;
mod loaded;
mod looks;
mod manifest;
mod model;
mod model_info;
mod numbers;
mod object;
mod open;
mod open_options;
mod origin;
mod padding;
mod page_exclusive;
mod parts;
mod populate;
mod positions;
mod recovery;
mod regions;
mod shards;
mod short_frames;
mod source_checks;
mod store;
mod structure;
mod verified;
mod verify;
mod verify_report;
mod view;

pub use batch::{Hyperslab, Selection};
pub use bytes::Caps;
pub use file::File;
pub use identity::Identity;
pub use loaded::Loaded;
pub use model::part_of_set;
pub use model_info::ModelInfo;
pub use object::{Component, Object};
pub use open_options::{Mode, OpenOptions, Shards};
pub use parts::FilePart;
pub use store::{Opened, Store};
pub use verify::OnFailure;
pub use verify_report::{VerifyOptions, VerifyReport};
pub use view::{CooView, CsrView, QuantizedView, TensorView, ViewPart};

pub(crate) use for_copies::StoredPlace;
pub(crate) use model::check_is_one_file;
pub(crate) use recovery::{check_cut, last_valid_end, record_of};

pub use crate::convert::Conversion;
pub(crate) use crate::io::path::copy as copy_path;
pub(crate) use crate::load::RowsMut;
pub use crate::load::{BatchOptions, BatchStats, Destination, Direct, OnDone, Progress, Request, Wanted};
pub(crate) use crate::load::{Event, Load, LoadOptions, Next, Order, Ring, SourceStats};
pub use crate::model::structure::Groups;
pub use crate::source::{Advice, ByteSource};
