//! Modes of a file: the mode that is chosen, the bytes that can be borrowed, and changes in a private
//! mapping.

use crate::common;

use common::{compressible, file_of, Aligned, Folder, ReadOnly, Sample};
use ztensor::error::Cause;
use ztensor::memory::try_box;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{
    BatchOptions, BatchStats, File, Hyperslab, Mode, OpenOptions, Selection, VerifyOptions, VerifyReport,
};
use ztensor::writer::{Algorithm, Recode, Writer, WriterOptions};

fn in_mode(mode: Mode) -> OpenOptions {
    OpenOptions { mode, ..OpenOptions::default() }
}

fn sample() -> Sample {
    Sample::dense("t", Dtype::U8, &[300, 1000], compressible(300_000))
}

fn bytes() -> Vec<u8> {
    let options = WriterOptions { digest: Some(Algorithm::Sha256), ..WriterOptions::default() };
    file_of(&options, &[sample()])
}

#[test]
fn the_chosen_mode_is_reported_and_complete_files_are_borrowed() {
    let folder = Folder::new();
    let (path, bytes) = (folder.path("t.zt"), bytes());
    std::fs::write(&path, &bytes).unwrap();
    let taken = |mode| File::open(&path, &in_mode(mode)).unwrap();
    for (mode, borrows) in [(Mode::Map, true), (Mode::Read, false), (Mode::Private, true)] {
        let file = taken(mode);
        assert_eq!(file.mode(), mode);
        match file.part(0).unwrap().borrow() {
            Ok(borrowed) => assert!(borrows && borrowed == bytes),
            Err(e) => assert!(!borrows && e.cause() == Cause::NotMappable && e.message().contains("t.zt")),
        }
        assert_eq!(file.find("t").unwrap().component("data").unwrap().borrow().is_ok(), borrows);
    }
    assert!(
        [Mode::Map, Mode::Read].contains(&taken(Mode::Auto).mode()),
        "the mode depends on the file system"
    );
    for mode in [Mode::Map, Mode::Read, Mode::Auto, Mode::Private] {
        let memory = File::open_memory(Aligned::of(&bytes), &in_mode(mode)).unwrap();
        assert!(memory.mode() == Mode::Map && memory.part(0).unwrap().borrow().unwrap() == bytes);
        let source = try_box(ReadOnly(bytes.clone())).unwrap();
        let source = File::from_source(source, &in_mode(mode), String::from("s")).unwrap();
        assert!(source.mode() == Mode::Read && source.part(0).unwrap().borrow().is_err());
    }
}

/// Larger than the address space of current processors, and sparse. Only one file system supports such files.
#[test]
#[cfg(target_os = "linux")]
fn a_file_larger_than_the_address_space_is_read_or_a_clear_error() {
    struct Sparse(std::path::PathBuf);
    impl Drop for Sparse {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
    let path = Sparse(format!("/dev/shm/ztensor-modes-{}", std::process::id()).into());
    let made = std::fs::File::create(&path.0).and_then(|file| file.set_len(1 << 62));
    if let Err(e) = made {
        return println!("skipped: cannot make a sparse file in /dev/shm: {e}");
    }
    for mode in [Mode::Map, Mode::Private, Mode::Auto, Mode::Read] {
        let e = File::open(&path.0, &in_mode(mode)).unwrap_err();
        let fails = matches!(mode, Mode::Map | Mode::Private);
        let named = ["ZT_MODE_READ", "ZT_MODE_AUTO"].map(|name| e.message().contains(name));
        assert_eq!(named, [fails; 2], "{mode:?}: {}", e.message());
        assert_eq!(e.cause() == Cause::NotZtensor, !fails, "{mode:?}: {}", e.message());
    }
}

/// Writes to borrowed memory like a host: the library itself only reads it.
#[cfg(unix)]
fn overwrite(borrowed: &[u8], at: usize, value: u8) {
    // SAFETY: a private mapping is writable, and no other thread reads it at this time.
    unsafe { borrowed.as_ptr().cast_mut().add(at).write_volatile(value) };
}

#[test]
#[cfg(unix)]
fn changes_in_a_private_mapping_are_only_in_borrowed_bytes() {
    let folder = Folder::new();
    let (path, sample) = (folder.path("t.zt"), sample());
    std::fs::write(&path, bytes()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let (file, other) = (
        File::open(&path, &in_mode(Mode::Private)).unwrap(),
        File::open(&path, &in_mode(Mode::Map)).unwrap(),
    );
    let original = &sample.parts[0].bytes;
    let component = file.find("t").unwrap().component("data").unwrap();
    for at in [0, 5000, 299_999] {
        overwrite(component.borrow().unwrap(), at, original[at] ^ 0xff);
    }
    let changed = |bytes: &[u8]| {
        bytes.len() == original.len()
            && (0..bytes.len()).filter(|at| bytes[*at] != original[*at]).eq([0, 5000, 299_999])
    };
    // Everything that borrows.
    let start = component.offset() as usize;
    assert!(
        changed(component.borrow().unwrap())
            && changed(&file.part(0).unwrap().borrow().unwrap()[start..start + 300_000])
    );
    assert!(changed(component.load().unwrap().as_slice()));
    // Everything that copies or checks, and everything outside this process.
    let mut found = vec![0; 300_000];
    component.read(&mut found).unwrap();
    assert!(found == *original);
    component.read_range(4000, &mut found[..2000]).unwrap();
    assert!(found[..2000] == original[4000..6000]);
    let slab = Hyperslab { start: &[0, 0], count: &[300, 999], step: None };
    component.object().read_slice(&slab, &mut found).unwrap();
    assert!(found[..999] == original[..999] && found[999 * 5] == original[5000]);
    let mut dst = vec![0; 300_000];
    for part in [Selection::Whole, Selection::Slab(slab)] {
        let mut requests = [component.request(&part, &mut dst, 0).unwrap()];
        let options = BatchOptions { verify: true, ..BatchOptions::default() };
        File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, &mut BatchStats::default())
            .unwrap();
        assert!(dst[..999] == original[..999]);
    }
    component.verify_digest().unwrap();
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default()).unwrap();
    let mut writer = Writer::create(folder.path("copy.zt"), &WriterOptions::default()).unwrap();
    writer.copy(component.object(), "t").unwrap();
    let recode = Recode { digest: Some(Some(Algorithm::Crc32c)), ..Recode::default() };
    writer.copy_as(component.object(), "written anew", &recode).unwrap();
    writer.finish().unwrap();
    let copy = File::open(folder.path("copy.zt"), &in_mode(Mode::Read)).unwrap();
    for name in ["t", "written anew"] {
        assert!(copy.find(name).unwrap().component("data").unwrap().load().unwrap().as_slice() == original);
    }
    assert!(other.find("t").unwrap().component("data").unwrap().borrow().unwrap() == original);
    assert!(std::fs::read(&path).unwrap() == whole, "the file changed");
}
