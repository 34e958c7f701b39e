//! zstd frames, compressed side by side.

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::payload::zstd::FrameEncoder;
use crate::threads;

/// Each `frame` bytes of `data` as a zstd frame of its own, in order.
pub(super) fn compress(data: &[u8], frame: usize, encoders: &mut [FrameEncoder]) -> Result<Vec<Vec<u8>>> {
    let count = data.len().div_ceil(frame.max(1));
    let threads = encoders.len().min(count);
    let queue = Lock::new(data.chunks(frame.max(1)).enumerate());
    let mut results: Vec<Vec<u8>> = Vec::new();
    results.try_reserve_exact(count)?;
    results.resize_with(count, Vec::new);
    let results = Lock::new((results, None::<Error>));
    let free = Lock::new(encoders.iter_mut());
    threads::run(threads, &|| {
        let Some(encoder) = free.hold().next() else { return };
        loop {
            let next = queue.hold().next();
            let Some((at, input)) = next else { return };
            let mut output = Vec::new();
            let outcome = encoder.encode(input, &mut output);
            let mut results = results.hold();
            match outcome {
                Ok(()) => {
                    if let Some(place) = results.0.get_mut(at) {
                        *place = output;
                    }
                }
                Err(error) => results.1 = Some(error),
            }
        }
    });
    match results.into_inner() {
        (_, Some(error)) => Err(error),
        (frames, None) => Ok(frames),
    }
}
