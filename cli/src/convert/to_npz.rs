//! To npz: an archive as `numpy.savez` makes it, an array in each member, nothing compressed.

use super::output::Sink;
use super::tensor::{refuse, Tensor};
use super::{Job, Written};
use crate::failure::Outcome;
use crate::npy;

const NAME: &str = "npz";
/// The least version of readers that know 64-bit sizes.
const ZIP64: u16 = 45;
const UNIX: u16 = 3 << 8;
/// 1980-01-01, as for what has no time.
const DATE: u16 = 1 << 5 | 1;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// Read and write for the owner.
const MODE: u32 = 0o600 << 16;
/// What stands for a size that the extra field has.
const LARGE: u32 = u32::MAX;

/// A member that was written.
struct Member {
    name: Vec<u8>,
    crc: u32,
    size: u64,
    offset: u64,
}

/// Fields of a record, least significant byte first.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn u16(mut self, number: u16) -> Record {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u32(mut self, number: u32) -> Record {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u64(mut self, number: u64) -> Record {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Record {
        self.0.extend(bytes);
        self
    }
}

pub fn write(job: &Job<'_>) -> Outcome<Written> {
    let tensors = Tensor::all(job, NAME)?;
    for tensor in &tensors {
        if npy::descr(tensor.elements).is_none() {
            return Err(refuse(job, tensor, NAME, "; --dtype f32 converts floats, --exclude leaves it out"));
        }
        if std::str::from_utf8(&tensor.name).is_err() || tensor.name.len() + 4 > usize::from(u16::MAX) {
            return Err(job.refusal(format!("{}: {NAME} cannot represent the name", tensor.shown())));
        }
    }
    if let Some((key, _)) = job.attributes().next() {
        let why = "npz has no attributes; --no-attributes leaves all of them out";
        return Err(job.attribute_refusal(key, why));
    }
    let mut sink = Sink::create(job)?;
    let mut members = Vec::new();
    for tensor in &tensors {
        let header = npy::header(tensor.elements, tensor.shape);
        // The sum stands in front of the bytes, and what is written never seeks.
        let mut sum = crc32fast::Hasher::new();
        sum.update(&header);
        tensor.emit(job, false, &mut |bytes| {
            sum.update(bytes);
            job.interrupt.check()
        })?;
        let name = [tensor.name.as_slice(), b".npy"].concat();
        let size = header.len() as u64 + tensor.size;
        let member = Member { name, crc: sum.finalize(), size, offset: sink.position };
        sink.write(&local(&member))?;
        sink.write(&header)?;
        tensor.emit(job, false, &mut |bytes| sink.write(bytes))?;
        members.push(member);
    }
    let directory = sink.position;
    members.iter().try_for_each(|member| sink.write(&central(member)))?;
    sink.write(&end(members.len() as u64, directory, sink.position - directory))?;
    let total = tensors.iter().map(|tensor| tensor.size).sum();
    let (objects, size) = (tensors.len() as u64, sink.position);
    let files = sink.close()?.into_iter().collect();
    Ok(Written { files, objects, data_bytes: total, stored_bytes: total, size, ..Written::default() })
}

fn flags(member: &Member) -> u16 {
    if member.name.is_ascii() {
        0
    } else {
        UTF8
    }
}

fn local(member: &Member) -> Vec<u8> {
    let record = Record::default().raw(b"PK\x03\x04").u16(ZIP64).u16(flags(member)).u16(0).u16(0).u16(DATE);
    let record = record.u32(member.crc).u32(LARGE).u32(LARGE).u16(member.name.len() as u16).u16(20);
    record.raw(&member.name).u16(1).u16(16).u64(member.size).u64(member.size).0
}

fn central(member: &Member) -> Vec<u8> {
    let short = |number: u64| u32::try_from(number).unwrap_or(LARGE);
    let mut extra = Record::default();
    if short(member.size) == LARGE {
        extra = extra.u64(member.size).u64(member.size);
    }
    if short(member.offset) == LARGE {
        extra = extra.u64(member.offset);
    }
    if !extra.0.is_empty() {
        extra = Record::default().u16(1).u16(extra.0.len() as u16).raw(&extra.0);
    }
    let record = Record::default().raw(b"PK\x01\x02").u16(UNIX | ZIP64).u16(ZIP64).u16(flags(member)).u16(0);
    let record = record.u16(0).u16(DATE).u32(member.crc).u32(short(member.size)).u32(short(member.size));
    let record =
        record.u16(member.name.len() as u16).u16(extra.0.len() as u16).u16(0).u16(0).u16(0).u32(MODE);
    record.u32(short(member.offset)).raw(&member.name).raw(&extra.0).0
}

/// The records behind the directory; those of 64-bit sizes where they are needed.
fn end(count: u64, offset: u64, size: u64) -> Vec<u8> {
    let (few, short) = (u16::try_from(count).unwrap_or(u16::MAX), |n: u64| u32::try_from(n).unwrap_or(LARGE));
    let mut record = Record::default();
    if few == u16::MAX || short(offset) == LARGE || short(size) == LARGE {
        record = record.raw(b"PK\x06\x06").u64(44).u16(ZIP64).u16(ZIP64).u32(0).u32(0).u64(count).u64(count);
        record = record.u64(size).u64(offset);
        record = record.raw(b"PK\x06\x07").u32(0).u64(offset + size).u32(1);
    }
    record.raw(b"PK\x05\x06").u16(0).u16(0).u16(few).u16(few).u32(short(size)).u32(short(offset)).u16(0).0
}
