//! Writes codes with scales as `zt.quant_group/1`. A view returns what was written. Options that the layout
//! cannot store are rejected by name.

use crate::common;

use common::ztensor_2::groups_of_codes;
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Version;
use ztensor::reader::{OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{ComponentSpec, Grouping, LogicalSpec, QuantizedSpec, Writer, WriterOptions};

fn options() -> WriterOptions {
    WriterOptions { version: Version::V2, usual_digest: true, ..WriterOptions::default() }
}

#[test]
fn a_view_equals_the_written_object() {
    for canonical in [false, true] {
        let specs = groups_of_codes();
        let bytes = common::written(&WriterOptions { canonical, ..options() }, |w| {
            specs.iter().for_each(|spec| w.write_quantized(spec).unwrap());
        });
        let strict = OpenOptions { strict: true, ..OpenOptions::default() };
        let file = ztensor::reader::File::open_memory(bytes, &strict).unwrap();
        file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default()).unwrap();
        for spec in &specs {
            let object = file.find(spec.name).unwrap();
            assert_eq!(object.format_name(), "zt.quant_group/1");
            let view = object.quantized_view().unwrap();
            assert_eq!(view.shape, spec.shape);
            assert_eq!((view.bits, view.group_size), (spec.bits, spec.group_size), "{}", spec.name);
            let (groups, said) = (view.groups.unwrap(), spec.grouping.unwrap());
            let read = Grouping {
                axis: groups.axis,
                zero_point: groups.zero_point.unwrap(),
                is_msb_first: groups.is_msb_first,
                zeros_packed: groups.zeros_packed,
            };
            assert_eq!(read, said, "{}", spec.name);
            let width = spec.packed_weight.0.dtype.size() as u64 * 8;
            assert_eq!(view.weights_per_element, Some(width / spec.bits.unwrap()));
            assert_eq!(view.packed_weight.bytes(), spec.packed_weight.1);
            assert_eq!(view.scales.bytes(), spec.scales.1);
            assert_eq!(view.zeros.as_ref().map(|z| z.bytes()), spec.zeros.map(|(_, bytes)| bytes));
        }
    }
}

fn refusal(version: Version, spec: &QuantizedSpec<'_>) -> Error {
    let mut error = None;
    let bytes = common::written(&WriterOptions { version, ..options() }, |w: &mut Writer| {
        error = w.write_quantized(spec).err();
    });
    assert_eq!(common::open(bytes).object_count(), 0, "{error:?}");
    error.unwrap_or_else(|| panic!("{spec:?} is written"))
}

#[test]
fn options_that_the_layout_cannot_store_are_rejected_by_name() {
    let sound = groups_of_codes().into_iter().find(|spec| spec.name == "symmetric").unwrap();
    let grouping = Grouping { axis: 1, ..Grouping::default() };
    let scales = |dtype, logical: Option<Logical>, bytes: &'static [u8]| {
        let logical = logical.map(LogicalSpec::Known);
        (ComponentSpec { logical, ..ComponentSpec::new("scales", dtype) }, bytes)
    };
    let zeros = Some((ComponentSpec::new("zeros", Dtype::U8), &[8u8; 8][..]));
    let along = |grouping| QuantizedSpec { grouping: Some(grouping), ..sound };
    let codes = |dtype| QuantizedSpec {
        packed_weight: (ComponentSpec::new("packed_weight", dtype), &[0x5a; 128]),
        ..sound
    };
    for (spec, what) in [
        (QuantizedSpec { grouping: None, ..sound }, "has_axis"),
        (QuantizedSpec { bits: None, ..sound }, "how many bits"),
        (QuantizedSpec { bits: Some(3), ..sound }, "codes of 3 bits"),
        (QuantizedSpec { bits: Some(1), ..sound }, "codes of 1 bits"),
        (QuantizedSpec { group_size: None, ..sound }, "without a group size"),
        (codes(Dtype::F32), "packed in f32"),
        (
            QuantizedSpec { packing: Some("4_per_i32"), ..sound },
            "\"4_per_i32\" does not match 8 codes in each u32",
        ),
        (QuantizedSpec { packing: Some("8_per_i64"), ..sound }, "\"8_per_i64\""),
        (QuantizedSpec { packing: Some("dense"), ..sound }, "\"dense\""),
        (QuantizedSpec { scales: scales(Dtype::F64, None, &[1; 64]), ..sound }, "scales are of f64"),
        (QuantizedSpec { scales: scales(Dtype::U8, None, &[1; 8]), ..sound }, "scales are of u8"),
        (
            QuantizedSpec { scales: scales(Dtype::U8, Some(Logical::F8E4m3fn), &[1; 8]), ..sound },
            "scales are of u8 with a type",
        ),
        (
            QuantizedSpec { zeros, grouping: Some(Grouping { zero_point: 8, ..grouping }), ..sound },
            "a zero point of 8 for all codes as well",
        ),
        (along(Grouping { zeros_packed: true, ..grouping }), "zeros are packed, but it has no zeros"),
        (along(Grouping { axis: 2, ..grouping }), "axis 2"),
        (QuantizedSpec { group_size: Some(48), ..sound }, "48"),
        (QuantizedSpec { scales: scales(Dtype::F16, None, &[1; 18]), ..sound }, "\"scales\" has 18 bytes"),
    ] {
        let error = refusal(Version::V2, &spec);
        assert_eq!(error.cause(), Cause::Unsupported, "{error}");
        assert_eq!(error.rule_name(), c"LayoutRule", "{error}");
        assert!(error.message().contains(what), "{error} does not say {what}");
        assert!(error.message().contains("symmetric"), "{error}");
    }
}

#[test]
fn an_older_version_has_no_axis_of_groups() {
    let sound = groups_of_codes().remove(0);
    for version in [Version::V0_1, Version::V1_1, Version::V1_2] {
        let error = refusal(version, &sound);
        assert_eq!(error.cause(), Cause::Unsupported, "{error}");
        assert!(error.message().contains("how its groups are arranged"), "{error}");
    }
}
