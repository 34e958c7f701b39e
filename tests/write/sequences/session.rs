//! One sequence: starts a file or an append, makes random calls, and finishes or aborts it.

use super::model::{Load, Model};
use super::sources::{self, Source};
use crate::common::{self, Folder, Random};
use crate::validator;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use ztensor::error::Cause;
use ztensor::model::manifest::Version;
use ztensor::writer::{Algorithm, Writer, WriterOptions};

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub finished: u64,
    pub aborted: u64,
    pub appended: u64,
    pub written: u64,
    pub streamed: u64,
    pub copied: u64,
    pub recoded: u64,
    pub refused: u64,
    /// Changes of objects that a file had before.
    pub edited: u64,
    /// Files that a strict reader checked.
    pub strict: u64,
    /// Files with damaged objects.
    pub damaged: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.finished += other.finished;
        self.aborted += other.aborted;
        self.appended += other.appended;
        self.written += other.written;
        self.streamed += other.streamed;
        self.copied += other.copied;
        self.recoded += other.recoded;
        self.refused += other.refused;
        self.edited += other.edited;
        self.strict += other.strict;
        self.damaged += other.damaged;
    }
}

/// Shared state of sequences: files to copy from, and files that earlier ones left.
pub struct Pool<'s> {
    sources: &'s [Source],
    made: Vec<Source>,
    path: PathBuf,
    pub counts: Counts,
}

impl<'s> Pool<'s> {
    pub fn new(sources: &'s [Source], folder: &Folder) -> Pool<'s> {
        Pool { sources, made: Vec::new(), path: folder.path("file.zt"), counts: Counts::default() }
    }
}

pub struct Session<'p> {
    pub random: Random,
    pub writer: Writer,
    pub version: Version,
    pub model: Model,
    pub sources: Vec<&'p Source>,
    pub counts: Counts,
    /// Names of the objects that the file had before.
    pub old: Vec<String>,
    pub next: u64,
}

impl Session<'_> {
    pub fn run(pool: &mut Pool<'_>, seed: u64) {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(pool, seed)));
        if let Err(panic) = outcome {
            eprintln!("the sequence of ZT_SEED={seed} ZT_SEQUENCES=1 failed (it may need those before it)");
            resume_unwind(panic);
        }
    }
}

const VERSIONS: [Version; 4] = [Version::V0_1, Version::V1_1, Version::V1_2, Version::V2];

fn options(random: &mut Random) -> WriterOptions {
    let version = VERSIONS[random.below(4) as usize];
    // zTensor 2 does not have CRC-32C.
    let digest = common::DIGESTS[random.below(3) as usize];
    let digest = digest.filter(|digest| version != Version::V2 || *digest == Algorithm::Sha256);
    WriterOptions {
        version,
        alignment: 64 << random.below(3),
        large_alignment: [0, 4096][random.below(2) as usize],
        large_size: 1 << random.below(14),
        encoding: common::encodings()[random.below(common::encodings().len() as u64) as usize],
        zstd_level: 1 + random.below(3) as i32,
        digest,
        threads: 1 + random.below(2) as usize,
        frame_size: 1024 << random.below(3),
        ..common::without_digests()
    }
}

fn run(pool: &mut Pool<'_>, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..4 {
        random.next();
    }
    let sources: Vec<&Source> = pool.sources.iter().chain(&pool.made).collect();
    let bases: Vec<&Source> = sources.iter().copied().filter(|s| s.can_be_appended_to()).collect();
    let base = (random.below(5) < 2).then(|| bases[random.below(bases.len() as u64) as usize]);
    let options = options(&mut random);
    let before = match base {
        Some(base) => base.bytes.clone(),
        None => b"was there".to_vec(),
    };
    std::fs::write(&pool.path, &before).unwrap();
    let (writer, version, model) = match base {
        None => {
            let model = Model { strict: true, ..Model::default() };
            (Writer::create(&pool.path, &options).unwrap(), options.version, model)
        }
        Some(base) => {
            let objects = base.valid.as_ref().unwrap().objects.clone();
            let unsupported = base.unsupported;
            let model = Model { objects, strict: base.strict, unsupported, ..Model::default() };
            (Writer::append(&pool.path, &options).unwrap(), Version::V1_2, model)
        }
    };
    let counts = Counts::default();
    let append = base.is_some();
    let name = format!("{seed} after {:?}", base.map(|b| &b.name));
    let old = model.objects.iter().map(|o| o.name.clone()).collect();
    let mut session = Session { random, writer, version, model, sources, counts, old, next: 0 };
    for _ in 0..1 + session.random.below(9) {
        session.call();
    }
    let session_version = session.version;
    let Session { mut random, mut writer, model, mut counts, .. } = session;
    if random.below(12) == 0 {
        counts.aborted += 1;
        drop(writer);
        let after = std::fs::read(&pool.path).unwrap();
        assert!(after == before, "an abort changed the old bytes");
        pool.counts.add(&counts);
        return;
    }
    let summary = writer.finish().unwrap_or_else(|e| panic!("finish: {e}"));
    counts.finished += 1;
    counts.appended += u64::from(append);
    let bytes = std::fs::read(&pool.path).unwrap();
    assert_eq!(summary.file_size, bytes.len() as u64);
    counts.damaged += u64::from(model.damaged);
    counts.strict += u64::from(model.strict && !model.damaged);
    // A file that finish accepts must also verify.
    if let Err(e) = sources::passes(&bytes, false) {
        assert!(model.unsupported && e.cause() == Cause::Unsupported, "{:?}: {e}", session_version);
    }
    if model.damaged || session_version == Version::V2 {
        let file = common::open(bytes.clone());
        // zTensor 2 sorts objects and components.
        let mut names: Vec<_> = file.objects().map(|o| o.name().to_owned()).collect();
        let mut due: Vec<_> = model.objects.iter().map(|o| o.name.clone()).collect();
        if session_version == Version::V2 {
            names.sort();
            due.sort();
        }
        assert_eq!(names, due);
        for (name, parts) in &model.loads {
            let object = file.required(name).unwrap();
            for due in parts {
                let component = object.component(&due.role).unwrap();
                let found = Load::of(&component);
                assert!(found == *due || found.is_other_encoding(due), "{name:?} {:?}", component.role());
            }
        }
        pool.counts.add(&counts);
        if bytes.len() < 64 << 10 && pool.made.len() < 24 {
            pool.made.push(Source::of(name, bytes).expect("it opens"));
        }
        return;
    }
    let valid = validator::validate(&bytes).unwrap_or_else(|e| panic!("not valid: {e}"));
    model.compare(&valid);
    if model.strict {
        sources::passes(&bytes, true).unwrap_or_else(|e| panic!("strict: {e}"));
    }
    if !append {
        assert_eq!(valid.padding_nonzero, 0);
    }
    pool.counts.add(&counts);
    if bytes.len() < 64 << 10 && valid.objects.len() < 40 {
        let made = Source::of(name, bytes).expect("it opens");
        match pool.made.len() {
            24.. => pool.made[random.below(24) as usize] = made,
            _ => pool.made.push(made),
        }
    }
}
