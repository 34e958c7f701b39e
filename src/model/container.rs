//! What a file can be.

use super::name::Name;
use std::ffi::CStr;

/// How a file is laid out, and which text of a spec it follows. The values are the numbers in C.
/// cbindgen:ignore
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Container {
    /// `ZTEN0001`: an array of tensors, no footer magic.
    V0_1 = 1,
    /// `ZTEN1000` without a footer magic; `tensors`.
    V1_0 = 2,
    /// `ZTEN1000` at both ends; the manifest says 1.1.
    V1_1 = 3,
    /// `ZTEN1000` at both ends; the manifest says 1.2 or a later minor version.
    V1_2 = 4,
    /// zTensor 2.
    V2 = 5,
    /// A JSON header in front of the data.
    Safetensors = 6,
    /// ggml's file.
    Gguf = 7,
    /// A zip archive of NumPy arrays, or one of them.
    Npz = 8,
    /// A zip archive that PyTorch saved.
    Torch = 9,
}

impl Container {
    /// All of them, in the order of their numbers.
    pub const ALL: [Container; 9] = [
        Container::V0_1,
        Container::V1_0,
        Container::V1_1,
        Container::V1_2,
        Container::V2,
        Container::Safetensors,
        Container::Gguf,
        Container::Npz,
        Container::Torch,
    ];

    const fn known_name(self) -> Name {
        match self {
            Container::V0_1 => const { Name::new(c"zTensor 0.1") },
            Container::V1_0 => const { Name::new(c"zTensor 1.0") },
            Container::V1_1 => const { Name::new(c"zTensor 1.1") },
            Container::V1_2 => const { Name::new(c"zTensor 1.2") },
            Container::V2 => const { Name::new(c"zTensor 2") },
            Container::Safetensors => const { Name::new(c"safetensors") },
            Container::Gguf => const { Name::new(c"GGUF") },
            Container::Npz => const { Name::new(c"npz") },
            Container::Torch => const { Name::new(c"PyTorch") },
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.known_name().text
    }

    /// The same with a NUL behind it.
    pub const fn c_name(self) -> &'static CStr {
        self.known_name().c
    }

    /// Its number in C.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// By its number in C.
    pub fn from_number(number: i32) -> Option<Container> {
        Container::ALL.into_iter().find(|container| container.number() == number)
    }

    /// Its bit in a mask of containers.
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }
}
