//! A pickle to values: the stack machine of Python's module `pickle`, as far as checkpoints need it.
//!
//! Each step takes at least a byte of the pickle, calls nothing again, and adds a bounded number of entries
//! to tables that are charged. Functions and classes are those of `globals`, which say what `calls` makes of
//! their arguments.

use super::calls;
use super::globals::{self, Global, Unreadable};
use super::opcodes as op;
use super::scalars;
use super::scalars::Cursor;
use super::values::{wrong, Heap, Id, Kind, Span, Value};
use crate::container::tables::push;
use crate::error::{broken, fail, Error, Result, Rule};
use crate::memory::{bytes_of, Budget};

/// The highest protocol.
const MAX_PROTOCOL: u8 = 5;

/// Entries that any memo may have: as many as an index of one byte can name.
const MIN_MEMO_LIMIT: usize = 256;

/// A pickle that was read.
pub struct Pickle<'a> {
    /// Its values.
    pub heap: Heap<'a>,
    /// The value that it is.
    pub root: Value,
    /// Its bytes.
    pub size: usize,
}

/// Why a pickle was not read.
pub struct Stop {
    /// What is wrong.
    pub error: Error,
    /// Bytes that the pickle has at least, if it has more than were given.
    pub needs: Option<u64>,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop { error, needs: None }
    }
}

/// Reads the pickle that is all of `bytes`.
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

/// Reads the pickle that `bytes` begin with.
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

/// The state of reading a pickle.
struct Machine<'a> {
    heap: Heap<'a>,
    cursor: Cursor<'a>,
    stack: Vec<Value>,
    /// How many values the stack had at each MARK.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
    /// How many entries of the memo are in use, which is the index that MEMOIZE puts to, as in Python.
    memo_count: u64,
    budget: &'a Budget,
}

impl<'a> Machine<'a> {
    /// Takes all steps. Returns the value that is left at the end.
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
            op::APPEND => self.append(Kind::List, false),
            op::APPENDS => self.append(Kind::List, true),
            op::ADDITEMS => self.append(Kind::Set, true),
            op::SETITEM => self.set_items(false),
            op::SETITEMS => self.set_items(true),
            op::BUILD => self.build(),
            _ => {
                let value = self.value(opcode)?;
                self.push(value)
            }
        }
    }

    /// What an opcode puts on the stack.
    fn value(&mut self, opcode: u8) -> Result<Value> {
        match opcode {
            op::EMPTY_LIST => self.heap.make(Kind::List),
            op::EMPTY_DICT => self.heap.make(Kind::Dict),
            op::EMPTY_TUPLE => self.heap.make(Kind::Tuple),
            op::EMPTY_SET => self.heap.make(Kind::Set),
            op::LIST => self.since_mark(Kind::List),
            op::TUPLE => self.since_mark(Kind::Tuple),
            op::FROZENSET => self.since_mark(Kind::Set),
            op::DICT => self.since_mark(Kind::Dict),
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
                    (Value::Global(function), Value::Items(Kind::Tuple, arguments)) => {
                        calls::call(&mut self.heap, function, arguments)
                    }
                    (Value::Foreign(_) | Value::Items(Kind::Foreign, _), Value::Items(Kind::Tuple, _)) => {
                        calls::foreign(&mut self.heap, &[function, arguments])
                    }
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

    /// What a name stands for.
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

    /// FRAME says how many bytes may be read at once. The size is only checked.
    fn frame(&mut self) -> Result<()> {
        let size = self.cursor.u64()?;
        match size <= self.cursor.left() {
            true => Ok(()),
            false => Err(self.cursor.truncated(size)),
        }
    }

    /// Returns the values, and gives back what was charged for everything else.
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

    /// Values above the last mark.
    fn count(&self) -> usize {
        self.stack.len().saturating_sub(self.marks.last().copied().unwrap_or(0))
    }

    fn pop(&mut self) -> Result<Value> {
        match self.count() {
            0 => Err(underflow()),
            _ => self.stack.pop().ok_or_else(underflow),
        }
    }

    fn last(&self) -> Result<Value> {
        match self.count() {
            0 => Err(underflow()),
            _ => self.stack.last().copied().ok_or_else(underflow),
        }
    }

    /// POP: the last value, or a mark that is behind it.
    fn drop_last(&mut self) -> Result<()> {
        match (self.count(), self.marks.pop()) {
            (0, Some(_)) => Ok(()),
            (_, mark) => {
                self.marks.extend(mark); // no allocation: it was there a moment ago
                self.pop().map(drop)
            }
        }
    }

    /// The last mark: how many values the stack had.
    fn pop_mark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(|| broken!(Rule::PickleStack, "there is no mark"))
    }

    /// Moves the values above the last mark into a new list, tuple, dict or set.
    fn since_mark(&mut self, kind: Kind) -> Result<Value> {
        let start = self.pop_mark()?;
        self.collect(kind, start)
    }

    fn tuple(&mut self, count: usize) -> Result<Value> {
        match self.count().checked_sub(count) {
            Some(_) => self.collect(Kind::Tuple, self.stack.len().saturating_sub(count)),
            None => Err(underflow()),
        }
    }

    fn collect(&mut self, kind: Kind, start: usize) -> Result<Value> {
        let made = self.heap.make(kind)?;
        if let Value::Items(_, id) = made {
            self.move_items(kind, id, start)?;
        }
        Ok(made)
    }

    /// Moves the values of the stack from `start` on to the end of a list, tuple, dict or set.
    fn move_items(&mut self, kind: Kind, id: Id, start: usize) -> Result<()> {
        let items = self.stack.get(start..).unwrap_or_default();
        if kind == Kind::Dict {
            if items.len() % 2 != 0 {
                return Err(broken!(Rule::PickleStack, "a dict has {} keys and values", items.len()));
            }
            items.iter().step_by(2).try_for_each(|key| check_key(*key))?;
        }
        items.iter().try_for_each(|item| self.heap.append(id, *item))?;
        self.stack.truncate(start);
        Ok(())
    }

    /// APPEND, APPENDS, ADDITEMS: to the list or set in front of what is added.
    fn append(&mut self, wanted: Kind, many: bool) -> Result<()> {
        let start = match many {
            true => self.pop_mark()?,
            false => self.start_of_last(1)?,
        };
        match self.target(start)? {
            Value::Items(kind, id) if kind == wanted => self.move_items(kind, id, start),
            Value::Items(Kind::Foreign, id) => self.move_to_foreign(wanted, id, start),
            other => Err(wrong(format_args!("items are added to {}", other.kind()))),
        }
    }

    /// SETITEM, SETITEMS: to the dict in front of what is added.
    fn set_items(&mut self, many: bool) -> Result<()> {
        let start = match many {
            true => self.pop_mark()?,
            false => self.start_of_last(2)?,
        };
        match self.target(start)? {
            Value::Items(Kind::Dict, id) => self.move_items(Kind::Dict, id, start),
            Value::Items(Kind::Foreign, id) => self.move_to_foreign(Kind::Dict, id, start),
            other => Err(wrong(format_args!("keys and values are added to {}", other.kind()))),
        }
    }

    /// Moves items to the list, set or dict that is the last one of a foreign value, or to a new one there.
    fn move_to_foreign(&mut self, kind: Kind, id: Id, start: usize) -> Result<()> {
        let last = match self.heap.last(id) {
            Some(Value::Items(of, last)) if of == kind => last,
            _ => {
                let made = self.heap.make(kind)?;
                self.heap.append(id, made)?;
                let Value::Items(_, made) = made else { return Ok(()) };
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

    /// The value in front of `start`, which no mark separates from it.
    fn target(&self, start: usize) -> Result<Value> {
        let below = self.marks.last().copied().unwrap_or(0);
        let place = start.checked_sub(1).filter(|place| *place >= below);
        place.and_then(|place| self.stack.get(place).copied()).ok_or_else(underflow)
    }

    /// The attributes of a dict (`_metadata` of a state dict), which mean nothing here, or the state of a
    /// foreign value.
    fn build(&mut self) -> Result<()> {
        let (state, target) = (self.pop()?, self.last()?);
        match (target, state) {
            (Value::Items(Kind::Foreign, id), state) => self.heap.append(id, state),
            (Value::Items(Kind::Dict, _), Value::Items(Kind::Dict, _)) => Ok(()),
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

/// Refuses what cannot be a key, in Python or in a name.
fn check_key(key: Value) -> Result<()> {
    match key {
        Value::Text(_)
        | Value::Int(_)
        | Value::BigInt(_)
        | Value::Float(_)
        | Value::Bool(_)
        | Value::None
        | Value::Bytes(_)
        | Value::Latin1(_)
        | Value::Global(_)
        | Value::Foreign(_)
        | Value::Opaque
        | Value::Items(Kind::Tuple | Kind::Set | Kind::Foreign, _) => Ok(()),
        other => Err(wrong(format_args!("a key of a dict is {}", other.kind()))),
    }
}

#[cold]
fn underflow() -> Error {
    broken!(Rule::PickleStack, "the stack has too few values")
}
