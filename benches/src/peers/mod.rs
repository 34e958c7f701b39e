//! The limits and the released libraries, with the same functions for each.

#[cfg(ggml)]
pub mod ggml;
#[cfg(not(ggml))]
#[path = "ggml_absent.rs"]
pub mod ggml;
pub mod gguf_candle;
pub mod gguf_file;
pub mod gguf_py;
pub mod limits;
pub mod runai;
pub mod safetensors;
pub mod zt1;
pub mod zt2;

use crate::clock::Moment;

/// Seconds since the last call.
pub struct Lap(Moment);

impl Lap {
    pub fn start() -> Lap {
        Lap(Moment::now())
    }
    pub fn lap(&mut self) -> Option<f64> {
        let t = self.0.elapsed();
        self.0 = Moment::now();
        Some(t)
    }
}
