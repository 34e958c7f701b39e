//! Requests that are read into temporary memory first: what is converted in part or after a check, and rows
//! with gaps.

use super::job::{Finish, Job};
use super::perform::{Performer, Shared};
use super::request::{BatchOptions, Direct, Request};
use super::rows::RowsMut;
use super::split;
use crate::convert::{convert, refuse_loss};
use crate::error::{fail, Result};
use crate::memory::{in_memory, zeroed};

/// By one thread, the check of the digest left to the request.
const OPTIONS: BatchOptions = BatchOptions {
    threads: 1,
    direct: Direct::Auto,
    chunk_size: 4 << 20,
    in_flight: u64::MAX,
    verify: false,
    pinned: false,
};

impl Finish {
    /// [`Request::extra_memory`], for a job whose stored bytes were read.
    pub fn extra_memory(&self, request: &Request<'_>) -> u64 {
        match self {
            Finish::Decode { .. } => request.extra_memory(),
            _ => 0,
        }
    }
}

impl Performer<'_, '_> {
    /// Fills the rows, or `dst` if there are none.
    pub(super) fn perform_temporary(
        &mut self,
        request: &Request<'_>,
        dst: &mut [u8],
        rows: Option<RowsMut<'_>>,
        has_digest: bool,
    ) -> Result<()> {
        let size = request.decoded_size();
        let extra_memory = request.blob.unborrowed_size().saturating_add(request.extra_memory());
        let _reservation = self.shared.budget.reserve(size.saturating_add(extra_memory));
        let mut decoded = zeroed(in_memory(size)?)?;
        self.read_packed(request, &mut decoded, has_digest)?;
        let mut lost = 0u64;
        let mut store = |decoded: &[u8], dst: &mut [u8]| -> Result<()> {
            lost = lost.saturating_add(store(request, decoded, dst, request.size())?);
            Ok(())
        };
        match rows {
            None => store(&decoded, dst)?,
            Some(rows) => {
                let row_size = decoded.len().checked_div(rows.row_count()).unwrap_or(0).max(1);
                rows.zip(decoded.chunks(row_size)).try_for_each(|(row, decoded)| store(decoded, row))?;
            }
        }
        request.wanted.convert.map_or(Ok(()), |to| refuse_loss(lost, to, request.wanted.lossy))
    }

    /// Fills `dst` with all that a request without rows asks for, on this thread.
    pub(super) fn read_whole(&mut self, request: &Request<'_>, dst: &mut [u8]) -> Result<()> {
        let has_digest = split::checks_digest(request, &OPTIONS)?;
        match request.wanted.convert {
            None => {
                let extra_memory = request.blob.unborrowed_size().saturating_add(request.extra_memory());
                let _reservation = self.shared.budget.reserve(extra_memory);
                self.read_packed(request, dst, has_digest)
            }
            Some(_) => self.perform_temporary(request, dst, None, has_digest),
        }
    }

    /// Fills `dst` with the decoded bytes of a request, one after the other, on this thread.
    fn read_packed(&mut self, request: &Request<'_>, dst: &mut [u8], has_digest: bool) -> Result<()> {
        // The caller has reserved the memory for what is not asked for.
        let (shared, capacity) = (Shared::new(OPTIONS.in_flight), self.bounce.capacity());
        let (outer, strategy, oversized) = (self.step, self.strategy, self.oversized);
        // Nothing of it is where it belongs before all is.
        let step = |_| outer(0);
        let mut inner = Performer { strategy, shared: &shared, bounce: self.bounce, step: &step, oversized };
        let mut perform = |offset, dst, work| {
            step(0)?;
            inner.perform(&mut Job { source: 0, request: 0, offset, dst, work }, request)
        };
        split::split_packed(request, dst, has_digest, &OPTIONS, capacity, &mut perform)
    }
}

/// Copies or converts decoded bytes to their place, of `all` that the request delivers. Returns how many
/// numbers are lost.
fn store(request: &Request<'_>, decoded: &[u8], dst: &mut [u8], all: u64) -> Result<u64> {
    match request.wanted.convert {
        Some(to) => convert(decoded, request.blob.element_type()?, to, dst, all),
        None if decoded.len() == dst.len() => {
            dst.copy_from_slice(decoded);
            Ok(0)
        }
        None => Err(fail!(Internal, "{} decoded bytes for {}", decoded.len(), dst.len())),
    }
}
