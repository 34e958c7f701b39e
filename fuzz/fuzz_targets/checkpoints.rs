//! Quantized checkpoints with changed bytes in headers, settings, codes and `config.json`, opened with their
//! weights as objects. Numbers that are read have the size of the shape, and parts equal those of the
//! complete weight.
#![no_main]

use arbitrary::Unstructured;
use std::path::Path;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, Object, OpenOptions, VerifyOptions, VerifyReport};
use ztensor_fuzz::memory::Files;
use ztensor_fuzz::read::{self, check_error};

/// The tensors of a model, and its configuration.
macro_rules! model {
    ($name:literal) => {
        (
            include_bytes!(concat!("../../tests/data/checkpoints/", $name, "/model.safetensors")).as_slice(),
            include_bytes!(concat!("../../tests/data/checkpoints/", $name, "/config.json")).as_slice(),
        )
    };
}

static MODELS: [(&[u8], &[u8]); 27] = [
    model!("awq"),
    model!("bnb-int8"),
    model!("bnb-nf4"),
    model!("bnb-nf4-nested"),
    model!("ct-int3-channel"),
    model!("ct-int4-asymmetric"),
    model!("ct-int4-group"),
    model!("ct-int8"),
    model!("ct-mxfp4"),
    model!("ct-nvfp4"),
    model!("fp8-block"),
    model!("fp8-channel"),
    model!("fp8-e8m0"),
    model!("gptq-2-v2"),
    model!("gptq-3"),
    model!("gptq-4"),
    model!("gptq-4-order"),
    model!("gptq-8"),
    model!("hqq-2"),
    model!("hqq-4"),
    model!("mlx-3"),
    model!("mlx-4"),
    model!("mlx-6"),
    model!("mlx-mxfp4"),
    model!("modelopt-nvfp4"),
    model!("mxfp4-experts"),
    model!("quanto"),
];

/// Words that decide how a tensor is interpreted.
const WORDS: [&[u8]; 12] =
    [b"I32", b"U32", b"F16", b"U8", b"I8", b"F32", b"gptq", b"awq", b"fp8", b"16", b"0", b"4294967295"];

/// Changes some bytes, or a word.
fn change(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> arbitrary::Result<()> {
    for _ in 0..u.int_in_range(0..=3)? {
        let at = u.choose_index(bytes.len())?;
        match u.int_in_range(0..=2)? {
            0 => bytes[at] = u.arbitrary()?,
            1 => bytes[at] ^= 1 << u.int_in_range(0..=7)?,
            _ => {
                let word = u.choose(&WORDS)?;
                let end = (at + word.len()).min(bytes.len());
                bytes.splice(at..end, word.iter().copied());
            }
        }
    }
    Ok(())
}

fn numbers(object: &Object<'_>) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 20;
    let size = object
        .size_as(Dtype::F32)
        .inspect_err(|e| {
            check_error(e);
        })
        .ok()?;
    if size > MOST {
        return None;
    }
    let mut all = vec![0xA5; size as usize];
    match object.read_as(Dtype::F32, &mut all) {
        Ok(written) => assert_eq!(written, all.len()),
        Err(e) => {
            check_error(&e);
            return None;
        }
    }
    let mut pieces = Vec::new();
    object
        .for_each_number(Dtype::F32, true, &mut |piece| {
            pieces.extend_from_slice(piece);
            Ok(())
        })
        .expect("it could not be read again");
    assert_eq!(pieces, all);
    Some(all)
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut u = Unstructured::new(input);
    let Ok((tensors, config)) = u.choose(&MODELS).copied() else { return };
    let (mut tensors, mut config) = (tensors.to_vec(), config.to_vec());
    // Mostly inside the header, where a changed length would make the rest invalid.
    let header = 8 + u64::from_le_bytes(tensors[..8].try_into().unwrap()) as usize;
    let mut head = tensors[8..header].to_vec();
    if change(&mut u, &mut head).and_then(|()| change(&mut u, &mut config)).is_err() {
        return;
    }
    head.resize(header - 8, b' ');
    tensors[8..header].copy_from_slice(&head);
    let mut data = tensors.split_off(header);
    let _ = change(&mut u, &mut data);
    tensors.append(&mut data);
    let files = Files(vec![(String::from("m.safetensors"), tensors), (String::from("config.json"), config)]);
    let options = OpenOptions {
        combine_quantized: true,
        max_decoded_size: Some(read::MOST_DECODED),
        ..OpenOptions::default()
    };
    let file = match File::open_model_from(&files, Path::new("m.safetensors"), &options) {
        Ok(file) => file,
        Err(e) => {
            check_error(&e);
            return;
        }
    };
    for object in file.objects() {
        if let Some(all) = numbers(&object) {
            assert_eq!(Some(all.len() as u64 / 4), object.element_count());
        }
        let _ = object.stored_tensors(object.name_bytes()).inspect_err(|e| {
            check_error(e);
        });
    }
    let verified = file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default());
    let _ = verified.inspect_err(|e| {
        check_error(e);
    });
});
