//! Random numbers derived from the complete input, for choices that do not need their own bytes.

/// A small generator.
pub struct Random(u64);

impl Random {
    /// Seeded by the complete input (FNV-1a).
    pub fn of(bytes: &[u8]) -> Random {
        let hash = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3);
        Random(bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// 31 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// Below `n`; 0 for 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next().checked_rem(n).unwrap_or(0)
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
