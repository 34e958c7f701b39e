//! Fast path: the frames of several objects are compressed in parallel, however small each object is. With
//! one object after the other, all threads but one would be idle if each has a frame or few. It is not for a
//! single object, whose own frames are compressed in parallel anyway.

use super::DenseSpec;
use crate::codec::Codec;
use crate::error::{fail, Result};
use crate::model::manifest::RareNames;
use crate::writer::content_index::Content;
use crate::writer::frames::Inputs;
use crate::writer::state::Writer;

impl Writer {
    /// Compresses the frames of all these objects in parallel, and writes them in order.
    pub(super) fn compress_in_parallel(&mut self, codec: Codec, run: &[DenseSpec<'_>]) -> Result<()> {
        let frame_size = usize::try_from(self.options.frame_size).unwrap_or(usize::MAX);
        // An empty object has one empty frame.
        let count_of = |request: &DenseSpec<'_>| request.data.len().div_ceil(frame_size).max(1);
        let mut frames: Vec<&[u8]> = Vec::new();
        frames.try_reserve_exact(
            run.iter().fold(0, |sum: usize, request| sum.saturating_add(count_of(request))),
        )?;
        for request in run {
            frames.extend(request.data.chunks(frame_size));
            if request.data.is_empty() {
                frames.push(&[]);
            }
        }
        let max_size = frames.iter().map(|frame| frame.len()).max().unwrap_or(0);
        let inputs = Inputs {
            count: frames.len(),
            max_size,
            input: &|at| frames.get(at).copied().unwrap_or_default(),
        };
        let mut requests = run.iter();
        let mut current: Option<(&DenseSpec<'_>, usize)> = None;
        self.compress_all(codec, inputs, |writer, frame| {
            let (request, left) = match current.take() {
                Some(current) => current,
                None => {
                    let request = requests.next().ok_or_else(|| fail!(Internal, "a frame of no request"))?;
                    let (entry, size) = (writer.dense_entry(request)?, request.data.len() as u64);
                    let algorithm = request.digest.unwrap_or(writer.options.digest);
                    writer.start_component(
                        entry,
                        RareNames::default(),
                        algorithm,
                        Some(size),
                        false,
                        Content::Untracked,
                    )?;
                    if let Some(open) = writer.component.as_mut() {
                        open.bytes_in = size;
                        open.hash_decoded(request.data);
                    }
                    (request, count_of(request))
                }
            };
            if !(request.data.is_empty() && codec.has_table()) {
                writer.store_frame(codec, frame)?; // a seek table has no empty frame
            }
            match left.saturating_sub(1) {
                0 => writer.push_dense_object(request),
                left => {
                    current = Some((request, left));
                    Ok(())
                }
            }
        })
    }
}
