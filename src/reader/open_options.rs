//! How a file is opened.

use crate::container::Limits;
use crate::error::{try_format, Result};
use crate::memory::HostAllocator;
use crate::source::Advice;
use crate::threads::ThreadHooks;
use std::fmt;
use std::path::{Path, PathBuf};

/// How a file's bytes are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Mapped: bytes can be lent. The file must not be cut short while it is open.
    #[default]
    Map,
    /// Read on demand, never through a map.
    Read,
    /// Mapped where that can be done and the file is on this machine; else read on demand.
    Auto,
    /// Mapped, and the caller may change the borrowed bytes: copy on write, invisible to others.
    Private,
}

/// When the shards are opened that a file names: other files that have bytes of its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shards {
    /// Each shard of a model when it is first read; those of a single file never.
    #[default]
    OfModels,
    /// Each when it is first read.
    OnUse,
    /// All of them when the file is opened, which fails where one is missing.
    AtOpen,
    /// Never: what is in them is listed, and not read.
    Never,
}

/// How to open a file.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// How the bytes are reached.
    pub mode: Mode,
    /// Also refuse what a lenient reader may pass over.
    pub strict: bool,
    /// Largest manifest, in bytes.
    pub max_manifest_size: u64,
    /// Largest decoded size of one compressed component, in bytes; none for the default, which is
    /// 1 GiB or 256 times the stored size, whichever is more.
    pub max_decoded_size: Option<u64>,
    /// Most objects.
    pub max_objects: u64,
    /// Most memory that opening the file may take, in bytes; none for the default, which is 256 MiB or
    /// 16 times the manifest, whichever is more.
    pub max_memory: Option<u64>,
    /// What will be done with the bytes.
    pub advice: Advice,
    /// Threads for a large component that is read by one call; 0 where the library is to say.
    pub threads: usize,
    /// What is called on each thread that is started for the file.
    pub thread_hooks: ThreadHooks,
    /// Where memory for decoded bytes that are handed out comes from; none for the library's own.
    pub allocator: Option<HostAllocator>,
    /// What may be opened: the bits of containers
    /// ([`Container::bit`](crate::model::manifest::Container::bit)); 0 for all.
    pub containers: u32,
    /// What messages call the file; none for its path or how it is opened.
    pub name: Option<String>,
    /// When shards are opened.
    pub shards: Shards,
    /// The folder that shards are in; none for the one of the file that names them.
    pub shard_folder: Option<PathBuf>,
    /// Whether bytes that follow the end of a file's content are passed over.
    pub allow_trailing: bool,
    /// Open only the file at the path, even if it is a part of a model.
    pub part: bool,
    /// Include tensors that the files of a model hold and its index does not name.
    pub include_unlisted: bool,
    /// Show the tensors of a quantized weight as one object.
    pub combine_quantized: bool,
}

impl OpenOptions {
    /// What a file may claim.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            manifest_size: self.max_manifest_size.min(u64::from(u32::MAX)),
            objects: self.max_objects.min(u64::from(u32::MAX)),
            memory: self.max_memory,
            containers: self.containers,
            allow_trailing: self.allow_trailing,
        }
    }

    /// What messages call the file.
    pub(super) fn label(&self, otherwise: fmt::Arguments<'_>) -> Result<String> {
        match &self.name {
            Some(name) => try_format(format_args!("{name}")),
            None => try_format(otherwise),
        }
    }

    /// What messages call the file at `path`. Nearly every path is a text, which takes no formatting.
    #[inline]
    pub(super) fn label_at(&self, path: &Path) -> Result<String> {
        match path.to_str().filter(|_| self.name.is_none()) {
            Some(text) => {
                let mut label = String::new();
                label.try_reserve_exact(text.len())?;
                label.push_str(text);
                Ok(label)
            }
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
