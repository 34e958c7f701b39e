//! Kills, power cuts and two writers: checks the file afterwards.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/fakes.rs"]
mod fakes;
#[path = "../common/refusing.rs"]
mod refusing;
#[path = "../common/traced.rs"]
mod traced;

mod append_refused;
mod crash;
mod durable;
mod kill;
mod kill_appends;
mod power_cut;
mod recovery;
mod two_writers;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs one test at a time: a forked child keeps the file locks of other threads.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
