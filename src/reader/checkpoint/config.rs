//! What a model's `config.json` says of how its weights are quantized. It is as hostile as any file.

use crate::container::json;
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::io::path;
use crate::memory::{in_memory, push, zeroed, Budget};
use crate::model::sort::sort_by;
use crate::model::value::{OwnedValue, Value, ValueKind};
use crate::reader::store::Store;
use std::path::Path;

/// Larger configurations are not read.
const MAX_SIZE: u64 = 4 << 20;
/// Bytes of memory that a parsed text takes at most, as a multiple of the text.
const PARSED: u64 = 16;
/// The most forms of weights in one configuration of compressed-tensors.
const MAX_FORMS: usize = 64;

/// What is known of a quantization. All is taken out of the files once: a search in them takes as long as
/// they are large.
#[derive(Default)]
pub struct Config {
    /// The tool; empty where nothing says it.
    pub method: String,
    pub bits: Option<u64>,
    /// -1 if each row has one scale.
    pub group_size: Option<i64>,
    pub checkpoint_format: Option<String>,
    pub version: Option<String>,
    /// The codes are in the order of a GPU's kernel.
    pub is_marlin: bool,
    /// Each column of GPTQ states its group.
    pub has_order: bool,
    /// The size of groups of GPTQ differs between modules.
    pub has_group_sizes: bool,
    /// Rows and columns that have a scale in common.
    pub block: Option<[u64; 2]>,
    /// The forms of weights that compressed-tensors lists, each once.
    pub forms: Vec<Form>,
    /// What MLX says of all modules, and of single ones, sorted by their names.
    pub mlx: Option<MlxForm>,
    mlx_modules: Vec<(String, MlxForm)>,
    /// None of these modules is in the file.
    pub has_other_modules: bool,
    is_there: bool,
    /// Why a file could not be read.
    broken: Option<Error>,
}

/// One form of weights of compressed-tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub bits: u64,
    pub group_size: Option<u64>,
    pub is_symmetric: bool,
    /// Each column says its group.
    pub has_order: bool,
}

/// How MLX quantized a module.
#[derive(Clone, Copy)]
pub struct MlxForm {
    pub bits: Option<u64>,
    pub group_size: Option<u64>,
    /// None if this version does not know the mode.
    pub mode: Option<MlxMode>,
}

/// The name of a mode, and its bits and group size. The first mode has integers of any bits, with a scale and
/// what is added.
type MlxMode = (&'static str, Option<(u64, u64)>);

const MLX_MODES: [MlxMode; 4] =
    [("affine", None), ("mxfp4", Some((4, 32))), ("mxfp8", Some((8, 32))), ("nvfp4", Some((4, 16)))];

impl Config {
    /// Reads the files beside a model.
    pub fn read(store: &dyn Store, folder: &Path, budget: &Budget) -> Result<Config> {
        let mut config = Config::default();
        for name in ["config.json", "hf_quant_config.json"] {
            let read = read_file(store, &path::join(folder, Path::new(name))?, budget);
            match read.map_err(|e| e.within(format_args!("{name}"))) {
                Ok(None) => {}
                Ok(Some(value)) if name == "config.json" => config.take(value.get())?,
                Ok(Some(value)) => config.take_modelopt(value.get())?,
                Err(e) if matches!(e.cause(), Cause::OutOfMemory | Cause::Limit) => return Err(e),
                Err(e) => config.broken = config.broken.or(Some(e)),
            }
        }
        Ok(config)
    }

    fn take(&mut self, file: Value<'_>) -> Result<()> {
        let map_of = |key: &str| file.get(key).filter(|map| map.as_map().is_some());
        if let Some(map) = map_of("quantization") {
            self.take_mlx(map)?;
        }
        let of_text =
            || file.get("text_config")?.get("quantization_config").filter(|map| map.as_map().is_some());
        let map = map_of("quantization_config").or_else(|| map_of("compression_config")).or_else(of_text);
        let Some(map) = map else { return Ok(()) };
        self.is_there = true;
        self.method = self.text(map, "quant_method")?.unwrap_or_default();
        self.bits = self.value(map, "bits", Value::as_u64);
        self.group_size = self.value(map, "group_size", Value::as_i64);
        self.checkpoint_format = self.text(map, "checkpoint_format")?;
        self.version = self.text(map, "version")?;
        self.is_marlin = self.value(map, "is_marlin_format", truth).unwrap_or(false);
        self.has_order = self.value(map, "desc_act", truth).unwrap_or(false);
        let of_modules = map.get("dynamic").into_iter().flat_map(Value::pairs);
        self.has_group_sizes = of_modules.into_iter().any(|(_, own)| own.get("group_size").is_some());
        self.block = self.value(map, "weight_block_size", numbers);
        self.take_forms(map)
    }

    /// The value of a key. One of another kind makes the configuration one that cannot be understood.
    fn value<'v, T>(
        &mut self,
        map: Value<'v>,
        key: &str,
        read: impl Fn(Value<'v>) -> Option<T>,
    ) -> Option<T> {
        let value = map.get(key).filter(|value| !matches!(value.kind(), ValueKind::Null))?;
        let found = read(value);
        if found.is_none() && self.broken.is_none() {
            let what = "config.json: its value for";
            self.broken = Some(fail!(Unsupported, "{what} {key:?} is not of the kind that it has to be"));
        }
        found
    }

    fn text(&mut self, map: Value<'_>, key: &str) -> Result<Option<String>> {
        let text = self.value(map, key, Value::as_text);
        text.map(|text| try_format(format_args!("{text}"))).transpose()
    }

    /// Fails if a part of the configuration could not be understood, which may be the one that matters.
    pub fn expect_whole(&self) -> Result<()> {
        match &self.broken {
            Some(_) => Err(self.lacks("form of its codes")),
            None => Ok(()),
        }
    }

    fn take_modelopt(&mut self, file: Value<'_>) -> Result<()> {
        if self.method.is_empty() && file.get("quantization").is_some() {
            self.is_there = true;
            self.method = try_format(format_args!("modelopt"))?;
        }
        Ok(())
    }

    fn take_mlx(&mut self, map: Value<'_>) -> Result<()> {
        let form = |map: Value<'_>| {
            let mode = map.get("mode").map_or(Some("affine"), Value::as_text);
            MlxForm {
                bits: map.get("bits").and_then(Value::as_u64),
                group_size: map.get("group_size").and_then(Value::as_u64),
                mode: MLX_MODES.into_iter().find(|(name, _)| mode == Some(*name)),
            }
        };
        self.is_there = true;
        self.mlx = Some(form(map));
        for (module, own) in map.pairs() {
            if let (Some(module), true) = (module.as_text(), own.as_map().is_some()) {
                push(&mut self.mlx_modules, (try_format(format_args!("{module}"))?, form(own)))?;
            }
        }
        sort_by(&mut self.mlx_modules, |(a, _), (b, _)| a.cmp(b));
        Ok(())
    }

    fn take_forms(&mut self, map: Value<'_>) -> Result<()> {
        let groups = map.get("config_groups");
        for (_, group) in groups.into_iter().flat_map(Value::pairs) {
            let Some(weights) = group.get("weights") else { continue };
            let Some(bits) = self.value(weights, "num_bits", Value::as_u64) else { continue };
            let group_size = self.value(weights, "group_size", Value::as_i64);
            let group_size = group_size.and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0);
            let is_symmetric = self.value(weights, "symmetric", truth).unwrap_or(true);
            let has_order = match weights.get("actorder").map(Value::kind) {
                Some(ValueKind::Bool(is_so)) => is_so,
                Some(ValueKind::Text(order)) => ["group", "dynamic"].contains(&order.as_str()),
                _ => false,
            };
            let is_float = self.text(weights, "type")?.is_some_and(|kind| kind == "float");
            let form = Form { bits, group_size, is_symmetric, has_order };
            if is_float || self.forms.contains(&form) {
                continue;
            }
            if self.forms.len() >= MAX_FORMS {
                return Err(fail!(Limit, "config.json lists more than {MAX_FORMS} forms of weights"));
            }
            push(&mut self.forms, form)?;
        }
        Ok(())
    }

    /// An error that says what the configuration lacks.
    #[cold]
    pub fn lacks(&self, what: &str) -> Error {
        match &self.broken {
            Some(why) if matches!(why.cause(), Cause::Broken(_)) => why.again(),
            Some(why) => fail!(Unsupported, "{why}"),
            None if self.is_there => {
                fail!(Unsupported, "config.json beside the model does not say the {what}")
            }
            None => fail!(
                Unsupported,
                "the {what} is not known: there is no config.json with a quantization_config beside the model"
            ),
        }
    }

    /// What MLX says of a module: of it alone, or of all.
    pub fn mlx_form(&self, module: &[u8]) -> Option<MlxForm> {
        let all = self.mlx?;
        let found = self.mlx_modules.binary_search_by(|(name, _)| name.as_bytes().cmp(module));
        found.ok().and_then(|at| self.mlx_modules.get(at)).map(|(_, form)| *form).or(Some(all))
    }

    /// The modules for which MLX says something else than for all.
    pub fn mlx_modules(&self) -> impl Iterator<Item = &str> {
        self.mlx_modules.iter().map(|(name, _)| name.as_str())
    }
}

fn truth(value: Value<'_>) -> Option<bool> {
    match value.kind() {
        ValueKind::Bool(truth) => Some(truth),
        _ => None,
    }
}

/// Two sizes.
fn numbers(list: Value<'_>) -> Option<[u64; 2]> {
    let ValueKind::Array(items) = list.kind() else { return None };
    match (items.len(), items.get(0)?.as_u64(), items.get(1)?.as_u64()) {
        (2, Some(a @ 1..), Some(b @ 1..)) => Some([a, b]),
        _ => None,
    }
}

/// The value of a JSON file; none where there is no such file.
fn read_file(store: &dyn Store, path: &Path, budget: &Budget) -> Result<Option<OwnedValue>> {
    let source = match store.open(path) {
        Ok(opened) => opened.source,
        Err(e) if e.cause() == Cause::NoFile => return Ok(None),
        Err(e) => return Err(e),
    };
    let size = source.size();
    if size > MAX_SIZE {
        return Err(fail!(Unsupported, "it has {size} bytes, and at most {MAX_SIZE} are read"));
    }
    budget.charge(size.saturating_mul(PARSED), "config.json")?;
    let mut bytes = zeroed(in_memory(size)?)?;
    source.read_at(0, &mut bytes)?;
    replace_python_numbers(&mut bytes);
    parse(&bytes).map(Some)
}

/// Replaces NaN and Infinity, which Python writes and JSON does not have, with 0. No setting has such a
/// value.
fn replace_python_numbers(json: &mut [u8]) {
    let mut is_text = false;
    let mut at = 0;
    while let Some(rest) = json.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let word = [&b"NaN"[..], b"Infinity"].into_iter().find(|word| !is_text && rest.starts_with(word));
        let length = match (word, rest.first()) {
            (Some(word), _) => {
                rest.iter_mut().take(word.len()).for_each(|byte| *byte = b' ');
                rest.iter_mut().take(1).for_each(|byte| *byte = b'0');
                word.len()
            }
            (None, Some(b'\\')) if is_text => 2,
            (None, Some(b'"')) => {
                is_text = !is_text;
                1
            }
            _ => 1,
        };
        at = at.saturating_add(length);
    }
}

pub fn parse(bytes: &[u8]) -> Result<OwnedValue> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| geometry!("it is not JSON: it is not UTF-8"))?;
    json::parse(text).map_err(|e| geometry!("it is not JSON: {e}"))
}
