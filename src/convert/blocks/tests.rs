//! Blocks of every type against what ggml's C makes of them: see `tests/data/blocks/make.sh`.

use super::super::{convert, converted_size, MIN_NONTEMPORAL};
use super::*;
use crate::error::{Cause, Rule};
use crate::model::dtype::{Dtype, Numbers};
use sha2::{Digest, Sha256};

const VECTORS: &str = include_str!("../../../tests/data/blocks/vectors.txt");

/// A type, its blocks, and for each block the beginning of the SHA-256 of its elements in hexadecimal digits.
fn vectors() -> Vec<(Logical, Vec<u8>, Vec<&'static str>)> {
    let mut all: Vec<(Logical, Vec<u8>, Vec<&'static str>)> = Vec::new();
    for line in VECTORS.lines() {
        let [name, block, sum] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let logical = Logical::from_name(&format!("gguf.{name}")).unwrap();
        if all.last().is_none_or(|(last, ..)| *last != logical) {
            all.push((logical, Vec::new(), Vec::new()));
        }
        let (_, blocks, sums) = all.last_mut().unwrap();
        blocks.extend(
            (0..block.len()).step_by(2).map(|at| u8::from_str_radix(&block[at..at + 2], 16).unwrap()),
        );
        sums.push(sum);
    }
    all
}

/// Elements of some bytes of blocks, as a part of `all` bytes. Their memory begins `lead` bytes behind where
/// any type may.
fn converted(logical: Logical, blocks: &[u8], to: Dtype, (lead, all): (usize, u64)) -> Vec<u8> {
    let from = (Dtype::U8, Some(logical));
    let size = usize::try_from(converted_size(blocks.len() as u64, from, to).unwrap()).unwrap();
    let mut memory = vec![0xA5; size + 40];
    let lead = memory.as_ptr().addr().wrapping_neg() % 16 + lead;
    convert(blocks, from, to, &mut memory[lead..lead + size], all).unwrap();
    assert!(memory[..lead].iter().chain(&memory[lead + size..]).all(|byte| *byte == 0xA5));
    memory[lead..lead + size].to_vec()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn every_type_is_what_ggml_makes_of_it() {
    let all = vectors();
    let types: Vec<_> = Logical::ALL.into_iter().filter(|t| t.is_block_type()).collect();
    assert!(types.iter().all(|t| t.numbers() == Numbers::Blocks));
    for logical in Logical::ALL {
        assert_eq!(of(Some(logical)).is_some(), logical.numbers() == Numbers::Blocks, "{}", logical.name());
    }
    assert!(types.iter().all(|t| all.iter().any(|(with, _, sums)| with == t && sums.len() == 16)));
    for (logical, blocks, sums) in &all {
        let one = of(Some(*logical)).unwrap();
        for (at, (block, sum)) in blocks.chunks_exact(one.bytes).zip(sums).enumerate() {
            let elements = floats(&converted(*logical, block, Dtype::F32, (0, 0)));
            let bits = elements.iter().map(|x| if x.is_nan() { 0x7FC0_0000 } else { x.to_bits() });
            let found = Sha256::digest(bits.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
            let found: String = found[..16].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, *sum, "{} block {at}", logical.name());
        }
    }
}

/// Many blocks at once, wherever the result begins, and as other floats, are the f32 of each block.
#[test]
fn other_floats_are_the_f32_rounded_once() {
    for (logical, blocks, _) in vectors() {
        let many = blocks.repeat(9); // more than a piece, and a part of one
        let one = of(Some(logical)).unwrap();
        let each: Vec<u8> =
            many.chunks_exact(one.bytes).flat_map(|b| converted(logical, b, Dtype::F32, (0, 0))).collect();
        assert_eq!(each.len(), many.len() / one.bytes * one.elements * 4);
        for place in [0, 1, 4, 7, 16].into_iter().flat_map(|lead| [(lead, 0), (lead, MIN_NONTEMPORAL)]) {
            assert!(converted(logical, &many, Dtype::F32, place) == each, "{} at {place:?}", logical.name());
        }
        for to in [Dtype::F64, Dtype::F16, Dtype::Bf16] {
            let mut wanted = vec![0; each.len() / 4 * to.size()];
            let lost = convert(&each, (Dtype::F32, None), to, &mut wanted, 0).unwrap();
            for all in [0, MIN_NONTEMPORAL] {
                let mut found = vec![0; wanted.len()];
                assert_eq!(convert(&many, (Dtype::U8, Some(logical)), to, &mut found, all).unwrap(), lost);
                assert!(found == wanted, "{} as {} of {all}", logical.name(), to.name());
            }
        }
    }
}

#[test]
fn blocks_are_not_cut_and_become_no_integers() {
    for logical in Logical::ALL.into_iter().filter(|logical| logical.is_block_type()) {
        let (from, block) = ((Dtype::U8, Some(logical)), logical.block());
        assert_eq!(converted_size(3 * block.bytes, from, Dtype::F16).unwrap(), 6 * block.elements);
        for cut in [1, block.bytes - 1, block.bytes + 1] {
            assert_eq!(converted_size(cut, from, Dtype::F32).unwrap_err().rule(), Some(Rule::ElementSize));
        }
        let most = u64::MAX - u64::MAX % block.bytes;
        assert_eq!(converted_size(most, from, Dtype::F64).unwrap_err().cause(), Cause::Limit);
        for to in [Dtype::I8, Dtype::U64, Dtype::Bool] {
            let error = converted_size(block.bytes, from, to).unwrap_err();
            assert_eq!(error.cause(), Cause::Unsupported);
            assert!(error.message().contains(logical.name()) && error.message().contains(to.name()));
        }
    }
}

/// What the processor's instructions give is what the formula gives: the blocks of the vectors, as they are
/// and with other codes.
#[test]
fn quick_paths_equal_the_portable_one() {
    let (mut state, mut compared) = (0u64, 0);
    for (logical, blocks, _) in vectors() {
        let one = of(Some(logical)).unwrap();
        for round in 0..200 {
            let mut src = blocks.clone();
            for byte in src.iter_mut().filter(|_| round > 0) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // In every other round three of four bytes stay, so that most scales do.
                *byte = if round % 2 == 0 && state >> 62 > 0 { *byte } else { (state >> 40) as u8 };
            }
            let count = src.len() / one.bytes * one.elements;
            let (mut quick, mut portable) = (vec![0f32; count], vec![1f32; count]);
            if !(one.quick)(&src, &mut quick) {
                break;
            }
            compared += usize::from(round == 0);
            (one.portable)(&src, &mut portable);
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            let wrong = quick.iter().zip(&portable).position(|pair| !same(pair));
            assert_eq!(wrong, None, "{} in round {round}", logical.name());
        }
    }
    #[cfg(target_arch = "x86_64")]
    let expected = if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") { 25 } else { 0 };
    #[cfg(not(target_arch = "x86_64"))]
    let expected = 0;
    assert_eq!(compared, expected, "types with a quick path");
}
