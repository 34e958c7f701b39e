//! Thousands of valid files with changes, the same in every run. Each file opens, and its tensors are read or
//! rejected; or it is rejected. Each error is one line that names the file and, if the file breaks a rule,
//! the rule.

use super::{folder, CONTAINERS};
use crate::common::Random;
use crate::counting::peak;
use ztensor::error::{Cause, Error};
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};

const NAME: &str = "the changed file";
/// The limit for decoded components in these tests.
const DECODED: u64 = 1 << 16;
/// The limit for a message, even if a tensor's name is long.
const LONGEST_MESSAGE: usize = 2048;
/// Larger files get fewer changes.
const SMALL: usize = 8 << 10;

fn check(error: &Error, what: &dyn Fn() -> String) {
    let message = error.message();
    assert!(message.starts_with(NAME) && !message.contains(['\n', '\r', '\0']), "{}: {message:?}", what());
    assert!(message.len() <= LONGEST_MESSAGE, "{}: {} bytes of message", what(), message.len());
    let is_reported = match error.cause() {
        Cause::Broken(rule) => !rule.name().is_empty(),
        cause => {
            [Cause::NotZtensor, Cause::Unsupported, Cause::Limit, Cause::DigestMismatch].contains(&cause)
        }
    };
    assert!(is_reported, "{}: {:?}: {message}", what(), error.cause());
}

/// Opens the file. If that works, reads and verifies it. Returns whether it opened.
fn try_bytes(bytes: Vec<u8>, what: &dyn Fn() -> String) -> bool {
    let options = OpenOptions {
        name: Some(NAME.to_owned()),
        max_decoded_size: Some(DECODED),
        ..OpenOptions::default()
    };
    let size = bytes.len();
    let (opened, most) = peak(|| File::open_memory(bytes, &options));
    let bound = 64 * size + (1 << 20);
    assert!(most <= bound, "{}: {most} bytes at open, {bound} are allowed", what());
    let file = match opened {
        Err(e) => {
            check(&e, what);
            return false;
        }
        Ok(file) => file,
    };
    let mut unread = 0;
    for component in file.objects().flat_map(|object| object.components()).take(64) {
        if let Err(e) = component.load() {
            check(&e, what);
            unread += 1;
        }
    }
    let verify = VerifyOptions { threads: 1, ..VerifyOptions::default() };
    match file.verify(&verify, &|_, _| true, &mut VerifyReport::default()) {
        Err(e) => check(&e, what),
        // Components that cannot be read are listed, and are not errors of the file.
        Ok(()) if unread == 0 => {}
        Ok(()) => {
            let all = file.objects().flat_map(|object| object.components());
            let failing =
                all.filter(|c| c.load().is_err_and(|e| matches!(e.cause(), Cause::Broken(_)))).count();
            assert_eq!(failing, 0, "{}: it verifies, and breaks a rule when it is read", what());
        }
    }
    true
}

/// One or several changes.
fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(3) / 2 {
        let size = bytes.len() as u64;
        // The structure of a file is described at its start and end.
        let at = match random.below(4) {
            0 => random.below(size),
            1 => size - 1 - random.below(size.min(1024)),
            _ => random.below(size.min(2048)),
        } as usize;
        let rest = bytes.len() - at;
        let length = 1 + random.below(rest.min(24) as u64) as usize;
        match random.below(9) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0, 1, b'0', b'9', b'"', b'-', 0x7f, 0x80, 0xff][random.below(9) as usize],
            3 | 4 => {
                let extremes =
                    [0, 1, 2, size, 1 << 31, u64::from(u32::MAX), 1 << 40, 1 << 62, 1 << 63, u64::MAX];
                let number = extremes[random.below(10) as usize].to_le_bytes();
                let width = [2, 4, 8, 8][random.below(4) as usize].min(rest);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            5 => drop(bytes.drain(at..at + length)),
            6 => {
                let part = bytes[at..at + length].to_vec();
                bytes.splice(at..at, part);
            }
            7 => bytes.truncate(at + 1),
            _ => {
                let from = random.below(other.len() as u64) as usize;
                let part = &other[from..other.len().min(from + length)];
                bytes.splice(at..(at + part.len()).min(bytes.len()), part.iter().copied());
            }
        }
    }
}

/// Updates the checksums of an archive's members, so that changes are not detected by them.
fn mend_sums(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize, width: usize| {
        let field = bytes.get(at..at + width)?;
        Some(field.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    };
    let mut entry = bytes.windows(4).position(|mark| mark == b"PK\x01\x02");
    while let Some(at) = entry {
        let mended = (|| {
            let (local, size) = (number(bytes, at + 42, 4)?, number(bytes, at + 20, 4)?);
            let data = local.checked_add(30)? + number(bytes, local + 26, 2)? + number(bytes, local + 28, 2)?;
            if number(bytes, at + 10, 2)? == 0 {
                let sum = crc32fast::hash(bytes.get(data..data.checked_add(size)?)?).to_le_bytes();
                bytes.get_mut(at + 16..at + 20)?.copy_from_slice(&sum);
                bytes.get_mut(local + 14..local + 18)?.copy_from_slice(&sum);
            }
            let next = at
                + 46
                + number(bytes, at + 28, 2)?
                + number(bytes, at + 30, 2)?
                + number(bytes, at + 32, 2)?;
            bytes.get(next..)?.starts_with(b"PK\x01\x02").then_some(next)
        })();
        entry = mended;
    }
}

/// Changes each file with this extension in `rounds` ways.
fn changed_files(container: &str, rounds: u64) {
    let ends = || CONTAINERS.iter().filter(|(name, _)| *name == container).map(|(_, end)| *end);
    let all = std::fs::read_dir(folder("valid")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = all.filter(|p| ends().any(|end| p.to_str().unwrap().ends_with(end))).collect();
    paths.sort();
    let files: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let (mut tried, mut opened) = (0, 0);
    for (at, (path, file)) in paths.iter().zip(&files).enumerate() {
        let mut random = Random(0x2545_f491_4f6c_dd1d ^ at as u64);
        let rounds = if file.len() <= SMALL { rounds } else { rounds / 20 };
        for round in 0..rounds {
            let mut bytes = file.clone();
            let other = &files[random.below(files.len() as u64) as usize];
            change(&mut bytes, other, &mut random);
            if round % 2 == 0 && bytes.starts_with(b"PK") {
                mend_sums(&mut bytes);
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            opened += u64::from(try_bytes(bytes, &|| format!("{name}, change {round}")));
            tried += 1;
        }
    }
    assert!(tried > 5 * rounds && opened > tried / 50 && opened < tried, "{opened} of {tried}");
}

#[test]
fn changed_safetensors_are_read_or_refused() {
    changed_files("safetensors", 2000);
}

#[test]
fn changed_gguf_is_read_or_refused() {
    changed_files("gguf", 2000);
}

#[test]
fn changed_arrays_are_read_or_refused() {
    changed_files("npz", 2000);
}

#[test]
fn changed_checkpoints_are_read_or_refused() {
    changed_files("torch-zip", 2000);
}
