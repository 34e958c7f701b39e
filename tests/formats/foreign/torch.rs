//! PyTorch checkpoints: views of one storage, checksums of records, plain values, errors.

use super::common::byte_order::is_as_here;
use super::common::ReadOnly;
use super::{folder, open_each, verify};
use ztensor::error::{Cause, Rule};
use ztensor::model::manifest::Container;
use ztensor::model::value::ValueKind;
use ztensor::reader::{File, Hyperslab, Mode, OpenOptions, VerifyOptions};

fn open(name: &str) -> File {
    File::open(folder("valid").join(name), &OpenOptions::default()).unwrap()
}

fn refused(name: &str) -> ztensor::error::Error {
    let outcomes = open_each(&folder("invalid").join(name));
    let [first, ..] = outcomes.map(|outcome| outcome.expect_err(name));
    first
}

#[test]
fn tied_tensors_are_borrowed_from_the_same_bytes() {
    let file = open("amber-tied.bin");
    assert_eq!((file.container(), file.object_count()), (Container::Torch, 3));
    let places: Vec<_> = file.objects().map(|object| object.component("data").unwrap().offset()).collect();
    assert!(
        places.iter().any(|place| places.iter().filter(|other| *other == place).count() == 2),
        "{places:?}"
    );
    for object in file.objects() {
        let data = object.component("data").unwrap();
        match data.borrow() {
            Ok(borrowed) => assert_eq!(borrowed, data.load().unwrap().as_slice(), "{:?}", object.name()),
            Err(e) => assert_eq!((e.cause(), is_as_here(&data)), (Cause::NotMappable, false)),
        }
        assert!(!data.caps().page_exclusive);
    }
}

#[test]
fn views_are_borrowed_where_they_are_row_major_and_gathered_elsewhere() {
    let file = open("amber-shared-views.pt");
    let mut gathered = 0;
    for object in file.objects() {
        let data = object.component("data").unwrap();
        let whole = data.load().unwrap();
        match data.borrow() {
            Ok(borrowed) => assert_eq!(borrowed, whole.as_slice(), "{:?}", object.name()),
            Err(e) => {
                assert_eq!(e.cause(), Cause::NotMappable);
                gathered += 1;
            }
        }
        let size = whole.as_slice().len();
        for start in 0..size.min(9) {
            let mut part = vec![0; (size - start).min(11)];
            data.read_range(start as u64, &mut part).unwrap();
            assert_eq!(part, whole.as_slice()[start..start + part.len()], "{:?} {start}", object.name());
        }
        if let ([rows, columns], true) = (object.shape(), size > 0) {
            let unit = size / (rows * columns) as usize;
            let slab = Hyperslab { start: &[rows - 1, 0], count: &[1, *columns], step: None };
            let mut row = vec![0; *columns as usize * unit];
            object.read_slice(&slab, &mut row).unwrap();
            assert_eq!(row, whole.as_slice()[size - row.len()..], "{:?}", object.name());
        }
    }
    assert!(gathered >= 3, "{gathered}");
}

#[test]
fn plain_values_are_attributes_by_their_key_paths() {
    let file = open("amber-checkpoint-nested.pt");
    let get = |key: &str| file.attributes().and_then(|map| map.get(key)).unwrap_or_else(|| panic!("{key}"));
    let items = |key: &str| match get(key).kind() {
        ValueKind::Array(items) => items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let shown = |key: &str| format!("{:?}", get(key).kind());
    for (key, expected) in [
        ("epoch", "Unsigned(3)"),
        ("neg", "Negative(1099511627775)"),
        ("loss", "Float(0.125)"),
        ("flag", "Bool(true)"),
        ("name", "Text(\"run\u{e9}\")"),
        ("none", "Null"),
        ("bytes", "Bytes([0, 255])"),
        ("big", "Tag(2, Bytes([64, 0, 0, 0, 0, 0, 0, 0, 0]))"),
        ("optimizer.param_groups.0.lr", "Float(0.001)"),
    ] {
        assert_eq!(shown(key), expected, "{key}");
    }
    assert_eq!((items("tuple").len(), items("size").len()), (3, 2));
    assert_eq!(items("optimizer.param_groups.0.params").len(), 2);
}

#[test]
fn records_have_a_checksum_that_is_looked_at_once() {
    for file in open_each(&folder("invalid").join("amber-pt-storage-crc.pt")) {
        let file = file.unwrap();
        assert_eq!(verify(&file).unwrap_err().rule(), Some(Rule::ZipChecksum));
        let only_contents = VerifyOptions { digests: false, ..VerifyOptions::default() };
        file.verify(&only_contents, &|_, _| true, &mut Default::default()).unwrap();
    }
    let file = open("amber-shared-views.pt");
    let report = verify(&file).unwrap();
    assert_eq!((report.digests_verified as usize, report.digests_absent), (file.object_count(), 0));
}

#[test]
fn unreadable_tensors_are_listed_with_the_reason() {
    for (name, kind) in [
        ("amber-pt-quantised.pt", "torch.quantized"),
        ("amber-pt-storage-class-quant.pt", "torch.quantized"),
        ("amber-pt-sparse-coo.pt", "torch.sparse"),
        ("amber-pt-meta-tensor.pt", "torch.meta"),
        ("amber-pt-nested-tensor.pt", "torch.nested"),
        ("amber-pt-conj-view.pt", "torch.conjugated"),
    ] {
        let file = File::open(folder("invalid").join(name), &OpenOptions::default()).unwrap();
        assert_eq!(verify(&file).unwrap_err().cause(), Cause::Unsupported, "{name}");
        let object = file.object(0).unwrap();
        let data = object.component("data").unwrap();
        assert_eq!((data.dtype(), data.dtype_name()), (None, kind), "{name}");
        for e in [data.load().map(drop), data.borrow().map(drop), data.read(&mut [])] {
            let e = e.unwrap_err();
            assert!(e.cause() == Cause::Unsupported && e.message().contains(kind), "{name}: {e}");
        }
    }
}

#[test]
fn a_view_that_is_larger_than_its_file_is_within_limits() {
    let path = folder("invalid").join("amber-pt-view-expand-exabyte.pt");
    let file =
        File::open(path, &OpenOptions { max_decoded_size: Some(1 << 20), ..OpenOptions::default() }).unwrap();
    let data = file.object(0).unwrap().component("data").unwrap();
    assert_eq!(data.load().map(drop).unwrap_err().cause(), Cause::Limit);
    let (mut first, mut later) = ([0; 64], [0; 64]);
    data.read_range(0, &mut first).unwrap();
    data.read_range(1 << 40, &mut later).unwrap();
    assert_eq!(first, later);
}

#[test]
fn errors_name_the_rejected_item() {
    for (name, cause, part) in [
        ("amber-pt-global-os-system.pt", Cause::Unsupported, "os.system"),
        ("amber-pt-inst.pt", Cause::Unsupported, "INST"),
        ("amber-pt-torchscript.pt", Cause::Unsupported, "TorchScript"),
        ("amber-pt-legacy-tar.pth", Cause::Unsupported, "tar archive"),
        ("amber-pt-plain-pickle.bin", Cause::Unsupported, "bare pickle"),
        ("amber-pt-version-99.pt", Cause::Unsupported, "\"99\""),
        ("amber-pt-self-list.pt", Cause::Unsupported, "holds itself"),
        ("amber-pt-memo-doubling.pt", Cause::Limit, "ways"),
        ("amber-pt-memo-put-huge.pt", Cause::Limit, "4294967295"),
        ("amber-pt-op-unknown-op.pt", Cause::Broken(Rule::PickleSyntax), "0xff"),
        ("amber-pt-underflow-pop.pt", Cause::Broken(Rule::PickleStack), "too few"),
        ("amber-pt-memo-missing.pt", Cause::Broken(Rule::PickleMemo), "entry 7"),
        ("amber-pt-append-on-dict.pt", Cause::Broken(Rule::PickleType), "a dict"),
        ("amber-pt-storage-missing.pt", Cause::Broken(Rule::TorchStorage), "\"7\""),
        ("amber-pt-storage-key-dotdot.pt", Cause::Broken(Rule::TorchStorage), "../../data.pkl"),
        ("amber-pt-record-short.pt", Cause::Broken(Rule::TorchStorage), "enc.1.mlp.up"),
        ("amber-pt-view-last-elem.pt", Cause::Broken(Rule::TorchView), "[2, 2]"),
        ("amber-pt-two-roots.pt", Cause::Broken(Rule::TorchArchive), "\"b/\""),
        ("amber-pt-data-pkl-at-top.pt", Cause::Broken(Rule::TorchArchive), "not in a folder"),
        ("amber-pt-byteorder-middle.pt", Cause::Broken(Rule::TorchArchive), "middle"),
        ("amber-pt-data-pkl-crc.pt", Cause::Broken(Rule::ZipChecksum), "data.pkl"),
    ] {
        let e = refused(name);
        assert!(e.cause() == cause && e.message().contains(part), "{name}: {e:?}");
    }
    let only_npz = OpenOptions { containers: Container::Npz.bit(), ..OpenOptions::default() };
    let e = File::open(folder("valid").join("amber-tied.bin"), &only_npz).unwrap_err();
    assert!(e.cause() == Cause::Unsupported && e.message().contains("PyTorch"), "{e}");
    let only_torch =
        OpenOptions { containers: Container::Torch.bit(), mode: Mode::Read, ..OpenOptions::default() };
    File::open(folder("valid").join("amber-tied.bin"), &only_torch).unwrap();
}

#[test]
fn opening_stays_within_its_memory() {
    let path = folder("valid").join("amber-many.pt");
    let open =
        |memory| File::open(&path, &OpenOptions { max_memory: Some(memory), ..OpenOptions::default() });
    let least = (10..30).map(|bits| 1u64 << bits).find(|memory| open(*memory).is_ok()).unwrap();
    assert!(least <= 1 << 20, "{least} bytes for 300 tensors");
    let e = open(least / 2).unwrap_err();
    assert_eq!(e.cause(), Cause::Limit, "{e}");
    let few = OpenOptions { max_objects: 299, ..OpenOptions::default() };
    assert_eq!(File::open(&path, &few).unwrap_err().cause(), Cause::Limit);
}

/// The floats of an object in the checkpoints from before 1.6.
fn floats(file: &File, name: &str) -> Vec<f32> {
    let bytes = file.find(name).unwrap().component("data").unwrap().load().unwrap();
    bytes.as_slice().chunks_exact(4).map(|n| f32::from_le_bytes(n.try_into().unwrap())).collect()
}

#[test]
fn checkpoints_from_before_1_6_are_read_from_every_source() {
    let path = folder("valid").join("legacy.pt");
    let source = ReadOnly(std::fs::read(&path).unwrap());
    let from_source = File::from_source(Box::new(source), &OpenOptions::default(), String::from("a source"));
    for file in open_each(&path).into_iter().chain([from_source]) {
        let file = file.unwrap();
        assert_eq!((file.container(), file.object_count()), (Container::Torch, 8));
        assert_eq!(floats(&file, "a"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(floats(&file, "view"), [3.0, 4.0, 5.0]);
        assert_eq!(floats(&file, "z"), [0.0; 0]);
        assert_eq!(file.find("view").unwrap().shape(), [1, 3]);
        let offset = |name: &str| file.find(name).unwrap().component("data").unwrap().offset();
        assert_eq!(offset("view"), offset("a") + 12, "one storage");
        for data in file.objects().map(|object| object.component("data").unwrap()) {
            assert!(!data.lacks_checksum(), "these files do not have checksums");
            match data.borrow() {
                Ok(borrowed) => assert_eq!(borrowed, data.load().unwrap().as_slice()),
                Err(e) => assert_eq!(e.cause(), Cause::NotMappable),
            }
        }
        let report = verify(&file).unwrap();
        assert_eq!(report.bytes_not_covered, 8 * 2 + 2 * 4 + 3 * 2 + 8 + 6 * 4 + 3 * 4 + 2);
    }
}

#[test]
fn a_checkpoint_from_before_1_6_that_is_cut_is_refused() {
    for name in ["legacy.pt", "amber-legacy-pickle.pth"] {
        let bytes = std::fs::read(folder("valid").join(name)).unwrap();
        for cut in 0..bytes.len() {
            let e = File::open_memory(bytes[..cut].to_vec(), &OpenOptions::default()).unwrap_err();
            assert!(cut <= 24 || matches!(e.cause(), Cause::Broken(_)), "{name}, cut at {cut}: {e}");
        }
        let longer = [&bytes[..], b"\0"].concat();
        let e = File::open_memory(longer.clone(), &OpenOptions::default()).unwrap_err();
        assert_eq!(e.cause(), Cause::Broken(Rule::TorchStorage), "{e}");
        let trailing = OpenOptions { allow_trailing: true, ..OpenOptions::default() };
        File::open_memory(longer, &trailing).unwrap();
    }
}

#[test]
fn checkpoints_from_before_1_6_are_read_in_every_protocol() {
    let number = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let frame = [b"\x95", &(number.len() as u64).to_le_bytes()[..]].concat();
    for (protocol, frame) in [(2, &b""[..]), (3, b""), (4, &frame), (5, &frame)] {
        let rest = b"\x80\x02M\xe9\x03.\x80\x02}.\x80\x02}X\x01\0\0\0nK\x07s.\x80\x02].";
        let saved = [&[0x80, protocol], frame, number, rest].concat();
        let file = File::open_memory(saved.clone(), &OpenOptions::default()).unwrap();
        assert!(file.object_count() == 0 && file.attributes().unwrap().get("n").is_some(), "{protocol}");
        let other = [&saved[..saved.len() - rest.len() - 2], b"\x1a", &saved[saved.len() - rest.len() - 1..]];
        let e = File::open_memory(other.concat(), &OpenOptions::default()).unwrap_err();
        assert!(e.message().contains("bare pickle"), "{protocol}, another number: {e}");
    }
}
