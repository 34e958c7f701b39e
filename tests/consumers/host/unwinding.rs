//! A Rust static library that unwinds inside. Built twice: as it is, the other library of the host; and
//! relinked as libztensor.a is, with --cfg relinked, since nothing in libztensor can be made to panic.

use std::panic;

fn unwinds() -> i32 {
    panic::set_hook(Box::new(|_| {}));
    let text = std::env::args().next().unwrap_or_default();
    match panic::catch_unwind(|| text.parse::<u32>().expect("a path is no number")) {
        Ok(_) => 0,
        Err(payload) => match payload.downcast::<String>() {
            Ok(message) if message.contains("no number") => 42,
            _ => 1,
        },
    }
}

#[cfg(not(relinked))]
#[no_mangle]
pub extern "C" fn host_unwinds() -> i32 {
    unwinds()
}

#[cfg(relinked)]
#[no_mangle]
pub extern "C" fn zt_test_unwinds() -> i32 {
    unwinds()
}
