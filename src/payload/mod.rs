//! One component's bytes, stored form to wanted form and back: pure functions over slices.
//!
//! No files, no manifest, no threads. Sizes come in checked; memory is asked for fallibly.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub(crate) mod byte_order;
pub(crate) mod codec;
pub(crate) mod convert;
pub(crate) mod digest;
pub(crate) mod slice;
pub(crate) mod structure;
mod zstd;
