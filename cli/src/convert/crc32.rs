//! CRC-32 as zip archives have it.

/// The remainders of a byte that is followed by 0 to 7 zero bytes.
const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut remainder, mut bit) = (byte as u32, 0);
        while bit < 8 {
            remainder = if remainder & 1 == 1 { remainder >> 1 ^ 0xedb8_8320 } else { remainder >> 1 };
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[zeros - 1][byte];
            tables[zeros][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

/// The sum so far.
pub struct Crc32(u32);

impl Crc32 {
    pub fn new() -> Crc32 {
        Crc32(u32::MAX)
    }

    pub fn update(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.split_at(bytes.len() - bytes.len() % 8);
        for eight in eights.chunks_exact(8) {
            let low = self.0 ^ u32::from_le_bytes([eight[0], eight[1], eight[2], eight[3]]);
            let of = |zeros: usize, byte: u32| TABLES[zeros][(byte & 0xff) as usize];
            let high = |at: usize| of(7 - at, u32::from(eight[at]));
            self.0 = of(7, low) ^ of(6, low >> 8) ^ of(5, low >> 16) ^ of(4, low >> 24);
            self.0 ^= high(4) ^ high(5) ^ high(6) ^ high(7);
        }
        for byte in rest {
            self.0 = self.0 >> 8 ^ TABLES[0][usize::from(self.0 as u8 ^ byte)];
        }
    }

    pub fn finish(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition_however_bytes_come() {
        let bytes: Vec<u8> = (0..100u8).map(|n| n.wrapping_mul(37)).collect();
        let by_bits = |bytes: &[u8]| {
            !bytes.iter().fold(u32::MAX, |sum, byte| {
                (0..8).fold(
                    sum ^ u32::from(*byte),
                    |s, _| if s & 1 == 1 { s >> 1 ^ 0xedb8_8320 } else { s >> 1 },
                )
            })
        };
        for (size, cut) in (0..100).flat_map(|size| [(size, size / 3), (size, size)]) {
            let mut sum = Crc32::new();
            sum.update(&bytes[..cut]);
            sum.update(&bytes[cut..size]);
            assert_eq!(sum.finish(), by_bits(&bytes[..size]), "{size}");
        }
        let mut sum = Crc32::new();
        sum.update(b"123456789");
        assert_eq!(sum.finish(), 0xcbf4_3926);
    }
}
