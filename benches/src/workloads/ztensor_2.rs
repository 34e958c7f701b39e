//! W17: zTensor 2 with an xxh3 for each part: open, load from the page cache and from the disk. The released
//! library writes the files.

use crate::balloon::borrow;
use crate::data::{gauss_buf, llama_specs, shuffled, small_specs, total, Spec};
use crate::harness::{case, secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::peers::{limits, zt2};
use crate::sys::{self, Buf, Shared};
use crate::workloads::open::{libztensor, mean};
use crate::{zt, Cfg};
use ::zt2::DType;
use serde_json::Value;
use std::ffi::CString;
use std::path::Path;

const WALK: &str = "limit: walk every CBOR head of the manifest once";
const PREAD: &str = "limit: pread into the buffer, 2 threads, 4 MiB";
const DIRECT: &str = "limit: O_DIRECT pread, 2 threads, 4 MiB";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let mut all: Vec<Value> = [1_000, 100_000].map(|n| group(&format!("W17/{n}"), || open(cfg, n))).into();
    all.extend(loads(cfg));
    all
}

fn open(cfg: &Cfg, n: usize) -> Value {
    let path = cfg.dir.join(format!("w17-{n}.zt"));
    let specs = small_specs(n, 16);
    let data = gauss_buf(total(&specs), 1);
    zt2::write(&path, &specs, &data.slice()[..total(&specs)], DType::F32, 4096);
    sys::evict(&path);
    sys::warm(&path);
    let shuf: Vec<&str> = shuffled(n, 3).iter().map(|&i| specs[i].name.as_str()).collect();
    let shuf_c: Vec<CString> = shuf.iter().map(|s| CString::new(*s).unwrap()).collect();
    let (shuf, shuf_c) = (&shuf[..], &shuf_c[..]);
    let k = (20_000 / n).clamp(1, 20);
    let cases = vec![
        case(Role::Limit, WALK, || mean(k, || limits::walk(&path))),
        case(Role::Libztensor, "libztensor zt_open", || mean(k, || libztensor(&path, shuf_c, 0))),
        case(Role::Libztensor, "libztensor, ZT_MODE_READ", || {
            mean(k, || libztensor(&path, shuf_c, zt::MODE_READ))
        }),
        case(Role::Peer, "ztensor 2.1.1 Source::open", || mean(k, || zt2::index(&path, shuf))),
    ];
    let metric = |name| Metric { name, unit: Unit::Items(n as f64), limit: WALK };
    let size = limits::manifest_len(&path);
    let g = Group {
        id: format!("W17/{n}"),
        title: format!("zTensor 2: open, find every name, list, close; {n} objects, page cache warm"),
        metrics: ["open", "find", "list", "close"].map(metric).into(),
        cases,
        notes: vec![format!("manifest {size} B, {:.0} B an object", size as f64 / n as f64)],
    };
    let listed = crate::harness::run_group(g, cfg.reps(7), 1);
    let _ = std::fs::remove_file(&path);
    listed
}

fn batch(path: &Path, specs: &[Spec], names: &[CString], out: Shared, verify: u32, direct: i32) {
    let f = zt::Zt::open(path);
    let options = zt::ReadOptions { verify, ..zt::read_options(2, direct) };
    f.batch(&f.whole(specs, names, out), &options);
}

fn loads(cfg: &Cfg) -> Vec<Value> {
    let specs = llama_specs(cfg.layers);
    let names = zt::cnames(&specs);
    let len = total(&specs);
    let path = cfg.dir.join("w17.zt");
    let mut dst = Buf::new(len + (16 << 20), true);
    {
        let data = gauss_buf(len, 5);
        zt2::write(&path, &specs, &data.slice()[..len], DType::BF16, 65536);
        batch(&path, &specs, &names, Shared::new(dst.slice_mut()), 1, zt::DIRECT_NEVER);
        assert!(dst.slice()[..len] == data.slice()[..len], "the loaded bytes differ from the written ones");
    }
    let out = Shared::new(dst.slice_mut());
    let (path, specs, names) = (&path, &specs[..], &names[..]);
    let all = move || unsafe { out.range(0, len) };
    let read = move |direct| {
        let whole = unsafe { out.range(0, len + (16 << 20)) };
        sys::read_parallel(path, whole, len, 2, 4 << 20, direct)
    };
    sys::evict(path);
    sys::warm(path);
    let warm = |f: &dyn Fn()| secs(f).0;
    let cold = |f: &dyn Fn()| {
        sys::evict_whole(path);
        borrow(len + (512 << 20), || secs(f).0, || _ = sys::evict(path))
    };
    type Load<'a> = (Role, &'static str, Box<dyn Fn() + 'a>);
    let loads = |direct: i32| -> Vec<Load<'_>> {
        vec![
            (
                Role::Libztensor,
                "libztensor batch, 2 threads",
                Box::new(move || batch(path, specs, names, out, 0, direct)),
            ),
            (
                Role::Libztensor,
                "libztensor batch, 2 threads, xxh3 checked",
                Box::new(move || batch(path, specs, names, out, 1, direct)),
            ),
            (Role::Peer, "ztensor 2.1.1 map, copy", Box::new(move || zt2::copy(path, specs, all(), false))),
            (
                Role::Peer,
                "ztensor 2.1.1 verify, map, copy",
                Box::new(move || zt2::copy(path, specs, all(), true)),
            ),
        ]
    };
    let group_of = |id: &str, limit, is_direct, direct, run: &dyn Fn(&dyn Fn()) -> f64, reps| {
        group(id, || {
            let mut cases: Vec<Case> = vec![timed(Role::Limit, limit, || run(&|| read(is_direct)))];
            let loads = loads(direct);
            cases.extend(loads.into_iter().map(|(role, name, load)| timed(role, name, move || run(&*load))));
            let g = Group {
                id: id.into(),
                title: format!("zTensor 2: open, copy every tensor into a touched buffer, close; {len} B"),
                metrics: vec![Metric { name: "load", unit: Unit::Bytes(len as f64), limit }],
                cases,
                notes: vec![],
            };
            crate::harness::run_group(g, cfg.reps(reps), 1)
        })
    };
    let listed = vec![
        group_of("W17/warm", PREAD, false, zt::DIRECT_AUTO, &warm, 5),
        group_of("W17/cold", DIRECT, true, zt::DIRECT_AUTO, &cold, 3),
    ];
    let _ = std::fs::remove_file(path);
    listed
}
