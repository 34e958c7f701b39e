//! Pickles that are put together here: every opcode, every rule, every budget.

mod machine;
mod tensors;

use super::decode::Attributes;
use super::pickle::read;
use super::tree::{walk, Visit};
use super::values::{Heap, Id, Value};
use crate::error::{Cause, Result, Rule};
use crate::memory::Budget;
use crate::model::value::Tape;

const MEMORY: u64 = 16 << 20;

/// A text of protocol 2.
fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

/// An integer of 64 bits.
fn int(number: i64) -> Vec<u8> {
    [b"\x8a\x08", &number.to_le_bytes()[..]].concat()
}

fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", &items.concat()[..], b"t"].concat()
}

fn ints(numbers: &[i64]) -> Vec<u8> {
    tuple(&numbers.iter().map(|n| int(*n)).collect::<Vec<_>>())
}

fn storage(class: &str, key: &str, count: i64) -> Vec<u8> {
    let (module, name) = class.rsplit_once('.').unwrap();
    let id = [text("storage"), global(module, name), text(key), text("cpu"), int(count)];
    [tuple(&id), b"Q".to_vec()].concat()
}

fn rebuild(function: &str, arguments: &[Vec<u8>]) -> Vec<u8> {
    [global("torch._utils", function), tuple(arguments), b"R".to_vec()].concat()
}

/// A tensor of f32 of a storage of so many elements.
fn view(count: i64, offset: i64, size: &[i64], stride: &[i64]) -> Vec<u8> {
    let storage = storage("torch.FloatStorage", "0", count);
    rebuild(
        "_rebuild_tensor_v2",
        &[storage, int(offset), ints(size), ints(stride), b"\x89".to_vec(), b"}".to_vec()],
    )
}

fn tensor() -> Vec<u8> {
    view(6, 0, &[2, 3], &[3, 1])
}

/// A whole pickle of protocol 2.
fn whole(body: impl AsRef<[u8]>) -> Vec<u8> {
    [b"\x80\x02", body.as_ref(), b"."].concat()
}

/// Lists what a visit receives.
struct Listed<'h> {
    heap: &'h Heap<'h>,
    lines: Vec<String>,
    attributes: Attributes<'h>,
}

impl Visit for Listed<'_> {
    fn tensor(&mut self, path: &[u8], id: Id) -> Result<()> {
        let tensor = self.heap.tensor(id).unwrap();
        let (shape, strides) = self.heap.shape(tensor);
        let path = String::from_utf8_lossy(path);
        let element = tensor.element.map_or("", |element| element.name());
        let name = tensor.unreadable.map_or(element.to_owned(), |why| self.heap.shown(why).to_string());
        self.lines.push(format!("{path}: {name} {shape:?} by {strides:?} from {}", tensor.offset));
        Ok(())
    }

    fn storage(&mut self, path: &[u8], id: Id) -> Result<()> {
        let count = self.heap.storage(id).unwrap().count;
        self.lines.push(format!("{}: storage of {count}", String::from_utf8_lossy(path)));
        Ok(())
    }

    fn attribute(&mut self, path: &[u8], value: Value) -> Result<()> {
        self.attributes.add(path, value)
    }
}

/// The tensors of a pickle, and its attributes as a map.
fn list_within(pickle: &[u8], memory: u64) -> Result<(Vec<String>, String)> {
    let budget = Budget::new(memory);
    let (heap, root) = read(pickle, &budget)?;
    let mut tape = Tape::default();
    let attributes = Attributes::new(&budget);
    let mut listed = Listed { heap: &heap, lines: Vec::new(), attributes };
    walk(&heap, root, &mut listed)?;
    let Listed { lines, attributes, .. } = listed;
    let at = attributes.write(&heap, &mut tape)?;
    let shown = at.map_or(String::new(), |at| format!("{:?}", tape.get(at)));
    Ok((lines, shown))
}

fn list(pickle: &[u8]) -> Result<(Vec<String>, String)> {
    list_within(pickle, MEMORY)
}

/// The lines of a root, or how it is refused.
#[track_caller]
fn lines(body: impl AsRef<[u8]>) -> Vec<String> {
    list(&whole(body)).unwrap().0
}

#[track_caller]
fn attributes(body: impl AsRef<[u8]>) -> String {
    list(&whole(body)).unwrap().1
}

fn cause(body: impl AsRef<[u8]>) -> Cause {
    list(&whole(&body)).map(|found| panic!("{:?} was read: {found:?}", body.as_ref())).unwrap_err().cause()
}

fn rule(body: impl AsRef<[u8]>) -> Option<Rule> {
    match cause(body) {
        Cause::Broken(rule) => Some(rule),
        _ => None,
    }
}

/// A dict of texts and values.
fn dict(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let items: Vec<u8> = pairs.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    [b"}(", &items[..], b"u"].concat()
}
