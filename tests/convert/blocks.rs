//! Objects of blocks, written unchanged, and made from floats by a copy.

use crate::common;

use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Format, Version};
use ztensor::model::value::Value;
use ztensor::reader::{File, Object};
use ztensor::writer::{
    Algorithm, ComponentSpec, DenseSpec, LogicalSpec, ObjectSpec, Recode, Writer, WriterOptions,
};

const QUANTIZED: [Logical; 9] = [
    Logical::Q8_0,
    Logical::Q4_0,
    Logical::Q4_1,
    Logical::Q5_0,
    Logical::Q5_1,
    Logical::Iq4Nl,
    Logical::Mxfp4,
    Logical::Tq1_0,
    Logical::Tq2_0,
];
/// Block types that the text of zTensor 2 does not list.
const ONLY_IN_1_2: [Logical; 5] =
    [Logical::Tq1_0, Logical::Tq2_0, Logical::Nvfp4, Logical::Q1_0, Logical::Q2_0];

fn options(version: Version) -> WriterOptions {
    WriterOptions { version, ..WriterOptions::default() }
}

fn to(blocks: Logical) -> Recode {
    Recode { blocks: Some(blocks), ..Recode::default() }
}

/// Checks that an object consists of these blocks, declares them, and has a correct digest.
fn check_object(object: &Object<'_>, blocks: Logical, shape: &[u64]) {
    assert_eq!((object.format(), object.shape()), (Format::Blocks(blocks), shape), "{}", object.name());
    let number = |key| object.attributes().and_then(|all| all.get(key)).and_then(Value::as_u64);
    let block = blocks.block();
    assert_eq!(number("elems_per_block"), Some(block.elements));
    assert_eq!(number("block_bytes"), Some(block.bytes));
    let data = object.component("data").unwrap();
    assert_eq!((data.dtype(), data.known_logical()), (Some(Dtype::U8), Some(blocks)));
    assert!(data.digest().is_some());
    data.verify_digest().unwrap();
}

/// Rejected calls write nothing.
fn refused(version: Version, body: impl FnOnce(&mut Writer) -> Result<(), Error>) -> Error {
    let sink = common::MemorySink::default();
    let mut writer = Writer::to_sink(Box::new(sink.clone()), &options(version)).unwrap();
    let before = sink.0.lock().unwrap().len();
    let error = body(&mut writer).unwrap_err();
    assert_eq!(sink.0.lock().unwrap().len(), before);
    writer.write_dense(&DenseSpec::new("next", Dtype::U8, &[1], &[1])).unwrap();
    writer.finish().unwrap();
    error
}

#[test]
fn dense_objects_of_blocks_are_written_as_they_are() {
    let all: Vec<Logical> = Logical::ALL.into_iter().filter(|logical| logical.is_block_type()).collect();
    assert_eq!(all.len(), 27);
    for version in [Version::V1_1, Version::V1_2, Version::V2] {
        for encoding in [Encoding::Raw, Encoding::Zstd] {
            let is_written = |blocks: &Logical| version != Version::V2 || !ONLY_IN_1_2.contains(blocks);
            let written: Vec<Logical> = all.iter().copied().filter(is_written).collect();
            let shapes: Vec<[u64; 2]> =
                written.iter().map(|blocks| [3, 2 * blocks.block().elements]).collect();
            let bytes: Vec<Vec<u8>> = written
                .iter()
                .map(|blocks| common::compressible(6 * blocks.block().bytes as usize))
                .collect();
            let specs: Vec<DenseSpec<'_>> = (written.iter().zip(&shapes).zip(&bytes))
                .map(|((blocks, shape), bytes)| DenseSpec {
                    logical: Some(*blocks),
                    encoding: Some(encoding),
                    ..DenseSpec::new(blocks.name(), Dtype::U8, shape, bytes)
                })
                .collect();
            let one_by_one = common::written(&options(version), |w| {
                specs.iter().for_each(|spec| w.write_dense(spec).unwrap());
            });
            let together = common::written(&options(version), |w| w.write_batch(&specs).unwrap());
            for file in [one_by_one, together].map(common::open) {
                common::verify(&file).unwrap();
                assert_eq!(file.object_count(), written.len());
                for spec in &specs {
                    let object = file.find(spec.name).unwrap();
                    check_object(&object, spec.logical.unwrap(), spec.shape);
                    assert_eq!(common::read(&object.component("data").unwrap()), spec.data);
                }
            }
        }
    }
}

#[test]
fn blocks_that_do_not_fit_their_object_are_refused() {
    let q8 = |w: &mut Writer, dtype, shape: &[u64], size: usize| {
        let bytes = vec![0; size];
        w.write_dense(&DenseSpec {
            logical: Some(Logical::Q8_0),
            ..DenseSpec::new("w", dtype, shape, &bytes)
        })
    };
    for version in [Version::V1_2, Version::V2] {
        let error = refused(version, |w| q8(w, Dtype::U8, &[2, 32], 67));
        assert_eq!(error.cause(), Cause::BufferSize);
        assert!(error.message().contains("it takes 68 bytes, but 67 were given"), "{error}");
        let error = refused(version, |w| q8(w, Dtype::U8, &[2, 48], 102));
        assert_eq!(error.cause(), Cause::InvalidArgument);
        let why =
            "object \"w\": component \"data\": its rows have 48 elements, which are not whole blocks of 32";
        assert!(error.message().contains(why), "{error}");
        let error = refused(version, |w| q8(w, Dtype::F32, &[1, 32], 34));
        assert_eq!(error.cause(), Cause::InvalidArgument);
        assert!(error.message().contains("needs the dtype \"u8\""), "{error}");
    }
    for blocks in ONLY_IN_1_2 {
        let (size, elements) = (blocks.block().bytes as usize, blocks.block().elements);
        let error = refused(Version::V2, |w| {
            let (shape, bytes) = ([elements], vec![0; size]);
            w.write_dense(&DenseSpec {
                logical: Some(blocks),
                ..DenseSpec::new("w", Dtype::U8, &shape, &bytes)
            })
        });
        assert_eq!(error.cause(), Cause::Unsupported);
        let why = format!("its specification does not list the layout \"{}/1\"", blocks.name());
        assert!(error.message().contains(&why), "{error}");
    }
    let error = refused(Version::V0_1, |w| q8(w, Dtype::U8, &[32], 34));
    assert_eq!(error.cause(), Cause::Unsupported);
    // The type alone does not make an object one of blocks.
    common::written(&WriterOptions::default(), |w| {
        w.begin(&ObjectSpec { name: "w", format: "acme.x/1", shape: &[32] }, Default::default()).unwrap();
        let logical = Some(LogicalSpec::Known(Logical::Q8_0));
        let spec = ComponentSpec { logical, ..ComponentSpec::new("data", Dtype::U8) };
        let error = w.component(&spec).unwrap_err();
        assert!(error.message().contains("its objects have the format \"gguf.q8_0/1\""), "{error}");
        w.end().unwrap();
    });
}

/// Numbers of a model, also as floats of each dtype.
fn floats() -> (Vec<f32>, File) {
    let mut random = common::Random(40);
    let numbers: Vec<f32> = (0..6 * 512).map(|_| (random.below(4001) as f32 - 2000.0) / 1024.0).collect();
    let f32_bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let source = common::open(common::written(&WriterOptions::default(), |w| {
        w.write_dense(&DenseSpec::new("f32", Dtype::F32, &[2, 3, 512], &f32_bytes)).unwrap();
        w.write_dense(&DenseSpec::new("ids", Dtype::I32, &[2, 3, 512], &f32_bytes)).unwrap();
    }));
    let recodes = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
    let file = common::open(common::written(&WriterOptions::default(), |w| {
        for floats in recodes {
            let recode = Recode { floats: Some(floats), ..Recode::default() };
            w.copy_as(source.find("f32").unwrap(), floats.name(), &recode).unwrap();
            let zstd = Recode { encoding: Some(Encoding::Zstd), ..recode };
            w.copy_as(source.find("f32").unwrap(), &format!("{}.zstd", floats.name()), &zstd).unwrap();
        }
        w.copy(source.find("ids").unwrap(), "ids").unwrap();
    }));
    (numbers, file)
}

/// 8-bit floats in shared bytes, which each type decodes differently.
#[test]
fn floats_of_8_bits_are_converted_by_their_own_type() {
    let bytes: Vec<u8> = (0..512u32).map(|at| (at % 0x70) as u8 | ((at / 0x70) << 7) as u8).collect();
    let types = [("e4m3", Logical::F8E4m3fn), ("e5m2", Logical::F8E5m2)];
    let sample = |(name, logical): (&str, Logical)| {
        let mut sample = common::Sample::dense(name, Dtype::U8, &[2, 256], bytes.clone());
        sample.parts[0].logical = Some(logical);
        sample
    };
    let canonical = WriterOptions { canonical: true, ..options(Version::V2) };
    let both = common::open(common::file_of(&canonical, &types.map(sample)));
    let offset = |name: &str| common::data(&both, name).offset();
    assert_eq!(offset("e4m3"), offset("e5m2"), "both types share their bytes");
    for recode in
        [to(Logical::Q8_0), to(Logical::Tq2_0), Recode { floats: Some(Dtype::F32), ..Recode::default() }]
    {
        let copy = |from: &File| {
            common::open(common::written(&options(Version::V1_2), |w| {
                from.objects().for_each(|object| w.copy_as(object, object.name(), &recode).unwrap());
            }))
        };
        let copied = copy(&both);
        common::verify(&copied).unwrap();
        for one in types {
            let alone = copy(&common::open(common::file_of(&canonical, &[sample(one)])));
            let [found, expected] = [&copied, &alone].map(|file| common::read(&common::data(file, one.0)));
            assert_eq!(found, expected, "{}", one.0);
        }
    }
}

#[test]
fn a_copy_quantizes_only_floats() {
    let (numbers, file) = floats();
    let largest = numbers.iter().fold(0f32, |most, x| most.max(x.abs()));
    for version in [Version::V1_1, Version::V1_2, Version::V2] {
        for blocks in QUANTIZED.into_iter().filter(|b| version != Version::V2 || !ONLY_IN_1_2.contains(b)) {
            let made = common::open(common::written(&options(version), |w| {
                for object in file.objects() {
                    w.copy_as(object, object.name(), &to(blocks)).unwrap();
                }
            }));
            common::verify(&made).unwrap();
            for object in file.objects() {
                let (old, new) = (object.component("data").unwrap(), made.find(object.name()).unwrap());
                if object.name() == "ids" {
                    assert_eq!(new.format(), Format::Dense);
                    assert_eq!(common::read(&new.component("data").unwrap()), common::read(&old));
                    continue;
                }
                check_object(&new, blocks, object.shape());
                let data = new.component("data").unwrap();
                let is_zstd = object.name().ends_with(".zstd");
                assert_eq!(data.encoding() != Encoding::Raw, is_zstd, "{}", object.name());
                // The blocks are those that the component gives, and are near the numbers.
                let mut expected = Vec::new();
                let mut body = |piece: &[u8]| {
                    expected.extend_from_slice(piece);
                    Ok(())
                };
                old.for_each_quantized(blocks, &mut body).unwrap();
                assert_eq!(common::read(&data), expected);
                let exact = made.find("f32").unwrap().component("data").unwrap();
                let is_same = common::read(&exact) == common::read(&data);
                assert!(is_same || object.name().contains("f16"), "{}", object.name());
                let mut memory = vec![0; numbers.len() * 4];
                new.read_as(Dtype::F32, &mut memory).unwrap();
                let back = memory.chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap()));
                let worst = back.zip(&numbers).fold(0f32, |most, (y, x)| most.max((y - x).abs()));
                assert!(worst <= largest * 0.51, "{} {worst}", blocks.name());
            }
        }
    }
}

#[test]
fn tied_weights_stay_tied_for_each_type() {
    let (_, file) = floats();
    let object = file.find("f32").unwrap();
    let made = common::open(common::written(&WriterOptions::default(), |w| {
        for (name, blocks) in
            [("a", Logical::Q4_0), ("b", Logical::Q4_0), ("c", Logical::Iq4Nl), ("d", Logical::Iq4Nl)]
        {
            w.copy_as(object, name, &to(blocks)).unwrap();
        }
    }));
    let place = |name| common::data(&made, name).offset();
    assert_eq!((place("a"), place("c")), (place("b"), place("d")));
    assert_ne!(place("a"), place("c"));
    check_object(&made.find("d").unwrap(), Logical::Iq4Nl, object.shape());
}

#[test]
fn encoding_digest_and_canonical_form_are_as_for_other_objects() {
    let (_, file) = floats();
    let object = file.find("bf16").unwrap();
    let recode =
        Recode { encoding: Some(Encoding::Zstd), digest: Some(Some(Algorithm::Sha256)), ..to(Logical::Q8_0) };
    let made = common::open(common::written(&WriterOptions::default(), |w| {
        w.copy_as(object, "w", &recode).unwrap();
    }));
    let data = common::data(&made, "w");
    assert_eq!(data.encoding(), Encoding::Zstd);
    assert!(data.digest().unwrap().starts_with("sha256:"));
    common::verify(&made).unwrap();
    let canonical = WriterOptions { canonical: true, ..options(Version::V2) };
    let bytes = common::written(&canonical, |w| {
        w.copy_as(object, "a", &to(Logical::Q8_0)).unwrap();
        w.copy_as(object, "b", &to(Logical::Q8_0)).unwrap();
    });
    let made = common::open(bytes);
    common::verify(&made).unwrap();
    assert_eq!(common::data(&made, "a").offset(), common::data(&made, "b").offset());
}

#[test]
fn tensors_that_cannot_be_quantized_are_rejected_with_name_and_numbers() {
    let (_, file) = floats();
    let object = file.find("f32").unwrap();
    for blocks in Logical::ALL.into_iter().filter(|logical| !QUANTIZED.contains(logical)) {
        let error = refused(Version::V1_2, |w| w.copy_as(object, "w", &to(blocks)));
        assert_eq!(error.cause(), Cause::Unsupported);
        assert!(
            error.message().contains("llama-quantize") && error.message().contains(blocks.name()),
            "{error}"
        );
    }
    let both = Recode { floats: Some(Dtype::F16), ..to(Logical::Q8_0) };
    assert_eq!(refused(Version::V1_2, |w| w.copy_as(object, "w", &both)).cause(), Cause::InvalidArgument);
    for blocks in [Logical::Tq1_0, Logical::Tq2_0] {
        let error = refused(Version::V2, |w| w.copy_as(object, "w", &to(blocks)));
        assert_eq!(error.cause(), Cause::Unsupported);
        assert!(error.message().contains("does not list the layout"), "{error}");
    }

    let mut odd = vec![1f32; 4 * 2048 + 1024];
    let mut with = |at: usize, number: f64, blocks: Logical| {
        let before = odd[at];
        odd[at] = number as f32;
        let bytes: Vec<u8> = odd.iter().flat_map(|x| x.to_ne_bytes()).collect();
        odd[at] = before;
        let file = common::open(common::written(&WriterOptions::default(), |w| {
            w.write_dense(&DenseSpec::new("layer.weight", Dtype::F32, &[36, 256], &bytes)).unwrap();
        }));
        let error =
            refused(Version::V1_2, |w| w.copy_as(file.find("layer.weight").unwrap(), "w", &to(blocks)));
        assert_eq!(error.cause(), Cause::Limit);
        assert!(error.message().contains("object \"layer.weight\": component \"data\": "), "{error}");
        error.message().to_owned()
    };
    for blocks in QUANTIZED {
        for at in [0, 2047, 2048, 9215] {
            let message = with(at, f64::NAN, blocks);
            assert!(message.contains(&format!("element {at} is NaN")), "{message}");
        }
        let message = with(5000, f64::INFINITY, blocks);
        assert!(message.contains("element 5000 is infinite"), "{message}");
        if blocks != Logical::Mxfp4 {
            let message = with(5000, 1e30, blocks);
            let elements = blocks.block().elements;
            let first = 5000 / elements * elements;
            let why = format!("the scale of elements {first} to {} in a block", first + elements - 1);
            assert!(message.contains(&why) && message.contains("65504"), "{message}");
        }
    }

    let bytes = 1e300f64.to_ne_bytes().repeat(32);
    let file = common::open(common::written(&WriterOptions::default(), |w| {
        w.write_dense(&DenseSpec::new("large", Dtype::F64, &[32], &bytes)).unwrap();
        w.write_dense(&DenseSpec::new("rows", Dtype::F32, &[2, 48], &[0; 384])).unwrap();
        w.write_dense(&DenseSpec::new("one", Dtype::F32, &[], &[0; 4])).unwrap();
        w.write_dense(&DenseSpec::new("none", Dtype::F32, &[0, 32], &[])).unwrap();
    }));
    let error =
        |name| refused(Version::V1_2, |w| w.copy_as(file.find(name).unwrap(), "w", &to(Logical::Q4_0)));
    assert!(error("large").message().contains("element 0 is infinite as f32"));
    let rows = error("rows");
    assert_eq!(rows.cause(), Cause::InvalidArgument);
    assert!(rows.message().contains("object \"rows\""), "{rows}");
    assert!(rows.message().contains("rows have 48 elements, which are not whole blocks of 32"), "{rows}");
    assert!(error("one").message().contains("rows have 1 elements"));
    let made = common::open(common::written(&WriterOptions::default(), |w| {
        w.copy_as(file.find("none").unwrap(), "none", &to(Logical::Q4_0)).unwrap();
    }));
    check_object(&made.find("none").unwrap(), Logical::Q4_0, &[0, 32]);
    common::verify(&made).unwrap();
}

/// A copy turns quantized objects into dense floats. They keep their encoding and kind of digest. Tied
/// objects share their bytes. Other objects do not change.
#[test]
fn a_copy_to_floats_makes_quantized_objects_dense() {
    let (numbers, _) = floats();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let source = common::open(common::written(&WriterOptions::default(), |w| {
        let object = ObjectSpec { name: "one", format: "dense", shape: &[6, 512] };
        let part = (ComponentSpec::new("data", Dtype::F32), &bytes[..]);
        w.write_object(&object, common::pairs(r#"{"note": "mine", "axis": 7}"#), &[part]).unwrap();
    }));
    let digest = Some(Some(Algorithm::Sha256));
    let recode = Recode { encoding: Some(Encoding::Zstd), digest, ..to(Logical::Q8_0) };
    let quantized = common::open(common::written(&options(Version::V1_2), |w| {
        ["one", "two"].iter().for_each(|name| w.copy_as(source.find("one").unwrap(), name, &recode).unwrap());
    }));
    for to in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64] {
        let recode = Recode { floats: Some(to), ..Recode::default() };
        let dense = common::open(common::written(&WriterOptions::default(), |w| {
            quantized.objects().for_each(|object| w.copy_as(object, object.name(), &recode).unwrap());
        }));
        common::verify(&dense).unwrap();
        for object in quantized.objects() {
            let (made, mut numbers) = (dense.find(object.name()).unwrap(), Vec::new());
            object
                .for_each_number(to, false, &mut |bytes| {
                    numbers.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            let data = made.component("data").unwrap();
            assert_eq!(
                (made.format(), made.shape(), data.dtype()),
                (Format::Dense, object.shape(), Some(to))
            );
            assert_eq!((data.encoding(), common::read(&data)), (Encoding::Zstd, numbers));
            assert!(data.digest().unwrap().starts_with("sha256:"));
        }
        let [one, two] = ["one", "two"].map(|name| dense.find(name).unwrap());
        assert_eq!(one.component("data").unwrap().offset(), two.component("data").unwrap().offset());
        let keys: Vec<_> = one.attributes().unwrap().pairs().filter_map(|(key, _)| key.as_text()).collect();
        assert_eq!(keys, ["note", "axis"]);
    }
}
