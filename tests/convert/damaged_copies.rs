//! Damaged bytes are never copied under a new, valid digest. Tests every file with a checksum, with flipped
//! bits in its data, and every kind of copy.

use crate::common;

use common::{repository, Random, VALID};
use ztensor::error::{Cause, Error, Result, Rule};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{Component, File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{Algorithm, Recode, Writer, WriterOptions};

/// Files of the corpus that have checksums, and files that this test makes.
fn sources() -> Vec<(String, Vec<u8>)> {
    let mut paths: Vec<_> = VALID.iter().flat_map(|folder| common::corpus(folder)).collect();
    for folder in ["tests/data/foreign/valid", "tests/data/v2/cases"] {
        let entries = std::fs::read_dir(repository(folder)).unwrap().map(|e| e.unwrap().path());
        paths.extend(entries.filter(|p| p.is_file()));
    }
    paths.sort();
    let read = |path: &std::path::PathBuf| (path.display().to_string(), std::fs::read(path).unwrap());
    let mut found: Vec<_> = paths.iter().map(read).filter(|(_, bytes)| bytes.len() < 1 << 20).collect();
    for version in [Version::V0_1, Version::V1_1, Version::V1_2, Version::V2] {
        for encoding in [Encoding::Raw, Encoding::Zstd] {
            for usual_digest in [true, false] {
                let frame_size = 4096;
                let usual = WriterOptions::default();
                let options = WriterOptions { version, encoding, usual_digest, frame_size, ..usual };
                let name = format!("{version:?} {encoding:?} digests {usual_digest}");
                found.push((name, common::file_of(&options, &common::tensors())));
            }
        }
    }
    found
}

fn open(bytes: &[u8]) -> Option<File> {
    File::open_memory(common::Aligned::of(bytes), &OpenOptions::default()).ok()
}

/// Whether verification finds a wrong checksum. It shares only the checksum functions with the tested code.
fn is_damaged(file: &File, object: usize, component: &Component<'_>) -> bool {
    let options = VerifyOptions::default();
    let report = &mut VerifyReport::default();
    let only = (object, Some(component.number()));
    let found = file.verify_object(only, &options, &|_, _| true, None, report);
    found.is_err_and(|e| is_of_bytes(&e))
}

/// Whether an error reports that bytes differ from those that were written.
fn is_of_bytes(error: &Error) -> bool {
    let of_codec =
        [Rule::ZipChecksum, Rule::ZstdCorrupt, Rule::EncodingCorrupt, Rule::Zt2Digest, Rule::Zt2Encoding];
    error.cause() == Cause::DigestMismatch || error.rule().is_some_and(|rule| of_codec.contains(&rule))
}

/// All ways to copy an object.
fn recodes() -> Vec<Recode> {
    let usual = Recode::default();
    vec![
        usual,
        Recode { encoding: Some(Encoding::Zstd), ..usual },
        Recode { encoding: Some(Encoding::Raw), ..usual },
        Recode { digest: Some(Some(Algorithm::Sha256)), ..usual },
        Recode { digest: Some(None), ..usual },
        Recode { floats: Some(Dtype::F64), ..usual },
    ]
}

/// Copies each object separately, with the writer's setting for damage. Returns the result of each, and the
/// file.
fn copy_all(file: &File, options: &WriterOptions, recode: &Recode) -> (Vec<Result<()>>, File) {
    let mut outcomes = Vec::new();
    let bytes = common::written(options, |writer| {
        for object in file.objects() {
            let copied = object.text_name().and_then(|name| writer.copy_as(object, name, recode));
            outcomes.push(copied);
        }
    });
    (outcomes, common::open(bytes))
}

/// Copies a file in every way. Returns how many copies of damaged objects were rejected, and how many were
/// made.
fn check(name: &str, file: &File) -> (usize, usize) {
    let (mut refused, mut went_on) = (0, 0);
    let damaged: Vec<Vec<_>> = file
        .objects()
        .enumerate()
        .map(|(at, object)| object.components().filter(|c| is_damaged(file, at, c)).collect())
        .collect();
    if damaged.iter().all(Vec::is_empty) {
        return (0, 0);
    }
    for version in [Version::V0_1, Version::V1_1, Version::V1_2, Version::V2] {
        for recode in recodes() {
            for allow_damaged in [false, true] {
                let options = WriterOptions { version, allow_damaged, ..WriterOptions::default() };
                let (outcomes, copy) = copy_all(file, &options, &recode);
                for (at, object) in file.objects().enumerate() {
                    let case = format!("{name} {version:?} {recode:?} {allow_damaged} {}", object.name());
                    let (damaged, outcome) = (&damaged[at], &outcomes[at]);
                    if damaged.is_empty() {
                        continue;
                    }
                    let Err(why) = outcome else {
                        assert!(allow_damaged, "{case}: damage was copied");
                        let copied = copy.find(object.name()).unwrap();
                        for component in damaged {
                            let copied = copied.component(component.role()).unwrap();
                            let has_digest = copied.digest().is_some();
                            let is_valid = has_digest && copied.verify_digest().is_ok();
                            assert!(!is_valid, "{case}: {:?} is a valid digest", copied.digest());
                        }
                        went_on += 1;
                        continue;
                    };
                    refused += 1;
                    let is_other =
                        matches!(why.cause(), Cause::Unsupported | Cause::Exists | Cause::InvalidArgument);
                    assert!(is_of_bytes(why) || is_other || why.is_damage(), "{case}: {why}");
                }
            }
        }
    }
    (refused, went_on)
}

#[test]
fn a_flipped_bit_is_never_copied_under_a_new_digest() {
    let mut random = Random(0x5eed);
    let (mut files, mut refused, mut went_on) = (0, 0, 0);
    for (name, bytes) in sources() {
        let Some(file) = open(&bytes) else { continue };
        let covered = |c: &Component<'_>| c.part_number() == 0 && c.stored_size() > 0;
        let places: Vec<_> = file.objects().flat_map(|o| o.components()).filter(covered).collect();
        let places: Vec<_> = places.iter().map(|c| (c.offset(), c.stored_size())).collect();
        if places.is_empty() {
            continue;
        }
        for _ in 0..2 {
            let (offset, size) = places[random.below(places.len() as u64) as usize];
            let mut damaged = bytes.clone();
            damaged[(offset + random.below(size)) as usize] ^= 1 << random.below(8);
            let Some(file) = open(&damaged) else { continue };
            let (no, yes) = check(&name, &file);
            (files, refused, went_on) = (files + 1, refused + no, went_on + yes);
        }
    }
    assert!(files > 200 && refused > 2000 && went_on > 500, "{files} {refused} {went_on}");
}

/// The components do not have digests, but the root's table of shards has a digest of each shard.
#[test]
fn a_damaged_shard_is_neither_copied_nor_called_good() {
    let folder = common::Folder::new();
    let (shard_path, root_path) = (folder.path("r-s1.zt"), folder.path("r.zt"));
    let options = WriterOptions { version: Version::V2, ..common::without_digests() };
    let sample = common::Sample::dense("a", Dtype::U8, &[5000], vec![7; 5000]);
    std::fs::write(&shard_path, common::file_of(&options, &[sample])).unwrap();
    let shard = File::open(&shard_path, &OpenOptions::default()).unwrap();
    let mut writer = Writer::create(&root_path, &options).unwrap();
    writer.add_shard("s1", &shard).unwrap();
    writer.link(&shard.find("a").unwrap(), "a").unwrap();
    writer.finish().unwrap();
    let place = shard.find("a").unwrap().component("data").unwrap().offset() as usize;
    drop(shard);
    for damaged in [false, true] {
        let mut bytes = std::fs::read(&shard_path).unwrap();
        bytes[place + 100] ^= u8::from(damaged);
        std::fs::write(&shard_path, bytes).unwrap();
        let root = File::open_model(&root_path, &OpenOptions::default()).unwrap();
        let expected = if damaged { Err(Some(Rule::Zt2ShardIdentity)) } else { Ok(()) };
        let mut copied = Ok(());
        common::written(&WriterOptions::default(), |writer| {
            copied = writer.copy(root.find("a").unwrap(), "copy").map_err(|e| e.rule());
        });
        assert_eq!(copied, expected);
        let verified = root.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default());
        assert_eq!(verified.map_err(|e| e.rule()), expected);
    }
}

#[test]
fn a_view_of_a_damaged_storage_is_damaged_wherever_the_bit_is() {
    let path = repository("tests/data/foreign/valid/amber-view-of-large-storage.pt");
    let bytes = std::fs::read(path).unwrap();
    let file = open(&bytes).unwrap();
    let view = file.objects().flat_map(|o| o.components()).find(|c| c.stored_size() > 0).unwrap();
    // The byte before the view belongs to the same storage, or to its record's header.
    let (offset, end) = (view.offset(), view.offset() + view.stored_size());
    let name = file.objects().find(|o| o.component("data").unwrap().offset() == offset).unwrap().name();
    let mut found = 0;
    for at in [offset - 1, end] {
        let mut damaged = bytes.clone();
        damaged[at as usize] ^= 1;
        let Some(file) = open(&damaged) else { continue };
        let mut outcome = None;
        common::written(&WriterOptions::default(), |writer| {
            outcome = writer.copy(file.find(name).unwrap(), "copy").err();
        });
        found += usize::from(outcome.is_some_and(|e| e.rule() == Some(Rule::ZipChecksum)));
    }
    assert!(found > 0);
}
