//! The output of conversions: files that are written under a temporary name, or standard output.

use super::job::Job;
use crate::failure::{Failure, Outcome};
use crate::new_files::NewFile;
use crate::standard_input::is_standard;
use std::io::Write;
use std::path::Path;

/// Writes the bytes of a new file front to back.
pub struct Sink<'j> {
    job: &'j Job<'j>,
    /// `None` for standard output.
    file: Option<NewFile>,
    buffer: Vec<u8>,
    /// How many bytes were written.
    pub position: u64,
}

/// The size of the buffer.
const BUFFER_SIZE: usize = 1 << 20;

impl<'j> Sink<'j> {
    /// The job's output.
    pub fn create(job: &'j Job<'j>) -> Outcome<Sink<'j>> {
        Sink::create_at(job, &job.arguments.output)
    }

    /// One of several output files.
    pub fn create_at(job: &'j Job<'j>, path: &Path) -> Outcome<Sink<'j>> {
        let file = match is_standard(path) {
            true => None,
            false => Some(NewFile::create(path, job.arguments.force, job.arguments.durable)?),
        };
        Ok(Sink { job, file, buffer: Vec::new(), position: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.position += bytes.len() as u64;
        if self.buffer.len() + bytes.len() < BUFFER_SIZE {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.put(bytes)
    }

    /// Writes this many zero bytes.
    pub fn zeros(&mut self, mut count: u64) -> Outcome<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while count > 0 {
            let now = count.min(ZEROS.len() as u64);
            self.write(&ZEROS[..now as usize])?;
            count -= now;
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.put(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.job.interrupt.check()?;
        match &self.file {
            Some(file) => file.write(bytes)?,
            None => std::io::stdout().lock().write_all(bytes).map_err(Failure::cut_short)?,
        }
        self.job.bar.inc(bytes.len() as u64);
        Ok(())
    }

    /// Ends the output; a file keeps its temporary name.
    pub fn close(mut self) -> Outcome<Option<NewFile>> {
        self.flush()?;
        self.job.interrupt.check()?;
        match &self.file {
            Some(file) => file.close()?,
            None => std::io::stdout().lock().flush().map_err(Failure::cut_short)?,
        }
        Ok(self.file.take())
    }
}
