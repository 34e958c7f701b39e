//! W3: load the big model after dropping it from this machine's page cache. The caches of the host and of the
//! disk are not controlled.

use crate::balloon::borrow;
use crate::big::{batch, loaders, Big, WHY};
use crate::harness::{secs, timed, Case, Group, Metric, Role, Unit};
use crate::sys::{self, Buf, Shared};
use crate::{zt, Cfg};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

const LIMIT: &str = "limit: O_DIRECT pread, 2 threads, 4 MiB, 2 MiB pages";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    b.prepare(b.data().slice());
    let buffer = b.len + (16 << 20);
    let (mut small, mut huge) = (Buf::new(buffer, false), Buf::new(buffer, true));
    let (small, huge) = (Shared::new(small.slice_mut()), Shared::new(huge.slice_mut()));
    let why = RefCell::new(BTreeMap::new());
    // Memory for the file's page cache, and for the peer's largest tensor.
    let cold = |f: &PathBuf, direct: bool, load: &dyn Fn()| {
        sys::evict_whole(f);
        if direct {
            return secs(load).0;
        }
        borrow(b.len + (512 << 20), || secs(load).0, || _ = sys::evict(f))
    };

    let mut cases: Vec<Case> = Vec::new();
    let mut limit = |threads: usize, mib: usize, direct: bool, big_pages: bool| {
        let how = if direct { "O_DIRECT" } else { "buffered" };
        let pages = if big_pages { "2 MiB" } else { "4 KiB" };
        let name = format!("limit: {how} pread, {threads} threads, {mib} MiB, {pages} pages");
        let dst = if big_pages { huge } else { small };
        let (b, cold) = (&b, &cold);
        cases.push(timed(Role::Limit, name, move || {
            let d = || unsafe { dst.range(0, buffer) };
            cold(&b.zt, direct, &|| sys::read_parallel(&b.zt, d(), b.len, threads, mib << 20, direct))
        }));
    };
    for threads in [1, 2] {
        limit(threads, 4, false, false);
    }
    for threads in [1, 2, 4] {
        limit(threads, 4, true, false);
        limit(threads, 4, true, true);
    }
    limit(2, 1, true, true);
    limit(2, 8, true, true);
    for threads in [2, 4] {
        let (b, cold) = (&b, &cold);
        let name = format!("limit: O_DIRECT pread, {threads} threads, 2 MiB, copied to 4 KiB pages");
        cases.push(timed(Role::Limit, name, move || {
            let d = || unsafe { small.range(0, buffer) };
            cold(&b.zt, true, &|| sys::read_and_copy(&b.zt, d(), b.len, threads))
        }));
    }
    for (name, dst, threads, direct) in [
        ("libztensor batch, direct auto, 2 MiB pages", huge, 2, zt::DIRECT_AUTO),
        ("libztensor batch, direct auto, 4 KiB pages", small, 2, zt::DIRECT_AUTO),
        ("libztensor batch, direct never", small, 2, zt::DIRECT_NEVER),
        ("libztensor batch, direct always, 2 MiB pages", huge, 2, zt::DIRECT_ALWAYS),
        ("libztensor batch, direct always, 4 KiB pages", small, 2, zt::DIRECT_ALWAYS),
        ("libztensor batch, direct auto, 1 thread", huge, 1, zt::DIRECT_AUTO),
        ("libztensor batch, direct auto, threads by default", huge, 0, zt::DIRECT_AUTO),
    ] {
        let (b, cold, why) = (&b, &cold, &why);
        cases.push(timed(Role::Libztensor, name, move || {
            let t = cold(&b.zt, false, &|| batch(b, &b.zt, unsafe { dst.range(0, buffer) }, threads, direct));
            why.borrow_mut().insert(name, WHY.lock().unwrap().clone());
            t
        }));
    }
    for (name, file) in [
        ("libztensor batch, safetensors", &b.st),
        ("libztensor batch, GGUF", &b.gguf),
        ("libztensor batch, 8 shards", &b.index),
    ] {
        let (b, why) = (&b, &why);
        cases.push(timed(Role::Libztensor, name, move || {
            b.files().into_iter().for_each(|f| sys::evict_whole(f));
            let load = || secs(|| batch(b, file, unsafe { huge.range(0, buffer) }, 2, zt::DIRECT_AUTO)).0;
            let t =
                borrow(b.len + (512 << 20), load, || b.files().into_iter().for_each(|f| _ = sys::evict(f)));
            why.borrow_mut().insert(name, WHY.lock().unwrap().clone());
            t
        }));
    }
    for l in loaders(&b).into_iter().filter(|l| !l.owns() && l.role == Role::Peer) {
        let cold = &cold;
        cases.push(timed(l.role, l.name, move || {
            cold(l.file, false, &|| (l.load)(unsafe { small.range(0, buffer) }))
        }));
    }
    let g = Group {
        id: "W3".into(),
        title: "cold: evict, then open, copy every tensor into a preallocated buffer, close".into(),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(b.len as f64), limit: LIMIT }],
        cases,
        notes: vec![b.note()],
    };
    let v = crate::harness::run_group(g, cfg.reps(4), 0);
    println!();
    for (name, reason) in why.borrow().iter() {
        println!("   {name}: {reason}");
    }
    vec![v]
}
