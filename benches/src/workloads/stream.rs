//! W15: loads that are used while they are read, of one file and of 8 shards; the slices of one rank; a slow
//! consumer.

use crate::anon::PAGE;
use crate::big::Big;
use crate::harness::{run_group, secs, timed, Case, Group, Metric, Role, Unit};
use crate::outcome::group;
use crate::peers::runai;
use crate::sys::{self, Buf, Shared};
use crate::workloads::slices::{self, Slice};
use crate::zt::{Load, LoadOptions, Zt};
use crate::{targets, Cfg};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SLOT: usize = 64 << 20;
const SLOTS: usize = 4;
const MIB: f64 = (1 << 20) as f64;

/// Common state of all groups.
struct Setting<'a> {
    cfg: &'a Cfg,
    b: &'a Big,
    /// Memory for the model, and memory for a consumer's copies.
    dst: Shared,
    device: Shared,
    ring: Shared,
    runai: Result<runai::Library, String>,
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let b = Big::new(cfg);
    let data = b.data();
    b.prepare_for_loads(data.slice());
    let capacity = b.len + (16 << 20);
    let (mut dst, mut device) = (Buf::new(capacity, true), Buf::new(capacity, true));
    let mut ring = Buf::new(SLOTS * SLOT, true);
    let s = Setting {
        cfg,
        b: &b,
        dst: Shared::new(dst.slice_mut()),
        device: Shared::new(device.slice_mut()),
        ring: Shared::new(ring.slice_mut()),
        runai: runai::library(),
    };
    check(&s, data.slice());
    drop(data);
    let values = vec![
        group("W15/warm", || one_file(&s, "W15/warm", false)),
        group("W15/cold", || one_file(&s, "W15/cold", true)),
        group("W15/shards warm", || shards(&s, "W15/shards warm", false)),
        group("W15/shards cold", || shards(&s, "W15/shards cold", true)),
        group("W15/rank", || rank(&s)),
    ];
    first_event(&s);
    slow_consumer(&s);
    b.remove();
    values
}

impl Setting<'_> {
    fn model(&self) -> &'static mut [u8] {
        unsafe { self.dst.range(0, self.b.len) }
    }

    /// A consumer that copies, as to a device's memory.
    fn copy(&self, tag: u64, offset: u64, bytes: &[u8]) {
        let at = self.b.specs[tag as usize].at + offset as usize;
        unsafe { self.device.range(at, bytes.len()) }.copy_from_slice(bytes);
    }

    /// Into one buffer.
    fn buffer(&self, file: &Path, threads: u32, consume: impl FnMut(u64, u64, &[u8])) {
        let f = Zt::open_model(file);
        let requests = f.whole(&self.b.specs, &self.b.cnames, self.dst);
        let stats = Load::start(&requests, &LoadOptions::new(threads)).run(consume);
        assert_eq!(stats.bytes, self.b.len as u64);
    }

    /// Through a ring, copied from it.
    fn through_ring(&self, file: &Path, pinned: bool) {
        let f = Zt::open_model(file);
        let ring = unsafe { self.ring.range(0, SLOTS * SLOT) };
        let options = LoadOptions::with_ring(0, ring, SLOT, pinned);
        let stats = Load::start(&f.streamed(&self.b.cnames), &options)
            .run(|tag, offset, bytes| self.copy(tag, offset, bytes));
        assert_eq!(stats.bytes, self.b.len as u64);
    }

    /// The requests for the peer, and the tensor of each range. Headers are read before the timed section.
    fn plan(&self, files: &[PathBuf]) -> (runai::Plan, Vec<Vec<usize>>) {
        let of = |path: &PathBuf| {
            let f = Zt::open(path);
            let there = self.b.cnames.iter().enumerate().filter_map(|(at, n)| Some((at, f.offset(n)?)));
            let (numbers, ranges) = there
                .map(|(at, offset)| {
                    let s = &self.b.specs[at];
                    let dst = unsafe { self.dst.range(s.at, s.len) }.as_mut_ptr();
                    (at, runai::Range { offset, size: s.len, dst })
                })
                .unzip();
            ((path.clone(), ranges), numbers)
        };
        files.iter().map(of).unzip()
    }

    /// Cases of the peer: into the buffer, and copied from there.
    fn peer<'c>(
        &'c self,
        files: &[PathBuf],
        threads: u32,
        ready: &'c dyn Fn(),
        copies: bool,
    ) -> Option<Case<'c>> {
        let library = self.runai.as_ref().ok()?;
        let (plan, numbers) = self.plan(files);
        let what = if copies { ", copied as it comes" } else { "" };
        let name = format!("Run:ai{what}, {threads} threads");
        Some(timed(Role::Peer, name, move || {
            ready();
            secs(|| {
                library.load(&plan, threads, |file, range| {
                    if copies {
                        let at = numbers[file][range];
                        let s = &self.b.specs[at];
                        self.copy(at as u64, 0, &self.model()[s.at..s.at + s.len]);
                    }
                })
            })
            .0
        }))
    }

    fn notes(&self) -> Vec<String> {
        let peer = self.runai.as_ref().err().map(|why| format!("Run:ai streamer: left out: {why}"));
        [Some(self.b.note()), peer].into_iter().flatten().collect()
    }
}

/// Checks that each way loads the right bytes.
fn check(s: &Setting<'_>, data: &[u8]) {
    let want = &data[..s.b.len];
    let device = || unsafe { s.device.range(0, s.b.len) };
    for file in [&s.b.zt, &s.b.index] {
        s.model().fill(0);
        s.buffer(file, 0, |_, _, _| ());
        assert!(s.model() == want, "a load into one buffer loaded wrong bytes");
        device().fill(0);
        s.through_ring(file, true);
        assert!(device() == want, "a load through a ring loaded wrong bytes");
    }
    if let Ok(library) = &s.runai {
        s.model().fill(0);
        library.load(&s.plan(&s.b.shards).0, 2, |_, _| ());
        assert!(s.model() == want, "Run:ai's streamer loaded wrong bytes");
    }
}

fn state(files: &[PathBuf], cold: bool) -> impl Fn() + '_ {
    move || files.iter().for_each(|f| if cold { sys::evict_whole(f) } else { sys::warm_whole(f) })
}

const BUFFER: &str = "libztensor load, into one buffer";

fn one_file(s: &Setting<'_>, id: &str, cold: bool) -> Value {
    let files = [s.b.zt.clone()];
    let ready = state(&files, cold);
    let time = |f: &dyn Fn()| {
        ready();
        secs(f).0
    };
    let read = |threads, direct| sys::read_parallel(&s.b.zt, s.model(), s.b.len, threads, 4 << 20, direct);
    let mut cases = vec![
        timed(Role::Limit, "limit: pread into one buffer, 2 threads", || time(&|| read(2, cold))),
        timed(Role::Libztensor, BUFFER, || time(&|| s.buffer(&s.b.zt, 0, |_, _, _| ()))),
        timed(Role::Libztensor, "libztensor load, the same, copied as it comes", || {
            time(&|| s.buffer(&s.b.zt, 0, |tag, offset, bytes| s.copy(tag, offset, bytes)))
        }),
        timed(Role::Libztensor, "libztensor load, ring of 4 x 64 MiB, copied as it comes", || {
            time(&|| s.through_ring(&s.b.zt, false))
        }),
        timed(Role::Libztensor, "libztensor load, the same ring, said to be pinned", || {
            time(&|| s.through_ring(&s.b.zt, true))
        }),
    ];
    cases.extend(s.peer(&files, 2, &ready, false));
    cases.extend(s.peer(&files, 2, &ready, true));
    let g = Group {
        id: id.into(),
        title: "a model of one file, used while it is read".into(),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(s.b.len as f64), limit: BUFFER }],
        cases,
        notes: s.notes(),
    };
    run_group(g, s.cfg.reps(5), usize::from(!cold))
}

const EACH: &str = "limit: pread, 1 thread";
const DIRECT: &str = "limit: O_DIRECT pread, 2 threads";

fn shards(s: &Setting<'_>, id: &str, cold: bool) -> Value {
    let files = &s.b.shards;
    let ready = state(files, cold);
    let time = |f: &dyn Fn()| {
        ready();
        secs(f).0
    };
    // One file after the other, including bytes that are not tensors: slightly more than the model.
    let read = |threads, direct| {
        let mut at = 0;
        for f in files {
            let size = std::fs::metadata(f).unwrap().len() as usize;
            let capacity = size.next_multiple_of(PAGE);
            sys::read_parallel(f, unsafe { s.dst.range(at, capacity) }, size, threads, 4 << 20, direct);
            at += capacity;
        }
    };
    let load = |threads| s.buffer(&s.b.index, threads, |_, _, _| ());
    let mut cases = vec![
        timed(Role::Limit, EACH, || time(&|| read(1, false))),
        timed(Role::Limit, DIRECT, || time(&|| read(2, true))),
        timed(Role::Limit, "limit: O_DIRECT pread, 4 threads", || time(&|| read(4, true))),
        timed(Role::Libztensor, "libztensor load, 2 threads", || time(&|| load(2))),
        timed(Role::Libztensor, "libztensor load, the library's number of threads", || time(&|| load(0))),
    ];
    cases.extend(s.peer(files, 2, &ready, false));
    cases.extend(s.peer(files, 4, &ready, false));
    let limit = if cold { DIRECT } else { EACH };
    let g = Group {
        id: id.into(),
        title: "a model of 8 shards into one buffer".into(),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(s.b.len as f64), limit }],
        cases,
        notes: s.notes(),
    };
    run_group(g, s.cfg.reps(5), usize::from(!cold))
}

const CONTIGUOUS: &str = "limit: O_DIRECT pread of as many bytes, contiguous, 2 threads";

/// One of 8 ranks, cold.
fn rank(s: &Setting<'_>) -> Value {
    let (plan, need) = slices::plan(&s.b.specs, 1, 8);
    let ready = state(&s.b.shards, true);
    let load = || {
        let f = Zt::open_model(&s.b.index);
        let one = |slice: &Slice| slice.request(f.component(&s.b.cnames[slice.tensor]), s.dst);
        let requests: Vec<_> = plan.iter().map(one).collect();
        Load::start(&requests, &LoadOptions::new(0)).run(|_, _, _| ())
    };
    ready();
    let stats = load();
    assert_eq!(stats.bytes, need as u64);
    let whole = stats.stored_bytes as f64 / need as f64;
    // An equal number of bytes of each shard.
    let each = (need / s.b.shards.len()).next_multiple_of(PAGE);
    let contiguous = || {
        for (n, f) in s.b.shards.iter().enumerate() {
            sys::read_parallel(f, unsafe { s.dst.range(n * each, each) }, each, 2, 4 << 20, true);
        }
    };
    let g = Group {
        id: "W15/rank".into(),
        title: "the slices of one of 8 ranks, of every matrix of 8 shards, cold".into(),
        metrics: vec![Metric { name: "load", unit: Unit::Bytes(need as f64), limit: CONTIGUOUS }],
        cases: vec![
            timed(Role::Limit, CONTIGUOUS, || {
                ready();
                secs(contiguous).0
            }),
            timed(Role::Libztensor, "libztensor load of slices", || {
                ready();
                secs(load).0
            }),
        ],
        notes: vec![format!("{need} B needed, {whole:.2} times that read; {}", stats.why())],
    };
    run_group(g, s.cfg.reps(5), 0)
}

/// The time from the start of a load to its first bytes, for an open file in the page cache.
fn first_event(s: &Setting<'_>) {
    if let Err(why) = crate::outcome::attempt(|| sys::warm_whole(&s.b.zt)) {
        return println!("\n## W15/first: not measured: {why}");
    }
    let f = Zt::open(&s.b.zt);
    let requests = f.streamed(&s.b.cnames);
    let mut times = Vec::new();
    for _ in 0..s.cfg.reps(15) {
        let options = LoadOptions::with_ring(0, unsafe { s.ring.range(0, SLOTS * SLOT) }, SLOT, false);
        let (t, load) = secs(|| {
            let load = Load::start(&requests, &options);
            assert!(load.next().is_some());
            load
        });
        drop(load);
        times.push(t * 1e3);
    }
    println!("\n## W15/first: from the start of a load to the first bytes, warm, ring of 4 x 64 MiB");
    targets::judge("W15 first bytes after the start of a load", crate::harness::median(&times), " ms", 2.0);
}

/// A consumer of 10 MB/s: the load must wait, and must not buffer everything in memory.
fn slow_consumer(s: &Setting<'_>) {
    const SLOT: usize = 4 << 20;
    const RATE: f64 = 10e6;
    let most = if s.cfg.quick { 8 << 20 } else { 48 << 20 };
    let f = Zt::open(&s.b.zt);
    let requests = f.streamed(&s.b.cnames);
    let before = sys::status_kib("RssAnon");
    let options = LoadOptions::with_slots(0, SLOT, SLOTS);
    let load = Load::start(&requests, &options);
    let (started, mut taken, mut peak) = (Instant::now(), 0, 0);
    while taken < most {
        let event = load.next().expect("the load ended early");
        taken += event.size;
        let due = Duration::from_secs_f64(taken as f64 / RATE);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
        peak = peak.max(sys::status_kib("RssAnon").saturating_sub(before));
        load.release(&event);
    }
    drop(load);
    println!("\n## W15/slow: memory with a consumer of 10 MB/s");
    let ring = (SLOTS * SLOT) as f64 / MIB;
    targets::judge("W15 memory of a load with a ring of 16 MiB", peak as f64 / 1024.0, " MiB", ring + 16.0);
}
