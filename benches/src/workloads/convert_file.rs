//! W14: `zt convert` of the big model, a safetensors file in the page cache, beside `cp`.

use crate::balloon::{self, borrow};
use crate::big::Big;
use crate::harness::{case, run_group, secs, Case, Group, Metric, Role, Sample, Unit};
use crate::outcome::not_measured;
use crate::peers::safetensors;
use crate::{sys, zt, Cfg};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LIMIT: &str = "limit: cp";

/// `$ZT_PROGRAM`, or the program that `make build` puts beside the library.
fn program() -> PathBuf {
    let usual = || Path::new(env!("ZT_LIB_DIR")).join("../release/zt");
    std::env::var_os("ZT_PROGRAM").map_or_else(usual, PathBuf::from)
}

fn run_program(program: &Path, arguments: &[&OsStr]) {
    match Command::new(program).args(arguments).stdin(Stdio::null()).output() {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            not_measured(format!("{} is missing: make build", program.display()))
        }
        Err(e) => panic!("{}: {e}", program.display()),
        Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
    }
}

/// read() and write() of 4 MiB, with a checksum of each.
fn summed(from: &Path, to: &Path) {
    let (mut from, mut to) = (sys::open_read(from, false), sys::create(to, false));
    let (mut buffer, mut sum) = (vec![0; 4 << 20], 0);
    loop {
        let got = from.read(&mut buffer).unwrap();
        if got == 0 {
            break;
        }
        sum = crc32c::crc32c_append(sum, &buffer[..got]);
        to.write_all(&buffer[..got]).unwrap();
    }
    std::hint::black_box(sum);
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    b.remove();
    let _limits = balloon::DirtyLimits::raise();
    {
        let data = b.data();
        safetensors::write(&b.st, &b.specs, &data.slice()[..b.len], ::safetensors::Dtype::BF16);
    }
    sys::evict(&b.st);
    sys::warm(&b.st);
    let program = program();
    let copy = cfg.dir.join("w14.safetensors");
    let made = cfg.dir.join("w14.zt");
    let (from, copy, made) = (&b.st, &copy, &made);
    // Times the writing, then the fsync that makes it durable.
    let one = |out: &PathBuf, write: &dyn Fn()| -> Sample {
        let _ = std::fs::remove_file(out);
        let timed = || {
            let (t, ()) = secs(write);
            let (s, ()) = secs(|| File::open(out).unwrap().sync_all().unwrap());
            vec![Some(t), Some(t + s)]
        };
        borrow(b.len + (512 << 20), timed, || ())
    };
    let convert = |digest: &str| {
        let options = ["--raw", "--digest", digest].map(OsStr::new);
        let mut arguments = vec![OsStr::new("convert"), from.as_os_str(), made.as_os_str()];
        arguments.extend(options);
        one(made, &|| run_program(&program, &arguments))
    };
    let gone = |s: Sample, out: &PathBuf| {
        borrow(0, || (), || drop(std::fs::remove_file(out)));
        s
    };
    let cases: Vec<Case> = vec![
        case(Role::Limit, LIMIT, || {
            gone(one(copy, &|| run_program(Path::new("cp"), &[from.as_os_str(), copy.as_os_str()])), copy)
        }),
        case(Role::Limit, "limit: read() and write() of 4 MiB, crc32c", || {
            gone(one(copy, &|| summed(from, copy)), copy)
        }),
        case(Role::Libztensor, "zt convert --raw --digest crc32c", || {
            let s = convert("crc32c");
            let same = zt::Zt::open(made).view(&b.cnames[0]) == zt::Zt::open(from).view(&b.cnames[0]);
            assert!(same, "W14: wrong bytes");
            gone(s, made)
        }),
        case(Role::Libztensor, "zt convert --raw", || gone(convert("none"), made)),
    ];
    let metric = |name| Metric { name, unit: Unit::Bytes(b.len as f64), limit: LIMIT };
    let g = Group {
        id: "W14".into(),
        title: "convert a safetensors file in the page cache to a fresh .zt file, by the program".into(),
        metrics: vec![metric("convert"), metric("durable")],
        cases,
        notes: vec![b.note()],
    };
    let v = run_group(g, cfg.reps(4), 0);
    b.remove();
    vec![v]
}
