//! Common code of the fuzz targets: all calls on a file with comparisons of the results, a generator of
//! files, values and their comparison, and the C interface.

pub mod append;
pub mod archive;
pub mod c;
pub mod c_load;
pub mod c_read;
pub mod c_write;
pub mod container_2;
pub mod copy;
pub mod differential;
pub mod file;
pub mod generate;
pub mod guarded;
pub mod item;
pub mod memory;
pub mod peers;
pub mod random;
pub mod read;
pub mod safetensors;
pub mod slice;
#[path = "../../tests/common/tree.rs"]
pub mod tree;
pub mod values;
pub mod views;
pub mod write;
