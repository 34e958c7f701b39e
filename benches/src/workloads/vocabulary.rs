//! W1 for a GGUF file with the vocabulary of a large tokenizer: strings, merges, scores and types, and few
//! tensors.

use super::open::{memory_head, probe, vocabulary_path};
use crate::data::{gauss_buf, small_specs, total, Rng};
use crate::harness::{case, run_group, Case, Group, Metric, Role, Sample, Unit};
use crate::outcome::group;
use crate::peers::gguf_file::{self, NUMBERS, STRINGS};
use crate::peers::{ggml, gguf_candle, Lap};
use crate::{sys, targets, zt, Cfg};
use serde_json::{json, Value};
use std::ffi::{c_char, c_void, CStr};
use std::path::Path;
use std::ptr::{null, null_mut};

const TOKENS: usize = 256_000;
const MERGES: usize = 280_000;
const TENSORS: usize = 300;

const GGML: &str = "ggml C gguf_init_from_file";

extern "C" {
    fn zt_file_attributes(f: *const zt::File) -> *const c_void;
    fn zt_value_find(value: *const c_void, key: *const c_char) -> *const c_void;
    fn zt_value_count(value: *const c_void) -> usize;
    fn zt_value_read_strings(value: *const c_void, p: *mut *const c_char, n: *mut usize, count: usize)
        -> i32;
    fn zt_value_read_numbers(value: *const c_void, dtype: i32, dst: *mut c_void, count: usize) -> i32;
    fn zt_write_copy_attributes(writer: *mut zt::Writer, file: *const zt::File) -> i32;
}

/// Parts of words with typical lengths: 1 to 16 bytes, 6 on average.
fn token(r: &mut Rng) -> String {
    let length = 1 + r.below(4) + r.below(5) + r.below(3) * r.below(4);
    let letter = |r: &mut Rng| char::from(b"etaoinshrdlucmfwypvbgkqjxz"[r.below(26).min(r.below(26))]);
    let begin = if r.below(2) == 0 { "\u{2581}" } else { "" };
    begin.chars().chain((0..length).map(|_| letter(r))).collect()
}

/// The size of the metadata.
fn generate(gguf: &Path, zt_file: &Path) -> usize {
    let (mut r, mut keys) = (Rng(5), gguf_file::Keys::default());
    let tokens: Vec<String> = (0..TOKENS).map(|_| token(&mut r)).collect();
    let merges: Vec<String> = (0..MERGES).map(|_| format!("{} {}", token(&mut r), token(&mut r))).collect();
    keys.strings("tokenizer.ggml.tokens", &tokens);
    keys.f32s("tokenizer.ggml.scores", (0..TOKENS).map(|n| -(n as f32)));
    keys.i32s("tokenizer.ggml.token_type", (0..TOKENS).map(|n| if n < 300 { 3 } else { 1 }));
    keys.strings("tokenizer.ggml.merges", &merges);
    let specs = small_specs(TENSORS, 16);
    let data = gauss_buf(total(&specs), 1);
    let data = &data.slice()[..total(&specs)];
    let size = gguf_file::write_with(gguf, &keys, &specs, data, gguf_file::F32);
    let (from, mut writer) = (zt::Zt::open(gguf), null_mut());
    zt::ok(unsafe { zt::zt_write_create(zt::cpath(zt_file).as_ptr(), null(), &mut writer) });
    zt::ok(unsafe { zt_write_copy_attributes(writer, from.0) });
    zt::ok(unsafe { zt::zt_write_finish(writer, null_mut()) });
    for file in [gguf, zt_file] {
        sys::evict(file);
        sys::warm(file);
    }
    size
}

/// The caller's memory for results, reused in each round.
struct Places {
    texts: Vec<*const c_char>,
    sizes: Vec<usize>,
    numbers: Vec<u32>,
}

impl Places {
    fn new() -> Places {
        let most = TOKENS.max(MERGES);
        Places { texts: vec![c"".as_ptr(); most], sizes: vec![1; most], numbers: vec![1; most] }
    }
}

/// Opens, reads every string, score and type, and closes.
fn libztensor(file: &Path, places: &mut Places) -> Sample {
    let Places { texts, sizes, numbers } = places;
    let mut t = Lap::start();
    let f = zt::Zt::open(file);
    let opened = t.lap();
    let find = |key: &CStr| {
        let value = unsafe { zt_value_find(zt_file_attributes(f.0), key.as_ptr()) };
        assert!(!value.is_null());
        (value, unsafe { zt_value_count(value) })
    };
    let mut sum = 0usize;
    for (value, count) in STRINGS.map(find) {
        zt::ok(unsafe { zt_value_read_strings(value, texts.as_mut_ptr(), sizes.as_mut_ptr(), count) });
        sum = sizes[..count].iter().fold(sum, |sum, size| sum.wrapping_add(*size));
    }
    for (key, dtype) in NUMBERS {
        let (value, count) = find(key);
        zt::ok(unsafe { zt_value_read_numbers(value, dtype, numbers.as_mut_ptr().cast(), count) });
        sum = sum.wrapping_add(numbers[count - 1] as usize);
    }
    std::hint::black_box(sum);
    let read = t.lap();
    drop(f);
    vec![opened, read, t.lap()]
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    vec![group("W1/vocabulary", || measure(cfg))]
}

fn measure(cfg: &Cfg) -> Value {
    let (gguf, zt_file) = (vocabulary_path(&cfg.dir), cfg.dir.join("w1-vocabulary.zt"));
    let size = generate(&gguf, &zt_file);
    let (mut one, mut other) = (Places::new(), Places::new());
    let cases: Vec<Case> = vec![
        case(Role::Libztensor, "libztensor of GGUF", || libztensor(&gguf, &mut one)),
        case(Role::Libztensor, "libztensor of the same in .zt", || libztensor(&zt_file, &mut other)),
        case(Role::Peer, GGML, || ggml::vocabulary(&gguf)),
        case(Role::Peer, "candle-core 0.11.1 gguf Content::read", || {
            let mut t = Lap::start();
            let content = gguf_candle::open(&gguf);
            let opened = t.lap();
            drop(content);
            vec![opened, None, t.lap()]
        }),
    ];
    let metric = |name| Metric { name, unit: Unit::Items((TOKENS + MERGES) as f64), limit: GGML };
    let g = Group {
        id: "W1/vocabulary".into(),
        title: format!(
            "open, read the arrays of a vocabulary, close; {TOKENS} tokens, {MERGES} merges, warm"
        ),
        metrics: vec![metric("open"), metric("read"), metric("close")],
        cases,
        notes: vec![format!("metadata {size} B, {TENSORS} tensors")],
    };
    let mut v = run_group(g, cfg.reps(7), 1);
    memory_head();
    let probes: Vec<Value> =
        ["libztensor-vocabulary", "ggml-vocabulary"].map(|reader| probe(cfg, reader, TENSORS)).into();
    if let Some(kib) = probes[0]["after_open"]["rss_anon_kib"].as_i64() {
        let kib = kib.max(probes[0]["after_open"]["malloc_kib"].as_i64().unwrap_or(0));
        targets::judge("W1/vocabulary memory, live after open", kib as f64 * 1024.0 / size as f64, "x", 1.3);
    }
    if let Some(kib) = probes[0]["after_open"]["peak_kib"].as_i64() {
        println!("   peak of open: {:.2} times the metadata", kib as f64 * 1024.0 / size as f64);
    }
    v["memory"] = json!(probes);
    let _ = (std::fs::remove_file(&gguf), std::fs::remove_file(&zt_file));
    v
}
