//! Writing: new files, appends, edits, batches.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/refusing.rs"]
mod refusing;
#[path = "../validator/mod.rs"]
mod validator;

mod append;
mod append_ztensor_2;
mod attribute_removal;
mod attributes;
mod edit;
mod edit_carried;
mod roundtrip;
mod sequences;
mod system_refuses;
mod v2_groups_written;
mod valid_contents;
mod write_batch;
mod write_calls;
mod writer;
mod written_ztensor_2;
