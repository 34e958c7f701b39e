//! Which codec an encoding has.

use crate::error::Rule;
use crate::model::encoding::Encoding;

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
