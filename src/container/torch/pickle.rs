//! Reads a pickle into values: the stack machine of Python's module `pickle`, as far as checkpoints need it.
//!
//! Each step consumes at least a byte of the pickle, does not recurse, and adds a limited number of entries
//! to tables that are charged. `globals` has the functions and classes, and `calls` computes what they
//! return.

use super::calls;
use super::globals::{self, Global, Unreadable};
use super::opcodes as op;
use super::scalars::{self, Cursor};
use super::values::{wrong, CollectionKind, Heap, Id, Span, Value};
use crate::container::tables::push;
use crate::error::{broken, fail, Error, Result, Rule};
use crate::memory::{bytes_of, Budget};

const MAX_PROTOCOL: u8 = 5;

/// The least limit for the entries of a memo: as many as a one-byte index can select.
const MIN_MEMO_LIMIT: usize = 256;

/// A pickle after reading.
pub struct Pickle<'a> {
    pub heap: Heap<'a>,
    pub root: Value,
    pub size: usize,
}

/// Why a pickle was not read.
pub struct Stop {
    pub error: Error,
    /// If the pickle does not end in the given bytes: its least size.
    pub needs: Option<u64>,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop { error, needs: None }
    }
}

/// Reads a pickle that fills all of `bytes`.
pub fn read<'a>(bytes: &'a [u8], budget: &'a Budget) -> Result<Pickle<'a>> {
    let pickle = read_first(bytes, budget).map_err(|stop| stop.error)?;
    match bytes.len().saturating_sub(pickle.size) {
        0 => Ok(pickle),
        left => {
            let at = pickle.size;
            Err(broken!(Rule::PickleSyntax, "{left} bytes follow STOP at byte {at}"))
        }
    }
}

/// Reads the pickle at the start of `bytes`.
pub fn read_first<'a>(bytes: &'a [u8], budget: &'a Budget) -> std::result::Result<Pickle<'a>, Stop> {
    let mut machine = Machine {
        heap: Heap::new(bytes, budget)?,
        cursor: Cursor::new(bytes),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        memo_count: 0,
        budget,
    };
    let root = machine.run();
    let (size, needs) = (machine.cursor.offset(), machine.cursor.needs);
    let heap = machine.release();
    match root {
        Ok(root) => Ok(Pickle { heap, root, size }),
        Err(error) => Err(Stop { error, needs }),
    }
}

struct Machine<'a> {
    heap: Heap<'a>,
    cursor: Cursor<'a>,
    stack: Vec<Value>,
    /// For each MARK, how many values the stack had.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
    /// How many entries of the memo are used. MEMOIZE uses this index, as in Python.
    memo_count: u64,
    budget: &'a Budget,
}

impl<'a> Machine<'a> {
    /// Runs all steps. Returns the value that is left at the end.
    fn run(&mut self) -> Result<Value> {
        loop {
            let at = self.cursor.offset();
            if self.cursor.left() == 0 {
                self.cursor.needs = Some(at.saturating_add(1) as u64);
                return Err(broken!(Rule::PickleSyntax, "it ends at byte {at} without STOP"));
            }
            match self.cursor.u8()? {
                op::STOP => return self.stop(),
                opcode => self.step(opcode).map_err(|e| e.within(format_args!("byte {at}")))?,
            }
        }
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            op::PROTO => self.protocol(),
            op::FRAME => self.frame(),
            op::MARK => push(self.budget, &mut self.marks, self.stack.len()),
            op::POP => self.drop_last(),
            op::POP_MARK => self.pop_mark().map(|start| self.stack.truncate(start)),
            op::DUP => self.last().and_then(|value| self.push(value)),
            op::GET | op::BINGET | op::LONG_BINGET => self.get(opcode),
            op::PUT | op::BINPUT | op::LONG_BINPUT | op::MEMOIZE => self.put(opcode),
            op::APPEND => self.start_of_last(1).and_then(|start| self.append(CollectionKind::List, start)),
            op::APPENDS => self.pop_mark().and_then(|start| self.append(CollectionKind::List, start)),
            op::ADDITEMS => self.pop_mark().and_then(|start| self.append(CollectionKind::Set, start)),
            op::SETITEM => self.start_of_last(2).and_then(|start| self.append(CollectionKind::Dict, start)),
            op::SETITEMS => self.pop_mark().and_then(|start| self.append(CollectionKind::Dict, start)),
            op::BUILD => self.build(),
            _ => {
                let value = self.value(opcode)?;
                self.push(value)
            }
        }
    }

    /// The value that an opcode pushes on the stack.
    fn value(&mut self, opcode: u8) -> Result<Value> {
        match opcode {
            op::EMPTY_LIST => self.heap.empty(CollectionKind::List),
            op::EMPTY_DICT => self.heap.empty(CollectionKind::Dict),
            op::EMPTY_TUPLE => self.heap.empty(CollectionKind::Tuple),
            op::EMPTY_SET => self.heap.empty(CollectionKind::Set),
            op::LIST => self.since_mark(CollectionKind::List),
            op::TUPLE => self.since_mark(CollectionKind::Tuple),
            op::FROZENSET => self.since_mark(CollectionKind::Set),
            op::DICT => self.since_mark(CollectionKind::Dict),
            op::TUPLE1 => self.tuple(1),
            op::TUPLE2 => self.tuple(2),
            op::TUPLE3 => self.tuple(3),
            op::GLOBAL => {
                let ((module, _), (name, _)) = (self.cursor.line()?, self.cursor.line()?);
                self.global(module, name)
            }
            op::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (module, name) {
                    (Value::Text(module), Value::Text(name)) => self.global(module, name),
                    _ => Err(wrong(format_args!("STACK_GLOBAL names {} of {}", name.kind(), module.kind()))),
                }
            }
            op::BINPERSID => {
                let id = self.pop()?;
                calls::persistent(&mut self.heap, id)
            }
            op::NEWOBJ_EX => {
                let (named, arguments, class) = (self.pop()?, self.pop()?, self.pop()?);
                calls::foreign(&mut self.heap, &[class, arguments, named])
            }
            op::REDUCE | op::NEWOBJ => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                match (function, arguments) {
                    (Value::Global(function), Value::Items(CollectionKind::Tuple, arguments)) => {
                        calls::call(&mut self.heap, function, arguments)
                    }
                    (
                        Value::Foreign(_) | Value::Items(CollectionKind::Foreign, _),
                        Value::Items(CollectionKind::Tuple, _),
                    ) => calls::foreign(&mut self.heap, &[function, arguments]),
                    _ => Err(wrong(format_args!(
                        "{} is called with {}, not a function with a tuple",
                        function.kind(),
                        arguments.kind()
                    ))),
                }
            }
            _ => scalars::read(&mut self.cursor, opcode),
        }
    }

    fn global(&mut self, module: Span, name: Span) -> Result<Value> {
        let (module_text, name_text) = (self.heap.bytes(module), self.heap.bytes(name));
        if let Some(global) = globals::find(module_text, name_text) {
            return Ok(Value::Global(global));
        }
        match self.heap.add_foreign(module, name)? {
            Value::Foreign(id) if globals::is_rebuild(module_text, name_text) => {
                Ok(Value::Global(Global::Rebuild(Unreadable::Unknown(id))))
            }
            foreign => Ok(foreign),
        }
    }

    fn protocol(&mut self) -> Result<()> {
        match self.cursor.u8()? {
            0..=MAX_PROTOCOL => Ok(()),
            later => Err(fail!(Unsupported, "its protocol is {later}; 0 to {MAX_PROTOCOL} are read here")),
        }
    }

    /// FRAME says how many bytes can be read at once. The size is only checked.
    fn frame(&mut self) -> Result<()> {
        let size = self.cursor.u64()?;
        match size <= self.cursor.left() {
            true => Ok(()),
            false => Err(self.cursor.truncated(size)),
        }
    }

    /// Returns the values. Returns the memory of everything else to the budget.
    fn release(self) -> Heap<'a> {
        self.budget.give_back(bytes_of::<Value>(self.stack.capacity()));
        self.budget.give_back(bytes_of::<usize>(self.marks.capacity()));
        self.budget.give_back(bytes_of::<Option<Value>>(self.memo.capacity()));
        self.heap
    }

    /// The value that is left at the end.
    fn stop(&self) -> Result<Value> {
        match (&*self.stack, &*self.marks) {
            ([root], []) => Ok(*root),
            _ => {
                let (values, marks) = (self.stack.len(), self.marks.len());
                Err(broken!(
                    Rule::PickleStack,
                    "STOP leaves {values} values and {marks} marks, not one value"
                ))
            }
        }
    }

    fn push(&mut self, value: Value) -> Result<()> {
        push(self.budget, &mut self.stack, value)
    }

    /// How many values are above the last mark.
    fn count(&self) -> usize {
        self.stack.len().saturating_sub(self.marks.last().copied().unwrap_or(0))
    }

    fn pop(&mut self) -> Result<Value> {
        let last = self.last()?;
        self.stack.pop();
        Ok(last)
    }

    fn last(&self) -> Result<Value> {
        self.target(self.stack.len())
    }

    /// POP removes the last value, or a mark if that was pushed later.
    fn drop_last(&mut self) -> Result<()> {
        match (self.count(), self.marks.pop()) {
            (0, Some(_)) => Ok(()),
            (_, mark) => {
                self.marks.extend(mark); // no allocation, because it was removed just before
                self.pop().map(drop)
            }
        }
    }

    /// Removes the last mark. Returns how many values the stack had.
    fn pop_mark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(|| broken!(Rule::PickleStack, "there is no mark"))
    }

    /// Moves the values above the last mark into a new list, tuple, dict or set.
    fn since_mark(&mut self, kind: CollectionKind) -> Result<Value> {
        let start = self.pop_mark()?;
        self.collect(kind, start)
    }

    fn tuple(&mut self, count: usize) -> Result<Value> {
        let start = self.start_of_last(count)?;
        self.collect(CollectionKind::Tuple, start)
    }

    fn collect(&mut self, kind: CollectionKind, start: usize) -> Result<Value> {
        let id = self.heap.make(kind)?;
        self.move_items(kind, id, start)?;
        Ok(Value::Items(kind, id))
    }

    /// Moves the stack's values from `start` on to the end of a list, tuple, dict or set.
    fn move_items(&mut self, kind: CollectionKind, id: Id, start: usize) -> Result<()> {
        let items = self.stack.get(start..).unwrap_or_default();
        if kind == CollectionKind::Dict {
            if items.len() % 2 != 0 {
                return Err(broken!(Rule::PickleStack, "a dict has {} keys and values", items.len()));
            }
            items.iter().step_by(2).try_for_each(|key| check_key(*key))?;
        }
        items.iter().try_for_each(|item| self.heap.append(id, *item))?;
        self.stack.truncate(start);
        Ok(())
    }

    /// APPEND, APPENDS, ADDITEMS, SETITEM, SETITEMS: add the values from `start` on to the list, set or dict
    /// that is below them.
    fn append(&mut self, wanted: CollectionKind, start: usize) -> Result<()> {
        match self.target(start)? {
            Value::Items(kind, id) if kind == wanted => self.move_items(kind, id, start),
            Value::Items(CollectionKind::Foreign, id) => self.move_to_foreign(wanted, id, start),
            other if wanted == CollectionKind::Dict => {
                Err(wrong(format_args!("keys and values are added to {}", other.kind())))
            }
            other => Err(wrong(format_args!("items are added to {}", other.kind()))),
        }
    }

    /// Adds items to a foreign value: to its last item if that is a list, set or dict of this kind, else to a
    /// new one.
    fn move_to_foreign(&mut self, kind: CollectionKind, id: Id, start: usize) -> Result<()> {
        let last = match self.heap.last(id) {
            Some(Value::Items(of, last)) if of == kind => last,
            _ => {
                let made = self.heap.make(kind)?;
                self.heap.append(id, Value::Items(kind, made))?;
                made
            }
        };
        self.move_items(kind, last, start)
    }

    fn start_of_last(&self, count: usize) -> Result<usize> {
        match self.count() >= count {
            true => Ok(self.stack.len().saturating_sub(count)),
            false => Err(underflow()),
        }
    }

    /// The value below `start`, if no mark separates it.
    fn target(&self, start: usize) -> Result<Value> {
        let below = self.marks.last().copied().unwrap_or(0);
        let place = start.checked_sub(1).filter(|place| *place >= below);
        place.and_then(|place| self.stack.get(place).copied()).ok_or_else(underflow)
    }

    /// BUILD sets the attributes of a dict (`_metadata` of a state dict), which are ignored, or the state of
    /// a foreign value.
    fn build(&mut self) -> Result<()> {
        let (state, target) = (self.pop()?, self.last()?);
        match (target, state) {
            (Value::Items(CollectionKind::Foreign, id), state) => self.heap.append(id, state),
            (Value::Items(CollectionKind::Dict, _), Value::Items(CollectionKind::Dict, _)) => Ok(()),
            _ => Err(fail!(
                Unsupported,
                "BUILD gives {} the state {}; only dicts have attributes here",
                target.kind(),
                state.kind()
            )),
        }
    }

    fn get(&mut self, opcode: u8) -> Result<()> {
        let index = self.index(opcode)?;
        let found = usize::try_from(index).ok().and_then(|at| self.memo.get(at).copied().flatten());
        let value = found.ok_or_else(|| {
            broken!(Rule::PickleMemo, "entry {index} of the memo is read, but was never put")
        })?;
        self.push(value)
    }

    fn put(&mut self, opcode: u8) -> Result<()> {
        let value = self.last()?;
        let index = match opcode {
            op::MEMOIZE => self.memo_count,
            _ => self.index(opcode)?,
        };
        // Consecutive indexes are fewer than the bytes that were read.
        let limit = self.cursor.offset().max(MIN_MEMO_LIMIT);
        let at = usize::try_from(index).ok().filter(|at| *at < limit).ok_or_else(|| {
            fail!(Limit, "entry {index} of the memo is put; at this byte of the pickle it may have {limit}")
        })?;
        while self.memo.len() <= at {
            push(self.budget, &mut self.memo, None)?;
        }
        if let Some(place) = self.memo.get_mut(at) {
            self.memo_count = self.memo_count.saturating_add(place.is_none().into());
            *place = Some(value);
        }
        Ok(())
    }

    fn index(&mut self, opcode: u8) -> Result<u64> {
        match opcode {
            op::BINGET | op::BINPUT => self.cursor.u8().map(u64::from),
            op::LONG_BINGET | op::LONG_BINPUT => self.cursor.u32().map(u64::from),
            _ => scalars::decimal(&mut self.cursor, "a number"),
        }
    }
}

/// Refuses values that cannot be a key in Python or in a name.
fn check_key(key: Value) -> Result<()> {
    match key {
        Value::Items(CollectionKind::List | CollectionKind::Dict, _)
        | Value::Storage(_)
        | Value::Tensor(_) => Err(wrong(format_args!("a key of a dict is {}", key.kind()))),
        _ => Ok(()),
    }
}

#[cold]
fn underflow() -> Error {
    broken!(Rule::PickleStack, "the stack has too few values")
}
