//! All frames at once, straight to their place.

use super::context::{code_number, context, frame_error, CODE_DST_TOO_SMALL};
use super::walk::Walk;
use crate::codec::frames::{sum, with_data, StoredPart};
use crate::error::{broken, Result, Rule};
use crate::model::encoding::Codec;

/// Decodes all of these frames straight into `dst`: exactly as many bytes as it has, or an error.
///
/// After an error `dst` has undefined contents.
pub(crate) fn decode_into<'s>(stored: impl Into<StoredPart<'s>>, dst: &mut [u8]) -> Result<()> {
    let (stored, wanted) = (stored.into(), dst.len());
    let frames = || Walk::from(stored, stored.from);
    sum(Codec::Zstd, frames())?.check(Codec::Zstd, u64::try_from(wanted).unwrap_or(u64::MAX))?;
    let mut context = context()?;
    let mut rest = dst;
    for header in with_data(frames()) {
        let header = header?;
        let out = match header.content {
            Some(content) => usize::try_from(content).unwrap_or(usize::MAX),
            None => rest.len(),
        };
        let longer =
            || broken!(Rule::ZstdLength, "the zstd frames hold more than the {wanted} bytes declared");
        let out = rest.get_mut(..out).ok_or_else(longer)?;
        // Back-references are read from `out` itself: no window is allocated.
        let written = match context.decompress(out, stored.frame(&header.stored)) {
            // Room for what the header promised was there: then it lied, else the manifest did.
            Err(code) if code_number(code) == CODE_DST_TOO_SMALL && header.content.is_none() => {
                return Err(longer())
            }
            other => other.map_err(|code| frame_error(code, &header))?,
        };
        rest = rest.get_mut(written..).unwrap_or_default();
    }
    match rest.len() {
        0 => Ok(()),
        short => {
            let decoded = wanted.saturating_sub(short);
            Err(broken!(Rule::ZstdLength, "the zstd frames hold {decoded} bytes, {wanted} are declared"))
        }
    }
}
