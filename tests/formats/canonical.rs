//! The rules of the canonical form of zTensor 2. Each test breaks one rule of a canonical file.

use crate::common;

use common::ztensor_2::{blobs, map, with_manifest, Cbor};
use xxhash_rust::xxh3::xxh3_64;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Version;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{Algorithm, DenseSpec, WriterOptions};

const STEP: u64 = 1 << 16;
const FOOTER: usize = 40;
type Entries = Vec<(&'static str, Cbor<'static>)>;

/// The pieces of a file.
struct Parts {
    /// Positions of the bytes of "a" and "b".
    places: [u64; 2],
    bytes: [&'static [u8]; 2],
    /// Extra fields of the manifest, of "b" and of its part.
    manifest: Entries,
    object: Entries,
    part: Entries,
    digest: Option<String>,
    /// The position of the manifest.
    end: u64,
}

impl Parts {
    fn canonical() -> Parts {
        Parts {
            places: [STEP, 2 * STEP],
            bytes: [b"abc", b"de"],
            manifest: Vec::new(),
            object: vec![("attributes", map([("k", 1.into())]))],
            part: Vec::new(),
            digest: Some(digest(b"de")),
            end: 3 * STEP,
        }
    }

    fn file(&self) -> Vec<u8> {
        let first = digest(self.bytes[0]);
        let place =
            |at: usize| Cbor::Array(vec![self.places[at].into(), (self.bytes[at].len() as u64).into()]);
        let part = |at: usize, digest: Option<&'static str>| {
            let mut fields = vec![("dtype", "u8".into()), ("blob", place(at))];
            fields.extend(digest.map(|digest| ("digest", digest.into())));
            fields
        };
        let object = |at: usize, part: Entries, more: &Entries| {
            let shape = Cbor::Array(vec![(self.bytes[at].len() as u64).into()]);
            let mut fields = vec![
                ("shape", shape),
                ("layout", "dense".into()),
                ("parts", map([("data", Cbor::Map(part))])),
            ];
            fields.extend(more.iter().cloned());
            Cbor::Map(fields)
        };
        let leaked = |text: &str| &*String::from(text).leak(); // only in a test
        let a = object(0, part(0, Some(leaked(&first))), &Vec::new());
        let mut of_b = part(1, self.digest.as_deref().map(leaked));
        of_b.extend(self.part.iter().cloned());
        let b = object(1, of_b, &self.object);
        let mut fields = vec![("objects", map([("a", a), ("b", b)]))];
        fields.extend(self.manifest.iter().cloned());
        let mut encoded = Vec::new();
        Cbor::Map(fields).write(&mut encoded);
        let places = self.places.iter().zip(self.bytes).map(|(at, bytes)| (*at as usize, bytes));
        let mut out = blobs(places);
        out.resize(self.end as usize, 0);
        with_manifest(out, &encoded)
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", xxh3_64(bytes))
}

fn violation(bytes: &[u8]) -> Option<String> {
    let file = File::open_memory(common::Aligned::of(bytes), &OpenOptions::default()).unwrap();
    file.canonical_violation().unwrap()
}

#[test]
fn each_rule_that_is_broken_is_named() {
    assert_eq!(violation(&Parts::canonical().file()), None);
    let none = || map([]);
    let shard = map([("size", 48.into()), ("digest", "xxh3:00".into())]);
    let change = |change: &dyn Fn(&mut Parts)| {
        let mut parts = Parts::canonical();
        change(&mut parts);
        parts.file()
    };
    let cases: [(Vec<u8>, &str); 15] = [
        (change(&|p| p.end += STEP), "K1: the manifest is at 262144"),
        (change(&|p| p.places[0] = 4096), "K2: its offset 4096 is not a multiple of 65536: object \"a\""),
        (change(&|p| p.places.reverse()), "K3: its offset is 131072, but has to be 65536: object \"a\""),
        (
            change(&|p| {
                p.bytes[1] = b"abc";
                p.digest = Some(digest(b"abc"));
            }),
            "K3: object \"b\" at 131072 has the same digest as the data at 65536",
        ),
        (change(&|p| p.digest = None), "K4: it has no xxh3 digest of 16 digits: object \"b\""),
        (change(&|p| p.digest = Some("sha256:00".into())), "K4: it has no xxh3 digest"),
        (
            change(&|p| p.part = vec![("encoding", "acme".into()), ("decoded_length", 2.into())]),
            "K4: it is encoded: object \"b\", component \"data\"",
        ),
        (change(&|p| p.manifest = vec![("shards", map([("s", shard.clone())]))]), "K6: "),
        (change(&|p| p.manifest = vec![("shards", none())]), "M4: its \"shards\" is empty"),
        (change(&|p| p.manifest = vec![("attributes", none())]), "M4: its \"attributes\" is empty"),
        (change(&|p| p.object = vec![("attributes", none())]), "M4: its \"attributes\" is empty"),
        (
            change(&|p| p.manifest = vec![("note", 1.into())]),
            "M1: it has the unknown key \"note\": the manifest",
        ),
        (change(&|p| p.object.push(("note", none()))), "M1: it has the unknown key \"note\": object \"b\""),
        (
            change(&|p| p.part.push(("note", "".into()))),
            "M1: it has the unknown key \"note\": object \"b\", component \"data\"",
        ),
        (change(&|p| p.part.push(("", none()))), "M1: it has the unknown key \"\": object \"b\""),
    ];
    for (file, why) in &cases {
        let found = violation(file);
        assert!(found.as_ref().is_some_and(|found| found.starts_with(why)), "{found:?}, not {why}");
    }
    let wider = change(&|p| p.manifest = vec![("attributes", map([("none", none()), ("new", 1.into())]))]);
    assert_eq!(violation(&wider), None, "attributes may have any key and an empty map in them");
}

#[test]
fn bytes_outside_of_parts_must_be_zero() {
    let sound = Parts::canonical().file();
    let size = sound.len();
    let with = |at: usize| {
        let mut file = sound.clone();
        file[at] = 0xab;
        violation(&file)
    };
    for at in [8, 65535, 65539, 131071, 131074, 196607] {
        let why = format!("F14: 1 bytes of padding are not zero, the first at {at}");
        assert_eq!(with(at), Some(why));
    }
    for at in size - 12..size - 8 {
        let why = format!("F11: the reserved bytes of the footer at {} are not zero", size - 12);
        assert_eq!(with(at), Some(why));
    }
    let mut gap = sound.clone();
    gap.splice(size - FOOTER..size - FOOTER, [0; 8]);
    assert!(violation(&gap).unwrap().starts_with("K1: "));
}

/// Parts without bytes have equal bytes, so they share the first one's position.
#[test]
fn parts_without_bytes_have_one_place() {
    let write = |canonical| {
        let alignment = if canonical { 4096 } else { STEP };
        let digest = Some(Algorithm::Xxh3);
        let options =
            WriterOptions { version: Version::V2, canonical, alignment, digest, ..WriterOptions::default() };
        common::written(&options, |w| {
            for (name, bytes) in [("a", &b""[..]), ("b", b"x"), ("c", b"")] {
                let shape = [bytes.len() as u64];
                w.write_dense(&DenseSpec::new(name, Dtype::U8, &shape, bytes)).unwrap();
            }
        })
    };
    assert_eq!(violation(&write(true)), None);
    let why = "K3: its offset is 131072, but has to be 65536: object \"c\", component \"data\"";
    assert_eq!(violation(&write(false)).as_deref(), Some(why));
}

#[test]
fn a_data_shard_is_not_canonical() {
    let shard = common::ztensor_2::with_footer(blobs([(4096, &b"x"[..])].into_iter()), 0, b"");
    assert_eq!(violation(&shard).as_deref(), Some("K1: it has no manifest"));
}
