//! zTensor 2 in several files: a root with a correct or a wrong table of shards, and shards that are correct,
//! wrong, truncated, missing or complete files. Bytes read from a shard are those in the shard, and a shard
//! does not affect objects outside of it.
#![no_main]

use arbitrary::Unstructured;
use std::path::Path;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor_fuzz::container_2::{self, SHARDS};
use ztensor_fuzz::memory::Files;
use ztensor_fuzz::read::{self, check_error};

/// A shard, and whether it matches its entry.
fn shard(u: &mut Unstructured<'_>, size: u64) -> arbitrary::Result<(Option<Vec<u8>>, bool)> {
    let mut bytes = container_2::shard(size as usize);
    Ok(match u.int_in_range(0..=6)? {
        0 => {
            let at = u.choose_index(bytes.len())?;
            bytes[at] ^= u.int_in_range(1..=255)?;
            (Some(bytes), false)
        }
        1 => {
            bytes.truncate(u.choose_index(bytes.len())?);
            (Some(bytes), false)
        }
        2 => (None, false),
        3 => (Some(container_2::raw(b"\xa1\x67objects\xa0")), false),
        _ => (Some(bytes), true),
    })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut u = Unstructured::new(input);
    let mut files = Files(Vec::new());
    let mut sound = true;
    for (name, size) in SHARDS {
        let Ok((bytes, is_sound)) = shard(&mut u, size) else { return };
        sound &= is_sound;
        files.0.extend(bytes.map(|bytes| (format!("m-{name}.zt"), bytes)));
    }
    let Ok(root) = container_2::file(&mut u, true) else { return };
    files.0.push((String::from("m.zt"), root.bytes.clone()));
    let alone = read::open(&root.bytes, false);
    let options = OpenOptions { max_decoded_size: Some(read::MOST_DECODED), ..OpenOptions::default() };
    let file = match (File::open_model_from(&files, Path::new("m.zt"), &options), alone) {
        (Ok(file), Ok(_)) => file,
        (Err(e), Err(_)) => {
            check_error(&e);
            return;
        }
        (model, alone) => panic!("as a model: {model:?}; alone: {alone:?}"),
    };
    let listed = container_2::reference(&root.bytes).and_then(|reference| reference.ok().flatten());
    let Some(manifest) = listed else { return };
    for object in file.objects() {
        for component in object.components() {
            let Some(part) = manifest.objects.get(object.name()).and_then(|o| o.parts.get(component.role()))
            else {
                continue;
            };
            let Some(shard) = &part.blob.shard else { continue };
            let mut found = vec![0; component.stored_size().min(1 << 20) as usize];
            match component.read_stored(&mut found) {
                Ok(()) => {
                    let bytes = files.bytes(&format!("m-{shard}.zt")).expect("its file is missing");
                    assert_eq!(bytes.len() as u64, manifest.shards[shard].size);
                    assert_eq!(found, bytes[component.offset() as usize..][..found.len()]);
                }
                Err(e) => {
                    check_error(&e);
                    assert!(root.bent || !sound, "reading from a good shard: {e}");
                }
            }
        }
    }
    let verified = file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default());
    let _ = verified.inspect_err(|e| {
        check_error(e);
    });
    ztensor_fuzz::views::every_object(&file, false);
});
