//! The ratios that libztensor must reach, and the verdict for each row of a run.

use serde_json::{json, Value};
use std::sync::Mutex;

pub struct Target {
    pub group: &'static str,
    pub metric: &'static str,
    pub case: &'static str,
    /// The denominator: the prefix of another case's name in the group.
    pub against: &'static str,
    pub reach: f64,
    /// Another denominator and reach, for cases where the larger of the two times counts.
    pub or: Option<(&'static str, f64)>,
}

const fn t(
    group: &'static str,
    metric: &'static str,
    case: &'static str,
    against: &'static str,
    reach: f64,
) -> Target {
    Target { group, metric, case, against, reach, or: None }
}

impl Target {
    const fn or(self, against: &'static str, reach: f64) -> Target {
        Target { or: Some((against, reach)), ..self }
    }
}

pub const TARGETS: &[Target] = &[
    t("W1/100000", "open", "libztensor zt_open", "limit: walk", 4.0),
    t("W1/1000", "open", "libztensor zt_open", "limit: walk", 2.5),
    t("W1/100000", "find", "libztensor zt_open", "idea: index", 1.1),
    t("W1/1000", "find", "libztensor zt_open", "idea: index", 1.1),
    t("W1/100000", "list", "libztensor zt_open", "idea: index", 3.0),
    t("W1/1000", "open", "libztensor of safetensors", "safetensors 0.8.0", 0.33),
    t("W1/100000", "open", "libztensor of safetensors", "safetensors 0.8.0", 0.33),
    t("W1/1000", "open", "libztensor of GGUF", "candle-core", 0.5),
    t("W1/100000", "open", "libztensor of GGUF", "candle-core", 0.5),
    t("W1/1000", "open", "libztensor of GGUF", "ggml C", 0.33),
    t("W1/100000", "open", "libztensor of GGUF", "ggml C", 0.33),
    t("W1/1000", "find", "libztensor of safetensors", "idea: index", 1.1),
    t("W1/100000", "find", "libztensor of safetensors", "idea: index", 1.1),
    t("W1/1000", "find", "libztensor of GGUF", "idea: index", 1.1),
    t("W1/100000", "find", "libztensor of GGUF", "idea: index", 1.1),
    t("W1/100000", "list", "libztensor of safetensors", "idea: index", 3.0),
    t("W1/100000", "list", "libztensor of GGUF", "idea: index", 3.0),
    t("W1/vocabulary", "open", "libztensor of GGUF", "ggml C", 0.5),
    t("W1/vocabulary", "open", "libztensor of the same in .zt", "ggml C", 1.0),
    t("W1/crc32c", "open", "libztensor zt_open", "limit: walk", 4.0),
    t("W1/sha256", "open", "libztensor zt_open", "limit: walk", 4.0),
    t("W1/quantized", "open", "libztensor zt_open", "limit: walk", 4.0),
    t("W2a", "touch", "libztensor view", "limit: mmap, touch, munmap", 1.02),
    t("W2a", "touch", "libztensor populate", "limit: mmap, touch, munmap", 0.95),
    t("W2b", "load", "libztensor batch, 2 threads", "limit: pread into", 0.87),
    t("W2b", "load", "libztensor batch, 1 thread", "limit: pread into", 1.03),
    // Other containers like .zt within 5 %, each compared with the limit of its own files.
    t("W2a", "touch", "libztensor populate, safetensors", "limit of safetensors: mmap", 1.00),
    t("W2a", "touch", "libztensor populate, GGUF", "limit of GGUF: mmap", 1.00),
    t("W2a", "touch", "libztensor populate, 8 shards", "limit of 8 shards: mmap", 1.00),
    t("W2b", "load", "libztensor batch, safetensors, 2 threads", "limit of safetensors: pread", 0.91),
    t("W2b", "load", "libztensor batch, GGUF, 2 threads", "limit of GGUF: pread", 0.91),
    t("W2b", "load", "libztensor batch, 8 shards, 2 threads", "limit of 8 shards: pread", 0.91),
    t("W2c", "load", "libztensor zt_component_load, ZT_MODE_READ", "limit: touch", 0.20),
    t(
        "W3",
        "load",
        "libztensor batch, direct auto, 2 MiB pages",
        "limit: O_DIRECT pread, 2 threads, 4 MiB, 2 MiB",
        1.10,
    ),
    t("W3", "load", "libztensor batch, safetensors", "libztensor batch, direct auto, 2 MiB pages", 1.05),
    t("W3", "load", "libztensor batch, GGUF", "libztensor batch, direct auto, 2 MiB pages", 1.05),
    t("W3", "load", "libztensor batch, 8 shards", "libztensor batch, direct auto, 2 MiB pages", 1.05),
    t("W3", "load", "libztensor batch, direct never", "limit: buffered pread, 2 threads", 1.25),
    t("W4", "write", "libztensor no digest", "limit: write() in 4 MiB", 1.06),
    t("W4", "write", "libztensor crc32c", "limit: write() in 4 MiB", 1.20),
    t("W4", "write", "libztensor sha256", "limit: write() in 4 MiB", 1.75),
    t("W4", "durable", "libztensor durable", "limit: write() in 4 MiB", 0.70),
    t("W5", "write", "libztensor no digest", "limit: write()", 1.25),
    t("W5", "write", "libztensor crc32c", "limit: write()", 1.30),
    t("W5", "write", "libztensor batch no digest", "limit: write()", 1.25),
    t("W5", "write", "libztensor batch crc32c", "limit: write()", 1.30),
    // In one call, and in single calls, compared with the faster way to write the concatenation.
    t("W5", "write", "libztensor batch no digest", "limit: 256 KiB", 1.25),
    t("W5", "write", "libztensor batch crc32c", "limit: 256 KiB", 1.30),
    t("W5", "write", "libztensor no digest", "limit: 256 KiB", 1.25),
    t("W6a", "compress", "libztensor, 2 threads", "limit: libzstd, 1 MiB frames, 2 threads", 1.12),
    t("W6a", "decompress", "libztensor batch, 2 threads", "limit: libzstd, 1 MiB frames, 2 threads", 1.10),
    t("W6b", "decompress", "libztensor batch, 2 threads", "limit: libzstd, 1 MiB frames, 2 threads", 1.25),
    t("W6c", "range", "libztensor zt_component_read_range", "limit: decode", 1.3),
    t("W6c", "range", "libztensor, a file in ZT_MODE_READ", "limit: decode", 1.3),
    t("W7", "digest", "libztensor zt_verify", "crc-fast 1", 1.17),
    t("W7b", "load", "libztensor batch, crc32c, 2 threads", "limit: pread", 0.95),
    t("W7b", "load", "libztensor batch, sha256, 2 threads", "limit: pread", 5.0),
    t("W8/memory", "bf16 to f32", "libztensor", "limit: memcpy", 0.95),
    t("W8/memory", "f16 to f32", "libztensor", "limit: memcpy", 0.95),
    t("W8/cache", "bf16 to f32", "libztensor", "limit: memcpy", 2.5),
    t("W8/cache", "f16 to f32", "libztensor", "limit: memcpy", 2.5),
    t("W9a/warm", "2 ranks", "libztensor slices", "limit: pread", 1.15),
    t("W9a/warm", "8 ranks", "libztensor slices", "limit: pread", 1.15),
    t("W9a/cold", "2 ranks", "libztensor slices", "limit: pread", 1.15),
    t("W9a/cold", "8 ranks", "libztensor slices", "limit: pread", 1.15),
    t("W14", "convert", "zt convert --raw --digest crc32c", "limit: cp", 1.15),
    // The cost of the ring: the consumer is the same.
    t("W15/warm", "load", "libztensor load, ring", "libztensor load, the same", 1.05),
    t("W15/cold", "load", "libztensor load, ring", "libztensor load, into", 1.05),
    t("W15/warm", "load", "libztensor load, ring", "Run:ai, copied", 1.0),
    t("W15/cold", "load", "libztensor load, ring", "Run:ai, copied", 1.0),
    t("W15/shards warm", "load", "libztensor load, 2 threads", "limit: pread", 0.55),
    t("W15/shards cold", "load", "libztensor load, the library's", "limit: O_DIRECT pread, 2", 1.08),
    t("W15/shards warm", "load", "libztensor load, 2 threads", "Run:ai, 2 threads", 1.0),
    t("W15/shards cold", "load", "libztensor load, 2 threads", "Run:ai, 2 threads", 1.0),
    t("W15/rank", "load", "libztensor load of slices", "limit: O_DIRECT", 2.5),
    t("W16", "visit", "libztensor zt_cache, the next", "limit: pread", 0.95),
    t("W17/1000", "open", "libztensor zt_open", "limit: walk", 3.0),
    t("W17/100000", "open", "libztensor zt_open", "limit: walk", 3.0),
    t("W17/1000", "open", "libztensor zt_open", "ztensor 2.1.1", 0.1),
    t("W17/100000", "open", "libztensor zt_open", "ztensor 2.1.1", 0.1),
    t("W17/cold", "load", "libztensor batch, 2 threads", "limit: O_DIRECT", 1.1),
    t("W17/write", "write", "libztensor xxh3", "limit: write()", 1.1),
    t("W17/write", "write", "libztensor xxh3", "ztensor 2.1.1", 1.0),
    t("W17/write small", "write", "libztensor xxh3", "ztensor 2.1.1", 1.0),
    t("W17/write small", "write", "libztensor batch xxh3", "ztensor 2.1.1", 1.0),
    t("W18/memory", "q6_k", "libztensor, 1 thread", "ggml", 0.4),
    t("W18/memory", "q6_k", "libztensor, 2 threads", "ggml", 0.25),
    t("W18/memory", "iq4_xs", "libztensor, 1 thread", "ggml", 0.4),
    t("W18/memory", "iq4_xs", "libztensor, 2 threads", "ggml", 0.25),
    t("W18/memory", "mxfp4", "libztensor, 1 thread", "ggml", 0.4),
    t("W18/memory", "mxfp4", "libztensor, 2 threads", "ggml", 0.25),
    t("W18/memory", "q4_0", "libztensor, 1 thread", "ggml", 0.95).or("limit: memset", 1.2),
    t("W18/memory", "q4_0", "libztensor, 2 threads", "ggml", 0.55).or("limit: memset", 1.2),
    t("W18/cache", "q4_0", "libztensor to f32", "ggml", 0.7),
    t("W18/memory", "q8_0", "libztensor, 1 thread", "ggml", 0.95).or("limit: memset", 1.2),
    t("W18/memory", "q8_0", "libztensor, 2 threads", "ggml", 0.55).or("limit: memset", 1.2),
    t("W18/cache", "q8_0", "libztensor to f32", "ggml", 0.7),
    t("W18/memory", "q4_k", "libztensor, 1 thread", "ggml", 0.95).or("limit: memset", 1.2),
    t("W18/memory", "q4_k", "libztensor, 2 threads", "ggml", 0.55).or("limit: memset", 1.2),
    t("W18/cache", "q4_k", "libztensor to f32", "ggml", 0.7),
    t("W18/memory", "q5_k", "libztensor, 1 thread", "ggml", 0.95).or("limit: memset", 1.2),
    t("W18/memory", "q5_k", "libztensor, 2 threads", "ggml", 0.55).or("limit: memset", 1.2),
    t("W18/cache", "q5_k", "libztensor to f32", "ggml", 0.7),
    t("W18/memory", "q4_0", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q4_0", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q4_0", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "q4_0", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/memory", "q8_0", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q8_0", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q8_0", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "q8_0", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/memory", "q4_k", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q4_k", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q4_k", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "q4_k", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/memory", "q5_k", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q5_k", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q5_k", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "q5_k", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/memory", "q6_k", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q6_k", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "q6_k", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "q6_k", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/memory", "iq4_xs", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "iq4_xs", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "iq4_xs", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "iq4_xs", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/memory", "mxfp4", "libztensor to f16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "mxfp4", "libztensor to bf16", "libztensor, 1 thread", 1.0),
    t("W18/memory", "mxfp4", "libztensor, 1 thread", "gguf-py", 0.07),
    t("W18/memory", "mxfp4", "libztensor, 2 threads", "gguf-py", 0.05),
    t("W18/quantize", "f16 to q8_0", "libztensor", "ggml_fp16", 1.0),
    t("W18/quantize", "f16 to q4_0", "libztensor", "ggml_fp16", 1.0),
    t("W18/model", "load", "libztensor batch", "limit: pread", 1.1),
];

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Meets,
    Misses,
    NotMeasured,
}

struct Judged {
    of: Option<&'static Target>,
    against: Option<&'static str>,
    value: Option<f64>,
    reach: f64,
    unit: &'static str,
    row: String,
    line: String,
    verdict: Verdict,
}

static JUDGED: Mutex<Vec<Judged>> = Mutex::new(Vec::new());

fn judged() -> std::sync::MutexGuard<'static, Vec<Judged>> {
    JUDGED.lock().unwrap_or_else(|e| e.into_inner())
}

fn note(
    of: Option<(&'static Target, &'static str)>,
    row: String,
    value: Result<f64, &str>,
    unit: &'static str,
    reach: f64,
) {
    let (says, verdict) = match value {
        Ok(value) if value <= reach => {
            (format!(": {value:.2}{unit} (reach {reach}{unit}): meets"), Verdict::Meets)
        }
        Ok(value) => (format!(": {value:.2}{unit} (reach {reach}{unit}): misses"), Verdict::Misses),
        Err(why) => (format!(" (reach {reach}{unit}): not measured: {why}"), Verdict::NotMeasured),
    };
    let line = format!("{row}{says}");
    println!("   {line}");
    let (of, against) = of.unzip();
    judged().push(Judged { of, against, value: value.ok(), reach, unit, row, line, verdict });
}

fn row_of(t: &Target, against: &str) -> String {
    format!("{} {}: {} over \"{against}\"", t.group, t.metric, t.case)
}

/// Records a row with an absolute value instead of a ratio of times.
pub fn judge(row: &str, value: f64, unit: &'static str, reach: f64) {
    note(None, row.into(), Ok(value), unit, reach);
}

/// Records a row with its ratio, or the reason why it was not measured.
pub fn judge_ratio(t: &'static Target, ratio: Result<f64, &str>) {
    judge_ratio_to(t, t.against, ratio, t.reach);
}

/// Records a row with its ratio to another row.
pub fn judge_ratio_to(t: &'static Target, against: &'static str, ratio: Result<f64, &str>, reach: f64) {
    note(Some((t, against)), row_of(t, against), ratio, "x", reach);
}

/// Every verdict, for the file of results.
pub fn judgements() -> Value {
    let one = |j: &Judged| {
        let verdict = match j.verdict {
            Verdict::Meets => "meets",
            Verdict::Misses => "misses",
            Verdict::NotMeasured => "not measured",
        };
        let part = |part: fn(&Target) -> &'static str| j.of.map(part);
        json!({
            "row": j.row, "group": part(|t| t.group), "metric": part(|t| t.metric), "case": part(|t| t.case),
            "against": j.against, "value": j.value, "reach": j.reach, "unit": j.unit, "verdict": verdict,
        })
    };
    Value::Array(judged().iter().map(one).collect())
}

/// Marks all rows of a group ("W9a/cold") or a workload ("W9") without a verdict as not measured.
pub fn not_measured(id: &str, why: &str) {
    let of = |t: &&'static Target| {
        let rest = t.group.strip_prefix(id);
        rest.is_some_and(|r| !r.starts_with(|c: char| c.is_ascii_digit()))
    };
    for t in TARGETS.iter().filter(of) {
        let row = row_of(t, t.against);
        let known = judged().iter().any(|j| j.row == row);
        if !known {
            judge_ratio(t, Err(why));
        }
    }
}

/// Prints every verdict again.
pub fn summary() {
    let all = judged();
    println!("\n## Rows against their targets");
    for j in all.iter() {
        println!("{}", j.line);
    }
    let count = |verdict| all.iter().filter(|j| j.verdict == verdict).count();
    println!(
        "bench: {} meet, {} miss, {} not measured",
        count(Verdict::Meets),
        count(Verdict::Misses),
        count(Verdict::NotMeasured)
    );
}
