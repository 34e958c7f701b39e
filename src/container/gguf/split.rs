//! The keys of a file that is one of several: llama.cpp's `split.no`, `split.count`, `split.tensors.count`.

use crate::container::row::Split;
use crate::error::{broken, Result, Rule};
use crate::model::manifest::Manifest;

/// The keys. A file that is a whole model has none of them, or a count of 1.
pub const SPLIT_KEYS: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

/// What the keys say; nothing, where the file is not one of several.
pub fn split(manifest: &Manifest) -> Result<Option<Split>> {
    let integer = |key: &str| -> Result<Option<u64>> {
        let Some(value) = manifest.file_attributes().and_then(|map| map.get(key)) else { return Ok(None) };
        let wrong = || broken!(Rule::SplitKeys, "key {key:?} is no integer from 0 on");
        value.as_u64().map(Some).ok_or_else(wrong)
    };
    let Some(count) = integer("split.count")?.filter(|count| *count > 1) else { return Ok(None) };
    let (number, tensors) = (integer("split.no")?, integer("split.tensors.count")?);
    let Some(number) = number.filter(|number| *number < count) else {
        return Err(broken!(Rule::SplitKeys, "split.count is {count}, but split.no is not below it"));
    };
    Ok(Some(Split { number, count, tensors }))
}
