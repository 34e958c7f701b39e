//! Reads a checkpoint into the tables of a manifest: its tensors, and its plain values as attributes of the
//! file.

use super::archive::Archive;
use super::globals::{Bare, Element, Global};
use super::pickle::{self, Pickle};
use super::tree::walk;
use super::values::{wrong, CollectionKind, Heap, Id, Reason, Record, Span, Storage, Value};
use crate::container::clashes;
use crate::container::frame::{over_limit, Frame, Input, Limits};
use crate::container::tables::{add_layout, add_name, add_object, add_text, extend, push};
use crate::container::zip::{Directory, Method};
use crate::error::{broken, fail, try_format, Error, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::component::Layout;
use crate::model::manifest::{
    element_count, table_position, Component, Container, Encoding, Format, Manifest, Object, RareNames,
    TextId,
};
use crate::model::sort::sort;
use crate::model::text::Position;
use crate::model::value::{self, Tape, ValueBuilder};
use std::fmt::Display;

/// Reads an archive that has a pickle.
pub fn decode(
    mut directory: Directory,
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    directory.visit(input, 0, budget, &mut |_, _, _| Ok(None))?;
    let archive = Archive::find(&directory, budget)?;
    archive.check_version(input)?;
    let big_endian = archive.is_big_endian(input)?;
    let size = archive.pickle.size;
    if size > limits.manifest_size {
        return Err(over_limit(size, limits));
    }
    budget.raise(limits.memory_for(archive.pickle.stored_size));
    let mut inflated = Vec::new();
    let bytes = archive.bytes(archive.pickle, input, &mut inflated)?;
    let manifest = pickle::read(bytes, budget).and_then(|pickle| {
        let record = |key: &[u8], storage: &Storage| archive.storage(key, storage);
        manifest(&pickle, &record, big_endian, limits, budget)
    });
    let manifest = manifest.map_err(|e| directory.blame(archive.pickle, e))?;
    archive.release();
    budget.give_back(inflated.capacity() as u64);
    frame.container = Container::Torch;
    (frame.data, frame.manifest) = (0..directory.range.start, directory.range);
    Ok(manifest)
}

/// Finds the bytes of the storage with this key in the file.
type FindRecord<'r> = &'r dyn Fn(&[u8], &Storage) -> Result<Record>;

/// The manifest of a file whose object is this pickle.
pub fn manifest(
    pickle: &Pickle<'_>,
    record: FindRecord<'_>,
    big_endian: bool,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let heap = &pickle.heap;
    let mut manifest = Manifest::default();
    manifest.container = Some(Container::Torch);
    // The version of the records says nothing about the tensors.
    manifest.version_text = Some(manifest.texts.add("")?);
    let data = manifest.intern_role("data")?;
    let attributes = Attributes::new(budget);
    let mut found = Found { heap, record, limits, budget, big_endian, data, manifest, attributes };
    walk(heap, pickle.root, &mut |path, value| match value {
        Value::Tensor(id) => found.tensor(path, id),
        Value::Storage(id) => found.storage(path, id),
        plain => found.attributes.add(path, plain),
    })?;
    let Found { mut manifest, attributes, .. } = found;
    if let (true, Some(foreign)) = (manifest.objects.is_empty(), heap.first_foreign()) {
        return Err(only_foreign(heap, foreign));
    }
    let mut tape = Tape::default();
    manifest.attributes = attributes.write(heap, &mut tape)?;
    tape.trim(Some(budget))?;
    manifest.values = tape;
    clashes::mark_objects(&mut manifest, budget)?;
    Ok(manifest)
}

/// The error for a pickle that has no tensor and names an unknown function or class.
#[cold]
fn only_foreign(heap: &Heap<'_>, foreign: Value) -> Error {
    let (module, name) = heap.foreign_name(foreign).unwrap_or((b"torch", b"unknown"));
    fail!(
        Unsupported,
        "it has no tensor and names {}.{}, which is not one of the functions and classes of plain \
         checkpoints; nothing is imported or run",
        Bare(module),
        Bare(name)
    )
}

/// The manifest and attributes so far.
struct Found<'c> {
    heap: &'c Heap<'c>,
    record: FindRecord<'c>,
    limits: &'c Limits,
    budget: &'c Budget,
    big_endian: bool,
    /// The role of all components.
    data: TextId,
    manifest: Manifest,
    attributes: Attributes<'c>,
}

struct View<'v> {
    storage: &'v Storage,
    element: Element,
    offset: u64,
    shape: &'v [u64],
    strides: &'v [u64],
}

impl Found<'_> {
    fn tensor(&mut self, path: &[u8], id: Id) -> Result<()> {
        let Some(tensor) = self.heap.tensor(id) else { return Ok(()) };
        let (shape, strides) = self.heap.shape(tensor);
        match (tensor.unreadable, tensor.element, tensor.storage) {
            (None, Some(element), Some(storage)) => {
                let Some(storage) = self.heap.storage(storage) else { return Ok(()) };
                self.view(path, &View { storage, element, offset: tensor.offset, shape, strides })
            }
            (reason, ..) => {
                let reason = self.heap.shown(reason.unwrap_or(Reason::Known("torch.unknown")));
                self.unreadable(path, reason, shape)
            }
        }
    }

    fn storage(&mut self, path: &[u8], id: Id) -> Result<()> {
        let Some(storage) = self.heap.storage(id) else { return Ok(()) };
        let shape = [storage.count];
        match storage.element.or_else(|| Element::from_name(b"uint8")) {
            Some(element) if element.size().is_some() => {
                self.view(path, &View { storage, element, offset: 0, shape: &shape, strides: &[1] })
            }
            element => {
                let known = Reason::Known(element.map_or("torch.unknown", Element::reason));
                let reason = storage.foreign.map_or(known, Reason::Foreign);
                self.unreadable(path, self.heap.shown(reason), &shape)
            }
        }
    }

    fn view(&mut self, path: &[u8], view: &View<'_>) -> Result<()> {
        let View { storage, element, offset, shape, strides } = *view;
        let record = (self.record)(self.heap.bytes(storage.key), storage)?;
        let is_row_major = Layout::is_row_major(shape, strides);
        let (Some((dtype, logical)), Some(unit)) = (element.types(), element.size()) else {
            return self.unreadable(path, "torch.unknown", shape);
        };
        if element.elements_per_unit() != 1 && !is_row_major {
            return self.unreadable(path, "torch.packed_with_strides", shape);
        }
        let mut component = Component::new(self.data, Some(dtype));
        component.logical = logical;
        component.set_big_endian(self.big_endian);
        let overflow =
            || broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} does not fit in 64 bits");
        let size = element_count(shape).and_then(|count| count.checked_mul(unit)).ok_or_else(overflow)?;
        // The offset of an empty tensor has no meaning: slices of slices may have offsets past the end.
        let offset = if size == 0 { 0 } else { offset };
        let start = offset.checked_mul(unit).ok_or_else(overflow)?;
        // How many bytes of the storage the elements span.
        let reach = match (size, is_row_major) {
            (0, _) | (_, true) => Some(size),
            _ => Layout::reach(shape, strides).and_then(|last| last.checked_add(1)?.checked_mul(unit)),
        };
        let reach = reach.ok_or_else(overflow)?;
        let checksum = record.checksum;
        let mut layout = Layout { decoded_size: reach, start: 0, strides: None, checksum };
        match record.method {
            Method::Stored => {
                component.offset = record.stored.start.saturating_add(start);
                component.stored_size = reach;
            }
            Method::Deflated => {
                component.offset = record.stored.start;
                component.stored_size = record.stored.end.saturating_sub(record.stored.start);
                component.encoding = Encoding::Deflate;
                (layout.decoded_size, layout.start) = (record.size, start);
            }
            Method::Unread(reason) => return self.unreadable(path, reason, shape),
        }
        if !is_row_major {
            layout.strides = Some(table_position(self.manifest.strides.len())?);
            strides.iter().try_for_each(|stride| push(self.budget, &mut self.manifest.strides, *stride))?;
        }
        component.set_size(Some(size));
        component.set_size_declared(component.encoding.has_declared_size());
        component.rare = add_layout(self.budget, &mut self.manifest, RareNames::default(), layout)?;
        self.add(path, component, shape, element.elements_per_unit())
    }

    /// Adds a tensor that is listed but not read. The name of its dtype gives the reason.
    fn unreadable(&mut self, path: &[u8], reason: impl Display, shape: &[u64]) -> Result<()> {
        let mut component = Component::new(self.data, None);
        let name = add_name(self.budget, &mut self.manifest, reason)?;
        let rare = RareNames { dtype: Some(name), ..RareNames::default() };
        component.rare = add_layout(self.budget, &mut self.manifest, rare, Layout::default())?;
        component.set_size(Some(0));
        self.add(path, component, shape, 1)
    }

    /// Adds an object with one component. Its last dimension is PyTorch's times `elements_per_unit`.
    fn add(
        &mut self,
        path: &[u8],
        component: Component,
        shape: &[u64],
        elements_per_unit: u64,
    ) -> Result<()> {
        let manifest = &mut self.manifest;
        self.limits.check_more_objects(manifest.objects.len())?;
        let name = add_text(self.budget, manifest, path)?;
        let shape_start = table_position(manifest.dimensions.len())?;
        let (last, outer) = shape.split_last().map_or((1, shape), |(last, outer)| (*last, outer));
        outer.iter().try_for_each(|dimension| push(self.budget, &mut manifest.dimensions, *dimension))?;
        if !shape.is_empty() || elements_per_unit != 1 {
            let overflow =
                || broken!(Rule::ShapeOverflow, "its last dimension {last} does not fit in 64 bits");
            let last = last.checked_mul(elements_per_unit).ok_or_else(overflow)?;
            push(self.budget, &mut manifest.dimensions, last)?;
        }
        let rank = table_position(manifest.dimensions.len())?.saturating_sub(shape_start);
        let object = Object::with_one_component(name, Format::Dense, (shape_start, rank));
        add_object(self.budget, manifest, object, component)
    }
}

/// Values and their paths, before they become a map. If two have the same path, the second key gets a mark.
pub struct Attributes<'b> {
    budget: &'b Budget,
    paths: Vec<u8>,
    /// For each value, the end of its path, and the value.
    values: Vec<(usize, Value)>,
}

impl<'b> Attributes<'b> {
    pub fn new(budget: &'b Budget) -> Attributes<'b> {
        Attributes { budget, paths: Vec::new(), values: Vec::new() }
    }

    /// Adds a plain value, a list or tuple of plain values, or a value of a foreign class.
    pub fn add(&mut self, path: &[u8], value: Value) -> Result<()> {
        extend(self.budget, &mut self.paths, path)?;
        push(self.budget, &mut self.values, (self.paths.len(), value))
    }

    fn path(&self, at: usize) -> &[u8] {
        let end = |at: usize| self.values.get(at).map_or(0, |(end, _)| *end);
        let start = at.checked_sub(1).map_or(0, end);
        self.paths.get(start..end(at)).unwrap_or_default()
    }

    /// Appends the map to `tape`; `None` if it is empty.
    pub fn write(self, heap: &Heap<'_>, tape: &mut Tape) -> Result<Option<Position>> {
        let budget = self.budget;
        let held =
            (self.paths.capacity() as u64).saturating_add(bytes_of::<(usize, Value)>(self.values.capacity()));
        if self.values.is_empty() {
            return Ok(None);
        }
        let mut marks = clashes::find(self.values.len(), &|at| self.path(at), budget)?;
        let marks_held = bytes_of::<(usize, u32)>(marks.capacity());
        sort(&mut marks);
        let mut marks = marks.into_iter().peekable();
        let mut to = ValueBuilder::new(tape).within(Some(budget));
        to.begin_map(None)?;
        let mut writer = Writer { to, budget, scratch: Vec::new() };
        for (at, (_, value)) in self.values.iter().enumerate() {
            match marks.next_if(|(marked, _)| *marked == at) {
                None => writer.to.text_or_bytes(self.path(at))?,
                Some((_, number)) => {
                    writer.scratch.clear();
                    extend(budget, &mut writer.scratch, self.path(at))?;
                    extend(budget, &mut writer.scratch, clashes::mark(number)?.as_bytes())?;
                    writer.to.text_or_bytes(&writer.scratch)?;
                }
            }
            writer.value(heap, *value)?;
        }
        writer.to.end()?;
        budget.give_back(held.saturating_add(marks_held).saturating_add(writer.scratch.capacity() as u64));
        writer.to.finish().map(Some)
    }
}

struct Writer<'t> {
    to: ValueBuilder<'t>,
    budget: &'t Budget,
    scratch: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, heap: &Heap<'_>, value: Value) -> Result<()> {
        if let Value::Foreign(_) | Value::Items(CollectionKind::Foreign, _) = value {
            let (module, name) = heap.foreign_name(value).unwrap_or((b"torch", b"unknown"));
            let shown = try_format(format_args!("<{}.{}>", Bare(module), Bare(name)))?;
            return self.to.text(&shown);
        }
        let Value::Items(_, id) = value else { return self.scalar(heap, value) };
        self.to.begin_array(value::Element::Any, Some(heap.count(id).into()))?;
        heap.items(id).try_for_each(|item| self.scalar(heap, item))?;
        self.to.end().map(drop)
    }

    fn scalar(&mut self, heap: &Heap<'_>, value: Value) -> Result<()> {
        match value {
            Value::Bool(truth) => self.to.boolean(truth),
            Value::Int(number) => self.to.integer(number),
            Value::BigInt(span) => self.big_integer(heap, span),
            Value::Float(number) => self.to.float(number),
            Value::Text(span) => self.to.text_or_bytes(heap.bytes(span)),
            Value::Bytes(span) => self.to.bytes(heap.bytes(span)),
            Value::Latin1(span) => {
                self.scratch.clear();
                let other = || wrong(format_args!("a text that is encoded as latin1 has other characters"));
                let text = std::str::from_utf8(heap.bytes(span)).map_err(|_| other())?;
                for character in text.chars() {
                    let byte = u8::try_from(u32::from(character)).map_err(|_| other())?;
                    push(self.budget, &mut self.scratch, byte)?;
                }
                self.to.bytes(&self.scratch)
            }
            Value::Global(Global::Dtype(element)) => {
                self.scratch.clear();
                extend(self.budget, &mut self.scratch, b"torch.")?;
                extend(self.budget, &mut self.scratch, element.name().as_bytes())?;
                self.to.text_or_bytes(&self.scratch)
            }
            _ => self.to.null(),
        }
    }

    /// Adds an integer that does not fit in an `i64`. If it has more than 64 bits, it becomes a CBOR bignum:
    /// the bytes of n, or of -1 - n if n is negative.
    fn big_integer(&mut self, heap: &Heap<'_>, span: Span) -> Result<()> {
        let bytes = heap.bytes(span);
        let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
        let flip = if is_negative { 0xff } else { 0 };
        self.scratch.clear();
        let mut magnitude = bytes.iter().rev().map(|byte| byte ^ flip).skip_while(|byte| *byte == 0);
        magnitude.try_for_each(|byte| push(self.budget, &mut self.scratch, byte))?;
        if self.scratch.len() <= 8 {
            let number = self.scratch.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            return if is_negative { self.to.negative(number) } else { self.to.unsigned(number) };
        }
        self.to.begin_tag(if is_negative { 3 } else { 2 })?;
        self.to.bytes(&self.scratch)?;
        self.to.end().map(drop)
    }
}
