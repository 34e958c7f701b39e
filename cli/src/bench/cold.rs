//! A page cache without the bytes that are to be read.

use super::reads::{self, Plan};
use std::thread::sleep;
use std::time::Duration;
use ztensor::error::Result;
use ztensor::reader::{Advice, File};

/// What is in use by another program for a moment goes at another try.
const TRIES: u32 = 5;
/// How many places are sampled at most.
const SAMPLES: u64 = 2048;
/// The largest share of a model that may still be in memory in a run that counts as one from the disk.
pub const MAX_WARM_SHARE: f64 = 0.01;

/// Asks the system to give the files up; the share of the bytes that is in memory all the same, none where
/// the system does not tell.
pub fn evict(file: &File, plan: &Plan) -> Result<Option<f64>> {
    for part in reads::paths(file) {
        if let Ok(part) = std::fs::File::open(part) {
            let _ = part.sync_data(); // what is not written yet stays in memory
        }
    }
    let mut left = None;
    for again in 0..TRIES {
        if again > 0 {
            sleep(Duration::from_millis(50));
        }
        file.advise_all(Advice::Evict)?; // also the pages that tensors share
        let mut all = file.objects().flat_map(|object| object.components());
        all.try_for_each(|component| component.advise(Advice::Evict))?;
        left = resident(file, plan);
        if left.is_none_or(|left| left <= MAX_WARM_SHARE) {
            break;
        }
    }
    Ok(left)
}

/// The share of the stored bytes that is in the page cache, by places evenly spaced.
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
