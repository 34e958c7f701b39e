//! Types with elements of less than a byte, and the containers option.

use crate::common::{self, rule};
use ztensor::error::{Cause, Rule};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Container, Format, LogicalType};
use ztensor::model::value::Attributes;
use ztensor::reader::{File, Hyperslab, OpenOptions};
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, WriterOptions};

/// A safetensors file with one tensor.
fn safetensors(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{\"t\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{}]}}}}", data.len());
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A `.zt` file with one object, which has one component `data` of u8.
fn zt(format: &str, shape: &[u64], logical: Option<LogicalSpec<'_>>, data: &[u8]) -> Vec<u8> {
    common::written(&WriterOptions::default(), |writer| {
        let spec = ComponentSpec { logical, ..ComponentSpec::new("data", Dtype::U8) };
        let object = ObjectSpec { name: "t", format, shape };
        writer.write_object(&object, Attributes::default(), &[(spec, data)]).unwrap();
    })
}

fn slice(file: &File, start: &[u64], count: &[u64], size: usize) -> Result<Vec<u8>, Cause> {
    let mut out = vec![0; size];
    let slab = Hyperslab { start, count, step: None };
    file.find("t").unwrap().read_slice(&slab, &mut out).map(|()| out).map_err(|e| e.cause())
}

#[test]
fn packed_floats_are_sliced_at_the_borders_of_bytes() {
    let data: Vec<u8> = (0..24).collect();
    let file = common::open(safetensors("F4", "[4,12]", &data));
    assert_eq!(slice(&file, &[1, 4], &[2, 6], 6), Ok(vec![8, 9, 10, 14, 15, 16]));
    assert_eq!(slice(&file, &[0, 0], &[4, 12], 24), Ok(data.clone()));
    assert_eq!(slice(&file, &[1, 3], &[1, 2], 1), Err(Cause::InvalidArgument));
    let file = common::open(safetensors("F6_E2M3", "[4,8]", &data));
    assert_eq!(slice(&file, &[2, 4], &[2, 4], 6), Ok(vec![15, 16, 17, 21, 22, 23]));
    assert_eq!(file.find("t").unwrap().read_as(Dtype::F32, &mut [0; 256]).unwrap(), 4 * 32);
    // Rows that end within a byte can be read, but not sliced.
    let file = common::open(safetensors("F4", "[2,3]", &data[..3]));
    assert_eq!(slice(&file, &[0, 0], &[1, 3], 3), Err(Cause::Unsupported));
    assert_eq!(common::read(&common::data(&file, "t")), data[..3]);
    let mut numbers = [0xa5; 28];
    assert_eq!(file.find("t").unwrap().read_as(Dtype::F32, &mut numbers).unwrap(), 24);
    let floats = [0.0f32, 0.0, 0.5, 0.0, 1.0, 0.0].map(f32::to_ne_bytes).concat();
    assert!(numbers[..24] == floats && numbers[24..] == [0xa5; 4]);
}

#[test]
fn unknown_fields_of_an_entry_have_unique_keys() {
    for (fields, refused) in [
        (r#""x":{"a":[{"b":1},{"b":1}],"b":{"a":1}},"a":1"#, None),
        (r#""x":1,"\u0078":2"#, Some(Rule::JsonDuplicateKey)),
        (r#""x":{"a":1,"a":1}"#, Some(Rule::JsonDuplicateKey)),
        (r#""x":[[{"a":{"b":1,"c":{},"b":1}}]]"#, Some(Rule::JsonDuplicateKey)),
    ] {
        let opened =
            File::open_memory(safetensors("U8", &format!("[1],{fields}"), &[7]), &OpenOptions::default());
        assert_eq!(opened.err().and_then(|e| e.rule()), refused, "{fields}");
    }
}

#[test]
fn objects_of_block_types_in_a_zt_file_are_known() {
    let data: Vec<u8> = (0..36).collect();
    let written = zt("gguf.q4_0/1", &[2, 32], None, &data);
    let file = common::open(written.clone());
    let object = file.find("t").unwrap();
    assert_eq!((object.format(), object.format_name()), (Format::Blocks(Logical::Q4_0), "gguf.q4_0/1"));
    let component = common::data(&file, "t");
    assert_eq!(component.logical(), LogicalType::Known(Logical::Q4_0));
    assert_eq!(object.tensor_view().unwrap().data.bytes(), data);
    assert_eq!(slice(&file, &[1, 0], &[1, 32], 18), Ok(data[18..].to_vec()));
    assert_eq!(slice(&file, &[1, 0], &[1, 16], 18), Err(Cause::InvalidArgument));
    common::verify(&file).unwrap();
    // A copy has the same format, and does not set a type.
    let copy = common::written(&WriterOptions::default(), |writer| writer.copy(object, "t").unwrap());
    assert_eq!(copy, written);
}

#[test]
fn a_size_that_is_not_of_its_type_is_refused_at_open() {
    let data = [7; 6];
    let wrong = zt("dense", &[6], Some(LogicalSpec::Other("f4_e2m1")), &data);
    assert_eq!(rule(File::open_memory(wrong, &OpenOptions::default()).map(drop)), Some(Rule::DenseSize));
    let file = common::open(zt("dense", &[12], Some(LogicalSpec::Known(Logical::F4E2m1)), &data));
    assert_eq!(file.find("t").unwrap().tensor_view().unwrap().data.bytes(), data);
}

#[test]
fn only_containers_in_the_option_are_opened() {
    let new = zt("dense", &[4], None, &[1, 2, 3, 4]);
    let other = safetensors("U8", "[4]", &[1, 2, 3, 4]);
    for (bytes, container) in [(new, Container::V1_2), (other, Container::Safetensors)] {
        for allowed in Container::ALL {
            let options = OpenOptions { containers: allowed.bit(), ..OpenOptions::default() };
            let opened = File::open_memory(bytes.clone(), &options);
            let outcome = opened.as_ref().map(File::container).map_err(|e| e.cause());
            assert_eq!(
                outcome,
                if allowed == container { Ok(container) } else { Err(Cause::Unsupported) },
                "{allowed:?}"
            );
        }
    }
}
