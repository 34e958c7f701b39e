//! Kills, power cuts and two writers: what is in the file afterwards.

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

/// One test at a time: a child of fork keeps the file locks that other threads held.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
