//! `zt repair` removes an unfinished append and changes nothing else.

use crate::common;

use common::{data, folder, listing, run};

#[test]
fn an_unfinished_append_is_removed_and_the_objects_are_intact() {
    let whole = data().join("v1.2/py-1.2.3-appended.zt");
    let bytes = std::fs::read(&whole).unwrap();
    let path = folder("repair-cut").join("torn.zt");
    let mut torn = bytes.clone();
    torn.resize(bytes.len().next_multiple_of(64), 0);
    torn.extend_from_slice(&[7; 100]);
    std::fs::write(&path, &torn).unwrap();

    run(&[&"ls", &path]).bad(&["unfinished append"]);
    let expected = format!("from {} to {} bytes, 4 objects\n", torn.len(), bytes.len());
    let out = run(&[&"repair", &"--dry-run", &path]).good();
    assert_eq!(out, format!("{}: would be cut {expected}", path.display()));
    assert_eq!(std::fs::read(&path).unwrap(), torn);
    let out = run(&[&"repair", &path]).good();
    assert_eq!(out, format!("{}: cut {expected}", path.display()));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(listing(&path), listing(&whole));
    let out = run(&[&"repair", &path]).good();
    assert_eq!(out, format!("{}: nothing to repair, 4 objects\n", path.display()));
}

#[test]
fn files_that_cannot_be_repaired_do_not_change() {
    let path = folder("repair-not").join("cut.zt");
    let bytes = std::fs::read(data().join("v1.2/py-1.2.3-zstd.zt")).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    run(&[&"repair", &path]).bad(&["cut.zt: "]);
    assert_eq!(std::fs::read(&path).unwrap(), &bytes[..bytes.len() - 20]);
    run(&[&"repair", &folder("repair-not").join("missing.zt")]).bad(&["missing.zt: "]);
}

#[test]
fn an_ambiguous_end_is_reported_and_can_be_chosen() {
    let path = folder("repair-doubt").join("doubt.zt");
    let outer = std::fs::read(data().join("v1.2/py-1.2.3-appended.zt")).unwrap();
    let inner = std::fs::read(data().join("v1.2/py-1.2.3-empty.zt")).unwrap();
    // Two candidates: the file's own end, and the end of a file in the appended bytes.
    let torn = [&outer[..], &inner, &[7; 100]].concat();
    std::fs::write(&path, &torn).unwrap();
    let place = format!("at byte {} (4 objects)", outer.len());
    run(&[&"repair", &path]).bad(&["2 places", &place]);
    assert_eq!(std::fs::read(&path).unwrap(), torn);
    run(&[&"repair", &"--cut-at", &"70", &path]).bad(&["cut at byte 70 it would not open"]);
    let chosen = outer.len().to_string();
    let out = run(&[&"repair", &"--cut-at", &chosen, &path]).good();
    assert!(out.ends_with(&format!("to {chosen} bytes, 4 objects\n")), "{out}");
    assert_eq!(std::fs::read(&path).unwrap(), outer);
}
