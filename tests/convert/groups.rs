//! Numbers of objects with codes and scales: `zt.quant_group/1` and `zt.mx/1` of zTensor 2. Each test
//! compares with numbers that were computed by hand, or with a slow formula for the indices of each element.

use crate::{common, layouts};

use common::ztensor_2::{map, Cbor, Object, Part};
use common::Random;
use layouts::{bytes_of, floats, numbers, open, read_by, same, F4};
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Version;
use ztensor::reader::{BatchOptions, BatchStats, File, Hyperslab, Selected, Wanted};
use ztensor::writer::WriterOptions;

/// An object of `zt.quant_group/1`.
pub struct Quantized {
    shape: Vec<u64>,
    axis: u64,
    group_size: u64,
    bits: u64,
    word: &'static str,
    order: &'static str,
    zero_point: Cbor<'static>,
    data: Vec<u8>,
    scales: Part,
    zeros: Option<Part>,
}

fn width(word: &str) -> u64 {
    word[1..].parse::<u64>().unwrap() / 8
}

impl Quantized {
    pub fn object(&self) -> Object {
        let mut parts = vec![Part::new("data", self.word, self.data.clone()), self.scales.clone()];
        parts.extend(self.zeros.clone());
        parts.sort_by_key(|part| (part.role.len(), part.role));
        let form = if self.scales.dtype == "u8" { "e8m0_exponent" } else { "f32_factors" };
        let words = ["u8", "u16", "u32", "u64"];
        let unsigned = *words.iter().find(|word| word[1..] == self.word[1..]).unwrap();
        let packing = map([
            ("word", unsigned.into()),
            ("order", self.order.into()),
            ("per_word", (width(self.word) * 8 / self.bits).into()),
        ]);
        Object::new("q", "zt.quant_group/1", &self.shape, parts).with(map([
            ("bits", self.bits.into()),
            ("axis", self.axis.into()),
            ("group_size", self.group_size.into()),
            ("scale_form", form.into()),
            ("packing", packing),
            ("zero_point", self.zero_point.clone()),
        ]))
    }
}

/// Packs codes into words.
fn pack(codes: &[u64], bits: u64, word: &str, is_msb_first: bool) -> Vec<u8> {
    let per = (width(word) * 8 / bits) as usize;
    let words = codes.chunks(per).map(|codes| {
        let place = |at: usize| if is_msb_first { per - 1 - at } else { at };
        codes.iter().enumerate().fold(0u64, |word, (at, code)| word | code << (place(at) as u64 * bits))
    });
    words.flat_map(|number| number.to_le_bytes()[..width(word) as usize].to_vec()).collect()
}

fn none() -> Cbor<'static> {
    map([("form", "none".into())])
}

fn tensor(packing: &'static str) -> Cbor<'static> {
    map([("form", "tensor".into()), ("packing", packing.into())])
}

fn scales_of(numbers: &[f32]) -> Part {
    Part::new("scales", "f32", bytes_of(numbers, f32::to_le_bytes))
}

/// 2 rows of 4 codes of 4 bits in groups of 2.
pub fn quantized() -> Quantized {
    Quantized {
        shape: vec![2, 4],
        axis: 1,
        group_size: 2,
        bits: 4,
        word: "u8",
        order: "lsb_first",
        zero_point: none(),
        data: vec![0x21, 0x43, 0x65, 0xf7],
        scales: scales_of(&[1.0, 10.0, 100.0, 0.1]),
        zeros: None,
    }
}

#[test]
fn codes_are_multiplied_by_the_scales_of_their_groups() {
    let found = |object: Quantized| floats(&open(object.object()));
    same(&found(quantized()), &[1.0, 2.0, 30.0, 40.0, 500.0, 600.0, 7.0 * 0.1, 1.5], "plain");
    let msb = found(Quantized { order: "msb_first", ..quantized() });
    same(&msb, &[2.0, 1.0, 40.0, 30.0, 600.0, 500.0, 1.5, 7.0 * 0.1], "msb_first");
    let rows = Quantized { axis: 0, scales: scales_of(&[1.0, 10.0, 100.0, 0.5]), ..quantized() };
    same(&found(rows), &[1.0, 20.0, 300.0, 2.0, 5.0, 60.0, 700.0, 7.5], "along the first axis");
    let of_axis = Quantized { axis: 0, group_size: 0, scales: scales_of(&[2.0, -1.0]), ..quantized() };
    same(&found(of_axis), &[2.0, 4.0, 6.0, 8.0, -5.0, -6.0, -7.0, -15.0], "one for each row");
    let of_axis = Quantized { group_size: 0, scales: scales_of(&[1.0, 2.0, 4.0, 8.0]), ..quantized() };
    same(&found(of_axis), &[1.0, 4.0, 12.0, 32.0, 5.0, 12.0, 28.0, 120.0], "one for each column");
    let scales = scales_of(&[1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 1.0, 0.5]);
    let of_codes = Quantized { group_size: 0, scales, ..quantized() };
    same(&found(of_codes), &[1.0, 4.0, 12.0, 32.0, 5.0, 6.0, 7.0, 7.5], "one for each code");
    let implied = |value| {
        let zero_point = map([("form", "implied".into()), ("value", value)]);
        found(Quantized { zero_point, ..quantized() })
    };
    same(&implied(8.into()), &[-7.0, -6.0, -50.0, -40.0, -300.0, -200.0, -0.1, 7.0 * 0.1], "implied");
    same(&implied(Cbor::Negative(0)), &[2.0, 3.0, 40.0, 50.0, 600.0, 700.0, 8.0 * 0.1, 1.6], "implied -1");
    // The difference is exact; the product is rounded once.
    let far = i64::MIN;
    let wanted = [1u64, 2].map(|code| (i128::from(code) - i128::from(far)) as f32);
    same(&implied(Cbor::Negative(i64::MAX as u64))[..2], &wanted, "implied -2^63");
    let zeros =
        |zeros: Part| found(Quantized { zero_point: tensor("plain"), zeros: Some(zeros), ..quantized() });
    let expected = [0.0, 1.0, 50.0, 60.0, 500.0, 600.0, -93.0 * 0.1, -85.0 * 0.1];
    same(&zeros(Part::new("zeros", "i8", [1, 0xfe, 0, 100])), &expected, "zeros");
    let half = bytes_of(&[0.5, 0.0, 1.0, 0.0f32], f32::to_le_bytes);
    let expected = [0.5, 1.5, 30.0, 40.0, 400.0, 500.0, 7.0 * 0.1, 1.5];
    same(&zeros(Part::new("zeros", "f32", half)), &expected, "zeros of f32");
    let packed = Part::new("zeros", "u8", [0x21, 0x43]);
    let packed = Quantized { zero_point: tensor("same_as_data"), zeros: Some(packed), ..quantized() };
    same(&found(packed), &[0.0, 1.0, 10.0, 20.0, 200.0, 300.0, 3.0 * 0.1, 11.0 * 0.1], "packed zeros");
    let exponents = Part::new("scales", "u8", [127, 128, 0, 255]).of_type("f8_e8m0");
    let small = 2f32.powi(-127);
    let expected = [1.0, 2.0, 6.0, 8.0, 5.0 * small, 6.0 * small, f32::NAN, f32::NAN];
    same(&found(Quantized { scales: exponents, ..quantized() }), &expected, "exponents");
}

#[test]
fn scales_of_f64_are_not_rounded_before_the_product_is() {
    let nudged = |x: f64, up: bool| f64::from_bits(if up { x.to_bits() + 1 } else { x.to_bits() - 1 });
    let mut differ = 0;
    for k in (1..400).step_by(2) {
        // A third of a number halfway between two f32.
        let scale = (1.0 + f64::from(k) * 2f64.powi(-24)) / 3.0;
        let (product, rest) = (scale * 3.0, scale.mul_add(3.0, -(scale * 3.0)));
        let exact = if rest == 0.0 { product } else { nudged(product, rest > 0.0) };
        differ += u32::from(exact as f32 != product as f32);
        let scales = bytes_of(&[scale; 4], f64::to_le_bytes);
        let object = Quantized { scales: Part::new("scales", "f64", scales), ..quantized() };
        let found = floats(&open(object.object()));
        assert_eq!(found[2], exact as f32, "{scale}");
        assert_eq!((found[0], found[1]), (scale as f32, (scale * 2.0) as f32));
    }
    assert!(differ > 10, "{differ}");
}

#[test]
fn random_groups_equal_the_formula_for_each_element() {
    let mut random = Random(11);
    let zero_dtypes = [("i8", 1), ("u8", 1), ("i32", 4), ("u64", 8), ("f16", 2), ("f32", 4)];
    for round in 0..600 {
        let word = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"][random.below(8) as usize];
        let bits = [2, 4, 8][random.below(3) as usize];
        let order = ["lsb_first", "msb_first"][random.below(2) as usize];
        let per = width(word) * 8 / bits;
        let rank = 1 + random.below(3) as usize;
        let mut shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(6)).collect();
        let axis = random.below(rank as u64) as usize;
        let group = 1 + random.below(5);
        shape[axis] *= group;
        shape[random.below(rank as u64) as usize] *= per; // complete words
        if round % 10 == 0 {
            shape[axis] *= 32;
        }
        let count: u64 = shape.iter().product();
        let mut grouped = shape.clone();
        grouped[axis] /= group;
        let scale_count: u64 = grouped.iter().product();
        let mut draw = |count: u64, below: u64| (0..count).map(|_| random.below(below)).collect::<Vec<u64>>();
        let codes = draw(count, 1 << bits);
        let kind = draw(1, 4)[0];
        let factors: Vec<f32> = draw(scale_count, 1 << 20).iter().map(|n| *n as f32 / 7.0 - 5e4).collect();
        let (scales, factors) = match kind {
            0 => (scales_of(&factors), factors),
            1 => {
                let halves: Vec<half::f16> = factors.iter().map(|x| half::f16::from_f32(x / 1e3)).collect();
                let bytes = bytes_of(&halves, half::f16::to_le_bytes);
                (Part::new("scales", "f16", bytes), halves.iter().map(|x| x.to_f32()).collect())
            }
            2 => {
                let halves: Vec<half::bf16> = factors.iter().map(|x| half::bf16::from_f32(*x)).collect();
                let bytes = bytes_of(&halves, half::bf16::to_le_bytes);
                (Part::new("scales", "bf16", bytes), halves.iter().map(|x| x.to_f32()).collect())
            }
            _ => {
                let exponents: Vec<u8> = factors.iter().map(|x| 100 + (x.to_bits() % 40) as u8).collect();
                let powers = exponents.iter().map(|e| 2f32.powi(i32::from(*e) - 127)).collect();
                (Part::new("scales", "u8", exponents).of_type("f8_e8m0"), powers)
            }
        };
        let form = draw(1, 4)[0];
        let zeros = draw(scale_count, 1 << bits);
        let (zero_point, part, zeros): (_, _, Vec<f32>) = match form {
            0 => (none(), None, vec![0.0; scale_count as usize]),
            1 => {
                let value = draw(1, 300)[0];
                let form = map([("form", "implied".into()), ("value", value.into())]);
                (form, None, vec![value as f32; scale_count as usize])
            }
            2 if scale_count % per == 0 => {
                let packed = pack(&zeros, bits, word, order == "msb_first");
                let zeros = zeros.iter().map(|zero| *zero as f32).collect();
                (tensor("same_as_data"), Some(Part::new("zeros", word, packed)), zeros)
            }
            _ => {
                let (dtype, size) = zero_dtypes[draw(1, 6)[0] as usize];
                let bytes = zeros.iter().flat_map(|zero| match dtype {
                    "f16" => half::f16::from_f32(*zero as f32 / 4.0).to_le_bytes().to_vec(),
                    "f32" => (*zero as f32 / 3.0).to_le_bytes().to_vec(),
                    _ => zero.to_le_bytes()[..size].to_vec(),
                });
                let wide = |zero: &u64| match dtype {
                    "f16" => *zero as f32 / 4.0,
                    "f32" => *zero as f32 / 3.0,
                    "i8" => f32::from(*zero as u8 as i8),
                    _ => *zero as f32,
                };
                let wide = zeros.iter().map(wide).collect();
                (tensor("plain"), Some(Part::new("zeros", dtype, bytes.collect::<Vec<u8>>())), wide)
            }
        };
        let expected: Vec<f32> = (0..count)
            .map(|flat| {
                let (mut rest, mut index) = (flat, vec![0; rank]);
                for dimension in (0..rank).rev() {
                    index[dimension] = rest % shape[dimension];
                    rest /= shape[dimension];
                }
                index[axis] /= group;
                let at =
                    index.iter().zip(&grouped).fold(0, |at, (index, length)| at * length + index) as usize;
                (codes[flat as usize] as f32 - zeros[at]) * factors[at]
            })
            .collect();
        let data = pack(&codes, bits, word, order == "msb_first");
        let what = format!("{shape:?} along {axis} by {group}: {bits} bits in {word}, {order}, zeros {form}");
        let axis = axis as u64;
        let object = Quantized {
            shape,
            axis,
            group_size: group,
            bits,
            word,
            order,
            zero_point,
            data,
            scales,
            zeros: part,
        };
        let file = open(object.object());
        same(&floats(&file), &expected, &what);
        let rounded = bytes_of(&expected, |x| half::bf16::from_f32(x).to_ne_bytes());
        assert_eq!(numbers(&file, Dtype::Bf16).unwrap(), rounded, "{what}");
    }
}

/// An object of `zt.mx/1` with blocks of 4.
fn mx(shape: &[u64], data: Part, scales: &[u8], axis: Option<u64>) -> Object {
    let scales = Part::new("scales", "u8", scales).of_type("f8_e8m0");
    let mut attributes = vec![("block_size", 4.into()), ("scale_form", "e8m0_exponent".into())];
    attributes.extend(axis.map(|axis| ("axis", axis.into())));
    Object::new("m", "zt.mx/1", shape, vec![data, scales]).with(Cbor::Map(attributes))
}

#[test]
fn small_floats_are_multiplied_by_the_powers_of_their_blocks() {
    let f4 = || Part::new("data", "u8", [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe]).of_type("f4_e2m1");
    let found = floats(&open(mx(&[2, 8], f4(), &[127, 128, 126, 255], None)));
    let mut expected = F4;
    expected[4..8].iter_mut().for_each(|x| *x *= 2.0);
    expected[8..12].iter_mut().for_each(|x| *x *= 0.5);
    expected[12..].fill(f32::NAN);
    same(&found, &expected, "f4");
    // Along the first axis: element (i, j) has the scale j.
    let found = floats(&open(mx(&[4, 4], f4(), &[0, 127, 254, 1], Some(0))));
    let powers = [2f32.powi(-127), 1.0, 2f32.powi(127), 2f32.powi(-126)];
    let expected: Vec<f32> = (0..16).map(|i| F4[i] * powers[i % 4]).collect();
    same(&found, &expected, "along the first axis");
    for (name, bits, bias) in [("f8_e4m3fn", 3, 7), ("f8_e5m2", 2, 15)] {
        let codes: Vec<u8> = (0..=255).collect();
        let scales: Vec<u8> = (0..64).map(|i| 127 - 40 + i).collect();
        let data = Part::new("data", "u8", codes.clone()).of_type(name);
        let found = floats(&open(mx(&[256], data, &scales, None)));
        let value = |code: u8| {
            let (exponent, mantissa) = (i32::from(code & 127) >> bits, i32::from(code) & ((1 << bits) - 1));
            let leading = if exponent == 0 { 0 } else { 1 << bits };
            let magnitude = f64::from(leading + mantissa) * 2f64.powi(exponent.max(1) - bias - bits);
            let magnitude = match (name, code & 127) {
                ("f8_e4m3fn", 127) => f64::NAN,
                ("f8_e5m2", 124) => f64::INFINITY,
                ("f8_e5m2", 125..) => f64::NAN,
                _ => magnitude,
            };
            if code > 127 {
                -magnitude
            } else {
                magnitude
            }
        };
        let expected: Vec<f32> = codes
            .iter()
            .map(|code| (value(*code) * 2f64.powi(i32::from(scales[usize::from(*code) / 4]) - 127)) as f32)
            .collect();
        same(&found, &expected, name);
    }
    // 3 blocks of 3: half of the last byte is not an element.
    let object = {
        let data = Part::new("data", "u8", [0x21, 0x43, 0x65, 0x07, 0x01]).of_type("f4_e2m1");
        let mut object = mx(&[3, 3], data, &[127, 128, 129], None);
        object.attributes = Some(map([("block_size", 3.into()), ("scale_form", "e8m0_exponent".into())]));
        object
    };
    same(&floats(&open(object)), &[0.5, 1.0, 1.5, 4.0, 6.0, 8.0, 24.0, 0.0, 2.0], "odd");
}

#[test]
fn groups_with_unknown_numbers_are_rejected() {
    let unsupported = |object: Object, to: Dtype, words: &[&str]| {
        let error = numbers(&open(object), to).unwrap_err();
        assert_eq!(error.cause(), Cause::Unsupported, "{error}");
        assert!(words.iter().all(|word| error.message().contains(word)), "{error}");
    };
    unsupported(quantized().object(), Dtype::I32, &["zt.quant_group/1", "i32"]);
    unsupported(mx(&[4], Part::new("data", "i8", [1; 4]), &[127], None), Dtype::F32, &["zt.mx/1", "i8"]);
    unsupported(
        Object::new("x", "x.y/1", &[4], vec![Part::new("data", "i8", [1; 4])]),
        Dtype::F32,
        &["x.y/1"],
    );
    let zeros = Part::new("zeros", "f32", [0; 32]).of_type("complex64");
    let complex = Quantized { zero_point: tensor("plain"), zeros: Some(zeros), ..quantized() };
    unsupported(complex.object(), Dtype::F32, &["complex64"]);
    let broken = |object: Quantized| {
        let error = numbers(&open(object.object()), Dtype::F32).unwrap_err();
        assert_eq!(error.rule_name(), c"LayoutRule", "{error}");
    };
    broken(Quantized { scales: scales_of(&[1.0; 3]), ..quantized() });
    broken(Quantized { data: vec![0; 3], ..quantized() });
    broken(Quantized { axis: 2, ..quantized() });
    broken(Quantized { zero_point: tensor("plain"), ..quantized() });
    // A quantized_group of 1.x can be read if a scheme defines its numbers.
    for (attributes, missing) in [
        (r#"{"axis":1,"bits":4,"group_size":8,"packing":"8_per_i32"}"#, "\"scheme\""),
        (r#"{"scheme":"of a later version"}"#, "of a later version"),
        (r#"{"scheme":"gptq","bits":4,"zero_offset":1}"#, "\"group_size\""),
        (r#"{"scheme":"mlx","bits":4,"group_size":8,"mode":"affine"}"#, "i32, which mlx does not have"),
        (r#"{"scheme":"awq","unreadable":"why it is so"}"#, "why it is so"),
    ] {
        let mut samples = common::every_format(Dtype::F16, None);
        samples.retain(|sample| sample.format == "quantized_group");
        samples[0].attributes = attributes;
        let file = common::open(common::file_of(&WriterOptions::default(), &samples));
        let error = numbers(&file, Dtype::F32).unwrap_err();
        assert!(error.message().contains(missing), "{error}");
    }
}

/// More than a thread decodes at once, also with compressed codes. Every lost number is counted, in every
/// thread.
#[test]
fn large_groups_are_decoded_in_ranges() {
    let mut random = Random(5);
    let (rows, columns) = (401u64, 1000);
    let codes: Vec<u64> = (0..rows * columns).map(|_| random.below(16)).collect();
    let scales: Vec<f32> = (0..rows * columns / 8).map(|at| 1.0 + at as f32 / 8.0).collect();
    let of = |zero_point| Quantized {
        shape: vec![rows, columns],
        group_size: 8,
        data: pack(&codes, 4, "u8", false),
        scales: scales_of(&scales),
        zero_point,
        ..quantized()
    };
    let expected: Vec<f32> = codes.iter().zip(0..).map(|(code, at)| *code as f32 * scales[at / 8]).collect();
    let raw = of(none()).object();
    let (mut compressed, length) = (of(none()), codes.len() as u64 / 2);
    let options = WriterOptions { version: Version::V2, digest: None, ..common::small_frames() };
    let plain = common::Sample::dense("codes", Dtype::U8, &[length], compressed.data);
    let file = common::open(common::file_of(&options, &[plain]));
    let stored = common::data(&file, "codes");
    compressed.data = vec![0; stored.stored_size() as usize];
    stored.read_stored(&mut compressed.data).unwrap();
    let mut compressed = compressed.object();
    let data = compressed.parts.iter_mut().find(|part| part.role == "data").unwrap();
    *data = data.clone().seekable(length);
    for object in [raw, compressed] {
        let file = open(object);
        same(&floats(&file), &expected, "large");
        let object = file.objects().next().unwrap();
        let lost = expected.iter().filter(|number| number.abs() >= 65520.0).count();
        assert!(lost > 1000);
        let lost_in_all = lost;
        for threads in [1, 3] {
            let options = BatchOptions { threads, chunk_size: 1 << 16, ..BatchOptions::default() };
            let whole = read_by(&options, &object, &Selected::Whole, Dtype::F16, 2 * expected.len());
            let error = whole.unwrap_err();
            assert_eq!(error.cause(), Cause::Limit);
            assert!(error.message().contains(&format!(" {lost} finite numbers")), "{error}");
            // Only numbers that are read count: the last row loses numbers, the rows before it do not.
            let some = Selected::Rows { first: 3, rows: 2, stride: 399 - 3 };
            let wanted = [3, 399].map(|row| &expected[row * 1000..][..1000]).concat();
            let lost = wanted.iter().filter(|number| number.abs() >= 65520.0).count();
            let found = read_by(&options, &object, &some, Dtype::F16, 4000).unwrap_err();
            assert!(lost > 0 && found.message().contains(&format!(" {lost} finite number")), "{found}");
            let some = Selected::Slab(Hyperslab { start: &[3, 0], count: &[2, 1], step: Some(&[390, 1]) });
            assert!(expected[3000] < 65520.0 && expected[393_000] < 65520.0);
            assert_eq!(read_by(&options, &object, &some, Dtype::F16, 4).unwrap().len(), 4);
            let all = BatchOptions { keep_going: true, chunk_size: 4096, ..options };
            let error = read_by(&all, &object, &Selected::Whole, Dtype::F16, 2 * expected.len()).unwrap_err();
            assert!(error.message().contains(&format!(" {lost_in_all} finite numbers")), "{error}");
            // Each number that is read counts once, even if several jobs read it.
            let mut memory = vec![0; 4 * expected.len()];
            let wanted = Wanted { convert: Some(Dtype::F32), ..Wanted::default() };
            let mut request = object.request_as(&Selected::Whole, wanted, &mut memory).unwrap();
            let (one, mut stats) = (std::slice::from_mut(&mut request), BatchStats::default());
            File::read_batch(one, &options, &|_, _| {}, &|_, _| true, &mut stats).unwrap();
            assert_eq!(stats.stored_bytes, object.components().map(|c| c.stored_size()).sum::<u64>());
        }
    }
}
