//! Elements that are not contiguous: with strides, big-endian, or after a header that is deflated together
//! with them.

use crate::common;

use common::ReadOnly;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{BatchOptions, BatchStats, File, Hyperslab, OpenOptions, Selection};
use ztensor::source::ByteSource;
use ztensor::writer::WriterOptions;

/// An array in Fortran order. Its elements are their positions in C order; they are big-endian.
fn fortran(shape: [u64; 3]) -> Vec<u8> {
    let text = format!(
        "{{'descr': '>i4', 'fortran_order': True, 'shape': ({}, {}, {})}}",
        shape[0], shape[1], shape[2]
    );
    let size = (text.len() as u16).to_le_bytes();
    let mut bytes = [b"\x93NUMPY\x01\x00", &size[..], text.as_bytes()].concat();
    for k in 0..shape[2] {
        for j in 0..shape[1] {
            for i in 0..shape[0] {
                bytes.extend((((i * shape[1] + j) * shape[2] + k) as u32).to_be_bytes());
            }
        }
    }
    bytes
}

fn corpus(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign/valid");
    std::fs::read(folder.join(name)).unwrap()
}

/// The file in memory, and in a source of callbacks.
fn open_each(bytes: &[u8]) -> [File; 2] {
    let options = OpenOptions::default();
    let called = Box::new(ReadOnly(bytes.to_vec()));
    [
        File::open_memory(bytes.to_vec(), &options).unwrap(),
        File::from_source(called, &options, String::from("called")).unwrap(),
    ]
}

#[test]
fn strides_and_byte_order_are_undone_in_every_read() {
    let shape = [7, 33, 40];
    let count = (7 * 33 * 40) as u32;
    let expected: Vec<u8> = (0..count).flat_map(u32::to_ne_bytes).collect();
    for file in open_each(&fortran(shape)) {
        let object = file.find("").unwrap();
        let data = object.component("data").unwrap();
        let mut whole = vec![0; expected.len()];
        data.read(&mut whole).unwrap();
        assert!(whole == expected);
        for (offset, size) in
            [(0, 1), (1, 6), (4, 160), (5000, 20_001), (36_000, 960), (36_959, 1), (36_960, 0)]
        {
            let mut part = vec![0; size];
            data.read_range(offset as u64, &mut part).unwrap();
            assert_eq!(part, expected[offset..offset + size], "{offset}");
        }
        let slab = Hyperslab { start: &[1, 3, 2], count: &[3, 10, 12], step: Some(&[2, 3, 3]) };
        let mut part = vec![0; 3 * 10 * 12 * 4];
        object.read_slice(&slab, &mut part).unwrap();
        let mut elements = part.chunks_exact(4).map(|e| u32::from_ne_bytes(e.try_into().unwrap()));
        for (i, j) in (0..3).flat_map(|i| (0..10).map(move |j| (1 + i * 2, 3 + j * 3))) {
            for k in 0..12 {
                assert_eq!(elements.next(), Some((i * 33 + j) * 40 + 2 + k * 3));
            }
        }
        let mut floats = vec![0; expected.len()];
        object.read_as(Dtype::F32, &mut floats).unwrap();
        let first = floats.chunks_exact(4).map(|e| f32::from_ne_bytes(e.try_into().unwrap()));
        assert!(first.zip(0..count).all(|(found, at)| found == at as f32));
        let (mut one, mut two) = (vec![0; expected.len()], vec![0; 4000]);
        let range = Selection::Range { offset: 8, length: 4000 };
        let mut requests = [
            data.request(&Selection::Whole, &mut one, 0).unwrap(),
            data.request(&range, &mut two, 1).unwrap(),
        ];
        let options = BatchOptions { threads: 2, verify: true, ..BatchOptions::default() };
        let mut stats = BatchStats::default();
        File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, &mut stats).unwrap();
        assert!(one == expected && two == expected[8..4008]);
        let error = data.borrow().unwrap_err();
        assert!(error.cause() == Cause::NotMappable && error.message().contains("strides"), "{error}");
        let mut stored = vec![0; expected.len()];
        data.read_stored(&mut stored).unwrap();
        assert_eq!(stored[4..8], (33u32 * 40).to_be_bytes(), "the stored bytes");
        assert!(!data.caps().map && data.caps().range && !data.caps().direct);
    }
}

/// A source of callbacks, which counts them.
struct Counted {
    bytes: Vec<u8>,
    calls: Arc<AtomicUsize>,
}

impl ByteSource for Counted {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn slice(&self, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        dst.copy_from_slice(&self.bytes[offset as usize..][..dst.len()]);
        Ok(())
    }
}

#[test]
fn neighbouring_arrays_are_read_with_one_call() {
    for name in ["amber-all-deflated.npz", "amber-fortran.npz"] {
        let (bytes, calls) = (corpus(name), Arc::new(AtomicUsize::new(0)));
        let (source, options) = (Counted { bytes, calls: calls.clone() }, OpenOptions::default());
        let file = File::from_source(Box::new(source), &options, String::from("counted")).unwrap();
        let components: Vec<_> = file.objects().map(|object| object.component("data").unwrap()).collect();
        let mut places: Vec<_> = components.iter().map(|c| vec![0; c.size().unwrap() as usize]).collect();
        let requests = components.iter().zip(&mut places);
        let mut requests: Vec<_> =
            requests.map(|(c, dst)| c.request(&Selection::Whole, dst, 0).unwrap()).collect();
        assert!(requests.len() > 2, "{name}");
        calls.store(0, Ordering::Relaxed);
        let (options, mut stats) = (BatchOptions::default(), BatchStats::default());
        File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, &mut stats).unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{name}");
        assert_eq!(stats.stored_bytes, components.iter().map(|c| c.stored_size()).sum::<u64>(), "{name}");
        for (component, found) in components.iter().zip(&places) {
            let mut expected = vec![1; found.len()];
            component.read(&mut expected).unwrap();
            assert_eq!(*found, expected, "{name}");
        }
    }
}

#[test]
fn copies_have_the_same_elements() {
    for name in
        ["amber-fortran.npz", "amber-all-deflated.npz", "amber-big-endian.npz", "amber-bare-fortran-be.npy"]
    {
        for file in open_each(&corpus(name)) {
            let copy = common::open(common::written(&WriterOptions::default(), |writer| {
                for object in file.objects() {
                    writer.copy(object, &format!("copy of {}", object.name())).unwrap();
                }
            }));
            for object in file.objects() {
                let copied = copy.find(format!("copy of {}", object.name())).unwrap();
                assert_eq!(copied.shape(), object.shape());
                let (from, to) = (object.component("data").unwrap(), copied.component("data").unwrap());
                let size = from.size().unwrap() as usize;
                let (mut one, mut two) = (vec![0; size], vec![1; to.size().unwrap() as usize]);
                from.read(&mut one).unwrap();
                to.read(&mut two).unwrap();
                assert_eq!(one, two, "{name}");
                for start in [0, size / 3, size.saturating_sub(5)] {
                    let mut part = vec![0; (size - start).min(9)];
                    from.read_range(start as u64, &mut part).unwrap();
                    assert_eq!(part, one[start..start + part.len()], "{name}");
                }
            }
        }
    }
}

#[test]
fn components_that_decode_to_more_than_the_limit_are_rejected() {
    let options = OpenOptions { max_decoded_size: Some(130), ..OpenOptions::default() };
    let file = File::open_memory(corpus("amber-all-deflated.npz"), &options).unwrap();
    let refused = file.objects().filter(|object| {
        let data = object.component("data").unwrap();
        let mut dst = vec![0; data.size().unwrap() as usize];
        data.read(&mut dst).is_err_and(|e| e.cause() == Cause::Limit)
    });
    let refused: Vec<_> = refused.collect();
    assert!(!refused.is_empty());
    // A batch reports it as the error of that request.
    for object in refused {
        let (data, failures) = (object.component("data").unwrap(), AtomicUsize::new(0));
        let mut dst = vec![0; data.size().unwrap() as usize];
        let mut requests = [data.request(&Selection::Whole, &mut dst, 7).unwrap()];
        let on_done = |tag: u64, outcome: &Result<()>| {
            assert_eq!((tag, outcome.as_ref().unwrap_err().cause()), (7, Cause::Limit));
            failures.fetch_add(1, Ordering::Relaxed);
        };
        let (options, mut stats) = (BatchOptions::default(), BatchStats::default());
        let outcome = File::read_batch(&mut requests, &options, &on_done, &|_, _| true, &mut stats);
        assert_eq!((outcome.unwrap_err().cause(), failures.into_inner()), (Cause::Limit, 1));
    }
}
