//! W9b: random experts of a mixture-of-experts model from a file that is larger than their memory, while the
//! next layer's are read.

use crate::anon::Anon;
use crate::data::{Rng, Spec};
use crate::harness::{run_group, secs, timed, Group, Metric, Role, Unit};
use crate::sys::{self, Buf, Shared};
use crate::{targets, zt, Cfg};
use serde_json::{json, Value};
use std::collections::VecDeque;
use std::ffi::CString;
use std::hint::black_box;
use std::path::{Path, PathBuf};

pub const EXPERT: usize = 8 << 20;
/// Visited experts in a layer.
pub const CHOSEN: usize = 2;
pub const READ: &str = "limit: pread of each expert into one buffer";

/// The visited experts, and the number of experts that fit in memory.
struct Visits<'a> {
    path: &'a Path,
    names: &'a [CString],
    order: &'a [usize],
    capacity: usize,
}

impl Visits<'_> {
    /// Views of a mapping: the next layer's experts get WILLNEED, those that leave the budget get DONTNEED.
    /// Returns the peak of memory in KiB.
    fn by_views(&self) -> u64 {
        let f = zt::Zt::open(self.path);
        let (before, mut most) = (sys::status_kib("VmRSS"), 0);
        let mut kept: VecDeque<usize> = VecDeque::new();
        let advise = |e: usize, advice| {
            zt::ok(unsafe { zt::zt_component_advise(f.component(&self.names[e]), advice) });
        };
        for (i, &e) in self.order.iter().enumerate() {
            if let Some(&next) = self.order.get(i + CHOSEN) {
                advise(next, zt::WILLNEED);
            }
            if !kept.contains(&e) {
                if kept.len() + 1 >= self.capacity {
                    advise(kept.pop_front().unwrap(), zt::DONTNEED);
                }
                kept.push_back(e);
            }
            black_box(sys::touch(f.view(&self.names[e])));
            most = most.max(sys::status_kib("VmRSS").saturating_sub(before));
        }
        most
    }

    /// Batches with direct reads into the engine's memory, on a second thread.
    fn by_batches(&self) -> u64 {
        let f = zt::Zt::open_with(self.path, zt::MODE_READ, 0);
        let (before, mut most) = (sys::status_kib("VmRSS"), 0);
        let mut memory = Anon::untouched(self.capacity * EXPERT, true);
        let memory = Shared::new(memory.slice_mut());
        let slot = |at: usize| unsafe { memory.range(at * EXPERT, EXPERT) };
        // The expert in each slot, oldest first.
        let mut kept: VecDeque<(usize, usize)> = VecDeque::new();
        let mut free: Vec<usize> = (0..self.capacity - 1).collect();
        let mut load = |layer: &[usize], busy: &[usize]| -> Vec<(usize, usize)> {
            let mut missing: Vec<(usize, usize)> = Vec::new();
            let mut places = Vec::new();
            for &e in layer {
                if let Some(there) = kept.iter().find(|k| k.0 == e) {
                    places.push(*there);
                    continue;
                }
                let slot = free.pop().unwrap_or_else(|| {
                    let idle = |k: &(usize, usize)| !busy.contains(&k.0) && !layer.contains(&k.0);
                    let at = kept.iter().position(idle).unwrap();
                    kept.remove(at).unwrap().1
                });
                kept.push_back((e, slot));
                missing.push((e, slot));
                places.push((e, slot));
            }
            let request = |m: &(usize, usize)| zt::request(f.component(&self.names[m.0]), slot(m.1));
            let requests: Vec<zt::Request> = missing.iter().map(request).collect();
            f.batch(&requests, &zt::read_options(2, zt::DIRECT_ALWAYS));
            places
        };
        let layers: Vec<&[usize]> = self.order.chunks(CHOSEN).collect();
        let mut now = load(layers[0], &[]);
        for (i, layer) in layers.iter().enumerate() {
            now = std::thread::scope(|scope| {
                let next = layers.get(i + 1).map(|next| scope.spawn(|| load(next, layer)));
                for (_, at) in &now {
                    black_box(sys::touch(slot(*at)));
                }
                next.map(|thread| thread.join().unwrap()).unwrap_or_default()
            });
            most = most.max(sys::status_kib("VmRSS").saturating_sub(before));
        }
        most
    }
}

/// A file of experts, in layers, and the order of visits.
pub struct Model {
    pub path: PathBuf,
    pub names: Vec<CString>,
    pub order: Vec<usize>,
}

impl Model {
    pub fn write(cfg: &Cfg) -> Model {
        let (layers, per_layer) = if cfg.quick { (4, 8) } else { (16, 16) };
        let count = if cfg.quick { 200 } else { 2000 };
        let spec = |i| Spec { name: format!("e{i:03}"), shape: vec![EXPERT as u64 / 2], at: 0, len: EXPERT };
        let specs: Vec<Spec> = (0..layers * per_layer).map(spec).collect();
        let names = zt::cnames(&specs);
        let path = cfg.dir.join("experts.zt");
        let data = crate::data::gauss_buf(EXPERT, 9);
        let o = zt::WriterOptions { large_alignment: 4096, ..zt::writer_options() };
        zt::write(&path, &specs, &names, &data.slice()[..EXPERT], zt::BF16, &o);
        let mut r = Rng(5);
        let order = (0..count).map(|i| i / CHOSEN % layers * per_layer + r.below(per_layer)).collect();
        Model { path, names, order }
    }

    pub fn offsets(&self) -> Vec<u64> {
        let f = zt::Zt::open(&self.path);
        self.names.iter().map(|n| zt::info(f.object(n)).offset).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Reads each visited expert by pread into one buffer, with an unlimited page cache. This is the baseline for
/// the cost of a budget.
pub fn pread_each(model: &Model, offsets: &[u64], buffer: &mut [u8]) {
    use std::os::unix::fs::FileExt;
    let f = sys::open_read(&model.path, false);
    for &e in &model.order {
        f.read_exact_at(buffer, offsets[e]).unwrap();
    }
}

pub fn run(cfg: &Cfg) -> Value {
    let model = Model::write(cfg);
    let Model { path, names, order } = &model;
    let (n, count) = (names.len(), order.len());
    let visits = Visits { path, names, order, capacity: n / 4 };
    let offsets = model.offsets();
    let mut buffer = Buf::new(EXPERT, false);
    let cold = |f: &mut dyn FnMut()| {
        sys::evict_whole(path);
        secs(f).0
    };
    let (mut views, mut batches) = (0, 0);
    let g = Group {
        id: "W9b".into(),
        title: format!(
            "{count} random experts of 8 MiB out of {n}, cold, a budget of {} experts",
            visits.capacity
        ),
        metrics: vec![Metric { name: "visit", unit: Unit::Items(count as f64), limit: READ }],
        cases: vec![
            timed(Role::Limit, READ, || {
                cold(&mut || pread_each(&model, &offsets, &mut buffer.slice_mut()[..EXPERT]))
            }),
            timed(Role::Libztensor, "libztensor views, WILLNEED ahead, DONTNEED behind", || {
                cold(&mut || views = views.max(visits.by_views()))
            }),
            timed(Role::Libztensor, "libztensor batches past the page cache, a thread ahead", || {
                cold(&mut || batches = batches.max(visits.by_batches()))
            }),
        ],
        notes: vec![],
    };
    let mut v = run_group(g, cfg.reps(3), 0);
    let budget = ((visits.capacity * EXPERT) >> 20) as f64;
    for (what, most) in [("views", views), ("batches", batches)].into_iter().filter(|(_, most)| *most > 0) {
        targets::judge(
            &format!("W9b memory over the budget of experts, {what}"),
            most as f64 / 1024.0,
            " MiB",
            budget,
        );
    }
    v["memory"] = json!({"views_kib": views, "batches_kib": batches, "budget_mib": budget});
    v
}
