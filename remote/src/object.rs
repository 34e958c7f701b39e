//! An open object: both of its ends, which were read when it was opened, and requests for the rest.

use crate::connect::Client;
use crate::core::status;
use crate::failure::Failure;
use crate::fetch::{Part, Piece, Target, Version, UNREADABLE_ANSWER};
use crate::runtime;
use object_store::GetRange;
use std::ffi::CString;
use std::sync::{mpsc, Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

/// How much of the start and of the end of an object is read when it is opened, by the extension of its name.
/// Most manifests fit in that.
fn ends_of(key: &str, tail: u64) -> (u64, u64) {
    match key.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "gguf" => (8 << 20, 64 << 10),
        "safetensors" => (1 << 20, 64 << 10),
        "json" => (1 << 20, 0), // an index
        _ => (64 << 10, tail),
    }
}

/// The bytes of both ends.
#[derive(Default)]
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// An object of a service.
pub struct Object {
    target: Target,
    version: Arc<Version>,
    ends: RwLock<Ends>,
    /// The last failure, and when it happened.
    failed: Mutex<Option<(Instant, Failure)>>,
    /// Its name in messages.
    pub name: CString,
}

impl Object {
    /// Requests both ends at once. The answers give the size and the version of the object.
    pub fn open(client: &Arc<Client>, key: &str) -> Result<Object, Failure> {
        let shown = client.address.show(key);
        let (store, path) = client.place(key)?;
        let target = Target { client: client.clone(), store, path };
        let (head, tail) = ends_of(key, client.settings.tail);
        let (send, received) = mpsc::channel();
        let for_pool = target.clone();
        runtime::pool()?.spawn(async move {
            let _ = send.send(read_ends(&for_pool, head, tail).await);
        });
        let read = received.recv().unwrap_or_else(|_| Err(Failure::new(status::IO, UNREADABLE_ANSWER)));
        let (version, ends) = read?;
        let name = CString::new(shown).unwrap_or_default();
        Ok(Object {
            target,
            version: Arc::new(version),
            ends: RwLock::new(ends),
            failed: Mutex::default(),
            name,
        })
    }

    pub fn size(&self) -> u64 {
        self.version.size
    }

    /// The number of concurrent requests that help.
    pub fn concurrency(&self) -> usize {
        self.target.client.settings.concurrency
    }

    /// A number that differs for other contents. Never 0.
    pub fn identity(&self) -> u64 {
        let e_tag = self.version.e_tag.as_deref().unwrap_or_default();
        let time = self.version.modified.last_modified.timestamp();
        let numbers = self.version.size.to_be_bytes().into_iter().chain(time.to_be_bytes());
        let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        e_tag.bytes().chain(numbers).fold(0xcbf2_9ce4_8422_2325, fnv).max(1)
    }

    /// How many bytes of both ends are kept.
    pub fn held(&self) -> usize {
        let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        ends.head.len() + ends.tail.len()
    }

    /// Frees the memory of both ends.
    pub fn forget_ends(&self) {
        *self.ends.write().unwrap_or_else(PoisonError::into_inner) = Ends::default();
    }

    /// Fills pieces that are sorted by offset. After a recent failure, fails again without a request: a batch
    /// of thousands of tensors must not wait for each of them.
    pub fn read(&self, pieces: &[Piece]) -> Result<(), Failure> {
        runtime::check_process()?; // before any lock is taken
        if let Some(piece) = pieces.iter().find(|piece| piece.end > self.size()) {
            let (end, size) = (piece.end, self.size());
            return Err(Failure::new(status::LIMIT, format_args!("byte {end} is wanted of {size}")));
        }
        let missing = self.fill_from_ends(pieces)?;
        if missing.is_empty() {
            return Ok(());
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, failure)) = failed.as_ref() {
            if failure.lasts || when.elapsed() < self.target.client.settings.timeout {
                return Err(failure.clone());
            }
            *failed = None;
        }
        drop(failed);
        self.target.fill_all(&missing, &self.version).inspect_err(|failure| {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            *failed = Some((Instant::now(), failure.clone()));
        })
    }

    /// Fills the pieces that are in the ends. Returns the others.
    fn fill_from_ends(&self, pieces: &[Piece]) -> Result<Vec<Piece>, Failure> {
        let mut missing = Vec::new();
        let no_memory = |_| Failure::new(status::OUT_OF_MEMORY, "could not allocate a list of ranges");
        missing.try_reserve_exact(pieces.len()).map_err(no_memory)?;
        let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        let (head_end, tail_start) = (ends.head.len() as u64, self.size() - ends.tail.len() as u64);
        for piece in pieces {
            let Piece { mut start, mut end, mut dst } = *piece;
            if start < head_end {
                let head = &ends.head[start as usize..end.min(head_end) as usize];
                // SAFETY: it is the start of the piece, whose memory exists during the call.
                unsafe { dst.copy_from_nonoverlapping(head.as_ptr(), head.len()) };
                // SAFETY: it is in the piece, or its end.
                dst = unsafe { dst.add(head.len()) };
                start += head.len() as u64;
            }
            if start < end && end > tail_start {
                let from = start.max(tail_start);
                let tail = &ends.tail[(from - tail_start) as usize..(end - tail_start) as usize];
                // SAFETY: it is the end of the piece.
                unsafe {
                    dst.add((from - start) as usize).copy_from_nonoverlapping(tail.as_ptr(), tail.len())
                };
                end = from;
            }
            if start < end {
                missing.push(Piece { start, end, dst });
            }
        }
        Ok(missing)
    }
}

/// Reads both ends of an object, from the same version: at most `head` and `tail` bytes.
async fn read_ends(target: &Target, head: u64, tail: u64) -> Result<(Version, Ends), Failure> {
    let front = target.bytes(GetRange::Bounded(0..head), head, None);
    let (front, back) = match target.client.has_suffixes() && tail > 0 {
        true => {
            let back = target.bytes(GetRange::Suffix(tail), tail, None);
            let (front, back) = tokio::join!(front, back);
            (front, Some(back))
        }
        false => (front.await, None),
    };
    let front = front.map_err(no_bytes)?;
    let version = Version::of(&front.meta);
    let tail_start = version.size.saturating_sub(tail).max(head);
    let back = match back {
        _ if tail == 0 || tail_start >= version.size => Vec::new(), // the start is the whole object
        Some(Ok(back)) if version.is_of(&back.meta) && back.range.end == version.size => back.bytes,
        Some(Ok(_)) => return Err(Failure::new(status::IO, "the object was changed while it was opened")),
        // The server does not support suffixes.
        Some(Err(_)) | None => {
            let Part { bytes, .. } =
                target.bytes(GetRange::Bounded(tail_start..version.size), tail, Some(&version)).await?;
            bytes
        }
    };
    Ok((version, Ends { head: front.bytes, tail: back }))
}

fn no_bytes(failure: Failure) -> Failure {
    match failure.text.contains("answered 416") {
        true => {
            Failure::new(status::IO, "the object has no bytes, or the server has no ranges (it answered 416)")
        }
        false => failure,
    }
}
