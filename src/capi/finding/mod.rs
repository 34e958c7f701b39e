//! Objects and components: by name, by position, as lists.

pub(super) mod component;
pub(super) mod component_list;
pub(super) mod list;
pub(super) mod object;
