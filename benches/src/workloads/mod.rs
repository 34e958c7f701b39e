//! One file for each workload; docs/benchmarks.md describes them.

pub mod append;
pub mod cache;
pub mod cold_load;
pub mod compress;
pub mod convert;
pub mod convert_file;
pub mod digests;
pub mod experts;
pub mod load;
pub mod numbers;
pub mod open;
pub mod open_kinds;
pub mod scale;
pub mod slices;
pub mod small_tensors;
pub mod startup;
pub mod stream;
pub mod threads;
pub mod vocabulary;
pub mod write;
pub mod write_ztensor_2;
pub mod ztensor_2;
