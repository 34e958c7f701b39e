//! W17, writing: zTensor 2 with an xxh3 for each part: the big model, and 51,000 tensors of 4 KiB.

use super::write::{one, plain};
use crate::balloon;
use crate::big::Big;
use crate::data::{gauss_buf, small_specs, total, Spec};
use crate::harness::{case, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::peers::zt2;
use crate::{zt, Cfg};
use ::zt2::DType;
use serde_json::Value;
use std::ffi::CString;
use std::path::Path;

const LIMIT: &str = "limit: write() in 4 MiB chunks";

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let _limits = balloon::DirtyLimits::raise();
    let big = || {
        let b = Big::new(cfg);
        b.remove();
        let data = b.data();
        let file = Written {
            specs: &b.specs,
            names: &b.cnames,
            data: &data.slice()[..b.len],
            types: (zt::BF16, DType::BF16),
        };
        written(cfg, "W17/write", "the model", &file, 4)
    };
    let small = || {
        let specs = small_specs(51_000, 1024);
        let (names, len) = (zt::cnames(&specs), total(&specs));
        let data = gauss_buf(len, 7);
        let file = Written {
            specs: &specs,
            names: &names,
            data: &data.slice()[..len],
            types: (zt::F32, DType::F32),
        };
        written(cfg, "W17/write small", "51,000 tensors of 4 KiB", &file, 7)
    };
    vec![group("W17/write", big), group("W17/write small", small)]
}

/// The data to write.
struct Written<'a> {
    specs: &'a [Spec],
    names: &'a [CString],
    data: &'a [u8],
    /// In the form of the C interface and of the peer.
    types: (i32, DType),
}

fn written(cfg: &Cfg, id: &'static str, what: &str, file: &Written<'_>, reps: usize) -> Value {
    let Written { specs, names, data, types } = *file;
    let options = zt::WriterOptions { spec_version: zt::SPEC_2, digest: zt::XXH3, ..zt::writer_options() };
    let plainly = zt::WriterOptions { digest: zt::NO_DIGEST, ..options };
    type Write<'a> = Box<dyn Fn(&Path) + 'a>;
    let cases: Vec<(Role, &str, Write<'_>)> = vec![
        (Role::Limit, LIMIT, Box::new(|out| plain(out, data, 4 << 20))),
        (
            Role::Libztensor,
            "libztensor xxh3",
            Box::new(move |out| zt::write(out, specs, names, data, types.0, &options)),
        ),
        (
            Role::Libztensor,
            "libztensor batch xxh3",
            Box::new(move |out| zt::write_batch(out, specs, names, data, types.0, &options)),
        ),
        (
            Role::Libztensor,
            "libztensor no digest",
            Box::new(move |out| zt::write(out, specs, names, data, types.0, &plainly)),
        ),
        (Role::Peer, "ztensor 2.1.1 xxh3", Box::new(move |out| zt2::write(out, specs, data, types.1, 4096))),
    ];
    let out = &cfg.dir.join("w17.out");
    let spare = data.len() + (512 << 20);
    let cases: Vec<Case<'_>> = (cases.into_iter())
        .map(|(role, name, write)| case(role, name, move || one(spare, out, false, &write)))
        .collect();
    let metric = |name| Metric { name, unit: Unit::Bytes(data.len() as f64), limit: LIMIT };
    let g = Group {
        id: id.into(),
        title: format!("zTensor 2: write {what} from memory to a fresh file; {} B", data.len()),
        metrics: vec![metric("write"), metric("durable")],
        cases,
        notes: vec![],
    };
    crate::harness::run_group(g, cfg.reps(reps), 0)
}
