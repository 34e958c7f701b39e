//! What we write is read back by the released readers: 0.1.4, 1.1.1 and 1.2.3, as Python packages.
//! `tests/interop/install.sh` installs them; where pip is out of reach the test says that it is skipped
//! (unless ZT_REQUIRE_INTEROP is set). ZT_INTEROP_DIR names a folder that has them already.

mod common;

use common::{every_format, every_type, repository, tensors, Folder, Sample};
use serde_json::{json, Value as Json};
use std::path::{Path, PathBuf};
use std::process::Command;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{Algorithm, Writer, WriterOptions};

/// Where the releases are; none if they cannot be had.
fn releases() -> Option<PathBuf> {
    let folder = match std::env::var_os("ZT_INTEROP_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop"),
    };
    let script = repository("tests/interop/install.sh");
    let installed = Command::new("sh").arg(script).arg(&folder).output().expect("sh is everywhere");
    let said = String::from_utf8_lossy(&installed.stderr).into_owned();
    match installed.status.code() {
        Some(0) => Some(folder),
        Some(3) if std::env::var_os("ZT_REQUIRE_INTEROP").is_none() => {
            println!("SKIPPED: the released packages cannot be had: {said}");
            None
        }
        other => panic!("install.sh: {other:?}: {said}"),
    }
}

/// What a release shall find, from what was meant; the places of the bytes from the file.
fn expectation(file: &File, samples: &[Sample]) -> Json {
    let objects = samples.iter().map(|sample| {
        let object = file.find(&sample.name).unwrap();
        let components = sample.parts.iter().map(|part| {
            let component = object.component(part.role).unwrap();
            let sha256 = common::digest_text(Algorithm::Sha256, &part.bytes);
            json!({
                "role": part.role,
                "dtype": part.dtype.name(),
                "type": part.logical.map(|t| t.name()),
                "encoding": component.encoding_name(),
                "digest": component.digest(),
                "offset": component.offset(),
                "length": component.stored_size(),
                "decoded_length": part.bytes.len(),
                "sha256_of_decoded_little_endian_bytes": sha256.strip_prefix("sha256:"),
            })
        });
        json!({
            "name": sample.name,
            "shape": sample.shape,
            "format": sample.format,
            "attributes": serde_json::from_str::<Json>(sample.attributes).unwrap(),
            "components": components.collect::<Vec<_>>(),
        })
    });
    let attributes = file.attributes().map(|a| ztensor::wire::json::write(a).unwrap());
    json!({
        "version": file.version(),
        "attributes": attributes.map_or(json!({}), |text| serde_json::from_str(&text).unwrap()),
        "objects": objects.collect::<Vec<_>>(),
    })
}

fn write(folder: &Folder, name: &str, options: &WriterOptions, samples: &[Sample]) {
    let path = folder.path(&format!("{name}.zt"));
    let mut writer = Writer::create(&path, options).unwrap();
    if options.version != Version::V0_1 {
        // 1.1.1 refuses a file whose attributes are not text.
        writer.set_attributes(common::pairs(r#"{"license":"MIT","made by":"libztensor"}"#)).unwrap();
    }
    samples.iter().for_each(|sample| sample.write(&mut writer).unwrap());
    writer.finish().unwrap();
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    let text = serde_json::to_string(&expectation(&file, samples)).unwrap();
    std::fs::write(folder.path(&format!("{name}.expect.json")), text).unwrap();
}

/// Everything that the release can be asked for, in every encoding and with every digest.
fn write_all(folder: &Folder, version: Version) -> usize {
    let types = every_type().into_iter().filter(|(_, logical)| logical.is_none() || version == Version::V1_2);
    let all = types.flat_map(|(dtype, logical)| every_format(dtype, logical));
    let mut samples: Vec<Sample> = all.filter(|s| s.can_be_said_in(version)).collect();
    samples.extend(tensors());
    samples.push(Sample::dense(
        "caf\u{e9} \u{1f600} / a.b",
        ztensor::model::dtype::Dtype::I16,
        &[2, 0, 3],
        vec![],
    ));
    let mut written = 0;
    for (encoding, digest) in [
        (Encoding::Raw, None),
        (Encoding::Raw, Some(Algorithm::Crc32c)),
        (Encoding::Zstd, Some(Algorithm::Crc32c)),
        (Encoding::Zstd, Some(Algorithm::Sha256)),
    ] {
        // Frames of 4096 bytes, so that the larger tensors have several.
        let options =
            WriterOptions { version, encoding, digest, frame_size: 4096, ..WriterOptions::default() };
        write(folder, &format!("{encoding:?}-{digest:?}"), &options, &samples);
        written += 1;
    }
    written
}

fn read_back(release: &str, version: Version) {
    let Some(releases) = releases() else { return };
    let folder = Folder::new();
    let written = write_all(&folder, version);
    let python = std::env::var("PYTHON").unwrap_or_else(|_| String::from("python3"));
    let read = Command::new(python)
        .arg(repository("tests/interop/read_back.py"))
        .arg(release)
        .arg(&folder.0)
        .env("PYTHONPATH", releases.join(release))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&read.stdout).into_owned() + &String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{release}: {}\n{said}", read.status);
    let fine = said.lines().filter(|l| l.starts_with("ok ")).count();
    assert_eq!(fine, written, "{release}\n{said}");
    assert!(said.contains("flipped bytes refused"), "{said}");
    println!("{release}: {}", said.lines().last().unwrap_or_default());
}

#[test]
fn release_0_1_4_reads_what_we_write_as_0_1_0() {
    read_back("0.1.4", Version::V0_1);
}

#[test]
fn release_1_1_1_reads_what_we_write_as_1_1_0() {
    read_back("1.1.1", Version::V1_1);
}

#[test]
fn release_1_2_3_reads_what_we_write_as_1_2_0() {
    read_back("1.2.3", Version::V1_2);
}
