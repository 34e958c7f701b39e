//! W9a: the slices of one rank of a tensor-parallel engine, with real shapes.

use crate::big::Big;
use crate::data::Spec;
use crate::harness::{case, run_group, secs, Case, Group, Metric, Role, Sample, Unit};
use crate::outcome::{attempt, group};
use crate::sys::{self, Buf, Shared};
use crate::{zt, Cfg};
use serde_json::Value;

const LIMIT: &str = "limit: pread of as many bytes, contiguous, 2 threads";

/// The part of a matrix that a rank needs: starts and counts.
pub struct Slice {
    pub tensor: usize,
    start: [u64; 2],
    count: [u64; 2],
    at: usize,
    len: usize,
}

impl Slice {
    /// Its position in `dst`.
    pub fn request(&self, component: *const zt::Component, dst: Shared) -> zt::Request {
        let r = zt::request(component, unsafe { dst.range(self.at, self.len) });
        zt::Request { length: 0, start: self.start.as_ptr(), count: self.count.as_ptr(), ..r }
    }
}

/// Like engines, cuts column-parallel matrices by rows, and row-parallel ones (o_proj, down_proj) by columns.
pub fn plan(specs: &[Spec], rank: u64, ranks: u64) -> (Vec<Slice>, usize) {
    let (mut v, mut at) = (Vec::new(), 0);
    for (tensor, s) in specs.iter().enumerate().filter(|(_, s)| s.shape.len() == 2) {
        let by_columns = s.name.contains("o_proj") || s.name.contains("down_proj");
        let (mut start, mut count) = ([0, 0], [s.shape[0], s.shape[1]]);
        let dim = usize::from(by_columns);
        count[dim] /= ranks;
        start[dim] = count[dim] * rank;
        let len = (count[0] * count[1] * 2) as usize;
        v.push(Slice { tensor, start, count, at, len });
        at += len;
    }
    (v, at)
}

/// The bytes of a slice, from copying rows of the complete tensor.
fn cut(s: &Slice, spec: &Spec, whole: &[u8], dst: &mut [u8]) {
    let (row, take) = (spec.shape[1] as usize * 2, s.count[1] as usize * 2);
    for (i, d) in dst[s.at..s.at + s.len].chunks_exact_mut(take).enumerate() {
        let from = (s.start[0] as usize + i) * row + s.start[1] as usize * 2;
        d.copy_from_slice(&whole[from..from + take]);
    }
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    let data = b.data();
    crate::balloon::make_free(b.len); // page cache of the file
    zt::write(&b.zt, &b.specs, &b.cnames, &data.slice()[..b.len], zt::BF16, &zt::writer_options());
    sys::evict(&b.zt); // its pages then come from a read, like those of a downloaded file
    let (mut dst, mut whole) = (Buf::new(b.len + (16 << 20), true), Buf::new(b.len + (16 << 20), true));
    let (dst, whole) = (Shared::new(dst.slice_mut()), Shared::new(whole.slice_mut()));
    let slices = |id, cold| group(id, || parallel(cfg, &b, data.slice(), dst, whole, id, cold));
    let (warm, cold) = (slices("W9a/warm", false), slices("W9a/cold", true));
    b.remove();
    vec![warm, cold, group("W9b", || crate::workloads::experts::run(cfg))]
}

fn parallel(cfg: &Cfg, b: &Big, data: &[u8], dst: Shared, whole: Shared, id: &str, cold: bool) -> Value {
    let plans: Vec<_> = [2, 8].map(|n| plan(&b.specs, 1, n)).into();
    let ready = || match cold {
        true => sys::evict_whole(&b.zt),
        false => sys::warm_whole(&b.zt),
    };
    let time = |f: &dyn Fn()| {
        ready();
        Some(secs(f).0)
    };
    let libztensor = |(slices, need): &(Vec<Slice>, usize)| {
        let f = zt::Zt::open(&b.zt);
        let one = |s: &Slice| s.request(f.component(&b.cnames[s.tensor]), dst);
        let requests: Vec<zt::Request> = slices.iter().map(one).collect();
        let stats = f.batch(&requests, &zt::read_options(2, 0));
        assert_eq!(stats.bytes, *need as u64);
        stats
    };
    let mut notes = vec![b.note()];
    for (p, ranks) in plans.iter().zip([2, 8]) {
        unsafe { dst.range(0, p.1) }.fill(0);
        if let Err(why) = attempt(ready) {
            notes.push(format!("the file is in another state for the next line: {why}"));
        }
        let stats = libztensor(p);
        let read = stats.stored_bytes as f64 / p.1 as f64;
        notes.push(format!("{ranks} ranks: {} B needed, {read:.2} times that read; {}", p.1, stats.why()));
        let mut want = vec![0u8; p.1];
        for s in &p.0 {
            let t = &b.specs[s.tensor];
            cut(s, t, &data[t.at..t.at + t.len], &mut want);
        }
        assert!(unsafe { dst.range(0, p.1) } == &want[..], "{id}: libztensor read wrong slices");
    }
    let whole_and_cut = |p: &(Vec<Slice>, usize)| {
        let f = zt::Zt::open(&b.zt);
        f.batch(&f.whole(&b.specs, &b.cnames, whole), &zt::read_options(2, 0));
        for s in &p.0 {
            let t = &b.specs[s.tensor];
            cut(s, t, unsafe { whole.range(t.at, t.len) }, unsafe { dst.range(0, p.1) });
        }
    };
    let views = |p: &(Vec<Slice>, usize)| {
        let m = crate::peers::safetensors::map(&b.zt); // the work of a reader that can only map
        let f = zt::Zt::open(&b.zt);
        for s in &p.0 {
            let at = zt::info(f.object(&b.cnames[s.tensor])).offset as usize;
            let t = &b.specs[s.tensor];
            cut(s, t, &m[at..at + t.len], unsafe { dst.range(0, p.1) });
        }
    };
    let each =
        |f: &dyn Fn(&(Vec<Slice>, usize))| -> Sample { plans.iter().map(|p| time(&|| f(p))).collect() };
    let each = &each;
    let read = |p: &(Vec<Slice>, usize)| {
        sys::read_parallel(&b.zt, unsafe { dst.range(0, b.len) }, p.1, 2, 4 << 20, false)
    };
    let cases: Vec<Case> = vec![
        case(Role::Limit, LIMIT, move || each(&read)),
        case(Role::Libztensor, "libztensor slices by zt_read_batch, 2 threads", move || {
            each(&|p| drop(libztensor(p)))
        }),
        case(Role::Libztensor, "libztensor whole tensors, then cut", move || each(&whole_and_cut)),
        case(Role::Idea, "idea: copy the rows out of a mapping, 1 thread", move || each(&views)),
    ];
    let metric = |name, i: usize| Metric { name, unit: Unit::Bytes(plans[i].1 as f64), limit: LIMIT };
    let g = Group {
        id: id.into(),
        title: "the slices of one rank, of every matrix".into(),
        metrics: vec![metric("2 ranks", 0), metric("8 ranks", 1)],
        cases,
        notes,
    };
    run_group(g, cfg.reps(4), usize::from(!cold))
}
