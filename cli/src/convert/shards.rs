//! A model in several files, as Hugging Face and llama.cpp name them.

use super::tensor::Tensor;
use super::to_safetensors::json;
use super::Job;
use crate::failure::Outcome;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a key of GGUF has room for, and a name.
const MOST: usize = 65_535;

/// Tensors in their order, cut so that no file has more than --shard-size, unless a single tensor has; all in one where that
/// is not given.
pub fn cut<T>(job: &Job<'_>, tensors: Vec<T>, size_of: impl Fn(&T) -> u64) -> Outcome<Vec<Vec<T>>> {
    let most = job.arguments.shard_size.unwrap_or(u64::MAX);
    let mut parts: Vec<Vec<T>> = Vec::new();
    let mut size = 0u64;
    for tensor in tensors {
        let own = size_of(&tensor);
        size = size.saturating_add(own);
        match parts.last_mut() {
            Some(part) if size <= most => part.push(tensor),
            _ => {
                size = own;
                parts.push(vec![tensor]);
            }
        }
    }
    if parts.is_empty() {
        parts.push(Vec::new());
    }
    match parts.len() > MOST {
        true => Err(job
            .refusal(format!("{} files are more than {MOST}; --shard-size allows larger ones", parts.len()))),
        false => Ok(parts),
    }
}

fn stem(output: &Path) -> String {
    output.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// `model-00001-of-00003.gguf` and so on, for `model.gguf`; a single file keeps its name.
pub fn paths(output: &Path, count: usize, extension: &str) -> Vec<PathBuf> {
    if count == 1 {
        return vec![output.to_owned()];
    }
    let name = |at: usize| format!("{}-{at:05}-of-{count:05}.{extension}", stem(output));
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
