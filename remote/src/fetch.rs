//! Reads ranges of an object in as few requests as possible, several at once.

use crate::attempt::Seen;
use crate::connect::Client;
use crate::core::status;
use crate::failure::Failure;
use crate::runtime;
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};

/// The largest gap between two wanted ranges that is read rather than skipped.
pub const MAX_READ_GAP: u64 = 256 << 10;
/// The size of a request if more is wanted. No request is twice as large.
pub const REQUEST: u64 = 8 << 20;

/// A range that is wanted, and its destination.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub start: u64,
    pub end: u64,
    pub dst: *mut u8,
}

// SAFETY: the code that makes it keeps the memory while requests are running, and no two have the same
// memory.
unsafe impl Send for Piece {}
// SAFETY: as above.
unsafe impl Sync for Piece {}

/// The properties that an object must have for its bytes to be used.
#[derive(Clone, Debug)]
pub struct Version {
    pub size: u64,
    pub e_tag: Option<String>,
    pub modified: object_store::ObjectMeta,
}

impl Version {
    pub fn of(meta: &ObjectMeta) -> Version {
        Version { size: meta.size, e_tag: meta.e_tag.clone(), modified: meta.clone() }
    }

    /// The ETag, if it identifies exactly these bytes. A weak ETag may belong to others, too.
    fn strong(&self) -> Option<&String> {
        self.e_tag.as_ref().filter(|e_tag| !e_tag.starts_with("W/"))
    }

    /// Whether an answer is for this version.
    pub fn is_of(&self, meta: &ObjectMeta) -> bool {
        let same_time = meta.last_modified == self.modified.last_modified;
        self.size == meta.size && meta.e_tag == self.e_tag && (self.strong().is_some() || same_time)
    }

    /// Restricts a request to this version. By RFC 9110, a weak ETag would match nothing.
    fn require(&self, options: &mut GetOptions) {
        match self.strong() {
            Some(e_tag) => options.if_match = Some(e_tag.clone()),
            None if self.modified.last_modified.timestamp() > 0 => {
                options.if_unmodified_since = Some(self.modified.last_modified);
            }
            None => {}
        }
    }
}

/// The message if the HTTP library panicked because of an answer.
pub const UNREADABLE_ANSWER: &str = "the server's answer could not be parsed";

/// An object, for requests.
#[derive(Clone)]
pub struct Target {
    pub client: Arc<Client>,
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
}

impl Target {
    /// Requests a range. Returns when the headers of the answer have arrived.
    pub async fn get(
        &self,
        range: GetRange,
        version: Option<&Version>,
    ) -> Result<(GetResult, Seen), Failure> {
        let seen = Seen::default();
        let mut options = GetOptions { range: Some(range), ..GetOptions::default() };
        options.extensions.insert(seen.clone());
        if let Some(version) = version {
            version.require(&mut options);
        }
        let answer = self.store.get_opts(&self.path, options).await;
        let answer = answer.map_err(|e| Failure::of_request(&e, &seen))?;
        match version.is_none_or(|version| version.is_of(&answer.meta)) {
            true => Ok((answer, seen)),
            false => Err(Failure::changed()),
        }
    }

    /// The bytes of a range, at most `max`, and the properties of the object.
    pub async fn bytes(&self, range: GetRange, max: u64, version: Option<&Version>) -> Result<Part, Failure> {
        let _permit = self.client.permits.acquire().await;
        let (answer, seen) = self.get(range, version).await?;
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let size = range.end.saturating_sub(range.start);
        if size > max {
            return Err(Failure::new(status::IO, format_args!("the server gave {size} bytes for {max}")));
        }
        let mut bytes = Vec::new();
        let no_memory =
            |_| Failure::new(status::OUT_OF_MEMORY, format_args!("could not allocate {size} bytes"));
        bytes.try_reserve_exact(size as usize).map_err(no_memory)?;
        let mut stream = answer.into_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|e| Failure::of_request(&e, &seen))?;
            if bytes.len() + chunk.len() > size as usize {
                return Err(too_many(size));
            }
            bytes.extend_from_slice(&chunk);
        }
        match bytes.len() as u64 {
            received if received == size => Ok(Part { meta, range, bytes }),
            received => Err(too_few(received, size)),
        }
    }

    async fn fill(&self, request: &Request, version: &Version) -> Result<(), Failure> {
        let _permit = self.client.permits.acquire().await;
        let Range { start, end } = request.range;
        let (answer, seen) = self.get(GetRange::Bounded(start..end), Some(version)).await?;
        let mut stream = answer.into_stream();
        let (mut at, mut first) = (start, 0);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|e| Failure::of_request(&e, &seen))?;
            if chunk.len() as u64 > end - at {
                return Err(too_many(end - start));
            }
            scatter(&request.pieces, &mut first, at, &chunk);
            at += chunk.len() as u64;
        }
        match at == end {
            true => Ok(()),
            false => Err(too_few(at - start, end - start)),
        }
    }

    /// Fills all pieces, which are sorted by offset and within the object. Returns when none of its requests
    /// is running any more. Must not be called on a thread of the pool.
    pub fn fill_all(&self, pieces: &[Piece], version: &Arc<Version>) -> Result<(), Failure> {
        let requests: Arc<Vec<Request>> = Arc::new(plan(pieces));
        let pool = runtime::pool()?;
        let next = Arc::new(AtomicUsize::new(0));
        let (done, outcomes) = mpsc::channel();
        let mut workers = Vec::new();
        for _ in 0..requests.len().min(self.client.settings.concurrency) {
            let (target, requests, version) = (self.clone(), requests.clone(), version.clone());
            let (next, done) = (next.clone(), done.clone());
            workers.push(pool.spawn(async move {
                while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = target.fill(request, &version).await;
                    let continues = outcome.is_ok();
                    let _ = done.send(outcome);
                    if !continues {
                        return;
                    }
                }
            }));
        }
        drop(done);
        let (mut filled, mut failure) = (0, None);
        // Ends when every worker has ended: until then they may write.
        for outcome in &outcomes {
            match outcome {
                Ok(()) => filled += 1,
                Err(first) if failure.is_none() => {
                    failure = Some(first);
                    workers.iter().for_each(|worker| worker.abort());
                }
                Err(_) => {}
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None if filled == requests.len() => Ok(()),
            None => Err(Failure::new(status::IO, UNREADABLE_ANSWER)),
        }
    }
}

/// Bytes of an object, and its version.
pub struct Part {
    pub meta: ObjectMeta,
    pub range: Range<u64>,
    pub bytes: Vec<u8>,
}

fn too_few(received: u64, wanted: u64) -> Failure {
    Failure::new(status::IO, format_args!("the server sent {received} of {wanted} bytes"))
}

fn too_many(wanted: u64) -> Failure {
    Failure::new(status::IO, format_args!("the server sent more than the {wanted} bytes that were requested"))
}

/// A request and the pieces that it fills.
#[derive(Debug)]
struct Request {
    range: Range<u64>,
    pieces: Vec<Piece>,
}

/// Plans the requests for pieces that are sorted by offset: nearby pieces are combined, long ones are split.
fn plan(pieces: &[Piece]) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        let (mut count, mut end) = (0, first.end);
        for piece in rest {
            if piece.start > end.saturating_add(MAX_READ_GAP) {
                break;
            }
            end = end.max(piece.end);
            count += 1;
        }
        let (near, far) = rest.split_at(count);
        cut(first.start..end, near, &mut requests);
        rest = far;
    }
    requests
}

/// Splits a range into requests of about the same size.
fn cut(range: Range<u64>, pieces: &[Piece], requests: &mut Vec<Request>) {
    let size = range.end - range.start;
    let count = (size / REQUEST).max(1);
    let each = size.div_ceil(count).next_multiple_of(4096);
    let (mut start, mut first) = (range.start, 0);
    while start < range.end {
        let end = range.end.min(start.saturating_add(each));
        while pieces.get(first).is_some_and(|piece| piece.end <= start) {
            first += 1;
        }
        let of_it =
            pieces[first..].iter().take_while(|piece| piece.start < end).filter(|piece| piece.end > start);
        requests.push(Request { range: start..end, pieces: of_it.copied().collect() });
        start = end;
    }
}

/// Copies the wanted bytes of `chunk`, which begins at offset `at` of the object. Pieces before `first` are
/// complete.
fn scatter(pieces: &[Piece], first: &mut usize, at: u64, chunk: &[u8]) {
    let end = at + chunk.len() as u64;
    while pieces.get(*first).is_some_and(|piece| piece.end <= at) {
        *first += 1;
    }
    for piece in pieces.get(*first..).unwrap_or_default().iter().take_while(|piece| piece.start < end) {
        let (from, to) = (piece.start.max(at), piece.end.min(end));
        if from < to {
            let part = &chunk[(from - at) as usize..(to - at) as usize];
            // SAFETY: it is in the piece, whose memory exists until all requests have ended.
            unsafe {
                piece
                    .dst
                    .add((from - piece.start) as usize)
                    .copy_from_nonoverlapping(part.as_ptr(), part.len())
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(memory: &mut [u8], ranges: &[Range<u64>]) -> Vec<Piece> {
        let mut dst = memory.as_mut_ptr();
        let mut next = |size: u64| {
            let here = dst;
            dst = dst.wrapping_add(size as usize);
            here
        };
        ranges.iter().map(|r| Piece { start: r.start, end: r.end, dst: next(r.end - r.start) }).collect()
    }

    #[test]
    fn near_ranges_are_one_request_and_long_ones_several() {
        let near = [
            0..10,
            20..30,
            30 + MAX_READ_GAP..40 + MAX_READ_GAP,
            50 + 2 * MAX_READ_GAP..60 + 2 * MAX_READ_GAP,
        ];
        let planned = plan(&pieces(&mut [], &near));
        let ranges: Vec<_> = planned.iter().map(|r| (r.range.clone(), r.pieces.len())).collect();
        assert_eq!(ranges, [(0..40 + MAX_READ_GAP, 3), (50 + 2 * MAX_READ_GAP..60 + 2 * MAX_READ_GAP, 1)]);
        let size = 100 * REQUEST + 7;
        let planned = plan(&pieces(&mut [], std::slice::from_ref(&(7..size))));
        assert!((100..=101).contains(&planned.len()));
        assert!(planned.iter().all(|r| r.range.end - r.range.start < 2 * REQUEST && r.pieces.len() == 1));
        assert!(planned.windows(2).all(|two| two[0].range.end == two[1].range.start));
        assert_eq!((planned[0].range.start, planned[planned.len() - 1].range.end), (7, size));
        assert!(plan(&[]).is_empty());
    }

    #[test]
    fn chunks_of_any_size_reach_overlapping_pieces() {
        let object: Vec<u8> = (0..200).collect();
        let ranges = [3..50, 10..12, 11..60, 100..101, 150..199];
        for step in [1, 2, 7, 64, 500] {
            let mut memory = vec![0; 47 + 2 + 49 + 1 + 49];
            let pieces = pieces(&mut memory, &ranges);
            let mut first = 0;
            for (n, chunk) in object.chunks(step).enumerate() {
                scatter(&pieces, &mut first, (n * step) as u64, chunk);
            }
            let wanted: Vec<u8> =
                ranges.iter().flat_map(|r| object[r.start as usize..r.end as usize].to_vec()).collect();
            assert_eq!(memory, wanted, "{step}");
        }
    }
}
