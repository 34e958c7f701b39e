//! An open file: what its manifest says, and where its bytes come from.

use super::aliases::Aliases;
use super::index::NameIndex;
use super::lazy_sizes::LazySizes;
use super::open_options::Mode;
use crate::container::{self, Capabilities, Frame};
use crate::error::{fail, Error, Result};
use crate::load::FrameIndexCache;
use crate::memory::{DecodedCache, HostAllocator};
use crate::model::manifest::Manifest;
use crate::model::value::Value;
use crate::source::ByteSource;
use crate::threads::ThreadHooks;

/// An open `.zt` file.
pub struct File {
    pub(super) source: Box<dyn ByteSource>,
    pub(super) mode: Mode,
    pub(super) manifest: Manifest,
    pub(super) names: NameIndex,
    pub(super) frame: Frame,
    pub(super) strict: bool,
    pub(super) max_decoded_size: Option<u64>,
    pub(super) threads: usize,
    pub(super) thread_hooks: ThreadHooks,
    pub(super) allocator: Option<HostAllocator>,
    pub(super) label: String,
    pub(super) modified: i64,
    /// Components of the same bytes, where decoded sizes are to be found out.
    pub(super) aliases: Aliases,
    /// Decoded sizes that no manifest declares, found when first asked for; see `Component::size`: those of components,
    /// and then those of bytes that several components have.
    pub(super) lazy_sizes: LazySizes,
    pub(super) frame_indexes: FrameIndexCache,
    pub(super) decoded: DecodedCache,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({:?}, {} objects)", self.label, self.manifest.objects.len())
    }
}

impl File {
    /// What its container can represent.
    pub fn capabilities(&self) -> &'static Capabilities {
        container::capabilities_of(&self.manifest)
    }

    /// The version as the file says it: "0.1.0", "1.0", "1.1.0", "1.2.0"; "" where files say none.
    pub fn version(&self) -> &str {
        self.manifest.version_text()
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.frame.file_size
    }

    /// How its bytes are reached: never [`Mode::Auto`]. Bytes in memory are as good as mapped, those of any other source
    /// are read.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// All bytes of the file, where they can be lent.
    pub fn borrow(&self) -> Result<&[u8]> {
        let bytes = self.source.borrow(0..self.size());
        bytes.ok_or_else(|| {
            self.in_file(fail!(
                NotMappable,
                "its bytes cannot be lent: the file is neither mapped nor in memory"
            ))
        })
    }

    /// The file's own attributes, a map.
    pub fn attributes(&self) -> Option<Value<'_>> {
        self.manifest.file_attributes()
    }

    /// Number of objects.
    pub fn object_count(&self) -> usize {
        self.manifest.objects.len()
    }

    /// The position of the object of that name.
    pub fn find_position(&self, name: impl AsRef<[u8]>) -> Option<usize> {
        self.names.find(&self.manifest, name.as_ref())
    }

    /// What the file claims to hold, as plain data.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the manifest stands and how the file is framed.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    pub(crate) fn source(&self) -> &dyn ByteSource {
        self.source.as_ref()
    }

    #[cold]
    pub(super) fn in_file(&self, error: Error) -> Error {
        if self.label.is_empty() {
            return error;
        }
        error.within(format_args!("{}", self.label))
    }
}

impl Mode {
    /// The mode that a source is of.
    pub(super) fn of(source: &dyn ByteSource) -> Mode {
        match (source.slice(0..0), source.borrow(0..0)) {
            (Some(_), _) => Mode::Map,
            (None, Some(_)) => Mode::Private,
            (None, None) => Mode::Read,
        }
    }
}
