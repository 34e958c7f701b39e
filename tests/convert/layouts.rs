//! Numbers of packed floats and of sparse objects. Each test compares with numbers that were computed by
//! hand, or with a slow formula for each entry.

use crate::common;

use common::ztensor_2::{file, Part};
use common::{Random, Sample};
use ztensor::error::{Cause, Error, Rule};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Format;
use ztensor::reader::{
    BatchOptions, BatchStats, File, Hyperslab, Mode, Object, OpenOptions, Selected, Selection, Wanted,
};
use ztensor::writer::WriterOptions;

pub fn open(object: common::ztensor_2::Object) -> File {
    File::open_memory(common::Aligned::of(&file(&[object])), &OpenOptions::default()).unwrap()
}

/// The numbers of the only object. `read_as` writes them to memory with extra bytes at the end.
pub fn numbers(file: &File, to: Dtype) -> Result<Vec<u8>, Error> {
    let object = file.objects().next().unwrap();
    let size = object.size_as(to)? as usize;
    let mut memory = vec![0xa5; size + 8];
    if size > 0 {
        assert_eq!(object.read_as(to, &mut memory[..size - 1]).unwrap_err().cause(), Cause::BufferSize);
        assert!(memory.iter().all(|byte| *byte == 0xa5));
    }
    let written = object.read_as(to, &mut memory)?;
    assert_eq!((written, &memory[size..]), (size, &[0xa5; 8][..]));
    memory.truncate(size);
    if size > 0 && object.format() != Format::Dense {
        parts_agree(&object, to, &memory);
    }
    Ok(memory)
}

/// Checks that random slices and rows have the same numbers as `all`.
fn parts_agree(object: &Object<'_>, to: Dtype, all: &[u8]) {
    let (shape, mut random) = (object.shape(), Random(all.len() as u64 + 7));
    let each = all.len() / object.element_count().unwrap() as usize;
    for round in 0..6 {
        let (mut start, mut count, mut step) = (vec![], vec![], vec![]);
        for length in shape {
            start.push(random.below(*length));
            step.push(1 + random.below(3) * (round % 2));
            count.push(1 + random.below((length - start.last().unwrap()).div_ceil(*step.last().unwrap())));
        }
        let (start, count, step) = (&start[..], &count[..], &step[..]);
        let slab = Selected::Slab(Hyperslab { start, count, step: Some(step) });
        let mut expected = vec![];
        for number in 0..count.iter().product() {
            let (mut rest, mut place, mut before) = (number, 0, 1);
            for at in (0..shape.len()).rev() {
                place += (start[at] + rest % count[at] * step[at]) * before;
                (rest, before) = (rest / count[at], before * shape[at]);
            }
            expected.extend_from_slice(&all[place as usize * each..][..each]);
        }
        assert_eq!(read(object, &slab, to, expected.len()).unwrap(), expected, "{slab:?} of {shape:?}");
        let length = shape.last().map_or(1, |last| *last);
        let (rows, stride) = (object.element_count().unwrap() / length, 1 + random.below(3));
        let first = random.below(rows);
        let rows = 1 + random.below((rows - first).div_ceil(stride));
        let some = Selected::Rows { first, rows, stride };
        let size = length as usize * each;
        let places = (0..rows).map(|row| (first + row * stride) as usize * size);
        let expected: Vec<u8> = places.flat_map(|place| all[place..place + size].to_vec()).collect();
        assert_eq!(read(object, &some, to, expected.len()).unwrap(), expected, "{some:?} of {shape:?}");
    }
    let pieces = BatchOptions { threads: 3, chunk_size: 4096, ..BatchOptions::default() };
    assert_eq!(read_by(&pieces, object, &Selected::Whole, to, all.len()).unwrap(), all);
}

fn read(object: &Object<'_>, selected: &Selected<'_>, to: Dtype, size: usize) -> Result<Vec<u8>, Error> {
    read_by(&BatchOptions { threads: 1, ..BatchOptions::default() }, object, selected, to, size)
}

/// The `size` bytes that a batch with this request reads.
pub fn read_by(
    options: &BatchOptions,
    object: &Object<'_>,
    selected: &Selected<'_>,
    to: Dtype,
    size: usize,
) -> Result<Vec<u8>, Error> {
    let mut memory = vec![0xa5; size + 8];
    let wanted = Wanted { convert: Some(to), ..Wanted::default() };
    let mut request = object.request_as(selected, wanted, &mut memory)?;
    assert_eq!(request.size(), size as u64);
    let (one, stats) = (std::slice::from_mut(&mut request), &mut BatchStats::default());
    File::read_batch(one, options, &|_, _| {}, &|_, _| true, stats)?;
    assert_eq!(memory[size..], [0xa5; 8]);
    memory.truncate(size);
    Ok(memory)
}

pub fn floats(file: &File) -> Vec<f32> {
    let bytes = numbers(file, Dtype::F32).unwrap();
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}

pub fn bytes_of<const N: usize, T: Copy>(numbers: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.iter().flat_map(|number| bytes(*number)).collect()
}

pub fn of_f32(numbers: &[f32]) -> Vec<u8> {
    bytes_of(numbers, f32::to_ne_bytes)
}

/// Whether the bits are equal, or both are NaN.
pub fn same(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!(
            x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
            "{what}: element {at} is {x}, not {y}"
        );
    }
}

pub const F4: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

#[test]
fn packed_floats_are_read_low_half_first_and_no_further_than_they_go() {
    for (count, packed) in [(0, &[][..]), (1, &[0x07]), (2, &[0x7f]), (5, &[0x21, 0xba, 0x0e])] {
        let data = Part::new("data", "u8", packed).of_type("f4_e2m1");
        let file = open(common::ztensor_2::Object::new("o", "dense", &[count], vec![data]));
        let codes = packed.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(count as usize);
        let expected: Vec<f32> = codes.map(|code| F4[usize::from(code)]).collect();
        same(&floats(&file), &expected, "f4");
        let wide = bytes_of(&expected, |x| f64::from(x).to_ne_bytes());
        assert_eq!(numbers(&file, Dtype::F64).unwrap(), wide);
        let half = bytes_of(&expected, |x| half::f16::from_f32(x).to_ne_bytes());
        assert_eq!(numbers(&file, Dtype::F16).unwrap(), half);
        let error = numbers(&file, Dtype::I8).unwrap_err();
        assert!(error.cause() == Cause::Unsupported && error.message().contains("f4_e2m1"), "{error}");
    }
    // Many elements, so that they are decoded in several pieces.
    let packed: Vec<u8> = (0..100_001u32).map(|i| (i * 7 + i / 251) as u8).chain([0x05]).collect();
    let codes = packed.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(200_003);
    let expected: Vec<f32> = codes.map(|code| F4[usize::from(code)]).collect();
    let part = || common::Part {
        role: "data",
        dtype: Dtype::U8,
        logical: Some(Logical::F4E2m1),
        bytes: packed.clone(),
    };
    for encoding in common::encodings() {
        for count in [200_003, 200_004] {
            let mut sample = Sample::dense("o", Dtype::U8, &[count], vec![]);
            sample.parts = vec![part()];
            let options = WriterOptions { encoding, ..WriterOptions::default() };
            let file = common::open(common::file_of(&options, &[sample]));
            let last = [0.0].repeat(count as usize - 200_003);
            same(&floats(&file), &[&expected[..], &last].concat(), "many f4");
            // A slice would contain the half byte that is not an element.
            let mut memory = vec![0; 4 * 200_004];
            let wanted = Wanted { convert: Some(Dtype::F32), ..Wanted::default() };
            let data = common::data(&file, "o");
            let request = data.request_as(&Selection::Whole, wanted, &mut memory);
            assert_eq!(request.is_ok(), count == 200_004);
            let object = file.find("o").unwrap();
            let whole = read(&object, &Selected::Whole, Dtype::F32, 4 * count as usize).unwrap();
            assert_eq!(whole, of_f32(&[&expected[..], &last].concat()));
        }
    }
}

/// A request for an object fails like `read_as`.
#[test]
fn arrays_of_another_size_than_their_shape_are_refused() {
    for (written, blocks) in [(1u8, 1u64), (3, 3)] {
        let bytes = vec![0x11; 18 * blocks as usize];
        let parts = vec![common::Part { role: "data", dtype: Dtype::U8, logical: None, bytes }];
        let attributes = r#"{"elems_per_block": 32, "block_bytes": 18}"#;
        let (name, shape) = ("b".into(), vec![blocks, 32]);
        let sample = Sample { name, format: "gguf.q4_0/1", shape, attributes, parts };
        let mut bytes = common::file_of(&common::without_digests(), &[sample]);
        // Changes the shape [blocks, 32] to [2, 32] in CBOR.
        let at = bytes.windows(4).rposition(|window| window == [0x82, written, 0x18, 32]).unwrap();
        bytes[at + 1] = 2;
        let file = common::open(bytes);
        let object = file.find("b").unwrap();
        assert_eq!(object.size_as(Dtype::F32).unwrap(), 256);
        let whole = object.read_as(Dtype::F32, &mut [0; 256]).unwrap_err();
        assert!(matches!(whole.cause(), Cause::Broken(_)), "{whole}");
        let view = object.tensor_view().map(drop).unwrap_err();
        assert_eq!(view.cause(), Cause::Broken(Rule::DenseSize), "{view}");
        let slab = Hyperslab { start: &[0, 0], count: &[1, 32], step: None };
        assert_eq!(object.read_slice(&slab, &mut [0; 18]).unwrap_err().cause(), view.cause());
        assert_eq!(common::verify(&file).unwrap_err().cause(), view.cause());
        // The bytes themselves can be read.
        let component = object.components().next().unwrap();
        assert_eq!(common::read(&component), vec![0x11; 18 * blocks as usize]);
        for selected in [Selected::Whole, Selected::Rows { first: 0, rows: 1, stride: 1 }] {
            let error = read(&object, &selected, Dtype::F32, 256).unwrap_err();
            assert_eq!(error.cause(), whole.cause(), "{error}");
        }
    }
}

/// Reads return the bytes of the file, not those that the caller changed in its mapping, and keep nothing.
#[cfg(target_os = "linux")]
#[test]
fn numbers_are_those_of_the_file_in_every_mode() {
    let folder = common::Folder::new();
    let group = crate::groups::quantized().object();
    for (name, bytes, role) in
        [("sparse.zt", sparse_bytes(), "values"), ("group.zt", file(&[group]), "scales")]
    {
        let path = folder.path(name);
        std::fs::write(&path, bytes).unwrap();
        let mut seen = Vec::new();
        for mode in [Mode::Map, Mode::Private, Mode::Read] {
            let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
            let object = file.objects().next().unwrap();
            if mode == Mode::Private {
                let borrowed = object.component(role).unwrap().borrow().unwrap();
                // SAFETY: a private mapping is writable, and no other code accesses it.
                #[allow(unsafe_code)]
                unsafe {
                    borrowed.as_ptr().cast_mut().write_bytes(0x41, borrowed.len());
                }
            }
            seen.push(numbers(&file, Dtype::F32).unwrap());
        }
        assert!(seen[0] == seen[1] && seen[0] == seen[2], "{name}");
    }
}

fn sparse_bytes() -> Vec<u8> {
    let values =
        common::Part { role: "values", dtype: Dtype::F32, logical: None, bytes: of_f32(&[1.0, 2.0]) };
    let bytes = common::numbers(&[0, 3]);
    let coords = common::Part { role: "coords", dtype: Dtype::U64, logical: None, bytes };
    let (name, parts) = ("s".into(), vec![values, coords]);
    let sample = Sample { name, format: "sparse_coo", shape: vec![4], attributes: "{}", parts };
    common::file_of(&WriterOptions::default(), &[sample])
}

#[test]
fn exponents_are_powers_of_two() {
    let data = Part::new("data", "u8", (0..=255).collect::<Vec<u8>>()).of_type("f8_e8m0");
    let file = open(common::ztensor_2::Object::new("o", "dense", &[256], vec![data]));
    let power = |code: i32| if code == 255 { f64::NAN } else { 2f64.powi(code - 127) };
    let expected: Vec<f32> = (0..256).map(|code| power(code) as f32).collect();
    same(&floats(&file), &expected, "f8_e8m0");
    let bf16 = numbers(&file, Dtype::Bf16).unwrap();
    for (code, bytes) in bf16.chunks_exact(2).enumerate().take(255) {
        let number = half::bf16::from_ne_bytes(bytes.try_into().unwrap());
        assert_eq!(number.to_f64(), power(code as i32));
    }
    let error = numbers(&file, Dtype::F16).unwrap_err();
    assert!(error.cause() == Cause::Limit && error.message().contains("112 finite"), "{error}");
}

#[test]
fn floats_of_6_bits_are_read_from_the_lowest_bits_on() {
    // All codes, in an order that is not theirs.
    let codes: Vec<u32> = (0..64).map(|at| at * 37 % 64).collect();
    let packed = |codes: &[u32]| {
        let bits = codes.iter().enumerate().fold(0u32, |bits, (at, code)| bits | code << (6 * at));
        bits.to_le_bytes()[..3].to_vec()
    };
    let bytes: Vec<u8> = codes.chunks(4).flat_map(packed).collect();
    for (logical, mantissa, bias, largest) in [(Logical::F6E2m3, 3, 1, 7.5f32), (Logical::F6E3m2, 2, 3, 28.0)]
    {
        let value = |code: &u32| {
            let (exponent, fraction) = ((code % 32) >> mantissa, code % 32 % (1 << mantissa));
            let fraction = fraction as f32 / (1 << mantissa) as f32;
            let magnitude = match exponent as i32 {
                0 => fraction * 2f32.powi(1 - bias),
                exponent => (1.0 + fraction) * 2f32.powi(exponent - bias),
            };
            if *code < 32 {
                magnitude
            } else {
                -magnitude
            }
        };
        let expected: Vec<f32> = codes.iter().map(value).collect();
        assert_eq!(expected.iter().copied().fold(0.0, f32::max), largest);
        let part =
            common::Part { role: "data", dtype: Dtype::U8, logical: Some(logical), bytes: bytes.clone() };
        let sample = Sample { parts: vec![part], ..Sample::dense("o", Dtype::U8, &[4, 16], vec![]) };
        let file = common::open(common::file_of(&WriterOptions::default(), &[sample]));
        same(&floats(&file), &expected, logical.name());
        let half = bytes_of(&expected, |x| half::bf16::from_f32(x).to_ne_bytes());
        assert_eq!(numbers(&file, Dtype::Bf16).unwrap(), half);
        assert_eq!(numbers(&file, Dtype::I8).unwrap_err().cause(), Cause::Unsupported);
        // zTensor 2 does not have them.
        let data = Part::new("data", "u8", &bytes[..3]).of_type(logical.name());
        let error =
            numbers(&open(common::ztensor_2::Object::new("o", "dense", &[4], vec![data])), Dtype::F32);
        let error = error.unwrap_err();
        assert!(error.cause() == Cause::Unsupported && error.message().contains(logical.name()), "{error}");
    }
}

/// A sparse object of 1.2.
fn sparse(
    shape: &[u64],
    (dtype, logical): (Dtype, Option<Logical>),
    values: Vec<u8>,
    positions: &[(&'static str, &[u64])],
) -> File {
    let format = if positions.len() == 2 { "sparse_csr" } else { "sparse_coo" };
    let mut parts = vec![common::Part { role: "values", dtype, logical, bytes: values }];
    for (role, values) in positions {
        let bytes = common::numbers(values);
        parts.push(common::Part { role, dtype: Dtype::U64, logical: None, bytes });
    }
    let sample = Sample { name: "s".into(), format, shape: shape.to_vec(), attributes: "{}", parts };
    common::open(common::file_of(&WriterOptions::default(), &[sample]))
}

#[test]
fn rows_are_filled_with_zeros() {
    let positions = [("indices", &[4, 0, 2][..]), ("indptr", &[0, 1, 1, 3])];
    let values = of_f32(&[1.5, -2.5, 1e-3]);
    let file = sparse(&[3, 5], (Dtype::F32, None), values, &positions);
    let mut expected = [0.0; 15];
    (expected[4], expected[10], expected[12]) = (1.5, -2.5, 1e-3);
    same(&floats(&file), &expected, "csr");
    let rounded = bytes_of(&expected, |x| half::bf16::from_f32(x).to_ne_bytes());
    assert_eq!(numbers(&file, Dtype::Bf16).unwrap(), rounded);
    let integers = bytes_of(&[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, -2, 0, 0, 0, 0], i32::to_ne_bytes);
    assert_eq!(numbers(&file, Dtype::I32).unwrap(), integers);
    // Columns that are not sorted, and values of f16 and i32.
    let positions = [("indices", &[4, 0, 2][..]), ("indptr", &[0, 0, 3, 3])];
    let values = bytes_of(&[1.0, 2.0, 0.1], |x| half::f16::from_f32(x).to_ne_bytes());
    let mut expected = [0.0; 15];
    (expected[9], expected[5], expected[7]) = (1.0, 2.0, half::f16::from_f32(0.1).to_f32());
    same(&floats(&sparse(&[3, 5], (Dtype::F16, None), values, &positions)), &expected, "csr of f16");
    let values = bytes_of(&[i32::MAX, -1, 70_000], i32::to_ne_bytes);
    let file = sparse(&[3, 5], (Dtype::I32, None), values, &positions);
    (expected[9], expected[5], expected[7]) = (2_147_483_648.0, -1.0, 70_000.0);
    same(&floats(&file), &expected, "csr of i32");
    for to in [Dtype::F16, Dtype::I16] {
        assert_eq!(numbers(&file, to).unwrap_err().cause(), Cause::Limit, "{}", to.name());
    }
    let empty = sparse(&[2, 3], (Dtype::F32, None), vec![], &[("indices", &[]), ("indptr", &[0, 0, 0])]);
    assert_eq!(numbers(&empty, Dtype::I16).unwrap(), [0; 12]);
}

#[test]
fn equal_coordinates_are_summed_in_stored_order() {
    // Elements 3, 1, 3, 0, 3 of the shape.
    let coords = [("coords", &[0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1][..])];
    let shape = [1, 2, 2];
    for (values, sum) in [
        ([1e8f32, 5.0, 1.0, 6.0, -1e8], 0.0),
        ([1e8, 5.0, -1e8, 6.0, 1.0], 1.0),
        ([-0.0, 5.0, -0.0, 6.0, -0.0], -0.0),
        ([f32::INFINITY, 5.0, f32::NEG_INFINITY, 6.0, 1.0], f32::NAN),
    ] {
        let file = sparse(&shape, (Dtype::F32, None), of_f32(&values), &coords);
        same(&floats(&file), &[6.0, 5.0, 0.0, sum], "sums");
        let error = numbers(&file, Dtype::I32).unwrap_err();
        assert_eq!(error.cause(), Cause::Unsupported);
        assert!(["equal coordinates", "i32"].iter().all(|words| error.message().contains(words)), "{error}");
    }
    // Each number is rounded to f32 before the sum, and the sum once to the target.
    let exact = 1.0 + 2f64.powi(-40);
    let values = bytes_of(&[exact, exact, 1.0, 6.0, 2f64.powi(-24)], f64::to_ne_bytes);
    let file = sparse(&shape, (Dtype::F64, None), values, &coords);
    let expected = bytes_of(&[6.0, exact, 0.0, 2.0], f64::to_ne_bytes);
    assert_eq!(numbers(&file, Dtype::F64).unwrap(), expected);
    // The sum is in f32, so it fits although a part does not fit in f16. A second sum does not fit.
    let file = sparse(&shape, (Dtype::F32, None), of_f32(&[7e4, 5.0, -6e4, 6.0, 0.0]), &coords);
    let expected = bytes_of(&[6.0, 5.0, 0.0, 1e4], |x| half::f16::from_f32(x).to_ne_bytes());
    assert_eq!(numbers(&file, Dtype::F16).unwrap(), expected);
    for (values, to) in [([6e4, 5.0, 6e4, 6.0, 0.0], Dtype::F16), ([3e38, 5.0, 3e38, 6.0, 0.0], Dtype::F32)] {
        let file = sparse(&shape, (Dtype::F32, None), of_f32(&values), &coords);
        let error = numbers(&file, to).unwrap_err();
        assert!(error.cause() == Cause::Limit && error.message().contains("1 finite"), "{error}");
    }
    // Complex numbers: two numbers for each element.
    let values: Vec<f32> = (1..=10).map(|i| i as f32).collect();
    let file = sparse(&shape, (Dtype::F32, Some(Logical::Complex64)), of_f32(&values), &coords);
    same(&floats(&file), &[7.0, 8.0, 3.0, 4.0, 0.0, 0.0, 1.0 + 5.0 + 9.0, 2.0 + 6.0 + 10.0], "complex");
    // Integers, if all coordinates are different.
    let one = sparse(&[2, 2], (Dtype::U8, None), vec![7, 9], &[("coords", &[1, 0, 0, 1])]);
    assert_eq!(numbers(&one, Dtype::I16).unwrap(), bytes_of(&[0, 9, 7, 0], i16::to_ne_bytes));
    let empty = sparse(&[2, 2], (Dtype::F32, None), vec![], &[("coords", &[])]);
    same(&floats(&empty), &[0.0; 4], "empty");
    let nothing = sparse(&[0, 2], (Dtype::F32, None), vec![], &[("coords", &[])]);
    assert!(numbers(&nothing, Dtype::F64).unwrap().is_empty());
}

#[test]
fn many_random_entries_equal_the_sum_of_single_ones() {
    let mut random = Random(7);
    for (rows, columns, nnz) in [(1, 1, 3), (7, 300, 2000), (300, 7, 513), (40, 40, 1024), (1000, 1, 5)] {
        let cells: Vec<u64> = (0..nnz).map(|_| random.below(rows * columns)).collect();
        let values: Vec<f32> = (0..nnz).map(|_| random.below(1 << 30) as f32 / 3.0).collect();
        let mut expected = vec![0.0; (rows * columns) as usize];
        cells.iter().zip(&values).for_each(|(cell, value)| expected[*cell as usize] += value);
        let coords: Vec<u64> =
            cells.iter().map(|c| c / columns).chain(cells.iter().map(|c| c % columns)).collect();
        let coo = sparse(&[rows, columns], (Dtype::F32, None), of_f32(&values), &[("coords", &coords)]);
        same(&floats(&coo), &expected, "coo");
        // The same matrix by rows. The entries of a row keep their order.
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by_key(|entry| cells[*entry] / columns);
        let indices: Vec<u64> = order.iter().map(|entry| cells[*entry] % columns).collect();
        let before = |row| cells.iter().filter(|cell| **cell / columns < row).count() as u64;
        let indptr: Vec<u64> = (0..=rows).map(before).collect();
        let values: Vec<f32> = order.iter().map(|entry| values[*entry]).collect();
        let positions = [("indices", &indices[..]), ("indptr", &indptr)];
        same(
            &floats(&sparse(&[rows, columns], (Dtype::F32, None), of_f32(&values), &positions)),
            &expected,
            "csr",
        );
    }
}

#[test]
fn sparse_objects_of_2_may_have_values_of_half_a_byte() {
    let little = |numbers: &[u32]| bytes_of(numbers, u32::to_le_bytes);
    let parts = vec![
        Part::new("values", "u8", [0x21, 0x43, 0x07]).of_type("f4_e2m1"),
        Part::new("indices", "u32", little(&[0, 1, 3, 4, 8])),
        Part::new("indptr", "u32", little(&[0, 5])),
    ];
    let file = open(common::ztensor_2::Object::new("m", "zt.sparse_csr/1", &[1, 9], parts));
    same(&floats(&file), &[0.5, 1.0, 0.0, 1.5, 2.0, 0.0, 0.0, 0.0, 6.0], "csr of f4");
    assert_eq!(numbers(&file, Dtype::U8).unwrap_err().cause(), Cause::Unsupported);
    let coords = |columns: &[u32]| {
        let rows = vec![0; columns.len()];
        let values = Part::new("values", "f32", bytes_of(&[4.0, 5.0], f32::to_le_bytes));
        let coords = Part::new("coords", "u32", little(&[&rows[..], columns].concat()));
        open(common::ztensor_2::Object::new("m", "zt.sparse_coo/1", &[1, 3], vec![values, coords]))
    };
    same(&floats(&coords(&[2, 0])), &[5.0, 0.0, 4.0], "coo");
    for damaged in [[1, 1], [3, 0]] {
        assert_eq!(numbers(&coords(&damaged), Dtype::F32).unwrap_err().rule_name(), c"LayoutData");
    }
}

#[test]
fn impossible_sizes_are_rejected_before_reading() {
    let coo = |shape: &[u64]| sparse(shape, (Dtype::F32, None), vec![], &[("coords", &[])]);
    for shape in [[1 << 40, 1 << 40], [1 << 32, 1 << 31]] {
        let file = coo(&shape);
        let object = file.objects().next().unwrap();
        for error in
            [object.size_as(Dtype::F64).unwrap_err(), object.read_as(Dtype::F64, &mut []).unwrap_err()]
        {
            assert!(error.cause() == Cause::Limit && error.message().contains("2^64"), "{error}");
        }
    }
    let file = coo(&[1 << 30, 1 << 30]);
    let object = file.objects().next().unwrap();
    assert_eq!(object.size_as(Dtype::F64).unwrap(), 1 << 63);
    let mut memory = [0xa5; 64];
    assert_eq!(object.read_as(Dtype::F64, &mut memory).unwrap_err().cause(), Cause::BufferSize);
    assert_eq!(memory, [0xa5; 64]);
    let error = object.for_each_number(Dtype::F64, false, &mut |_| panic!("zeros without end")).unwrap_err();
    assert!(error.cause() == Cause::Limit && error.message().contains("above the limit of"), "{error}");
}

#[test]
fn damaged_positions_are_refused() {
    let mut parts =
        vec![common::Part { role: "values", dtype: Dtype::U8, logical: None, bytes: vec![1, 2, 3] }];
    let positions = [("indices", vec![4, 0, 2]), ("indptr", vec![0, 1, 1, 3])];
    for (role, values) in &positions {
        let bytes = common::numbers(values);
        parts.push(common::Part { role, dtype: Dtype::U64, logical: None, bytes });
    }
    let sample =
        Sample { name: "s".into(), format: "sparse_csr", shape: vec![3, 5], attributes: "{}", parts };
    let file = common::file_of(&common::without_digests(), &[sample]);
    assert_eq!(numbers(&common::open(file.clone()), Dtype::U8).unwrap()[4], 1);
    for (part, damaged) in
        [(0, [5, 0, 2].to_vec()), (1, vec![0, 2, 1, 3]), (1, vec![1, 1, 1, 3]), (1, vec![0, 1, 1, 2])]
    {
        let [from, to] = [&positions[part].1, &damaged].map(|n| bytes_of(n, u64::to_le_bytes));
        let at = file.windows(from.len()).position(|window| window == from).unwrap();
        let mut file = file.clone();
        file[at..at + to.len()].copy_from_slice(&to);
        let error = numbers(&common::open(file), Dtype::U8).unwrap_err();
        assert!(matches!(error.cause(), Cause::Broken(_)), "{damaged:?}: {error}");
    }
}
