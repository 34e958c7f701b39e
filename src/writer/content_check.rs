//! Checks the content of an object's components while their bytes come: whole or in pieces, the components in
//! any order. Verification uses the same rules, [`crate::container::contents`].

use crate::container::contents::{ElementCheck, Positions};
use crate::container::Capabilities;
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::{append, push};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Encoding, Format, Manifest, Object};
use crate::model::structure::{each_index, Cells, IndexCheck, RowOrder};

/// What is known about the components of one object.
pub struct ContentCheck {
    to: &'static Capabilities,
    format: Format,
    current: Current,
    rows: Rows,
    /// The bytes of the coordinates, and their dtype. They can only be checked once their number is known.
    coords: (Vec<u8>, Option<Dtype>),
    /// For components with several elements in a byte: position in the object, offset and value of the last
    /// byte.
    last_bytes: Vec<(u32, u64, u8)>,
}

/// The component whose bytes are currently coming.
#[derive(Default)]
struct Current {
    open: OpenCheck,
    /// The bytes of an incomplete element.
    partial: Vec<u8>,
    /// The number of elements before these bytes.
    elements: u64,
}

/// How the bytes of a component are checked.
#[derive(Clone, Copy, Default)]
enum OpenCheck {
    #[default]
    None,
    Elements(ElementCheck),
    /// Several elements are in a byte, and the number of elements is not known yet.
    LastByte(u32),
    Pointers(Dtype),
    Columns(Dtype),
    Coordinates,
}

/// What is known about the rows of a sparse_csr object.
#[derive(Default)]
struct Rows {
    columns: u64,
    count: u64,
    /// All row pointers, if indices have to ascend within each row.
    pointers: Vec<u64>,
    last_pointer: u64,
    order: RowOrder,
    /// The positions of indices that are not greater than the index before. A row has to begin at each of
    /// them.
    descents: Vec<u64>,
}

impl ContentCheck {
    /// Makes the check for an object with this shape.
    pub fn new(to: &'static Capabilities, format: Format, shape: &[u64]) -> ContentCheck {
        let at = |at: usize| shape.get(at).copied().unwrap_or(0);
        ContentCheck {
            to,
            format,
            current: Current::default(),
            rows: Rows { columns: at(1), count: at(0), ..Rows::default() },
            coords: (Vec::new(), None),
            last_bytes: Vec::new(),
        }
    }

    /// Begins component number `at` of the object. Returns whether the check needs its bytes.
    pub fn begin(
        &mut self,
        (at, role): (u32, &str),
        dtype: Option<Dtype>,
        logical: Option<Logical>,
        shape: &[u64],
    ) -> bool {
        self.current = Current::default();
        let Some(dtype) = dtype else { return false };
        let count = element_count(shape).filter(|_| self.format == Format::Dense && role == "data");
        let check = self.to.element_check(Some(dtype), logical, count, false);
        let shares_bytes = logical.is_some_and(|logical| {
            self.to.padding_rule.is_some() && !logical.is_block_type() && logical.block().elements > 1
        });
        self.current.open = match (self.format, role) {
            (Format::SparseCsr, "indptr") => OpenCheck::Pointers(dtype),
            (Format::SparseCsr, "indices") => OpenCheck::Columns(dtype),
            (Format::SparseCoo, "coords") => {
                self.coords = (Vec::new(), Some(dtype));
                OpenCheck::Coordinates
            }
            _ if shares_bytes && count.is_none() => OpenCheck::LastByte(at),
            _ if check == ElementCheck::default() => OpenCheck::None,
            _ => OpenCheck::Elements(check),
        };
        !matches!(self.current.open, OpenCheck::None)
    }

    /// Begins a component and checks all of its bytes. If this fails, the previous component stays open.
    pub fn check_whole(
        &mut self,
        place: (u32, &str),
        dtype: Dtype,
        logical: Option<Logical>,
        shape: &[u64],
        bytes: &[u8],
    ) -> Result<()> {
        let before = std::mem::take(&mut self.current);
        self.begin(place, Some(dtype), logical, shape);
        self.check(bytes, 0).inspect_err(|_| self.current = before)
    }

    /// Checks the next bytes of the component, in the host's order. `base` is the offset of the first. If
    /// this fails, the bytes count as not given.
    pub fn check(&mut self, bytes: &[u8], base: u64) -> Result<()> {
        let checked = match self.current.open {
            OpenCheck::None => Ok(()),
            OpenCheck::Elements(check) => check.check(bytes, base),
            OpenCheck::LastByte(at) => self.keep_last_byte(at, bytes, base),
            OpenCheck::Pointers(dtype) => self.for_whole(bytes, dtype, |check, bytes, base| {
                check.rows.add_pointers(dtype, bytes, base, check.to.unique_positions)
            }),
            OpenCheck::Columns(dtype) => self.for_whole(bytes, dtype, |check, bytes, base| {
                check.rows.add_columns(dtype, bytes, base, check.to.unique_positions)
            }),
            OpenCheck::Coordinates => append(&mut self.coords.0, bytes),
        };
        checked.map_err(|error| advise(self.to, error))
    }

    /// Calls `body` with whole elements and the number of the first.
    fn for_whole(
        &mut self,
        bytes: &[u8],
        dtype: Dtype,
        mut body: impl FnMut(&mut ContentCheck, &[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let width = dtype.size();
        let (pointers, descents) = (self.rows.pointers.len(), self.rows.descents.len());
        let before = (self.rows.last_pointer, self.rows.order, self.current.elements);
        let missing = width.saturating_sub(self.current.partial.len()).checked_rem(width).unwrap_or(0);
        let (first, rest) = bytes.split_at_checked(missing.min(bytes.len())).unwrap_or_default();
        let (whole, last) = rest.split_at_checked(rest.len() - rest.len() % width).unwrap_or_default();
        let mut element = std::mem::take(&mut self.current.partial);
        let joined = element.len();
        element.try_reserve(width)?;
        element.extend_from_slice(first);
        let mut checked = Ok(());
        if element.len() == width {
            checked = body(self, &element, self.current.elements);
            self.current.elements = self.current.elements.saturating_add(1);
        }
        if checked.is_ok() && !whole.is_empty() {
            checked = body(self, whole, self.current.elements);
            self.current.elements = self.current.elements.saturating_add((whole.len() / width) as u64);
        }
        match checked {
            Ok(()) => {
                if element.len() == width {
                    element.clear();
                }
                element.extend_from_slice(last); // `element` has space for a whole element
            }
            Err(_) => {
                element.truncate(joined);
                self.rows.pointers.truncate(pointers);
                self.rows.descents.truncate(descents);
                (self.rows.last_pointer, self.rows.order, self.current.elements) = before;
            }
        }
        self.current.partial = element;
        checked
    }

    fn keep_last_byte(&mut self, at: u32, bytes: &[u8], base: u64) -> Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        let place = base.saturating_add(bytes.len() as u64).saturating_sub(1);
        match self.last_bytes.iter_mut().find(|(other, ..)| *other == at) {
            Some(known) => *known = (at, place, *last),
            None => push(&mut self.last_bytes, (at, place, *last))?,
        }
        Ok(())
    }

    /// Checks, after all components, that they fit together. The manifest has their entries.
    pub fn end(&mut self, manifest: &Manifest, object: &Object) -> Result<()> {
        let parts = manifest.components(object);
        let find = |role: &str| parts.iter().find(|c| manifest.texts.get_bytes(c.role) == role.as_bytes());
        let part = |role: &str| match find(role) {
            Some(entry) if entry.encoding == Encoding::Other && entry.size().is_none() => {
                Err(fail!(Unsupported, "the encoding of its component {role:?} is unknown"))
            }
            found => Ok(found.copied()),
        };
        let shape = manifest.shape(object);
        let attributes = manifest.object_attributes(object);
        let positions = match self.to.check_parts(self.format, shape, attributes, &part) {
            // The library cannot check what it cannot read. Verification reports that, too.
            Err(error) if error.cause() == Cause::Unsupported => return Ok(()),
            outcome => outcome.map_err(|error| advise(self.to, error))?,
        };
        let checked = self.check_positions(positions, shape);
        checked
            .and_then(|()| self.check_last_bytes(manifest, object, positions))
            .map_err(|e| advise(self.to, e))
    }

    fn check_positions(&mut self, positions: Positions, shape: &[u64]) -> Result<()> {
        match positions {
            Positions::None => Ok(()),
            Positions::Csr { nnz, .. } => {
                let end = IndexCheck::Pointers { previous: self.rows.last_pointer, nnz }.end();
                end.map_err(|e| e.within(format_args!("component \"indptr\"")))?;
                let Rows { order, descents, pointers, .. } = &mut self.rows;
                let pointer = |at: u64| Ok(usize::try_from(at).ok().and_then(|at| pointers.get(at)).copied());
                let rises = descents.iter().try_for_each(|at| order.check_row_start(*at, pointer));
                rises.map_err(|e| e.within(format_args!("component \"indices\"")))
            }
            Positions::Coo { nnz } => {
                let (bytes, Some(dtype)) = (std::mem::take(&mut self.coords.0), self.coords.1) else {
                    return Ok(());
                };
                let checked = check_coordinates(dtype, &bytes, shape, nnz, self.to.unique_positions);
                checked.map_err(|e| e.within(format_args!("component \"coords\"")))
            }
        }
    }

    fn check_last_bytes(&self, manifest: &Manifest, object: &Object, positions: Positions) -> Result<()> {
        let nnz = match positions {
            Positions::None => None,
            Positions::Csr { nnz, .. } | Positions::Coo { nnz } => Some(nnz),
        };
        for (at, place, byte) in &self.last_bytes {
            let Some(entry) = manifest.components(object).get(*at as usize) else { continue };
            let role = manifest.texts.get(entry.role);
            let count = self.to.count_by_layout(manifest, object, role, nnz)?;
            let check = self.to.element_check(entry.dtype, entry.known_logical(), count, false);
            let checked = check.check(&[*byte], *place);
            checked.map_err(|e| e.within(format_args!("component {role:?}")))?;
        }
        Ok(())
    }
}

fn check_coordinates(dtype: Dtype, bytes: &[u8], shape: &[u64], nnz: u64, unique: bool) -> Result<()> {
    IndexCheck::Coordinates { shape, nnz }.chunk(dtype, bytes, 0)?;
    if !unique || nnz < 2 {
        return Ok(());
    }
    let count = usize::try_from(nnz).map_err(|_| fail!(Limit, "{nnz} entries are too many"))?;
    let mut cells = Cells::new(count)?;
    cells.add(dtype, bytes, 0, shape)?;
    cells.check(shape)
}

/// Adds to an error of a content check what to do about it.
pub fn advise(to: &Capabilities, error: Error) -> Error {
    let advice = match error.rule() {
        Some(Rule::BoolByte) => "write 0 for false and 1 for true",
        Some(Rule::CsrColumn) if to.unique_positions => {
            "sort the columns of each row, and add up entries of one column"
        }
        Some(Rule::CsrColumn) => "give columns from 0 to the number of columns less one",
        Some(Rule::CsrIndptrOrder) => "give the number of entries before each row, and of all at the end",
        Some(Rule::CooCoordinate) if to.unique_positions => {
            "give coordinates below the dimensions, and add up entries of one element"
        }
        Some(Rule::CooCoordinate) => "give coordinates below the dimensions",
        Some(rule) if Some(rule) == to.padding_rule => "clear these bits",
        _ => return to.with_own_rule(error),
    };
    match error.rule() {
        Some(rule) => to.with_own_rule(broken!(rule, "{error}; {advice}")),
        None => error,
    }
}

impl Rows {
    fn add_pointers(&mut self, dtype: Dtype, bytes: &[u8], base: u64, unique: bool) -> Result<()> {
        let mut check = IndexCheck::Pointers { previous: self.last_pointer, nnz: 0 };
        check.chunk(dtype, bytes, base)?;
        if let IndexCheck::Pointers { previous, .. } = check {
            self.last_pointer = previous;
        }
        if !unique {
            return Ok(());
        }
        self.pointers.try_reserve(bytes.len() / dtype.size())?;
        each_index(dtype, bytes, base, |value, _| {
            self.pointers.push(value);
            Ok(())
        })
    }

    fn add_columns(&mut self, dtype: Dtype, bytes: &[u8], base: u64, unique: bool) -> Result<()> {
        IndexCheck::Columns { columns: self.columns }.chunk(dtype, bytes, base)?;
        if !unique {
            return Ok(());
        }
        each_index(dtype, bytes, base, |column, at| {
            if !self.order.descends(column) {
                return Ok(());
            }
            // If there are more such positions than rows, at least the last one is not the start of a row.
            if self.descents.len() as u64 >= self.count {
                return Err(broken!(
                    Rule::CsrColumn,
                    "its column index {at} is {column}, not above the one before it"
                ));
            }
            push(&mut self.descents, at)
        })
    }
}
