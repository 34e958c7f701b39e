//! The tensors of a checkpoint that belong to one weight, and what is found out of them when the file is
//! opened.

use crate::error::{broken, fail, try_format, Error, Quoted, Result, Rule};
use crate::memory::{in_memory, joined, zeroed};
use crate::model::dtype::{Dtype, Logical};
use crate::reader::file::File;
use crate::reader::object::Object;

/// The most bytes that are read of a tensor when a file is opened: those that say how a weight is stored.
const MAX_TEXT: u64 = 4096;

/// The most tensors of one weight.
/// cbindgen:ignore
pub const MAX_PARTS: usize = 18;

/// Stands in place of a position for a tensor that a weight does not have.
/// cbindgen:ignore
pub const NO_TENSOR: u32 = u32::MAX;

pub struct Part {
    /// What follows the name of the module in its name.
    pub suffix: &'static str,
    pub role: &'static str,
    /// No tensor that is a weight by itself has such a name, so that it alone shows the scheme.
    pub is_sure: bool,
}

/// Tensors of one weight by the parts of a scheme.
pub struct Found<'f> {
    pub parts: &'static [Part],
    pub module: &'f [u8],
    /// Positions of objects, in the order of the parts, or [`NO_TENSOR`].
    pub tensors: &'f [u32; MAX_PARTS],
    pub file: &'f File,
}

#[derive(Clone, Copy)]
pub struct Tensor<'f> {
    role: &'static str,
    object: Object<'f>,
}

/// What an object says of the weight that it shows.
#[derive(Clone, Default)]
pub struct Description {
    shape: [u64; 3],
    rank: usize,
    attributes: [(&'static str, Attribute); 10],
    count: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Attribute {
    #[default]
    Nothing,
    Number(u64),
    Float(f64),
    Text(&'static str),
}

impl Description {
    /// Begins the description of a weight of that shape, without attributes.
    pub fn start(&mut self, shape: &[u64]) -> Result<&mut Description> {
        (self.rank, self.count) = (shape.len(), 0);
        match self.shape.get_mut(..shape.len()) {
            Some(dimensions) => dimensions.copy_from_slice(shape),
            None => return Err(geometry!("it has {} dimensions, not 2 or 3", shape.len())),
        }
        Ok(self)
    }

    /// Changes the last dimension.
    pub fn columns(&mut self, columns: u64) -> &mut Description {
        let last = self.shape.get_mut(..self.rank).and_then(|shape| shape.last_mut());
        last.into_iter().for_each(|last| *last = columns);
        self
    }

    pub fn add(&mut self, key: &'static str, value: Attribute) -> Result<&mut Description> {
        match self.attributes.get_mut(self.count) {
            Some(place) => *place = (key, value),
            None => return Err(fail!(Internal, "a weight has too many attributes")),
        }
        self.count = self.count.saturating_add(1);
        Ok(self)
    }

    pub fn number(&mut self, key: &'static str, number: u64) -> Result<&mut Description> {
        self.add(key, Attribute::Number(number))
    }

    pub fn text(&mut self, key: &'static str, text: &'static str) -> Result<&mut Description> {
        self.add(key, Attribute::Text(text))
    }

    pub fn shape(&self) -> &[u64] {
        self.shape.get(..self.rank).unwrap_or_default()
    }

    pub fn attributes(&self) -> &[(&'static str, Attribute)] {
        self.attributes.get(..self.count).unwrap_or_default()
    }
}

impl Part {
    pub fn name_in(&self, module: &[u8]) -> Result<Vec<u8>> {
        joined([module, self.suffix.as_bytes()])
    }
}

impl<'f> Found<'f> {
    pub fn tensor(&self, role: &'static str) -> Option<Tensor<'f>> {
        let parts = self.parts.iter().zip(self.tensors);
        let mut found = parts.filter(|(part, at)| part.role == role && **at != NO_TENSOR);
        let object = found.next().and_then(|(_, at)| self.file.object(*at as usize));
        object.map(|object| Tensor { role, object })
    }

    /// The tensor of a role, or an error that names the one that is missing.
    pub fn required(&self, role: &'static str) -> Result<Tensor<'f>> {
        self.tensor(role).ok_or_else(|| match self.name_of(role) {
            Ok(name) => broken!(Rule::ComponentMissing, "there is no tensor {name}, which has its {role}"),
            Err(e) => e,
        })
    }

    /// The name of the tensor of a role, in quotes.
    pub fn name_of(&self, role: &str) -> Result<String> {
        let part = self.parts.iter().find(|part| part.role == role);
        let name = part.map_or(Ok(Vec::new()), |part| part.name_in(self.module))?;
        try_format(format_args!("{}", Quoted(&name)))
    }

    /// Whether one scale is for all rows. If not, each row has one.
    pub fn has_one_scale(&self, rows: u64) -> Result<bool> {
        let scales = self.required("scales")?;
        match scales.shape() {
            [] | [1] => Ok(true),
            [count] | [count, 1] if *count == rows => Ok(false),
            shape => Err(scales.wrong(format_args!(
                "its shape is {shape:?}, but {rows} rows have a scale each, or one together"
            ))),
        }
    }

    /// Its codes as a matrix.
    pub fn matrix(&self) -> Result<(Tensor<'f>, [u64; 2])> {
        let codes = self.required("packed_weight")?;
        let shape = codes.matrix()?;
        Ok((codes, shape))
    }
}

impl<'f> Tensor<'f> {
    pub fn shape(&self) -> &'f [u64] {
        self.object.shape()
    }

    pub fn element_type(&self) -> (Option<Dtype>, Option<Logical>) {
        self.object.components().next().map_or((None, None), |data| (data.dtype(), data.known_logical()))
    }

    pub fn count(&self) -> u64 {
        self.object.element_count().unwrap_or(u64::MAX)
    }

    /// Its shape of two dimensions.
    pub fn matrix(&self) -> Result<[u64; 2]> {
        let shape = self.shape();
        let pair = <[u64; 2]>::try_from(shape);
        pair.map_err(|_| self.wrong(format_args!("its shape is {shape:?}, not one of two dimensions")))
    }

    pub fn expect_shape(&self, wanted: &[u64], of: std::fmt::Arguments<'_>) -> Result<()> {
        match self.shape() {
            shape if shape == wanted => Ok(()),
            shape => Err(self.wrong(format_args!("its shape is {shape:?}, but {of} take {wanted:?}"))),
        }
    }

    /// Checks that these are scales of rows of that shape, one for each group of their columns.
    pub fn expect_groups(&self, rows: &[u64], columns: u64, group: u64) -> Result<()> {
        let shape = self.shape();
        match shape.split_last() {
            Some((groups, of)) if of == rows && groups.checked_mul(group) == Some(columns) => Ok(()),
            _ => Err(self.wrong(format_args!(
                "its shape is {shape:?}, but rows {rows:?} of {columns} columns have groups of {group}"
            ))),
        }
    }

    #[cold]
    pub fn wrong(&self, what: std::fmt::Arguments<'_>) -> Error {
        geometry!("component {:?}: {what}", self.role)
    }

    /// The bytes of a small tensor.
    fn bytes(&self) -> Result<Vec<u8>> {
        let component = self.object.components().next();
        let component = component.ok_or_else(|| fail!(Internal, "a tensor without data"))?;
        let size = component.size()?;
        if size > MAX_TEXT {
            return Err(self.wrong(format_args!("it has {size} bytes, and at most {MAX_TEXT} are expected")));
        }
        let mut bytes = zeroed(in_memory(size)?)?;
        component.read(&mut bytes)?;
        Ok(bytes)
    }

    pub fn text(&self) -> Result<String> {
        match (self.element_type(), String::from_utf8(self.bytes()?)) {
            ((Some(Dtype::U8), None), Ok(text)) => Ok(text),
            _ => Err(self.wrong(format_args!("it is not text in U8"))),
        }
    }

    /// Its elements, which are `N` integers and not negative.
    pub fn numbers<const N: usize>(&self) -> Result<[u64; N]> {
        let bytes = self.bytes()?;
        let mut numbers = [0; N];
        let (Some(dtype), None) = self.element_type() else {
            return Err(self.wrong(format_args!("its type is unknown")));
        };
        let wanted = N.saturating_mul(dtype.size());
        if !dtype.is_integer() || self.count() != N as u64 || bytes.len() != wanted {
            let (name, shape, size) = (dtype.name(), self.shape(), bytes.len());
            return Err(self.wrong(format_args!(
                "it is {name} of shape {shape:?} in {size} bytes, but should be integers of shape [{N}]"
            )));
        }
        crate::model::structure::each_index(dtype, &bytes, 0, |number, at| {
            if number == u64::MAX {
                return Err(self.wrong(format_args!("it has a negative element")));
            }
            let place = usize::try_from(at).ok().and_then(|at| numbers.get_mut(at));
            place.into_iter().for_each(|place| *place = number);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// Its only element as an integer.
    pub fn number(&self) -> Result<u64> {
        self.numbers().map(|[number]| number)
    }
}
