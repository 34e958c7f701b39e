//! Options of a writer, and the summary of what it wrote.

use crate::container;
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::model::manifest::{Encoding, Version};
use crate::threads::ThreadHooks;

/// What a writer wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The size of the file in bytes.
    pub file_size: u64,
    /// Objects in the file.
    pub objects: u64,
    /// Components in the file.
    pub components: u64,
    /// Stored bytes that this writer wrote.
    pub stored_bytes: u64,
    /// Bytes before encoding.
    pub data_bytes: u64,
    /// Components that were copied although their bytes do not match a checksum of their file.
    pub damaged: u64,
}

/// How to write a file.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The version of the specification to follow.
    pub version: Version,
    /// Components start at multiples of this, and of the version's own alignment.
    pub alignment: u64,
    /// Large components start at multiples of this; 0 for no extra alignment.
    pub large_alignment: u64,
    /// Components of at least this many bytes are large.
    pub large_size: u64,
    /// The encoding of components that do not choose one.
    pub encoding: Encoding,
    /// The level of zstd.
    pub zstd_level: i32,
    /// The digest of components that do not choose one.
    pub digest: Option<Algorithm>,
    /// If there is no `digest`: whether components get the version's default digest, CRC-32C or, in zTensor
    /// 2, XXH3.
    pub usual_digest: bool,
    /// The number of threads that compress; 0 for one per processor.
    pub threads: usize,
    /// The hooks that each started thread calls.
    pub thread_hooks: ThreadHooks,
    /// Whether to sync the file and its folder at the end.
    pub durable: bool,
    /// The size of an independent zstd frame.
    pub frame_size: u64,
    /// Whether to write the canonical form: equal tensors and attributes give equal files.
    pub canonical: bool,
    /// Whether copies accept bytes that do not match a checksum of their file. The copy has no new digest of
    /// them.
    pub allow_damaged: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            version: container::NEWEST,
            alignment: container::capabilities(container::NEWEST).alignment,
            large_alignment: 0,
            large_size: 1 << 20,
            encoding: Encoding::Raw,
            zstd_level: 3,
            digest: None,
            usual_digest: true,
            threads: 0,
            thread_hooks: ThreadHooks::default(),
            durable: false,
            frame_size: 1 << 20,
            canonical: false,
            allow_damaged: false,
        }
    }
}

impl WriterOptions {
    /// The same options, with the version's defaults and the requirements of its canonical form filled in.
    pub(super) fn resolved(&self) -> Result<WriterOptions> {
        let to = container::capabilities(self.version);
        let usual = to.usual_digest.filter(|_| self.usual_digest);
        let resolved = WriterOptions { digest: self.digest.or(usual), usual_digest: false, ..self.clone() };
        let step = match (self.canonical, to.canonical_alignment) {
            (false, _) => return Ok(resolved),
            (true, None) => return Err(to.cannot_represent("a canonical form")),
            (true, Some(step)) => step,
        };
        let asked = [
            ("an encoding", self.encoding != Encoding::Raw),
            ("a digest other than xxh3", self.digest.is_some_and(|digest| digest != Algorithm::Xxh3)),
            ("an alignment", self.alignment > step || (self.large_alignment > step)),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((what, _)) => Err(fail!(InvalidArgument, "{what} is not possible in the canonical form")),
            None => Ok(WriterOptions {
                alignment: step,
                large_alignment: 0,
                digest: Some(Algorithm::Xxh3),
                ..resolved
            }),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let to = container::capabilities(self.version);
        let least = container::capabilities(container::NEWEST).alignment;
        for (name, value) in [("alignment", self.alignment), ("large_alignment", self.large_alignment)] {
            let none = name == "large_alignment" && value == 0;
            if !none && (!value.is_power_of_two() || !(least..=1 << 40).contains(&value)) {
                return Err(fail!(
                    InvalidArgument,
                    "{name} is {value}, not a power of two from {least} to 2^40"
                ));
            }
        }
        if !(1024..=1 << 30).contains(&self.frame_size) {
            return Err(fail!(InvalidArgument, "frame_size is {}, not from 1024 to 2^30", self.frame_size));
        }
        self.check_frames(self.encoding)?;
        to.check_digest(self.digest)?;
        if to.encoding(self.encoding).is_none() || to.number.is_none() {
            return Err(fail!(InvalidArgument, "this encoding or version cannot be written"));
        }
        if !(-7..=22).contains(&self.zstd_level) {
            return Err(fail!(InvalidArgument, "zstd_level is {}, not from -7 to 22", self.zstd_level));
        }
        Ok(())
    }

    /// Rejects frames that no reader of that encoding would accept.
    pub(super) fn check_frames(&self, encoding: Encoding) -> Result<()> {
        let to = container::capabilities(self.version);
        let (size, most) = (self.frame_size, to.max_frame);
        match encoding != Encoding::Raw && size > most {
            true => Err(to.cannot_represent(format_args!("frames of {size} bytes; the maximum is {most}"))),
            false => Ok(()),
        }
    }
}
