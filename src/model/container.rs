//! What a file can be.

/// How a file is laid out, and which text of a spec it follows. All of them are in the table of `container`.
/// cbindgen:ignore
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Container(u8);

impl Container {
    /// By its number, for the table.
    pub(crate) const fn new(number: u8) -> Container {
        assert!(number > 0 && number < 32, "a container has a bit in a mask of 32");
        Container(number)
    }

    /// Its number in C.
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// Its bit in a mask of containers.
    pub const fn bit(self) -> u32 {
        1 << self.0
    }
}
