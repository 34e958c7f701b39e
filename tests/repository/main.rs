//! Parts of this repository that must agree: header, bindings, guides, layers.

mod bindings;
mod guides;
mod header;
mod layering;
mod need;
mod readme;
mod words;
