//! Values on the command line: objects by name, sizes, new names.

use crate::failure::{Failure, Outcome};
use crate::names;
use crate::remote;
use clap::{Args, ValueEnum};
use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;
use std::sync::Arc;
use ztensor::container::json;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Encoding;
use ztensor::model::value::{OwnedValue, Value};
use ztensor::reader::{File, Object};
use ztensor::writer::check_quantizes_to;

/// A dtype of floats.
#[derive(Clone, Copy, ValueEnum)]
pub enum Floats {
    /// 64 bits
    F64,
    /// 32 bits
    F32,
    /// 16 bits
    F16,
    /// The upper 16 bits of f32
    Bf16,
}

impl Floats {
    pub fn dtype(self) -> Dtype {
        match self {
            Floats::F64 => Dtype::F64,
            Floats::F32 => Dtype::F32,
            Floats::F16 => Dtype::F16,
            Floats::Bf16 => Dtype::Bf16,
        }
    }
}

pub fn encoding(name: &str) -> Result<Encoding, String> {
    let names: Vec<_> = Encoding::written().filter_map(Encoding::name).collect();
    Encoding::from_name(name).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// How to interpret arguments that select objects.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Meaning {
    /// Treat arguments that select objects as patterns, even if an object has exactly that name
    #[arg(long, conflicts_with = "exact")]
    pub glob: bool,
    /// Treat arguments that select objects as names, never as patterns
    #[arg(long)]
    pub exact: bool,
}

/// Objects selected by arguments: an argument is the name of an object if one has exactly that name,
/// otherwise a pattern.
pub struct Chosen {
    matchers: Vec<Matcher>,
}

enum Matcher {
    Name { text: String, name: Vec<u8> },
    Pattern(GlobMatcher),
}

impl Chosen {
    /// The objects that the arguments select in files that the user sees as one.
    pub fn of(texts: &[String], meaning: Meaning, path: &Path, files: &[&File]) -> Outcome<Chosen> {
        let is_there = |name: &[u8]| files.iter().any(|file| file.find(name).is_some());
        let matcher = |text: &String| match names::named(text, files) {
            name if meaning.exact || !meaning.glob && is_there(&name) => {
                Ok(Matcher::Name { text: text.clone(), name })
            }
            _ => glob(text).map(Matcher::Pattern).map_err(|why| {
                let why = format!("no object has the name {text:?}, and as a pattern it is invalid: {why}");
                Failure::at(path, why)
            }),
        };
        Ok(Chosen { matchers: texts.iter().map(matcher).collect::<Outcome<_>>()? })
    }

    /// Like [`Chosen::of`], but rejects an argument that selects nothing: with a wrong name, the command
    /// would seem to succeed.
    pub fn some_of(texts: &[String], meaning: Meaning, path: &Path, files: &[&File]) -> Outcome<Chosen> {
        let chosen = Chosen::of(texts, meaning, path, files)?;
        let idle = chosen.idle(files).next().map(str::to_owned);
        match idle {
            Some(text) => {
                let what = if meaning.exact { "has the name" } else { "matches" };
                Err(Failure::at(path, format!("no object {what} {text:?}")))
            }
            None => Ok(chosen),
        }
    }

    /// Whether an object is selected; without arguments all are.
    pub fn has(&self, object: &Object<'_>) -> bool {
        self.matchers.is_empty() || self.names(object)
    }

    /// Whether an argument selects an object.
    pub fn names(&self, object: &Object<'_>) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(object))
    }

    /// The arguments that select nothing in these files.
    pub fn idle<'a>(&'a self, files: &'a [&File]) -> impl Iterator<Item = &'a str> {
        let is_idle = move |matcher: &&Matcher| {
            !files.iter().flat_map(|file| file.objects()).any(|object| matcher.is_match(&object))
        };
        self.matchers.iter().filter(is_idle).map(Matcher::text)
    }
}

impl Matcher {
    fn is_match(&self, object: &Object<'_>) -> bool {
        match self {
            Matcher::Name { name, .. } => object.name_bytes() == name,
            Matcher::Pattern(glob) => glob.is_match(&*names::text(object)),
        }
    }

    fn text(&self) -> &str {
        match self {
            Matcher::Name { text, .. } => text,
            Matcher::Pattern(glob) => glob.glob().glob(),
        }
    }
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|e| e.kind().to_string())
}

/// Whether a word is one more file to list.
pub fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    path.exists() || remote::is_url(path)
}

/// New names for tensors: the text before and after a `*`, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rename {
    /// A single name.
    Whole(String, String),
    /// All names with this beginning and this end.
    Around((String, String), (String, String)),
}

pub fn rename(text: &str) -> Result<Rename, String> {
    let (old, new) = text.split_once('=').ok_or("not OLD=NEW")?;
    let owned = |(a, b): (&str, &str)| (a.to_owned(), b.to_owned());
    match (old.split_once('*'), new.split_once('*')) {
        (None, None) => Ok(Rename::Whole(old.to_owned(), new.to_owned())),
        (Some(old), Some(new)) if !old.1.contains('*') && !new.1.contains('*') => {
            Ok(Rename::Around(owned(old), owned(new)))
        }
        _ => Err(String::from("use one * on both sides, or none")),
    }
}

/// An attribute to set: the key and the value.
#[derive(Clone)]
pub struct Setting(Arc<(OwnedValue, OwnedValue)>);

impl Setting {
    pub fn key(&self) -> &str {
        self.key_value().as_text().unwrap_or_default()
    }

    pub fn key_value(&self) -> Value<'_> {
        self.0 .0.get()
    }

    pub fn value(&self) -> Value<'_> {
        self.0 .1.get()
    }
}

pub fn setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("not KEY=VALUE")?;
    let pair = OwnedValue::text(key).and_then(|key| Ok((key, value_of(value)?)));
    pair.map(|pair| Setting(Arc::new(pair))).map_err(|why| why.message().to_owned())
}

pub fn sha256(text: &str) -> Result<[u8; 32], String> {
    let mut digest = [0; 32];
    let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (at, byte) in digest.iter_mut().enumerate().filter(|_| is_hex) {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap_or_default();
    }
    if is_hex {
        Ok(digest)
    } else {
        Err(String::from("not 64 hexadecimal digits"))
    }
}

/// The value of an attribute: JSON, or text if it is not valid JSON.
pub fn value_of(text: &str) -> ztensor::error::Result<OwnedValue> {
    json::parse(text).or_else(|_| OwnedValue::text(text))
}

/// The type to quantize tensors to: the tensors with a name, or the usual tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeRule {
    pub name: Option<String>,
    /// `None` keeps their type.
    pub to: Option<Logical>,
}

pub fn type_rule(text: &str) -> Result<TypeRule, String> {
    let (name, to) = text.rsplit_once('=').map_or((None, text), |(name, to)| (Some(name.to_owned()), to));
    if name.is_some() && to == "keep" {
        return Ok(TypeRule { name, to: None });
    }
    let lower = to.to_ascii_lowercase(); // llama.cpp writes Q8_0
    let logical = Logical::from_name(&format!("gguf.{}", lower.strip_prefix("gguf.").unwrap_or(&lower)));
    let logical = logical.ok_or_else(|| {
        format!("{to:?} is not a block type, such as q8_0; --dtype converts to f32, f16 and bf16")
    })?;
    check_quantizes_to(logical).map_err(|why| why.message().to_owned())?;
    Ok(TypeRule { name, to: Some(logical) })
}

/// A size such as 4096, 4K or 2G.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1u64),
    };
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit))
}

pub fn size(text: &str) -> Result<u64, String> {
    bytes(text).filter(|n| *n > 0).ok_or_else(|| String::from("not a number of bytes"))
}

pub fn frame_size(text: &str) -> Result<u64, String> {
    let allowed = |n: &u64| (1 << 10..=1 << 30).contains(n);
    bytes(text).filter(allowed).ok_or_else(|| String::from("not from 1K to 1G"))
}

pub fn alignment(text: &str) -> Result<u64, String> {
    let allowed = |n: &u64| n.is_power_of_two() && (64..=1 << 40).contains(n);
    bytes(text).filter(allowed).ok_or_else(|| String::from("not a power of two from 64 to 1024G"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_powers_of_two_from_64() {
        assert_eq!(alignment("64"), Ok(64));
        assert_eq!(alignment("4K"), Ok(4096));
        assert_eq!(alignment("2m"), Ok(2 << 20));
        for bad in ["", "K", "63", "96", "32", "0", "-64", "1.5K", "9999999999999999999G", "2048G"] {
            assert!(alignment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn renames_have_one_star_on_both_sides_or_none() {
        let own = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(rename("a=b=c"), Ok(Rename::Whole("a".into(), "b=c".into())));
        assert_eq!(rename("model.*=*"), Ok(Rename::Around(own("model.", ""), own("", ""))));
        for bad in ["", "a", "a*=b", "a=b*", "*a*=b*", "*=**"] {
            assert!(rename(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn types_are_those_that_floats_are_quantized_to() {
        let rule = |name: Option<&str>, to| Ok(TypeRule { name: name.map(str::to_owned), to });
        assert_eq!(type_rule("q8_0"), rule(None, Some(Logical::Q8_0)));
        assert_eq!(type_rule("a=b.*=gguf.iq4_nl"), rule(Some("a=b.*"), Some(Logical::Iq4Nl)));
        assert_eq!(type_rule("blk.0.*=keep"), rule(Some("blk.0.*"), None));
        for (bad, why) in
            [("q4_k", "llama-quantize"), ("keep", "not a block type"), ("x=", "not a block type")]
        {
            assert!(type_rule(bad).unwrap_err().contains(why), "{bad}");
        }
    }

    #[test]
    fn a_file_that_is_there_and_a_url_are_not_patterns() {
        let texts = ["Cargo.toml", "https://host/b.zt?a=[", "Cargo.*", "layers.0"];
        assert_eq!(texts.map(is_path), [true, true, false, false]);
    }

    #[test]
    fn a_star_matches_dots_and_slashes() {
        let matcher = glob("layer.*.weight").unwrap();
        assert!(matcher.is_match("layer.0.attention/query.weight"));
        assert!(!matcher.is_match("layer.0.bias"));
        assert!(glob("[").is_err());
    }
}
