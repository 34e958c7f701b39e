//! A tensor for containers that have one array for each tensor: its elements, their type, their bytes.

use super::choice::Choice;
use super::job::{shown_key, Job};
use super::losses::{check_sources, converts};
use super::refused::Remedy;
use crate::elements::{release, restates_type};
use crate::failure::{Failure, Outcome};
use crate::notes::damage;
use crate::text;
use std::cell::Cell;
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Block, Dtype, Logical};
use ztensor::model::manifest::{element_count, Encoding, Format, LogicalType};
use ztensor::model::value::Value;
use ztensor::reader::{Component, Object, StoredTensor};

/// The type of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// The elements are numbers of this dtype.
    Plain(Dtype),
    /// A logical type, which may be a block type.
    Typed(Logical),
}

impl Elements {
    /// The elements of a component, if their type is known.
    pub fn of(component: &Component<'_>) -> Option<Elements> {
        let dtype = component.dtype()?;
        match component.logical() {
            LogicalType::Known(logical) => Some(Elements::Typed(logical)),
            LogicalType::Absent | LogicalType::SameAsDtype => Some(Elements::Plain(dtype)),
            LogicalType::Other => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Elements::Plain(dtype) => dtype.name(),
            Elements::Typed(logical) => logical.name(),
        }
    }

    pub fn dtype(self) -> Dtype {
        match self {
            Elements::Plain(dtype) => dtype,
            Elements::Typed(logical) => logical.dtype(),
        }
    }

    pub fn logical(self) -> Option<Logical> {
        match self {
            Elements::Plain(_) => None,
            Elements::Typed(logical) => Some(logical),
        }
    }

    pub fn block(self) -> Block {
        match self {
            Elements::Plain(dtype) => dtype.block(),
            Elements::Typed(logical) => logical.block(),
        }
    }

    /// The alignment that each element needs. It is 1 for types with several elements in a block.
    pub fn alignment(self) -> u64 {
        Some(self.block()).filter(|block| block.elements == 1).map_or(1, |block| block.bytes)
    }
}

/// A limit for all tensors together.
const MOST_BYTES: u64 = 1 << 60;

/// A tensor to write.
pub struct Tensor<'f> {
    pub name: Vec<u8>,
    pub shape: Vec<u64>,
    pub elements: Elements,
    /// The size of all elements in bytes.
    pub size: u64,
    component: Component<'f>,
    /// A tensor of a weight whose elements no component has as they are.
    restored: Option<StoredTensor<'f>>,
    /// The type that its elements are converted to.
    converted: Option<Elements>,
    /// Its bytes are damaged, and the options allow that.
    is_damaged: bool,
    /// Its bytes were compared with the checksums in their file.
    is_checked: Cell<bool>,
}

/// What is written of each object: the object, or the tensors that it was.
fn parts<'j, 'f>(job: &'j Job<'f>) -> Outcome<Vec<(&'j Choice<'f>, Option<StoredTensor<'f>>)>> {
    let mut all = Vec::new();
    for choice in &job.choices {
        match job.tensors_of(choice)? {
            Some(tensors) => all.extend(tensors.into_iter().map(|tensor| (choice, Some(tensor)))),
            None => all.push((choice, None)),
        }
    }
    Ok(all)
}

/// Leaves out the attributes of an object that say more than its new type does.
fn leave_attributes_out(job: &Job<'_>, container: &str, choice: &Choice<'_>, is_converted: bool) {
    let object = choice.object;
    let is_dequantized = is_converted && object.is_quantized() || object.scheme().is_some();
    let has_no_place = |key: Option<&str>| match is_dequantized {
        true => key.is_none_or(|key| !object.is_of_quantization(key)),
        false => !restates_type(key),
    };
    let keys = object.attributes().unwrap_or(Value::EMPTY_MAP).pairs().map(|(key, _)| key);
    for key in keys.filter(|key| has_no_place(key.as_text())) {
        let why = format!("{container} cannot represent attributes of a tensor, as its {}", shown_key(key));
        job.leave_out("attribute", &choice.shown(), &choice.shown_name(), &why);
    }
}

impl<'f> Tensor<'f> {
    /// All tensors of a job. Left out are objects that are not an array, have an unknown type, or have a name
    /// or type that `check` refuses.
    pub fn all(
        job: &Job<'f>,
        container: &str,
        check: impl Fn(&Tensor<'f>) -> Result<(), Refusal>,
    ) -> Outcome<Vec<Tensor<'f>>> {
        let mut tensors = Vec::new();
        for (choice, part) in parts(job)? {
            let tensor = Tensor::of(job, container, choice, part);
            match tensor.and_then(|tensor| check(&tensor).map(|()| tensor)) {
                Ok(tensor) => {
                    leave_attributes_out(job, container, choice, tensor.converted.is_some());
                    if tensor.is_damaged {
                        job.note_damage(choice, false);
                    }
                    tensors.push(tensor);
                }
                Err(Refusal::Represent(what)) => {
                    let why = format!("{container} cannot represent {what}");
                    job.leave_object_out(choice, Remedy::Lossy, &why);
                }
                Err(Refusal::Type(what)) => {
                    let to = if container == "npz" { Dtype::F32 } else { Dtype::F16 };
                    let converts =
                        converts(&choice.object, to) || job.input.is_part_of_weight(&choice.object);
                    let is_convertible = converts && job.arguments.types.is_empty();
                    let remedy = if is_convertible { Remedy::Dtype(to.name()) } else { Remedy::Lossy };
                    job.leave_object_out(choice, remedy, &format!("{container} cannot represent {what}"));
                    if is_convertible && !job.arguments.lossy {
                        leave_attributes_out(job, container, choice, true);
                    }
                }
                Err(Refusal::Damaged(why)) => {
                    job.allow_damage(&why)?;
                    job.note_damage(choice, true);
                }
                Err(Refusal::Failed(why)) => return Err(why),
            }
        }
        // Compressed data declares its own size. The limit ensures that the sum cannot overflow, even with
        // padding.
        let total = tensors.iter().map(|tensor| tensor.size).fold(0, u64::saturating_add);
        match total < MOST_BYTES {
            true => Ok(tensors),
            false => Err(job.refusal(format!("{} of tensors are more than a file has", text::size(total)))),
        }
    }

    fn of(
        job: &Job<'f>,
        container: &str,
        choice: &Choice<'f>,
        part: Option<StoredTensor<'f>>,
    ) -> Result<Tensor<'f>, Refusal> {
        let refused = |what: String| Refusal::Represent(what);
        let object = choice.object;
        let to = job.arguments.floats();
        let is_dequantized = match choice.blocks {
            Some(_) => object.is_weight(),
            None => to.is_some() && object.is_quantized(),
        };
        let (name, shape) = match &part {
            Some(part) => (part.name.clone(), part.shape.clone()),
            None => (choice.name.clone(), object.shape().to_vec()),
        };
        let mut components = object.components();
        let component = match (object.format(), components.next(), components.next()) {
            (_, Some(first), _) if part.is_some() => {
                part.as_ref().and_then(|part| part.component).unwrap_or(first)
            }
            (_, Some(first), _) if is_dequantized => object.codes().unwrap_or(first),
            (Format::Dense | Format::Blocks(_), Some(data), None) => data,
            (Format::Dense | Format::Blocks(_), ..) => return Err(refused("several components".into())),
            _ => return Err(Refusal::Type(format!("the format {:?}", object.format_name()))),
        };
        if component.dtype().is_none() {
            return Err(refused(format!("the unknown dtype {:?}", component.dtype_name())));
        }
        if component.encoding() == Encoding::Other {
            return Err(refused(format!("the unknown encoding {:?}", component.encoding_name())));
        }
        let elements = match &part {
            Some(part) => part.logical.map(Elements::Typed).or(part.dtype.map(Elements::Plain)),
            None => Elements::of(&component),
        };
        let Some(mut elements) = elements else {
            let name = component.logical_name().unwrap_or_default();
            return Err(refused(format!("the unknown type {name:?}")));
        };
        let stored = component.size().map_err(|e| Refusal::Failed(job.failure(&e)))?;
        let size = |elements: Elements| element_count(&shape).and_then(|n| elements.block().size(n));
        let is_array = part.is_none() && !is_dequantized;
        if is_array && size(elements) != Some(stored) {
            return Err(refused(format!("{stored} bytes of {} in the shape {shape:?}", elements.name())));
        }
        // Without --allow-damaged, the check happens when the bytes are read to be written.
        let allows = job.arguments.allow_damaged;
        let checked = if allows { check_sources(&object) } else { Ok(()) };
        let is_damaged = checked.is_err();
        if let Err(why) = checked {
            // A member of an npz gets a CRC-32, which would be a new one for damaged bytes.
            let is_sound = |part: Component<'_>| part.for_each_decoded(&mut |_| Ok(())).is_ok();
            let is_readable = container != "npz" && object.components().all(is_sound);
            match why.is_damage() {
                true if is_readable => {}
                true => return Err(Refusal::Damaged(why)),
                false => return Err(Refusal::Failed(job.failure(&why))),
            }
            job.allow_damage(&why).map_err(Refusal::Failed)?;
        }
        let converted = match choice.blocks {
            _ if part.is_some() => None,
            Some(blocks) => {
                job.check_scales(choice).map_err(Refusal::Failed)?;
                Some(Elements::Typed(blocks))
            }
            None => job.check_dtype(choice).map_err(Refusal::Failed)?.map(Elements::Plain),
        };
        elements = converted.unwrap_or(elements);
        let size = size(elements).ok_or_else(|| refused("so many elements".into()))?;
        let is_checked = Cell::new(allows);
        let restored = part.filter(|part| !part.is_component());
        Ok(Tensor { name, shape, elements, size, component, restored, converted, is_damaged, is_checked })
    }

    /// Whether it has big-endian blocks, for which it is unknown which bytes to swap.
    pub fn has_big_endian_blocks(&self) -> bool {
        let is_of_blocks = |elements| matches!(elements, Elements::Typed(logical) if logical.is_block_type());
        self.converted.is_none()
            && self.component.entry().is_big_endian()
            && Elements::of(&self.component).is_some_and(is_of_blocks)
    }

    /// Calls `out` with its bytes front to back.
    pub fn emit(
        &self,
        job: &Job<'_>,
        big_endian: bool,
        out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        if !self.is_checked.replace(true) {
            check_sources(&self.component.object()).map_err(|e| match e.is_damage() {
                true => damage::refused(job.failure(&e)),
                false => job.failure(&e),
            })?;
        }
        let failed = |e| job.failure(&e);
        match self.converted {
            Some(Elements::Typed(blocks)) => {
                let object = self.component.object();
                let read = |body: &mut dyn FnMut(&[u8]) -> _| match object.is_weight() {
                    true => object.for_each_quantized(blocks, false, body),
                    false => self.component.for_each_quantized(blocks, body),
                };
                let done = in_order(1, big_endian, out, &failed, read);
                release(&self.component);
                done
            }
            Some(Elements::Plain(to)) => {
                emit_numbers(&self.component.object(), to, true, big_endian, out, &failed)
            }
            None => match &self.restored {
                Some(restored) => {
                    let width = self.elements.dtype().size();
                    in_order(width, big_endian, out, &failed, |body| restored.for_each_decoded(body))
                }
                None => emit(&self.component, big_endian, out, &failed),
            },
        }
    }
}

/// Calls `out` with the bytes of a component front to back, in this byte order. Bools become 0 or 1.
pub fn emit(
    component: &Component<'_>,
    big_endian: bool,
    out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    failed: &dyn Fn(Error) -> Failure,
) -> Outcome<()> {
    let width = component.dtype().map_or(1, Dtype::size);
    let done = in_order(width, big_endian, out, failed, |body| match component.dtype() {
        Some(Dtype::Bool) => component.for_each_converted(Dtype::Bool, body),
        _ => component.for_each_decoded(body),
    });
    release(component);
    done
}

/// Calls `out` with the numbers of an object front to back, in this dtype and byte order. Fails at the end if
/// finite numbers become infinite, unless `lossy` is set.
pub fn emit_numbers(
    object: &Object<'_>,
    to: Dtype,
    lossy: bool,
    big_endian: bool,
    out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    failed: &dyn Fn(Error) -> Failure,
) -> Outcome<()> {
    let done = in_order(to.size(), big_endian, out, failed, |body| object.for_each_number(to, lossy, body));
    object.components().for_each(|component| release(&component));
    done
}

/// Calls `out` with the elements that `read` passes, in this byte order. An element has `width` bytes.
fn in_order(
    width: usize,
    big_endian: bool,
    out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    failed: &dyn Fn(Error) -> Failure,
    read: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
) -> Outcome<()> {
    let swaps = width > 1 && big_endian != cfg!(target_endian = "big");
    let (mut failure, mut turned) = (None, Vec::new());
    let done = read(&mut |chunk| {
        let given = match swaps {
            false => out(chunk),
            true => {
                turned.clear();
                turned.extend_from_slice(chunk);
                turned.chunks_exact_mut(width).for_each(<[u8]>::reverse);
                out(&turned)
            }
        };
        given.map_err(|why| {
            failure = Some(why);
            Error::new(Cause::Cancelled, format_args!("stopped"))
        })
    });
    match (done, failure) {
        (_, Some(failure)) => Err(failure),
        (done, None) => done.map_err(failed),
    }
}

/// Why a tensor is not written.
pub enum Refusal {
    /// The container cannot represent something of it.
    Represent(String),
    /// The container does not have its type or its format. `--dtype` may convert it to a type that it has.
    Type(String),
    /// It is damaged, and cannot be read or written.
    Damaged(Error),
    /// It cannot be read.
    Failed(Failure),
}

impl Refusal {
    /// The container does not have its type.
    pub fn of_type(tensor: &Tensor<'_>) -> Refusal {
        Refusal::Type(format!("the type {:?}", tensor.elements.name()))
    }
}
