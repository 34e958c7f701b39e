//! Removes the bytes to read from the page cache.

use super::reads::{self, Plan};
use std::thread::sleep;
use std::time::Duration;
use ztensor::error::Result;
use ztensor::reader::{Advice, File};

/// Pages that another program uses for a moment are removed by a later try.
const TRIES: u32 = 5;
/// The most places that are sampled.
const SAMPLES: u64 = 2048;
/// The largest share of a model that may still be in memory in a run that counts as one from the disk.
pub const MAX_WARM_SHARE: f64 = 0.01;

/// Tells the system to evict the files. Returns the share of the bytes that is still in memory; `None` if the
/// system does not report it.
pub fn evict(file: &File, plan: &Plan) -> Result<Option<f64>> {
    for part in reads::paths(file) {
        if let Ok(part) = std::fs::File::open(part) {
            let _ = part.sync_data(); // bytes that are not written yet stay in memory
        }
    }
    let mut left = None;
    for again in 0..TRIES {
        if again > 0 {
            sleep(Duration::from_millis(50));
        }
        file.advise_all(Advice::Evict)?; // includes pages that tensors share
        let mut all = file.objects().flat_map(|object| object.components());
        all.try_for_each(|component| component.advise(Advice::Evict))?;
        left = resident(file, plan);
        if left.is_none_or(|left| left <= MAX_WARM_SHARE) {
            break;
        }
    }
    Ok(left)
}

/// The share of the stored bytes that is in the page cache, from evenly spaced samples.
fn resident(file: &File, plan: &Plan) -> Option<f64> {
    let step = plan.stored.div_ceil(SAMPLES).max(4096);
    let (mut here, mut known, mut next, mut before) = (0u64, 0u64, 0u64, 0u64);
    for range in plan.batches.iter().flat_map(|batch| &batch.ranges) {
        while next < before + range.stored {
            let found =
                file.part(range.part).and_then(|part| part.is_resident(range.offset + (next - before)));
            known += u64::from(found.is_some());
            here += u64::from(found == Some(true));
            next += step;
        }
        before += range.stored;
    }
    (known > 0).then(|| here as f64 / known as f64)
}
