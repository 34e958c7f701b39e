//! Files of other containers are converted to `.zt` and back, and are the same byte for byte.

use crate::common;

use common::{content, data, folder, run};
use std::path::{Path, PathBuf};

/// Files that differ after the conversions, and what is not kept.
const OTHERWISE: [(&str, &str); 7] = [
    ("amber-pretty-json.safetensors", "white space in the header"),
    ("amber-empty-and-nul-name.safetensors", "white space in the header"),
    ("amber-metadata-empty.safetensors", "white space in the header"),
    ("amber-json-escapes.safetensors", "escapes that are not needed"),
    ("amber-zero-size-and-field-order.safetensors", "fields in another order than the writers'"),
    ("amber-metadata-last.safetensors", "metadata after the tensors"),
    ("amber-bool-values-not-01.safetensors", "bools that are neither 0 nor 1, if a .zt file is in between"),
];

/// Files that cannot be in a `.zt` file, and the message.
const REFUSED: [(&str, &str); 3] = [
    ("amber-name-not-utf8.gguf", "its name, which is not UTF-8"),
    ("amber-big-endian-py.gguf", "big-endian file"),
    ("amber-long-name.safetensors", "object \"nnnn"), // a name of 70,000 bytes
];

fn valid(extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data().join("foreign/valid")).unwrap().map(|e| e.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn find(list: &[(&'static str, &'static str)], path: &Path) -> Option<&'static str> {
    list.iter().find(|(file, _)| *file == name(path)).map(|(_, why)| *why)
}

fn opens(path: &Path) -> bool {
    run(&[&"ls", &path]).status == 0
}

#[test]
fn every_valid_file_is_the_same_after_a_conversion_and_back() {
    let folder = folder("round-trip");
    let (mut same, mut wrong) = (0, Vec::new());
    for extension in ["safetensors", "gguf"] {
        for path in valid(extension).into_iter().filter(|path| opens(path)) {
            let (zt, back) = (folder.join("middle.zt"), folder.join(format!("back.{extension}")));
            let direct = folder.join(format!("direct.{extension}"));
            let to_zt = run(&[&"convert", &"--force", &path, &zt]);
            let is_refused = find(&REFUSED, &path);
            if let Some(why) = is_refused {
                to_zt.bad(&[why]);
            } else {
                assert_eq!(to_zt.status, 0, "{to_zt:?}");
                run(&[&"verify", &zt]).sound();
                let ran = run(&[&"convert", &"--force", &zt, &back]);
                assert_eq!(ran.status, 0, "{}: {ran:?}", name(&path));
            }
            let ran = run(&[&"convert", &"--force", &path, &direct]);
            assert_eq!(ran.status, 0, "{}: {ran:?}", name(&path));
            let source = std::fs::read(&path).unwrap();
            let is_same = |made: &PathBuf| std::fs::read(made).unwrap() == source;
            let came_back = is_refused.is_some() || is_same(&back);
            same += usize::from(came_back);
            // Files in the list must differ, so that the list stays correct.
            if came_back != find(&OTHERWISE, &path).is_none() {
                wrong.push(format!(
                    "{}: converted through a .zt file, it is the same: {came_back}",
                    name(&path)
                ));
            }
            if !is_same(&direct) && find(&OTHERWISE, &path).is_none() {
                wrong.push(format!("{} differs", name(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(same > 45, "{same}");
}

#[test]
fn bools_of_any_byte_come_back_as_they_were() {
    let folder = folder("round-trip-bools");
    // An array of arrays: f32 with a signalling NaN, bools with any byte.
    let mut nested = std::fs::read(data().join("foreign/invalid/amber-gguf-bool-2.gguf")).unwrap();
    nested.truncate(24 + 8 + 1);
    let numbers = |list: &[u32]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let size = |n: u64| n.to_le_bytes();
    nested.extend(
        [&numbers(&[9, 9])[..], &size(2), &numbers(&[6]), &size(2), &numbers(&[0x7f80_0001, 0x3f80_0000])]
            .concat(),
    );
    nested.extend([&numbers(&[7])[..], &size(3), &[0, 7, 255]].concat());
    nested.resize(nested.len().next_multiple_of(32), 0);
    std::fs::write(folder.join("nested.gguf"), nested).unwrap();
    let given =
        ["2", "255", "array-2"].map(|n| data().join(format!("foreign/invalid/amber-gguf-bool-{n}.gguf")));
    for path in given.into_iter().chain([folder.join("nested.gguf")]) {
        let (zt, back, direct) =
            (folder.join("middle.zt"), folder.join("back.gguf"), folder.join("direct.gguf"));
        run(&[&"convert", &"--force", &path, &zt]).good();
        run(&[&"verify", &"--strict", &zt]).sound();
        run(&[&"convert", &"--force", &zt, &back]).good();
        run(&[&"convert", &"--force", &path, &direct]).good();
        let source = std::fs::read(&path).unwrap();
        assert!(
            std::fs::read(&back).unwrap() == source && std::fs::read(&direct).unwrap() == source,
            "{path:?}"
        );
        run(&[&"verify", &path]).sound();
        run(&[&"verify", &"--strict", &path]).without_notes().bad(&["attribute \"b\"", "neither 0 nor 1"]);
    }
}

#[test]
fn noted_bits_that_say_something_else_than_the_value_are_passed_over() {
    use ztensor::model::value::{Attributes, Element, OwnedValue};
    let folder = folder("round-trip-bits");
    let (zt, back) = (folder.join("a.zt"), folder.join("a.gguf"));
    let mut attributes = Attributes::default();
    let truths = OwnedValue::build(|to| {
        to.begin_array(Element::Any, None)?;
        [false, true, true].into_iter().try_for_each(|truth| to.boolean(truth))?;
        to.end().map(drop)
    });
    attributes.set("b", truths.unwrap().get()).unwrap();
    let origin = OwnedValue::build(|to| {
        to.begin_map(None)?;
        to.text("container")?;
        to.text("GGUF")?;
        to.text("keys")?;
        to.begin_array(Element::Any, None)?;
        to.begin_array(Element::Any, None)?;
        to.text("b")?;
        to.text("bool[]")?;
        to.bytes(&[7, 7, 0])?;
        (0..3).try_for_each(|_| to.end().map(drop))
    });
    attributes.set("ztensor.origin", origin.unwrap().get()).unwrap();
    let mut writer = ztensor::writer::Writer::create(&zt, &Default::default()).unwrap();
    writer.set_attributes(attributes).unwrap();
    writer.finish().unwrap();
    run(&[&"convert", &zt, &back]).good();
    let written = std::fs::read(&back).unwrap();
    assert_eq!(written[24 + 9 + 4 + 4 + 8..][..3], [0, 7, 1]);
}

#[test]
fn arrays_of_numpy_are_the_same_in_every_container_that_has_them() {
    let folder = folder("round-trip-npz");
    let (mut same, mut refused) = (0, 0);
    let paths = valid("npz").into_iter().chain(valid("npy"));
    for path in paths.filter(|path| run(&[&"ls", &"--json", &"--sha256", path]).status == 0) {
        let (zt, npz) = (folder.join("middle.zt"), folder.join("back.npz"));
        let to_zt = run(&[&"convert", &"--force", &path, &zt]);
        if to_zt.status != 0 {
            assert!(to_zt.err.starts_with("zt: ") && !to_zt.err.contains("internal"), "{to_zt:?}");
            refused += 1;
            continue;
        }
        assert_eq!(content(&zt), content(&path), "{}", name(&path));
        let back = run(&[&"convert", &"--force", &zt, &npz]);
        assert_eq!(back.status, 0, "{}: {back:?}", name(&path));
        assert_eq!(content(&npz), content(&path), "{}", name(&path));
        same += 1;
    }
    assert!(same >= 5 && same > refused, "{same} {refused}");
}
