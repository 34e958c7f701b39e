//! Files of zTensor 2 made byte by byte, including invalid ones: objects with their parts, one blob after the
//! other.

use super::Sample;
use xxhash_rust::xxh3::xxh3_64;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::writer::{ComponentSpec, Grouping, LogicalSpec, QuantizedSpec};

const MAGIC: [u8; 8] = *b"\x89ZT2\r\n\x1a\n";
/// Alignment of blobs.
pub const PAGE: usize = 4096;

/// A value in deterministic CBOR.
#[derive(Clone)]
pub enum Cbor<'a> {
    Number(u64),
    Negative(u64),
    Text(&'a str),
    Array(Vec<Cbor<'a>>),
    Map(Vec<(&'a str, Cbor<'a>)>),
}

impl From<u64> for Cbor<'_> {
    fn from(number: u64) -> Self {
        Cbor::Number(number)
    }
}

impl<'a> From<&'a str> for Cbor<'a> {
    fn from(text: &'a str) -> Self {
        Cbor::Text(text)
    }
}

/// A map of these entries, sorted.
pub fn map<'a, const N: usize>(entries: [(&'a str, Cbor<'a>); N]) -> Cbor<'a> {
    Cbor::Map(entries.to_vec())
}

fn head(major: u8, number: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    match number {
        0..=23 => out.push(major | number as u8),
        24..=0xff => out.extend([major | 24, number as u8]),
        0x100..=0xffff => {
            out.push(major | 25);
            out.extend((number as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(major | 26);
            out.extend((number as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend(number.to_be_bytes());
        }
    }
}

impl Cbor<'_> {
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Cbor::Number(number) => head(0, *number, out),
            Cbor::Negative(number) => head(1, *number, out),
            Cbor::Text(text) => {
                head(3, text.len() as u64, out);
                out.extend(text.as_bytes());
            }
            Cbor::Array(items) => {
                head(4, items.len() as u64, out);
                items.iter().for_each(|item| item.write(out));
            }
            Cbor::Map(entries) => {
                let mut sorted: Vec<_> = entries.iter().collect();
                sorted.sort_by_key(|(key, _)| (key.len(), *key));
                head(5, sorted.len() as u64, out);
                for (key, value) in sorted {
                    Cbor::Text(key).write(out);
                    value.write(out);
                }
            }
        }
    }
}

/// A part of an object.
#[derive(Clone)]
pub struct Part {
    pub role: &'static str,
    pub dtype: &'static str,
    pub logical: Option<&'static str>,
    /// The stored bytes.
    pub stored: Vec<u8>,
    /// The encoding and the decoded size, for encoded parts.
    pub encoded: Option<(&'static str, u64)>,
    pub digest: Option<String>,
}

impl Part {
    pub fn new(role: &'static str, dtype: &'static str, stored: impl Into<Vec<u8>>) -> Part {
        let stored = stored.into();
        Part { role, dtype, logical: None, stored, encoded: None, digest: None }
    }

    /// Sets the type.
    pub fn of_type(self, logical: &'static str) -> Part {
        Part { logical: Some(logical), ..self }
    }

    /// Stores the part as a seekable stream.
    pub fn seekable(self, decoded_length: u64) -> Part {
        self.encoded("zt.zstd-seekable/1", decoded_length)
    }

    /// Sets the encoding.
    pub fn encoded(self, encoding: &'static str, decoded_length: u64) -> Part {
        Part { encoded: Some((encoding, decoded_length)), ..self }
    }

    /// Adds the digest of these bytes.
    pub fn digest_of(self, bytes: &[u8]) -> Part {
        Part { digest: Some(format!("xxh3:{:016x}", xxh3_64(bytes))), ..self }
    }
}

/// An object.
#[derive(Clone)]
pub struct Object {
    pub name: &'static str,
    pub shape: Vec<u64>,
    pub layout: &'static str,
    pub attributes: Option<Cbor<'static>>,
    pub parts: Vec<Part>,
}

impl Object {
    pub fn new(name: &'static str, layout: &'static str, shape: &[u64], parts: Vec<Part>) -> Object {
        Object { name, layout, shape: shape.to_vec(), attributes: None, parts }
    }

    pub fn with(self, attributes: Cbor<'static>) -> Object {
        Object { attributes: Some(attributes), ..self }
    }
}

/// A file with these objects.
pub fn file(objects: &[Object]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut entries = Vec::new();
    for object in objects {
        let parts = object.parts.iter().map(|part| (part.role, self::part(part, &mut out))).collect();
        let shape = object.shape.iter().map(|dimension| Cbor::Number(*dimension)).collect();
        let mut fields = vec![
            ("shape", Cbor::Array(shape)),
            ("layout", object.layout.into()),
            ("parts", Cbor::Map(parts)),
        ];
        fields.extend(object.attributes.clone().map(|attributes| ("attributes", attributes)));
        entries.push((object.name, Cbor::Map(fields)));
    }
    let mut manifest = Vec::new();
    map([("objects", Cbor::Map(entries))]).write(&mut manifest);
    with_manifest(out, &manifest)
}

/// Appends the stored bytes of a part and returns its entry.
fn part<'a>(part: &'a Part, out: &mut Vec<u8>) -> Cbor<'a> {
    out.resize(out.len().next_multiple_of(PAGE), 0);
    let place = [out.len() as u64, part.stored.len() as u64].map(Cbor::Number);
    out.extend(&part.stored);
    let mut fields = vec![("dtype", part.dtype.into()), ("blob", Cbor::Array(place.to_vec()))];
    fields.extend(part.logical.map(|logical| ("type", logical.into())));
    if let Some((encoding, length)) = part.encoded {
        fields.push(("encoding", encoding.into()));
        fields.push(("decoded_length", length.into()));
    }
    fields.extend(part.digest.as_deref().map(|digest| ("digest", digest.into())));
    Cbor::Map(fields)
}

/// A file with this beginning and a manifest of these bytes.
pub fn with_manifest(mut out: Vec<u8>, manifest: &[u8]) -> Vec<u8> {
    out.resize(out.len().next_multiple_of(PAGE), 0);
    let at = out.len();
    out.extend(manifest);
    with_footer(out, at, manifest)
}

/// A file with this beginning and a footer. The footer says that `manifest` is at `at`.
pub fn with_footer(mut out: Vec<u8>, at: usize, manifest: &[u8]) -> Vec<u8> {
    let hash = if manifest.is_empty() { 0 } else { xxh3_64(manifest) };
    let footer = [at as u64, manifest.len() as u64, hash, 2];
    footer.iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.extend(MAGIC);
    out
}

/// The beginning of a file, with these bytes at these offsets.
pub fn blobs<'b>(places: impl Iterator<Item = (usize, &'b [u8])>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.resize(PAGE, 0);
    for (offset, bytes) in places {
        let end = (offset + bytes.len()).next_multiple_of(PAGE);
        out.resize(out.len().max(end), 0);
        out[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    out
}

/// Objects of every format of zTensor 2, with every type that it defines.
pub fn samples() -> Vec<Sample> {
    let mut types = super::every_type();
    types.extend([Logical::F8E8m0].map(|logical| (logical.dtype(), Some(logical))));
    let mut samples: Vec<Sample> = types.into_iter().flat_map(|(d, l)| super::every_format(d, l)).collect();
    samples.retain(|s| ["dense", "sparse_csr", "sparse_coo"].contains(&s.format));
    let data = |logical: Option<Logical>, size: usize| super::Part {
        role: "data",
        dtype: Dtype::U8,
        logical,
        bytes: vec![7; size],
    };
    let scales =
        super::Part { role: "scales", dtype: Dtype::U8, logical: Some(Logical::F8E8m0), bytes: vec![1; 4] };
    let other = |name: &str, format, shape: &[u64], attributes, parts| Sample {
        name: name.to_owned(),
        format,
        shape: shape.to_vec(),
        attributes,
        parts,
    };
    samples.push(other(
        "mx",
        "zt.mx/1",
        &[2, 64],
        r#"{"block_size":32,"scale_form":"e8m0_exponent"}"#,
        vec![data(Some(Logical::F4E2m1), 64), scales],
    ));
    samples.push(other(
        "gguf",
        "gguf.q4_0/1",
        &[2, 32],
        r#"{"elems_per_block":32,"block_bytes":18}"#,
        vec![data(None, 36)],
    ));
    let words = super::Part { role: "data", dtype: Dtype::U32, logical: None, bytes: vec![3; 32] };
    let factors = super::Part { role: "scales", dtype: Dtype::F32, logical: None, bytes: vec![0; 16] };
    samples.push(other(
        "groups",
        "zt.quant_group/1",
        &[4, 16],
        r#"{"bits":4,"group_size":16,"axis":1,"packing":{"word":"u32","order":"lsb_first","per_word":8},
            "scale_form":"f32_factors","zero_point":{"form":"none"}}"#,
        vec![words, factors],
    ));
    samples.push(other(
        "vendor",
        "acme.thing/3",
        &[5],
        r#"{"z":[1,{"b":2.5,"a":null}],"a":true}"#,
        vec![data(None, 3)],
    ));
    samples.push(other(
        "odd",
        "dense",
        &[3],
        "{}",
        vec![super::Part { bytes: vec![0x21, 0x03], ..data(Some(Logical::F4E2m1), 0) }],
    ));
    samples.extend(super::tensors());
    samples.push(Sample::dense("none", Dtype::F32, &[0, 3], Vec::new()));
    samples.push(Sample::dense("scalar", Dtype::F64, &[], vec![1; 8]));
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

/// Codes and scales in every layout that a writer supports: 4 rows of 64 codes.
pub fn groups_of_codes() -> Vec<QuantizedSpec<'static>> {
    fn part(
        role: &'static str,
        dtype: Dtype,
        bytes: &'static [u8],
    ) -> (ComponentSpec<'static>, &'static [u8]) {
        (ComponentSpec::new(role, dtype), bytes)
    }
    let along = |axis| Some(Grouping { axis, ..Grouping::default() });
    let symmetric = QuantizedSpec {
        name: "symmetric",
        shape: &[4, 64],
        bits: Some(4),
        group_size: Some(32),
        packing: None,
        grouping: along(1),
        packed_weight: part("packed_weight", Dtype::U32, &[0x5a; 128]),
        scales: part("scales", Dtype::F16, &[0x11; 16]),
        zeros: None,
    };
    let of_two_bits = QuantizedSpec {
        name: "two bits",
        bits: Some(2),
        packing: Some("4_per_u8"),
        packed_weight: part("packed_weight", Dtype::I8, &[0xa5; 64]),
        scales: part("scales", Dtype::Bf16, &[0x22; 16]),
        ..symmetric
    };
    let powers = ComponentSpec {
        logical: Some(LogicalSpec::Known(Logical::F8E8m0)),
        ..ComponentSpec::new("scales", Dtype::U8)
    };
    vec![
        QuantizedSpec {
            name: "by columns",
            group_size: Some(2),
            grouping: along(0),
            scales: part("scales", Dtype::F32, &[3; 512]),
            ..symmetric
        },
        QuantizedSpec {
            name: "implied",
            packing: Some("8_per_i32"),
            grouping: Some(Grouping { axis: 1, zero_point: -8, is_msb_first: true, zeros_packed: false }),
            ..symmetric
        },
        QuantizedSpec {
            name: "packed zeros",
            grouping: Some(Grouping { axis: 1, zeros_packed: true, ..Grouping::default() }),
            zeros: Some(part("zeros", Dtype::U32, &[0x88; 4])),
            ..symmetric
        },
        QuantizedSpec { name: "plain zeros", zeros: Some(part("zeros", Dtype::U8, &[8; 8])), ..symmetric },
        QuantizedSpec {
            name: "powers",
            bits: Some(8),
            packed_weight: part("packed_weight", Dtype::U64, &[7; 256]),
            scales: (powers, &[127; 8]),
            ..symmetric
        },
        symmetric,
        of_two_bits,
    ]
}
