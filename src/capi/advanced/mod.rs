//! The functions of ztensor_advanced.h and ztensor_dlpack.h.

pub(super) mod cache;
pub(super) mod cached_slice;
/// cbindgen:ignore
pub(super) mod dlpack;
pub(super) mod edit;
pub(super) mod hooks;
pub(super) mod identity;
pub(super) mod quantized;
pub(super) mod sink;
pub(super) mod source;
pub(super) mod store;
pub(super) mod view;
