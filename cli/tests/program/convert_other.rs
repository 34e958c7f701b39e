//! `zt convert` of formats that the library does not open: HDF5 and ONNX, with the cargo feature `compat`.
//! `tests/data` of this crate has a file of each. Also PyTorch checkpoints from before 1.6, which every
//! command opens.

use crate::common;

use common::{data, folder, run, zt, Ran};
use std::path::{Path, PathBuf};
use ztensor::reader::{File, OpenOptions};

fn small(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A checkpoint from before 1.6.
fn legacy() -> PathBuf {
    data().join("foreign/valid/legacy.pt")
}

fn convert(from: &Path, to: &Path) -> Ran {
    run(&[&"convert", &"--force", &"--verify", &from, &to])
}

/// Name, dtype or logical type, shape and bytes.
type Object = (String, String, Vec<u64>, Vec<u8>);

fn objects(path: &Path) -> Vec<Object> {
    let file = File::open(path, &OpenOptions::default()).unwrap();
    let objects = file.objects().map(|object| {
        let component = object.component("data").unwrap();
        let dtype = component.logical_name().unwrap_or(component.dtype_name());
        let bytes = component.load().unwrap().as_slice().to_vec();
        (object.name().to_owned(), dtype.to_owned(), object.shape().to_vec(), bytes)
    });
    objects.collect()
}

fn object(name: &str, dtype: &str, shape: &[u64], bytes: impl IntoIterator<Item = Vec<u8>>) -> Object {
    (name.to_owned(), dtype.to_owned(), shape.to_vec(), bytes.into_iter().flatten().collect())
}

fn floats(numbers: &[f32]) -> Vec<Vec<u8>> {
    numbers.iter().map(|n| n.to_le_bytes().to_vec()).collect()
}

fn longs(numbers: &[i64]) -> Vec<Vec<u8>> {
    numbers.iter().map(|n| n.to_le_bytes().to_vec()).collect()
}

/// Truncates and changes a file in many places. Each run succeeds, or fails with one line that names the
/// file, and leaves no other file.
fn survives_damage(name: &str, cuts: usize, changes: usize) {
    let bytes = std::fs::read(small(name)).unwrap();
    let folder = folder(&format!("damaged-{name}"));
    let (from, to) = (folder.join(name), folder.join("out.zt"));
    let temporary = folder.join("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    let check = |damaged: &[u8], what: String| {
        std::fs::write(&from, damaged).unwrap();
        let mut zt = zt();
        let ran = Ran::of(
            zt.env("TMPDIR", &temporary).args(["convert", "--force"]).args([&from, &to]).output().unwrap(),
        );
        if ran.status != 0 {
            assert_eq!(ran.err.lines().count(), 1, "{what}: {ran:?}");
            ran.bad(&[name]);
        }
    };
    for at in (0..bytes.len()).step_by((bytes.len() / cuts).max(1)) {
        check(&bytes[..at], format!("cut at {at}"));
    }
    for at in (0..bytes.len()).step_by((bytes.len() / changes).max(1)) {
        let mut damaged = bytes.clone();
        damaged[at] = damaged[at].wrapping_add([1, 0x7f, 0xff][at % 3]);
        check(&damaged, format!("byte {at} changed"));
    }
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn a_checkpoint_of_old_is_converted() {
    let to = folder("legacy").join("out.zt");
    convert(&legacy(), &to).good();
    let expected = [
        object("a", "f32", &[2, 3], floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
        object("view", "f32", &[1, 3], floats(&[3.0, 4.0, 5.0])),
        object("b", "i64", &[2], longs(&[1, -2])),
        object("parameter", "f32", &[2], floats(&[1.0, 1.0])),
        object("h", "bf16", &[3], [vec![0xc0, 0x3f, 0, 0x40, 0x40, 0x40]]),
        object("z", "f32", &[0], []),
        object("c", "complex64", &[1], floats(&[1.0, 2.0])),
        object("flag", "bool", &[2], [vec![1, 0]]),
    ];
    assert_eq!(objects(&to), expected);
    assert_eq!(objects(&legacy()), expected);
    for command in ["ls", "info", "verify", "stats"] {
        let ran = run(&[&command, &legacy()]);
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
    }
}

#[test]
fn a_checkpoint_of_old_calls_nothing() {
    let folder = folder("legacy-calls");
    let (from, witness) = (folder.join("calls.pt"), folder.join("called"));
    let bytes = std::fs::read(legacy()).unwrap();
    // In place of the object, after the pickles of number, version and system: 15 bytes, 6 and 116.
    let command = format!("touch {}", witness.display());
    let call = [
        b"\x80\x02cposix\nsystem\n(X",
        &(command.len() as u32).to_le_bytes()[..],
        command.as_bytes(),
        b"tR.",
    ];
    std::fs::write(&from, [&bytes[..137], &call.concat(), b"\x80\x02]."].concat()).unwrap();
    convert(&from, &folder.join("out.zt")).bad(&["calls.pt", "posix"]);
    assert!(!witness.exists());
}

#[cfg(not(feature = "compat"))]
#[test]
fn without_the_feature_the_message_names_it() {
    let folder = folder("no-compat");
    survives_damage("small.h5", 10, 10);
    for (name, format) in [("small.h5", "an HDF5 file"), ("small.onnx", "an ONNX model")] {
        // The content decides, not the file name.
        let from = folder.join(format!("{name}.bin"));
        std::fs::copy(small(name), &from).unwrap();
        convert(&from, &folder.join("out.zt")).bad(&[name, format, "\"compat\""]);
    }
}

#[cfg(feature = "compat")]
mod with_compat {
    use super::*;
    #[cfg(target_os = "linux")]
    use common::names_in;

    #[test]
    fn hdf5_is_converted() {
        let folder = folder("hdf5");
        let (from, to) = (folder.join("weights.bin"), folder.join("out.zt"));
        std::fs::copy(small("small.h5"), &from).unwrap(); // the content decides, not the file name
        let ran = convert(&from, &to);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.err.lines().count() == 1 && ran.err.contains("text"), "{ran:?}");
        let expected = [
            object("chunked", "u16", &[8, 8], (0..64u16).map(|n| n.to_le_bytes().to_vec())),
            object("dense/bias", "i64", &[3], longs(&[1, 2, 3])),
            object("dense/kernel", "f32", &[3, 4], (0..12u8).map(|n| f32::from(n).to_le_bytes().to_vec())),
        ];
        assert_eq!(objects(&to), expected);
    }

    #[test]
    fn onnx_is_converted() {
        let folder = folder("onnx");
        let (from, to) = (folder.join("model.bin"), folder.join("out.zt"));
        std::fs::copy(small("small.onnx"), &from).unwrap();
        convert(&from, &to).good();
        let expected = [
            object("bias", "i64", &[3], longs(&[1, 2, 3])),
            object("half", "f16", &[2], [vec![0, 0x3c, 0, 0x40]]),
            object("mask", "bool", &[3], [vec![1, 0, 1]]),
            object("weight", "f32", &[2, 3], floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
        ];
        assert_eq!(objects(&to), expected);
    }

    /// An ONNX model with one tensor of f32 zeros, in a sparse file. Reading it takes a while.
    #[cfg(target_os = "linux")]
    fn write_large_onnx(path: &Path) {
        fn varint(mut number: u64) -> Vec<u8> {
            let mut out = Vec::new();
            while number >= 0x80 {
                out.push(number as u8 | 0x80);
                number >>= 7;
            }
            out.push(number as u8);
            out
        }
        let size = 512u64 << 20;
        let data = [&[0x4a][..], &varint(size)].concat(); // raw_data, the last field of all
        let tensor = [&[0x08][..], &varint(size / 4), &[0x10, 1, 0x42, 1, b'w'], &data].concat();
        let of_tensor = varint(tensor.len() as u64 + size);
        let graph = [&[0x12, 1, b'g', 0x2a][..], &of_tensor, &tensor].concat();
        let of_graph = varint(graph.len() as u64 + size);
        let head = [&[0x08, 7, 0x42, 2, 0x10, 13, 0x3a][..], &of_graph, &graph].concat();
        std::fs::write(path, &head).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(head.len() as u64 + size).unwrap();
    }

    /// Also by commands that do not listen to signals while they read.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_signal_leaves_no_temporary_files() {
        use std::os::unix::process::ExitStatusExt;
        let folder = folder("compat-signals");
        let (from, temporary) = (folder.join("large.onnx"), folder.join("tmp"));
        write_large_onnx(&from);
        std::fs::create_dir(&temporary).unwrap();
        for signal in [2, 15] {
            for command in ["ls", "stats", "convert"] {
                let mut zt = zt();
                zt.arg(command).arg(&from).args((command == "convert").then(|| folder.join("out.zt")));
                let mut child = zt.env("TMPDIR", &temporary).spawn().unwrap();
                while names_in(&temporary).is_empty() {
                    assert_eq!(child.try_wait().unwrap(), None, "{command} ended before it was interrupted");
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                let kill = std::process::Command::new("kill")
                    .args([format!("-{signal}"), child.id().to_string()])
                    .status();
                assert!(kill.unwrap().success());
                let status = child.wait().unwrap();
                let left = (names_in(&temporary), folder.join("out.zt").exists());
                assert_eq!(left, (vec![], false), "{command}: {status}");
                let expected = match command {
                    "ls" => (Some(signal), None),
                    "stats" => (None, Some(1)),
                    _ => (None, Some(128 + signal)),
                };
                assert_eq!((status.signal(), status.code()), expected, "{command}");
            }
        }
    }

    #[test]
    fn damaged_files_end_in_one_line() {
        survives_damage("small.onnx", 40, 176);
        survives_damage("small.h5", 40, 200);
    }
}
