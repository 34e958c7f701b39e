//! The end of a file: manifest and footer, then it is published.

use super::specs::Summary;
use super::state::{Phase, Writer};
use crate::container;
use crate::error::{fail, Error, Result};
use crate::model::manifest::Manifest;

impl Writer {
    /// Writes manifest and footer and publishes the file. The writer is over then, whatever is
    /// returned; if it failed, the destination is as it was before.
    pub fn finish(&mut self) -> Result<Summary> {
        self.check_idle()?;
        let outcome = match self.append_base.take() {
            Some(base) => self.finish_append(base),
            None => self.finish_new(),
        };
        match outcome {
            Ok(summary) => {
                self.sink = None;
                self.state = Phase::Closed("the writer is finished");
                Ok(summary)
            }
            Err(e) => Err(self.give_up(e)),
        }
    }

    /// Ends the writer, which leaves the destination as it was before; where that fails, `error` says so, too.
    pub fn give_up(&mut self, error: Error) -> Error {
        match self.is_open() {
            true => self.poison(error),
            false => error,
        }
    }

    fn finish_new(&mut self) -> Result<Summary> {
        let mut manifest = std::mem::take(&mut self.manifest);
        manifest.container = Some(self.options.version);
        if !self.attributes.set.is_empty() {
            manifest.attributes = Some(self.attributes.set.put(&mut manifest.values, None)?);
        }
        let bytes = self.encode_manifest(&manifest)?;
        let (objects, components) = (manifest.objects.len() as u64, manifest.components.len() as u64);
        self.check(manifest, bytes.len() as u64)?;
        self.write_end(&bytes)?;
        Ok(self.summary(objects, components))
    }

    fn encode_manifest(&self, manifest: &Manifest) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        container::encode_head(manifest, self.options.version, &mut bytes)?;
        for object in manifest.objects.iter() {
            container::encode_object(manifest, object, self.options.version, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// The rules that every reader checks, before the file is closed.
    fn check(&self, manifest: Manifest, size: u64) -> Result<()> {
        let start = self.position;
        let end = start.saturating_add(size);
        let frame = container::frame_of(self.options.version, start..end);
        container::validate(manifest, &frame).map(drop)
    }

    /// Manifest, footer, publication.
    pub(super) fn write_end(&mut self, manifest: &[u8]) -> Result<()> {
        let size = manifest.len() as u64;
        if size > self.capabilities().manifest_limit {
            return Err(fail!(Limit, "a manifest of {size} bytes is above the specs' limit of 1 GiB"));
        }
        let mut footer = Vec::new();
        container::encode_footer(self.options.version, size, &mut footer)?;
        self.write_bytes(manifest)?;
        self.write_bytes(&footer)?;
        self.report_now()?;
        let published = match self.sink.as_mut() {
            Some(sink) => sink.publish(),
            None => Err(fail!(State, "the writer is finished")),
        };
        published.map_err(|e| self.poison(e))
    }

    /// The sink is rolled back, which leaves the destination as it was; where it cannot be, the error says what it is.
    pub(super) fn poison(&mut self, error: Error) -> Error {
        let rolled_back = self.sink.take().map(|mut sink| sink.roll_back());
        self.component = None;
        self.state = Phase::Closed("the writer has failed");
        let label = if self.label.is_empty() { "the file" } else { self.label.as_str() };
        let error = error.within(format_args!("{label}"));
        match rolled_back {
            Some(Err(e)) => Error::new(error.cause(), format_args!("{error}; {e}")),
            _ => error,
        }
    }

    pub(super) fn summary(&self, objects: u64, components: u64) -> Summary {
        Summary {
            file_size: self.position,
            objects,
            components,
            stored_bytes: self.stored_bytes,
            data_bytes: self.data_bytes,
        }
    }
}
