//! Encodings: the only list of them, and which codec each has. What decodes and encodes is in `codec`.

use super::name::Name;
use crate::error::Rule;
use std::ffi::CStr;

macro_rules! encodings {
    ($($(#[$about:meta])* $variant:ident = $number:literal, $name:literal;)*) => {
        /// How stored bytes become the component's bytes. The values are the numbers in C.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Encoding {
            $($(#[$about])* $variant = $number,)*
            /// A name that this version does not know.
            Other = 3,
        }

        impl Encoding {
            /// All that this version knows.
            pub const KNOWN: [Encoding; [$($number),*].len()] = [$(Encoding::$variant),*];

            const fn known_name(self) -> Option<Name> {
                match self {
                    $(Encoding::$variant => Some(const { Name::new($name) }),)*
                    Encoding::Other => None,
                }
            }
        }
    };
}

encodings! {
    /// As they are.
    Raw = 1, c"raw";
    /// Zstandard frames (RFC 8878).
    Zstd = 2, c"zstd";
}

impl Encoding {
    /// Its name in the spec; none for [`Encoding::Other`].
    pub fn name(self) -> Option<&'static str> {
        self.known_name().map(|name| name.text)
    }

    /// Its name in the spec, with a NUL behind it.
    pub fn c_name(self) -> Option<&'static CStr> {
        self.known_name().map(|name| name.c)
    }

    /// By its name in the spec.
    pub fn from_name(name: &str) -> Option<Encoding> {
        Encoding::KNOWN.into_iter().find(|encoding| encoding.name() == Some(name))
    }

    /// Its number in C.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// By its number in C; only one that this version knows.
    pub fn from_number(number: i32) -> Option<Encoding> {
        Encoding::KNOWN.into_iter().find(|encoding| encoding.number() == number)
    }

    /// Whether this version has a codec for it, whose decoded size is not the stored one.
    #[inline]
    pub const fn is_compressed(self) -> bool {
        match self {
            Encoding::Zstd => true,
            Encoding::Raw | Encoding::Other => false,
        }
    }

    /// Whether a manifest may have to give the decoded size beside the stored one.
    #[inline]
    pub const fn has_declared_size(self) -> bool {
        match self {
            Encoding::Raw => false,
            Encoding::Zstd | Encoding::Other => true,
        }
    }
}

/// What there is between stored and decoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Nothing: they are the same.
    Raw,
    /// A codec.
    Compressed(Codec),
}

/// What decodes and encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Zstandard frames.
    Zstd,
}

impl Coding {
    /// Of an encoding; none of one that this version does not know.
    #[inline]
    pub(crate) fn of(encoding: Encoding) -> Option<Coding> {
        match encoding {
            Encoding::Raw => Some(Coding::Raw),
            Encoding::Zstd => Some(Coding::Compressed(Codec::Zstd)),
            Encoding::Other => None,
        }
    }
}

impl Codec {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Codec::Zstd => "zstd",
        }
    }

    /// The rule that frames break which hold another size than is declared.
    pub(crate) fn length_rule(self) -> Rule {
        match self {
            Codec::Zstd => Rule::ZstdLength,
        }
    }

    /// The rule that stored bytes break which cannot be decoded.
    pub(crate) fn corrupt_rule(self) -> Rule {
        match self {
            Codec::Zstd => Rule::ZstdCorrupt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_their_encoding() {
        for encoding in Encoding::KNOWN {
            assert_eq!(Encoding::from_name(encoding.name().unwrap()), Some(encoding));
            assert_eq!(Encoding::from_number(encoding.number()), Some(encoding));
            assert_eq!(encoding.c_name().unwrap().to_str().ok(), encoding.name());
        }
        assert_eq!((Encoding::Other.name(), Encoding::Other.c_name()), (None, None));
        assert_eq!((Encoding::from_number(0), Encoding::from_number(3)), (None, None));
        assert_eq!(Encoding::from_name("RAW"), None);
    }
}
