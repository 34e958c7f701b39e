//! Formats: the corpora, the reader's results, and the rules of each version.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;
#[allow(dead_code)]
#[path = "../../examples/dump.rs"]
mod dump;
#[path = "../validator/mod.rs"]
mod validator;

mod canonical;
mod cbor;
mod container_seam;
mod corpus;
mod foreign;
mod interop;
mod later_versions;
mod not_understood;
mod unknown_encoding;
mod v2_corpus;
mod v2_groups;
mod v2_link;
mod v2_seekable;
mod v2_shard_places;
mod v2_shards;
mod v2_sparse;
mod validator_corpus;
