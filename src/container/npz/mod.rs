//! NumPy's arrays: npz, an archive of them, and npy, one by itself.

use super::capabilities::{Capabilities, FOREIGN};
use super::frame::{Detected, Ends, Frame, Limits};
use super::regions::Regions;
use super::row::{Decode, Row};
use super::zip::{self, Directory, Seen};
use crate::error::{fail, Result};
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};

/// Its row.
pub(crate) const ROW: Row = Row {
    capabilities: Capabilities {
        container: Container::Npz,
        unknown_names: true,
        big_endian: true,
        ..FOREIGN
    },
    detect,
    decode: Some(Decode::Scattered(decode)),
    encode: None,
    origin: None,
};

fn detect(ends: Ends<'_>, _: &Limits) -> Result<Detected> {
    match zip::begins(ends) {
        true => Ok(Detected::Scattered(Container::Npz)),
        false => Ok(Detected::Other),
    }
}

/// Reads what an archive holds.
fn decode(regions: &mut dyn Regions, limits: &Limits, budget: &Budget) -> Result<(Frame, Manifest)> {
    let mut directory = Directory::read(regions, limits, budget)?;
    directory.visit(regions, 0, budget, &mut |_, _, _| Ok(Seen::Enough))?;
    Err(fail!(Unsupported, "this is an archive, which is not read so far"))
}
