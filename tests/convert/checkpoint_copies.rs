//! Copies of weights that tools stored as several tensors: they read to the same numbers, and become the same
//! tensors again, also as the layouts of zTensor 2.

use crate::checkpoints::{bits, check, combined, floats, models, name_of, wanted};
use crate::common;

use common::Folder;
use std::collections::BTreeSet;
use std::path::Path;
use ztensor::container::json;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Attributes;
use ztensor::reader::{File, Object, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, Recode, Writer, WriterOptions};

/// Copies to .zt keep the tensors and decode to the same numbers, also without `config.json`.
#[test]
fn a_copy_reads_to_the_same_numbers_and_knows_its_tensors() {
    let (wanted, folder) = (wanted(), Folder::new());
    for model in models() {
        let source = File::open_model(&model, &combined()).unwrap();
        let path = folder.path(&format!("{}.zt", name_of(&model)));
        assert_eq!(copied(&source, &path, Version::V1_2, None), []);
        let copy = File::open(&path, &OpenOptions::default()).unwrap();
        check(&copy, name_of(&model), wanted.get());
        assert_is_made_of(&copy, &model);
    }
}

/// zTensor 2 has layouts for some of the schemes. A copy says why it cannot have the others.
#[test]
fn a_copy_in_ztensor_2_reads_to_the_same_numbers_or_is_refused() {
    let (folder, mut formats) = (Folder::new(), BTreeSet::new());
    for model in models() {
        let source = File::open_model(&model, &combined()).unwrap();
        let [one, two, again] = ["1", "2", "again"].map(|name| folder.path(name));
        copied(&source, &one, Version::V1_2, None);
        let first_copy = File::open(&one, &OpenOptions::default()).unwrap();
        for (from, encoding) in [(&source, None), (&first_copy, Some(Encoding::Zstd))] {
            let refused = copied(from, &two, Version::V2, encoding);
            let strict = OpenOptions { strict: true, ..OpenOptions::default() };
            let copy = File::open(&two, &strict).unwrap();
            assert_is_made_of(&copy, &model);
            copy.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default()).unwrap();
            for object in source.objects().filter(|object| object.scheme().is_some()) {
                let scheme = object.scheme().unwrap();
                let Some(copied) = copy.find(object.name()) else {
                    let (_, why) = refused.iter().find(|(name, _)| name == object.name()).unwrap();
                    assert!(why.contains(scheme) && why.contains("write zTensor 1.2"), "{why}");
                    continue;
                };
                assert_eq!(copied.scheme(), Some(scheme));
                assert!(bits(&object) == bits(&copied), "{model:?} {}", object.name());
                formats.insert((scheme.to_owned(), copied.format_name().to_owned()));
            }
        }
        // Copies of the copy read to the same numbers, too, in either version.
        let copy = File::open(&two, &OpenOptions::default()).unwrap();
        for version in [Version::V2, Version::V1_2] {
            assert_eq!(copied(&copy, &again, version, None), []);
            let again = File::open(&again, &OpenOptions::default()).unwrap();
            assert_is_made_of(&again, &model);
            let back = folder.path("back");
            assert_eq!(copied(&again, &back, Version::V2, None), []);
            assert_is_made_of(&File::open(&back, &OpenOptions::default()).unwrap(), &model);
            for (object, again) in copy.objects().zip(again.objects()) {
                assert_eq!((object.name(), object.scheme()), (again.name(), again.scheme()));
                assert!(bits(&object) == bits(&again), "{model:?} {}", object.name());
                let is_like_first = |found: Object<'_>| found.format_name() == again.format_name();
                assert!(version == Version::V2 || first_copy.find(object.name()).is_some_and(is_like_first));
            }
        }
    }
    let formats: Vec<_> = formats.iter().map(|(scheme, format)| (scheme.as_str(), format.as_str())).collect();
    assert_eq!(
        formats,
        [
            ("fp4_scale", "zt.mx/1"),
            ("mlx", "zt.mx/1"),
            ("mxfp4_blocks", "zt.mx/1"),
            ("mxfp4_pack_quantized", "zt.mx/1"),
            ("pack_quantized", "zt.quant_group/1"),
        ]
    );
}

/// Copies all objects that can be. Returns the names of the others, and why.
fn copied(source: &File, path: &Path, version: Version, encoding: Option<Encoding>) -> Vec<(String, String)> {
    let _ = std::fs::remove_file(path);
    let options = WriterOptions { version, ..WriterOptions::default() };
    let mut writer = Writer::create(path, &options).unwrap();
    let (recode, mut refused) = (Recode { encoding, ..Recode::default() }, Vec::new());
    for object in source.objects() {
        if let Err(why) = writer.copy_as(object, object.name(), &recode) {
            refused.push((object.name().to_owned(), why.message().to_owned()));
        }
    }
    writer.finish().unwrap();
    refused
}

/// The tensors of its weights are those of a model.
fn assert_is_made_of(copy: &File, model: &Path) {
    let plain = File::open_model(model, &OpenOptions::default()).unwrap();
    let together = File::open_model(model, &combined()).unwrap();
    for object in copy.objects().filter(|object| object.scheme().is_some()) {
        let tensors = object.stored_tensors(object.name_bytes()).unwrap().unwrap();
        let names: BTreeSet<_> = tensors.iter().map(|tensor| &tensor.name).collect();
        assert_eq!(names.len(), together.required(object.name_bytes()).unwrap().components().len());
        for tensor in tensors {
            let original = plain.required(&tensor.name).unwrap();
            assert_eq!(tensor.shape, original.shape(), "{model:?}");
            let data = original.component("data").unwrap();
            assert_eq!((tensor.dtype, tensor.logical), (data.dtype(), data.known_logical()));
            let mut bytes = Vec::new();
            let read = tensor.for_each_decoded(&mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            read.unwrap();
            assert!(bytes == common::read(&data), "{model:?}");
        }
    }
}

/// A file may claim any types for the tensors that a weight was. A copy can still be opened.
#[test]
fn claimed_types_do_not_spoil_a_copy() {
    let folder = Folder::new();
    let [two, one] = ["two.zt", "one.zt"].map(|name| folder.path(name));
    for (codes, scales, format) in [
        ("u8", "u8", "quantized_group"),
        ("f64", "f8_e8m0", "quantized_group"), // of 16 bytes, but no scheme has such codes
        ("u8", "u16", "zt.mx/1"),
        ("u8", "nothing", "zt.mx/1"),
    ] {
        let text = format!(
            r#"{{"block_size": 32, "scale_form": "e8m0_exponent", "scheme": "mlx", "bits": 4,
                "group_size": 32, "mode": "mxfp4",
                "types": {{"packed_weight": "{codes}", "scales": "{scales}"}}}}"#
        );
        let given = json::parse(&text).unwrap();
        let mut attributes = Attributes::default();
        attributes.extend(given.get()).unwrap();
        let known = |logical| Some(LogicalSpec::Known(logical));
        let data = ComponentSpec { logical: known(Logical::F4E2m1), ..ComponentSpec::new("data", Dtype::U8) };
        let of = ComponentSpec { logical: known(Logical::F8E8m0), ..ComponentSpec::new("scales", Dtype::U8) };
        let options = WriterOptions { version: Version::V2, ..WriterOptions::default() };
        let _ = std::fs::remove_file(&two);
        let mut writer = Writer::create(&two, &options).unwrap();
        let spec = ObjectSpec { name: "a.weight", format: "zt.mx/1", shape: &[1, 32] };
        writer.write_object(&spec, attributes, &[(data, &[0x21; 16]), (of, &[127])]).unwrap();
        writer.finish().unwrap();
        let file = File::open(&two, &OpenOptions::default()).unwrap();
        assert_eq!(copied(&file, &one, Version::V1_2, None), []);
        let copy = File::open(&one, &OpenOptions::default()).unwrap();
        let object = copy.objects().next().unwrap();
        assert_eq!(object.format_name(), format, "{codes} {scales}");
        assert!(object.check_weight().is_err() || format == "zt.mx/1");
        assert!(floats(&object).is_err(), "u32 is the type that mlx has");
    }
}
