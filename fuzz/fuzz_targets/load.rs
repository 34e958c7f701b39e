//! Sequences of calls of zt_load and zt_cache on several small files at once. Delivered and pinned bytes
//! equal those of a separate read of the request. A load that is not stopped delivers all of its requests.
#![no_main]

use arbitrary::{Result, Unstructured};
use std::ptr::null;
use ztensor_fuzz::c::{check, last_error, string, Pointer, Status, OK};
use ztensor_fuzz::c_load::*;

const SLOT: usize = 64 << 10;
/// The maximum number of calls, because each may start threads.
const MOST_CALLS: usize = 40;
const CANCELLED: Status = 13;
const LIMIT: Status = 8;

/// A load, and its received events.
struct Load {
    handle: Pointer,
    asked: Vec<Asked>,
    /// The destinations of requests that have one.
    own: Vec<Option<Vec<u8>>>,
    _ring: Vec<u8>,
    slots: usize,
    keep_going: bool,
    /// For each request, the received bytes, whether its last event came, and its error.
    bytes: Vec<u64>,
    ended: Vec<bool>,
    failed: Vec<Option<Status>>,
    held: Vec<Event>,
    released: Option<Event>,
    done: Option<Status>,
}

impl Load {
    fn start(files: &[Opened], u: &mut Unstructured<'_>) -> Result<Option<Load>> {
        let mut asked = Vec::new();
        for _ in 0..u.int_in_range(0..=8)? {
            asked.extend(Asked::any(u.choose(files)?, true, u)?);
        }
        let mut own: Vec<Option<Vec<u8>>> = Vec::new();
        let mut requests = Vec::new();
        for (one, tag) in asked.iter().zip(0u64..) {
            let has_own = one.request.dst_stride > 0 || u.ratio(1, 3)?;
            let mut memory = has_own.then(|| vec![BEFORE; one.want.as_ref().map_or(MOST, Vec::len)]);
            let (dst, dst_size) =
                memory.as_mut().map_or((no_memory(), 0), |m| (m.as_mut_ptr().cast(), m.len()));
            requests.push(Request { dst, dst_size, tag, ..one.request.clone() });
            own.push(memory);
        }
        let slots = u.int_in_range(1..=3)?;
        let mut ring = vec![BEFORE; if u.arbitrary()? { slots * SLOT } else { 0 }];
        let options = LoadOptions {
            struct_size: size_of::<LoadOptions>(),
            threads: u.int_in_range(0..=3)?,
            direct: u.int_in_range(0..=1)?,
            chunk_size: [0, 4096, 100_000][u.choose_index(3)?],
            in_flight: [0, 0, 0, 1 << 16][u.choose_index(4)?],
            verify: u32::from(u.ratio(1, 4)?),
            pinned: u32::from(u.arbitrary::<bool>()?),
            order: u.int_in_range(0..=2)?,
            keep_going: u32::from(u.arbitrary::<bool>()?),
            ring: if ring.is_empty() { no_memory() } else { ring.as_mut_ptr().cast() },
            slot_size: SLOT,
            slot_count: slots,
            thread_hooks: null(),
        };
        let mut handle = null();
        let status =
            check(unsafe { zt_load_start(requests.as_ptr(), requests.len(), &options, &mut handle) });
        assert_eq!(status == OK, !handle.is_null());
        if status != OK {
            let may = asked.iter().any(|one| one.want.is_err() || one.unsure);
            assert!(may || status == LIMIT && options.in_flight > 0, "{}", last_error());
            return Ok(None);
        }
        let count = asked.len();
        Ok(Some(Load {
            handle,
            asked,
            own,
            _ring: ring,
            slots,
            keep_going: options.keep_going > 0,
            bytes: vec![0; count],
            ended: vec![false; count],
            failed: vec![None; count],
            held: Vec::new(),
            released: None,
            done: None,
        }))
    }

    /// Whether a wait does not depend on events that this thread must release.
    fn has_space(&self) -> bool {
        let mut slots: Vec<u32> = self.held.iter().map(|event| event.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots.len() < self.slots
    }

    fn next(&mut self, timeout: i64) {
        let mut event: Event = unsafe { std::mem::zeroed() };
        event.struct_size = size_of::<Event>();
        assert_eq!(unsafe { zt_load_next(self.handle, timeout, &mut event) }, OK);
        assert_eq!(string(event.message).is_empty(), event.status == OK);
        match event.kind {
            NOTHING => assert!(timeout >= 0),
            DONE => {
                assert!(self.done.is_none_or(|before| before == event.status));
                self.done = Some(event.status);
            }
            kind => {
                assert!(self.done.is_none(), "an event after the end");
                self.take(kind, event);
            }
        }
    }

    fn take(&mut self, kind: i32, event: Event) {
        let at = usize::try_from(event.tag).unwrap();
        assert!(!self.ended[at], "an event after the last one");
        self.ended[at] = event.last > 0;
        if kind == FAILED {
            assert!(event.last == 1 && event.status != OK);
            assert!(self.asked[at].want.is_err() || self.asked[at].unsure, "{}", string(event.message));
            self.failed[at] = Some(event.status);
            return;
        }
        assert_eq!((kind, event.status), (DATA, OK));
        self.bytes[at] += event.size as u64;
        match &self.own[at] {
            Some(memory) => assert!(
                event.slot == NO_SLOT
                    && event.last == 1
                    && (event.size == 0 || event.data == memory.as_ptr())
            ),
            None => {
                assert!((event.slot as usize) < self.slots || event.size == 0);
                if let Ok(want) = &self.asked[at].want {
                    let start = usize::try_from(event.offset).unwrap();
                    let got = if event.size == 0 {
                        &[]
                    } else {
                        unsafe { std::slice::from_raw_parts(event.data, event.size) }
                    };
                    assert!(want[start..start + event.size] == *got, "request {at} from {start}");
                }
            }
        }
        if event.slot != NO_SLOT {
            self.held.push(event);
        }
    }

    fn release(&mut self, at: usize) {
        let event = self.held.swap_remove(at);
        unsafe { zt_load_release(self.handle, &event) };
        self.released = Some(event);
    }

    /// The numbers of its parts. Each belongs to a requested file.
    fn part_stats(&self, files: usize) {
        let mut stats = [unsafe { std::mem::zeroed::<PartStats>() }; 2];
        let (mut first, mut filled) = (0, 1);
        while filled > 0 {
            stats[0].struct_size = size_of::<PartStats>();
            assert_eq!(
                unsafe { zt_load_get_part_stats(self.handle, first, stats.as_mut_ptr(), 2, &mut filled) },
                OK
            );
            for one in &stats[..filled] {
                assert!(!one.file.is_null() && one.part == 0 && !string(one.reason).is_empty());
            }
            first += filled;
        }
        assert!(first <= files);
    }

    /// Finishes it: at once, or after all events.
    fn finish(mut self, drains: bool, files: usize) {
        while drains && self.done.is_none() {
            while !self.held.is_empty() {
                self.release(0);
            }
            self.next(-1);
        }
        self.part_stats(files);
        let mut stats = ReadStats { struct_size: size_of::<ReadStats>(), ..ReadStats::default() };
        let status = check(unsafe { zt_load_finish(self.handle, &mut stats) });
        if let Some(done) = self.done {
            assert_eq!(done, status);
        }
        let failure = self.failed.iter().flatten().next();
        assert!(status == OK || status == CANCELLED || failure.is_some() || self.done.is_none());
        if self.done.is_none() || status == CANCELLED {
            return;
        }
        assert_eq!(status == OK, failure.is_none());
        if status != OK && !self.keep_going {
            return;
        }
        for (at, one) in self.asked.iter().enumerate() {
            assert!(self.ended[at], "request {at} did not end");
            assert!(self.failed[at].is_some() || one.want.is_ok() || one.unsure, "request {at} did not fail");
            let Ok(want) = &one.want else { continue };
            if self.failed[at].is_none() {
                assert_eq!(self.bytes[at], one.size);
                assert!(self.own[at].as_ref().is_none_or(|memory| memory == want), "request {at}");
            }
        }
    }
}

/// A cache, and its pinned slices.
struct Cache {
    handle: Pointer,
    pins: Vec<Slice>,
}

impl Cache {
    fn new(u: &mut Unstructured<'_>) -> Result<Cache> {
        let options = CacheOptions {
            struct_size: size_of::<CacheOptions>(),
            budget: u.int_in_range(1..=3u64)? * (80 << 10),
            slot_size: SLOT as u64,
            memory: no_memory(),
            threads: u.int_in_range(1..=2)?,
            verify: u.int_in_range(0..=1)?,
            policy: u.int_in_range(0..=1)?,
            reserved: 0,
            thread_hooks: null(),
        };
        let mut handle = null();
        assert_eq!(unsafe { zt_cache_create(&options, &mut handle) }, OK);
        Ok(Cache { handle, pins: Vec::new() })
    }

    fn stats(&self) -> CacheStats {
        let mut now =
            CacheStats { struct_size: size_of::<CacheStats>(), slots: 0, used: 0, pinned: 0, rest: [0; 11] };
        assert_eq!(unsafe { zt_cache_get_stats(self.handle, &mut now) }, OK);
        assert!(now.used <= now.slots && now.pinned <= now.used);
        now
    }

    fn call(&mut self, files: &[Opened], u: &mut Unstructured<'_>) -> Result<()> {
        let Some(asked) = Asked::any(u.choose(files)?, false, u)? else { return Ok(()) };
        match u.int_in_range(0..=7)? {
            0..=2 => self.get(&asked, u)?,
            3 => _ = unsafe { zt_cache_prefetch(self.handle, &asked.request, 1) },
            4 | 5 if !self.pins.is_empty() => {
                let mut slice = self.pins.swap_remove(u.choose_index(self.pins.len())?);
                assert_eq!(unsafe { zt_cache_unpin(self.handle, &mut slice) }, OK);
            }
            6 => _ = unsafe { zt_cache_drop(self.handle, &asked.request, 1) },
            _ => _ = unsafe { zt_cache_cancel(self.handle) },
        }
        self.stats();
        Ok(())
    }

    fn get(&mut self, asked: &Asked, u: &mut Unstructured<'_>) -> Result<()> {
        let mut slice = Slice { struct_size: size_of::<Slice>(), data: null(), size: 0, pin: 0 };
        // A wait without a limit would never end if this thread has all slots pinned.
        let waits = (self.pins.len() as u64) < self.stats().slots && u.arbitrary()?;
        let status =
            unsafe { zt_cache_get(self.handle, &asked.request, if waits { -1 } else { 0 }, &mut slice) };
        if status == OK {
            let got = if slice.size == 0 {
                &[]
            } else {
                unsafe { std::slice::from_raw_parts(slice.data, slice.size) }
            };
            match &asked.want {
                Ok(want) => assert!(want == got),
                Err(_) => assert!(asked.unsure),
            }
            self.pins.push(slice);
        } else {
            let is_too_large = asked.want.as_ref().is_ok_and(|want| want.len() > SLOT);
            let may = !waits || is_too_large || asked.unsure || asked.want.is_err();
            assert!(may, "status {status}: {}", last_error());
        }
        Ok(())
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        unsafe { zt_cache_free(self.handle) };
    }
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let mut files = Vec::new();
    for _ in 0..u.int_in_range(1..=3)? {
        files.extend(Opened::any(u)?);
    }
    if files.is_empty() {
        return Ok(());
    }
    let mut cache = Cache::new(u)?;
    let mut loads: Vec<Load> = Vec::new();
    let outcome = calls(&files, &mut cache, &mut loads, u);
    let drains = u.arbitrary().unwrap_or(true);
    for load in loads {
        load.finish(drains, files.len());
    }
    outcome
}

fn calls(files: &[Opened], cache: &mut Cache, loads: &mut Vec<Load>, u: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..MOST_CALLS {
        if u.is_empty() {
            break;
        }
        if loads.is_empty() {
            loads.extend(Load::start(files, u)?);
        }
        let which = u.int_in_range(0..=loads.len().saturating_sub(1))?;
        let call: u8 = u.int_in_range(0..=15)?;
        let Some(load) = loads.get_mut(which) else { continue };
        match call {
            0..=4 => {
                let timeout = if load.has_space() { -1 } else { u.int_in_range(0..=1000)? };
                load.next(timeout);
            }
            5 => load.next(0),
            6..=8 if !load.held.is_empty() => load.release(u.choose_index(load.held.len())?),
            // A second release does nothing, nor does one of an event without a slot.
            9 => {
                let again = load.released;
                unsafe { zt_load_release(load.handle, again.as_ref().map_or(null(), std::ptr::from_ref)) };
            }
            10 => load.part_stats(files.len()),
            11 if u.ratio(1, 3)? => {
                assert_eq!(unsafe { zt_load_cancel(load.handle) }, OK);
            }
            12 => {
                let load = loads.swap_remove(which);
                load.finish(u.arbitrary()?, files.len());
            }
            13 if loads.len() < 3 => loads.extend(Load::start(files, u)?),
            _ => cache.call(files, u)?,
        }
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = run(&mut Unstructured::new(input));
});
