//! The minimum, maximum, mean and deviation of numbers that come in chunks, and histograms.

use crate::text;

/// The statistics so far. NaN and infinities are only counted.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub count: u64,
    pub nan: u64,
    pub infinite: u64,
    pub zero: u64,
    finite: u64,
    least: f64,
    greatest: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Summary {
    /// Adds numbers. A chunk is summarised, then joined with the rest by the formula of Chan and others.
    pub fn add(&mut self, numbers: &[f64]) {
        let mut chunk = Summary { count: numbers.len() as u64, ..Summary::default() };
        let (mut sum, mut least, mut greatest) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for &number in numbers {
            if number.is_finite() {
                chunk.finite += 1;
                chunk.zero += u64::from(number == 0.0);
                sum += number;
                least = number.min(least);
                greatest = number.max(greatest);
            } else if number.is_nan() {
                chunk.nan += 1;
            } else {
                chunk.infinite += 1;
            }
        }
        (chunk.least, chunk.greatest) = (least, greatest);
        if chunk.finite > 0 {
            chunk.mean = sum / chunk.finite as f64;
            let finite = numbers.iter().filter(|number| number.is_finite());
            chunk.squares = finite.map(|number| (number - chunk.mean).powi(2)).sum();
        }
        self.join(&chunk);
    }

    fn join(&mut self, other: &Summary) {
        self.count += other.count;
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zero += other.zero;
        if other.finite == 0 {
            return;
        }
        if self.finite == 0 {
            (self.least, self.greatest) = (other.least, other.greatest);
        }
        let (here, there) = (self.finite as f64, other.finite as f64);
        let (all, distance) = (here + there, other.mean - self.mean);
        self.mean += distance * (there / all);
        self.squares += other.squares + distance * distance * (here * there / all);
        self.finite += other.finite;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    fn of_finite(&self, number: f64) -> Option<f64> {
        Some(number).filter(|number| self.finite > 0 && number.is_finite())
    }

    pub fn min(&self) -> Option<f64> {
        self.of_finite(self.least)
    }

    pub fn max(&self) -> Option<f64> {
        self.of_finite(self.greatest)
    }

    pub fn mean(&self) -> Option<f64> {
        self.of_finite(self.mean)
    }

    /// The standard deviation of the whole population.
    pub fn deviation(&self) -> Option<f64> {
        self.of_finite((self.squares / self.finite as f64).sqrt())
    }
}

/// How many finite numbers are in each of several ranges with equal width. The last range includes its upper
/// end.
pub struct Histogram {
    least: f64,
    greatest: f64,
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Ranges from the smallest to the largest number, if there are any.
    pub fn over(summary: &Summary, bins: usize) -> Option<Histogram> {
        Some(Histogram { least: summary.min()?, greatest: summary.max()?, counts: vec![0; bins] })
    }

    pub fn add(&mut self, numbers: &[f64]) {
        let last = self.counts.len() - 1;
        // Use halves if the difference between them exceeds the largest number.
        let unit = if (self.greatest - self.least).is_finite() { 1.0 } else { 0.5 };
        let width = self.greatest * unit - self.least * unit;
        for number in numbers.iter().filter(|number| number.is_finite()) {
            // `as` saturates, and converts NaN to 0: 0 / 0 occurs if all numbers are equal.
            let bin = (number * unit - self.least * unit) / width * self.counts.len() as f64;
            self.counts[(bin as usize).min(last)] += 1;
        }
    }

    /// The start of each range, and the end of the last one.
    pub fn edges(&self) -> Vec<f64> {
        let bins = self.counts.len();
        let edge = |at: usize| match at {
            at if at == bins => self.greatest,
            at => {
                let part = at as f64 / bins as f64;
                self.least * (1.0 - part) + self.greatest * part
            }
        };
        (0..=bins).map(edge).collect()
    }

    /// A line for each range, with a bar.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        const WIDEST: u64 = 36; // so that the line has less than 80 columns
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let edges = self.edges();
        self.counts.iter().enumerate().map(move |(at, &count)| {
            let length = (count as f64 / most as f64 * WIDEST as f64).ceil() as usize;
            let (from, to) = (text::number(edges[at]), text::number(edges[at + 1]));
            format!("{from:>12} .. {to:>12} {count:>12} {}", "#".repeat(length)).trim_end().to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The summary of numbers that are added in pieces of `size`.
    fn in_pieces(numbers: &[f64], size: usize) -> Summary {
        let mut summary = Summary::default();
        numbers.chunks(size).for_each(|chunk| summary.add(chunk));
        summary
    }

    #[test]
    fn pieces_make_no_difference() {
        let numbers: Vec<f64> = (0..1000).map(|n| f64::from(n * 7 % 13) - 3.5).collect();
        let mean = numbers.iter().sum::<f64>() / 1000.0;
        let deviation = (numbers.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1000.0).sqrt();
        for size in [1, 3, 256, 1000] {
            let summary = in_pieces(&numbers, size);
            assert_eq!((summary.min(), summary.max()), (Some(-3.5), Some(8.5)));
            assert!((summary.mean().unwrap() - mean).abs() < 1e-12);
            assert!((summary.deviation().unwrap() - deviation).abs() < 1e-12);
            assert_eq!((summary.count, summary.zero), (1000, 0));
        }
    }

    #[test]
    fn what_is_not_finite_is_counted_and_no_more() {
        let summary = in_pieces(&[f64::NAN, 0.0, f64::INFINITY, -0.0, f64::NEG_INFINITY, 3.0], 2);
        assert_eq!((summary.count, summary.nan, summary.infinite, summary.zero), (6, 1, 2, 2));
        assert_eq!((summary.min(), summary.max(), summary.mean()), (Some(0.0), Some(3.0), Some(1.0)));
        let nothing = in_pieces(&[f64::NAN], 1);
        assert_eq!((nothing.min(), nothing.mean(), nothing.deviation()), (None, None, None));
    }

    #[test]
    fn every_finite_number_is_in_one_range() {
        let numbers = [-1.0, -0.5, 0.0, 0.5, 1.0, f64::NAN, f64::INFINITY];
        let summary = in_pieces(&numbers, 7);
        let mut histogram = Histogram::over(&summary, 4).unwrap();
        histogram.add(&numbers);
        assert_eq!(histogram.counts, [1, 1, 1, 2]);
        assert_eq!(histogram.edges(), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(histogram.lines().count(), 4);
        let wide = [f64::MIN, f64::MAX, 0.0];
        let mut histogram = Histogram::over(&in_pieces(&wide, 3), 3).unwrap();
        histogram.add(&wide);
        assert_eq!(histogram.counts, [1, 1, 1]);
        let tiny = [0.0, 1e-310, 2e-310, 3e-310];
        let mut histogram = Histogram::over(&in_pieces(&tiny, 4), 3).unwrap();
        histogram.add(&tiny);
        assert_eq!(histogram.counts, [1, 1, 2]);
        let same = [2.0; 5];
        let mut histogram = Histogram::over(&in_pieces(&same, 2), 3).unwrap();
        histogram.add(&same);
        assert_eq!(histogram.counts.iter().sum::<u64>(), 5);
    }
}
