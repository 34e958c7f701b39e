//! W16: random experts from a cache of slices, and a cached slice.

use super::experts::{pread_each, Model, CHOSEN, EXPERT, READ};
use crate::balloon::borrow;
use crate::harness::{median, run_group, secs, timed, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::sys::{self, Buf};
use crate::zt::{self, Cache};
use crate::{targets, Cfg};
use serde_json::Value;
use std::hint::black_box;

/// Gets the experts in order and prefetches those of the next layer, like a mixture of experts.
fn visit(model: &Model, budget: u64, ahead: bool) -> String {
    let f = zt::Zt::open_with(&model.path, zt::MODE_READ, 0);
    let slice = |e: &usize| zt::request(f.component(&model.names[*e]), &mut []);
    let slices: Vec<zt::Request> = model.order.iter().map(slice).collect();
    let cache = Cache::new(budget, EXPERT as u64, 0);
    let layers: Vec<&[zt::Request]> = slices.chunks(CHOSEN).collect();
    for (i, layer) in layers.iter().enumerate() {
        if let Some(next) = layers.get(i + 1).filter(|_| ahead) {
            cache.prefetch(next);
        }
        for slice in *layer {
            let pinned = cache.get(slice);
            black_box(sys::touch(pinned.bytes()));
            cache.unpin(pinned);
        }
    }
    let s = cache.stats();
    format!(
        "{} slots: {} there, {} joined, {} read, {} read ahead",
        s.slots, s.hits, s.joined, s.misses, s.prefetches
    )
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let model = Model::write(cfg);
    // Memory for slots of a quarter of the model, twice while one cache ends and the next starts, and for the
    // file's pages.
    let memory = 2 * model.names.len() * EXPERT;
    let measured = || {
        let value = group("W16", || experts(cfg, &model));
        repeats(cfg, &model);
        vec![value]
    };
    borrow(memory, measured, || sys::evict_whole(&model.path))
}

fn experts(cfg: &Cfg, model: &Model) -> Value {
    let (n, count) = (model.names.len(), model.order.len());
    let budget = (n / 4 * EXPERT) as u64;
    let offsets = model.offsets();
    let mut buffer = Buf::new(EXPERT, false);
    let cold = |f: &mut dyn FnMut()| {
        sys::evict_whole(&model.path);
        secs(f).0
    };
    let mut notes = vec![format!("a budget of {} MiB", budget >> 20)];
    notes.push(visit(model, budget, true));
    let g = Group {
        id: "W16".into(),
        title: format!("{count} random experts of 8 MiB out of {n}, evicted before"),
        metrics: vec![Metric { name: "visit", unit: Unit::Items(count as f64), limit: READ }],
        cases: vec![
            timed(Role::Limit, READ, || {
                cold(&mut || pread_each(model, &offsets, &mut buffer.slice_mut()[..EXPERT]))
            }),
            timed(Role::Libztensor, "libztensor zt_cache, the next layer prefetched", || {
                cold(&mut || drop(visit(model, budget, true)))
            }),
            timed(Role::Libztensor, "libztensor zt_cache, nothing prefetched", || {
                cold(&mut || drop(visit(model, budget, false)))
            }),
        ],
        notes,
    };
    run_group(g, cfg.reps(5), 0)
}

/// Slices in the cache.
fn repeats(cfg: &Cfg, model: &Model) {
    const GETS: usize = 100_000;
    let f = zt::Zt::open(&model.path);
    let slices: Vec<zt::Request> =
        model.names[..8].iter().map(|n| zt::request(f.component(n), &mut [])).collect();
    let cache = Cache::new(16 * EXPERT as u64, EXPERT as u64, 0);
    let round = |gets: usize| {
        for i in 0..gets {
            cache.unpin(cache.get(&slices[i % slices.len()]));
        }
    };
    round(slices.len());
    let times: Vec<f64> = (0..cfg.reps(7)).map(|_| secs(|| round(GETS)).0 / GETS as f64 * 1e6).collect();
    println!("\n## W16/repeats: get and unpin of a cached expert");
    targets::judge("W16 get and unpin of a slice that is there", median(&times), " us", 1.0);
}
