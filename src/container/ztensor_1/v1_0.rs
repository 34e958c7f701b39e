//! 1.0, which two releases wrote and no published text describes: framed like 0.1 (no footer
//! magic), encoded like 1.1 but with `tensors` instead of `objects`, the old dtype names, and the
//! dtype in the tensor: it is that of `values` or `data`, while sparse indices are always u64.

use super::decode::decode_dialect;
use super::dialect::Dialect;
use super::footer::footer_missing;
use crate::container::cbor::fields::Decoder;
use crate::container::frame::{Frame, Limits};
use crate::container::input::Input;
use crate::error::{Cause, Result, Rule};
use crate::memory::Budget;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Container, Manifest};

const DIALECT: Dialect = Dialect { objects_key: "tensors", dtype: dtype_by_name, dtype_in_object: true };

fn dtype_by_name(name: &str) -> Option<(Dtype, Option<Logical>)> {
    Dtype::from_old_name(name).map(|dtype| (dtype, None))
}

/// Reads a 1.0 manifest. A 1.1 file that lost its last bytes frames like one: only `tensors` makes
/// it 1.0.
pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let bytes = input.read(frame.manifest.clone())?;
    if !has_tensors(frame, bytes, budget)? {
        return Err(footer_missing(frame.file_size));
    }
    let mut manifest = decode_dialect(frame, bytes, limits, budget, &DIALECT)?;
    manifest.container = Some(Container::V1_0);
    Ok(manifest)
}

/// Whether the manifest has `tensors`; false if it cannot be read, an error only for lack of memory.
fn has_tensors(frame: &Frame, bytes: &[u8], budget: &Budget) -> Result<bool> {
    let look = || -> Result<bool> {
        let mut d = Decoder::new(frame, bytes, budget);
        let mut left = d.map(Rule::RootType, "the manifest")?;
        while d.cursor.another(&mut left)? {
            if *d.key()? == *b"tensors" {
                return Ok(true);
            }
            d.cursor.skip_well_formed()?;
        }
        Ok(false)
    };
    look().or_else(|e| if e.cause() == Cause::OutOfMemory { Err(e) } else { Ok(false) })
}
