//! Opens a file and reads its contents.
//!
//! An open [`File`] never changes, so any number of threads may use it at once. [`Object`] and [`Component`]
//! only refer to a position in it and are cheap to copy.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod advise;
mod borrowed_or_read;
mod bytes;
mod changes;
mod checked_once;
mod checkpoint;
mod codes;
mod copy_windows;
mod entries;
mod file;
mod for_copies;
mod groups;
mod lazy_shard;
mod lazy_sizes;
mod manifest;
mod model;
mod numbers;
mod object;
mod open;
mod open_options;
mod origin;
mod parts;
mod recovery;
mod requests;
mod shards;
mod shared_bytes;
mod store;
#[allow(clippy::arithmetic_side_effects, reason = "elements have at least one byte")]
mod structure;
#[allow(clippy::arithmetic_side_effects, reason = "positions in a table are far below the largest number")]
mod verify;
mod view;

pub use borrowed_or_read::ComponentBytes;
pub use bytes::Caps;
pub use checkpoint::StoredTensor;
pub(crate) use checkpoint::ROLES_OF_GROUPS;
pub use file::{File, ModelInfo};
pub use manifest::Identity;
pub use model::part_of_set;
pub use numbers::Selected;
pub use object::{Component, Object};
pub use open_options::{Mode, OpenOptions, Shards};
pub use parts::FilePart;
pub use requests::{Hyperslab, Selection};
pub use store::{Opened, Store};
pub use verify::{OnFailure, VerifyOptions, VerifyReport};
pub use view::{CooView, CsrView, QuantizedView, TensorView, ViewPart};

pub(crate) use for_copies::StoredPlace;
pub(crate) use model::check_is_one_file;
pub(crate) use recovery::{check_cut, last_valid_end, record_of};

pub use crate::convert::Conversion;
pub(crate) use crate::io::path::copy as copy_path;
pub use crate::load::{BatchOptions, BatchStats, Destination, Direct, OnDone, Progress, Request, Wanted};
pub(crate) use crate::load::{Event, Load, LoadOptions, Next, Order, Ring, RowsMut, SourceStats};
pub use crate::model::structure::Groups;
pub use crate::source::{Advice, ByteSource};
