//! `zt info --memory`: the bytes of a model in memory, by type and by layer, and of its key-value cache.

use crate::failure::Outcome;
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{elements, fold, names, text};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;
use ztensor::model::value::{Value, ValueKind};
use ztensor::reader::File;

/// Bytes of a number in the cache: f16.
const CACHED: u64 = 2;

/// A count of objects or components, and their bytes in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Layers with the same sums.
struct Layers {
    name: String,
    count: u64,
    each: Sum,
}

/// The bytes of a model in memory.
pub struct Memory {
    types: BTreeMap<String, Sum>,
    layers: Vec<Layers>,
    other: Sum,
    tensors: u64,
    cache: Result<Cache, String>,
}

/// The sizes of a key-value cache.
struct Cache {
    layers: u64,
    /// Of all layers.
    heads: u128,
    /// Of each layer, if all are equal.
    heads_of_each: Option<u64>,
    key: u64,
    value: u64,
    context: u64,
    bytes: u64,
}

/// The prefix of a layer and its number: the first part of a name that is a number.
fn layer(name: &str) -> Option<(&str, u32)> {
    let mut start = 0;
    name.split(['.', '/']).find_map(|part| {
        let before = start;
        start += part.len() + 1;
        let number = part.parse::<u32>().ok().filter(|number| number.to_string() == part)?;
        Some((&name[..before], number))
    })
}

impl Memory {
    pub fn of(file: &File, context: Option<u64>) -> Memory {
        let (mut types, mut other, mut tensors) = (BTreeMap::new(), Sum::default(), 0u64);
        let mut by_layer: BTreeMap<(String, u32), Sum> = BTreeMap::new();
        for object in file.objects() {
            let mut bytes = 0u64;
            for component in object.components() {
                let decoded = component.size().unwrap_or(component.stored_size()); // unless it is unknown
                types.entry(elements::full_type_name(&component)).or_insert(Sum::default()).add(decoded);
                bytes = bytes.saturating_add(decoded);
            }
            tensors = tensors.saturating_add(bytes);
            match layer(&names::shown(&object)) {
                Some((prefix, number)) => by_layer.entry((prefix.to_owned(), number)).or_default().add(bytes),
                None => other.add(bytes),
            }
        }
        let mut equal: BTreeMap<(String, Sum), Vec<u32>> = BTreeMap::new();
        for ((prefix, number), sum) in by_layer {
            equal.entry((prefix, sum)).or_default().push(number);
        }
        let mut equal: Vec<_> = equal.into_iter().collect();
        equal.sort_by(|((a, _), first), ((b, _), second)| (a, first).cmp(&(b, second)));
        let layers = equal.into_iter().map(|((prefix, each), numbers)| Layers {
            name: format!("{prefix}{}", fold::shown(&numbers)),
            count: numbers.len() as u64,
            each,
        });
        let layers = layers.collect();
        let cache = Cache::of(file.attributes().unwrap_or(Value::EMPTY_MAP), context);
        Memory { types, layers, other, tensors, cache }
    }

    pub fn write(&self, out: &mut Output) -> Outcome<()> {
        let (left, right) = (|heading| (heading, Align::Left), |heading| (heading, Align::Right));
        let mut table = Table::new(&[left("TYPE"), right("COMPONENTS"), right("BYTES"), right("SHARE")]);
        for (name, sum) in &self.types {
            let share = sum.bytes as f64 / self.tensors.max(1) as f64 * 100.0;
            let name = text::name(name).into_owned();
            table.row(vec![name, sum.count.to_string(), text::size(sum.bytes), format!("{share:.1} %")]);
        }
        table.write(out)?;
        out.put("\n")?;
        let mut table = Table::new(&[
            left("LAYERS"),
            right("COUNT"),
            right("OBJECTS EACH"),
            right("BYTES EACH"),
            right("BYTES"),
        ]);
        let rest = Layers { name: String::from("other"), count: 1, each: self.other };
        for Layers { name, count, each } in self.layers.iter().chain((rest.each.count > 0).then_some(&rest)) {
            table.row(vec![
                name.clone(),
                count.to_string(),
                each.count.to_string(),
                text::size(each.bytes),
                text::size(each.bytes.saturating_mul(*count)),
            ]);
        }
        table.write(out)?;
        out.line(format_args!("\ntensors  {}", text::size(self.tensors)))?;
        match &self.cache {
            Ok(cache) => {
                out.line(format_args!("cache    {}: {}", text::size(cache.bytes), cache.formula()))?;
                let sum = self.tensors.saturating_add(cache.bytes);
                out.line(format_args!("sum      {}", text::size(sum)))
            }
            Err(why) => out.line(format_args!("cache    not estimated: {}", text::one_line(why))),
        }
    }

    pub fn as_json(&self) -> Json {
        let types = self.types.iter();
        let types = types
            .map(|(name, sum)| json!({ "type": name, "components": sum.count, "bytes": sum.bytes }))
            .collect::<Vec<_>>();
        let layers = self.layers.iter().map(|Layers { name, count, each }| {
            json!({ "names": name, "layers": count, "objects_each": each.count, "bytes_each": each.bytes })
        });
        let cache = self.cache.as_ref().ok();
        json!({
            "types": types,
            "layers": layers.collect::<Vec<_>>(),
            "other_objects": self.other.count,
            "other_bytes": self.other.bytes,
            "tensor_bytes": self.tensors,
            "cache_bytes": cache.map(|cache| cache.bytes),
            "cache_formula": cache.map(Cache::formula),
            "cache_not_estimated": self.cache.as_ref().err(),
            "context": cache.map(|cache| cache.context),
        })
    }
}

/// The attributes of a model's architecture.
struct Model<'a> {
    attributes: Value<'a>,
    architecture: &'a str,
}

impl<'a> Model<'a> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    fn get(&self, name: &str) -> Option<Value<'a>> {
        self.attributes.get(&self.key(name))
    }

    /// A positive integer, if the attribute exists.
    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_u64() {
            None | Some(0) => Err(format!("{} is not a positive integer", self.key(name))),
            number => Ok(number),
        }
    }

    fn required(&self, name: &str) -> Result<u64, String> {
        self.number(name)?.ok_or_else(|| format!("the file has no attribute {}", self.key(name)))
    }

    /// Why its cache is not a key and a value for each position, head and layer.
    fn odd(&self) -> Option<String> {
        const ODD: [(&str, &str); 9] = [
            ("attention.kv_lora_rank", "the attention is latent"),
            ("attention.key_length_mla", "the attention is latent"),
            ("attention.sliding_window", "the attention has a sliding window"),
            ("attention.sliding_window_pattern", "the attention has a sliding window"),
            ("attention.chunk_size", "the attention has a window"),
            ("attention.shared_kv_layers", "layers share their keys and values"),
            ("decoder_start_token_id", "the model has an encoder"),
            ("token_shift_count", "layers have a state instead of keys"),
            ("shortconv.l_cache", "layers have a state instead of keys"),
        ];
        let is_used =
            |value: Value<'_>| !matches!(value.kind(), ValueKind::Unsigned(0) | ValueKind::Bool(false));
        let found = ODD.iter().find(|(name, _)| self.get(name).is_some_and(is_used));
        if let Some((name, why)) = found {
            return Some(format!("{why} ({})", self.key(name)));
        }
        if self.get("attention.causal").is_some_and(|value| matches!(value.kind(), ValueKind::Bool(false))) {
            return Some(format!("the model is not causal ({})", self.key("attention.causal")));
        }
        let prefixes = ["ssm.", "wkv.", "kda."].map(|prefix| self.key(prefix));
        let mut keys = self.attributes.pairs().filter_map(|(key, _)| key.as_text());
        if let Some(key) = keys.find(|key| prefixes.iter().any(|prefix| key.starts_with(prefix.as_str()))) {
            return Some(format!("layers have a state instead of keys ({key})"));
        }
        let is_of_states = ["mamba", "rwkv", "arwkv"].iter().any(|name| self.architecture.starts_with(name));
        is_of_states.then(|| format!("layers have a state instead of keys ({})", self.architecture))
    }

    /// The key-value heads of all layers, and of each layer if they are equal.
    fn heads(&self, layers: u64) -> Result<(u128, Option<u64>), String> {
        let name = match self.get("attention.head_count_kv") {
            Some(_) => "attention.head_count_kv",
            None => "attention.head_count",
        };
        let Some(ValueKind::Array(items)) = self.get(name).map(Value::kind) else {
            let each = self.required(name)?;
            return Ok((u128::from(each) * u128::from(layers), Some(each)));
        };
        if items.len() as u64 != layers {
            let key = self.key(name);
            return Err(format!("{key} has {} items, but the model has {layers} layers", items.len()));
        }
        // A layer without attention has 0 heads.
        let numbers: Option<Vec<u64>> = items.iter().map(Value::as_u64).collect();
        let sum = numbers.iter().flatten().map(|heads| u128::from(*heads)).sum();
        let numbers = numbers.filter(|_| sum > 0);
        let numbers = numbers.ok_or_else(|| format!("{} are not numbers of heads", self.key(name)))?;
        let first = numbers.first().copied().filter(|first| numbers.iter().all(|heads| heads == first));
        Ok((sum, first))
    }

    /// The numbers of a head's key or value in a position.
    fn length(&self, name: &str) -> Result<u64, String> {
        if let Some(length) = self.number(name)? {
            return Ok(length);
        }
        let (embedding, heads) = (self.required("embedding_length")?, self.required("attention.head_count")?);
        match embedding % heads {
            0 => Ok(embedding / heads),
            _ => Err(format!(
                "{} {embedding} is not a multiple of {} {heads}",
                self.key("embedding_length"),
                self.key("attention.head_count")
            )),
        }
    }
}

impl Cache {
    fn of(attributes: Value<'_>, context: Option<u64>) -> Result<Cache, String> {
        let architecture = attributes.get("general.architecture");
        let architecture = architecture.ok_or("no attribute general.architecture, as GGUF files have")?;
        let architecture = architecture.as_text().ok_or("general.architecture is not a text")?;
        let model = Model { attributes, architecture };
        if let Some(why) = model.odd() {
            return Err(why);
        }
        let layers = model.required("block_count")?;
        let (heads, heads_of_each) = model.heads(layers)?;
        let (key, value) = (model.length("attention.key_length")?, model.length("attention.value_length")?);
        let context = match context {
            Some(context) => context,
            None => model.required("context_length").map_err(|why| format!("{why}; pass --context N"))?,
        };
        let numbers = u128::from(key) + u128::from(value);
        let bytes = heads.checked_mul(numbers).and_then(|n| n.checked_mul(u128::from(context)));
        let bytes = bytes.and_then(|n| n.checked_mul(u128::from(CACHED)));
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = bytes.ok_or("the attributes and the context give more than 2^64 bytes")?;
        Ok(Cache { layers, heads, heads_of_each, key, value, context, bytes })
    }

    fn formula(&self) -> String {
        let Cache { layers, heads, key, value, context, .. } = self;
        let head = match key == value {
            true => format!("head size {key}"),
            false => format!("head size ({key} + {value})"),
        };
        let twice = if key == value { "2 x " } else { "" };
        let heads = match self.heads_of_each {
            Some(each) => format!("{layers} layers x {each} kv heads"),
            None => format!("{heads} kv heads in {layers} layers"),
        };
        format!("{twice}{heads} x {head} x context {context} x {CACHED} bytes (f16)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_name_is_its_layer() {
        assert_eq!(layer("blk.10.attn_q.weight"), Some(("blk.", 10)));
        assert_eq!(layer("model/layers/3/experts/7/w"), Some(("model/layers/", 3)));
        assert_eq!(layer("0.weight"), Some(("", 0)));
        for name in ["", "output.weight", "conv1.weight", "a.01.w", "a.4294967296", "a.+1.w"] {
            assert_eq!(layer(name), None, "{name}");
        }
    }
}
