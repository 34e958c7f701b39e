//! `Object::read_as` returns an object's numbers or rejects it. It never reads one of its components instead,
//! and never writes more than it reports.

use crate::common;

use common::{Part, Sample};
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Dtype, Logical, Numbers};
use ztensor::model::manifest::Format;
use ztensor::reader::{File, Mode, Object, OpenOptions};
use ztensor::writer::WriterOptions;

const CAPACITY: usize = 1 << 14;

/// Whether the object is one array, of single elements or of blocks.
fn is_array(object: &Object<'_>) -> bool {
    matches!(object.format(), Format::Dense | Format::Blocks(_))
}

/// Numbers in an element: two in a complex one.
fn numbers_of_element(logical: Option<Logical>) -> usize {
    logical.filter(|logical| logical.numbers() == Numbers::OfDtype).map_or(1, Logical::ratio) as usize
}

/// Reads the object as a dtype. Returns the written bytes, or None if it is rejected.
fn read_as(object: &Object<'_>, to: Dtype) -> Option<Vec<u8>> {
    let mut memory = vec![0xa5; CAPACITY];
    let (size, outcome) = (object.size_as(to), object.read_as(to, &mut memory));
    let written = *outcome.as_ref().unwrap_or(&0);
    let end =
        if outcome.is_ok() { written } else { size.as_ref().map_or(0, |size| CAPACITY.min(*size as usize)) };
    assert!(
        memory[end..].iter().all(|byte| *byte == 0xa5),
        "{}: memory after the numbers changed",
        object.name()
    );
    match (size, outcome) {
        (Ok(size), Ok(written)) => {
            assert_eq!(size, written as u64, "{}", object.name());
            memory.truncate(written);
            assert!(in_pieces(object, to, false).unwrap() == memory, "{}", object.name());
            return Some(memory);
        }
        (Ok(_), Err(e)) if e.cause() == Cause::Limit && is_array(object) => {
            let data = object.component("data").unwrap();
            assert!(object.conversion(to).unwrap().lost > 0, "{e}");
            let mut all = Vec::new();
            let mut body = |piece: &[u8]| {
                all.extend_from_slice(piece);
                Ok(())
            };
            data.for_each_converted(to, &mut body).unwrap();
            return Some(all);
        }
        (Ok(size), Err(e)) => {
            let is_too_large = size > CAPACITY as u64 && e.cause() == Cause::BufferSize;
            let is_lost = e.cause() == Cause::Limit;
            let is_damaged = object.components().any(|part| part.load().is_err());
            let is_broken = object.format() != Format::Dense && matches!(e.cause(), Cause::Broken(_));
            let has_equal = e.cause() == Cause::Unsupported && e.message().contains("equal coordinates");
            assert!(is_too_large || is_lost || is_damaged || is_broken || has_equal, "{e}");
        }
        (Err(size), Err(read)) => {
            assert_eq!((size.cause(), size.message()), (read.cause(), read.message()));
            if size.cause() == Cause::Unsupported {
                let is_sparse = matches!(object.format(), Format::SparseCsr | Format::SparseCoo);
                let data = object.component(if is_sparse { "values" } else { "data" });
                let names = data.map(|d| (d.dtype_name(), d.logical_name())).into_iter();
                let names = names.flat_map(|(dtype, logical)| [Some(dtype), logical]).flatten();
                let names: Vec<&str> = [object.format_name()].into_iter().chain(names).collect();
                assert!(
                    names.iter().any(|name| size.message().contains(name.trim_matches('\0'))),
                    "{size}: {names:?}"
                );
            } else {
                assert!(matches!(size.cause(), Cause::Limit | Cause::Broken(_)), "{size}");
            }
        }
        (Err(size), Ok(_)) => panic!("read numbers although their size failed: {size}"),
    }
    None
}

/// The numbers of an object, read in pieces.
fn in_pieces(object: &Object<'_>, to: Dtype, lossy: bool) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    object.for_each_number(to, lossy, &mut |piece| {
        all.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(all)
}

/// A sparse object is read in windows. They have entries, some with equal coordinates, and one lost number.
#[test]
fn the_pieces_of_a_large_sparse_object_are_complete() {
    let (rows, columns) = (3000u64, 2100u64);
    let places = [[0u64, 0], [2999, 2099], [1997, 1], [1, 7], [2999, 2098], [1997, 1], [0, 0], [2000, 0]];
    let values: Vec<f32> = (1..=8).map(|n| n as f32 * 1e4).collect();
    let coords: Vec<u64> =
        (0..2).flat_map(|dimension| places.iter().map(move |place| place[dimension])).collect();
    let bytes = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
    let floats = values.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
    let mut sample = Sample::dense("o", Dtype::F32, &[rows, columns], vec![]);
    sample.format = "sparse_coo";
    sample.parts = vec![
        Part { role: "coords", dtype: Dtype::U64, logical: None, bytes: bytes(&coords) },
        Part { role: "values", dtype: Dtype::F32, logical: None, bytes: floats },
    ];
    let file = common::open(common::file_of(&WriterOptions::default(), &[sample]));
    let object = file.find("o").unwrap();
    let mut whole = vec![0; object.size_as(Dtype::F32).unwrap() as usize];
    object.read_as(Dtype::F32, &mut whole).unwrap();
    assert!(in_pieces(&object, Dtype::F32, false).unwrap() == whole);
    let number = |at: usize| f32::from_ne_bytes(whole[at * 4..][..4].try_into().unwrap());
    let cells = places.map(|[row, column]| number((row * columns + column) as usize));
    assert_eq!(cells, [8e4, 2e4, 9e4, 4e4, 5e4, 9e4, 8e4, 8e4]);
    // Three cells are too large for f16. A stored entry counts once, in any piece.
    let lost = object.conversion(Dtype::F16).unwrap().lost;
    assert_eq!(in_pieces(&object, Dtype::F16, false).unwrap_err().cause(), Cause::Limit);
    let mut half = vec![0; whole.len() / 2];
    let refused = object.read_as(Dtype::F16, &mut half).unwrap_err();
    assert!(lost == 3 && refused.message().contains("3 finite numbers"), "{lost}: {refused}");
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        match entry.is_dir() {
            true => files_below(&entry, found),
            false => found.push(entry),
        }
    }
}

#[test]
fn every_object_of_every_file_is_read_as_its_numbers_or_refused() {
    let (mut files, mut same, mut others, mut refused) = (Vec::new(), 0, 0, 0);
    files_below(&common::repository("tests/data"), &mut files);
    for path in files {
        for mode in [Mode::Map, Mode::Read] {
            let Ok(file) = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }) else {
                continue;
            };
            for object in file.objects().take(40) {
                for to in Dtype::ALL {
                    let Some(bytes) = read_as(&object, to) else {
                        refused += 1;
                        continue;
                    };
                    if object.format() != Format::Dense {
                        others += 1;
                        continue;
                    }
                    let data = object.component("data").unwrap();
                    let plain = data.known_logical().is_none_or(|logical| logical.ratio() == 2);
                    let count =
                        object.element_count().unwrap() as usize * numbers_of_element(data.known_logical());
                    assert_eq!(bytes.len(), count * to.size(), "{}", path.display());
                    if data.dtype() == Some(to) && to != Dtype::Bool && plain {
                        assert!(bytes == common::read(&data), "{}: {}", path.display(), object.name());
                        same += 1;
                    }
                }
            }
        }
    }
    assert!(same > 1000 && others > 1000 && refused > 1000, "{same} {others} {refused}");
}

/// An object of each format, with elements of each type. If the format allows it, the object has a component
/// "data".
#[test]
fn a_component_that_is_called_data_does_not_make_an_object_an_array() {
    for (dtype, logical) in common::every_type() {
        let mut samples = common::every_format(dtype, logical);
        for sample in samples.iter_mut().filter(|sample| sample.format != "dense") {
            let count = sample.shape.iter().fold(1u64, |all, n| all.saturating_mul(*n)).min(8);
            let bytes = vec![0; count as usize * dtype.size() * logical.map_or(1, Logical::ratio) as usize];
            sample.parts.insert(0, Part { role: "data", dtype, logical, bytes });
        }
        let file = common::open(common::file_of(&WriterOptions::default(), &samples));
        for (object, sample) in file.objects().zip(&samples) {
            for to in Dtype::ALL {
                let is_sparse = sample.format.starts_with("sparse_");
                let has_numbers = sample.format == "dense" || is_sparse;
                assert_eq!(object.size_as(to).is_ok(), has_numbers, "{} {}", sample.name, to.name());
                // Some values of a sparse object may be lost.
                assert!(read_as(&object, to).is_some() == has_numbers || is_sparse, "{}", sample.name);
            }
        }
    }
}

#[test]
fn memory_of_exactly_the_size_is_enough_and_a_byte_less_is_not_touched() {
    let sample = Sample::dense("a", Dtype::I16, &[3, 5], common::elements(Dtype::I16, 15));
    for encoding in common::encodings() {
        let options = WriterOptions { encoding, ..WriterOptions::default() };
        let file = common::open(common::file_of(&options, std::slice::from_ref(&sample)));
        let object = file.find("a").unwrap();
        for to in Dtype::ALL {
            let size = object.size_as(to).unwrap() as usize;
            let mut memory = vec![0xa5; size];
            let lost = object.conversion(to).unwrap().lost;
            let expected = if lost == 0 { Ok(size) } else { Err(Cause::Limit) };
            assert_eq!(object.read_as(to, &mut memory).map_err(|e| e.cause()), expected);
            let mut less = vec![0xa5; size - 1];
            assert_eq!(object.read_as(to, &mut less).map_err(|e| e.cause()), Err(Cause::BufferSize));
            assert!(less.iter().all(|byte| *byte == 0xa5));
        }
    }
}
