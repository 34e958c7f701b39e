//! Requests of a load that are larger than a slot and cannot be read slot by slot: what is compressed,
//! checked, converted or strided. Each is made whole in temporary memory, and copied out of it piece by
//! piece.

use super::perform::Performer;
use super::request::Request;
use crate::error::{fail, Error, Result};
use crate::lock::Mutex;
use crate::memory::{in_memory, AlignedBuffer};

/// A request, and its bytes from its first piece to its last.
pub struct Oversized<'a> {
    request: Request<'a>,
    state: Mutex<State>,
}

struct State {
    bytes: Option<AlignedBuffer>,
    /// Pieces that have not been copied.
    left: usize,
    /// Why there are no bytes, which is the failure of each piece, whichever is taken first.
    failure: Option<Error>,
}

impl<'a> Oversized<'a> {
    pub fn new(request: Request<'a>, pieces: usize) -> Oversized<'a> {
        Oversized { request, state: Mutex::new(State { bytes: None, left: pieces, failure: None }) }
    }

    /// All of its bytes, which are counted as long as they are there.
    fn make(&self, performer: &mut Performer<'_, '_>) -> Result<AlignedBuffer> {
        let size = self.request.size();
        let mut bytes = AlignedBuffer::zeroed(in_memory(size)?)?;
        performer.shared.budget.add_held(size);
        let outcome = performer.read_whole(&self.request, bytes.as_mut_slice());
        if outcome.is_err() {
            performer.shared.budget.release_held(size);
        }
        outcome.map(|()| bytes)
    }

    /// Fills `dst` with its bytes from `offset` on. The first piece makes all of them, and no other waits for
    /// anything else.
    pub fn fill(&self, performer: &mut Performer<'_, '_>, offset: u64, dst: &mut [u8]) -> Result<()> {
        let (mut state, size) = (self.state.lock(), self.request.size());
        if let Some(error) = &state.failure {
            return Err(error.again());
        }
        if state.bytes.is_none() {
            let made = self.make(performer);
            state.failure = made.as_ref().err().map(Error::again);
            state.bytes = Some(made?);
        }
        let bytes = state.bytes.as_ref().map_or(&[][..], AlignedBuffer::as_slice);
        let now = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)?.get(..dst.len()));
        dst.copy_from_slice(now.ok_or_else(|| fail!(Internal, "a piece is outside its request"))?);
        state.left = state.left.saturating_sub(1);
        if state.left == 0 {
            state.bytes = None;
            performer.shared.budget.release_held(size);
        }
        Ok(())
    }
}
