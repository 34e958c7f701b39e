//! Blocks of numbers against what ggml's C makes of them: see `tests/data/blocks/make.sh`, whose numbers
//! these are.

use super::*;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicUsize, Ordering};

const SUMS: &str = include_str!("../../../tests/data/blocks/quantized.txt");

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// -1 to 1.
    fn unit(&mut self) -> f32 {
        self.next() as i32 as f32 / 2_147_483_648.0
    }

    /// With an exponent from there on; 0 gives subnormal numbers.
    fn with_exponent(&mut self, first: u32, count: u32) -> f32 {
        let bits = self.next() & 0x807F_FFFF;
        f32::from_bits(bits | (first + self.next() % count) << 23)
    }

    fn number(&mut self, kind: u32, of_block: u32) -> f32 {
        match kind {
            0 => self.unit(),
            1 => (1..4).fold(self.unit(), |sum, _| sum + self.unit()) * 0.03125, // as in a model
            2 => self.with_exponent(0, if of_block % 2 == 1 { 142 } else { 255 }), // any
            3 => self.with_exponent(0, 24),                                      // tiny
            4 => self.with_exponent(70, 10),                                     // where iq4_nl has no scale
            5 => self.with_exponent(136, 14),                                    // at the largest scale
            6 => match self.next() {
                bits if bits % 4 > 0 => f32::from_bits(bits & 0x8000_0000), // zeros of both signs
                _ => self.unit(),
            },
            7 => ((self.next() % 31) as i32 - 15) as f32 * 0.5, // ties
            8 => {
                // Just below a power of two.
                let which = of_block % 276;
                let power = if which < 22 { 2 << which } else { (which - 21) << 23 };
                let magnitude = power - self.next() % 64 % power;
                f32::from_bits(magnitude | self.next() & 0x8000_0000)
            }
            _ => {
                let magnitude = (of_block & 0x007F_FFFF) | (100 + of_block % 40) << 23; // one for all
                f32::from_bits(magnitude | self.next() & 0x8000_0000)
            }
        }
    }
}

/// Compares the digest of the blocks that are made of numbers of one kind.
fn compare(line: &str) -> u64 {
    let [name, kind, count, sum] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let (kind, count): (u32, u64) = (kind.parse().unwrap(), count.parse().unwrap());
    let one = of(Some(Logical::from_name(&format!("gguf.{name}")).unwrap())).unwrap();
    let (mut source, mut hash) = (Numbers(40), Sha256::new());
    let (mut numbers, mut block) = (vec![0f32; one.elements], vec![0u8; one.bytes]);
    for _ in 0..count {
        let of_block = source.next();
        numbers.fill_with(|| source.number(kind, of_block));
        block.fill(0xA5); // all of it is written
        if (one.quantize.unwrap())(&numbers, &mut block).is_none() {
            hash.update(&block);
        }
    }
    let found: String = hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, sum, "{count} blocks of {name}, numbers of kind {kind}");
    count
}

#[test]
fn many_blocks_of_each_type_are_what_ggml_makes_of_the_numbers() {
    let (lines, next) = (SUMS.lines().collect::<Vec<_>>(), AtomicUsize::new(0));
    let one = || lines.get(next.fetch_add(1, Ordering::Relaxed)).map(|line| compare(line));
    let work = || std::iter::from_fn(one).sum::<u64>();
    let compared: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(compared, 1_800_000);
}

/// The instructions that not every processor has change nothing, and blocks do not depend on their
/// neighbours.
#[test]
fn many_blocks_are_the_blocks_one_by_one() {
    for logical in Logical::ALL {
        let Some((one, quantize)) = of(Some(logical)).and_then(|one| Some((one, one.quantize?))) else {
            continue;
        };
        let mut source = Numbers(7);
        let numbers: Vec<f32> = (0..one.elements * 33).map(|_| source.number(1, 0)).collect();
        let (mut all, mut each) = (vec![0; one.bytes * 33], vec![0; one.bytes * 33]);
        assert_eq!(quantize(&numbers, &mut all), None);
        for (numbers, block) in numbers.chunks(one.elements).zip(each.chunks_mut(one.bytes)) {
            assert_eq!(quantize(numbers, block), None);
        }
        assert!(all == each, "{}", logical.name());
        let mut back = vec![0f32; numbers.len()];
        one.decode(&all, &mut back);
        let largest = largest(&numbers);
        let is_near = |(x, y): (&f32, &f32)| (x - y).abs() <= largest * 0.51;
        assert!(numbers.iter().zip(&back).all(is_near), "{}", logical.name());
    }
}

#[test]
fn the_block_whose_scale_does_not_fit_is_named() {
    for logical in Logical::ALL {
        let Some((one, quantize)) = of(Some(logical)).and_then(|one| Some((one, one.quantize?))) else {
            continue;
        };
        let mut numbers = vec![1f32; one.elements * 4];
        numbers[one.elements * 2 + 5] = f32::MAX;
        let refused = quantize(&numbers, &mut vec![0; one.bytes * 4]);
        assert_eq!(refused, (logical != Logical::Mxfp4).then_some(2), "{}", logical.name());
    }
}
