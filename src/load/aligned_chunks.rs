//! A long read cut into pieces, each for the next thread that is free.

/// Cuts what is read from `offset` on at multiples of `size`, where its first byte counts as `origin`: the
/// file's offset, or the memory's address. Elements stay whole, as both are multiples of theirs; where one is
/// not, pieces are counted from the first byte.
pub fn aligned_chunks(
    origin: u64,
    mut offset: u64,
    dst: &mut [u8],
    size: usize,
) -> impl Iterator<Item = (u64, &mut [u8])> {
    const MAX_ELEMENT: u64 = 16;
    let phase = match origin % MAX_ELEMENT {
        0 => usize::try_from(origin.checked_rem(size as u64).unwrap_or(0)).unwrap_or(0),
        _ => 0,
    };
    let (head, rest) = dst.split_at_mut(dst.len().min(size.saturating_sub(phase)));
    std::iter::once(head).chain(rest.chunks_mut(size)).filter(|p| !p.is_empty()).map(move |chunk| {
        let at = offset;
        offset = offset.saturating_add(chunk.len() as u64);
        (at, chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::aligned_chunks;

    #[test]
    fn chunks_end_at_multiples_and_cover_all() {
        for (origin, size, step) in [
            (0, 0, 8),
            (64, 100, 64),
            (80, 100, 64),
            (64, 63, 64),
            (7, 200, 64),
            (4096, 4096, 4096),
            (16, 1, 64),
        ] {
            for offset in [origin, 0, 4096] {
                let mut bytes = vec![0u8; size];
                let start = bytes.as_ptr().addr();
                let mut done = 0;
                for (place, chunk) in aligned_chunks(origin, offset, &mut bytes, step) {
                    assert_eq!(place, offset + done);
                    assert_eq!(chunk.as_ptr().addr() - start, usize::try_from(done).unwrap());
                    assert!(!chunk.is_empty() && chunk.len() <= step);
                    done += chunk.len() as u64;
                    let counted = if origin % 16 == 0 { origin + done } else { done };
                    assert!(done == size as u64 || counted % step as u64 == 0);
                }
                assert_eq!(done, size as u64);
            }
        }
    }
}
