//! A long read cut into pieces, each for the next thread that is free.

/// Cuts what is read from `offset` on at multiples of `size`, where its first byte counts as `first`: the
/// file's offset, or the memory's address. Elements stay whole, as both are multiples of theirs; where one is
/// not, pieces are counted from the first byte.
pub fn pieces(
    first: u64,
    mut offset: u64,
    dst: &mut [u8],
    size: usize,
) -> impl Iterator<Item = (u64, &mut [u8])> {
    const WIDEST: u64 = 16;
    let over = match first % WIDEST {
        0 => usize::try_from(first.checked_rem(size as u64).unwrap_or(0)).unwrap_or(0),
        _ => 0,
    };
    let (head, rest) = dst.split_at_mut(dst.len().min(size.saturating_sub(over)));
    std::iter::once(head).chain(rest.chunks_mut(size)).filter(|p| !p.is_empty()).map(move |piece| {
        let at = offset;
        offset = offset.saturating_add(piece.len() as u64);
        (at, piece)
    })
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_end_where_what_is_counted_is_a_multiple_and_cover_all() {
        for (first, size, step) in [
            (0, 0, 8),
            (64, 100, 64),
            (80, 100, 64),
            (64, 63, 64),
            (7, 200, 64),
            (4096, 4096, 4096),
            (16, 1, 64),
        ] {
            for offset in [first, 0, 4096] {
                let mut bytes = vec![0u8; size];
                let start = bytes.as_ptr().addr();
                let mut done = 0;
                for (place, piece) in pieces(first, offset, &mut bytes, step) {
                    assert_eq!(place, offset + done);
                    assert_eq!(piece.as_ptr().addr() - start, usize::try_from(done).unwrap());
                    assert!(!piece.is_empty() && piece.len() <= step);
                    done += piece.len() as u64;
                    let counted = if first % 16 == 0 { first + done } else { done };
                    assert!(done == size as u64 || counted % step as u64 == 0);
                }
                assert_eq!(done, size as u64);
            }
        }
    }
}
