//! The program `zt`: its commands, their output, and the files that they write.

#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
#[path = "../../../tests/common/traced.rs"]
mod traced;

mod bench;
mod combine;
mod convert_hostile;
mod convert_lossy;
mod convert_options;
mod convert_other;
mod convert_safetensors;
mod convert_shards;
mod convert_types;
mod convert_zt;
mod convert_ztensor_2;
mod damaged;
mod edit;
mod extract;
mod id;
mod inputs;
mod inspect;
mod kill;
mod ls;
mod man;
mod manners;
mod memory;
mod models;
mod not_understood;
mod numbers;
mod outputs;
mod repair;
mod report;
mod round_trip;
mod said;
mod schema;
mod split;
mod terminal;
mod trouble;
mod verify;
