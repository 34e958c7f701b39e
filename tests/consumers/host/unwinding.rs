//! A Rust static library that unwinds inside. It is built twice: unchanged, as the host's other library; and
//! relinked like libztensor.a, with --cfg relinked, because no call makes libztensor panic.

use std::panic;

fn unwinds() -> i32 {
    panic::set_hook(Box::new(|_| {}));
    let text = std::env::args().next().unwrap_or_default();
    match panic::catch_unwind(|| text.parse::<u32>().expect("a path is not a number")) {
        Ok(_) => 0,
        Err(payload) => match payload.downcast::<String>() {
            Ok(message) if message.contains("not a number") => 42,
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
