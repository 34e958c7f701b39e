//! W8: bf16 and f16 to f32, in the cache and in memory.

use crate::data::{gauss_buf, Spec};
use crate::harness::{case, run_group, secs, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::sys::{Buf, Shared};
use crate::{zt, Cfg};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use serde_json::Value;
use std::hint::black_box;

const COPY: &str = "limit: memcpy of the output's bytes, 1 thread";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let len = (cfg.mib / 8) << 19; // elements
    let cache = if cfg.quick { 100 } else { 400 };
    vec![
        group("W8/cache", || to_f32(cfg, "W8/cache", "in the L2 cache", 32 << 10, cache)),
        group("W8/memory", || to_f32(cfg, "W8/memory", "from memory", len, 1)),
    ]
}

fn to_f32(cfg: &Cfg, id: &str, what: &str, n: usize, passes: usize) -> Value {
    let brain = gauss_buf(2 * n, 8);
    let brain = &brain.slice()[..2 * n];
    let bits = |b: &[u8]| u16::from_le_bytes([b[0], b[1]]);
    let halves: Vec<u8> = brain
        .chunks(2)
        .flat_map(|b| f16::from_f32(bf16::from_bits(bits(b)).to_f32()).to_le_bytes())
        .collect();
    let spec = [Spec { name: "t".into(), shape: vec![n as u64], at: 0, len: 2 * n }];
    let names = zt::cnames(&spec);
    let file = |data: &[u8], dtype| zt::write_sink(&spec, &names, data, dtype, &zt::writer_options(), true).1;
    let (brain_file, half_file) = (file(brain, zt::BF16), file(&halves, zt::F16));
    let (brain_zt, half_zt) = (zt::Zt::memory(&brain_file), zt::Zt::memory(&half_file));
    let (mut dst, src) = (Buf::new(4 * n, false), Buf::new(4 * n, false));
    let out = Shared::new(dst.slice_mut());
    let d = move || unsafe { out.range(0, 4 * n) };
    let f = move || unsafe { std::slice::from_raw_parts_mut(d().as_mut_ptr().cast::<f32>(), n) };
    let libztensor = |z: &zt::Zt| {
        let dst = d().as_mut_ptr().cast();
        zt::ok(unsafe { zt::zt_object_read_as(z.object(c"t"), zt::F32, dst, 4 * n, std::ptr::null_mut()) });
    };
    libztensor(&brain_zt);
    assert!(
        f().iter().zip(brain.chunks(2)).all(|(y, b)| *y == bf16::from_bits(bits(b)).to_f32()),
        "{id}: bf16"
    );
    libztensor(&half_zt);
    assert!(
        f().iter().zip(halves.chunks(2)).all(|(y, b)| *y == f16::from_bits(bits(b)).to_f32()),
        "{id}: f16"
    );

    let t = move |f: &dyn Fn()| Some(secs(|| (0..passes).for_each(|_| f())).0);
    let copy = || black_box(d()).copy_from_slice(black_box(&src.slice()[..4 * n]));
    let brain_in = unsafe { std::slice::from_raw_parts(brain.as_ptr().cast::<bf16>(), n) };
    let halves: Vec<f16> = halves.chunks(2).map(|b| f16::from_bits(bits(b))).collect();
    let cases: Vec<Case> = vec![
        case(Role::Limit, COPY, || {
            let s = t(&copy);
            vec![s, s]
        }),
        case(Role::Libztensor, "libztensor zt_object_read_as", || {
            vec![t(&|| libztensor(&brain_zt)), t(&|| libztensor(&half_zt))]
        }),
        case(Role::Peer, "half 2.7 convert_to_f32_slice", || {
            vec![t(&|| brain_in.convert_to_f32_slice(f())), t(&|| halves.convert_to_f32_slice(f()))]
        }),
    ];
    let metric = |name| Metric { name, unit: Unit::Bytes((n * passes * 4) as f64), limit: COPY };
    let g = Group {
        id: id.into(),
        title: format!("to f32, {what}, {n} elements; GB/s of f32"),
        metrics: vec![metric("bf16 to f32"), metric("f16 to f32")],
        cases,
        notes: vec![],
    };
    run_group(g, cfg.reps(9), 1)
}
