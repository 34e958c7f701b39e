//! Elements of the file's byte order to the host's and back.

use crate::error::Result;

/// Reverses the bytes of every `width`-byte element (1, 2, 4 or 8) in place.
///
/// A trailing part of an element stays as it is, and so does everything for another width.
pub(crate) fn swap_in_place(bytes: &mut [u8], width: usize) {
    /// One fixed width, so that the loop becomes byte shuffles.
    fn each<const N: usize>(bytes: &mut [u8]) {
        for element in bytes.chunks_exact_mut(N) {
            if let Ok(element) = <&mut [u8; N]>::try_from(element) {
                element.reverse();
            }
        }
    }
    match width {
        2 => each::<2>(bytes),
        4 => each::<4>(bytes),
        8 => each::<8>(bytes),
        _ => {}
    }
}

/// Swaps the whole elements of `partial` and `data`; the bytes of an incomplete one become `partial`.
pub(crate) fn swap_whole(partial: &mut Vec<u8>, data: &[u8], width: usize) -> Result<Vec<u8>> {
    let mut swapped = std::mem::take(partial);
    swapped.try_reserve(data.len())?;
    swapped.extend_from_slice(data);
    let whole = swapped.len().saturating_sub(swapped.len().checked_rem(width).unwrap_or(0));
    partial.try_reserve(width)?;
    partial.extend_from_slice(swapped.get(whole..).unwrap_or_default());
    swapped.truncate(whole);
    swap_in_place(&mut swapped, width);
    Ok(swapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree_with_the_definition() {
        for width in [1usize, 2, 4, 8] {
            for size in 0..40usize {
                let src: Vec<u8> = (0..size).map(|i| (i * 7 + 3) as u8).collect();
                let mut want = src.clone();
                for element in want.chunks_exact_mut(width) {
                    element.reverse();
                }
                let mut placed = src.clone();
                swap_in_place(&mut placed, width);
                assert_eq!(placed, want, "in place, width {width}, {size} bytes");
                swap_in_place(&mut placed, width);
                assert_eq!(placed, src, "twice is nothing");
            }
        }
    }
}
