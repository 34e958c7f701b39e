//! An open file: what its manifest says, and where its bytes come from. A model of several files is one, too.

use super::identity::{self, Identity};
use super::index::NameIndex;
use super::known::SourceChecks;
use super::lazy_shard::ShardOpener;
use super::lazy_sizes::LazySizes;
use super::model_info::ModelInfo;
use super::open_options::Mode;
use super::parts::{FilePart, Parts};
use crate::container::{Capabilities, Validated};
use crate::error::{fail, Error, Result};
use crate::load::FrameIndexCache;
use crate::memory::{DecodedCache, HostAllocator};
use crate::model::manifest::{Container, Manifest};
use crate::model::value::Value;
use crate::source::ByteSource;
use crate::threads::{self, ThreadHooks};
use std::sync::atomic::{AtomicU64, Ordering};

/// An open file, or the files of a model as one.
pub struct File {
    /// No other file of this process has or had it.
    pub(super) number: u64,
    pub(super) parts: Parts,
    /// What is beside it in its folder and in its parts, if it is a model.
    pub(super) model: ModelInfo,
    /// What opens the shards among them.
    pub(super) shards: ShardOpener,
    pub(super) mode: Mode,
    /// The joint manifest of all parts: their objects and components in the order of the parts.
    pub(super) manifest: Validated,
    pub(super) names: NameIndex,
    pub(super) strict: bool,
    pub(super) max_decoded_size: Option<u64>,
    pub(super) threads: usize,
    pub(super) thread_hooks: ThreadHooks,
    pub(super) allocator: Option<HostAllocator>,
    /// What messages call a model; a file has the label of its only part.
    pub(super) label: Option<String>,
    /// Decoded sizes that the manifest does not declare, found when first asked for; see `Component::size`.
    /// None where it declares all.
    pub(super) lazy_sizes: Option<LazySizes>,
    pub(super) frame_indexes: FrameIndexCache,
    pub(super) decoded: DecodedCache,
    pub(super) source_checks: SourceChecks,
}

/// A number that was not given before.
pub(super) fn next_number() -> u64 {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    GIVEN.fetch_add(1, Ordering::Relaxed)
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({:?}, {} objects)", self.label(), self.manifest.objects.len())
    }
}

impl File {
    /// What it is; of a model, what its first part is.
    pub fn container(&self) -> Container {
        self.parts.first.container()
    }

    /// What its container can represent; of a model, that of its first part.
    pub fn capabilities(&self) -> &'static Capabilities {
        self.parts.first.capabilities()
    }

    /// The version as the file, or the first part of a model, says it: "0.1.0", "1.0", "1.1.0", "1.2.0"; ""
    /// where files say none.
    pub fn version(&self) -> &str {
        self.manifest.version_text()
    }

    /// Bytes of the file, or of all parts.
    pub fn size(&self) -> u64 {
        self.parts().map(FilePart::size).fold(0, u64::saturating_add)
    }

    /// How many files it consists of, its shards among them.
    pub fn part_count(&self) -> usize {
        self.parts.count()
    }

    /// One of its files.
    pub fn part(&self, index: usize) -> Option<&FilePart> {
        self.parts.get(index)
    }

    /// Its only file that has a manifest. If there are several, the error says that a model `cannot` what was
    /// asked for.
    pub(crate) fn only_part(&self, cannot: &str) -> Result<&FilePart> {
        match self.manifest_count() {
            1 => Ok(&self.parts.first),
            count => Err(self.in_file(fail!(
                Unsupported,
                "a model of {count} files {cannot}; open one of its files alone instead (zt_open_options.part, zt --part)"
            ))),
        }
    }

    /// How many of them it has a manifest of: all but shards, which are last.
    pub fn manifest_count(&self) -> usize {
        self.parts.manifest_count()
    }

    /// The number of the file that has the bytes of a component.
    pub fn part_of(&self, component: usize) -> usize {
        self.parts.number_of_component(&self.manifest, component)
    }

    /// Its files, in their order.
    pub fn parts(&self) -> impl Iterator<Item = &FilePart> {
        self.parts.iter()
    }

    /// Its identity, as it was when it was opened: of a model, the bytes of all parts, the latest change, and
    /// the hash of their hashes. Reads the manifests; of shards the sizes and digests that these have.
    pub fn identity(&self) -> Result<Identity> {
        let mut identity = self.parts.first.identity()?;
        if self.part_count() > 1 {
            let mut hashes = Vec::new();
            hashes.try_reserve_exact(self.manifest_count().saturating_mul(8))?;
            hashes.extend_from_slice(&identity.manifest_hash.to_be_bytes());
            for part in self.parts().take(self.manifest_count()).skip(1) {
                let of_part = part.identity()?;
                identity.modified = identity.modified.max(of_part.modified);
                identity.source = identity::combine(identity.source, of_part.source);
                hashes.extend_from_slice(&of_part.manifest_hash.to_be_bytes());
            }
            (identity.size, identity.manifest_hash) = (self.size(), identity::hash(&hashes));
        }
        Ok(identity)
    }

    /// How its bytes are reached: never [`Mode::Auto`]. Bytes in memory are as good as mapped, those of any
    /// other source are read. [`Mode::Read`] where the parts of a model are reached in several ways.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The file's own attributes, a map; of a model those of its first part.
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

    /// Threads that a call on `size` bytes is worth: more than the caller's for many alone.
    pub(super) fn threads_for(&self, size: u64) -> usize {
        const MIN_THREADED: u64 = 8 << 20;
        /// Where the caller left it to us: two or three keep a memory bus busy, and a host has threads, too.
        const DEFAULT_THREADS: usize = 4;
        match self.threads {
            _ if size < MIN_THREADED || threads::is_worker() => 1,
            0 => threads::count(0).min(DEFAULT_THREADS),
            wanted => threads::count(wanted),
        }
    }

    /// What messages call it.
    fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.parts.first.label)
    }

    #[cold]
    pub(super) fn in_file(&self, error: Error) -> Error {
        match self.label() {
            "" => error,
            label => error.within(format_args!("{label}")),
        }
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
