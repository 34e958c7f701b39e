//! Every command as a row of a table. Tests of one command run on all.

use super::{data, folder, zt};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use Effect::{Changes, Makes, Prints};

/// The effect of a command besides its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Prints,
    /// It writes new files.
    Makes,
    /// It changes or replaces a file.
    Changes,
}

/// The words of a command for a [`Scene`], and its effect.
pub type Row = (&'static str, Effect);

pub const ROWS: [Row; 42] = [
    ("ls {in}", Prints),
    ("ls --json {in}", Prints),
    ("ls --fold {in}", Prints),
    ("tree {in}", Prints),
    ("ls --totals --attributes {in}", Prints),
    ("info {in}", Prints),
    ("info {in} model.a.weight", Prints),
    ("info --memory {in}", Prints),
    ("info --json {in}", Prints),
    ("diff {in} {in}", Prints),
    ("diff --json --attributes {in} {zt}", Prints),
    ("head {in}", Prints),
    ("stats {in}", Prints),
    ("stats --json {in}", Prints),
    ("bench --rounds=1 --threads=1 {in}", Prints),
    ("report {in} -o -", Prints),
    ("cat {in} model.a.weight", Prints),
    ("attr get {in}", Prints),
    ("attr get --json {in}", Prints),
    ("attr {in}", Prints),
    ("verify {in}", Prints),
    ("verify --json {in}", Prints),
    ("id {v2}", Prints),
    ("convert {in} - --to zt", Prints),
    ("completions bash", Prints),
    ("version", Prints),
    ("report {in} --stats -o {new}.html", Makes),
    ("extract {in} --to {new}/arrays", Makes),
    ("convert {in} {new}.zt", Makes),
    ("convert {in} {new}.zt --shard-size 24", Makes),
    ("convert {in} {new}.safetensors", Makes),
    ("convert {in} {new}.gguf --exclude *.bias", Makes),
    ("convert {in} {new}.npz --no-attributes", Makes),
    ("merge {in} {zt} {new}.zt", Makes),
    ("split {in} {new}.zt --size 24", Makes),
    ("attr set {zt} author me", Changes),
    ("attr rm {zt} license", Changes),
    ("rm {zt} u8", Changes),
    ("mv {zt} u8 other", Changes),
    ("edit {zt} --remove u8 --rename i8 other", Changes),
    ("add {zt} {in}", Changes),
    ("compact {zt}", Changes),
];

/// Only this command uses the file with the unfinished append.
pub const REPAIR: Row = ("repair {torn}", Changes);

/// The files for the rows, in a folder of the test.
pub struct Scene(pub PathBuf);

impl Scene {
    #[track_caller]
    pub fn new(name: &str) -> Scene {
        let scene = Scene(folder(name));
        scene.write_safetensors(&[
            ("model.a.weight", "F32", 24),
            ("model.b.weight", "F16", 8),
            ("model.b.bias", "U8", 5),
        ]);
        let digests = data().join("v1.2");
        std::fs::copy(digests.join("py-1.2.3-all-dtypes.zt"), scene.path("{zt}")).unwrap();
        super::run(&[&"attr", &"set", &scene.path("{zt}"), &"license", &"MIT"]).good();
        std::fs::copy(data().join("v2/real/release-2.1.2-canonical.zt"), scene.path("{v2}")).unwrap();
        let mut torn = std::fs::read(digests.join("py-1.2.3-appended.zt")).unwrap();
        torn.resize(torn.len().next_multiple_of(64) + 100, 7);
        std::fs::write(scene.path("{torn}"), torn).unwrap();
        scene
    }

    /// A safetensors file with tensors of zeros of these sizes. It is sparse, so it does not use disk space.
    pub fn write_safetensors(&self, tensors: &[(&str, &str, u64)]) {
        let mut end = 0;
        let entries = tensors.iter().map(|(name, dtype, bytes)| {
            let width = [("F32", 4), ("F16", 2), ("U8", 1)].iter().find(|(name, _)| name == dtype).unwrap().1;
            let (start, elements) = (end, bytes / width);
            end += bytes;
            format!(r#""{name}":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[{start},{end}]}}"#)
        });
        let header =
            format!(r#"{{"__metadata__":{{"format":"pt"}},{}}}"#, entries.collect::<Vec<_>>().join(","));
        let mut file = std::fs::File::create(self.path("{in}")).unwrap();
        file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
        file.write_all(header.as_bytes()).unwrap();
        file.set_len(8 + header.len() as u64 + end).unwrap();
    }

    /// The path for a placeholder.
    pub fn path(&self, word: &str) -> PathBuf {
        let names = [
            ("{in}", "in.safetensors"),
            ("{zt}", "file.zt"),
            ("{v2}", "two.zt"),
            ("{torn}", "torn.zt"),
            ("{new}", "new"),
        ];
        let found = names.iter().find_map(|(stands, name)| Some((word.strip_prefix(stands)?, name)));
        found.map_or_else(|| PathBuf::from(word), |(rest, name)| self.0.join(format!("{name}{rest}")))
    }

    pub fn command(&self, row: &Row) -> Command {
        let mut command = zt();
        command.args(row.0.split(' ').map(|word| self.path(word)));
        command
    }

    /// The files that a row reads or changes.
    pub fn inputs(&self, row: &Row) -> Vec<PathBuf> {
        let words = row.0.split(' ').filter(|word| word.starts_with('{') && !word.starts_with("{new}"));
        words.map(|word| self.path(word)).collect()
    }

    /// All files: their contents or, for large ones, size and modification time.
    pub fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        note(&self.0, &mut found);
        found
    }
}

fn note(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    const LARGE: u64 = 16 << 20;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(meta) = path.symlink_metadata() else { continue }; // removed meanwhile
        let content = match meta.len() {
            _ if meta.is_dir() => {
                note(&path, found);
                String::from("folder")
            }
            LARGE.. => format!("{} {:?}", meta.len(), meta.modified()),
            _ => format!("{:?}", std::fs::read(&path)),
        };
        found.insert(path, content);
    }
}
