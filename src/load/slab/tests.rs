//! Slices compared with a naive loop, and arguments that are refused.

use super::*;
use crate::error::Cause;
use crate::memory::take_front;

/// Functions for tests only.
impl Slab {
    /// Whether the result is one contiguous run of the array's bytes.
    fn is_contiguous(&self) -> bool {
        self.inner.count == 1
    }

    /// The contiguous runs in the order of the result. Whole dimensions are part of a run.
    fn runs(&self) -> impl Iterator<Item = ContiguousRun> + '_ {
        self.windows().flat_map(|window| window.runs())
    }

    /// Copies the slice out of the whole array into `dst`, which has exactly `size` bytes.
    fn gather(&self, source: &[u8], mut dst: &mut [u8]) {
        for window in self.windows() {
            let to = take_front(&mut dst, window.dest_size()).unwrap();
            window.gather(&source[window.source_offset as usize..], to).unwrap();
        }
        assert!(dst.is_empty());
    }
}

/// Bytes that are contiguous both in the source and in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContiguousRun {
    /// Their offset in the array.
    source_offset: u64,
    /// How many.
    length: u64,
}

impl StridedBlocks {
    /// Its contiguous runs.
    fn runs(self) -> impl Iterator<Item = ContiguousRun> {
        (0..self.count).map(move |i| ContiguousRun {
            source_offset: self.source_offset + i * self.stride,
            length: self.block,
        })
    }
}

/// A small generator of random numbers: the same cases in every run.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The slice by plain recursion: dimension by dimension, element by element.
fn naive(
    source: &[u8],
    shape: &[u64],
    start: &[u64],
    count: &[u64],
    step: &[u64],
    element: usize,
) -> Vec<u8> {
    fn walk(
        out: &mut Vec<u8>,
        source: &[u8],
        at: u64,
        rest: &[(u64, u64, u64, u64)], // extent, start, count, step
        element: usize,
    ) {
        let Some(&(extent, start, count, step)) = rest.first() else {
            let at = at as usize * element;
            return out.extend_from_slice(&source[at..at + element]);
        };
        for i in 0..count {
            walk(out, source, at * extent + start + i * step, &rest[1..], element);
        }
    }
    let dims: Vec<_> = (0..shape.len()).map(|i| (shape[i], start[i], count[i], step[i])).collect();
    let mut out = Vec::new();
    walk(&mut out, source, 0, &dims, element);
    out
}

/// Tests all functions with one slice.
fn compare(shape: &[u64], start: &[u64], count: &[u64], step: &[u64], element: usize) {
    let said = format!("shape {shape:?} start {start:?} count {count:?} step {step:?} element {element}");
    let total = shape.iter().product::<u64>() as usize * element;
    let source: Vec<u8> = (0..total as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
    let want = naive(&source, shape, start, count, step, element);
    let slab = Slab::new(shape, start, count, Some(step), element as u64).unwrap();
    assert_eq!(slab.size(), want.len() as u64, "{said}");

    let mut got = vec![0xEE; want.len()];
    slab.gather(&source, &mut got);
    assert_eq!(got, want, "gather: {said}");

    let mut by_runs = Vec::new();
    for run in slab.runs() {
        by_runs.extend_from_slice(&source[run.source_offset as usize..][..run.length as usize]);
    }
    assert_eq!(by_runs, want, "runs: {said}");
    assert_eq!(slab.is_contiguous() && !want.is_empty(), slab.runs().count() == 1, "{said}");

    for (limit, gap) in [(0, 0), (7, 3), (64, 8), (1 << 20, 1 << 20), (u64::MAX, u64::MAX)] {
        let mut got = vec![0xEE; want.len()];
        let mut filled = 0;
        for piece in slab.windows().flat_map(|window| window.split_for_reads(limit, gap)) {
            assert!(piece.count == 1 || piece.source_size() <= limit, "{said}");
            assert!(piece.count == 1 || piece.stride - piece.block <= gap, "{said}");
            let from = &source[piece.source_offset as usize..][..piece.source_size() as usize];
            let size = piece.dest_size() as usize;
            piece.gather(from, &mut got[filled..][..size]).unwrap();
            filled += size;
        }
        assert_eq!(got, want, "pieces of {limit}, gap {gap}: {said}");
        assert_eq!(filled as u64, slab.size());
    }
    assert_eq!(slab.windows().count() as u64, slab.window_count());
    assert_eq!(slab.window(slab.window_count()), None);
}

#[test]
fn random_slices_equal_the_naive_loop() {
    let mut random = Lcg(1);
    for case in 0..2000 {
        let rank = case % 7;
        let widest = [1, 600, 40, 14, 8, 5, 4][rank];
        let element = [1, 2, 4, 8, 16, 3][random.below(6) as usize];
        let (mut shape, mut start, mut count, mut step) = (vec![], vec![], vec![], vec![]);
        for _ in 0..rank {
            let extent = random.below(widest) + u64::from(random.below(20) != 0);
            // Take half of the dimensions whole, because merging dimensions is the difficult part.
            if random.below(2) == 0 {
                shape.push(extent);
                start.push(0);
                count.push(extent);
                step.push(1);
                continue;
            }
            let by = 1 + random.below(3);
            let from = random.below(extent + 1);
            let most = if from < extent { (extent - 1 - from) / by + 1 } else { 0 };
            shape.push(extent);
            start.push(from);
            count.push(if random.below(4) == 0 { most } else { random.below(most + 1) });
            step.push(by);
        }
        compare(&shape, &start, &count, &step, element);
    }
}

#[test]
fn edges() {
    compare(&[], &[], &[], &[], 8);
    compare(&[5], &[5], &[0], &[1], 4);
    compare(&[0], &[0], &[0], &[9], 4);
    compare(&[0, 3], &[0, 1], &[0, 2], &[1, 1], 4);
    compare(&[4, 6], &[0, 0], &[4, 3], &[1, 2], 2); // both dimensions step evenly: one window
    let slab = Slab::new(&[4, 6], &[0, 0], &[4, 3], Some(&[1, 2]), 2).unwrap();
    assert_eq!(slab.window_count(), 1);
    let slab = Slab::new(&[4, 6, 5], &[1, 0, 0], &[2, 6, 5], None, 2).unwrap();
    let run = ContiguousRun { source_offset: 60, length: 120 };
    assert_eq!(slab.runs().collect::<Vec<_>>(), [run]);
}

#[test]
fn a_wide_step_is_few_pieces() {
    let slab = Slab::new(&[100_000_000], &[0], &[50_000_000], Some(&[2]), 4).unwrap();
    assert_eq!(slab.window_count(), 1);
    let pieces: Vec<_> = slab.windows().flat_map(|window| window.split_for_reads(4 << 20, 4096)).collect();
    assert!(pieces.len() < 100, "{}", pieces.len());
    assert_eq!(pieces.iter().map(StridedBlocks::dest_size).sum::<u64>(), slab.size());
    // One column of a huge matrix. The gaps are never read.
    let slab = Slab::new(&[1000, 1 << 40], &[0, 3], &[1000, 1], None, 4).unwrap();
    assert_eq!(slab.windows().flat_map(|window| window.split_for_reads(1 << 20, 4096)).count(), 1000);
}

#[test]
fn refused() {
    let refused = |shape: &[u64], start: &[u64], count: &[u64], step: Option<&[u64]>, width, words: &str| {
        let error = Slab::new(shape, start, count, step, width).unwrap_err();
        assert_eq!(error.cause(), Cause::InvalidArgument);
        assert!(error.message().contains(words), "{error}");
    };
    refused(&[2], &[0, 0], &[1], None, 4, "1 dimensions, start 2");
    refused(&[2], &[0], &[], None, 4, "count 0");
    refused(&[2], &[0], &[1], Some(&[]), 4, "step 0");
    refused(&[2, 2], &[0, 0], &[1, 1], Some(&[1, 0]), 4, "dimension 1: step 0");
    refused(&[2, 3], &[0, 3], &[1, 1], None, 4, "dimension 1: start 3 + 1 positions with step 1");
    refused(&[2, 3], &[0, 4], &[1, 0], None, 4, "dimension 1: start 4");
    refused(&[10], &[1], &[4], Some(&[3]), 4, "end at 10");
    refused(&[10], &[1], &[u64::MAX], Some(&[2]), 4, "dimension 0");
    refused(&[10], &[u64::MAX], &[1], None, 4, "dimension 0");
    refused(&[10], &[1], &[2], Some(&[u64::MAX]), 4, "dimension 0");
    refused(&[1 << 32, 1 << 32], &[0, 0], &[1, 1], None, 1, "more than 2^64");
    refused(&[1], &[0], &[1], None, 0, "0 bytes");
    // The slice is empty, so the size of the array may overflow.
    let slab = Slab::new(&[1 << 40, 1 << 40], &[0, 0], &[1, 0], None, 8).unwrap();
    assert_eq!((slab.size(), slab.runs().count()), (0, 0));
    // The largest array whose size does not overflow.
    let slab = Slab::new(&[u64::MAX], &[u64::MAX - 1], &[1], None, 1).unwrap();
    assert_eq!(slab.runs().next().unwrap().source_offset, u64::MAX - 1);
}

#[test]
fn memory_of_the_wrong_size() {
    let slab = Slab::new(&[4], &[1], &[2], None, 2).unwrap();
    let window = slab.window(0).unwrap();
    assert_eq!(window.gather(&[0; 3], &mut [0; 4]).unwrap_err().cause(), Cause::BufferSize);
    assert_eq!(window.gather(&[0; 4], &mut [0; 3]).unwrap_err().cause(), Cause::BufferSize);
}
