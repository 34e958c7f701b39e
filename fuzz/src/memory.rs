//! Sources and sinks in memory.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{Opened, Store};
use ztensor::sink::ByteSink;
use ztensor::source::{ByteSource, PageCache};

/// Files by name.
pub struct Files(pub Vec<(String, Vec<u8>)>);

impl Files {
    /// The bytes of a file.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, bytes)| &bytes[..])
    }
}

impl Store for Files {
    fn for_each_name(&self, _: &Path, _: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let bytes = path.to_str().and_then(|name| self.bytes(name));
        let bytes =
            bytes.ok_or_else(|| Error::new(Cause::NoFile, format_args!("the file does not exist")))?;
        Ok(Opened { source: Box::new(ReadOnly(bytes.to_vec())), label: None, path: Vec::new(), modified: 0 })
    }

    fn threads(&self, _: usize) -> usize {
        1
    }
}

/// A source that cannot map. The library must never read bytes outside of it.
pub struct ReadOnly(pub Vec<u8>);

impl ByteSource for ReadOnly {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).expect("the offset is outside the file");
        dst.copy_from_slice(&self.0[start..start + dst.len()]);
        Ok(())
    }

    fn page_cache(&self) -> Option<&dyn PageCache> {
        Some(self)
    }
}

impl PageCache for ReadOnly {
    /// If true, headers are searched in a different way.
    fn resident(&self, _offset: u64) -> Option<bool> {
        Some(self.0.len() % 2 > 0)
    }
}

/// A sink that the test can read. It is full after `most` bytes.
#[derive(Clone)]
pub struct Sink {
    pub bytes: Arc<Mutex<Vec<u8>>>,
    most: usize,
}

impl Sink {
    pub fn new(most: usize) -> Sink {
        Sink { bytes: Arc::default(), most }
    }

    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().unwrap())
    }
}

impl ByteSink for Sink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut all = self.bytes.lock().unwrap();
        if all.len() + bytes.len() > self.most {
            return Err(Error::new(Cause::Io, format_args!("the sink is full")));
        }
        all.extend_from_slice(bytes);
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}
