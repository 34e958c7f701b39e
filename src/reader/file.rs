//! An open file: its manifest, the source of its bytes, and its identity. A model of several files is also
//! one `File`.

use super::lazy_shard::ShardOpener;
use super::lazy_sizes::LazySizes;
use super::manifest::{self, Identity, NameIndex};
use super::open_options::Mode;
use super::parts::{FilePart, Parts};
use super::shared_bytes::SharedChecks;
use crate::container::{self, Capabilities, Validated};
use crate::digest::{to_text, xxh3, Algorithm};
use crate::error::{fail, try_format, Error, Result};
use crate::load::FrameIndexCache;
use crate::memory::{copied, push, with_capacity, Budget, DecodedCache, HostAllocator};
use crate::model::manifest::{Container, Manifest};
use crate::model::value::Value;
use crate::source::{with_range, ByteSource};
use crate::threads::{self, ThreadHooks};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// An open file, or the files of a model opened as one.
pub struct File {
    /// Identifies this `File`. No other file of this process has or had this number.
    pub(super) number: u64,
    pub(super) parts: Parts,
    /// What else a model has in its folder and its parts that is not shown.
    pub(super) model: ModelInfo,
    pub(super) shards: ShardOpener,
    pub(super) mode: Mode,
    /// The joint manifest of all parts. Objects and components are in the order of the parts.
    pub(super) manifest: Validated,
    pub(super) names: NameIndex,
    pub(super) strict: bool,
    pub(super) max_decoded_size: Option<u64>,
    pub(super) threads: usize,
    pub(super) thread_hooks: ThreadHooks,
    pub(super) allocator: Option<HostAllocator>,
    /// The model's name in messages. A single file has the label of its only part.
    pub(super) label: Option<String>,
    /// Decoded sizes that the manifest does not give. Each is found when it is first needed; see
    /// `Component::size`. `None` if the manifest gives all sizes.
    pub(super) lazy_sizes: Option<LazySizes>,
    pub(super) frame_indexes: FrameIndexCache,
    pub(super) decoded: DecodedCache,
    /// What copies know about its bytes. The first copy creates it.
    pub(super) source_checks: OnceLock<Box<SharedChecks>>,
}

/// A number that was not returned before.
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
    /// The container; for a model, its first part's container.
    pub fn container(&self) -> Container {
        self.parts.first.container()
    }

    /// The capabilities of the container; for a model, of its first part's container.
    pub fn capabilities(&self) -> &'static Capabilities {
        self.parts.first.capabilities()
    }

    /// The version that the file, or a model's first part, declares: "0.1.0", "1.0", "1.1.0", "1.2.0". "" if
    /// it declares none.
    pub fn version(&self) -> &str {
        self.manifest.version_text()
    }

    /// The size of the file in bytes, or of all parts together.
    pub fn size(&self) -> u64 {
        self.parts().map(FilePart::size).fold(0, u64::saturating_add)
    }

    /// How many files it consists of, including shards.
    pub fn part_count(&self) -> usize {
        self.parts.count()
    }

    /// One of its files.
    pub fn part(&self, index: usize) -> Option<&FilePart> {
        self.parts.get(index)
    }

    /// The only part with a manifest. If there are several, the error says what a model `cannot` do.
    pub(crate) fn only_part(&self, cannot: &str) -> Result<&FilePart> {
        match self.manifest_count() {
            1 => Ok(&self.parts.first),
            count => Err(self.in_file(fail!(
                Unsupported,
                "a model of {count} files {cannot}; open one of its files alone instead \
                 (zt_open_options.part, zt --part)"
            ))),
        }
    }

    /// How many of its files have a manifest here. These are all files but the shards, which come last.
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

    /// Its identity when it was opened. For a model: the bytes of all parts, the latest change, and the hash
    /// of their hashes. Reads the manifests. For shards, uses the sizes and digests in the manifest.
    pub fn identity(&self) -> Result<Identity> {
        let mut identity = self.parts.first.identity()?;
        if self.part_count() > 1 {
            let mut hashes = with_capacity(self.manifest_count().saturating_mul(8))?;
            hashes.extend_from_slice(&identity.manifest_hash.to_be_bytes());
            for part in self.parts().take(self.manifest_count()).skip(1) {
                let of_part = part.identity()?;
                identity.modified = identity.modified.max(of_part.modified);
                identity.source = manifest::combine(identity.source, of_part.source);
                hashes.extend_from_slice(&of_part.manifest_hash.to_be_bytes());
            }
            (identity.size, identity.manifest_hash) = (self.size(), xxh3(&hashes));
        }
        Ok(identity)
    }

    /// How its bytes are accessed; never [`Mode::Auto`]. Bytes in memory count as mapped, those of other
    /// sources as read. [`Mode::Read`] if the parts of a model are accessed in several ways.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The file's own attributes, which are a map; for a model those of its first part.
    pub fn attributes(&self) -> Option<Value<'_>> {
        self.manifest.file_attributes()
    }

    /// Number of objects.
    pub fn object_count(&self) -> usize {
        self.manifest.objects.len()
    }

    /// The position of the object with that name.
    pub fn find_position(&self, name: impl AsRef<[u8]>) -> Option<usize> {
        self.names.find(&self.manifest, name.as_ref())
    }

    /// The manifest: what the file declares, as plain data.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How many threads are useful for a call on `size` bytes. Only large calls use more than the caller's.
    pub(super) fn threads_for(&self, size: u64) -> usize {
        const MIN_THREADED: u64 = 8 << 20;
        /// The number of threads if the caller does not set it. Two or three saturate a memory bus, and the
        /// calling program has threads, too.
        const DEFAULT_THREADS: usize = 4;
        match self.threads {
            _ if size < MIN_THREADED || threads::is_worker() => 1,
            0 => threads::count(0).min(DEFAULT_THREADS),
            wanted => threads::count(wanted),
        }
    }

    fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.parts.first.file.label)
    }

    #[cold]
    pub(super) fn in_file(&self, error: Error) -> Error {
        error.within(format_args!("{}", self.label()))
    }

    /// The digest, by `sha256` or `xxh3`, of the names, shapes, types, attributes and digests of all objects.
    /// It reads the manifest but no tensor, and trusts the digests in the file. Unsupported if the container
    /// has no digests or a component has none.
    pub fn content_digest(&self, algorithm: &str) -> Result<String> {
        let found = [Algorithm::Sha256, Algorithm::Xxh3].into_iter().find(|known| known.name() == algorithm);
        let algorithm = found.ok_or_else(|| {
            fail!(InvalidArgument, "content digests are of sha256 or xxh3, not {algorithm:?}")
        })?;
        // If no file of the container can have it, a part cannot either.
        let compute = container::content_digest(self.parts.first.frame()).map_err(|e| self.in_file(e))?;
        let part = self.only_part("has no content digest")?;
        let digest = with_range(part.source(), part.frame().manifest.clone(), |bytes| {
            compute(bytes, part.frame().manifest.start, algorithm)
        });
        let digest = digest.map_err(|e| self.in_file(e))?;
        try_format(format_args!("{}", &*to_text(&digest)?))
    }

    /// The first rule of the container's canonical form that the file violates; `None` if it violates none.
    /// It reads the manifest and the padding but no tensor, and trusts the digests in the file. Unsupported
    /// if the container has no canonical form.
    pub fn canonical_violation(&self) -> Result<Option<String>> {
        let form = container::canonical_form(self.parts.first.frame()).map_err(|e| self.in_file(e))?;
        let part = self.only_part("has no canonical form")?;
        let (frame, source) = (part.frame(), part.source());
        let found = with_range(source, frame.manifest.clone(), |bytes| {
            match (form.violation)(&self.manifest, frame, bytes)? {
                Some(why) => Ok(Some(why)),
                None => self.nonzero_byte(part, (form.reserved)(frame.file_size)),
            }
        });
        found.map_err(|e| self.in_file(e))
    }

    /// The first byte of the padding or of the `reserved` bytes that is not zero.
    fn nonzero_byte(&self, part: &FilePart, reserved: Range<u64>) -> Result<Option<String>> {
        if let (count, Some(first)) = self.nonzero_padding(part)? {
            return try_format(format_args!(
                "F14: {count} bytes of padding are not zero, the first at {first}"
            ))
            .map(Some);
        }
        let at = reserved.start;
        let is_odd = with_range(part.source(), reserved, |bytes| Ok(bytes.iter().any(|byte| *byte != 0)))?;
        let why = || try_format(format_args!("F11: the reserved bytes of the footer at {at} are not zero"));
        is_odd.then(why).transpose()
    }
}

impl Mode {
    pub(super) fn of(source: &dyn ByteSource) -> Mode {
        match (source.slice(0..0), source.borrow(0..0)) {
            (Some(_), _) => Mode::Map,
            (None, Some(_)) => Mode::Private,
            (None, None) => Mode::Read,
        }
    }
}

/// What a model has that is not shown as part of it.
#[derive(Debug, Default)]
pub struct ModelInfo {
    /// The names of other models, and of states of trainings, in the opened folder.
    pub passed_over: Vec<String>,
    /// How many tensors the files have that are not in the model's index and are therefore not shown.
    pub unlisted: u64,
    /// The first few of their names.
    pub unlisted_names: Vec<Vec<u8>>,
}

/// How many of these names are kept.
const MAX_UNLISTED_NAMES: usize = 1000;

impl ModelInfo {
    /// Counts a tensor that is not in the model's index.
    pub(super) fn add_unlisted(&mut self, name: &[u8], budget: &Budget) -> Result<()> {
        self.unlisted = self.unlisted.saturating_add(1);
        if self.unlisted_names.len() < MAX_UNLISTED_NAMES {
            budget.charge(name.len() as u64, "the names of tensors that the index omits")?;
            push(&mut self.unlisted_names, copied(name)?)?;
        }
        Ok(())
    }
}
