//! Files to copy from: all files of the corpus that can be opened, valid or not.

use super::foreign;
use crate::common;
use crate::validator::{self, Valid};
use ztensor::error::{Cause, Error};
use ztensor::model::manifest::Version;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};

pub struct Source {
    pub name: String,
    pub file: File,
    /// Its contents, if the second reader accepts it.
    pub valid: Option<Valid>,
    /// Whether it passes a strict verification.
    pub strict: bool,
    /// Whether a verification finds something that it cannot check.
    pub unsupported: bool,
    pub bytes: Vec<u8>,
}

impl Source {
    pub fn of(name: String, bytes: Vec<u8>) -> Option<Source> {
        let options = OpenOptions { max_decoded_size: Some(8 << 20), ..OpenOptions::default() };
        let file = File::open_memory(common::Aligned::of(&bytes), &options).ok()?;
        let valid = validator::validate(&bytes).ok();
        let unsupported = passes(&bytes, false).is_err_and(|e| e.cause() == Cause::Unsupported);
        Some(Source { name, file, valid, strict: passes(&bytes, true).is_ok(), unsupported, bytes })
    }

    /// Whether an append can extend it.
    pub fn can_be_appended_to(&self) -> bool {
        let version = self.file.manifest().container;
        self.valid.is_some() && matches!(version, Some(Version::V1_1 | Version::V1_2))
    }
}

/// Opens and verifies.
pub fn passes(bytes: &[u8], strict: bool) -> Result<(), Error> {
    let options = OpenOptions { strict, ..OpenOptions::default() };
    let file = File::open_memory(common::Aligned::of(bytes), &options)?;
    let verify = VerifyOptions { padding: strict, threads: 1, ..VerifyOptions::default() };
    file.verify(&verify, &|_, _| true, &mut VerifyReport::default())
}

/// Small files, because there are many sequences.
pub fn all() -> Vec<Source> {
    const MOST: usize = 40 << 10;
    let folders = common::VALID.into_iter().chain(["invalid", "copy"]);
    let mut sources = Vec::new();
    for path in folders.flat_map(common::corpus) {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() <= MOST {
            let huge = Source::of(path.display().to_string(), bytes);
            sources.extend(huge.filter(|s| s.valid.as_ref().is_none_or(|v| v.objects.len() < 100)));
        }
    }
    for seed in 0..60 {
        let made = Source::of(format!("foreign {seed}"), foreign::file(seed)).expect("it opens");
        assert!(made.valid.is_some() && made.strict, "{seed}: {:?}", validator::validate(&made.bytes).err());
        sources.push(made);
    }
    assert!(sources.len() > 150, "{}", sources.len());
    sources
}
