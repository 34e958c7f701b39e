//! What can go wrong, told once: a [`Cause`] for the program, one English line for the reader.
//!
//! A broken rule of the format is a [`Rule`]; everything else is another [`Cause`]. The numbers of
//! the C interface are not known here. Messages grow from the inside out: the place that sees the
//! bad number writes the detail, each caller puts what it knows in front of it (component, object,
//! path). Building a message never aborts: where memory is short the line is cut.

use std::fmt;

/// The result of everything that can fail in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A rule of the format that a file breaks. One variant per rule; the corpus names them the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // each name says its rule; `Rule::text` spells it out
pub enum Rule {
    FileTooSmall,
    HeaderMagic,
    FooterMagic,
    ManifestEmpty,
    ManifestRange,
    CborMalformed,
    CborTrailing,
    CborDuplicateKey,
    CborUtf8,
    CborDepth,
    RootType,
    KeyType,
    VersionMissing,
    ObjectsMissing,
    ObjectType,
    NameMissing,
    NameDuplicate,
    ShapeType,
    FormatType,
    AttributesType,
    ComponentsType,
    ComponentType,
    ComponentMissing,
    DtypeType,
    TypeType,
    TypeDtypeMismatch,
    OffsetType,
    LengthType,
    UncompressedLengthType,
    UncompressedLengthMissing,
    UncompressedLengthRaw,
    EncodingType,
    DigestType,
    DigestForm,
    LayoutType,
    SparseFormat,
    EndiannessValue,
    OffsetAlign,
    RangeOverflow,
    RangeEof,
    RangeManifest,
    RangeHeader,
    RangeOverlap,
    ShapeOverflow,
    DenseSize,
    ElementSize,
    ZstdCorrupt,
    ZstdLength,
    ZstdTrailing,
    CsrRank,
    CsrIndptrCount,
    CsrIndptrOrder,
    CsrIndicesCount,
    CsrColumn,
    CooCount,
    CooCoordinate,
    IndexDtype,
    QuantizedGeometry,
    BoolByte,
    PaddingNonzero,
    UnfinishedAppend,
    VersionForm,
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The caller passed something that no file could make right.
    InvalidArgument,
    /// The operating system, or a caller's callback, failed.
    Io,
    /// No such object, component or attribute.
    NotFound,
    /// Neither end of the file says that it is a zTensor file.
    NotZtensor,
    /// The file breaks this rule of the format.
    Broken(Rule),
    /// The bytes do not have the digest that the manifest gives.
    DigestMismatch,
    /// Well-formed, but this version cannot do it.
    Unsupported,
    /// A stated limit would be passed.
    Limit,
    /// The caller's memory has the wrong size.
    BufferSize,
    /// These bytes cannot be lent as they are.
    NotMappable,
    /// A call out of order.
    State,
    /// The name is taken.
    Exists,
    /// The caller's callback asked to stop.
    Cancelled,
    /// Memory could not be had.
    OutOfMemory,
    /// A bug of this library.
    Internal,
    /// A function of the caller failed and gave this `zt_status`, which is the caller's to explain.
    Caller(i32),
}

/// A failure: its cause and one line of text.
pub struct Error {
    cause: Cause,
    text: String,
}

impl Error {
    /// A failure with its detail: the rule and the numbers that disagree, no path, no object.
    pub fn new(cause: Cause, detail: fmt::Arguments<'_>) -> Self {
        Error { cause, text: bounded_text(detail) }
    }

    /// Memory for `bytes` bytes could not be had.
    #[cold]
    pub fn out_of_memory(bytes: usize) -> Self {
        Error::new(Cause::OutOfMemory, format_args!("could not allocate {bytes} bytes"))
    }

    /// A failed call of the operating system.
    #[cold]
    pub fn io(doing: &str, error: &std::io::Error) -> Self {
        let cause = match error.kind() {
            std::io::ErrorKind::OutOfMemory => Cause::OutOfMemory,
            _ => Cause::Io,
        };
        Error::new(cause, format_args!("{doing}: {error}"))
    }

    /// The same failure once more, for another caller.
    #[cold]
    pub(crate) fn again(&self) -> Self {
        Error::new(self.cause, format_args!("{}", self.text))
    }

    /// Puts what the caller knows in front: `context: what was said so far`.
    #[must_use]
    #[cold]
    pub fn within(mut self, context: fmt::Arguments<'_>) -> Self {
        self.text = bounded_text(format_args!("{context}: {}", self.text));
        self
    }

    /// Why.
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// The broken rule, where the cause is one.
    pub fn rule(&self) -> Option<Rule> {
        match self.cause {
            Cause::Broken(rule) => Some(rule),
            _ => None,
        }
    }

    /// The line of text.
    pub fn message(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.cause, self.text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<std::collections::TryReserveError> for Error {
    #[cold]
    fn from(_: std::collections::TryReserveError) -> Self {
        Error::new(Cause::OutOfMemory, format_args!("memory could not be had"))
    }
}

/// Longest message that is kept, in bytes. Names in a file may be huge; a line of text is not.
pub(crate) const MESSAGE_LIMIT: usize = 2048;

/// Formats into memory that is asked for fallibly and bounded.
fn bounded_text(arguments: fmt::Arguments<'_>) -> String {
    struct Bounded(String);
    impl fmt::Write for Bounded {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            let mut room = MESSAGE_LIMIT.saturating_sub(self.0.len()).min(s.len());
            while !s.is_char_boundary(room) {
                room -= 1;
            }
            let cut = s.get(..room).unwrap_or_default();
            self.0.try_reserve(cut.len()).map_err(|_| fmt::Error)?;
            self.0.push_str(cut);
            if cut.len() < s.len() {
                Err(fmt::Error)
            } else {
                Ok(())
            }
        }
    }
    let mut text = Bounded(String::new());
    let _ = fmt::Write::write_fmt(&mut text, arguments); // a cut message is still a message
    text.0
}

/// Formats into memory that is asked for fallibly: all of it, or an error.
pub(crate) fn try_format(arguments: fmt::Arguments<'_>) -> Result<String> {
    struct Fallible(String);
    impl fmt::Write for Fallible {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            self.0.try_reserve(s.len()).map_err(|_| fmt::Error)?;
            self.0.push_str(s);
            Ok(())
        }
    }
    let mut text = Fallible(String::new());
    match fmt::Write::write_fmt(&mut text, arguments) {
        Ok(()) => Ok(text.0),
        Err(fmt::Error) => Err(fail!(OutOfMemory, "memory for a label could not be had")),
    }
}

/// `Err(broken!(Rule::X, "offset {} ...", n))`: a broken rule of the format.
macro_rules! broken {
    ($rule:expr, $($detail:tt)*) => {
        $crate::error::Error::new($crate::error::Cause::Broken($rule), format_args!($($detail)*))
    };
}

/// `Err(fail!(Limit, "..."))`: any other cause.
macro_rules! fail {
    ($cause:ident, $($detail:tt)*) => {
        $crate::error::Error::new($crate::error::Cause::$cause, format_args!($($detail)*))
    };
}

pub(crate) use {broken, fail};
