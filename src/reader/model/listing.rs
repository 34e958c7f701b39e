//! The names in a folder that models may have, and what these names tell about the files.

use super::numbered::{family_of, Family, NumberedName};
use crate::error::{fail, try_format, Cause, Quoted, Result};
use crate::io::path;
use crate::memory::{push, Budget};
use crate::model::sort::sort;
use crate::reader::store::{is_unfinished, Store};
use std::fmt;
use std::path::Path;

/// Prefixes of the names of training states.
const STATES: [&str; 16] = [
    "optimizer",
    "optim",
    "scheduler",
    "lr_scheduler",
    "rng_state",
    "rng_states",
    "random_states",
    "training_args",
    "training_state",
    "train_state",
    "trainer_state",
    "scaler",
    "grad_scaler",
    "loss_scaler",
    "sampler",
    "dataloader",
];
/// A part of the names of other training states.
const STATE_WITHIN: &str = "_optim_states";
/// The most names in a folder.
const MAX_NAMES: usize = 200_000;
/// The most names in a message.
pub(super) const MAX_LISTED: usize = 8;

/// The names in a folder that end in `.json` or in the extension of a model, sorted.
#[derive(Default)]
pub struct Listing {
    pub names: Vec<String>,
    /// The first few names of unfinished downloads.
    pub unfinished: Vec<String>,
}

impl Listing {
    /// Lists a folder; `None` if the path is not a folder. Memory is charged to `budget`.
    pub fn read(store: &dyn Store, folder: &Path, budget: &Budget) -> Result<Option<Listing>> {
        let mut listing = Listing::default();
        let is_folder = store.for_each_name(folder, &mut |name| {
            // Programs give models names in UTF-8, so other names are ignored.
            let Some(name) = name.to_str() else { return Ok(()) };
            match family(name).is_some() || is_json(name) {
                true => listing.add(name, budget),
                false if is_unfinished(name) && listing.unfinished.len() < MAX_LISTED => {
                    add_name(&mut listing.unfinished, name, budget)
                }
                false => Ok(()),
            }
        })?;
        sort(&mut listing.names);
        Ok(is_folder.then_some(listing))
    }

    /// Lists the folder of a file; `None` if it cannot be listed. Some folders allow opening files but not
    /// listing.
    pub fn around(store: &dyn Store, folder: &Path, budget: &Budget) -> Result<Option<Listing>> {
        let here = Path::new(if store.is_near() { "." } else { "" });
        let folder = if folder.as_os_str().is_empty() { here } else { folder };
        let listed = |folder: &Path| match Listing::read(store, folder, budget) {
            Err(e) if matches!(e.cause(), Cause::OutOfMemory | Cause::Limit) => Err(e),
            Err(_) => Ok(None),
            found => found,
        };
        match listed(folder)? {
            // Some stores only recognise a folder if its path ends in a slash.
            None if !store.is_near() && !folder.as_os_str().is_empty() => {
                listed(&path::join(folder, Path::new(""))?)
            }
            found => Ok(found),
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
    }

    fn add(&mut self, name: &str, budget: &Budget) -> Result<()> {
        if self.names.len() >= MAX_NAMES {
            return Err(fail!(Limit, "the folder has more than {MAX_NAMES} files that may be models"));
        }
        add_name(&mut self.names, name, budget)
    }
}

/// Adds a copy of a name. Its memory is charged.
pub fn add_name(names: &mut Vec<String>, name: &str, budget: &Budget) -> Result<()> {
    let size = name.len().saturating_add(size_of::<String>());
    budget.charge(size as u64, "the names in a folder")?;
    push(names, try_format(format_args!("{name}"))?)
}

/// The family of a file, by its extension; `None` if it is not a model.
pub fn family(name: &str) -> Option<Family> {
    let (_, extension) = name.rsplit_once('.')?;
    family_of(extension)
}

/// Whether a file with that name is JSON.
pub fn is_json(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"))
}

/// Whether programs use that name for indexes: `x.index.json`, `x.index.VARIANT.json`.
pub fn is_index_name(name: &str) -> bool {
    is_json(name) && name.contains(".index.")
}

/// Whether a file with that name is the state of a training.
pub fn is_state(name: &str) -> bool {
    let begins = |state: &str| {
        let start = name.get(..state.len()).unwrap_or_default();
        let next = name.as_bytes().get(state.len());
        start.eq_ignore_ascii_case(state) && !next.is_some_and(|byte| byte.is_ascii_alphabetic())
    };
    name.contains(STATE_WITHIN) || STATES.iter().any(|state| begins(state))
}

/// The name of a model's file, set or index without number and extension, and its family. All files of a
/// model have the same stem. A variant adds a dot and more: `model` and `model.fp16`.
pub fn stem(name: &str) -> Result<(String, Option<Family>)> {
    let mut found = None;
    let (front, behind) = match NumberedName::parse(name) {
        Some(numbered) => (numbered.prefix.trim_end_matches(['-', '_', '.']), numbered.suffix),
        None => (name, ""),
    };
    let is_of_index = is_json(name);
    let mut stem = String::new();
    stem.try_reserve(name.len())?;
    for word in front.split('.').chain(behind.split('.')) {
        let family = family_of(word);
        if family.is_some() {
            found = found.or(family);
        } else if !word.is_empty() && !(is_of_index && (word == "index" || word.eq_ignore_ascii_case("json")))
        {
            if !stem.is_empty() {
                stem.push('.'); // within what was reserved
            }
            stem.push_str(word);
        }
    }
    // Treat `pytorch_model` as `model`, and `diffusion_pytorch_model` as `diffusion_model`.
    if let Some(at) = stem.find("pytorch_") {
        stem.replace_range(at..at.saturating_add("pytorch_".len()), "");
    }
    Ok((stem, found))
}

/// The first few of these names for a message, in quotes.
pub struct Listed<I>(pub I);

impl<'n, I: Iterator<Item = &'n str> + Clone> fmt::Display for Listed<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.clone().take(MAX_LISTED).enumerate() {
            let between = if at == 0 { "" } else { ", " };
            write!(f, "{between}{}", Quoted(name.as_bytes()))?;
        }
        f.write_str(if self.0.clone().nth(MAX_LISTED).is_some() { " and more" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_model_have_one_stem() {
        let of = |name: &str| stem(name).unwrap();
        let (first, second) = (Some(Family::Weights(0)), Some(Family::Weights(1)));
        for (name, expected, family) in [
            ("model.safetensors", "model", first),
            ("pytorch_model.bin", "model", second),
            ("model-00001-of-00002.safetensors", "model", first),
            ("model_00001-of-00002.safetensors", "model", first),
            ("model.safetensors.index.json", "model", first),
            ("pytorch_model.bin.index.json", "model", second),
            ("model.fp16.safetensors", "model.fp16", first),
            ("model.fp16-00001-of-00002.safetensors", "model.fp16", first),
            ("model-00001-of-00002.fp16.safetensors", "model.fp16", first),
            ("model.safetensors.index.fp16.json", "model.fp16", first),
            ("model.safetensors.fp16.index.json", "model.fp16", first),
            ("model.fp16.safetensors.index.json", "model.fp16", first),
            ("diffusion_pytorch_model.bin", "diffusion_model", second),
            ("x.index.json", "x", None),
            ("a.gguf", "a", Some(Family::Own(1))),
        ] {
            assert_eq!(of(name), (expected.to_owned(), family), "{name}");
        }
    }

    #[test]
    fn states_of_a_training_are_known_by_their_names() {
        for name in [
            "optimizer.pt",
            "optimizer_0.bin",
            "scheduler.pt",
            "rng_state.pth",
            "rng_state_0.pth",
            "training_args.bin",
            "scaler.pt",
            "random_states_0.pt",
            "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
        ] {
            assert!(is_state(name), "{name}");
        }
        for name in ["model.pt", "optimizers.pt", "samplernet.bin", "mp_rank_00_model_states.pt", ""] {
            assert!(!is_state(name), "{name}");
        }
    }
}
