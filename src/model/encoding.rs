//! Encodings. This is the only list of them. `codec` decodes and encodes.

use super::dtype::Name;
use crate::error::Rule;
use std::ffi::CStr;

/// The properties of a codec.
#[derive(Debug, PartialEq, Eq)]
struct CodecRow {
    /// The rule that stored bytes break if they cannot be decoded.
    corrupt: Rule,
    /// The rule that frames break if their decoded size is not the declared one.
    length: Rule,
    /// Whether `.zt` files up to 1.2 use it. Other containers may have other encodings.
    is_written: bool,
}

const fn row(corrupt: Rule, length: Rule, is_written: bool) -> CodecRow {
    CodecRow { corrupt, length, is_written }
}

/// Turns a list of rows into the enum with its C numbers, the list of all values, and the table. A row
/// without a codec stores bytes unchanged. The comment of a row becomes the header's.
macro_rules! encodings {
    ($($(#[doc = $about:literal])* $variant:ident = $number:literal, $name:literal, $codec:expr;)*) => {
        /// How stored bytes become the component's bytes. The values are the numbers in C.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Encoding {
            $($(#[doc = $about])* $variant = $number,)*
            /// A name that this version does not know.
            Other = 3,
        }

        impl Encoding {
            /// All encodings that this version knows, in the order of the table.
            pub const KNOWN: [Encoding; [$($number),*].len()] = [$(Encoding::$variant),*];

            const fn known_name(self) -> Option<Name> {
                match self {
                    $(Encoding::$variant => Some(const { Name::new($name) }),)*
                    Encoding::Other => None,
                }
            }

            /// Its codec; `None` if it stores bytes unchanged.
            const fn codec(self) -> Option<&'static CodecRow> {
                match self {
                    $(Encoding::$variant => {
                        const CODEC: &Option<CodecRow> = &$codec;
                        CODEC.as_ref()
                    })*
                    Encoding::Other => None,
                }
            }

            /// A sentence about it.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Encoding::$variant => concat!($($about),*),)*
                    Encoding::Other => "",
                }
            }
        }
    };
}

encodings! {
    /// As they are.
    Raw = 1, c"raw", None;
    /// Zstandard frames (RFC 8878).
    Zstd = 2, c"zstd", Some(row(Rule::ZstdCorrupt, Rule::ZstdLength, true));
    /// Deflate (RFC 1951), in npz files. Read only.
    Deflate = 4, c"deflate", Some(row(Rule::DeflateCorrupt, Rule::DeflateLength, false));
    /// Zstandard frames and their table: the form of ZT_ENCODING_ZSTD in zTensor 2; not for other versions.
    ZstdSeekable = 5, c"zt.zstd-seekable/1", Some(row(Rule::ZstdCorrupt, Rule::ZstdLength, false));
}

impl Encoding {
    /// Its name in the specification; `None` for [`Encoding::Other`].
    pub fn name(self) -> Option<&'static str> {
        self.known_name().map(|name| name.text)
    }

    /// Its name in the specification, with a NUL at the end.
    pub fn c_name(self) -> Option<&'static CStr> {
        self.known_name().map(|name| name.c)
    }

    /// The encoding with this name in a `.zt` file.
    pub fn from_name(name: &str) -> Option<Encoding> {
        Encoding::written().find(|encoding| encoding.name() == Some(name))
    }

    /// The encodings that files up to 1.2 can be written with.
    pub fn written() -> impl Iterator<Item = Encoding> {
        Encoding::KNOWN.into_iter().filter(|encoding| encoding.is_written())
    }

    /// Whether files up to 1.2 can be written with it.
    pub const fn is_written(self) -> bool {
        match (self, self.codec()) {
            (Encoding::Other, _) => false,
            (_, None) => true,
            (_, Some(codec)) => codec.is_written,
        }
    }

    /// Its number in C.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The encoding with this number in C, if this version knows it.
    pub fn from_number(number: i32) -> Option<Encoding> {
        Encoding::KNOWN.into_iter().find(|encoding| encoding.number() == number)
    }

    /// Whether it has a codec, so that the decoded size differs from the stored size.
    #[inline]
    pub const fn is_compressed(self) -> bool {
        self.codec().is_some()
    }

    /// Whether a manifest may have to give a decoded size.
    #[inline]
    pub const fn has_declared_size(self) -> bool {
        !matches!(self, Encoding::Raw)
    }
}

/// How stored bytes become decoded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not at all: stored and decoded bytes are the same.
    Raw,
    /// With a codec.
    Compressed(Codec),
}

/// A codec: an encoding that changes the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Codec {
    encoding: Encoding,
    row: &'static CodecRow,
}

impl Coding {
    /// The coding of an encoding; `None` if this version does not know the encoding.
    #[inline]
    pub(crate) fn of(encoding: Encoding) -> Option<Coding> {
        match (encoding, encoding.codec()) {
            (Encoding::Other, _) => None,
            (_, None) => Some(Coding::Raw),
            (_, Some(row)) => Some(Coding::Compressed(Codec { encoding, row })),
        }
    }
}

impl Codec {
    pub(crate) fn encoding(self) -> Encoding {
        self.encoding
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        self.encoding().name().unwrap_or_default()
    }

    pub(crate) fn length_rule(self) -> Rule {
        self.row.length
    }

    pub(crate) fn corrupt_rule(self) -> Rule {
        self.row.corrupt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_their_encoding() {
        for encoding in Encoding::KNOWN {
            let by_name = Encoding::from_name(encoding.name().unwrap());
            assert_eq!(by_name, encoding.is_written().then_some(encoding));
            assert_eq!(Encoding::from_number(encoding.number()), Some(encoding));
            assert_eq!(encoding.c_name().unwrap().to_str().ok(), encoding.name());
            assert!(encoding.about().starts_with(' ') && encoding.about().ends_with('.'), "{encoding:?}");
            assert_ne!(Coding::of(encoding), None);
            assert_eq!(encoding.is_compressed(), Coding::of(encoding) != Some(Coding::Raw));
        }
        assert_eq!((Encoding::Other.name(), Encoding::Other.c_name()), (None, None));
        assert_eq!((Encoding::from_number(0), Encoding::from_number(3)), (None, None));
        assert_eq!((Encoding::from_name("RAW"), Coding::of(Encoding::Other)), (None, None));
        assert!(Encoding::Raw.is_written() && Encoding::Zstd.is_written() && !Encoding::Other.is_written());
    }
}
