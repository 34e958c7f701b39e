//! Attributes as keys of a GGUF file: with the types in the file they came from, or with types that can hold
//! them.

use super::blocks;
use super::gguf_layout::{array, Encoder};
use super::job::Job;
use std::collections::HashMap;
use ztensor::container::{GgufValueType, GGUF_MAX_DEPTH, SPLIT_KEYS};
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{Value, ValueKind};

const ALIGNMENT: &[u8] = b"general.alignment";
const DEFAULT_ALIGNMENT: u64 = 32;
const MAX_ALIGNMENT: u64 = 1 << 20;

/// The type of a value, or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    Number(Dtype),
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Scalar(Scalar),
    Array(Scalar),
    /// An array of arrays; each has its own type.
    Nested(Vec<Type>),
}

impl Scalar {
    /// The types that are tried, in this order, for a value without a stated type.
    const TRIED: [Scalar; 8] = [
        Scalar::Text,
        Scalar::Number(Dtype::Bool),
        Scalar::Number(Dtype::I32),
        Scalar::Number(Dtype::U32),
        Scalar::Number(Dtype::I64),
        Scalar::Number(Dtype::U64),
        Scalar::Number(Dtype::F32),
        Scalar::Number(Dtype::F64),
    ];

    fn by_name(name: &str) -> Option<Scalar> {
        match name {
            "string" => Some(Scalar::Text),
            _ => Scalar::of(Dtype::from_name(name)?),
        }
    }

    /// The type of a number of this dtype, if values can have it.
    fn of(dtype: Dtype) -> Option<Scalar> {
        GgufValueType::Number(dtype).number().map(|_| Scalar::Number(dtype))
    }

    fn kind(self) -> GgufValueType {
        match self {
            Scalar::Number(dtype) => GgufValueType::Number(dtype),
            Scalar::Text => GgufValueType::Text,
        }
    }

    /// Whether this type holds the value unchanged.
    fn holds(self, value: Value<'_>) -> bool {
        let Scalar::Number(dtype) = self else {
            return text_of(value).is_some();
        };
        let (unsigned, signed) = (value.as_u64(), value.as_i64());
        match (dtype, value.kind()) {
            (Dtype::Bool, ValueKind::Bool(_)) | (Dtype::F64, ValueKind::Float(_)) => true,
            (Dtype::F32, ValueKind::Float(number)) => number.is_nan() || f64::from(number as f32) == number,
            (Dtype::U8, _) => unsigned.is_some_and(|n| u8::try_from(n).is_ok()),
            (Dtype::U16, _) => unsigned.is_some_and(|n| u16::try_from(n).is_ok()),
            (Dtype::U32, _) => unsigned.is_some_and(|n| u32::try_from(n).is_ok()),
            (Dtype::U64, _) => unsigned.is_some(),
            (Dtype::I8, _) => signed.is_some_and(|n| i8::try_from(n).is_ok()),
            (Dtype::I16, _) => signed.is_some_and(|n| i16::try_from(n).is_ok()),
            (Dtype::I32, _) => signed.is_some_and(|n| i32::try_from(n).is_ok()),
            (Dtype::I64, _) => signed.is_some(),
            _ => false,
        }
    }

    /// Encodes a value. `bits` begin with the recorded bits of the next f32 or bool, if there are any; they
    /// are used if they still match the value.
    fn encode(self, value: Value<'_>, bits: &mut &[u8], out: &mut Encoder) {
        match (self, value.kind()) {
            (Scalar::Text, ValueKind::Text(text)) => out.string(text.as_bytes()),
            (Scalar::Text, ValueKind::Bytes(bytes)) => out.string(bytes),
            (Scalar::Number(Dtype::F32), ValueKind::Float(number)) => {
                let is_same = |noted: f32| f64::from(noted) == number || noted.is_nan() && number.is_nan();
                let noted = next(bits).filter(|noted| is_same(f32::from_le_bytes(*noted)));
                out.number(&noted.unwrap_or_else(|| narrow(number).to_le_bytes()));
            }
            (_, ValueKind::Float(number)) => out.number(&number.to_bits().to_le_bytes()),
            (_, ValueKind::Bool(truth)) => {
                let noted = next(bits).filter(|[noted]| (*noted != 0) == truth);
                out.number(&noted.unwrap_or([u8::from(truth)]));
            }
            (Scalar::Number(dtype), ValueKind::Unsigned(number)) => {
                out.number(&number.to_le_bytes()[..dtype.size()]);
            }
            (Scalar::Number(dtype), _) => {
                out.number(&value.as_i64().unwrap_or_default().to_le_bytes()[..dtype.size()]);
            }
            (Scalar::Text, _) => out.string(b""), // not reached, because the type does not hold the value
        }
    }
}

/// Removes the first bits and returns them.
fn next<const N: usize>(bits: &mut &[u8]) -> Option<[u8; N]> {
    let (next, rest) = bits.split_first_chunk::<N>()?;
    *bits = rest;
    Some(*next)
}

/// The bits of a number as an f32. The bits of a NaN are cut, so that it is the NaN that was widened.
fn narrow(number: f64) -> u32 {
    let bits = number.to_bits();
    match number.is_nan() {
        true => ((bits >> 63) as u32) << 31 | 0x7f80_0000 | (bits >> 29) as u32 & 0x7f_ffff,
        false => (number as f32).to_bits(),
    }
}

impl Type {
    /// The type that was recorded.
    fn noted(noted: Value<'_>) -> Option<Type> {
        if let Some(items) = array(noted) {
            return items.iter().map(Type::noted).collect::<Option<_>>().map(Type::Nested);
        }
        let name = noted.as_text()?;
        match name.strip_suffix("[]") {
            Some(element) => Scalar::by_name(element).map(Type::Array),
            None => Scalar::by_name(name).map(Type::Scalar),
        }
    }

    /// The stated type of a value, or else one that holds it.
    fn found(value: Value<'_>) -> Option<Type> {
        let stated = value.dtype().and_then(Scalar::of);
        let mut tried = stated.into_iter().chain(Scalar::TRIED);
        let Some(items) = array(value) else {
            return tried.find(|scalar| scalar.holds(value)).map(Type::Scalar);
        };
        let of_all = tried.find(|scalar| items.iter().all(|item| scalar.holds(item)));
        let nested =
            || items.iter().map(|item| array(item).and_then(|_| Type::found(item))).collect::<Option<_>>();
        of_all.map(Type::Array).or_else(|| nested().map(Type::Nested))
    }

    /// How deep its arrays nest.
    fn depth(&self) -> usize {
        match self {
            Type::Scalar(_) => 0,
            Type::Array(_) => 1,
            Type::Nested(types) => 1 + types.iter().map(Type::depth).max().unwrap_or(0),
        }
    }

    fn holds(&self, value: Value<'_>) -> bool {
        match (self, array(value)) {
            (Type::Scalar(scalar), None) => scalar.holds(value),
            (Type::Array(scalar), Some(items)) => items.iter().all(|item| scalar.holds(item)),
            (Type::Nested(types), Some(items)) => {
                types.len() == items.len() && types.iter().zip(items.iter()).all(|(t, item)| t.holds(item))
            }
            _ => false,
        }
    }

    /// Encodes the number of the type.
    fn encode_number(&self, out: &mut Encoder) {
        out.kind(if let Type::Scalar(scalar) = self { scalar.kind() } else { GgufValueType::Array });
    }

    fn encode(&self, value: Value<'_>, bits: &mut &[u8], out: &mut Encoder) {
        match (self, array(value)) {
            (Type::Array(scalar), Some(items)) => {
                out.kind(scalar.kind());
                out.size(items.len() as u64);
                items.iter().for_each(|item| scalar.encode(item, bits, out));
            }
            (Type::Nested(types), Some(items)) => {
                out.kind(GgufValueType::Array);
                out.size(items.len() as u64);
                types.iter().zip(items.iter()).for_each(|(t, item)| t.encode(item, bits, out));
            }
            (Type::Scalar(scalar), _) => scalar.encode(value, bits, out),
            _ => {}
        }
    }
}

struct Key<'a> {
    name: &'a [u8],
    value: Value<'a>,
    type_of: Type,
    /// The bits of all its f32 and bools, if `ztensor.origin` has them.
    bits: &'a [u8],
}

/// The keys of a file.
pub struct Keys<'a> {
    keys: Vec<Key<'a>>,
    /// Keys about blocks that this conversion makes. All of them are u32.
    of_blocks: Vec<(&'static str, u32)>,
    alignment: u64,
}

impl<'a> Keys<'a> {
    /// All attributes to write: in recorded order, then the others.
    pub fn of(job: &Job<'a>, origin: Option<Value<'a>>) -> Keys<'a> {
        let noted = origin.and_then(|origin| array(origin.get("keys")?));
        let noted: HashMap<&[u8], (usize, Value<'_>)> = noted
            .into_iter()
            .flat_map(|items| items.iter().enumerate())
            .filter_map(|(at, item)| Some((array(item)?.get(0)?.as_bytes()?, (at, item))))
            .collect();
        let (mut keys, mut alignment) = (Vec::new(), DEFAULT_ALIGNMENT);
        let of_blocks = blocks::facts(job);
        for (key, value) in job.attributes() {
            let refused = |why: &str| job.leave_attribute_out(key, &format!("GGUF cannot represent {why}"));
            let name = match text_of(key) {
                Some(name) if !name.is_empty() => name,
                _ => {
                    refused("its key");
                    continue;
                }
            };
            if of_blocks.iter().any(|(key, _)| name == key.as_bytes()) {
                continue;
            }
            let (at, noted) =
                noted.get(name).copied().map_or((usize::MAX, None), |(at, item)| (at, array(item)));
            let stated =
                noted.and_then(|noted| Type::noted(noted.get(1)?)).filter(|stated| stated.holds(value));
            let is_noted = stated.is_some();
            let is_alignment = name == ALIGNMENT;
            let stated = if is_alignment { Some(Type::Scalar(Scalar::Number(Dtype::U32))) } else { stated };
            let u32_type = Type::Scalar(Scalar::Number(Dtype::U32));
            // llama.cpp reads most numbers only as u32.
            let is_u32 = blocks::KEYS.iter().any(|key| name == key.as_bytes())
                || key.as_text().is_some_and(|key| job.sets(key));
            let is_u32 = is_u32 && u32_type.holds(value);
            let stated = stated.or(is_u32.then_some(u32_type));
            let Some(type_of) = stated.or_else(|| Type::found(value)) else {
                refused("its value");
                continue;
            };
            if type_of.depth() > GGUF_MAX_DEPTH {
                refused(&format!("arrays nested more than {GGUF_MAX_DEPTH} deep"));
                continue;
            }
            if is_alignment {
                let allowed = |n: &u64| n.is_power_of_two() && *n <= MAX_ALIGNMENT;
                let Some(number) = value.as_u64().filter(allowed) else {
                    refused("an alignment that is not a power of two up to 2^20");
                    continue;
                };
                alignment = number;
            }
            let bits = match noted.and_then(|noted| noted.get(2)).map(Value::kind) {
                Some(ValueKind::Bytes(bits)) if is_noted => bits,
                _ => &[],
            };
            keys.push((at, Key { name, value, type_of, bits }));
        }
        keys.sort_by_key(|(at, _)| *at);
        Keys { keys: keys.into_iter().map(|(_, key)| key).collect(), of_blocks, alignment }
    }

    /// The alignment of the data and of each tensor.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The keys of a file. If there are several files, the first has all keys, and the others the keys that
    /// determine positions. Each file has its own part keys.
    fn in_file(&self, part: Option<&Part>) -> impl Iterator<Item = &Key<'a>> {
        let has_all = part.is_none_or(|part| part.number == 0);
        let is_cut = part.is_some();
        self.keys.iter().filter(move |key| {
            let is_of_part = is_cut && SPLIT_KEYS.iter().any(|split| key.name == split.as_bytes());
            !is_of_part && (has_all || key.name == ALIGNMENT)
        })
    }

    /// How many keys a file has.
    pub fn count(&self, part: Option<&Part>) -> u64 {
        let own = part.map_or(0, |_| SPLIT_KEYS.len());
        (self.in_file(part).count() + self.of_blocks(part).len() + own) as u64
    }

    /// Keys about blocks that this conversion makes: all in the first file.
    fn of_blocks(&self, part: Option<&Part>) -> &[(&'static str, u32)] {
        match part.is_none_or(|part| part.number == 0) {
            true => &self.of_blocks,
            false => &[],
        }
    }

    pub fn encode(&self, part: Option<&Part>, out: &mut Encoder) {
        for Key { name, value, type_of, bits } in self.in_file(part) {
            out.string(name);
            type_of.encode_number(out);
            type_of.encode(*value, &mut &**bits, out);
        }
        for (key, number) in self.of_blocks(part) {
            out.string(key.as_bytes());
            out.kind(GgufValueType::Number(Dtype::U32));
            out.number(&number.to_le_bytes());
        }
        if let Some(Part { number, count, tensors }) = part {
            let number = (Dtype::U16, &number.to_le_bytes()[..]);
            let count = (Dtype::U16, &count.to_le_bytes()[..]);
            let tensors = (Dtype::I32, &tensors.to_le_bytes()[..]);
            for (key, (dtype, bytes)) in SPLIT_KEYS.into_iter().zip([number, count, tensors]) {
                out.string(key.as_bytes());
                out.kind(GgufValueType::Number(dtype));
                out.number(bytes);
            }
        }
    }
}

/// What one of several files declares about itself, as in llama.cpp.
pub struct Part {
    /// The number of the file, from 0.
    pub number: u16,
    pub count: u16,
    /// How many tensors all files have.
    pub tensors: i32,
}

/// The bytes of a text, or of a byte string that stays one. Readers treat it as a text if it is UTF-8.
fn text_of(value: Value<'_>) -> Option<&[u8]> {
    value
        .as_bytes()
        .filter(|bytes| matches!(value.kind(), ValueKind::Text(_)) || std::str::from_utf8(bytes).is_err())
}
