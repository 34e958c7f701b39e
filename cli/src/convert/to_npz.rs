//! Writes npz like `numpy.savez`: an archive with an uncompressed array in each member.

use super::choice::NOT_UTF8;
use super::job::{Job, Written};
use super::output::Sink;
use super::tensor::{Refusal, Tensor};
use super::zip::{central, end, local, Member};
use crate::failure::Outcome;
use crate::new_files::{check_whole, NewFiles};
use crate::npy;

const NAME: &str = "npz";

pub fn write(job: &Job<'_>) -> Outcome<Written> {
    let tensors = Tensor::all(job, NAME, |tensor| match () {
        () if npy::descr(tensor.elements).is_none() => Err(Refusal::of_type(tensor)),
        () if std::str::from_utf8(&tensor.name).is_err() => Err(Refusal::Represent(NOT_UTF8.into())),
        () if tensor.name.len() + 4 > usize::from(u16::MAX) => {
            Err(Refusal::Represent(String::from("the name")))
        }
        () => npy::refusal(&tensor.shape).map_or(Ok(()), |what| Err(Refusal::Represent(what))),
    })?;
    for (key, _) in job.attributes() {
        job.leave_attribute_out(key, "npz has no attributes");
    }
    job.check_refused()?;
    check_whole(&job.arguments.output)?;
    let mut sink = Sink::create(job)?;
    let mut members = Vec::new();
    for tensor in &tensors {
        let header = npy::header(tensor.elements, &tensor.shape);
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
    let files = NewFiles { files: sink.close()?.into_iter().collect(), ..NewFiles::default() };
    Ok(Written { files, objects, data_bytes: total, stored_bytes: total, size })
}
