//! Opening a file: its source, its manifest, what is checked at once.

use super::aliases::Aliases;
use super::file::File;
use super::index::{self, NameIndex};
use super::lazy_sizes::LazySizes;
use super::open_options::{Mode, OpenOptions};
use super::verify::{VerifyOptions, VerifyReport};
use super::{identity, manifest, recovery, short_frames, structure};
use crate::container::{self, Limits};
use crate::error::Result;
use crate::load::FrameIndexCache;
use crate::memory::{bytes_of, try_box, DecodedCache};
use crate::model::manifest::{Component, Manifest};
use crate::source::file::FileSource;
use crate::source::map::MapSource;
use crate::source::memory::MemorySource;
use crate::source::network::is_remote;
use crate::source::ByteSource;
use std::path::Path;

impl File {
    /// Opens the file at `path`.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<File> {
        let path = path.as_ref();
        let label = options.label(format_args!("{}", path.display()))?;
        File::open_source_file(FileSource::open(path), options, label)
    }

    /// Opens `length` bytes from `offset` of an open file; a length of `u64::MAX` means to its end.
    pub fn open_file(file: std::fs::File, offset: u64, length: u64, options: &OpenOptions) -> Result<File> {
        let label = options.label(format_args!("the file at offset {offset}"))?;
        File::open_source_file(FileSource::from_file(file, offset, length), options, label)
    }

    fn open_source_file(file: Result<FileSource>, options: &OpenOptions, label: String) -> Result<File> {
        let modified = file.as_ref().map_or(0, |file| identity::modified(file.parts().0));
        let source = file.and_then(|file| with_mode(file, options));
        let source = source.map_err(|e| e.within(format_args!("{label}")))?;
        let mut opened = File::from_source(source, options, label)?;
        opened.modified = modified;
        Ok(opened)
    }

    /// Opens bytes that are in memory.
    pub fn open_memory<B>(bytes: B, options: &OpenOptions) -> Result<File>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        let label = options.label(format_args!("the file in memory"))?;
        File::from_source(try_box(MemorySource::new(bytes))?, options, label)
    }

    /// Opens whatever can be read at an offset; `label` is what messages call it.
    pub fn from_source(source: Box<dyn ByteSource>, options: &OpenOptions, label: String) -> Result<File> {
        match File::assemble(source, options, true) {
            Ok(mut file) => {
                file.label = label;
                Ok(file)
            }
            Err(e) => Err(e.within(format_args!("{label}"))),
        }
    }

    /// Opens a source that has no name; a failure says nothing of how the file ends where it does not end as a file does.
    pub(crate) fn from_whole(source: Box<dyn ByteSource>, options: &OpenOptions) -> Result<File> {
        File::assemble(source, options, false)
    }

    fn assemble(source: Box<dyn ByteSource>, options: &OpenOptions, explained: bool) -> Result<File> {
        let limits = Limits {
            manifest_size: options.max_manifest_size.min(u64::from(u32::MAX)),
            objects: options.max_objects.min(u64::from(u32::MAX)),
            memory: options.max_memory,
            containers: options.containers,
        };
        let explain = |e| match explained {
            true => recovery::explain(source.as_ref(), &limits, e),
            false => e,
        };
        let (frame, mut manifest, budget) = manifest::read_within(source.as_ref(), &limits, &explain)?;
        budget.charge(side_tables(&manifest), "the index of names and handles")?;
        let names = NameIndex::build(&manifest, container::capabilities_of(&manifest).duplicate_names)?;
        index::mark_page_exclusive(&mut manifest, &source.pages())?;
        let undeclared = |c: &Component| c.encoding.is_compressed() && !c.is_size_declared();
        let undeclared = manifest.components.iter().any(undeclared);
        let aliases = if undeclared { Aliases::of(&manifest)? } else { Aliases::default() };
        let mut lazy_sizes = LazySizes::default();
        if undeclared && manifest.components.iter().any(|c| c.size().is_none() && c.encoding.is_compressed())
        {
            lazy_sizes.reserve(manifest.components.len().saturating_add(aliases.count()))?;
        }
        let file = File {
            mode: Mode::of(source.as_ref()),
            source,
            manifest,
            names,
            frame,
            strict: options.strict,
            max_decoded_size: options.max_decoded_size,
            threads: options.threads,
            thread_hooks: options.thread_hooks,
            allocator: options.allocator,
            modified: 0,
            label: String::new(), // `from_source` puts it in front of what goes wrong here
            aliases,
            lazy_sizes,
            frame_indexes: FrameIndexCache::default(),
            decoded: DecodedCache::default(),
        };
        if undeclared {
            short_frames::check_short_frames(&file)?;
        }
        if options.strict {
            structure::check_strict_metadata(&file)?;
        }
        file.advise_all(options.advice)?;
        if options.verify {
            let digests_only = VerifyOptions { contents: false, ..VerifyOptions::default() };
            file.verify(&digests_only, &|_, _| true, &mut VerifyReport::default())?;
        }
        Ok(file)
    }
}

fn with_mode(file: FileSource, options: &OpenOptions) -> Result<Box<dyn ByteSource>> {
    let auto = options.mode == Mode::Auto;
    if options.mode == Mode::Read || (auto && is_remote(file.parts().0)) {
        return Ok(try_box(file)?);
    }
    match MapSource::new(file, options.mode == Mode::Private) {
        Ok(mapped) => Ok(try_box(mapped)?),
        Err((file, _)) if auto => Ok(try_box(file)?),
        Err((_, e)) => Err(e),
    }
}

/// Bytes of memory that an open file takes beside its manifest: the index of names, the handles that C borrows, decoded
/// sizes that are found later, and places that are sorted.
fn side_tables(manifest: &Manifest) -> u64 {
    let (objects, components) = (manifest.objects.len(), manifest.components.len());
    let handles = bytes_of::<usize>(objects.max(components)).saturating_add(bytes_of::<u32>(components));
    let sizes = bytes_of::<(u64, u64, u64)>(components);
    NameIndex::size(objects).saturating_add(handles).saturating_add(sizes)
}
