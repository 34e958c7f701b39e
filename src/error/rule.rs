//! Why an operation failed: a cause, or a rule of the format. The corpus of invalid files and C programs use
//! the rules' names.

use std::ffi::CStr;

/// Declares the rules with their names.
macro_rules! rules {
    ($($rule:ident $name:literal,)+) => {
        /// A rule of the format that a file breaks. Each rule is a variant; the corpus uses the same names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs)] // each name says its rule
        pub enum Rule {
            $($rule,)+
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule),+];

            /// Its short name, such as "range-manifest". It never changes, so programs may use it.
            pub fn name(self) -> &'static CStr {
                match self {
                    $(Rule::$rule => $name,)+
                }
            }
        }
    };
}

rules! {
    FileTooSmall c"file-too-small",
    HeaderMagic c"header-magic",
    FooterMagic c"footer-magic",
    ManifestEmpty c"manifest-empty",
    ManifestRange c"manifest-range",
    CborMalformed c"cbor-malformed",
    CborTrailing c"cbor-trailing",
    CborDuplicateKey c"cbor-duplicate-key",
    CborUtf8 c"cbor-utf8",
    CborDepth c"cbor-depth",
    RootType c"root-type",
    KeyType c"key-type",
    VersionMissing c"version-missing",
    ObjectsMissing c"objects-missing",
    ObjectType c"object-type",
    NameMissing c"name-missing",
    NameDuplicate c"name-duplicate",
    ShapeType c"shape-type",
    FormatType c"format-type",
    AttributesType c"attributes-type",
    ComponentsType c"components-type",
    ComponentType c"component-type",
    ComponentMissing c"component-missing",
    DtypeType c"dtype-type",
    TypeType c"type-type",
    TypeDtypeMismatch c"type-dtype-mismatch",
    OffsetType c"offset-type",
    LengthType c"length-type",
    UncompressedLengthType c"ulength-type",
    UncompressedLengthMissing c"ulength-missing",
    UncompressedLengthRaw c"ulength-raw",
    EncodingType c"encoding-type",
    DigestType c"digest-type",
    DigestForm c"digest-form",
    LayoutType c"layout-type",
    SparseFormat c"sparse-format",
    EndiannessValue c"endianness-value",
    OffsetAlign c"offset-align",
    RangeOverflow c"range-overflow",
    RangeEof c"range-eof",
    RangeManifest c"range-manifest",
    RangeHeader c"range-header",
    RangeOverlap c"range-overlap",
    ShapeOverflow c"shape-overflow",
    DenseSize c"dense-size",
    ElementSize c"element-size",
    ZstdCorrupt c"zstd-corrupt",
    ZstdLength c"zstd-length",
    ZstdTrailing c"zstd-trailing",
    CsrRank c"csr-rank",
    CsrIndptrCount c"csr-indptr-count",
    CsrIndptrOrder c"csr-indptr-order",
    CsrIndicesCount c"csr-indices-count",
    CsrColumn c"csr-column",
    CooCount c"coo-count",
    CooCoordinate c"coo-coordinate",
    IndexDtype c"index-dtype",
    QuantizedGeometry c"quantized-geometry",
    BoolByte c"bool-byte",
    PaddingNonzero c"padding-nonzero",
    UnfinishedAppend c"unfinished-append",
    VersionForm c"version-form",
    SplitKeys c"split-keys",
    IndexType c"index-type",
    IndexPath c"index-path",
    IndexTensor c"index-tensor",
    HeaderSize c"header-size",
    JsonSyntax c"json-syntax",
    JsonUtf8 c"json-utf8",
    JsonDepth c"json-depth",
    JsonDuplicateKey c"json-duplicate-key",
    DataTiling c"data-tiling",
    MetadataTruncated c"metadata-truncated",
    KeyEmpty c"key-empty",
    KeyDuplicate c"key-duplicate",
    ValueType c"value-type",
    ValueDepth c"value-depth",
    AlignmentValue c"alignment-value",
    ShapeRank c"shape-rank",
    BlockRow c"block-row",
    ZipEndRecord c"zip-end-record",
    ZipDirectory c"zip-directory",
    ZipLocalHeader c"zip-local-header",
    ZipOverlap c"zip-overlap",
    ZipName c"zip-name",
    ZipChecksum c"zip-checksum",
    DeflateCorrupt c"deflate-corrupt",
    DeflateLength c"deflate-length",
    NpyHeader c"npy-header",
    PickleSyntax c"pickle-syntax",
    PickleStack c"pickle-stack",
    PickleMemo c"pickle-memo",
    PickleType c"pickle-type",
    TorchStorage c"torch-storage",
    TorchView c"torch-view",
    TorchArchive c"torch-archive",
    EncodingCorrupt c"encoding-corrupt",
    EncodingLength c"encoding-length",
    // The rules of zTensor 2, with the names of its reference implementation.
    Zt2FileTooSmall c"FileTooSmall",
    Zt2HeaderMagic c"HeaderMagic",
    Zt2FooterMagic c"FooterMagic",
    Zt2Version c"Version",
    Zt2ManifestTooLarge c"ManifestTooLarge",
    Zt2ManifestBounds c"ManifestBounds",
    Zt2ManifestHash c"ManifestHash",
    Zt2CborSyntax c"CborSyntax",
    Zt2CborDeterminism c"CborDeterminism",
    Zt2CborDuplicateKey c"CborDuplicateKey",
    Zt2CborDepth c"CborDepth",
    Zt2Schema c"Schema",
    Zt2Name c"Name",
    Zt2Shape c"Shape",
    Zt2BlobAlignment c"BlobAlignment",
    Zt2BlobBounds c"BlobBounds",
    Zt2BlobOverlap c"BlobOverlap",
    Zt2DenseSize c"DenseSize",
    Zt2LayoutRule c"LayoutRule",
    Zt2LayoutData c"LayoutData",
    Zt2Encoding c"Encoding",
    Zt2Digest c"Digest",
    Zt2ShardName c"ShardName",
    Zt2ShardRef c"ShardRef",
    Zt2ShardIdentity c"ShardIdentity",
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// An argument is invalid whatever the file.
    InvalidArgument,
    /// The operating system or a callback of the caller failed.
    Io,
    /// Nothing exists at the path.
    NoFile,
    /// The object, component or attribute does not exist.
    NotFound,
    /// The content is not in a format that the library reads.
    NotZtensor,
    /// The file breaks this rule of the format.
    Broken(Rule),
    /// The bytes do not match the digest in the manifest.
    DigestMismatch,
    /// This version does not support it.
    Unsupported,
    /// It would exceed a limit.
    Limit,
    /// The caller's memory has the wrong size.
    BufferSize,
    /// These bytes cannot be borrowed.
    NotMappable,
    /// The call is out of order.
    State,
    /// The name exists already.
    Exists,
    /// A callback of the caller asked to stop.
    Cancelled,
    /// The timeout passed.
    Timeout,
    /// Another writer holds the lock on the file.
    Busy,
    /// Memory could not be allocated.
    OutOfMemory,
    /// A bug of this library.
    Internal,
    /// A function of the caller failed with this `zt_status`.
    Caller(i32),
}

#[cfg(test)]
mod tests {
    use super::Rule;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_short_name_of_its_own() {
        let names: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name().to_str().unwrap()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        let is_short = |rule: &&Rule| {
            let name = rule.name().to_str().unwrap();
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let is_named_there = format!("{rule:?}") == format!("Zt2{name}");
            name.len() <= 24 && (is_named_there || name.bytes().all(is_plain))
        };
        assert!(Rule::ALL.iter().all(|rule| is_short(&rule)), "{names:?}");
    }
}
