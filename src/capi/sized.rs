//! Structs that begin with `struct_size`, and the positions of their fields.

/// The position of a field.
pub(super) struct Field {
    /// The offset of its first byte.
    pub(super) start: usize,
    /// The offset just after its last byte.
    pub(super) end: usize,
}

impl Field {
    /// A field at offset `start`. `of` gives its type.
    pub(super) const fn new<T, F>(start: usize, _of: fn(&T) -> &F) -> Field {
        Field { start, end: start + size_of::<F>() }
    }
}

/// A struct of options or results that begins with `size_t struct_size`. [`sized_struct`] implements it.
///
/// # Safety
/// Implementors are `repr(C)`, start with a `usize` for their size, and are valid if all bytes are zero.
/// There may be padding between fields (a u64 after a u32 on 32-bit ARM). The content of copied padding does
/// not matter.
pub(super) unsafe trait SizedStruct: Copy {
    /// The name in C.
    const NAME: &'static str;
    /// Every number and pointer in the order of their offsets, including those of nested structs.
    const FIELDS: &'static [Field];
    /// The names of the fields, with a space after each. It is one text, because a table of texts would
    /// contain addresses that the loader has to set.
    const FIELD_NAMES: &'static str;
    /// Bytes up to the end of the last field.
    const SIZE: usize = match Self::FIELDS {
        [.., last] => last.end,
        [] => 0,
    };
}

/// Implements [`SizedStruct`] for structs. All fields after `struct_size` are named in order; the fields of a
/// nested struct are in braces. Each use says why it is sound.
macro_rules! sized_struct {
    ($($name:ident: $($field:ident $({ $($inner:ident),+ })?),+);+ $(;)?) => { $(
        // SAFETY: each use of the macro says why. The position of the size is checked below.
        unsafe impl $crate::capi::sized::SizedStruct for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [$crate::capi::sized::Field] = {
                // This fails to compile unless every field is named.
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
    )+ };
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

/// Makes a struct for C whose fields are those of a struct of the library with the same names, and others.
macro_rules! of_fields {
    ($name:ident { $($field:ident),+ } of $from:expr $(, $other:ident: $value:expr)*) => {
        $name { struct_size: 0, $($field: $from.$field,)+ $($other: $value),* }
    };
}

pub(super) use {of_fields, sized_struct};
