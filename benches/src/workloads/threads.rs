//! W13: numbers of threads other than two.

use crate::balloon::borrow;
use crate::big::Big;
use crate::harness::{run_group, secs, timed, Group, Metric, Role, Unit};
use crate::outcome::{attempt, stand_in};
use crate::sys::{self, Buf, Shared};
use crate::workloads::compress::{compress, decompress, options};
use crate::{zt, Cfg};
use serde_json::Value;

/// Fewer than the processors, as many, and more, up to 16, the library's own maximum.
fn counts() -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, |n| n.get()).min(16);
    let mut counts: Vec<usize> = [1, 2, 4, 8, 16].into_iter().filter(|n| *n <= all.max(4)).collect();
    if !counts.contains(&all) {
        counts.push(all);
    }
    counts
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    let data = b.data();
    let data = &data.slice()[..b.len];
    let with_digests = zt::WriterOptions { digest: zt::CRC32C, ..zt::writer_options() };
    zt::write(&b.zt, &b.specs, &b.cnames, data, zt::BF16, &with_digests);
    sys::open_read(&b.zt, false).sync_all().unwrap();
    let mut dst = Buf::new(b.len + (16 << 20), true);
    let buffer = dst.slice().len();
    let out = Shared::new(dst.slice_mut());
    let d = || unsafe { out.range(0, buffer) };
    let load = |threads: usize, direct: i32, verify: u32| {
        let f = zt::Zt::open(&b.zt);
        let o = zt::ReadOptions { verify, ..zt::read_options(threads as u32, direct) };
        assert_eq!(f.batch(&f.whole(&b.specs, &b.cnames, out), &o).bytes, b.len as u64);
    };
    load(2, zt::DIRECT_AUTO, 1);
    assert!(d()[..b.len] == *data, "W13: libztensor loaded wrong bytes");
    let mut groups = Vec::new();
    for n in counts() {
        sys::warm(&b.zt);
        const WARM: &str = "limit: pread, 8 MiB";
        let cases = vec![
            timed(Role::Limit, WARM, || secs(|| sys::read_parallel(&b.zt, d(), b.len, n, 8 << 20, false)).0),
            timed(Role::Libztensor, "libztensor batch", || secs(|| load(n, zt::DIRECT_AUTO, 0)).0),
            timed(Role::Libztensor, "libztensor batch, crc32c", || secs(|| load(n, zt::DIRECT_AUTO, 1)).0),
        ];
        let title = format!("{n} thread(s), warm: open, copy every tensor into a touched buffer, close");
        groups.push(run_group(group(n, title, "load", b.len, WARM, cases), cfg.reps(5), 1));

        const COLD: &str = "limit: O_DIRECT pread, 4 MiB";
        let cold = |load: &dyn Fn()| {
            sys::evict_whole(&b.zt);
            borrow(b.len + (512 << 20), || secs(load).0, || _ = sys::evict(&b.zt))
        };
        let cases = vec![
            timed(Role::Limit, COLD, || cold(&|| sys::read_parallel(&b.zt, d(), b.len, n, 4 << 20, true))),
            timed(Role::Limit, "limit: buffered pread, 4 MiB", || {
                cold(&|| sys::read_parallel(&b.zt, d(), b.len, n, 4 << 20, false))
            }),
            timed(Role::Libztensor, "libztensor batch, direct auto", || {
                cold(&|| load(n, zt::DIRECT_AUTO, 0))
            }),
            timed(Role::Libztensor, "libztensor batch, direct auto, crc32c", || {
                cold(&|| load(n, zt::DIRECT_AUTO, 1))
            }),
            timed(Role::Libztensor, "libztensor batch, direct never", || {
                cold(&|| load(n, zt::DIRECT_NEVER, 0))
            }),
        ];
        let title =
            format!("{n} thread(s), cold: evict, open, copy every tensor into a touched buffer, close");
        groups.push(run_group(group(n, title, "load", b.len, COLD, cases), cfg.reps(3), 0));
    }
    b.remove();
    for n in counts() {
        let of = || compressed(cfg, &b, data, d(), n).into();
        groups.extend(attempt(of).unwrap_or_else(|why| vec![stand_in(&format!("W13/{n}"), &why)]));
    }
    groups
}

/// Compresses and decompresses a few layers with zstd, in memory.
fn compressed(cfg: &Cfg, b: &Big, data: &[u8], dst: &mut [u8], n: usize) -> [Value; 2] {
    const LIMIT: &str = "limit: libzstd, 1 MiB frames";
    let specs = &b.specs[..b.specs.len().min(38)]; // four layers of nine tensors, and the tensors before them
    let len = specs.iter().map(|s| s.at + s.len).max().unwrap_or(0);
    let (data, names) = (&data[..len], &b.cnames[..specs.len()]);
    let out = Shared::new(dst);
    let d = || unsafe { out.range(0, len) };
    let frames = compress(data, n, true);
    let file = zt::write_sink(specs, names, data, zt::BF16, &options(n as u32), true).1;
    let opened = zt::Zt::memory(&file);
    let load = || {
        let s = opened.batch(&opened.whole(specs, names, out), &zt::read_options(n as u32, 0));
        assert_eq!(s.bytes, len as u64);
    };
    d().fill(0);
    load();
    assert!(d() == data, "W13: libztensor decoded wrong bytes");
    let write = || zt::write_sink(specs, names, data, zt::BF16, &options(n as u32), false).0;
    let packing = vec![
        timed(Role::Limit, LIMIT, || secs(|| compress(data, n, false)).0),
        timed(Role::Libztensor, "libztensor", || secs(write).0),
    ];
    let loading = vec![
        timed(Role::Limit, LIMIT, || secs(|| decompress(&frames, d(), n)).0),
        timed(Role::Libztensor, "libztensor batch", || secs(load).0),
    ];
    let title = |what| format!("{n} thread(s): {what} gaussian bf16 weights, zstd level 3, in memory");
    [
        run_group(group(n, title("compress"), "compress", len, LIMIT, packing), cfg.reps(3), 0),
        run_group(group(n, title("decompress"), "decompress", len, LIMIT, loading), cfg.reps(3), 1),
    ]
}

fn group<'a>(
    threads: usize,
    title: String,
    metric: &'static str,
    bytes: usize,
    limit: &'static str,
    cases: Vec<crate::harness::Case<'a>>,
) -> Group<'a> {
    let metrics = vec![Metric { name: metric, unit: Unit::Bytes(bytes as f64), limit }];
    Group { id: format!("W13/{threads}"), title, metrics, cases, notes: vec![] }
}
