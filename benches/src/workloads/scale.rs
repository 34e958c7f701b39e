//! W11: cost per object for 10 to 10^6 objects, and cost of opening and of a small read for 1 MiB to 32 GiB;
//! drawn as SVG.

use crate::data::{gauss_buf, shuffled, small_specs, total};
use crate::harness::{median, secs};
use crate::outcome::{attempt, count_failure};
use crate::{sys, zt, Cfg};
use serde_json::{json, Value};
use std::ffi::CString;
use std::fmt::Write as _;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Points of a line: size, and microseconds or nanoseconds.
type Line = Vec<(f64, f64)>;

fn best_of(reps: usize, mut f: impl FnMut() -> f64) -> f64 {
    median(&(0..reps).map(|_| f()).collect::<Vec<_>>())
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let (mut open, mut find, mut sized, mut read) = (Line::new(), Line::new(), Line::new(), Line::new());
    let mut missing = Vec::new();
    println!("\n## W11: scale\n{:>10} {:>16} {:>16}", "objects", "open ns/object", "find ns/object");
    for n in [10, 100, 1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|n| !cfg.quick || *n <= 100_000)
    {
        let (a, b) = match attempt(|| objects(cfg, n)) {
            Ok(times) => times,
            Err(why) => {
                println!("{n:>10} not measured: {why}");
                missing.push(json!({"objects": n, "not_measured": why}));
                continue;
            }
        };
        println!("{n:>10} {a:>16.1} {b:>16.1}");
        open.push((n as f64, a));
        find.push((n as f64, b));
    }
    println!("{:>10} {:>16} {:>16}", "MiB", "open us", "4 KiB range us");
    for mib in [1u64, 32, 1024, 32 * 1024] {
        let (a, b) = match attempt(|| bytes(&cfg.dir.join("w11-sparse.zt"), mib << 20)) {
            Ok(times) => times,
            Err(why) => {
                println!("{mib:>10} not measured: {why}");
                missing.push(json!({"mib": mib, "not_measured": why}));
                continue;
            }
        };
        println!("{mib:>10} {a:>16.1} {b:>16.1}");
        sized.push((mib as f64, a));
        read.push((mib as f64, b));
    }
    if let Some(p) = &cfg.svg {
        let left = panel(0, "ns an object, by number of objects", &[("open", &open), ("find", &find)]);
        let right = panel(1, "microseconds, by MiB of the file", &[("open", &sized), ("read 4 KiB", &read)]);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 320\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"800\" height=\"320\" fill=\"white\"/>\n{left}{right}</svg>\n"
        );
        if let Err(e) = std::fs::write(p, svg) {
            println!("   failed: {}: {e}", p.display());
            count_failure();
        }
    }
    let line = |l: &Line| l.iter().map(|p| json!([p.0, p.1])).collect::<Vec<_>>();
    vec![json!({"id": "W11", "open_ns_per_object": line(&open), "find_ns_per_object": line(&find),
        "open_us_by_mib": line(&sized), "range_us_by_mib": line(&read), "missing": missing})]
}

fn objects(cfg: &Cfg, n: usize) -> (f64, f64) {
    let path = cfg.dir.join("w11-objects.zt");
    let specs = small_specs(n, 16);
    let names: Vec<CString> = zt::cnames(&specs);
    let data = gauss_buf(total(&specs), 6);
    zt::write(&path, &specs, &names, &data.slice()[..total(&specs)], zt::F32, &zt::writer_options());
    sys::warm(&path);
    let passes = (10_000 / n).max(1);
    let per = |t: f64| t * 1e9 / (n * passes) as f64;
    let open = best_of(3, || per(secs(|| (0..passes).for_each(|_| drop(zt::Zt::open(&path)))).0));
    let f = zt::Zt::open(&path);
    let order = shuffled(n, 4);
    let find_all = || {
        for i in &order {
            assert!(!unsafe { zt::zt_object_find(f.0, names[*i].as_ptr()) }.is_null());
        }
    };
    let find = best_of(3, || per(secs(|| (0..passes).for_each(|_| find_all())).0));
    let _ = std::fs::remove_file(&path);
    (open, find)
}

fn text(m: &mut Vec<u8>, s: &str) {
    m.push(0x60 | s.len() as u8);
    m.extend(s.as_bytes());
}

/// One sparse u8 tensor of `len` bytes.
fn bytes(path: &Path, len: u64) -> (f64, f64) {
    let mut m = vec![0xa2];
    for s in ["version", "1.2.0", "objects"] {
        text(&mut m, s);
    }
    m.push(0xa1);
    text(&mut m, "t");
    m.push(0xa3);
    text(&mut m, "shape");
    m.extend([0x81, 0x1b]);
    m.extend(len.to_be_bytes());
    text(&mut m, "format");
    text(&mut m, "dense");
    text(&mut m, "components");
    m.push(0xa1);
    text(&mut m, "data");
    m.push(0xa3);
    text(&mut m, "dtype");
    text(&mut m, "u8");
    text(&mut m, "offset");
    m.extend([0x18, 64]);
    text(&mut m, "length");
    m.push(0x1b);
    m.extend(len.to_be_bytes());
    let size = m.len() as u64;
    m.extend(size.to_le_bytes());
    m.extend(b"ZTEN1000");
    let file = sys::create(path, false);
    file.write_all_at(b"ZTEN1000", 0).unwrap();
    file.write_all_at(&m, 64 + len).unwrap();
    let passes = 50;
    let us = |t: f64| t * 1e6 / f64::from(passes);
    let open = best_of(5, || us(secs(|| (0..passes).for_each(|_| drop(zt::Zt::open(path)))).0));
    let f = zt::Zt::open(path);
    let c = f.component(c"t");
    let mut buf = [1u8; 4096];
    let mut one =
        || zt::ok(unsafe { zt::zt_component_read_range(c, len / 2, buf.as_mut_ptr().cast(), 4096) });
    let read = best_of(5, || us(secs(|| (0..passes).for_each(|_| one())).0));
    assert!(buf.iter().all(|b| *b == 0), "a hole did not read as zeros");
    let _ = std::fs::remove_file(path);
    (open, read)
}

/// Lines with logarithmic axes.
fn panel(index: usize, title: &str, lines: &[(&str, &Line)]) -> String {
    let (x0, y0, w, h) = (60.0 + 400.0 * index as f64, 270.0, 310.0, 220.0);
    let points = || lines.iter().flat_map(|l| l.1.iter());
    let span = |f: fn(&(f64, f64)) -> f64| {
        let v = points().map(|p| f(p).log10());
        (v.clone().fold(f64::MAX, f64::min).floor(), v.fold(f64::MIN, f64::max).ceil())
    };
    if points().next().is_none() {
        return String::new();
    }
    let ((xa, xb), (ya, yb)) = (span(|p| p.0), span(|p| p.1));
    let x = |v: f64| x0 + (v.log10() - xa) / (xb - xa).max(1.0) * w;
    let y = |v: f64| y0 - (v.log10() - ya) / (yb - ya).max(1.0) * h;
    let mut s = format!("<text x=\"{x0}\" y=\"25\">{title}</text>\n");
    let _ = writeln!(s, "<path d=\"M{x0} {}V{y0}H{}\" fill=\"none\" stroke=\"black\"/>", y0 - h, x0 + w);
    for e in xa as i32..=xb as i32 {
        let _ =
            writeln!(s, "<text x=\"{:.0}\" y=\"290\" text-anchor=\"middle\">1e{e}</text>", x(10f64.powi(e)));
    }
    for e in ya as i32..=yb as i32 {
        let _ = writeln!(
            s,
            "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">1e{e}</text>",
            x0 - 5.0,
            y(10f64.powi(e))
        );
    }
    for (i, (name, line)) in lines.iter().enumerate() {
        let colour = ["#1f5fa8", "#b8561b"][i % 2];
        let Some(at) = line.last() else { continue };
        let path: String = line.iter().map(|p| format!("{:.1},{:.1} ", x(p.0), y(p.1))).collect();
        let _ =
            writeln!(s, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
        let _ = writeln!(
            s,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>",
            x(at.0),
            y(at.1) - 6.0
        );
    }
    s
}
