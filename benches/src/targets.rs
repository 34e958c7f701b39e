//! The ratios that libztensor has to reach, and the verdict on each row of a run.

use crate::harness::median;
use std::sync::Mutex;

pub struct Target {
    pub group: &'static str,
    pub metric: &'static str,
    pub case: &'static str,
    /// The denominator: how the name of another case of the group begins.
    pub against: &'static str,
    pub reach: f64,
}

const fn t(
    group: &'static str,
    metric: &'static str,
    case: &'static str,
    against: &'static str,
    reach: f64,
) -> Target {
    Target { group, metric, case, against, reach }
}

pub const TARGETS: &[Target] = &[
    t("W1/100000", "open", "libztensor zt_open", "limit: walk", 3.0),
    t("W1/100000", "find", "libztensor zt_open", "idea: index", 1.1),
    t("W1/1000", "find", "libztensor zt_open", "idea: index", 1.1),
    t("W1/100000", "list", "libztensor zt_open", "idea: index", 3.0),
    t("W1/crc32c", "open", "libztensor zt_open", "limit: walk", 3.0),
    t("W1/sha256", "open", "libztensor zt_open", "limit: walk", 3.0),
    t("W1/quantized", "open", "libztensor zt_open", "limit: walk", 3.0),
    t("W2a", "touch", "libztensor view", "limit: mmap, touch, munmap", 1.02),
    t("W2a", "touch", "libztensor populate", "limit: mmap, touch, munmap", 0.95),
    t("W2b", "load", "libztensor batch, 2 threads", "limit: pread into", 0.87),
    t("W2b", "load", "libztensor batch, 1 thread", "limit: pread into", 1.03),
    t("W2c", "load", "libztensor zt_component_load, ZT_MODE_READ", "limit: touch", 0.20),
    t(
        "W3",
        "load",
        "libztensor batch, direct auto, 2 MiB pages",
        "limit: O_DIRECT pread, 2 threads, 4 MiB, 2 MiB",
        1.10,
    ),
    t("W3", "load", "libztensor batch, direct never", "limit: buffered pread, 2 threads", 1.25),
    t("W4", "write", "libztensor no digest", "limit: write() in 4 MiB", 1.06),
    t("W4", "write", "libztensor crc32c", "limit: write() in 4 MiB", 1.20),
    t("W4", "write", "libztensor sha256", "limit: write() in 4 MiB", 1.75),
    t("W4", "durable", "libztensor durable", "limit: write() in 4 MiB", 0.70),
    t("W5", "write", "libztensor no digest", "limit: write()", 1.25),
    t("W5", "write", "libztensor crc32c", "limit: write()", 1.30),
    t("W5", "write", "libztensor batch no digest", "limit: write()", 1.25),
    t("W5", "write", "libztensor batch crc32c", "limit: write()", 1.30),
    // The same in one call, and one by one, beside the faster way to write the concatenation.
    t("W5", "write", "libztensor batch no digest", "limit: 256 KiB", 1.25),
    t("W5", "write", "libztensor batch crc32c", "limit: 256 KiB", 1.30),
    t("W5", "write", "libztensor no digest", "limit: 256 KiB", 1.25),
    t("W6a", "compress", "libztensor, 2 threads", "limit: libzstd, 1 MiB frames, 2 threads", 1.12),
    t("W6a", "decompress", "libztensor batch, 2 threads", "limit: libzstd, 1 MiB frames, 2 threads", 1.10),
    t("W6b", "decompress", "libztensor batch, 2 threads", "limit: libzstd, 1 MiB frames, 2 threads", 1.25),
    t("W6c", "range", "libztensor zt_component_read_range", "limit: decode", 1.3),
    t("W6c", "range", "libztensor, a file in ZT_MODE_READ", "limit: decode", 1.3),
    t("W7", "digest", "libztensor zt_component_verify", "crc-fast 1", 1.17),
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
];

static VERDICTS: Mutex<Vec<(String, bool)>> = Mutex::new(Vec::new());

/// Notes a row that is judged by a number of its own, not by a ratio of times.
pub fn judge(row: &str, value: f64, unit: &str, reach: f64) {
    let meets = value <= reach;
    let line =
        format!("{row}: {value:.2}{unit} (reach {reach}{unit}): {}", if meets { "meets" } else { "misses" });
    println!("   {line}");
    VERDICTS.lock().unwrap().push((line, meets));
}

/// Judges a row by the median of its ratios, round by round.
pub fn judge_ratios(t: &Target, against: &str, ratios: &[f64]) {
    let row = format!("{} {}: {} over \"{}\"", t.group, t.metric, t.case, against);
    judge(&row, median(ratios), "x", t.reach);
}

/// Prints every verdict again.
pub fn summary() {
    let v = VERDICTS.lock().unwrap();
    println!("\n## Rows against their targets");
    for (line, _) in v.iter() {
        println!("{line}");
    }
    let meets = v.iter().filter(|v| v.1).count();
    println!("bench: {meets} meet, {} miss", v.len() - meets);
}
