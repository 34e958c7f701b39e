//! Helpers for the tests of fast paths: files, and their contents, to compare the results with and without a
//! fast path.

use super::frame::{Detected, Ends, InMemory, Limits};
use super::{decode, detect};
use crate::error::{fail, Result};
use crate::memory::Budget;
use crate::model::manifest::{Manifest, TextArena};
use std::fmt::Write;
use std::path::Path;

/// The files of the corpus.
pub fn corpus() -> Vec<Vec<u8>> {
    let mut corpus = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), &mut corpus);
    assert!(corpus.len() > 100, "{}", corpus.len());
    corpus
}

fn files(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false if path.extension().is_some_and(|e| e == "zt") => found.push(std::fs::read(path).unwrap()),
            false => {}
        }
    }
}

/// The contents of a file, or the error.
pub fn outcome(file: &[u8]) -> String {
    let ends = Ends { file_size: file.len() as u64, head: file, tail: file };
    let manifest = match detect(ends, &Limits::default()) {
        Ok(Detected::Frame(frame)) => {
            let (limits, budget) = (Limits::default(), Budget::new(Limits::default().memory_for(0)));
            decode(frame, &mut InMemory::file(file), &limits, &budget)
                .map(|(_, manifest)| manifest.into_inner())
        }
        Ok(_) => Err(fail!(Internal, "no frame")),
        Err(error) => Err(error),
    };
    meaning(manifest)
}

/// Everything that a manifest declares. Whether texts and attributes are shared makes no difference.
pub fn meaning(manifest: Result<Manifest>) -> String {
    let m = match manifest {
        Ok(manifest) => manifest,
        Err(error) => return format!("refused: {error:?}"),
    };
    let no_text = TextArena::default().add("").unwrap();
    let mut said = format!("read: {:?} {} {:?}", m.container, m.version_text(), m.file_attributes());
    for object in m.objects.iter() {
        let (name, format) = (m.texts.get(object.name), m.format_name(object.format));
        let (shape, attributes) = (m.shape(object), m.object_attributes(object));
        write!(said, "\n{name:?}: {format} {shape:?} {attributes:?}").unwrap();
        for component in m.components(object) {
            let rare = m.rare(component);
            let texts = [Some(component.role), rare.digest, rare.dtype, rare.logical, rare.encoding];
            let texts = texts.map(|text| text.map(|text| m.texts.get(text)));
            let mut entry = *component;
            (entry.role, entry.rare) = (no_text, None); // said by the texts
            write!(said, "\n  {texts:?} {entry:?}").unwrap();
        }
    }
    said
}

/// Changes a byte near the end of each small file `times` times. Calls `compare` with each changed file.
pub fn with_bytes_changed(times: usize, mut compare: impl FnMut(&[u8])) {
    let mut random = 1u64;
    for mut file in corpus().into_iter().filter(|file| file.len() < 64 << 10) {
        compare(&file);
        for _ in 0..times {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = file.len().saturating_sub(1 + (random >> 33) as usize % 400);
            let Some(byte) = file.get_mut(at) else { continue };
            let before = std::mem::replace(byte, (random >> 24) as u8);
            compare(&file);
            file[at] = before;
        }
    }
}

/// Random numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % count
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn number(&mut self) -> u64 {
        let bits = self.below(64);
        (self.below(1 << 31) << 33 | self.below(1 << 31)) >> bits
    }
}
