//! The frames of a compressed component, and the seek table behind them if its encoding has one.

use super::frames::{compress, Inputs};
use super::state::Writer;
use crate::codec::{encode_seek_table, Codec, Coding};
use crate::error::{fail, Result};
use crate::threads;

impl Writer {
    /// Compresses frames in parallel, and stores them in order.
    pub(super) fn store_frames(&mut self, codec: Codec, data: &[u8], frame: usize) -> Result<()> {
        let frames = data.chunks(frame);
        let input = |at| frames.clone().nth(at).unwrap_or_default();
        let inputs = Inputs { count: frames.len(), max_size: frame, input: &input };
        self.compress_all(codec, inputs, |writer, compressed| writer.store_frame(codec, compressed))?;
        if let Some(open) = self.component.as_mut() {
            open.has_frames = true;
        }
        Ok(())
    }

    /// Compresses in parallel, and gives each frame in order to `put`.
    pub(super) fn compress_all(
        &mut self,
        codec: Codec,
        inputs: Inputs<'_, '_>,
        mut put: impl FnMut(&mut Writer, &[u8]) -> Result<()>,
    ) -> Result<()> {
        /// Below, starting a thread costs more than it saves.
        const MIN_THREADED: usize = 128 << 10;
        let many = inputs.max_size.saturating_mul(inputs.count) >= MIN_THREADED;
        let threads = if many { threads::count(self.options.threads).min(inputs.count) } else { 1 };
        self.encoders.ensure_count(threads, codec, self.options.zstd_level)?;
        let mut encoders = std::mem::take(&mut self.encoders);
        let outcome =
            compress(inputs, threads, self.options.thread_hooks, &mut encoders, &mut |compressed| {
                put(self, compressed)
            });
        self.encoders = encoders;
        outcome
    }

    /// Compresses the pending bytes to the last frame. An empty component has one, unless a seek table
    /// follows.
    pub(super) fn finish_frames(&mut self) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Ok(()) };
        let codec = match open.coding()? {
            Coding::Raw => return Ok(()),
            Coding::Compressed(codec)
                if open.pending.is_empty() && (open.has_frames || codec.has_table()) =>
            {
                return Ok(())
            }
            Coding::Compressed(codec) => codec,
        };
        let pending = std::mem::take(&mut open.pending);
        let mut frame = Vec::new();
        self.encoders.first(codec, self.options.zstd_level)?.encode(&pending, &mut frame)?;
        self.store_frame(codec, &frame)
    }

    /// Stores a frame, and keeps its size if a seek table will follow.
    pub(super) fn store_frame(&mut self, codec: Codec, frame: &[u8]) -> Result<()> {
        if let Some(open) = self.component.as_mut().filter(|_| codec.has_table()) {
            let size = u32::try_from(frame.len());
            open.frame_sizes.try_reserve(1)?;
            open.frame_sizes.push(size.map_err(|_| fail!(Limit, "a frame passes 2^32 bytes"))?);
        }
        self.store(frame)
    }

    /// Stores the seek table, if the encoding has one.
    pub(super) fn store_table(&mut self) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Ok(()) };
        match open.coding()? {
            Coding::Compressed(codec) if codec.has_table() => {}
            Coding::Compressed(_) | Coding::Raw => return Ok(()),
        }
        let (sizes, mut table) = (std::mem::take(&mut open.frame_sizes), Vec::new());
        encode_seek_table(&sizes, self.options.frame_size, open.bytes_in, &mut table)?;
        self.store(&table)
    }
}
