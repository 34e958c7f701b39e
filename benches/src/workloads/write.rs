//! W4: write the big model from memory to a fresh file.

use crate::anon::PAGE;
use crate::balloon::{self, borrow};
use crate::big::Big;
use crate::harness::{case, secs, Case, Group, Metric, Role, Sample, Unit};
use crate::outcome::group;
use crate::peers::{safetensors, zt1};
use crate::sys::{self, blocks};
use crate::{zt, Cfg};
use ::zt1::{Checksum, DType};
use serde_json::Value;
use sha2::Digest;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

const LIMIT: &str = "limit: write() in 4 MiB chunks";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    b.remove(); // W2 and W3 no longer need them
    let _limits = balloon::DirtyLimits::raise();
    let data = b.data();
    let data = &data.slice()[..b.len];
    vec![
        group("W4", || written(cfg, &b, "W4", "through the page cache", buffered(&b, data))),
        group("W4d", || written(cfg, &b, "W4d", "other ways to the disk", other(data))),
    ]
}

/// Times `write` and the fsync that makes the file durable; then removes the file.
pub(super) fn one(spare: usize, out: &Path, syncs_itself: bool, write: &dyn Fn(&Path)) -> Sample {
    let _ = std::fs::remove_file(out);
    let timed = || {
        let (t, ()) = secs(|| write(out));
        let (s, ()) = secs(|| File::open(out).unwrap().sync_all().unwrap());
        vec![(!syncs_itself).then_some(t), Some(t + s)]
    };
    borrow(spare, timed, || drop(std::fs::remove_file(out)))
}

pub(super) fn plain(out: &Path, data: &[u8], chunk: usize) {
    let mut f = sys::create(out, false);
    for c in data.chunks(chunk) {
        f.write_all(c).unwrap();
    }
}

/// Starts to write back each 32 MiB as soon as it is in the page cache.
fn early(out: &Path, data: &[u8]) {
    const WINDOW: usize = 32 << 20;
    let mut f = sys::create(out, false);
    for (i, c) in data.chunks(WINDOW).enumerate() {
        for block in c.chunks(4 << 20) {
            f.write_all(block).unwrap();
        }
        sys::start_writeback(&f, i * WINDOW, c.len());
    }
}

fn parallel(out: &Path, data: &[u8], threads: usize, direct: bool) {
    let f = sys::create(out, direct);
    sys::fallocate(&f, data.len());
    blocks(data.len(), 4 << 20, threads, |at, n| {
        let n = if direct { n.next_multiple_of(PAGE) } else { n };
        // The source buffer is page-aligned and longer than the data.
        let src = unsafe { std::slice::from_raw_parts(data.as_ptr().add(at), n) };
        f.write_all_at(src, at as u64).unwrap();
    });
    if direct {
        f.set_len(data.len() as u64).unwrap();
    }
}

/// Computes the digest of each block while it is in the cache, directly before writing it.
fn fused(out: &Path, data: &[u8], block: usize) {
    let mut f = sys::create(out, false);
    let mut crc = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    for c in data.chunks(block) {
        crc.update(c);
        f.write_all(c).unwrap();
    }
    std::hint::black_box(crc.finalize());
}

/// Offsets of raw blobs are known in advance. Each of two threads takes the next tensor, and digests and
/// writes it in blocks at its offset.
fn sha_parallel(out: &Path, b: &Big, data: &[u8]) {
    let f = sys::create(out, false);
    blocks(b.specs.len(), 1, 2, |i, _| {
        let (t, mut h) = (&b.specs[i], sha2::Sha256::new());
        for at in (t.at..t.at + t.len).step_by(4 << 20) {
            let block = &data[at..(t.at + t.len).min(at + (4 << 20))];
            h.update(block);
            f.write_all_at(block, at as u64).unwrap();
        }
        std::hint::black_box(h.finalize());
    });
}

type Writing<'a> = Box<dyn Fn(&Path) + 'a>;
/// Role, name, whether it calls fsync itself, and the function that writes.
type WriteCase<'a> = (Role, &'static str, bool, Writing<'a>);

fn buffered<'a>(b: &'a Big, d: &'a [u8]) -> Vec<WriteCase<'a>> {
    let s = &b.specs;
    let mut list: Vec<WriteCase> = Vec::new();
    let mut add = |role, name, syncs_itself, w: Writing<'a>| list.push((role, name, syncs_itself, w));
    add(Role::Limit, LIMIT, false, Box::new(move |p| plain(p, d, 4 << 20)));
    add(Role::Limit, "limit: write() in 256 KiB chunks", false, Box::new(move |p| plain(p, d, 256 << 10)));
    add(
        Role::Idea,
        "idea: crc32c fused with write(), 256 KiB blocks",
        false,
        Box::new(move |p| fused(p, d, 256 << 10)),
    );
    add(
        Role::Idea,
        "idea: sha256 + pwrite by tensor, 2 threads",
        false,
        Box::new(move |p| sha_parallel(p, b, d)),
    );
    let base = zt::writer_options();
    for (name, o) in [
        ("libztensor no digest", base),
        ("libztensor crc32c", zt::WriterOptions { digest: zt::CRC32C, ..base }),
        ("libztensor sha256", zt::WriterOptions { digest: zt::SHA256, ..base }),
        ("libztensor durable", zt::WriterOptions { durable: 1, ..base }),
        (
            "libztensor durable, large_alignment 4096",
            zt::WriterOptions { durable: 1, large_alignment: 4096, ..base },
        ),
    ] {
        let w = move |p: &Path| zt::write(p, s, &b.cnames, d, zt::BF16, &o);
        add(Role::Libztensor, name, o.durable == 1, Box::new(w));
    }
    let o = zt::WriterOptions { digest: zt::SHA256, ..base };
    let w = move |p: &Path| zt::write_batch(p, s, &b.cnames, d, zt::BF16, &o);
    add(Role::Libztensor, "libztensor batch sha256", false, Box::new(w));
    for (name, sum) in [
        ("ztensor 1.2.3 no checksum", Checksum::None),
        ("ztensor 1.2.3 crc32c", Checksum::Crc32c),
        ("ztensor 1.2.3 sha256", Checksum::Sha256),
    ] {
        add(Role::Peer, name, false, Box::new(move |p| zt1::write(p, s, d, DType::BF16, sum)));
    }
    add(
        Role::Peer,
        "safetensors serialize_to_file",
        false,
        Box::new(move |p| safetensors::write(p, s, d, ::safetensors::Dtype::BF16)),
    );
    list
}

/// Other ways to write to the disk. They run separately, because they disturb the buffered ones.
fn other(d: &[u8]) -> Vec<WriteCase<'_>> {
    vec![
        (Role::Limit, LIMIT, false, Box::new(move |p| plain(p, d, 4 << 20))),
        (
            Role::Limit,
            "limit: fallocate + pwrite, 2 threads, 4 MiB",
            false,
            Box::new(move |p| parallel(p, d, 2, false)),
        ),
        (Role::Limit, "limit: write() + sync_file_range each 32 MiB", false, Box::new(move |p| early(p, d))),
        (
            Role::Limit,
            "limit: fallocate + O_DIRECT, 1 thread, 4 MiB",
            false,
            Box::new(move |p| parallel(p, d, 1, true)),
        ),
        (
            Role::Limit,
            "limit: fallocate + O_DIRECT, 2 threads, 4 MiB",
            false,
            Box::new(move |p| parallel(p, d, 2, true)),
        ),
    ]
}

fn written(cfg: &Cfg, b: &Big, id: &'static str, what: &str, cases: Vec<WriteCase>) -> Value {
    let out = &cfg.dir.join("w4.out");
    let cases: Vec<Case> = cases
        .into_iter()
        .map(|(role, name, syncs, w)| case(role, name, move || one(b.len + (512 << 20), out, syncs, &w)))
        .collect();
    let metric = |name| Metric { name, unit: Unit::Bytes(b.len as f64), limit: LIMIT };
    let g = Group {
        id: id.into(),
        title: format!("write the model from memory to a fresh file, {what}"),
        metrics: vec![metric("write"), metric("durable")],
        cases,
        notes: vec![b.note()],
    };
    crate::harness::run_group(g, cfg.reps(4), 0)
}
