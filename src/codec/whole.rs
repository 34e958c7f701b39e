//! All frames at once, straight into the destination.

use super::frames::{sum, with_data, StoredPart};
use super::interface::{Decoded, FrameDecoder, FrameFormat};
use super::range::broken_promise;
use super::walk::Walk;
use crate::error::{broken, Result};
use crate::model::encoding::Codec;

/// Decodes all of these frames straight into `dst`: exactly as many bytes as it has, or an error.
///
/// After an error `dst` has undefined contents.
pub(super) fn decode_into<F: FrameFormat>(
    codec: Codec,
    stored: StoredPart<'_>,
    dst: &mut [u8],
) -> Result<()> {
    let (name, wanted) = (codec.name(), dst.len());
    let (mut once, mut again) = (stored, stored);
    let known = sum(codec, Walk::<F>::of_part(&mut once, stored.from))?;
    known.check(codec, u64::try_from(wanted).unwrap_or(u64::MAX))?;
    let mut decoder = F::FrameDecoder::new()?;
    let mut rest = dst;
    for header in with_data(Walk::<F>::of_part(&mut again, stored.from)) {
        let header = header?;
        let out = match header.content {
            Some(content) => usize::try_from(content).unwrap_or(usize::MAX),
            None => rest.len(),
        };
        let longer =
            || broken!(codec.length_rule(), "the {name} frames hold more than the {wanted} bytes declared");
        let out = rest.get_mut(..out).ok_or_else(longer)?;
        // Back-references are read from `out` itself: no window is allocated.
        let written = match decoder.decode(stored.frame(&header.stored), &header, out)? {
            Decoded::Size(written) => written,
            // If the header declared a size, there was room for it, and the header is wrong; else the
            // manifest is.
            Decoded::TooLarge if header.content.is_none() => return Err(longer()),
            Decoded::TooLarge => return Err(broken_promise(codec, &header)),
        };
        rest = rest.get_mut(written..).unwrap_or_default();
    }
    match rest.len() {
        0 => Ok(()),
        short => {
            let decoded = wanted.saturating_sub(short);
            Err(broken!(codec.length_rule(), "the {name} frames hold {decoded} bytes, {wanted} are declared"))
        }
    }
}
