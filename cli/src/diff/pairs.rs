//! Compares two streams of bytes. A separate thread reads one of them, a few chunks ahead.

use std::sync::mpsc::{sync_channel, Receiver};
use std::thread;
use ztensor::error::{Error, Result};

/// Passes all its bytes to a function, chunk by chunk.
pub type Reading<'a> = dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + Sync + 'a;

/// Receives pieces of both streams, and the position of their first bytes.
pub type Body<'a> = dyn FnMut(u64, &[u8], &[u8]) -> Result<()> + 'a;

/// How many chunks are read ahead.
const AHEAD: usize = 2;

/// Calls `body` with corresponding pieces of equal size, until one stream ends, and with the position of
/// their first bytes. Both streams are read to their ends, where a checksum may be verified.
pub fn for_each(a: &Reading<'_>, b: &Reading<'_>, body: &mut Body<'_>) -> Result<()> {
    let (send, receive) = sync_channel::<Result<Vec<u8>>>(AHEAD);
    thread::scope(|scope| {
        let ahead = move || {
            let read = b(&mut |chunk| send.send(Ok(chunk.to_vec())).map_err(|_| stopped()));
            if let Err(error) = read {
                let _ = send.send(Err(error)); // nobody receives it if the other side has failed
            }
        };
        thread::Builder::new().spawn_scoped(scope, ahead).map_err(|e| Error::io("a thread", &e))?;
        let mut other = Other { receive, chunk: Vec::new(), at: 0, failure: None };
        let mut position = 0u64;
        let outcome = a(&mut |mut chunk| {
            while !chunk.is_empty() {
                let there = other.some()?;
                let size = chunk.len().min(there.len());
                if size == 0 {
                    return Ok(()); // the other stream ended first
                }
                let (now, later) = chunk.split_at(size);
                body(position, now, &there[..size])?;
                other.at += size;
                position += size as u64;
                chunk = later;
            }
            Ok(())
        });
        if outcome.is_ok() {
            while other.next() {}
        }
        // An error of the second stream names its own file, not the first one.
        other.failure.map_or(outcome, Err)
    })
}

/// The chunks from the other thread.
struct Other {
    receive: Receiver<Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
    failure: Option<Error>,
}

impl Other {
    /// The next bytes; empty at the end.
    fn some(&mut self) -> Result<&[u8]> {
        while self.at == self.chunk.len() && self.next() {}
        match self.failure {
            Some(_) => Err(stopped()),
            None => Ok(&self.chunk[self.at..]),
        }
    }

    /// Receives the next chunk, if there is one.
    fn next(&mut self) -> bool {
        match self.receive.recv() {
            Ok(Ok(chunk)) => (self.chunk, self.at) = (chunk, 0),
            Ok(Err(error)) => self.failure = Some(error),
            Err(_) => {
                (self.chunk, self.at) = (Vec::new(), 0);
                return false;
            }
        }
        self.failure.is_none()
    }
}

/// The error of an interrupted comparison.
pub fn stopped() -> Error {
    Error::new(ztensor::error::Cause::Cancelled, format_args!("interrupted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in chunks of some size.
    fn chunks(bytes: &[u8], size: usize) -> Box<Reading<'_>> {
        Box::new(move |body| bytes.chunks(size).try_for_each(body))
    }

    #[test]
    fn chunks_of_other_sizes_come_side_by_side() {
        let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        for (a, b) in [(1, 7), (100, 64), (4096, 10_000), (9_999, 3)] {
            let mut seen = 0;
            for_each(&chunks(&bytes, a), &chunks(&bytes, b), &mut |at, here, there| {
                assert_eq!((at, here), (seen as u64, there));
                seen += here.len();
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, bytes.len());
        }
    }

    #[test]
    fn a_failure_of_either_and_an_early_end_stop_both() {
        let bytes = vec![7; 1 << 16];
        let mut count = |_: u64, _: &[u8], _: &[u8]| Ok(());
        assert!(for_each(&chunks(&bytes, 10), &|_| Err(stopped()), &mut count).is_err());
        assert!(for_each(&|_| Err(stopped()), &chunks(&bytes, 10), &mut count).is_err());
        assert!(for_each(&chunks(&bytes, 10), &chunks(&bytes, 9), &mut |_, _, _| Err(stopped())).is_err());
        // Also a stream that fails after its last byte.
        let sum_is_wrong = |body: &mut dyn FnMut(&[u8]) -> Result<()>| {
            chunks(&bytes, 10)(body).and_then(|()| Err(stopped()))
        };
        assert!(for_each(&chunks(&bytes, 10), &sum_is_wrong, &mut count).is_err());
        assert!(for_each(&sum_is_wrong, &chunks(&bytes, 10), &mut count).is_err());
        for_each(&chunks(&bytes, 10), &chunks(&bytes[..100], 9), &mut count).unwrap();
        for_each(&chunks(&bytes[..100], 10), &chunks(&bytes, 9), &mut count).unwrap();
    }
}
