//! What the functions of a checkpoint return for their arguments: storages, tensors, plain values.

use super::globals::{Element, Global, Unreadable};
use super::values::{wrong, CollectionKind, Heap, Id, Reason, Storage, Tensor, Value};
use crate::error::{broken, fail, Result, Rule};
use crate::model::manifest::element_count;
use std::ops::RangeInclusive;

/// The most dimensions of a tensor, the same as in PyTorch.
const MAX_RANK: usize = 64;

const MAX_ARGUMENTS: usize = 16;

/// The arguments of a call. Those that are left out are `None`.
type Arguments = [Value; MAX_ARGUMENTS];

fn arguments(heap: &Heap<'_>, of: Id, expected: RangeInclusive<usize>, what: &str) -> Result<Arguments> {
    let count = heap.count(of);
    match heap.array(of) {
        Some((values, count)) if expected.contains(&count) => Ok(values),
        _ => {
            let (min, max) = (expected.start(), expected.end());
            Err(wrong(format_args!("{what} has {count} arguments, not {min} to {max}")))
        }
    }
}

/// The longest key of a storage. PyTorch writes a number. Keys are compared with each other, and a few bytes
/// of a pickle can repeat a long key.
const LONGEST_KEY: usize = 256;

/// The value of a persistent id. For a storage, this is ('storage', class, key, location, count). Before
/// PyTorch 1.6, a storage has a sixth field, and the class may be ('module', class, file, source).
pub fn persistent(heap: &mut Heap<'_>, id: Value) -> Result<Value> {
    let refused = || wrong(format_args!("the persistent id is {}, not a storage's", id.kind()));
    let Value::Items(CollectionKind::Tuple, items) = id else { return Err(refused()) };
    let Some(([mark, class, key, location, count, view], fields)) = heap.array::<6>(items) else {
        return Err(refused());
    };
    match (heap.text(mark), fields) {
        (Some(b"storage"), 5 | 6) if view == Value::None => {}
        (Some(b"storage"), 6) => {
            return Err(fail!(
                Unsupported,
                "a storage is a part of another one, as PyTorch 0.3 saved them, which is not read"
            ))
        }
        (Some(b"module"), 4) => return Ok(class),
        _ => return Err(refused()),
    }
    let (element, foreign) = match class {
        Value::Global(Global::Storage(element)) => (Some(element), None),
        Value::Global(Global::UntypedStorage) => (None, None),
        Value::Foreign(id) => (Some(Element::unknown()), Some(id)),
        other => return Err(wrong(format_args!("the class of a storage is {}", other.kind()))),
    };
    let Value::Text(key) = key else {
        return Err(broken!(Rule::TorchStorage, "the key of a storage is {}, not a text", key.kind()));
    };
    let length = heap.bytes(key).len();
    if length > LONGEST_KEY {
        return Err(broken!(
            Rule::TorchStorage,
            "the key of a storage has {length} bytes; at most {LONGEST_KEY} are allowed"
        ));
    }
    if heap.text(location).is_none() {
        return Err(wrong(format_args!("the location of a storage is {}", location.kind())));
    }
    let count = number(count).ok_or_else(|| {
        broken!(Rule::TorchStorage, "the number of elements of a storage is {}", Shown(count))
    })?;
    heap.add_storage(Storage { element, foreign, key, count })
}

/// An integer from 0 to 2^63 - 1.
fn number(value: Value) -> Option<u64> {
    match value {
        Value::Int(n) => u64::try_from(n).ok(),
        _ => None,
    }
}

/// Shows a value that should be an integer from 0 to 2^63 - 1.
struct Shown(Value);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Value::Int(n) => write!(f, "{n}"),
            Value::BigInt(_) => f.write_str("an integer of more than 64 bits"),
            other => f.write_str(other.kind()),
        }
    }
}

/// Whether the meaning of a value is unknown.
fn is_foreign(value: Value) -> bool {
    matches!(value, Value::Foreign(_) | Value::Items(CollectionKind::Foreign, _))
}

/// A value that is not built here: a foreign function or class, and the arguments it would be called with.
pub fn foreign(heap: &mut Heap<'_>, parts: &[Value]) -> Result<Value> {
    let id = heap.make(CollectionKind::Foreign)?;
    parts.iter().try_for_each(|part| heap.append(id, *part))?;
    Ok(Value::Items(CollectionKind::Foreign, id))
}

/// What a function returns for a tuple of arguments.
pub fn call(heap: &mut Heap<'_>, function: Global, tuple: Id) -> Result<Value> {
    let of_tensors =
        function.rebuilds_from_storage() || matches!(function, Global::RebuildParameter | Global::Rebuild(_));
    if of_tensors && heap.items(tuple).next().is_some_and(is_foreign) {
        return foreign(heap, &[Value::Global(function), Value::Items(CollectionKind::Tuple, tuple)]);
    }
    let given = |heap: &Heap<'_>, expected, what| arguments(heap, tuple, expected, what);
    match function {
        Global::Dict => dict(heap, tuple),
        Global::DefaultDict => heap.empty(CollectionKind::Dict),
        Global::Set => match given(heap, 0..=1, "a set")?[0] {
            Value::None => heap.empty(CollectionKind::Set),
            Value::Items(CollectionKind::List | CollectionKind::Tuple | CollectionKind::Set, id) => {
                heap.copy(CollectionKind::Set, id)
            }
            other => Err(wrong(format_args!("a set is made of {}", other.kind()))),
        },
        Global::Size => match given(heap, 1..=1, "torch.Size")?[0] {
            Value::Items(CollectionKind::Tuple | CollectionKind::List, id) => {
                Ok(Value::Items(CollectionKind::Tuple, id))
            }
            other => Err(wrong(format_args!("a torch.Size is made of {}", other.kind()))),
        },
        Global::Encode => encoded(heap, &given(heap, 2..=3, "_codecs.encode")?),
        Global::ByteArray => {
            let given = given(heap, 0..=3, "a bytearray")?;
            match given[0] {
                Value::Text(_) => encoded(heap, &given),
                bytes @ (Value::Bytes(_) | Value::Latin1(_)) => Ok(bytes),
                _ => Ok(Value::Opaque),
            }
        }
        Global::Opaque => Ok(Value::Opaque),
        Global::RebuildTensor | Global::RebuildTensorV2 | Global::RebuildTensorV3 => {
            rebuild(heap, function, tuple)
        }
        Global::RebuildParameter => match given(heap, 3..=4, "_rebuild_parameter")?[0] {
            tensor @ Value::Tensor(_) => Ok(tensor),
            other => Err(wrong(format_args!("a parameter is made of {}", other.kind()))),
        },
        Global::RebuildFromType => rebuild_from_type(heap, &given(heap, 4..=4, "_rebuild_from_type_v2")?),
        Global::Rebuild(reason) => {
            rebuild_unreadable(heap, reason, &given(heap, 1..=MAX_ARGUMENTS, reason.name())?)
        }
        Global::Factory
        | Global::TensorType
        | Global::QuantizationScheme
        | Global::Dtype(_)
        | Global::Storage(_)
        | Global::UntypedStorage => {
            foreign(heap, &[Value::Global(function), Value::Items(CollectionKind::Tuple, tuple)])
        }
    }
}

/// An empty dict, or a dict from another one or a list of pairs.
fn dict(heap: &mut Heap<'_>, tuple: Id) -> Result<Value> {
    let from = match arguments(heap, tuple, 0..=1, "a dict")?[0] {
        Value::None => return heap.empty(CollectionKind::Dict),
        Value::Items(CollectionKind::Dict, id) => return heap.copy(CollectionKind::Dict, id),
        Value::Items(CollectionKind::List | CollectionKind::Tuple, id) => id,
        other => return Err(wrong(format_args!("a dict is made of {}", other.kind()))),
    };
    let id = heap.make(CollectionKind::Dict)?;
    let mut place = heap.front(from);
    while let Some(pair) = heap.next(&mut place) {
        let both = match pair {
            Value::Items(CollectionKind::List | CollectionKind::Tuple, pair) => heap.array::<2>(pair),
            _ => None,
        };
        let Some(([key @ (Value::Text(_) | Value::Int(_)), value], 2)) = both else {
            return Err(wrong(format_args!("a dict is made from a value that is not a list of pairs")));
        };
        heap.append(id, key)?;
        heap.append(id, value)?;
    }
    Ok(Value::Items(CollectionKind::Dict, id))
}

/// Bytes that protocol 2 stores as a text.
fn encoded(heap: &Heap<'_>, given: &Arguments) -> Result<Value> {
    let Value::Text(text) = given[0] else {
        return Err(wrong(format_args!("{} is encoded", given[0].kind())));
    };
    match heap.text(given[1]) {
        Some(b"latin1" | b"latin-1") => Ok(Value::Latin1(text)),
        Some(b"utf-8" | b"utf8" | b"ascii") => Ok(Value::Bytes(text)),
        _ => Ok(Value::Opaque),
    }
}

/// A tensor that is rebuilt with a type and attributes of its own, which are ignored here.
fn rebuild_from_type(heap: &mut Heap<'_>, given: &Arguments) -> Result<Value> {
    match (given[0], given[1], given[2]) {
        (Value::Global(function), class, Value::Items(CollectionKind::Tuple, tuple))
            if function.rebuilds_from_storage() =>
        {
            let made = rebuild(heap, function, tuple)?;
            let tensor = match made {
                // Another class may give the elements another meaning.
                Value::Tensor(id) if class != Value::Global(Global::TensorType) => heap.tensor(id).copied(),
                _ => None,
            };
            let unreadable = Some(Reason::Known("torch.subclass"));
            tensor.map_or(Ok(made), |tensor| heap.add_tensor(Tensor { unreadable, ..tensor }))
        }
        (
            Value::Global(Global::RebuildParameter),
            Value::Global(Global::TensorType),
            Value::Items(_, tuple),
        ) => call(heap, Global::RebuildParameter, tuple),
        (function, class, tuple) => foreign(heap, &[function, class, tuple]),
    }
}

/// (storage, offset, size, stride, requires_grad, hooks, [dtype of v3], metadata)
fn rebuild(heap: &mut Heap<'_>, function: Global, tuple: Id) -> Result<Value> {
    let has_dtype = function == Global::RebuildTensorV3;
    // If there is metadata, it is the last argument.
    let (expected, metadata_at) = match function {
        Global::RebuildTensor => (4..=4, MAX_ARGUMENTS),
        Global::RebuildTensorV3 => (7..=8, 7),
        _ => (6..=7, 6),
    };
    let given = arguments(heap, tuple, expected, "_rebuild_tensor")?;
    let Value::Storage(id) = given[0] else {
        return Err(wrong(format_args!("a tensor is made of {}, not of a storage", given[0].kind())));
    };
    let storage = *heap.storage(id).ok_or_else(|| wrong(format_args!("a storage is not there")))?;
    let (element, foreign) = match (has_dtype, given[6], storage.element) {
        (true, Value::Global(Global::Dtype(element)), _) => (element, None),
        (true, Value::Foreign(id), _) => (Element::unknown(), Some(id)),
        (true, other, _) => return Err(wrong(format_args!("the dtype of a tensor is {}", other.kind()))),
        (false, _, Some(element)) => (element, storage.foreign),
        (false, _, None) => return Err(wrong(format_args!("a tensor of an UntypedStorage has no dtype"))),
    };
    let wrong_offset = || broken!(Rule::TorchView, "the storage offset of a tensor is {}", Shown(given[1]));
    let offset = number(given[1]).ok_or_else(wrong_offset)?;
    let (numbers, rank) = shape_and_strides(heap, given[2], given[3])?;
    let mut tensor =
        Tensor { storage: Some(id), element: Some(element), offset, numbers, rank, unreadable: None };
    if element.size().is_none() {
        tensor.unreadable = Some(foreign.map_or(Reason::Known(element.reason()), Reason::Foreign));
    } else {
        check_view(heap, &tensor, &storage, element)?;
        let metadata = given.get(metadata_at).copied().unwrap_or(Value::None);
        tensor.unreadable = changed_by(heap, metadata)?.map(Reason::Known);
    }
    heap.add_tensor(tensor)
}

/// Checks that a tensor stays inside its storage.
fn check_view(heap: &Heap<'_>, tensor: &Tensor, storage: &Storage, element: Element) -> Result<()> {
    let (shape, strides) = heap.shape(tensor);
    let size = element.size().unwrap_or(1);
    // The size of the storage in elements of the tensor. With `_rebuild_tensor_v3`, the tensor has a dtype of
    // its own.
    let storage_unit = storage.element.map_or(Some(1), Element::size);
    let bytes = storage_unit.and_then(|unit| storage.count.checked_mul(unit));
    let elements = bytes.and_then(|bytes| bytes.checked_div(size)).unwrap_or(0);
    let count = element_count(shape)
        .and_then(|count| count.checked_mul(element.elements_per_unit())?.checked_mul(size));
    let Some(count) = count else {
        return Err(broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} does not fit in 64 bits"));
    };
    let last = shape.iter().zip(strides).try_fold(tensor.offset, |at, (dimension, stride)| {
        at.checked_add(dimension.saturating_sub(1).checked_mul(*stride)?)
    });
    match last.and_then(|last| last.checked_add(1)) {
        _ if count == 0 => Ok(()), // an empty tensor may have any offset
        Some(end) if end <= elements => Ok(()),
        _ => Err(broken!(
            Rule::TorchView,
            "a tensor of the shape {shape:?} and strides {strides:?} from element {} on leaves its storage \
             of {elements} elements",
            tensor.offset
        )),
    }
}

/// Adds a tensor's dimensions and strides to the table of numbers. Returns the position of the first, and the
/// rank.
fn shape_and_strides(heap: &mut Heap<'_>, size: Value, stride: Value) -> Result<(Id, u32)> {
    let mut numbers = [0; 2 * MAX_RANK];
    let (shape, strides) = numbers.split_at_mut(MAX_RANK);
    let rank = dimensions(heap, size, shape, "size")?;
    let stride_count = dimensions(heap, stride, strides, "stride")?;
    if rank != stride_count {
        return Err(broken!(Rule::TorchView, "a tensor has {rank} dimensions and {stride_count} strides"));
    }
    let at = heap.add_numbers(shape.get(..rank).unwrap_or_default())?;
    heap.add_numbers(strides.get(..rank).unwrap_or_default())?;
    Ok((at, u32::try_from(rank).unwrap_or(0)))
}

/// Reads the numbers of a tuple into `out`. Returns how many there are.
fn dimensions(heap: &Heap<'_>, value: Value, out: &mut [u64], what: &str) -> Result<usize> {
    let Value::Items(CollectionKind::Tuple | CollectionKind::List, id) = value else {
        return Err(wrong(format_args!("the {what} of a tensor is {}, not a tuple", value.kind())));
    };
    let rank = heap.count(id) as usize;
    if rank > out.len() {
        return Err(broken!(Rule::ShapeRank, "a tensor has {rank} dimensions, more than {MAX_RANK}"));
    }
    for (place, item) in out.iter_mut().zip(heap.items(id)) {
        let read = number(item);
        *place =
            read.ok_or_else(|| broken!(Rule::TorchView, "in the {what} of a tensor is {}", Shown(item)))?;
    }
    Ok(rank)
}

/// If metadata changes the elements, so that they differ from those in the storage: the name of the change.
fn changed_by(heap: &Heap<'_>, metadata: Value) -> Result<Option<&'static str>> {
    let id = match metadata {
        Value::None => return Ok(None),
        Value::Items(CollectionKind::Dict, id) => id,
        other => return Err(wrong(format_args!("the metadata of a tensor is {}", other.kind()))),
    };
    if heap.count(id) as usize > MAX_ARGUMENTS {
        return Ok(Some("torch.metadata"));
    }
    let mut items = heap.items(id);
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        let name = match heap.text(key) {
            Some(b"conj") => "torch.conjugated",
            Some(b"neg") => "torch.negated",
            _ => "torch.metadata",
        };
        if !matches!(value, Value::Bool(false) | Value::None) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// A tensor that is listed but not read, with its shape if the arguments have one.
fn rebuild_unreadable(heap: &mut Heap<'_>, reason: Unreadable, given: &Arguments) -> Result<Value> {
    let (element, size) = match (reason, given[0], given[1]) {
        (Unreadable::Quantized, Value::Storage(id), _) => {
            (heap.storage(id).and_then(|storage| storage.element), given[2])
        }
        (Unreadable::Meta, Value::Global(Global::Dtype(element)), size) => (Some(element), size),
        (Unreadable::Sparse, _, Value::Items(CollectionKind::Tuple, parts)) => {
            let is_size = |part: &Value| matches!(part, Value::Items(CollectionKind::Tuple, _));
            (None, heap.items(parts).take(MAX_ARGUMENTS).find(is_size).unwrap_or(Value::None))
        }
        (Unreadable::Nested, Value::Tensor(_), _) | (Unreadable::Unknown(_), ..) => (None, Value::None),
        _ => {
            let name = reason.name();
            return Err(wrong(format_args!(
                "the arguments of a {name} tensor are not those that PyTorch writes"
            )));
        }
    };
    let mut shape = [0; MAX_RANK];
    let rank = match size {
        Value::None => 0,
        size => dimensions(heap, size, &mut shape, "size")?,
    };
    let shape = shape.get(..rank).unwrap_or_default();
    let numbers = heap.add_numbers(shape)?;
    heap.add_numbers(shape)?; // takes the place of the strides, which such a tensor does not need
    let rank = u32::try_from(rank).unwrap_or(0);
    let unreadable = Some(match reason {
        Unreadable::Unknown(function) => Reason::Foreign(function),
        other => Reason::Known(other.name()),
    });
    heap.add_tensor(Tensor { storage: None, element, offset: 0, numbers, rank, unreadable })
}
