//! A model in several files, as Hugging Face names and indexes them.

use super::tensor::Tensor;
use super::to_safetensors::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Tensors in their order, cut so that no part has more than `most` bytes, unless a single tensor has.
pub fn cut(tensors: Vec<Tensor<'_>>, most: u64) -> Vec<Vec<Tensor<'_>>> {
    let mut parts: Vec<Vec<Tensor<'_>>> = Vec::new();
    let mut size = 0u64;
    for tensor in tensors {
        size = size.saturating_add(tensor.size);
        match parts.last_mut() {
            Some(part) if size <= most => part.push(tensor),
            _ => {
                size = tensor.size;
                parts.push(vec![tensor]);
            }
        }
    }
    if parts.is_empty() {
        parts.push(Vec::new());
    }
    parts
}

fn stem(output: &Path) -> String {
    output.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// `model-00001-of-00003.safetensors` and so on, for `model.safetensors`.
pub fn paths(output: &Path, count: usize) -> Vec<PathBuf> {
    let name = |at: usize| format!("{}-{at:05}-of-{count:05}.safetensors", stem(output));
    (1..=count).map(|at| output.with_file_name(name(at))).collect()
}

/// `model.safetensors.index.json`.
pub fn index_path(output: &Path) -> PathBuf {
    output.with_file_name(format!("{}.safetensors.index.json", stem(output)))
}

/// Which tensor is in which file.
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
