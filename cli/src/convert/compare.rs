//! Compares the output with the input, object by object, before the output gets its name: always names and
//! shapes, and all bytes with --verify.

use super::choice::Choice;
use super::job::Job;
use crate::failure::{Failure, Outcome};
use crate::names;
use sha2::{Digest, Sha256};
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Encoding;
use ztensor::reader::{Component, File, Object, StoredTensor, VerifyOptions, VerifyReport};

/// Compares every converted object with the object in the new files.
pub fn compare(job: &Job<'_>, new: &File) -> Outcome<()> {
    let wanted = || job.choices.iter().filter(|choice| !job.is_left_out(&choice.name));
    let mut count = 0;
    for choice in wanted() {
        count += job.tensors_of(choice)?.map_or(1, |tensors| tensors.len());
    }
    if new.object_count() != count {
        return Err(job.refusal(format!("the output has {} objects, not {count}", new.object_count())));
    }
    if job.arguments.verify {
        let digests = VerifyOptions { contents: false, ..VerifyOptions::default() };
        let verified = new.verify(&digests, &|_, _| true, &mut VerifyReport::default());
        verified.map_err(|e| job.refusal(e))?;
    }
    for choice in wanted() {
        job.interrupt.check()?;
        let compared = match job.tensors_of(choice)? {
            Some(tensors) => tensors.iter().try_for_each(|tensor| same_tensor(job, tensor, new)),
            None => written(job, new, &choice.name).and_then(|found| same(job, choice, found)),
        };
        compared.map_err(|why| match why {
            Failure::Message(why) => job.refusal(format!("{}: {why}", choice.shown())),
            other => other,
        })?;
    }
    Ok(())
}

/// The object of that name in what was written.
fn written<'f>(job: &Job<'_>, new: &'f File, name: &[u8]) -> Outcome<Object<'f>> {
    let found = new.find_position(name).and_then(|at| new.object(at));
    found.ok_or_else(|| job.refusal(format!("\"{}\" is not in what was written", names::in_json(name))))
}

/// A tensor of a weight that became several again.
fn same_tensor(job: &Job<'_>, tensor: &StoredTensor<'_>, new: &File) -> Outcome<()> {
    let found = written(job, new, &tensor.name)?;
    match found.component("data").filter(|_| found.shape() == tensor.shape) {
        Some(data) if job.arguments.verify => same_bytes(job, &data, |body| tensor.for_each_decoded(body)),
        Some(_) => Ok(()),
        None => Err(Failure::Message(String::from("its shape or its components differ from the input"))),
    }
}

fn same(job: &Job<'_>, choice: &Choice<'_>, new: Object<'_>) -> Outcome<()> {
    let old = choice.object;
    let is_dequantized = match choice.blocks {
        Some(_) => old.is_weight(),
        None => job.arguments.dtype.is_some() && old.is_quantized(),
    };
    if !is_dequantized && old.scheme().is_some() && old.format_name() != new.format_name() {
        return same_weight(job, &old, &new);
    }
    let count = if is_dequantized { 1 } else { old.components().len() };
    if old.shape() != new.shape() || count != new.components().len() {
        return Err(Failure::Message(String::from("its shape or its components differ from the input")));
    }
    if !job.arguments.verify {
        return Ok(());
    }
    if let (true, Some(new)) = (is_dequantized, new.component("data")) {
        let to = new.dtype().unwrap_or(Dtype::F32);
        return same_bytes(job, &new, |body| match choice.blocks {
            Some(blocks) => old.for_each_quantized(blocks, false, body),
            None => old.for_each_number(to, true, body),
        });
    }
    for (old, new) in old.components().zip(new.components()) {
        let is_unknown = |c: &Component<'_>| c.dtype().is_none() || c.is_never_interpreted();
        if is_unknown(&old) || is_unknown(&new) || old.encoding() == Encoding::Other {
            continue;
        }
        let is_bool = old.dtype() == Some(Dtype::Bool);
        match (choice.blocks, new.dtype().filter(|dtype| old.dtype() != Some(*dtype) || is_bool)) {
            (Some(blocks), _) => same_bytes(job, &new, |body| old.for_each_quantized(blocks, body))?,
            (None, Some(to)) => same_bytes(job, &new, |body| old.for_each_converted(to, body))?,
            (None, None) => same_bytes(job, &new, |body| old.for_each_decoded(body))?,
        }
    }
    Ok(())
}

/// A weight whose codes and scales have another form in the output: the tensors that it was are the same.
fn same_weight(job: &Job<'_>, old: &Object<'_>, new: &Object<'_>) -> Outcome<()> {
    let tensors_of = |object: &Object<'_>| -> Outcome<_> {
        let tensors = object.stored_tensors(new.name_bytes()).map_err(|e| job.failure(&e))?;
        let mut all = Vec::new();
        for tensor in tensors.unwrap_or_default() {
            let mut hasher = Sha256::new();
            if job.arguments.verify {
                let hashed = tensor.for_each_decoded(&mut |bytes| {
                    hasher.update(bytes);
                    Ok(())
                });
                hashed.map_err(|e| job.failure(&e))?;
            }
            let types = (tensor.dtype.map(Dtype::name), tensor.logical.map(Logical::name));
            all.push((tensor.name, tensor.shape, types, hasher.finalize()));
        }
        all.sort();
        Ok(all)
    };
    match old.shape() == new.shape() && tensors_of(old)? == tensors_of(new)? {
        true => Ok(()),
        false => Err(Failure::Message(String::from("its shape or its tensors differ from the input"))),
    }
}

/// Compares the bytes that `expect` passes with the written ones, piece by piece.
fn same_bytes(
    job: &Job<'_>,
    new: &Component<'_>,
    expect: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
) -> Outcome<()> {
    let (mut at, mut read, mut is_same) = (0u64, Vec::new(), true);
    let done = expect(&mut |expected: &[u8]| {
        if job.interrupt.check().is_err() {
            return Err(Error::new(Cause::Cancelled, format_args!("stopped")));
        }
        read.resize(expected.len(), 0);
        new.read_range(at, &mut read)?;
        at += expected.len() as u64;
        is_same &= read == expected;
        match is_same {
            true => Ok(()),
            false => Err(Error::new(Cause::Cancelled, format_args!("stopped"))),
        }
    });
    let size = new.size().map_err(|e| job.refusal(e))?;
    match done {
        Ok(()) if at == size => Ok(()),
        Ok(()) => Err(Failure::Message(format!("it has {size} bytes, but {at} were read"))),
        Err(_) if !is_same => Err(Failure::Message(format!("bytes before byte {at} differ"))),
        Err(e) => Err(job.failure(&e)),
    }
}
