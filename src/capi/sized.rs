//! Structs that begin with `struct_size`: where their fields lie.

/// Where a field lies.
pub(super) struct Field {
    /// Its first byte.
    pub(super) start: usize,
    /// Behind its last byte.
    pub(super) end: usize,
}

impl Field {
    /// A field that begins there; `of` tells its type.
    pub(super) const fn new<T, F>(start: usize, _of: fn(&T) -> &F) -> Field {
        Field { start, end: start + size_of::<F>() }
    }
}

/// A struct of options or results that begins with `size_t struct_size`. [`sized_struct`] implements it.
///
/// # Safety
/// Implementors are `repr(C)`, start with a `usize` for their size, and are valid with all bytes zero.
/// Between their fields there may be padding (a u64 after a u32 on 32-bit ARM): what is copied there means
/// nothing.
pub(super) unsafe trait SizedStruct: Copy {
    /// The name in C.
    const NAME: &'static str;
    /// Every number and pointer, those in structs within it one by one, in the order of their places.
    const FIELDS: &'static [Field];
    /// Their names, each with a space behind it. One text: a table of texts has addresses, which the loader
    /// has to set.
    const FIELD_NAMES: &'static str;
    /// Bytes up to the end of the last field.
    const SIZE: usize = match Self::FIELDS {
        [.., last] => last.end,
        [] => 0,
    };
}

/// Implements [`SizedStruct`] for a struct of which all fields behind `struct_size` are named, in order;
/// those of a struct within it stand in braces. Whoever uses it says why it is sound.
macro_rules! sized_struct {
    ($name:ident: $($field:ident $({ $($inner:ident),+ })?),+) => {
        // SAFETY: said by whoever uses it; that it begins with its size is checked below.
        unsafe impl $crate::capi::sized::SizedStruct for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [$crate::capi::sized::Field] = {
                // Names every field, and no other.
                let _ = |it: $name| {
                    let $name { struct_size: _, $($field: _),+ } = it;
                };
                assert!(std::mem::offset_of!($name, struct_size) == 0, "it begins with its size");
                $crate::capi::sized::sized_struct!(@ $name [] $($field $({ $($inner),+ })?),+)
            };
            const FIELD_NAMES: &'static str = $crate::capi::sized::sized_struct!(
                @names [] $($field $({ $($inner),+ })?),+
            );
        }
    };
    (@names [$($done:expr,)*]) => { concat!($($done),*) };
    (@names [$($done:expr,)*] $field:ident { $($inner:ident),+ } $(, $($rest:tt)*)?) => {
        $crate::capi::sized::sized_struct!(@names
            [$($done,)* $(stringify!($field), ".", stringify!($inner), " ",)+] $($($rest)*)?)
    };
    (@names [$($done:expr,)*] $field:ident $(, $($rest:tt)*)?) => {
        $crate::capi::sized::sized_struct!(@names [$($done,)* stringify!($field), " ",] $($($rest)*)?)
    };
    (@ $name:ident [$($done:expr,)*]) => { &[$($done),*] };
    (@ $name:ident [$($done:expr,)*] $field:ident { $($inner:ident),+ } $(, $($rest:tt)*)?) => {
        $crate::capi::sized::sized_struct!(@ $name
            [$($done,)* $($crate::capi::sized::Field::new(
                std::mem::offset_of!($name, $field.$inner),
                |it: &$name| &it.$field.$inner,
            ),)+]
            $($($rest)*)?
        )
    };
    (@ $name:ident [$($done:expr,)*] $field:ident $(, $($rest:tt)*)?) => {
        $crate::capi::sized::sized_struct!(@ $name
            [$($done,)* $crate::capi::sized::Field::new(
                std::mem::offset_of!($name, $field),
                |it: &$name| &it.$field,
            ),]
            $($($rest)*)?
        )
    };
}

pub(super) use sized_struct;
