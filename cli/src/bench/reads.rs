//! What is read, in batches that fit in memory, and how the library reads it.

#[cfg(unix)]
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use ztensor::error::{Cause, Error, Result};
use ztensor::model::manifest::Encoding;
use ztensor::reader::{
    BatchOptions, BatchStats, Component, Direct, File, Mode as Access, OpenOptions, Request, Selection,
};

/// The size of a batch. Raw tensors are cut into ranges of this size.
const BATCH: u64 = 256 << 20;
/// A compressed component is decoded as a whole into memory, if it is not larger than this.
const LARGEST_COMPRESSED: u64 = 1 << 30;

/// How the bytes are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Without the library.
    Plain,
    Map,
    Read,
    Direct,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::Plain, Mode::Map, Mode::Read, Mode::Direct];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Map => "map",
            Mode::Read => "read",
            Mode::Direct => "direct",
        }
    }

    pub fn open_options(self) -> OpenOptions {
        let mode = if self == Mode::Map { Access::Map } else { Access::Read };
        OpenOptions { mode, ..OpenOptions::default() }
    }

    fn direct(self) -> Direct {
        match self {
            Mode::Direct => Direct::Always,
            Mode::Read => Direct::Never,
            Mode::Map | Mode::Plain => Direct::Auto,
        }
    }
}

/// A component or a range of it.
pub struct Range {
    /// The positions of the object and the component.
    place: (usize, usize),
    /// The offset in its decoded bytes; `None` for all of them.
    within: Option<u64>,
    pub part: usize,
    pub offset: u64,
    pub stored: u64,
    decoded: u64,
}

#[derive(Default)]
pub struct Batch {
    pub ranges: Vec<Range>,
}

impl Batch {
    pub fn decoded(&self) -> u64 {
        self.ranges.iter().map(|one| one.decoded).fold(0, u64::saturating_add)
    }

    fn memory(&self) -> u64 {
        self.ranges.iter().map(|one| one.decoded.max(one.stored)).fold(0, u64::saturating_add)
    }
}

#[derive(Default)]
pub struct Plan {
    pub batches: Vec<Batch>,
    pub decoded: u64,
    pub stored: u64,
    /// How many components cannot be read, or not within the memory.
    pub left_out: u64,
}

/// All components, in file order.
pub fn plan(file: &File) -> Plan {
    let mut plan = Plan::default();
    let mut batch = Batch::default();
    let mut held = 0u64; // the memory that the batch needs
    for (object_at, object) in file.objects().enumerate() {
        for (at, component) in object.components().enumerate() {
            let Some(ranges) = ranges((object_at, at), &component) else {
                plan.left_out += 1;
                continue;
            };
            for range in ranges {
                plan.decoded = plan.decoded.saturating_add(range.decoded);
                plan.stored = plan.stored.saturating_add(range.stored);
                let size = range.decoded.max(range.stored);
                held = held.saturating_add(size);
                if held > BATCH {
                    plan.batches.push(std::mem::take(&mut batch));
                    held = size;
                }
                batch.ranges.push(range);
            }
        }
    }
    plan.batches.push(batch);
    plan.batches.retain(|batch| batch.decoded() > 0);
    plan
}

fn ranges(place: (usize, usize), component: &Component<'_>) -> Option<Vec<Range>> {
    let (stored, part, offset) = (component.stored_size(), component.part_number(), component.offset());
    let decoded =
        component.size().ok().filter(|_| crate::elements::is_known(component) && component.caps().read)?;
    if component.encoding() != Encoding::Raw || decoded != stored {
        let whole = Range { place, within: None, part, offset, stored, decoded };
        return (decoded.max(stored) <= LARGEST_COMPRESSED).then(|| vec![whole]);
    }
    let starts = (0..decoded).step_by(usize::try_from(BATCH).ok()?);
    let cut = starts.map(|start| {
        let size = BATCH.min(decoded - start);
        Range { place, within: Some(start), part, offset: offset + start, stored: size, decoded: size }
    });
    Some(cut.collect())
}

/// Memory for the largest batch. It is touched, so that its pages exist.
pub fn memory(plan: &Plan) -> Result<Vec<u8>> {
    let size = plan.batches.iter().map(Batch::memory).max().unwrap_or(0);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(size)
        .map_err(|e| Error::new(Cause::OutOfMemory, format_args!("{size} bytes for a batch: {e}")))?;
    memory.resize(size, 1);
    Ok(memory)
}

/// The files of a model.
pub fn paths(file: &File) -> impl Iterator<Item = PathBuf> + '_ {
    file.parts().map(|part| {
        let path = part.path().unwrap_or_default();
        let path = path.strip_suffix(b"\0").unwrap_or(path);
        #[cfg(unix)]
        let path: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(path);
        #[cfg(not(unix))]
        let path = String::from_utf8_lossy(path).into_owned();
        PathBuf::from(&path)
    })
}

/// Reads a batch. Returns the time, and the library's reason for its way of reading.
pub fn read(
    file: &File,
    batch: &Batch,
    mode: Mode,
    threads: usize,
    memory: &mut [u8],
) -> Result<(Duration, BatchStats)> {
    let components = batch.ranges.iter().map(|one| {
        let component = file.object(one.place.0).and_then(|object| object.components().nth(one.place.1));
        component.ok_or_else(|| Error::new(Cause::Io, format_args!("the file has changed")))
    });
    let components: Vec<_> = components.collect::<Result<_>>()?;
    let options = BatchOptions { threads, direct: mode.direct(), ..BatchOptions::default() };
    let mut stats = BatchStats::default();
    let started = Instant::now();
    let mut rest = memory;
    let mut requests: Vec<Request<'_>> = Vec::with_capacity(components.len());
    for (one, component) in batch.ranges.iter().zip(&components) {
        let (now, after) =
            rest.split_at_mut(usize::try_from(one.decoded).unwrap_or(usize::MAX).min(rest.len()));
        rest = after;
        let part =
            one.within.map_or(Selection::Whole, |offset| Selection::Range { offset, length: one.decoded });
        requests.push(component.request(&part, now, 0)?);
    }
    File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, &mut stats)?;
    Ok((started.elapsed(), stats))
}
