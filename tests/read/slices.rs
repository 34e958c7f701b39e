//! Slices large enough for several threads, for each mode of the file.

use crate::common;

use common::{Aligned, Folder, Random, Sample};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, Hyperslab, Mode, OpenOptions};
use ztensor::source::{ByteSource, PageCache, Profile};
use ztensor::writer::WriterOptions;

/// The slab, copied element by element from a complete tensor of three dimensions.
fn cut(whole: &[u8], shape: [u64; 3], width: usize, slab: &Hyperslab<'_>) -> Vec<u8> {
    let step = slab.step.unwrap_or(&[1, 1, 1]);
    let at = |axis: usize, k: u64| slab.start[axis] + k * step[axis];
    let mut found = Vec::new();
    for (i, j) in (0..slab.count[0]).flat_map(|i| (0..slab.count[1]).map(move |j| (i, j))) {
        for k in 0..slab.count[2] {
            let element = ((at(0, i) * shape[1] + at(1, j)) * shape[2] + at(2, k)) as usize * width;
            found.extend_from_slice(&whole[element..element + width]);
        }
    }
    found
}

#[test]
fn large_slices_are_the_same_in_every_mode() {
    let (shape, width) = ([12, 700, 640], 2);
    let mut whole = vec![0u8; 12 * 700 * 640 * width];
    let mut random = Random(7);
    whole.iter_mut().for_each(|byte| *byte = random.below(256) as u8);
    let sample = Sample::dense("w", Dtype::Bf16, &shape, whole.clone());
    let bytes = common::file_of(&WriterOptions::default(), &[sample]);
    let folder = Folder::new();
    let path = folder.0.join("slices.zt");
    std::fs::write(&path, &bytes).unwrap();
    let with = |mode, threads| OpenOptions { mode, threads, ..OpenOptions::default() };
    let own = || Box::new(common::ReadOnly(bytes.clone()));
    let files = [
        ("mapped", File::open(&path, &with(Mode::Map, 0)).unwrap()),
        ("mapped, three threads", File::open(&path, &with(Mode::Map, 3)).unwrap()),
        ("read", File::open(&path, &with(Mode::Read, 0)).unwrap()),
        ("read, one thread", File::open(&path, &with(Mode::Read, 1)).unwrap()),
        ("memory", File::open_memory(Aligned::of(&bytes), &OpenOptions::default()).unwrap()),
        ("own", File::from_source(own(), &OpenOptions::default(), String::from("own")).unwrap()),
    ];
    let slabs = [
        Hyperslab { start: &[0, 0, 0], count: &[12, 700, 640], step: None },
        Hyperslab { start: &[3, 0, 0], count: &[4, 700, 640], step: None },
        Hyperslab { start: &[0, 0, 80], count: &[12, 700, 80], step: None },
        Hyperslab { start: &[1, 350, 1], count: &[11, 350, 639], step: None },
        Hyperslab { start: &[0, 5, 3], count: &[6, 230, 600], step: Some(&[2, 3, 1]) },
        Hyperslab { start: &[0, 0, 0], count: &[12, 700, 213], step: Some(&[1, 1, 3]) },
        Hyperslab { start: &[0, 0, 0], count: &[12, 10, 30], step: None },
    ];
    for (label, file) in &files {
        let object = file.find("w").unwrap();
        for slab in &slabs {
            let want = cut(&whole, shape, width, slab);
            let mut found = vec![0xaa; want.len() + 3];
            object
                .read_slice(slab, &mut found)
                .unwrap_or_else(|e| panic!("{label}, {slab:?}: {}", e.message()));
            assert!(found[..want.len()] == want, "{label}, {slab:?}");
            assert_eq!(found[want.len()..], [0xaa; 3], "{label}: bytes after the slab were written");
            let error = object.read_slice(slab, &mut found[..want.len() - 1]).unwrap_err();
            assert_eq!(error.cause(), Cause::BufferSize, "{label}, {slab:?}: {}", error.message());
        }
        let outside = Hyperslab { start: &[0, 0, 1], count: &[12, 700, 640], step: None };
        let error = object.read_slice(&outside, &mut vec![0; whole.len()]).unwrap_err();
        assert_eq!(error.cause(), Cause::InvalidArgument, "{label}: {}", error.message());
        assert!(error.message().contains("\"w\""), "{label}: {}", error.message());
    }
}

#[test]
fn a_large_slice_of_a_file_that_was_cut_short_is_an_error() {
    let shape = [4, 600, 640];
    let sample = Sample::dense("w", Dtype::U8, &shape, vec![7; 4 * 600 * 640]);
    let folder = Folder::new();
    let path = folder.0.join("short.zt");
    std::fs::write(&path, common::file_of(&WriterOptions::default(), &[sample])).unwrap();
    let slab = Hyperslab { start: &[0, 0, 0], count: &[4, 600, 500], step: None };
    for mode in [Mode::Map, Mode::Read] {
        let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let cut = std::fs::File::options().write(true).open(&path).unwrap().set_len(600 * 640);
        if mode == Mode::Map && cut.is_err() {
            continue; // a system that cannot truncate a mapped file
        }
        cut.unwrap();
        let error = file.find("w").unwrap().read_slice(&slab, &mut vec![0; 4 * 600 * 500]).unwrap_err();
        assert_eq!(error.cause(), Cause::Io, "{mode:?}: {}", error.message());
        std::fs::write(&path, whole).unwrap();
    }
}

/// A mapped file whose pages are in memory, or not. It also counts the bytes that are read.
struct Mapped {
    bytes: Vec<u8>,
    in_memory: bool,
    read: Arc<AtomicU64>,
}

impl ByteSource for Mapped {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.bytes.get(range.start as usize..range.end as usize)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.read.fetch_add(dst.len() as u64, Ordering::Relaxed);
        dst.copy_from_slice(&self.bytes[offset as usize..][..dst.len()]);
        Ok(())
    }

    fn profile(&self) -> Profile {
        Profile::file()
    }

    fn page_cache(&self) -> Option<&dyn PageCache> {
        Some(self)
    }
}

impl PageCache for Mapped {
    fn resident(&self, _offset: u64) -> Option<bool> {
        Some(self.in_memory)
    }
}

#[test]
fn a_large_slice_is_copied_out_of_a_mapping_only_where_it_is_in_memory() {
    let whole: Vec<u8> = (0..4000 * 1024_u32).map(|i| (i % 249) as u8).collect();
    let sample = Sample::dense("w", Dtype::U8, &[4000, 1, 1024], whole.clone());
    let bytes = common::file_of(&WriterOptions::default(), &[sample]);
    let slab = Hyperslab { start: &[0, 0, 256], count: &[4000, 1, 512], step: None };
    let want = cut(&whole, [4000, 1, 1024], 1, &slab);
    for in_memory in [true, false] {
        let read = Arc::default();
        let source = Mapped { bytes: bytes.clone(), in_memory, read: Arc::clone(&read) };
        let file =
            File::from_source(Box::new(source), &OpenOptions::default(), String::from("mapped")).unwrap();
        let before = read.load(Ordering::Relaxed);
        let mut found = vec![0; want.len()];
        file.find("w").unwrap().read_slice(&slab, &mut found).unwrap();
        assert!(found == want);
        let read = read.load(Ordering::Relaxed) - before;
        assert_eq!(read == 0, in_memory, "{read} bytes were read");
    }
}
