//! A model in several files, with names as in Hugging Face and llama.cpp.

use super::job::Job;
use super::tensor::Tensor;
use crate::elements::group_by_size;
use crate::failure::Outcome;
use crate::new_files::{check_whole, stem, without_root};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most files of a model: `split.count` of GGUF has 16 bits.
const MAX_PARTS: usize = 65_535;

/// Groups tensors, one group for each file of the output, with at most --shard-size bytes each. A larger
/// tensor is a group of its own.
pub fn group_for_files<T>(
    job: &Job<'_>,
    tensors: Vec<T>,
    size_of: impl Fn(&T) -> u64,
) -> Outcome<Vec<Vec<T>>> {
    let mut parts = group_by_size(tensors, job.arguments.shard_size.unwrap_or(u64::MAX), size_of);
    if parts.is_empty() {
        parts.push(Vec::new());
    }
    match parts.len() > MAX_PARTS {
        true => Err(job.refusal(format!(
            "{} files are more than {MAX_PARTS}; --shard-size allows larger ones",
            parts.len()
        ))),
        false => Ok(parts),
    }
}

/// The paths `model-00001-of-00003.gguf` and so on for `model.gguf`. A single file keeps its name.
pub fn paths(output: &Path, count: usize, extension: &str) -> Outcome<Vec<PathBuf>> {
    match count {
        1 => check_whole(output).map(|()| vec![output.to_owned()]),
        _ => without_root(output, extension, count),
    }
}

/// The path of the index, `model.safetensors.index.json`.
pub fn index_path(output: &Path) -> PathBuf {
    output.with_file_name(format!("{}.safetensors.index.json", stem(output, "safetensors")))
}

/// The index, which says which tensor is in which file.
pub fn index(parts: &[Vec<Tensor<'_>>], paths: &[PathBuf], total: u64) -> String {
    let mut files = BTreeMap::new();
    for (part, path) in parts.iter().zip(paths) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        files.extend(part.iter().map(|tensor| (String::from_utf8_lossy(&tensor.name), file.clone())));
    }
    let lines: Vec<_> =
        files.iter().map(|(name, file)| format!("    {}: {}", json(name), json(file))).collect();
    let map = lines.join(",\n");
    format!(
        "{{\n  \"metadata\": {{\n    \"total_size\": {total}\n  }},\n  \"weight_map\": {{\n{map}\n  }}\n}}\n"
    )
}

/// A text as a JSON string.
pub fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
