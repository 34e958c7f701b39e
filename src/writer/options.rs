//! How to write.

use crate::container;
use crate::digest::Algorithm;
use crate::error::{fail, Result};
use crate::model::manifest::{Encoding, Version};
use crate::threads::ThreadHooks;

/// How to write.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Which text of the spec to follow.
    pub version: Version,
    /// Components start at multiples of this.
    pub alignment: u64,
    /// Large ones at multiples of this; 0 for no difference.
    pub large_alignment: u64,
    /// From how many bytes a component is large.
    pub large_size: u64,
    /// Where a component asks for none.
    pub encoding: Encoding,
    /// The level of zstd.
    pub zstd_level: i32,
    /// Where a component asks for none.
    pub digest: Option<Algorithm>,
    /// Threads that compress; 0 for as many as there are processors.
    pub threads: usize,
    /// What is called on each thread that is started.
    pub thread_hooks: ThreadHooks,
    /// Sync file and folder before the end.
    pub durable: bool,
    /// Bytes of an independent zstd frame.
    pub frame_size: u64,
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
            threads: 0,
            thread_hooks: ThreadHooks::default(),
            durable: false,
            frame_size: 1 << 20,
        }
    }
}

impl WriterOptions {
    pub(super) fn check(&self) -> Result<()> {
        let to = container::capabilities(self.version);
        for (name, value) in [("alignment", self.alignment), ("large_alignment", self.large_alignment)] {
            let none = name == "large_alignment" && value == 0;
            if !none && (!value.is_power_of_two() || !(to.alignment..=1 << 40).contains(&value)) {
                return Err(fail!(
                    InvalidArgument,
                    "{name} is {value}, not a power of two from {} to 2^40",
                    to.alignment
                ));
            }
        }
        if !(1024..=1 << 30).contains(&self.frame_size) {
            return Err(fail!(InvalidArgument, "frame_size is {}, not from 1024 to 2^30", self.frame_size));
        }
        if self.encoding == Encoding::Other || to.number.is_none() {
            return Err(fail!(InvalidArgument, "that encoding or version cannot be written"));
        }
        if !(-7..=22).contains(&self.zstd_level) {
            return Err(fail!(InvalidArgument, "zstd_level is {}, not from -7 to 22", self.zstd_level));
        }
        Ok(())
    }
}
