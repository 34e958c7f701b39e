//! Options for opening a file.

use crate::container::Limits;
use crate::error::{try_format, Result};
use crate::memory::{owned_text, HostAllocator};
use crate::source::Advice;
use crate::threads::ThreadHooks;
use std::fmt;
use std::path::{Path, PathBuf};

/// How a file's bytes are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The file is mapped, so bytes can be borrowed. It must not be truncated while it is open.
    #[default]
    Map,
    /// Bytes are read on demand; the file is never mapped.
    Read,
    /// Mapped, if that is possible and the file is on this machine; else read on demand.
    Auto,
    /// Mapped copy-on-write: the caller may change the borrowed bytes, and others do not see the changes.
    Private,
}

/// When to open shards: other files, listed in this one, that have bytes of its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shards {
    /// A model opens each shard when it is first read. A single file opens none.
    #[default]
    OfModels,
    /// Each shard is opened when it is first read.
    OnUse,
    /// All shards are opened with the file. If one is missing, the open fails.
    AtOpen,
    /// Shards are not opened. Their objects are listed but cannot be read.
    Never,
}

/// How to open a file.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// How the bytes are accessed.
    pub mode: Mode,
    /// Reject what is otherwise accepted, such as unknown dtypes.
    pub strict: bool,
    /// Largest manifest, in bytes.
    pub max_manifest_size: u64,
    /// The largest decoded size of one compressed component, in bytes. `None` for the default: 1 GiB or 256
    /// times the stored size, whichever is more.
    pub max_decoded_size: Option<u64>,
    /// The largest number of objects.
    pub max_objects: u64,
    /// The most memory that opening the file may take, in bytes. `None` for the default: 256 MiB or 16 times
    /// the manifest, whichever is more.
    pub max_memory: Option<u64>,
    /// How the bytes will be used.
    pub advice: Advice,
    /// The number of threads for a call that reads a large component; 0 lets the library decide.
    pub threads: usize,
    /// Hooks that each thread calls that is started for the file.
    pub thread_hooks: ThreadHooks,
    /// Allocates memory for decoded bytes that callers get. `None` for the library's own allocator.
    pub allocator: Option<HostAllocator>,
    /// Which containers may be opened, as a set of bits
    /// ([`Container::bit`](crate::model::manifest::Container::bit)); 0 for all.
    pub containers: u32,
    /// The name of the file in messages. `None` for its path, or a description of how it is opened.
    pub name: Option<String>,
    /// When to open shards.
    pub shards: Shards,
    /// The folder with the shards; `None` for the folder of the file that lists them.
    pub shard_folder: Option<PathBuf>,
    /// Whether to accept bytes after the end of the file's content.
    pub allow_trailing: bool,
    /// Open only the file at the path, even if it is a part of a model.
    pub part: bool,
    /// Include tensors that the files of a model have and its index does not name.
    pub include_unlisted: bool,
    /// Show the tensors of a quantized weight as one object.
    pub combine_quantized: bool,
}

impl OpenOptions {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            manifest_size: self.max_manifest_size.min(u64::from(u32::MAX)),
            objects: self.max_objects.min(u64::from(u32::MAX)),
            memory: self.max_memory,
            containers: self.containers,
            allow_trailing: self.allow_trailing,
        }
    }

    /// The file's name in messages.
    pub(super) fn label(&self, otherwise: fmt::Arguments<'_>) -> Result<String> {
        match &self.name {
            Some(name) => try_format(format_args!("{name}")),
            None => try_format(otherwise),
        }
    }

    /// The name in messages of the file at `path`. Almost every path is UTF-8 and needs no formatting.
    #[inline]
    pub(super) fn label_at(&self, path: &Path) -> Result<String> {
        match path.to_str().filter(|_| self.name.is_none()) {
            Some(text) => owned_text(text),
            None => self.label(format_args!("{}", path.display())),
        }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        let limits = Limits::default();
        OpenOptions {
            mode: Mode::Map,
            strict: false,
            max_manifest_size: limits.manifest_size,
            max_decoded_size: None,
            max_objects: limits.objects,
            max_memory: limits.memory,
            advice: Advice::Normal,
            threads: 0,
            containers: limits.containers,
            thread_hooks: ThreadHooks::default(),
            allocator: None,
            name: None,
            shards: Shards::default(),
            shard_folder: None,
            allow_trailing: false,
            part: false,
            include_unlisted: false,
            combine_quantized: false,
        }
    }
}
