//! Reads everything in some bytes in every way, and compares the results.

use crate::memory::ReadOnly;
use crate::random::Random;
use crate::{copy, slice, views};
use ztensor::container::json;
use ztensor::error::{Cause, Error, Result, Rule};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Container;
use ztensor::reader::{BatchOptions, BatchStats, Component, File, OpenOptions, Selection};
use ztensor::reader::{VerifyOptions, VerifyReport};
use ztensor::source::ByteSource;

/// Limit for decoded components, so that an input stays fast.
pub const MOST_DECODED: u64 = 1 << 18;
/// The number of components that are checked completely.
const CLOSELY: usize = 48;

/// The status of a failure. Its text is one line, and it must not be an internal error.
pub fn check_error(error: &Error) -> (Cause, Option<Rule>) {
    assert!(!error.message().contains(['\n', '\r', '\0']), "{error}");
    assert!(!error.message().is_empty() && error.message().len() < 1 << 16, "{error}");
    assert_ne!(error.cause(), Cause::Internal, "{error}");
    assert_ne!(error.cause(), Cause::OutOfMemory, "{error}");
    (error.cause(), error.rule())
}

fn look(error: &Error) {
    check_error(error);
}

pub fn options(strict: bool) -> OpenOptions {
    OpenOptions { strict, max_decoded_size: Some(MOST_DECODED), ..OpenOptions::default() }
}

/// Opens bytes in memory, which can be borrowed.
pub fn open(bytes: &[u8], strict: bool) -> Result<File> {
    File::open_memory(bytes.to_vec(), &options(strict))
}

/// Opens bytes through a source that cannot map.
pub fn open_unlent(bytes: &[u8]) -> Result<File> {
    let source: Box<dyn ByteSource> = Box::new(ReadOnly(bytes.to_vec()));
    File::from_source(source, &options(false), String::from("the file in memory"))
}

/// Opens, lists, reads, verifies, views, slices and copies. Returns the file if it opened.
pub fn everything(bytes: &[u8]) -> Option<File> {
    let (file, sound) = everything_but_copies(bytes)?;
    copy::to_new_file(&file, sound, &mut Random::of(bytes));
    Some(file)
}

/// The same without copies. Also returns whether it verified and opened in strict mode.
pub fn everything_but_copies(bytes: &[u8]) -> Option<(File, bool)> {
    let mut random = Random::of(bytes);
    let strict = open(bytes, true);
    let unlent = open_unlent(bytes);
    let file = match (open(bytes, false), unlent) {
        (Ok(file), Ok(unlent)) => {
            same_listing(&file, &unlent);
            every_component(&file, &unlent, &mut random);
            file
        }
        (Err(a), Err(b)) => {
            assert_eq!(check_error(&a), check_error(&b), "{a}; {b}");
            assert!(strict.is_err(), "lenient rejects it, strict accepts it: {a}");
            return None;
        }
        (a, b) => panic!("borrowed: {a:?}; read: {b:?}"),
    };
    let verified = verify(&file, 1 + usize::from(random.once_in(16)));
    if let Ok(strict) = &strict {
        let strictly = verify(strict, 1);
        assert!(verified.is_ok() || strictly.is_err(), "strict verifies, lenient does not: {verified:?}");
        strict.objects().flat_map(|o| o.components()).take(CLOSELY).for_each(|c| drop(c.load()));
    }
    views::every_object(&file, verified.is_ok());
    for object in file.objects().take(16) {
        slice::some(&object, &mut random);
    }
    Some((file, verified.is_ok() && strict.is_ok()))
}

fn verify(file: &File, threads: usize) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let options = VerifyOptions { threads, ..VerifyOptions::default() };
    let outcome = file.verify(
        &options,
        &|done, total| {
            assert!(done <= total, "{done} of {total}");
            true
        },
        &mut report,
    );
    if let Err(e) = &outcome {
        check_error(e);
        return Err(outcome.unwrap_err());
    }
    assert_eq!(report.objects, file.object_count() as u64);
    let components: Vec<_> = file.objects().flat_map(|o| o.components()).collect();
    assert_eq!(report.components, components.len() as u64);
    // The checksums of an archive count, too.
    let digests = components.iter().filter(|c| c.digest().is_some() || c.caps().verify).count() as u64;
    assert_eq!(report.digests_verified + report.digests_unknown, digests);
    assert_eq!(report.digests_absent + digests, report.components);
    for c in components.iter().take(CLOSELY).filter(|c| c.caps().read && !is_wide_view(file, c)) {
        c.load().unwrap_or_else(|e| panic!("it verified, but: {e}"));
        assert!(!c.caps().verify || c.verify_digest().is_ok());
    }
    Ok(report)
}

/// Whether its bytes exist, but strides repeat them beyond the limit, which verification does not check.
pub fn is_wide_view(file: &File, c: &Component<'_>) -> bool {
    file.container() == Container::Torch && c.size().is_ok_and(|size| size > MOST_DECODED)
}

fn same_listing(a: &File, b: &File) {
    assert_eq!((a.version(), a.size(), a.object_count()), (b.version(), b.size(), b.object_count()));
    a.attributes().map(|v| json::write(v).unwrap());
    for (at, object) in a.objects().enumerate() {
        let found = a.find_position(object.name_bytes()).expect("a listed name was not found");
        assert!(found == at || found < at && a.version() == "0.1.0", "{found} {at}");
        assert!(object.attributes().is_none_or(|v| v.as_map().is_some()));
        if at < 256 {
            object.attributes().map(|v| json::write(v).unwrap());
            for c in object.components() {
                assert_eq!(object.component(c.role()).unwrap().offset(), c.offset());
                assert!(
                    c.offset() % a.capabilities().alignment == 0 && c.offset() + c.stored_size() <= a.size()
                );
            }
        }
    }
    assert!(a.required("\u{1}no such name\u{2}").is_err() || a.find("\u{1}no such name\u{2}").is_some());
}

fn every_component(file: &File, unlent: &File, random: &mut Random) {
    let pairs =
        file.objects().flat_map(|o| o.components()).zip(unlent.objects().flat_map(|o| o.components()));
    let mut loaded = Vec::new();
    for (a, b) in pairs.take(CLOSELY) {
        let bytes = component(&a, random);
        let other = component(&b, random);
        assert_eq!(bytes, other, "{:?}/{:?}: borrowed and read bytes differ", a.object().name(), a.role());
        if let Some(bytes) = bytes {
            loaded.push((a, bytes));
        }
    }
    batch(&loaded, random);
    let unlent_loaded: Vec<_> = unlent.objects().flat_map(|o| o.components()).take(CLOSELY).collect();
    let same = |c: &Component<'_>| {
        loaded.iter().position(|(a, _)| {
            a.entry().offset == c.entry().offset
                && a.role() == c.role()
                && a.object().name_bytes() == c.object().name_bytes()
        })
    };
    let matched: Vec<_> = unlent_loaded
        .into_iter()
        .filter_map(|c| {
            let at = same(&c)?;
            (loaded[at].1.len() as u64 == c.size().ok()?).then(|| (c, loaded[at].1.clone()))
        })
        .collect();
    if unlent.version() != "0.1.0" {
        batch(&matched, random);
    }
}

/// Reads one component in every way. Returns its decoded bytes if it has any.
pub fn component(c: &Component<'_>, random: &mut Random) -> Option<Vec<u8>> {
    let size = c.size();
    let borrowed = c.borrow();
    assert_eq!(c.caps().map, borrowed.is_ok());
    let outcome = c.load();
    let bytes = match &outcome {
        Ok(loaded) => Some(loaded.as_slice().to_vec()),
        Err(e) => {
            check_error(e);
            None
        }
    };
    let _ = c.verify_digest().inspect_err(|e| look(e));
    if let Some(bytes) = &bytes {
        assert_eq!(size.as_ref().unwrap(), &(bytes.len() as u64));
        assert_eq!(outcome.as_ref().unwrap().as_slice().as_ptr().addr() % 64, 0);
        assert!(c.caps().read);
    }
    if let Ok(borrowed) = borrowed {
        assert_eq!(Some(borrowed), bytes.as_deref());
    }
    let mut decoded = Vec::new();
    let stepwise = c.for_each_decoded(&mut |chunk| {
        decoded.extend_from_slice(chunk);
        Ok(())
    });
    match (&bytes, &stepwise) {
        (Some(bytes), Ok(())) => assert_eq!(bytes, &decoded),
        (None, Err(e)) => look(e),
        // One call decodes windows that a stream does not keep.
        (Some(_), Err(e)) if e.message().contains("has a window over 2^27") => look(e),
        (bytes, _) => panic!("loaded: {:?}, piece by piece: {stepwise:?}", bytes.as_ref().map(Vec::len)),
    }
    let size = size.inspect_err(|e| look(e)).ok()?;
    if size > MOST_DECODED.max(c.stored_size()) {
        assert!(bytes.is_none(), "{size} bytes exceed the limit");
        return None;
    }
    let mut memory = vec![0xaa; size as usize + random.below(3) as usize];
    let read = c.read(&mut memory);
    assert_eq!(read.is_ok(), bytes.is_some(), "{read:?}");
    assert!(size == 0 || c.read(&mut memory[..size as usize - 1]).is_err());
    if let Some(bytes) = &bytes {
        c.read(&mut memory).unwrap();
        assert_eq!(&memory[..bytes.len()], &bytes[..]);
        assert!(memory[bytes.len()..].iter().all(|b| *b == 0xaa), "written past the end");
    }
    ranges(c, bytes.as_deref(), size, random);
    converted(c, bytes.as_deref(), size, random);
    bytes
}

fn ranges(c: &Component<'_>, bytes: Option<&[u8]>, size: u64, random: &mut Random) {
    for _ in 0..4 {
        let start = random.below(size + 1);
        let length = if random.once_in(4) { size - start } else { random.below((size - start).min(300) + 1) };
        let mut part = vec![0x55; length as usize];
        let read = c.read_range(start, &mut part);
        if let Some(bytes) = bytes {
            if let Err(e) = &read {
                assert!(e.message().contains("has a window over 2^27"), "{length} bytes at {start}: {e}");
                continue;
            }
            assert_eq!(part, &bytes[start as usize..(start + length) as usize]);
        } else if let Err(e) = read {
            check_error(&e);
        }
    }
    assert!(c.read_range(size, &mut [0]).is_err());
    assert!(c.read_range(u64::MAX, &mut [0]).is_err());
}

fn converted(c: &Component<'_>, bytes: Option<&[u8]>, size: u64, random: &mut Random) {
    let (Some(from), object) = (c.dtype(), c.object()) else { return };
    let all = Dtype::ALL;
    for to in [all[random.below(all.len() as u64) as usize], from] {
        let mut as_other = vec![0x77; (size as usize / from.size() + 1) * to.size()];
        let outcome = object.read_as(to, &mut as_other);
        if let Ok(written) = outcome {
            assert_eq!(object.size_as(to).unwrap(), written as u64);
            assert!(
                as_other[written..].iter().all(|byte| *byte == 0x77),
                "a byte after the numbers was written"
            );
        }
        if object.component("data").is_none_or(|data| data.number() != c.number()) {
            continue;
        }
        match (outcome, bytes) {
            (Ok(written), Some(bytes))
                if to == from && from != Dtype::Bool && c.known_logical().is_none_or(|t| t.ratio() == 2) =>
            {
                assert_eq!(&as_other[..written], bytes);
            }
            (Ok(_), None) => panic!("converted, but cannot be loaded"),
            (Ok(_), _) => {}
            (Err(e), _) => look(&e),
        }
    }
}

fn batch(loaded: &[(Component<'_>, Vec<u8>)], random: &mut Random) {
    let mut plan = Vec::new();
    for (c, bytes) in loaded {
        let size = bytes.len() as u64;
        let start = random.below(size + 1);
        let length = random.below(size - start + 1);
        plan.push((c, Selection::Whole, 0, size));
        // Only in C do offset 0 and length 0 mean the complete component.
        plan.push((c, Selection::Range { offset: start, length }, start, length));
    }
    let mut memory: Vec<Vec<u8>> = plan.iter().map(|p| vec![0x33; p.3 as usize]).collect();
    let mut requests: Vec<_> =
        plan.iter().zip(&mut memory).map(|((c, part, ..), dst)| c.request(part, dst, 0).unwrap()).collect();
    let options = BatchOptions {
        threads: 1 + usize::from(random.once_in(16)),
        chunk_size: 4096 * (1 + random.below(4)),
        in_flight: random.below(100_000),
        verify: random.once_in(2),
        ..BatchOptions::default()
    };
    let mut stats = BatchStats::default();
    let outcome = File::read_batch(
        &mut requests,
        &options,
        &|_, _| (),
        &|done, total| {
            assert!(done <= total);
            true
        },
        &mut stats,
    );
    match outcome {
        Ok(()) => {
            for (p, dst) in plan.iter().zip(&memory) {
                let at = loaded.iter().find(|(c, _)| std::ptr::eq(c, p.0)).unwrap();
                assert_eq!(dst[..], at.1[p.2 as usize..(p.2 + p.3) as usize]);
            }
            assert_eq!(stats.requests, plan.len() as u64);
            assert_eq!(stats.bytes, plan.iter().map(|p| p.3).sum::<u64>());
        }
        Err(e) => {
            let (cause, _) = check_error(&e);
            let digests = [Cause::DigestMismatch, Cause::Broken(Rule::DigestForm)];
            let window = e.message().contains("has a window over 2^27");
            assert!(window || options.verify && digests.contains(&cause), "each can be loaded, but: {e}");
        }
    }
}
