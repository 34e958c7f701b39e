//! The limits and the released libraries, each behind the same few functions.

#[cfg(ggml)]
pub mod ggml;
pub mod gguf_candle;
pub mod gguf_file;
pub mod limits;
pub mod safetensors;
pub mod zt1;

use std::time::Instant;

/// Seconds since the last call.
pub struct Lap(Instant);

impl Lap {
    pub fn start() -> Lap {
        Lap(Instant::now())
    }
    pub fn lap(&mut self) -> Option<f64> {
        let t = self.0.elapsed().as_secs_f64();
        self.0 = Instant::now();
        Some(t)
    }
}
