//! Compresses frames on several threads, and returns them in order.

use crate::codec::{Codec, Encoder};
use crate::error::{fail, Error, Result};
use crate::lock::{Mutex, MutexGuard};
use crate::memory::push;
use crate::threads::{self, ThreadHooks};
use std::sync::Condvar;

/// Frames up to this size are compressed ahead of time, and their memory is reused.
const MAX_KEPT_FRAME: usize = 8 << 20;

/// How many compressed frames of this size may wait for each thread: one large frame, or enough small ones
/// that threads rarely wait for each other.
fn frames_ahead(frame: usize) -> usize {
    match frame {
        0..=MAX_KEPT_FRAME => ((1 << 20) / frame.max(1)).clamp(4, 64),
        _ => 1,
    }
}

/// The inputs; each becomes a frame.
pub(super) struct Inputs<'i, 'd> {
    pub count: usize,
    /// The size of the largest input.
    pub max_size: usize,
    pub input: &'i (dyn Fn(usize) -> &'d [u8] + Sync),
}

/// Memory with a compressed frame of `size` bytes.
#[derive(Default)]
struct CompressedFrame {
    memory: Vec<u8>,
    size: usize,
}

/// Encoders and memory, which are reused by later calls.
#[derive(Default)]
pub(super) struct Encoders {
    /// One for each thread.
    encoders: Vec<Encoder>,
    /// Memory for frames. New memory would cost a page fault for each page.
    free: Vec<CompressedFrame>,
}

impl Encoders {
    /// Makes encoders for this codec and level until there are `count`. Drops those for another codec.
    pub(super) fn ensure_count(&mut self, count: usize, codec: Codec, level: i32) -> Result<&mut Self> {
        self.encoders.retain(|encoder| encoder.codec() == codec);
        while self.encoders.len() < count {
            push(&mut self.encoders, codec.encoder(level)?)?;
        }
        Ok(self)
    }

    /// The first encoder. It is made when it is first needed.
    pub(super) fn first(&mut self, codec: Codec, level: i32) -> Result<&mut Encoder> {
        let first = self.ensure_count(1, codec, level)?.encoders.first_mut();
        first.ok_or_else(|| fail!(Internal, "no encoder"))
    }
}

/// What the threads share.
struct PipelineState<'e> {
    /// The next frame to compress.
    next: usize,
    /// The next frame to return.
    next_out: usize,
    /// Frames that are compressed. Each is at its number modulo the length.
    done: Vec<Option<CompressedFrame>>,
    /// Memory that can be reused.
    free: Vec<CompressedFrame>,
    encoders: Vec<&'e mut Encoder>,
    failure: Option<Error>,
}

struct Pipeline<'i, 'd, 'e> {
    inputs: Inputs<'i, 'd>,
    state: Mutex<PipelineState<'e>>,
    changed: Condvar,
}

/// Compresses each input to a separate frame, and calls `store` with the frames in order, on the calling
/// thread. Up to `threads` threads compress, if there are as many encoders.
pub(super) fn compress(
    inputs: Inputs<'_, '_>,
    threads: usize,
    hooks: ThreadHooks,
    encoders: &mut Encoders,
    store: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let Encoders { encoders, free: kept } = encoders;
    let (count, frame) = (inputs.count, inputs.max_size);
    let threads = threads.min(encoders.len()).min(count);
    let window = threads.saturating_mul(frames_ahead(frame)).min(count);
    let (mut done, mut free, mut free_encoders) = (Vec::new(), std::mem::take(kept), Vec::new());
    done.try_reserve_exact(window)?;
    done.resize_with(window, || None);
    // All memory in use at once fits in the window. So does memory that was kept, or there is no more than
    // that.
    free.try_reserve_exact(window.saturating_sub(free.len()))?;
    free_encoders.try_reserve_exact(encoders.len())?;
    free_encoders.extend(encoders.iter_mut());
    let state = PipelineState { next: 0, next_out: 0, done, free, encoders: free_encoders, failure: None };
    let pipeline = Pipeline { inputs, state: Mutex::new(state), changed: Condvar::new() };
    let more = threads.saturating_sub(1);
    threads::with_workers(more, hooks, &|| pipeline.run_worker(), || pipeline.hand_out(store));
    let ended = pipeline.state.into_inner();
    if frame <= MAX_KEPT_FRAME {
        *kept = ended.free;
    }
    ended.failure.map_or(Ok(()), Err)
}

impl<'e> Pipeline<'_, '_, 'e> {
    /// The loop of a worker: compresses frames until no input is left.
    fn run_worker(&self) {
        let mut state = self.state.lock();
        let Some(encoder) = state.encoders.pop() else { return };
        let _guard = PanicGuard(self);
        while state.failure.is_none() && state.next < self.inputs.count {
            state = match self.may_take(&state) {
                true => self.compress_one(state, encoder),
                false => state.wait(&self.changed),
            };
        }
    }

    /// The loop of the calling thread: stores the next frame in order. While that is not ready, compresses
    /// others.
    fn hand_out(&self, store: &mut dyn FnMut(&[u8]) -> Result<()>) {
        let mut state = self.state.lock();
        let Some(encoder) = state.encoders.pop() else { return };
        let _guard = PanicGuard(self);
        while state.failure.is_none() && state.next_out < self.inputs.count {
            if let Some(frame) = state.take_next() {
                drop(state);
                let outcome = store(frame.memory.get(..frame.size).unwrap_or_default());
                state = self.state.lock();
                state.next_out = state.next_out.saturating_add(1);
                state.free.push(frame); // within what was reserved
                state.failure = state.failure.take().or(outcome.err());
                self.changed.notify_all();
            } else if self.may_take(&state) {
                state = self.compress_one(state, encoder);
            } else {
                state = state.wait(&self.changed);
            }
        }
    }

    /// Whether there is another input, and space for its frame.
    fn may_take(&self, state: &PipelineState<'_>) -> bool {
        state.next < self.inputs.count.min(state.next_out.saturating_add(state.done.len()))
    }

    /// Compresses the next input while the lock is released, then stores the frame in the state.
    fn compress_one<'l>(
        &'l self,
        mut state: MutexGuard<'l, PipelineState<'e>>,
        encoder: &mut Encoder,
    ) -> MutexGuard<'l, PipelineState<'e>> {
        let at = state.next;
        state.next = at.saturating_add(1);
        let mut frame = state.free.pop().unwrap_or_default();
        drop(state);
        let outcome = frame.fill((self.inputs.input)(at), self.inputs.max_size, encoder);
        let mut state = self.state.lock();
        match outcome {
            Ok(()) => state.set_done(at, frame),
            Err(error) => state.failure = Some(error),
        }
        self.changed.notify_all();
        state
    }
}

/// If a thread panics because of a bug, the others must not wait for it.
struct PanicGuard<'s, 'i, 'd, 'e>(&'s Pipeline<'i, 'd, 'e>);

impl Drop for PanicGuard<'_, '_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state.lock().failure = Some(fail!(Internal, "a thread that compresses panicked"));
            self.0.changed.notify_all();
        }
    }
}

impl PipelineState<'_> {
    fn place(&mut self, at: usize) -> Option<&mut Option<CompressedFrame>> {
        let at = at.checked_rem(self.done.len())?;
        self.done.get_mut(at)
    }

    fn take_next(&mut self) -> Option<CompressedFrame> {
        self.place(self.next_out)?.take()
    }

    fn set_done(&mut self, at: usize, frame: CompressedFrame) {
        match self.place(at) {
            Some(place) => *place = Some(frame),
            None => self.failure = Some(fail!(Internal, "no place for a frame")),
        }
    }
}

impl CompressedFrame {
    fn fill(&mut self, input: &[u8], max_size: usize, encoder: &mut Encoder) -> Result<()> {
        let bound = encoder.frame_bound(max_size);
        if self.memory.len() < bound {
            self.memory.try_reserve_exact(bound).map_err(|_| Error::out_of_memory(bound))?;
            self.memory.resize(bound, 0);
        }
        self.size = encoder.encode_to(input, &mut self.memory)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Coding;
    use crate::model::manifest::Encoding;

    #[test]
    fn no_more_frames_are_taken_than_there_are() {
        let state = |next, next_out| PipelineState {
            next,
            next_out,
            done: vec![None, None, None, None],
            free: Vec::new(),
            encoders: Vec::new(),
            failure: None,
        };
        let of = |count| Pipeline {
            inputs: Inputs { count, max_size: 1, input: &|_| &[] },
            state: Mutex::new(state(0, 0)),
            changed: Condvar::new(),
        };
        for (count, next, next_out, may) in [
            (9, 0, 0, true),
            (9, 4, 0, false),
            (9, 4, 1, true),
            (9, 8, 6, true),
            (9, 9, 6, false),
            (1, 1, 0, false),
        ] {
            assert_eq!(of(count).may_take(&state(next, next_out)), may, "{next} of {count} after {next_out}");
        }
    }

    #[test]
    fn memory_is_kept_from_one_component_to_the_next() {
        let data: Vec<u8> = (0..100_000u32).map(|i| (i / 7 * (i % 13)) as u8).collect();
        let Some(Coding::Compressed(codec)) = Coding::of(Encoding::Zstd) else { panic!("zstd is a codec") };
        let mut encoders = Encoders::default();
        let mut outputs = Vec::new();
        for threads in [1, 1, 3, 3] {
            let mut out = Vec::new();
            let inputs = Inputs { count: 100, max_size: 1000, input: &|at| &data[at * 1000..][..1000] };
            compress(
                inputs,
                threads,
                ThreadHooks::default(),
                encoders.ensure_count(threads, codec, 3).unwrap(),
                &mut |frame| {
                    out.extend_from_slice(frame);
                    Ok(())
                },
            )
            .unwrap();
            outputs.push(out);
            assert!((1..=threads * 64).contains(&encoders.free.len()), "{}", encoders.free.len());
        }
        assert!(outputs.iter().all(|out| *out == outputs[0] && !out.is_empty()));
    }
}
