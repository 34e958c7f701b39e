//! CRC-32 as archives have it (IEEE 802.3).

use crate::error::{broken, Result, Rule};

/// A sum that is computed.
pub(crate) struct Crc32(crc32fast::Hasher);

impl Crc32 {
    /// The CRC of no bytes.
    pub(crate) fn new() -> Crc32 {
        Crc32(crc32fast::Hasher::new())
    }

    /// Adds bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Compares it with what is expected.
    pub(crate) fn check(self, expected: u32) -> Result<()> {
        let found = self.0.finalize();
        match found == expected {
            true => Ok(()),
            false => Err(broken!(
                Rule::ZipChecksum,
                "its CRC-32 is {found:#010x}, but the archive says {expected:#010x}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_archives() {
        let of = |pieces: &[&[u8]]| {
            let mut sum = Crc32::new();
            pieces.iter().for_each(|piece| sum.update(piece));
            sum
        };
        of(&[b"123456789"]).check(0xcbf4_3926).unwrap();
        of(&[b"1234", b"56789"]).check(0xcbf4_3926).unwrap();
        of(&[]).check(0).unwrap();
        let error = of(&[b"123456788"]).check(0xcbf4_3926).unwrap_err();
        assert!(error.rule() == Some(Rule::ZipChecksum) && error.message().contains("0xcbf43926"));
    }
}
