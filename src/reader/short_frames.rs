//! Frames that cannot fill the shape of their object, found when a file is opened.

use super::aliases::Aliases;
use super::file::File;
use crate::codec::{Coding, KnownSize};
use crate::error::{broken, Cause, Result, Rule};

/// Versions before 1.2 do not declare the decoded size of a compressed component; of a dense one the
/// shape does. If the component is small enough that a look costs next to nothing, and its frames
/// cannot fill the shape, that is an error at open.
pub fn check_short_frames(file: &File, aliases: &Aliases) -> Result<()> {
    const MAX_CHECKED_AT_OPEN: u64 = 4096;
    // Of bytes that several components have: what they hold, once that was looked at.
    let mut met: Vec<Option<Option<KnownSize>>> = Vec::new();
    met.try_reserve_exact(aliases.count())?;
    met.resize(aliases.count(), None);
    for object in file.objects() {
        for component in object.components() {
            let entry = component.entry();
            let codec = match Coding::of(entry.encoding) {
                Some(Coding::Compressed(codec)) => codec,
                Some(Coding::Raw) | None => continue,
            };
            let (Some(expected), true) =
                (entry.size(), !entry.is_size_declared() && entry.stored_size <= MAX_CHECKED_AT_OPEN)
            else {
                continue;
            };
            let mut place = aliases.range(component.index).and_then(|range| met.get_mut(range));
            let known = match place.as_deref().copied().flatten() {
                Some(known) => known,
                None => match component
                    .stored()
                    .and_then(|stored| stored.reader())
                    .and_then(|r| codec.known_size(r))
                {
                    Ok(known) => Some(known),
                    Err(e) if matches!(e.cause(), Cause::Broken(_)) => None,
                    Err(e) => return Err(component.wrap(e)),
                },
            };
            if let Some(place) = &mut place {
                **place = Some(known);
            }
            let short = match known {
                Some(KnownSize::Exact(size)) if size < expected => Some(size),
                _ => None,
            };
            if let Some(size) = short {
                let error = broken!(
                    Rule::DenseSize,
                    "its {} frames hold {size} bytes, but the shape {:?} takes {expected}",
                    codec.name(),
                    object.shape()
                );
                return Err(component.wrap(error));
            }
        }
    }
    Ok(())
}
