//! An open file: its manifest, the source of its bytes, and its identity. A model of several files is one,
//! too.

use super::index::NameIndex;
use super::lazy_shard::ShardOpener;
use super::lazy_sizes::LazySizes;
use super::manifest::{self, Identity};
use super::open_options::Mode;
use super::parts::{FilePart, Parts};
use super::shared_bytes::SourceChecks;
use crate::container;
use crate::container::{Capabilities, Validated};
use crate::digest::{to_text, Algorithm};
use crate::error::{fail, try_format, Error, Result};
use crate::load::FrameIndexCache;
use crate::memory::{Budget, DecodedCache, HostAllocator};
use crate::model::manifest::{Container, Manifest};
use crate::model::value::Value;
use crate::source::{with_range, ByteSource};
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
    /// The container; for a model its first part's.
    pub fn container(&self) -> Container {
        self.parts.first.container()
    }

    /// The capabilities of its container; for a model its first part's.
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
                identity.source = manifest::combine(identity.source, of_part.source);
                hashes.extend_from_slice(&of_part.manifest_hash.to_be_bytes());
            }
            (identity.size, identity.manifest_hash) = (self.size(), manifest::hash(&hashes));
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
        self.label.as_deref().unwrap_or(&self.parts.first.file.label)
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
    /// The mode of a source.
    pub(super) fn of(source: &dyn ByteSource) -> Mode {
        match (source.slice(0..0), source.borrow(0..0)) {
            (Some(_), _) => Mode::Map,
            (None, Some(_)) => Mode::Private,
            (None, None) => Mode::Read,
        }
    }
}

/// What a model has beside what is shown of it.
#[derive(Debug, Default)]
pub struct ModelInfo {
    /// Other models in the folder that was named, and states of trainings: their names.
    pub passed_over: Vec<String>,
    /// How many tensors its files hold that its index names nowhere, and that are not shown.
    pub unlisted: u64,
    /// The names of the first few of them.
    pub unlisted_names: Vec<Vec<u8>>,
}

/// How many names of tensors that the index omits are kept.
const MAX_UNLISTED_NAMES: usize = 1000;

impl ModelInfo {
    /// Counts a tensor that the index names nowhere.
    pub(super) fn add_unlisted(&mut self, name: &[u8], budget: &Budget) -> Result<()> {
        self.unlisted = self.unlisted.saturating_add(1);
        if self.unlisted_names.len() < MAX_UNLISTED_NAMES {
            budget.charge(name.len() as u64, "the names of tensors that the index omits")?;
            let mut copy = Vec::new();
            copy.try_reserve_exact(name.len())?;
            copy.extend_from_slice(name);
            self.unlisted_names.try_reserve(1)?;
            self.unlisted_names.push(copy);
        }
        Ok(())
    }
}

impl File {
    /// The digest of names, shapes, types, attributes and digests of all objects, by `sha256` or `xxh3`.
    /// Reads the manifest and no tensor: digests are taken as the file has them. Unsupported where the
    /// container has none or a component lacks its digest.
    pub fn content_digest(&self, algorithm: &str) -> Result<String> {
        let found = [Algorithm::Sha256, Algorithm::Xxh3].into_iter().find(|known| known.name() == algorithm);
        let algorithm = found.ok_or_else(|| {
            fail!(InvalidArgument, "content digests are of sha256 or xxh3, not {algorithm:?}")
        })?;
        // What no file of the container has, a part of the model alone has not either.
        container::check_content_digest(self.parts.first.frame()).map_err(|e| self.in_file(e))?;
        let part = self.only_part("has no content digest")?;
        let digest = with_range(part.source(), part.frame().manifest.clone(), |bytes| {
            container::content_digest(part.frame(), bytes, algorithm)
        });
        let digest = digest.map_err(|e| self.in_file(e))?;
        try_format(format_args!("{}", &*to_text(&digest)?))
    }

    /// The first rule that keeps the file from the canonical form of its container; none where nothing does.
    /// Reads the manifest and what belongs to nothing, and no tensor: digests are taken as the file has them.
    /// Unsupported where the container has no such form.
    pub fn canonical_violation(&self) -> Result<Option<String>> {
        container::check_canonical(self.parts.first.frame()).map_err(|e| self.in_file(e))?;
        let part = self.only_part("has no canonical form")?;
        let (frame, source) = (part.frame(), part.source());
        let found =
            with_range(source, frame.manifest.clone(), |bytes| {
                match container::canonical_violation(frame, &self.manifest, bytes)? {
                    Some(why) => Ok(Some(why)),
                    None => self.nonzero_byte(part),
                }
            });
        found.map_err(|e| self.in_file(e))
    }

    /// The first byte that belongs to nothing and is not zero.
    fn nonzero_byte(&self, part: &FilePart) -> Result<Option<String>> {
        if let (count, Some(first)) = self.nonzero_padding(part)? {
            return try_format(format_args!(
                "F14: {count} bytes of padding are not zero, the first at {first}"
            ))
            .map(Some);
        }
        let reserved = container::reserved_bytes(part.frame());
        let start = reserved.start;
        with_range(part.source(), reserved, |bytes| match bytes.iter().all(|byte| *byte == 0) {
            true => Ok(None),
            false => {
                try_format(format_args!("F11: the reserved bytes of the footer at {start} are not zero"))
                    .map(Some)
            }
        })
    }
}
