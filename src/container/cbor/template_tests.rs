//! Objects that are encoded alike.

use super::*;
use crate::model::manifest::Format;

/// A manifest of an object with these components, which are named and keep nothing, or their digests.
fn a_manifest(digests: &[Option<&str>]) -> (Manifest, Object) {
    let mut manifest = Manifest::default();
    let name = manifest.texts.add("data").unwrap();
    for digest in digests {
        let digest = digest.map(|digest| manifest.texts.add(digest).unwrap());
        let mut component = Component::new(name, None);
        component.rare = manifest.add_rare_names(RareNames { digest, ..RareNames::default() }).unwrap();
        manifest.components.push(component).unwrap();
    }
    let (shape_start, rank, component_start, format) = (0, 0, 0, Format::Dense);
    let component_count = digests.len() as u32;
    let object =
        Object { name, format, shape_start, rank, component_start, component_count, attributes: None };
    (manifest, object)
}

/// Reads an object whose components are encoded so here: two letters, an offset, two letters, a length, two
/// letters and, if it has one, the digest.
fn by_hand<'a>(
    templates: &mut TemplateCache<'a>,
    cursor: &mut Cursor<'a>,
    (manifest, object): &(Manifest, Object),
) {
    templates.begin();
    let begin = cursor.position();
    for component in manifest.components(object) {
        for what in [Field::Offset, Field::Length] {
            cursor.take(2).unwrap();
            let start = cursor.position();
            cursor.try_unsigned().unwrap();
            templates.record(what, start, cursor);
        }
        cursor.take(2).unwrap();
        if manifest.digest(component).is_some() {
            let start = cursor.position();
            cursor.try_text().unwrap();
            templates.record(Field::Digest, start, cursor);
        }
        templates.end_component();
    }
    templates.remember(begin, cursor, manifest, object);
}

type Matches<'a> = Vec<(u64, u64, Option<&'a [u8]>)>;

/// What the next object's components have, if it is known.
fn matches<'a>(templates: &mut TemplateCache<'a>, cursor: &mut Cursor<'a>) -> Option<Matches<'a>> {
    let matched = templates.read(cursor)?;
    Some(matched.components().map(|(c, digest)| (c.offset, c.stored_size, digest)).collect())
}

#[test]
fn an_object_of_a_known_template_is_matched_without_its_keys() {
    let known = a_manifest(&[None]);
    // Known; another form; the first again, with numbers of other widths; one that differs at its end.
    let input = b"xx\x05yy\x18\x40zzXX\x07YY\x06ZZxx\x18\x99yy\x02zzxx\x19\x01\x00yy\x02zQ........";
    let (mut templates, mut cursor) = (TemplateCache::new(input), Cursor::new(input, 0));
    assert!(templates.read(&mut cursor).is_none() && cursor.position() == 0, "nothing is known yet");
    by_hand(&mut templates, &mut cursor, &known);
    let first = cursor.position();
    assert!(templates.read(&mut cursor).is_none() && cursor.position() == first);
    by_hand(&mut templates, &mut cursor, &known);
    let second = cursor.position();
    assert_eq!(
        matches(&mut templates, &mut cursor).expect("it was met before the last one"),
        [(0x99, 2, None)]
    );
    assert_eq!(&input[second..cursor.position()], b"xx\x18\x99yy\x02zz");
    let third = cursor.position();
    assert!(templates.read(&mut cursor).is_none() && cursor.position() == third);
}

#[test]
fn each_component_of_an_object_has_its_own_fields() {
    let input = b"aa\x01bb\x02cc\x63onedd\x03ee\x04ff\
        aa\x05bb\x06cc\x65threedd\x07ee\x18\x40ff\
        aa\x05bb\x06cc\x63oneDd\x07ee\x18\x40ff........";
    let (mut templates, mut cursor) = (TemplateCache::new(input), Cursor::new(input, 0));
    by_hand(&mut templates, &mut cursor, &a_manifest(&[Some("one"), None]));
    let second = matches(&mut templates, &mut cursor);
    assert_eq!(second, Some(vec![(5, 6, Some(&b"three"[..])), (7, 0x40, None)]));
    assert_eq!(matches(&mut templates, &mut cursor), None, "a letter of the second component differs");
}

#[test]
fn a_digest_that_is_no_short_ascii_text_does_not_match() {
    let long = [&[0x79, 1, 0][..], &[b'x'; 256]].concat();
    for digest in
        [b"\x62\xc3\xa9".to_vec(), b"\xf6".to_vec(), b"\x7f\x61x\xff".to_vec(), b"\x05".to_vec(), long]
    {
        let input = [b"aa\x01bb\x02cc\x63oneaa\x01bb\x02cc", &digest[..], &[0; 16]].concat();
        let (mut templates, mut cursor) = (TemplateCache::new(&input), Cursor::new(&input, 0));
        by_hand(&mut templates, &mut cursor, &a_manifest(&[Some("one")]));
        assert_eq!(matches(&mut templates, &mut cursor), None, "{digest:x?}");
    }
}

#[test]
fn what_other_fields_contain_is_not_remembered() {
    let input = [0; 200];
    let learned = |(manifest, object): (Manifest, Object), dimensions: usize, fields_read: &[Field]| {
        let (mut templates, mut cursor) = (TemplateCache::new(&input), Cursor::new(&input, 0));
        let mut note = |templates: &mut TemplateCache<'_>, what| {
            let start = cursor.position();
            cursor.take(1).unwrap();
            templates.record(what, start, &cursor);
        };
        (0..dimensions).for_each(|_| note(&mut templates, Field::Dimension));
        for _ in manifest.components(&object) {
            fields_read.iter().for_each(|what| note(&mut templates, *what));
            templates.end_component();
        }
        templates.remember(0, &cursor, &manifest, &object);
        !templates.templates.is_empty()
    };
    const BOTH: &[Field] = &[Field::Offset, Field::Length];
    assert!(learned(a_manifest(&[None; MAX_COMPONENTS]), MAX_FIELDS - 2 * MAX_COMPONENTS, BOTH));
    assert!(
        !learned(a_manifest(&[None; MAX_COMPONENTS]), MAX_FIELDS - 2 * MAX_COMPONENTS + 1, BOTH),
        "more fields"
    );
    assert!(!learned(a_manifest(&[None; MAX_COMPONENTS + 1]), 0, BOTH), "more components");
    assert!(!learned(a_manifest(&[]), 0, BOTH), "no component");
    assert!(!learned(a_manifest(&[None, Some("x")]), 0, BOTH), "a digest that was not noted");
    assert!(!learned(a_manifest(&[None]), 0, &[Field::Offset, Field::Length, Field::Digest]), "no digest");
    assert!(!learned(a_manifest(&[None]), 0, &[Field::Offset]), "no length");
    let (mut manifest, object) = a_manifest(&[None]);
    let encoding = Some(object.name);
    manifest.components[0].rare =
        manifest.add_rare_names(RareNames { encoding, ..RareNames::default() }).unwrap();
    assert!(!learned((manifest, object), 0, BOTH), "an encoding of the file's own");
}
