//! System calls that fail like in a container with a filter. Code with a fallback uses it. Otherwise the
//! error says what to do.
#![cfg(target_os = "linux")]

use crate::common;
use crate::refusing;

use common::{compressible, Folder, Sample};
use refusing::{all_of, if_argument, refusing, Rule};
use std::path::Path;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{
    Advice, BatchOptions, BatchStats, Component, Direct, File, Hyperslab, Mode, OpenOptions, Selection,
    VerifyOptions, VerifyReport,
};
use ztensor::writer::{Algorithm, Writer, WriterOptions};

/// Errors for a filtered call: from a policy, a kernel without the call, or a call without the feature.
const ERRORS: [i32; 4] = [libc::EPERM, libc::ENOSYS, libc::EINVAL, libc::EACCES];

const MAP_OF_FILE: Rule = if_argument(libc::SYS_mmap, 3, libc::MAP_ANONYMOUS as u32, 0);
const STATX: Rule = all_of(libc::SYS_statx);
const FSTAT: [Rule; 2] = [all_of(libc::SYS_fstat), all_of(libc::SYS_newfstatat)];
const FALLOCATE: Rule = all_of(libc::SYS_fallocate);
const DIRECT: Rule = if_argument(libc::SYS_openat, 2, libc::O_DIRECT as u32, libc::O_DIRECT as u32);
const THREADS: [Rule; 2] = [all_of(libc::SYS_clone), all_of(libc::SYS_clone3)];
/// Files of the system: ours are opened without waiting.
const PROC: Rule = if_argument(libc::SYS_openat, 2, (libc::O_NONBLOCK | libc::O_ACCMODE) as u32, 0);

/// Each call that reading makes use of, and all of those that it can do without.
fn for_reading() -> Vec<(&'static str, Vec<Rule>)> {
    let mut refusals: Vec<(&'static str, Vec<Rule>)> = vec![
        ("mmap of files", vec![MAP_OF_FILE]),
        ("statx", vec![STATX]),
        ("fstat", FSTAT.to_vec()),
        ("statx and fstat", vec![STATX, FSTAT[0], FSTAT[1]]),
        ("preadv2", vec![all_of(libc::SYS_preadv2)]),
        ("preadv", vec![all_of(libc::SYS_preadv)]),
        ("pagemap", vec![PROC]),
        ("ioctl", vec![all_of(libc::SYS_ioctl)]),
        ("O_DIRECT", vec![DIRECT]),
        ("madvise", vec![all_of(libc::SYS_madvise)]),
        ("mincore", vec![all_of(libc::SYS_mincore)]),
        ("fadvise", vec![all_of(libc::SYS_fadvise64)]),
        ("fstatfs", vec![all_of(libc::SYS_fstatfs)]),
        ("sched_getaffinity", vec![all_of(libc::SYS_sched_getaffinity)]),
        ("threads", THREADS.to_vec()),
        ("memfd_create", vec![all_of(libc::SYS_memfd_create)]),
    ];
    let all = refusals.iter().flat_map(|(_, rules)| rules.clone()).collect();
    refusals.push(("all of them", all));
    refusals
}

fn samples() -> Vec<Sample> {
    let dense = |name: &str, shape: &[u64], size| Sample::dense(name, Dtype::U8, shape, compressible(size));
    vec![
        dense("large", &[17 << 10, 1 << 10], 17 << 20), // large enough for direct reads
        dense("odd", &[5, 100_001], 500_005),
        dense("a", &[77], 77),
        dense("b", &[78], 78),
        dense("c", &[79], 79),
    ]
}

fn write(path: &Path, samples: &[Sample], options: &WriterOptions) -> ztensor::error::Result<()> {
    let mut writer = Writer::create(path, options)?;
    samples.iter().try_for_each(|sample| sample.write(&mut writer))?;
    writer.finish().map(drop)
}

fn options(encoding: Encoding) -> WriterOptions {
    let digest = Some(Algorithm::Crc32c);
    WriterOptions { encoding, digest, large_alignment: 65536, ..WriterOptions::default() }
}

fn data<'f>(file: &'f File, sample: &Sample) -> Component<'f> {
    file.find(&sample.name).unwrap().component("data").unwrap()
}

/// Every way to read the bytes of an open file.
fn read_all(file: &File, samples: &[Sample], what: &str) {
    for sample in samples {
        let (component, bytes) = (data(file, sample), &sample.parts[0].bytes);
        let mut found = vec![0; bytes.len()];
        component.read(&mut found).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(found == *bytes, "{what}: read");
        assert!(component.load().unwrap().as_slice() == bytes, "{what}: load");
        let mut range = vec![0; bytes.len() / 2];
        component.read_range(5, &mut range).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(range == bytes[5..5 + range.len()], "{what}: range");
        component.verify_digest().unwrap_or_else(|e| panic!("{what}: {e}"));
        for advice in [Advice::Normal, Advice::Sequential, Advice::WillNeed, Advice::Populate] {
            if let Err(e) = component.advise(advice) {
                assert_eq!(e.cause(), Cause::Unsupported, "{what}: {}", e.message());
            }
        }
    }
    let odd = file.find("odd").unwrap();
    let slab = Hyperslab { start: &[1, 7], count: &[3, 90_000], step: None };
    let mut slice = vec![0; 270_000];
    odd.read_slice(&slab, &mut slice).unwrap_or_else(|e| panic!("{what}: {e}"));
    let bytes = &samples.iter().find(|sample| sample.name == "odd").unwrap().parts[0].bytes;
    assert!((0..3).all(|row| {
        let start = (row + 1) * 100_001 + 7;
        slice[row * 90_000..(row + 1) * 90_000] == bytes[start..start + 90_000]
    }));
    for direct in [Direct::Auto, Direct::Never, Direct::Always] {
        let options = BatchOptions { direct, threads: 2, verify: true, ..BatchOptions::default() };
        match batch(file, samples, &options) {
            Ok((found, _)) => {
                assert!(found.iter().zip(samples).all(|(f, s)| *f == s.parts[0].bytes), "{what}")
            }
            Err(e) => {
                assert!(
                    direct == Direct::Always && e.cause() == Cause::Unsupported,
                    "{what}: {}",
                    e.message()
                );
            }
        }
    }
    let mut report = VerifyReport::default();
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut report)
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(report.digests_verified, samples.len() as u64, "{what}");
}

fn batch(
    file: &File,
    samples: &[Sample],
    options: &BatchOptions,
) -> ztensor::error::Result<(Vec<Vec<u8>>, BatchStats)> {
    let mut places: Vec<Vec<u8>> = samples.iter().map(|s| vec![0; s.parts[0].bytes.len()]).collect();
    let mut requests: Vec<_> = places
        .iter_mut()
        .zip(samples)
        .map(|(dst, sample)| data(file, sample).request(&Selection::Whole, dst, 0).unwrap())
        .collect();
    let mut stats = BatchStats::default();
    File::read_batch(&mut requests, options, &|_, _| {}, &|_, _| true, &mut stats)?;
    Ok((places, stats))
}

/// After statx has failed for a reason other than ENOSYS, the standard library knows that it exists, and
/// returns its later errors. A host that opened a file before it was restricted is in this state.
fn use_statx(folder: &Folder) {
    assert!(std::fs::metadata(folder.path("nothing")).is_err());
}

#[test]
fn a_file_is_read_in_every_mode_without_any_call_that_has_a_fallback() {
    let (folder, samples) = (Folder::new(), samples());
    use_statx(&folder);
    for encoding in [Encoding::Raw, Encoding::Zstd] {
        let path = folder.path("model.zt");
        let small = folder.path("small model.zt");
        write(&path, &samples, &options(encoding)).unwrap();
        write(&small, &samples[1..], &options(encoding)).unwrap();
        for (name, rules) in for_reading() {
            let maps = !["mmap of files", "all of them"].contains(&name);
            for (at, error) in ERRORS.into_iter().enumerate() {
                let all = [Mode::Map, Mode::Read, Mode::Auto, Mode::Private].as_slice();
                // Every mode completely with the first error; the other errors use the same code.
                let is_first = at == 0 && encoding == Encoding::Raw;
                let (path, samples) = if is_first { (&path, &samples[..]) } else { (&small, &samples[1..]) };
                for mode in all.iter().copied() {
                    let what = format!("{mode:?} {encoding:?} {name} refused with {error}");
                    let advice = if at == 0 { Advice::WillNeed } else { Advice::Sequential };
                    let options = OpenOptions { mode, advice, threads: 2, ..OpenOptions::default() };
                    let done = refusing(&rules, error, || match File::open(path, &options) {
                        Ok(file) => {
                            assert!(maps || matches!(mode, Mode::Read | Mode::Auto), "{what}");
                            let taken = if mode == Mode::Auto && maps { Mode::Map } else { mode };
                            let taken = if taken == Mode::Auto { Mode::Read } else { taken };
                            assert_eq!(file.mode(), taken, "{what}");
                            read_all(&file, samples, &what);
                        }
                        Err(e) => {
                            assert!(
                                !maps && matches!(mode, Mode::Map | Mode::Private),
                                "{what}: {}",
                                e.message()
                            );
                            assert_eq!(e.cause(), Cause::Unsupported, "{what}: {}", e.message());
                            for due in ["model.zt", "ZT_MODE_READ", "ZT_MODE_AUTO"] {
                                assert!(e.message().contains(due), "{what}: {}", e.message());
                            }
                        }
                    });
                    if done.is_none() {
                        return;
                    }
                }
            }
        }
    }
}

#[test]
fn a_rejected_hint_is_not_a_failure() {
    let (folder, samples) = (Folder::new(), samples());
    let path = folder.path("model.zt");
    write(&path, &samples, &options(Encoding::Raw)).unwrap();
    let rules = ["madvise", "fadvise"]
        .map(|name| for_reading().into_iter().find(|(other, _)| *other == name).unwrap().1);
    for error in ERRORS {
        refusing(&rules.concat(), error, || {
            let open = |advice| File::open(&path, &OpenOptions { advice, ..OpenOptions::default() });
            for hint in [Advice::Sequential, Advice::WillNeed, Advice::Populate] {
                let file = open(hint).unwrap_or_else(|e| panic!("{hint:?} {error}: {e}"));
                let outcome = data(&file, &samples[0]).advise(hint);
                assert_eq!(outcome.unwrap_err().cause(), Cause::Unsupported, "{hint:?} {error}");
            }
        });
    }
}

#[test]
fn files_are_written_appended_to_and_copied_without_any_call_that_has_a_fallback() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, samples) = (Folder::new(), samples());
    use_statx(&folder);
    let refusals = [
        ("fallocate", vec![FALLOCATE]),
        ("statx", vec![STATX]),
        ("fstat", FSTAT.to_vec()),
        ("O_DIRECT", vec![DIRECT]),
        ("mmap of files", vec![MAP_OF_FILE]),
        ("fadvise", vec![all_of(libc::SYS_fadvise64), all_of(libc::SYS_madvise)]),
        ("copy_file_range and sendfile", vec![all_of(libc::SYS_copy_file_range), all_of(libc::SYS_sendfile)]),
        ("sync_file_range", vec![all_of(libc::SYS_sync_file_range)]),
        ("threads", THREADS.to_vec()),
        ("sched_getaffinity", vec![all_of(libc::SYS_sched_getaffinity)]),
    ];
    let first = folder.path("first.zt");
    write(&first, &samples[1..], &options(Encoding::Raw)).unwrap();
    let wanted = std::fs::read(&first).unwrap();
    let (path, copied) = (folder.path("model.zt"), folder.path("copied.zt"));
    for (name, rules) in refusals {
        for error in ERRORS {
            for durable in [false, true] {
                let what = format!("{name} refused with {error}, durable: {durable}");
                std::fs::write(&path, b"replaced").unwrap();
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
                let options = WriterOptions { durable, ..options(Encoding::Raw) };
                let done = refusing(&rules, error, || {
                    write(&path, &samples[1..], &options).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(std::fs::read(&path).unwrap() == wanted, "{what}");
                    let mut writer =
                        Writer::append(&path, &options).unwrap_or_else(|e| panic!("{what}: {e}"));
                    samples[0].write(&mut writer).and_then(|()| writer.finish().map(drop)).unwrap();
                    let read = OpenOptions { mode: Mode::Read, ..OpenOptions::default() };
                    let file = File::open(&path, &read).unwrap_or_else(|e| panic!("{what}: {e}"));
                    let mut writer = Writer::create(&copied, &options).unwrap();
                    file.objects().try_for_each(|object| writer.copy(object, object.name())).unwrap();
                    writer.finish().unwrap_or_else(|e| panic!("{what}: {e}"));
                });
                if done.is_none() {
                    return;
                }
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640, "{what}");
                for path in [&path, &copied] {
                    read_all(&File::open(path, &OpenOptions::default()).unwrap(), &samples, &what);
                }
                assert_eq!(folder.names(), ["copied.zt", "first.zt", "model.zt"], "{what}");
            }
        }
    }
    // The library cannot tell what it would replace, so it fails.
    let rules = [STATX, FSTAT[0], FSTAT[1], all_of(libc::SYS_stat)];
    refusing(&rules, libc::EPERM, || {
        let e = write(&path, &samples[1..], &options(Encoding::Raw)).unwrap_err();
        assert!(
            e.cause() == Cause::Io && e.message().contains("could not look at the path"),
            "{}",
            e.message()
        );
    });
}
