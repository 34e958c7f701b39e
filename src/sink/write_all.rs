//! All of some bytes in one write, if the system takes them so.

use super::signals::WithoutFileSizeSignal;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, IoSlice, Write};

/// The bytes of `front`, then those of `rest`; interruptions and short counts are taken up again.
pub(super) fn write_all(mut file: &File, mut front: &[u8], mut rest: &[u8]) -> Result<()> {
    let all = front.len().saturating_add(rest.len());
    let failed =
        |error: &std::io::Error| Error::io("", error).within(format_args!("could not write {all} bytes"));
    let _quiet = WithoutFileSizeSignal::new();
    while !front.is_empty() || !rest.is_empty() {
        let written = match (front, rest) {
            (one, []) | ([], one) => file.write(one),
            (front, rest) => file.write_vectored(&[IoSlice::new(front), IoSlice::new(rest)]),
        };
        match written {
            Ok(0) => return Err(failed(&ErrorKind::WriteZero.into())),
            Ok(n) => {
                let of_rest = n.saturating_sub(front.len());
                front = front.get(n..).unwrap_or_default();
                rest = rest.get(of_rest..).unwrap_or_default();
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(&e)),
        }
    }
    Ok(())
}
