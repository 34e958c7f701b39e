//! Finds compressed components whose frames are too short for the shape of their object, when a file is
//! opened.

use super::aliases::Aliases;
use super::file::File;
use super::object::Component;
use crate::codec::{Codec, Coding, KnownSize};
use crate::error::{broken, Cause, Result, Rule};
use crate::model::manifest;

/// Versions before 1.2 do not declare the decoded size of a compressed component; for a dense one the shape
/// gives it. If the component is so small that a look costs next to nothing, frames that cannot fill the
/// shape are an error at open.
pub fn check_short_frames(file: &File, aliases: &Aliases) -> Result<()> {
    // The sizes of bytes that several components share, once they are known.
    let mut shared_sizes: Vec<Option<Option<KnownSize>>> = Vec::new();
    shared_sizes.try_reserve_exact(aliases.count())?;
    shared_sizes.resize(aliases.count(), None);
    for object in file.objects() {
        for component in object.components() {
            let Some((codec, expected)) = codec_and_size_by_shape(component.entry()) else { continue };
            let mut shared = aliases.range(component.index).and_then(|range| shared_sizes.get_mut(range));
            let known = match shared.as_deref().copied().flatten() {
                Some(known) => known,
                None => size_by_frames(&component, codec)?,
            };
            if let Some(shared) = &mut shared {
                **shared = Some(known);
            }
            let short = match known {
                Some(KnownSize::Exact(size)) if size < expected => size,
                _ => continue,
            };
            let error = broken!(
                Rule::DenseSize,
                "its {} frames hold {short} bytes, but the shape {:?} takes {expected}",
                codec.name(),
                object.shape()
            );
            return Err(component.wrap(error));
        }
    }
    Ok(())
}

/// The codec of a small compressed component whose decoded size only the shape gives, and that size.
fn codec_and_size_by_shape(entry: &manifest::Component) -> Option<(Codec, u64)> {
    const MAX_CHECKED_AT_OPEN: u64 = 4096;
    let Some(Coding::Compressed(codec)) = Coding::of(entry.encoding) else { return None };
    let size = entry.size().filter(|_| !entry.is_size_declared());
    size.filter(|_| entry.stored_size <= MAX_CHECKED_AT_OPEN).map(|size| (codec, size))
}

/// The decoded size by the frame headers; none if the frames are broken, which a read reports.
fn size_by_frames(component: &Component<'_>, codec: Codec) -> Result<Option<KnownSize>> {
    match component.size_by_frames(codec) {
        Ok(known) => Ok(Some(known)),
        Err(e) if matches!(e.cause(), Cause::Broken(_)) => Ok(None),
        Err(e) => Err(component.wrap(e)),
    }
}
