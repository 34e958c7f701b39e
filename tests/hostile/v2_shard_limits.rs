//! Limits for the shards of a zTensor 2 file: their number, and one memory budget that they share with the
//! root.

use crate::common;

use common::shards::{entry, file, Entry, Tensor, PAGE};
use common::{data, Folder};
use ztensor::error::{Cause, Result};
use ztensor::reader::{File, OpenOptions, Shards};

const SHARDS: usize = 24;
/// The maximum number of shards.
const MAX_SHARDS: usize = 65_536;

/// A model with a root `m.zt` and shards, each with a manifest of 3,000 objects. The root's objects are in
/// the shards in turn.
fn model() -> Folder {
    let folder = Folder::new();
    let names: Vec<String> = (0..3000).map(name_of).collect();
    let own = |name| Tensor { name, shard: None, offset: PAGE, bytes: &[1; 8] };
    let shard = file(&names.iter().map(|name| own(name)).collect::<Vec<_>>(), &[]);
    let entries: Vec<_> = (0..SHARDS).map(|at| entry(&format!("s{at:02}"), &shard)).collect();
    let linked = |at: usize| Tensor { shard: Some(&entries[at % SHARDS].name), ..own(&names[at]) };
    let root = file(&(0..names.len()).map(linked).collect::<Vec<_>>(), &entries);
    std::fs::write(folder.path("m.zt"), root).unwrap();
    for entry in &entries {
        std::fs::write(folder.path(&format!("m-{}.zt", entry.name)), &shard).unwrap();
    }
    folder
}

fn name_of(at: usize) -> String {
    format!("tensor {at:05}")
}

fn open(folder: &Folder, memory: u64, shards: Shards) -> Result<File> {
    let options = OpenOptions { max_memory: Some(memory), shards, threads: 8, ..OpenOptions::default() };
    File::open_model(folder.path("m.zt"), &options)
}

fn read(file: &File, at: usize) -> Result<()> {
    data(file, &name_of(at)).read(&mut [0; 8])
}

/// The least memory with which `works` succeeds.
fn least(works: impl Fn(u64) -> Result<()>) -> u64 {
    let (mut refused, mut enough) = (0, 64 << 20);
    while enough - refused > 1 {
        let middle = refused + (enough - refused) / 2;
        match works(middle) {
            Ok(()) => enough = middle,
            Err(e) if e.cause() == Cause::Limit => refused = middle,
            Err(e) => panic!("{e}"),
        }
    }
    enough
}

#[test]
fn the_manifest_of_a_shard_shares_the_memory_limit_of_the_file() {
    let folder = model();
    let root = least(|memory| open(&folder, memory, Shards::Never).map(drop));
    let file = open(&folder, root + 10_000, Shards::OnUse).unwrap();
    let error = read(&file, 3).unwrap_err();
    assert_eq!(error.cause(), Cause::Limit);
    for words in ["shard \"s03\"", "m-s03.zt", "max_memory", &(root + 10_000).to_string()] {
        assert!(error.message().contains(words), "no {words} in: {error}");
    }
    assert_eq!(open(&folder, root + 10_000, Shards::AtOpen).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn shards_are_opened_with_the_peak_memory_of_one() {
    let folder = model();
    let one = least(|memory| read(&open(&folder, memory, Shards::OnUse)?, 0));
    let enough = one + (SHARDS << 10) as u64;
    for _ in 0..5 {
        open(&folder, enough, Shards::AtOpen).unwrap();
        let file = &open(&folder, enough, Shards::OnUse).unwrap();
        std::thread::scope(|scope| {
            for at in 0..SHARDS {
                scope.spawn(move || read(file, at).unwrap());
            }
        });
    }
    let file = open(&folder, one + 512, Shards::OnUse).unwrap();
    let failed =
        (0..SHARDS).find(|at| read(&file, *at).is_err()).expect("half a kilobyte is not enough for all");
    assert!(failed > 0);
    for _ in 0..100 {
        assert_eq!(read(&file, failed).unwrap_err().cause(), Cause::Limit);
        read(&file, 0).unwrap();
    }
}

fn table(count: usize) -> Vec<Entry> {
    (0..count).map(|at| Entry { name: format!("{at}"), size: 48, digest: "xxh3:0".into() }).collect()
}

#[test]
fn a_table_of_many_shards_opens_without_them_within_its_memory() {
    let folder = Folder::new();
    std::fs::write(folder.path("m.zt"), file(&[], &table(MAX_SHARDS))).unwrap();
    let opened = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    assert_eq!(opened.part_count(), MAX_SHARDS + 1);
    assert_eq!(open(&folder, 8 << 20, Shards::OnUse).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn more_shards_than_the_limit_are_refused_with_both_numbers() {
    let folder = Folder::new();
    std::fs::write(folder.path("m.zt"), file(&[], &table(MAX_SHARDS + 1))).unwrap();
    std::fs::write(folder.path("half.zt"), file(&[], &table(MAX_SHARDS / 2 + 1))).unwrap();
    let [one, half] = ["m.zt", "half.zt"].map(|name| folder.path(name));
    let default = OpenOptions::default();
    let together = File::open_parts(&[&half, &half], &default).unwrap_err();
    for (error, count) in [
        (File::open(&one, &default).unwrap_err(), MAX_SHARDS + 1),
        (File::open_model(&one, &default).unwrap_err(), MAX_SHARDS + 1),
        (together, MAX_SHARDS + 2),
    ] {
        assert_eq!(error.cause(), Cause::Limit, "{error}");
        for number in [count, MAX_SHARDS] {
            assert!(error.message().contains(&number.to_string()), "no {number} in: {error}");
        }
    }
}
