//! Compares our decoder with the one of the last release that read these versions: if both accept a file,
//! they read the same.
//!
//! Deliberate differences are left out, each with its reason. The release may fail or panic on any input. It
//! is called through `guarded`, and only on files that we opened, so their sizes are small.

use crate::guarded::guarded;
use released::models::Component as TheirComponent;
use std::io::Cursor;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{Component, File};

/// Limit for decoded components; the release has no limit below 32 GiB.
const MOST: u64 = 1 << 18;

/// Compares both. Returns the number of components that both read.
pub fn compare(bytes: &[u8], own: &File) -> usize {
    let Some(reference) = guarded(|| released::Reader::open_any(Cursor::new(bytes))) else { return 0 };
    let old = own.version() == "0.1.0";
    let mut compared = 0;
    for object in own.objects() {
        // A duplicate name: the release keeps the last; we reject the lookup (0.1) or the file (1.x).
        if own.find_position(object.name()).map(|at| own.object(at).unwrap().components().len()).is_none() {
            continue;
        }
        let twice = own.objects().filter(|o| o.name() == object.name()).count() > 1;
        let Some(their_object) = reference.get(object.name()).filter(|_| !twice) else {
            // The release ignores sparse tensors in 0.1.
            assert!(twice || old && object.format_name() != "dense", "{:?} is missing", object.name());
            continue;
        };
        assert_eq!(object.shape(), their_object.shape, "{:?}", object.name());
        // A layout without letters is unknown in 0.1; the release reads it as dense.
        let empty = old && object.format_name().is_empty();
        assert!(empty || object.format_name() == their_object.format.as_str(), "{:?}", object.name());
        assert_eq!(object.components().len(), their_object.components.len(), "{:?}", object.name());
        for component in object.components() {
            let their_component = &their_object.components[component.role()];
            compared += usize::from(same_component(&reference, &component, their_component, old));
        }
    }
    if !old {
        assert_eq!(reference.tensors().len(), own.object_count());
    }
    compared
}

fn same_component(
    reference: &released::Reader<Cursor<&[u8]>>,
    component: &Component<'_>,
    their_component: &TheirComponent,
    old: bool,
) -> bool {
    assert_eq!(component.offset(), their_component.offset);
    assert_eq!(component.stored_size(), their_component.length);
    assert_eq!(component.digest(), their_component.digest.as_deref());
    assert_eq!(component.dtype().map(Dtype::name), Some(their_component.dtype.as_str()));
    if !old {
        // In 1.1 the type is in place of the dtype; the release does not know these names.
        assert_eq!(component.logical_name(), their_component.r#type.as_deref());
    }
    // A frame may declare any size, and the release decodes all of it.
    if component.size().is_ok_and(|size| size > MOST)
        || their_component.uncompressed_length.is_some_and(|n| n > MOST)
    {
        return false;
    }
    let read = component.load();
    let Some(their_bytes) =
        read.is_ok().then(|| guarded(|| reference.read_component(their_component))).flatten()
    else {
        return false;
    };
    let bytes = read.unwrap();
    // In 0.1 the release supports neither big-endian tensors nor true bytes other than 1.
    let swapped = || {
        let width = component.dtype().map_or(1, Dtype::size);
        their_bytes.chunks(width).flat_map(|c| c.iter().rev()).eq(bytes.as_slice())
    };
    let decided = old && (component.dtype() == Some(Dtype::Bool) || swapped());
    assert!(bytes.as_slice() == their_bytes || decided, "{} {:?}", component.role(), component.digest());
    // It read the bytes, so the digest was correct if it knows the algorithm.
    let known = component.digest().is_some_and(|d| d.starts_with("crc32c:0x") || d.starts_with("sha256:"));
    if known {
        let verified = component.verify_digest().map_err(|e| e.cause());
        assert_ne!(verified, Err(Cause::DigestMismatch), "{:?}", component.digest());
    }
    true
}
