//! Power cuts while a writer works. Its writes are recorded as they reach the kernel, and replayed up to any
//! of them: torn, and in the orders that a disk may choose between two syncs.
#![cfg(target_os = "linux")]

use crate::common;
use crate::traced;

use common::content::{append, new_object, raw, zstd, ztensor_2};
use common::{compressible, Folder, Random, Sample};
use std::cell::Cell;
use std::path::Path;
use traced::{Ended, Stop};
use ztensor::error::Rule;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{repair, RepairOptions, Writer, WriterOptions};

/// A step of a process on a file or folder.
#[derive(Clone)]
enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
    /// Extends the file to at least this size.
    Longer(u64),
    Sync,
    SyncFolder,
    Rename,
}

/// The steps of `body` on the file whose name starts with `name`, and on its folder.
fn steps_of(body: &dyn Fn(), name: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let ended = traced::run(body, &mut |stop| {
        if stop.entry {
            steps.extend(step(stop, name));
        }
        true
    });
    if ended == Ended::Refused {
        println!("power_cut: skipped: this process may not trace its children");
        return None;
    }
    assert_eq!(ended, Ended::Exit(0));
    Some(steps)
}

fn step(stop: &Stop, name: &str) -> Option<Step> {
    #[cfg(target_arch = "x86_64")]
    if stop.number == libc::SYS_rename {
        return Some(Step::Rename);
    }
    if stop.number == libc::SYS_renameat || stop.number == libc::SYS_renameat2 {
        return Some(Step::Rename);
    }
    let sizes = [libc::SYS_ftruncate, libc::SYS_fallocate];
    let writes = [libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64];
    let changes: Vec<_> =
        sizes.into_iter().chain(writes).chain([libc::SYS_fsync, libc::SYS_fdatasync]).collect();
    if !changes.contains(&stop.number) && stop.number != libc::SYS_pwritev {
        return None;
    }
    let path = stop.file()?;
    let is_temporary = path.file_name()?.to_str()?.starts_with(name);
    if stop.number == libc::SYS_fsync && path.is_dir() {
        return Some(Step::SyncFolder);
    }
    if !is_temporary {
        return None;
    }
    assert!(changes.contains(&stop.number), "system call {} is not recorded", stop.number);
    let [_, second, third, fourth, ..] = stop.arguments;
    if let Some(bytes) = stop.written() {
        let at = if stop.number == libc::SYS_pwrite64 { fourth } else { stop.position() };
        return Some(Step::Write(at, bytes));
    }
    Some(match stop.number {
        libc::SYS_ftruncate => Step::Length(second),
        libc::SYS_fallocate => Step::Longer(third + fourth),
        _ => Step::Sync,
    })
}

fn play(image: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Write(at, bytes) => {
            let (at, end) = (*at as usize, *at as usize + bytes.len());
            image.resize(image.len().max(end), 0);
            image[at..end].copy_from_slice(bytes);
        }
        Step::Length(length) => image.resize(*length as usize, 0),
        Step::Longer(length) => image.resize(image.len().max(*length as usize), 0),
        _ => {}
    }
}

/// The parts of a step that a disk writes completely or not at all.
fn sectors(step: &Step) -> Vec<Step> {
    const SECTOR: u64 = 512;
    let Step::Write(at, bytes) = step else { return vec![step.clone()] };
    let (mut pieces, mut from) = (Vec::new(), 0);
    while from < bytes.len() {
        let offset = at + from as u64;
        let to = bytes.len().min(from + (SECTOR - offset % SECTOR) as usize);
        pieces.push(Step::Write(offset, bytes[from..to].to_vec()));
        from = to;
    }
    pieces
}

fn old() -> Vec<u8> {
    common::file_of(&zstd(), &[new_object("a"), Sample::dense("b", Dtype::F32, &[], vec![1, 2, 3, 4])])
}

fn write_new(writer: &mut Writer) {
    // Larger than the buffer, so that it needs a separate write.
    let large = Sample::dense("large", Dtype::U8, &[1100 << 10], compressible(1100 << 10));
    [new_object("c"), large, new_object("d")].iter().for_each(|s| s.write(writer).unwrap());
}

/// An append, and the path where the results of power cuts are tested.
struct Append<'a> {
    path: &'a Path,
    before: Vec<u8>,
    after: Vec<u8>,
    tried: Cell<usize>,
}

impl Append<'_> {
    /// Checks that the image is the new file, or repairs to the old one. Returns whether it is the new one.
    fn is_new(&self, image: &[u8], what: &str) -> bool {
        self.tried.set(self.tried.get() + 1);
        if image == self.before {
            return false;
        }
        std::fs::write(self.path, image).unwrap();
        if let Err(e) = File::open(self.path, &OpenOptions::default()) {
            assert_eq!(e.rule(), Some(Rule::UnfinishedAppend), "{what}: {e}");
        }
        repair(self.path, &RepairOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut image = std::fs::read(self.path).unwrap();
        image[8..40].fill(0); // part of an append record is invalid, so it is padding
        if image == self.before {
            return false;
        }
        let file = File::open(self.path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
        // Only the cleared part of the old manifest may differ.
        let old_manifest = self.before.len() - 16 - common::manifest_bytes(&self.before).len();
        assert_eq!(file.object_count(), 5, "{what}");
        assert!(image[..old_manifest] == self.before[..old_manifest], "{what}: an old byte changed");
        assert!(
            image[self.before.len()..] == self.after[self.before.len()..],
            "{what}: the added bytes are not complete"
        );
        true
    }
}

#[test]
fn an_append_survives_a_power_cut_at_any_write_in_any_order() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("file.zt");
    for durable in [false, true] {
        let options = WriterOptions { threads: 1, durable, ..raw() };
        std::fs::write(&path, old()).unwrap();
        let body = || append(&path, &options, write_new);
        let Some(steps) = steps_of(&body, "file.zt") else { return };
        let after = std::fs::read(&path).unwrap();
        let trial = Append { path: &path, before: old(), after, tried: Cell::new(0) };
        // Steps that are on the disk for certain, and steps that may be.
        let (mut synced, mut pending) = (trial.before.clone(), Vec::<Step>::new());
        let (mut new, mut random) = (false, Random(11));
        for (at, step) in steps.iter().enumerate() {
            if matches!(step, Step::Sync) {
                pending.drain(..).for_each(|s| play(&mut synced, &s));
                let is_new = trial.is_new(&synced, &format!("synced at step {at}"));
                assert!(is_new || !new, "step {at}: an earlier step already had the new file");
                new = is_new;
                continue;
            }
            pending.push(step.clone());
            let image_of = |chosen: &dyn Fn(usize) -> bool| {
                let mut image = synced.clone();
                pending.iter().enumerate().filter(|(i, _)| chosen(*i)).for_each(|(_, s)| play(&mut image, s));
                image
            };
            for one in 0..pending.len() {
                trial.is_new(&image_of(&|i| i == one), &format!("step {at}: only pending {one}"));
                trial.is_new(&image_of(&|i| i != one), &format!("step {at}: not pending {one}"));
            }
            if let Step::Write(offset, bytes) = step {
                for torn in [1, 7, 511, 512, 513, 1024, 4096, bytes.len() / 2, bytes.len() - 1] {
                    let mut image = image_of(&|i| i + 1 < pending.len());
                    play(&mut image, &Step::Write(*offset, bytes[..torn.min(bytes.len())].to_vec()));
                    trial.is_new(&image, &format!("step {at} torn at {torn}"));
                }
            }
            let pieces: Vec<Step> = pending.iter().flat_map(sectors).collect();
            for seed in 0..12 {
                // From few missing sectors to few present ones.
                let mut image = synced.clone();
                for piece in &pieces {
                    if random.below(12) >= seed {
                        play(&mut image, piece);
                    }
                }
                trial.is_new(&image, &format!("step {at}: sectors of choice {seed}"));
            }
        }
        // All steps, including those that were not synced: the state after a kill.
        pending.iter().for_each(|s| play(&mut synced, s));
        assert!(synced == trial.after && trial.is_new(&synced, "the end"), "a step was not recorded");
        assert!(new, "the new end was not synced");
        let syncs = steps.iter().filter(|s| matches!(s, Step::Sync)).count();
        println!("durable {durable}: {} steps, {syncs} syncs, {} images", steps.len(), trial.tried.get());
    }
}

#[test]
fn a_durable_file_is_synced_before_it_gets_its_name_and_its_folder_after() {
    let _turn = crate::turn();
    a_durable_file_of(raw());
    a_durable_file_of(ztensor_2());
}

fn a_durable_file_of(options: WriterOptions) {
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let options = WriterOptions { threads: 1, durable: true, ..options };
    let body = || {
        let mut writer = Writer::create(&path, &options).unwrap();
        write_new(&mut writer);
        // Bypasses the page cache, in pieces.
        Sample::dense("larger", Dtype::U8, &[5 << 20], compressible(5 << 20)).write(&mut writer).unwrap();
        writer.finish().unwrap();
    };
    let Some(steps) = steps_of(&body, ".file.zt.") else { return };
    let renamed = steps.iter().position(|s| matches!(s, Step::Rename)).unwrap();
    assert!(matches!(steps[renamed - 1], Step::Sync), "the last step before the rename is not a sync");
    assert!(matches!(steps[renamed + 1..], [Step::SyncFolder]), "the folder is not synced last");
    let mut image = Vec::new();
    steps[..renamed].iter().for_each(|s| play(&mut image, s));
    assert!(image == std::fs::read(&path).unwrap());
}
