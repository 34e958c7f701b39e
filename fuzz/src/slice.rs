//! Compares hyperslabs with a simple way: load everything, and pick the elements.

use crate::random::Random;
use crate::read::check_error;
use ztensor::model::manifest::Format;
use ztensor::reader::{Hyperslab, Object};

pub fn some(object: &Object<'_>, random: &mut Random) {
    let shape = object.shape();
    if object.format() != Format::Dense || shape.len() > 8 {
        let slab = Hyperslab { start: &[], count: &[], step: None };
        if let Err(e) = object.read_slice(&slab, &mut []) {
            check_error(&e);
        }
        return;
    }
    let data = object.component("data").expect("a dense object does not have data");
    let loaded = data.load();
    for _ in 0..3 {
        let mut slab = [Vec::new(), Vec::new(), Vec::new()];
        let mut elements = 1u64;
        for d in shape {
            let start = random.below(d.saturating_add(1));
            let most = d - start;
            let step = 1 + random.below(3);
            let count = random.below((most.div_ceil(step)).min(5) + 1);
            slab[0].push(start);
            slab[1].push(count);
            slab[2].push(step);
            elements = elements.saturating_mul(count);
        }
        let step = random.once_in(2).then_some(&slab[2][..]);
        let step = step.or_else(|| slab[2].iter().any(|s| *s != 1).then_some(&slab[2][..]));
        let Some(dtype) = data.dtype() else { return };
        let width = dtype.size() * data.known_logical().map_or(1, |t| t.ratio() as usize);
        let mut memory = vec![0x11; elements as usize * width + 1];
        let sliced = object.read_slice(&Hyperslab { start: &slab[0], count: &slab[1], step }, &mut memory);
        if let Err(e) = &sliced {
            check_error(e);
        }
        let Ok(loaded) = &loaded else { continue };
        if data.entry().block().is_some_and(|block| block.elements > 1) {
            continue; // elements that share bytes are read in whole blocks, or rejected
        }
        if data.logical_name().is_some() && data.known_logical().is_none() {
            continue; // the width of an unknown type's elements is unknown
        }
        if let Err(e) = &sliced {
            // Completely, it decodes in one call; in pieces it would need that window.
            assert!(e.message().contains("has a window over 2^27"), "{slab:?} of {shape:?}: {e}");
            continue;
        }
        assert_eq!(memory.pop(), Some(0x11));
        assert_eq!(memory, plainly(loaded.as_slice(), shape, &slab, width), "{slab:?} of {shape:?}");
    }
}

fn plainly(bytes: &[u8], shape: &[u64], slab: &[Vec<u64>; 3], width: usize) -> Vec<u8> {
    let [start, count, step] = slab;
    let mut out = Vec::new();
    let mut at = vec![0u64; shape.len()];
    if count.contains(&0) {
        return out;
    }
    loop {
        let index = (0..shape.len()).fold(0, |i, d| i * shape[d] + start[d] + at[d] * step[d]) as usize;
        out.extend_from_slice(&bytes[index * width..][..width]);
        let mut d = shape.len();
        loop {
            if d == 0 {
                return out;
            }
            d -= 1;
            at[d] += 1;
            if at[d] < count[d] {
                break;
            }
            at[d] = 0;
        }
    }
}
