//! The clock for times: wall time or, with `--cpu`, processor time, for machines that other programs use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

static PROCESSORS: AtomicBool = AtomicBool::new(false);

/// From now on, times are processor times of this process and of its finished children.
pub fn by_processors() {
    PROCESSORS.store(true, Ordering::Relaxed);
}

pub fn is_by_processors() -> bool {
    PROCESSORS.load(Ordering::Relaxed)
}

/// A time on either clock.
#[derive(Clone, Copy)]
pub enum Moment {
    Wall(Instant),
    Processors(f64),
}

impl Moment {
    pub fn now() -> Moment {
        match is_by_processors() {
            false => Moment::Wall(Instant::now()),
            true => Moment::Processors(own() + of_children()),
        }
    }

    /// Seconds since then.
    pub fn elapsed(self) -> f64 {
        match self {
            Moment::Wall(then) => then.elapsed().as_secs_f64(),
            Moment::Processors(then) => own() + of_children() - then,
        }
    }
}

fn own() -> f64 {
    let mut t: libc::timespec = unsafe { std::mem::zeroed() };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn of_children() -> f64 {
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut used) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}
