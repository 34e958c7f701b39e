//! `zt info --memory`: bytes by type and by layer, and the key-value cache.

use crate::common;

use common::{data, folder, run};
use std::path::PathBuf;

/// A GGUF file with two tensors in each of `layers` layers, one other tensor, and these keys.
fn model(name: &str, layers: usize, keys: &[(&str, Key)]) -> PathBuf {
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    let mut names: Vec<_> =
        (0..layers).flat_map(|at| [format!("blk.{at}.a"), format!("blk.{at}.b")]).collect();
    names.push(String::from("output.weight"));
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend((names.len() as u64).to_le_bytes());
    out.extend((keys.len() as u64).to_le_bytes());
    for (key, value) in keys {
        text(&mut out, key);
        match value {
            Key::Text(value) => {
                out.extend(8u32.to_le_bytes());
                text(&mut out, value);
            }
            Key::Number(number) => {
                out.extend(10u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Key::Negative(number) => {
                out.extend(11u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Key::Numbers(numbers) => {
                out.extend([9u32, 5].map(u32::to_le_bytes).concat());
                out.extend((numbers.len() as u64).to_le_bytes());
                numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
            }
        }
    }
    for (at, name) in names.iter().enumerate() {
        text(&mut out, name);
        out.extend(1u32.to_le_bytes());
        out.extend(8u64.to_le_bytes()); // 8 numbers of f32 fill the alignment
        out.extend(0u32.to_le_bytes());
        out.extend((at as u64 * 32).to_le_bytes());
    }
    out.resize(out.len().next_multiple_of(32) + names.len() * 32, 0);
    let path = folder(name).join("m.gguf");
    std::fs::write(&path, out).unwrap();
    path
}

#[derive(Clone)]
enum Key {
    Text(&'static str),
    Number(u64),
    Negative(i64),
    Numbers(Vec<i32>),
}
use Key::{Negative, Number, Numbers, Text};

/// The keys of a llama with 4 layers.
fn llama() -> Vec<(&'static str, Key)> {
    vec![
        ("general.architecture", Text("llama")),
        ("llama.block_count", Number(4)),
        ("llama.context_length", Number(1024)),
        ("llama.embedding_length", Number(256)),
        ("llama.attention.head_count", Number(8)),
        ("llama.attention.head_count_kv", Number(2)),
    ]
}

/// The keys of a llama with one other.
fn with(key: &'static str, value: Key) -> Vec<(&'static str, Key)> {
    let mut keys = llama();
    keys.retain(|(name, _)| *name != key);
    keys.push((key, value));
    keys
}

/// The line about the cache.
fn cache(keys: &[(&str, Key)], words: &[&str]) -> String {
    let thread = format!("{:?}", std::thread::current().id()); // tests run at the same time
    let path = model(&thread, 4, keys);
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"info", &"--memory", &path];
    all.extend(words.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
    let out = run(&all).good();
    out.lines().find_map(|line| line.strip_prefix("cache    ")).unwrap_or_else(|| panic!("{out}")).to_owned()
}

#[test]
fn bytes_are_summed_by_type_and_by_layer() {
    let out = run(&[&"info", &"--memory", &model("memory", 4, &llama())]).good();
    let rows: Vec<_> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "TYPE COMPONENTS BYTES SHARE",
        "f32 9 288 B 100.0 %",
        "",
        "LAYERS COUNT OBJECTS EACH BYTES EACH BYTES",
        "blk.{0-3} 4 2 64 B 256 B",
        "other 1 1 32 B 32 B",
        "",
        "tensors 288 B",
        "cache 1.0 MiB: 2 x 4 layers x 2 kv heads x head size 32 x context 1024 x 2 bytes (f16)",
        "sum 1.0 MiB",
    ];
    assert_eq!(rows, expected);
    // Compressed bytes are decoded in memory, and other files have no attributes for a cache.
    let path = data().join("v1.2/py-1.2.3-zstd.zt");
    let out = run(&[&"info", &"--memory", &path]).good();
    assert!(out.contains("cache    not estimated: no attribute general.architecture, as GGUF files have\n"));
    let totals = run(&[&"ls", &path]).good();
    let tensors = out.lines().find_map(|line| line.strip_prefix("tensors  ")).unwrap();
    assert!(totals.contains(&format!(", {tensors} decoded;")), "{totals} {out}");
}

#[test]
fn the_cache_is_what_the_attributes_say() {
    let f16 = "x 2 bytes (f16)";
    let is = |keys: &[(&str, Key)], words: &[&str], said: &str| {
        assert_eq!(cache(keys, words), format!("{said} {f16}"));
    };
    let heads = "2 x 4 layers x 2 kv heads x head size 32";
    is(&llama(), &["--context", "4096"], &format!("4.0 MiB: {heads} x context 4096"));
    let keys = with("llama.attention.head_count_kv", Numbers(vec![2, 0, 2, 4]));
    is(&keys, &[], "1.0 MiB: 2 x 8 kv heads in 4 layers x head size 32 x context 1024");
    let keys = with("llama.attention.head_count_kv", Numbers(vec![2; 4]));
    is(&keys, &[], &format!("1.0 MiB: {heads} x context 1024"));
    let keys = with("llama.attention.value_length", Number(16));
    is(&keys, &[], "768.0 KiB: 4 layers x 2 kv heads x head size (32 + 16) x context 1024");
    // Without kv heads, each head has its own key and value.
    let mut keys = llama();
    keys.pop();
    is(&keys, &[], "4.0 MiB: 2 x 4 layers x 8 kv heads x head size 32 x context 1024");
    let keys = with("llama.attention.sliding_window", Number(0));
    is(&keys, &[], &format!("1.0 MiB: {heads} x context 1024"));
}

#[test]
fn what_cannot_be_estimated_says_why() {
    for (key, value, why) in [
        (
            "llama.attention.kv_lora_rank",
            Number(512),
            "the attention is latent (llama.attention.kv_lora_rank)",
        ),
        ("llama.attention.sliding_window", Number(512), "the attention has a sliding window"),
        ("llama.ssm.state_size", Number(16), "layers have a state instead of keys (llama.ssm.state_size)"),
        ("general.architecture", Text("rwkv7"), "layers have a state instead of keys (rwkv7)"),
        ("general.architecture", Text("a\u{1b}[31m"), "the file has no attribute a\\u{1b}[31m.block_count"),
        ("general.architecture", Number(1), "general.architecture is not a text"),
        ("llama.block_count", Number(0), "llama.block_count is not a positive integer"),
        ("llama.block_count", Negative(-4), "llama.block_count is not a positive integer"),
        ("llama.block_count", Text("4"), "llama.block_count is not a positive integer"),
        ("llama.block_count", Number(u64::MAX), "more than 2^64 bytes"),
        ("llama.context_length", Number(u64::MAX), "more than 2^64 bytes"),
        (
            "llama.context_length",
            Number(0),
            "llama.context_length is not a positive integer; pass --context N",
        ),
        ("llama.attention.key_length", Number(u64::MAX), "more than 2^64 bytes"),
        ("llama.attention.key_length", Number(0), "llama.attention.key_length is not a positive integer"),
        ("llama.attention.head_count", Number(0), "llama.attention.head_count is not a positive integer"),
        ("llama.attention.head_count", Number(7), "256 is not a multiple of llama.attention.head_count 7"),
        ("llama.attention.head_count_kv", Number(0), "head_count_kv is not a positive integer"),
        ("llama.attention.head_count_kv", Numbers(vec![0; 4]), "are not numbers of heads"),
        ("llama.attention.head_count_kv", Numbers(vec![1, 2, 3, -4]), "are not numbers of heads"),
        ("llama.attention.head_count_kv", Numbers(vec![1; 3]), "has 3 items, but the model has 4 layers"),
        ("llama.attention.head_count_kv", Text("2"), "head_count_kv is not a positive integer"),
    ] {
        let said = cache(&with(key, value), &[]);
        assert!(said.starts_with("not estimated: ") && said.contains(why), "{key}: {said}");
    }
    let path = model("memory-usage", 1, &llama());
    for words in [["--context=1", ""], ["--memory", "--context=0"], ["--memory", "blk.0.a"]] {
        let words = words.into_iter().filter(|word| !word.is_empty());
        assert_eq!(common::zt().arg("info").arg(&path).args(words).output().unwrap().status.code(), Some(2));
    }
}
