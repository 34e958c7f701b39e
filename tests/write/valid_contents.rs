//! A finished file is valid, however it was written. Bools, unused bits, and positions of sparse objects are
//! rejected by every writing call exactly if verification would reject them.

use crate::common;

use common::{Part, Random, Sample};
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::File;
use ztensor::writer::{ComponentSpec, DenseSpec, LogicalSpec, ObjectSpec, Recode, Writer, WriterOptions};

const VERSIONS: [Version; 4] = [Version::V0_1, Version::V1_1, Version::V1_2, Version::V2];

fn options(version: Version) -> WriterOptions {
    WriterOptions { version, threads: 1, ..WriterOptions::default() }
}

/// A way to write an object.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Whole,
    Pieces(usize),
    /// Each component in one call.
    Components,
    /// Dense objects in one batch.
    Batch(Encoding),
}

const CASES: [Variant; 6] = [
    Variant::Whole,
    Variant::Pieces(1),
    Variant::Pieces(7),
    Variant::Components,
    Variant::Batch(Encoding::Raw),
    Variant::Batch(Encoding::Zstd),
];

fn write(writer: &mut Writer, sample: &Sample, variant: Variant) -> Result<(), Error> {
    match variant {
        Variant::Pieces(most) => sample.stream(writer, most),
        Variant::Components => {
            writer.begin(&sample.spec(), common::pairs(sample.attributes))?;
            sample.parts.iter().try_for_each(|part| writer.component_whole(&part.spec(), &part.bytes))?;
            writer.end()
        }
        Variant::Batch(encoding) if sample.format == "dense" => {
            let part = &sample.parts[0];
            let one = |name| DenseSpec {
                logical: part.logical,
                encoding: Some(encoding),
                ..DenseSpec::new(name, part.dtype, &sample.shape, &part.bytes)
            };
            writer.write_batch(&[one(&sample.name), one("a second one")])
        }
        Variant::Whole | Variant::Batch(_) => sample.write(writer),
    }
}

/// The finished file, or the error.
fn file_of(version: Version, body: impl FnOnce(&mut Writer) -> Result<(), Error>) -> Result<Vec<u8>, Error> {
    let sink = common::MemorySink::default();
    let mut writer = Writer::to_sink(Box::new(sink.clone()), &options(version))?;
    body(&mut writer)?;
    writer.finish()?;
    let bytes = std::mem::take(&mut *sink.0.lock().unwrap());
    Ok(bytes)
}

/// Opens, verifies and views a finished file.
fn check_valid(bytes: Vec<u8>, about: &str) {
    let file = common::open(bytes);
    common::verify(&file).unwrap_or_else(|e| panic!("{about}: {e}"));
    for object in file.objects() {
        let viewed = match object.format_name() {
            "dense" => object.tensor_view().map(drop),
            "sparse_csr" | "zt.sparse_csr/1" => object.csr_view().map(drop),
            "sparse_coo" | "zt.sparse_coo/1" => object.coo_view().map(drop),
            "quantized_group" => object.quantized_view().map(drop),
            _ => Ok(()),
        };
        viewed.unwrap_or_else(|e| panic!("{about}: {e}"));
    }
}

fn indices(role: &'static str, values: &[u64]) -> Part {
    Part { role, dtype: Dtype::U64, logical: None, bytes: common::numbers(values) }
}

/// A type of elements, and their number. Sometimes a bool is neither 0 nor 1, or a bit after the last element
/// is 1.
fn values(random: &mut Random, role: &'static str, count: u64) -> Part {
    let kinds = [
        (Dtype::Bool, None),
        (Dtype::U8, Some(Logical::F4E2m1)),
        (Dtype::U8, Some(Logical::F6E2m3)),
        (Dtype::F32, Some(Logical::Complex64)),
        (Dtype::F16, None),
    ];
    let (dtype, logical) = kinds[random.below(5) as usize];
    let block = logical.map_or(dtype.block(), Logical::block);
    let size = block.size(count).unwrap() as usize;
    let mut bytes: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
    if dtype == Dtype::Bool {
        bytes.iter_mut().for_each(|byte| *byte &= 1);
        if random.below(3) == 0 && size > 0 {
            bytes[random.below(size as u64) as usize] = 2 + random.below(254) as u8;
        }
    }
    if let (Some(last), true) = (bytes.last_mut(), logical == Some(Logical::F4E2m1) && count % 2 == 1) {
        *last = if random.below(3) == 0 { 0x10 << random.below(4) } else { *last & 15 };
    }
    Part { role, dtype, logical, bytes }
}

fn random_sample(random: &mut Random) -> Sample {
    let sample = |format, shape: &[u64], parts| Sample {
        name: "x".into(),
        format,
        shape: shape.to_vec(),
        attributes: "{}",
        parts,
    };
    match random.below(3) {
        0 => {
            let shape = [random.below(4), 1 + random.below(40)];
            sample("dense", &shape, vec![values(random, "data", shape[0] * shape[1])])
        }
        1 => {
            let (rows, columns, nnz) = (1 + random.below(4), 1 + random.below(5), random.below(7));
            let mut pointers = vec![0];
            (0..rows).for_each(|_| pointers.push((pointers[pointers.len() - 1] + random.below(4)).min(nnz)));
            if random.below(8) > 0 {
                pointers[rows as usize] = nnz;
            }
            let mut cells: Vec<u64> = (0..nnz).map(|_| random.below(columns)).collect();
            if random.below(2) == 0 {
                for row in pointers.windows(2) {
                    cells[row[0] as usize..(row[1] as usize).max(row[0] as usize)].sort();
                }
            }
            if let (Some(cell), 0) = (cells.first_mut(), random.below(10)) {
                *cell = columns;
            }
            let mut parts =
                vec![values(random, "values", nnz), indices("indices", &cells), indices("indptr", &pointers)];
            parts.rotate_left(random.below(3) as usize);
            sample("sparse_csr", &[rows, columns], parts)
        }
        _ => {
            let (shape, nnz) = ([2, 1 + random.below(6)], random.below(5));
            let mut coords: Vec<u64> =
                (0..2 * nnz).map(|at| random.below(shape[(at / nnz) as usize])).collect();
            if let (Some(last), 0) = (coords.last_mut(), random.below(10)) {
                *last = shape[1];
            }
            let mut parts = vec![values(random, "values", nnz), indices("coords", &coords)];
            parts.rotate_left(random.below(2) as usize);
            sample("sparse_coo", &shape, parts)
        }
    }
}

fn wide(part: &Part) -> Vec<u64> {
    part.bytes.chunks(8).map(|n| u64::from_ne_bytes(n.try_into().unwrap())).collect()
}

/// Whether the text of a version's spec allows the object.
fn is_valid(sample: &Sample, version: Version) -> bool {
    let part = |role: &str| sample.parts.iter().find(|part| part.role == role).unwrap();
    let elements = sample.parts.iter().find(|part| matches!(part.role, "data" | "values")).unwrap();
    let is_2 = version == Version::V2;
    let bools =
        elements.dtype != Dtype::Bool || version == Version::V0_1 || elements.bytes.iter().all(|b| *b < 2);
    let count = match sample.format {
        "dense" => sample.shape.iter().product(),
        "sparse_csr" => wide(part("indices")).len() as u64,
        _ => wide(part("coords")).len() as u64 / 2,
    };
    let is_odd_f4 = elements.logical == Some(Logical::F4E2m1) && count % 2 == 1;
    let padding = !is_2 || !is_odd_f4 || elements.bytes.last().is_none_or(|last| *last < 16);
    let positions = match sample.format {
        "sparse_csr" => {
            let (cells, pointers) = (wide(part("indices")), wide(part("indptr")));
            let rows = pointers.windows(2).map(|row| (row[0] as usize, row[1] as usize));
            let in_range = cells.iter().all(|cell| *cell < sample.shape[1]);
            let rise = pointers.is_sorted() && *pointers.last().unwrap() == cells.len() as u64;
            in_range
                && rise
                && (!is_2 || rows.into_iter().all(|(a, b)| cells[a..b].is_sorted_by(|a, b| a < b)))
        }
        "sparse_coo" => {
            let coords = wide(part("coords"));
            let (rows, columns) = coords.split_at(count as usize);
            let mut cells: Vec<_> = rows.iter().zip(columns).collect();
            cells.sort();
            let all = cells.len();
            cells.dedup();
            columns.iter().all(|column| *column < sample.shape[1]) && (!is_2 || cells.len() == all)
        }
        _ => true,
    };
    bools && padding && positions
}

fn can_be_said(sample: &Sample, version: Version) -> bool {
    let logical = |part: &Part| version != Version::V2 || part.logical != Some(Logical::F6E2m3);
    sample.can_be_said_in(version) && sample.parts.iter().all(logical)
}

#[test]
fn writing_calls_accept_exactly_what_verifies() {
    let mut random = Random(37);
    let (mut taken, mut refused) = (0, 0);
    for round in 0..3000 {
        let sample = random_sample(&mut random);
        let version = VERSIONS[random.below(4) as usize];
        let variant = CASES[random.below(6) as usize];
        let about = format!("round {round}: {} {version:?} {variant:?}", sample.format);
        if !can_be_said(&sample, version) {
            continue;
        }
        match file_of(version, |writer| write(writer, &sample, variant)) {
            Ok(bytes) => {
                assert!(is_valid(&sample, version), "{about}: taken");
                check_valid(bytes, &about);
                taken += 1;
            }
            Err(error) => {
                assert!(!is_valid(&sample, version), "{about}: {error}");
                assert!(matches!(error.cause(), Cause::Broken(_)), "{about}: {error:?}");
                assert!(
                    error.message().contains("; "),
                    "{about}: the message does not say what to do: {error}"
                );
                refused += 1;
            }
        }
    }
    assert!(taken > 800 && refused > 300, "{taken} {refused}");
}

/// A file in a container with weaker rules than zTensor 2.
fn source(sample: &Sample) -> Option<File> {
    let bytes = [Version::V1_2, Version::V0_1]
        .into_iter()
        .filter(|version| sample.can_be_said_in(*version))
        .find_map(|version| file_of(version, |writer| sample.write(writer)).ok())?;
    Some(common::open(bytes))
}

#[test]
fn a_copy_is_checked_like_written_objects() {
    let mut random = Random(3737);
    let (mut taken, mut refused) = (0, 0);
    for round in 0..1500 {
        let sample = random_sample(&mut random);
        let version = VERSIONS[random.below(4) as usize];
        let Some(file) = source(&sample).filter(|_| can_be_said(&sample, version)) else { continue };
        let encodings = [None, Some(Encoding::Raw), Some(Encoding::Zstd)];
        let recode = Recode { encoding: encodings[random.below(3) as usize], ..Recode::default() };
        let about = format!("round {round}: {} {version:?} {recode:?}", sample.format);
        let any_byte_is_true = file.manifest().container == Some(Version::V0_1);
        let outcome = file_of(version, |writer| writer.copy_as(file.object(0).unwrap(), "y", &recode));
        match outcome {
            Ok(bytes) => {
                // A byte other than 0 becomes 1.
                assert!(any_byte_is_true || is_valid(&sample, version), "{about}: taken");
                check_valid(bytes, &about);
                taken += 1;
            }
            Err(error) => {
                assert!(!any_byte_is_true && !is_valid(&sample, version), "{about}: {error}");
                refused += 1;
            }
        }
    }
    assert!(taken > 400 && refused > 40, "{taken} {refused}");
}

/// Stored bytes that another writer wrote incorrectly. They have no digest that would detect it.
#[test]
fn stored_bytes_that_break_a_rule_are_not_copied() {
    let bools = Sample::dense("x", Dtype::Bool, &[4], vec![1, 0, 1, 1]);
    let mut bytes =
        common::written(&WriterOptions { usual_digest: false, ..options(Version::V1_2) }, |writer| {
            bools.write(writer).unwrap();
        });
    let offset = common::open(bytes.clone()).object(0).unwrap().component("data").unwrap().entry().offset;
    bytes[offset as usize + 2] = 7;
    let file = common::open(bytes);
    assert!(common::verify(&file).is_err());
    for version in [Version::V1_1, Version::V1_2, Version::V2] {
        let error = file_of(version, |writer| writer.copy(file.object(0).unwrap(), "x")).unwrap_err();
        assert!(error.message().contains("byte 2 is 7, neither 0 nor 1"), "{error}");
    }
    // In 0.1 every byte except 0 is true.
    file_of(Version::V0_1, |writer| writer.copy(file.object(0).unwrap(), "x")).unwrap();
}

#[test]
fn a_refused_piece_leaves_no_trace() {
    for version in [Version::V1_2, Version::V2] {
        let bytes = file_of(version, |writer| {
            writer.begin(&ObjectSpec { name: "b", format: "dense", shape: &[5] }, Default::default())?;
            writer.component(&ComponentSpec::new("data", Dtype::Bool))?;
            writer.data(&[1, 0])?;
            let error = writer.data(&[1, 3]).unwrap_err();
            assert!(error.message().contains("byte 3 is 3"), "{error}");
            writer.data(&[0, 1, 1])?;
            writer.end()?;
            writer
                .begin(&ObjectSpec { name: "m", format: "sparse_csr", shape: &[2, 4] }, Default::default())?;
            writer.component_whole(&ComponentSpec::new("values", Dtype::U8), &[1, 2, 3])?;
            writer.component(&ComponentSpec::new("indices", Dtype::U64))?;
            let columns = common::numbers(&[1, 3, 0]);
            writer.data(&columns[..11])?;
            writer.data(&[0xff; 5]).unwrap_err();
            writer.data(&columns[11..])?;
            let wrong = common::numbers(&[0, 2, 1]);
            writer.component_whole(&ComponentSpec::new("indptr", Dtype::U64), &wrong).unwrap_err();
            writer
                .component_whole(&ComponentSpec::new("indptr", Dtype::U64), &common::numbers(&[0, 2, 3]))?;
            writer.end()
        });
        check_valid(bytes.unwrap(), "after refusals");
    }
}

/// Each part was accepted, but together they are invalid.
#[test]
fn the_parts_of_an_object_in_pieces_have_to_fit() {
    let values =
        |count: usize| Part { role: "values", dtype: Dtype::F32, logical: None, bytes: vec![0; 4 * count] };
    let csr = |count, pointers: &[u64]| Sample {
        name: "m".into(),
        format: "sparse_csr",
        shape: vec![2, 3],
        attributes: "{}",
        parts: vec![values(count), indices("indices", &[0, 2, 1]), indices("indptr", pointers)],
    };
    let quantized = Sample {
        attributes: r#"{"bits":4,"group_size":8}"#,
        ..common::every_format(Dtype::F32, None).remove(3)
    };
    let quantized = Sample { shape: vec![4, 160], ..quantized };
    for version in [Version::V1_1, Version::V1_2, Version::V2] {
        for variant in [Variant::Whole, Variant::Pieces(5), Variant::Components] {
            let broken = [csr(2, &[0, 2, 3]), csr(3, &[0, 3]), csr(3, &[0, 2, 2])];
            for sample in broken.iter().chain((version != Version::V2).then_some(&quantized)) {
                let error = file_of(version, |writer| write(writer, sample, variant)).unwrap_err();
                let cause = error.cause();
                assert!(
                    matches!(cause, Cause::Broken(_) | Cause::Unsupported),
                    "{version:?} {variant:?}: {error:?}"
                );
            }
            let bytes = file_of(version, |writer| write(writer, &csr(3, &[0, 2, 3]), variant)).unwrap();
            check_valid(bytes, "a matrix");
        }
    }
}

/// Elements of an unknown type cannot be read or checked in zTensor 2.
#[test]
fn zt_2_has_no_elements_of_an_unknown_type() {
    let part = ComponentSpec {
        logical: Some(LogicalSpec::Other("x.int6")),
        ..ComponentSpec::new("data", Dtype::U8)
    };
    let object = ObjectSpec { name: "x", format: "dense", shape: &[4] };
    let write =
        |writer: &mut Writer| writer.write_object(&object, Default::default(), &[(part, &[1, 2, 3, 4])]);
    let bytes = file_of(Version::V1_2, write).unwrap();
    check_valid(bytes.clone(), "1.2");
    let file = common::open(bytes);
    let copy = |writer: &mut Writer| writer.copy(file.object(0).unwrap(), "x");
    for error in [file_of(Version::V2, write).unwrap_err(), file_of(Version::V2, copy).unwrap_err()] {
        assert_eq!(error.cause(), Cause::Unsupported, "{error}");
        assert!(error.message().contains("x.int6"), "{error}");
    }
    check_valid(file_of(Version::V1_2, copy).unwrap(), "a copy in 1.2");
}
