//! Checks that the components of an object fit together, when a file is opened, viewed or verified. Contents
//! are checked one decoded chunk at a time, so the memory needed does not depend on the file. If the
//! container demands it, also checks that the positions of a sparse object ascend within each row and that no
//! two are equal.

use super::file::File;
use super::object::{Component, Object};
use super::shared_bytes::{Fact, SharedChecks, SharedRanges};
use crate::codec::{Codec, Coding, KnownSize};
use crate::container::contents::{self, ElementCheck, Positions};
use crate::error::{broken, fail, Cause, Error, Quoted, Result, Rule};
use crate::load::decoded_limit;
use crate::memory::{filled, refill};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Component as Entry, Format, LogicalType};
use crate::model::structure::{each_index, Cells, IndexCheck, LayoutCheck, RowOrder};
use crate::model::value::{Element, Value, ValueKind};

/// The numbers of a sparse_csr object that follow from its manifest entry and sizes.
pub(super) struct CsrGeometry<'f> {
    pub values: Component<'f>,
    pub indices: Component<'f>,
    pub indptr: Component<'f>,
    pub rows: u64,
    pub columns: u64,
    pub nnz: u64,
}

/// The numbers of a sparse_coo object that follow from its manifest entry and sizes.
pub(super) struct CooGeometry<'f> {
    pub values: Component<'f>,
    pub coords: Component<'f>,
    pub nnz: u64,
}

impl Component<'_> {
    /// Its entry with the decoded size, which some files do not declare.
    fn sized_entry(&self) -> Result<Entry> {
        let mut entry = *self.entry;
        entry.set_size(Some(self.decoded_size()?));
        Ok(entry)
    }

    /// How many elements of its dtype it has. An error if its size is not a multiple of the element size.
    pub(super) fn storage_count(&self) -> Result<u64> {
        contents::storage_count(&self.sized_entry()?)
    }

    /// Checks that it has a whole number of elements.
    pub(super) fn check_value_count(&self) -> Result<()> {
        contents::value_count(&self.sized_entry()?).map(drop)
    }

    /// If its object is made of blocks, checks that it has the size that the shape needs. Other objects were
    /// checked at open.
    pub(super) fn check_shape_size(&self) -> Result<()> {
        match self.object().format() {
            format @ Format::Blocks(_) => {
                contents::check_array(format, self.object().shape(), &self.sized_entry()?)
            }
            _ => Ok(()),
        }
    }

    /// Its dtype, if the container allows this dtype for indices.
    fn check_index_dtype(&self) -> Result<Dtype> {
        self.file_part().capabilities().check_index_dtype(self.entry, self.dtype_name())
    }

    pub(super) fn check_indices(&self, check: &mut IndexCheck<'_>) -> Result<()> {
        let dtype = self.check_index_dtype().map_err(|e| self.wrap(e))?;
        let done = self.check_decoded_chunks(&mut |chunk, base| check.chunk(dtype, chunk, base));
        done.and_then(|()| check.end()).map_err(|e| self.wrap(e))
    }

    /// Whether its numbers, in runs of `length`, are known to be below `bounds`. False if no other component
    /// shares its bytes, because then they have to be checked anyway.
    fn is_below(&self, checks: &SharedChecks, bounds: &[u64], length: u64) -> Result<bool> {
        let largest = || {
            let mut largest = filled(0, bounds.len())?;
            self.check_indices(&mut IndexCheck::Largest { largest: &mut largest, length })?;
            Ok(largest)
        };
        // An empty component has no largest number.
        match length {
            0 => Ok(false),
            _ => Ok(checks.all_below(self, bounds, largest)?.unwrap_or(false)),
        }
    }

    pub(super) fn element_check(&self) -> Result<ElementCheck> {
        let (object, to) = (self.object(), self.file_part().capabilities());
        let nnz = object.entry_count();
        let count = to.count_by_layout(&self.file.manifest, self.object, self.role(), nnz)?;
        Ok(to.element_check(self.dtype(), self.known_logical(), count, self.file.strict))
    }
}

impl<'f> Object<'f> {
    /// How many entries a sparse object has. Errors in its positions are reported elsewhere.
    fn entry_count(&self) -> Option<u64> {
        let count = |role| self.component(role).and_then(|positions| positions.storage_count().ok());
        match self.format() {
            Format::SparseCsr => count("indices"),
            Format::SparseCoo => count("coords")?.checked_div(self.shape().len() as u64),
            _ => None,
        }
    }

    /// Checks that its components match its format. Returns the bounds for its positions.
    pub(super) fn check_parts(&self) -> Result<Positions> {
        let Some(first) = self.components().next() else { return Ok(Positions::None) };
        let part = |role: &str| match self.component(role) {
            None => Ok(None),
            Some(part) => {
                let sized = part.sized_entry().map(Some);
                sized.map_err(|e| e.within(format_args!("component {role:?}")))
            }
        };
        let to = first.file_part().capabilities();
        to.check_parts(self.format(), self.shape(), self.attributes(), &part).map_err(|e| self.wrap(e))
    }

    pub(super) fn csr_geometry(&self) -> Result<CsrGeometry<'f>> {
        let Positions::Csr { columns, nnz } = self.check_parts()? else {
            return Err(self.wrap(fail!(Internal, "a sparse_csr object has no rows")));
        };
        let [values, indices, indptr] = ["values", "indices", "indptr"].map(|role| self.required(role));
        let rows = self.shape().first().copied().unwrap_or(0);
        Ok(CsrGeometry { values: values?, indices: indices?, indptr: indptr?, rows, columns, nnz })
    }

    pub(super) fn coo_geometry(&self) -> Result<CooGeometry<'f>> {
        let Positions::Coo { nnz } = self.check_parts()? else {
            return Err(self.wrap(fail!(Internal, "a sparse_coo object has no coordinates")));
        };
        Ok(CooGeometry { values: self.required("values")?, coords: self.required("coords")?, nnz })
    }

    /// Checks that the components of an object fit together. Skips checks of shared bytes that this
    /// verification has already done.
    pub(super) fn check_structure(&self, checks: &SharedChecks) -> Result<()> {
        self.check_layout(self.file.strict)?;
        match self.format() {
            Format::SparseCsr => {
                let csr = self.csr_geometry()?;
                let pointers =
                    || csr.indptr.check_indices(&mut IndexCheck::Pointers { previous: 0, nnz: csr.nnz });
                let fact = Fact::Pointers(csr.indptr.number_format()?, csr.nnz);
                checks.once(&csr.indptr, fact, pointers)?;
                if !csr.indices.is_below(checks, &[csr.columns], csr.nnz)? {
                    csr.indices.check_indices(&mut IndexCheck::Columns { columns: csr.columns })?;
                }
                self.check_rows(&csr, checks)
            }
            Format::SparseCoo => {
                let coo = self.coo_geometry()?;
                if !coo.coords.is_below(checks, self.shape(), coo.nnz)? {
                    let mut check = IndexCheck::Coordinates { shape: self.shape(), nnz: coo.nnz };
                    coo.coords.check_indices(&mut check)?;
                }
                self.check_cells(&coo, Some(checks))
            }
            Format::QuantizedGroup => self.check_weight(),
            Format::Dense | Format::Blocks(_) | Format::Other(_) => self.check_parts().map(drop),
        }
    }

    /// The container's rules for the object's layout. For `complete`, see
    /// [`CheckLayout`](crate::container::capabilities::CheckLayout).
    pub(super) fn check_layout(&self, complete: bool) -> Result<LayoutCheck> {
        let Some(first) = self.components().next() else { return Ok(LayoutCheck::Unknown) };
        let check = first.file_part().capabilities().check_layout;
        check(&self.file.manifest, self.entry, complete).map_err(|e| self.wrap(e))
    }

    /// The attribute with that name, if it is a number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.attributes()?.get(key).and_then(Value::as_u64)
    }
}

/// Checks what only `strict` rejects at open.
pub(super) fn check_strict_metadata(file: &File) -> Result<()> {
    for part in file.parts() {
        let text = part.version.map(|text| file.manifest().texts.get(text)).unwrap_or_default();
        let is_number = |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        let numbers = text.split('.').filter(is_number).count();
        if part.capabilities().says_three_numbers && (numbers != 3 || text.split('.').count() != 3) {
            return Err(part.named(broken!(Rule::VersionForm, "the version {text:?} is not three numbers")));
        }
    }
    for (key, value) in file.attributes().unwrap_or(Value::EMPTY_MAP).pairs() {
        let key = key.as_bytes().unwrap_or_default();
        let named = |e: Error| file.in_file(e.within(format_args!("attribute {}", Quoted(key))));
        check_attribute_bools(value).map_err(named)?;
    }
    for (at, object) in file.objects().enumerate() {
        if file.find_position(object.name_bytes()) != Some(at) {
            let twice = broken!(Rule::NameDuplicate, "object {} is there twice", Quoted(object.name_bytes()));
            return Err(file.in_file(twice));
        }
        let found = object.check_layout(true)?;
        if let (Format::Other(_), LayoutCheck::Unknown) = (object.format(), found) {
            let name = object.format_name();
            return Err(object.wrap(fail!(Unsupported, "its format {name:?} is unknown")));
        }
        if object.format() == Format::QuantizedGroup {
            object.required("zeros")?;
        }
        for component in object.components() {
            check_strict_component(&component).map_err(|e| component.wrap(e))?;
        }
    }
    Ok(())
}

/// Rejects bools in attributes that are neither 0 nor 1. The nesting of values is limited, so the recursion
/// is, too.
fn check_attribute_bools(value: Value<'_>) -> Result<()> {
    if let ValueKind::Array(items) = value.kind() {
        let may_have = match items.element() {
            Element::Number(dtype) => dtype == Dtype::Bool,
            Element::Any | Element::Array => true,
            Element::Text => false,
        };
        return if may_have { items.iter().try_for_each(check_attribute_bools) } else { Ok(()) };
    }
    match value.element() {
        Some((Dtype::Bool, &[byte])) if byte > 1 => {
            Err(broken!(Rule::BoolByte, "it has a bool that is {byte}, neither 0 nor 1"))
        }
        _ => Ok(()),
    }
}

fn check_strict_component(component: &Component<'_>) -> Result<()> {
    component.decoding()?;
    if component.entry.logical == LogicalType::Other {
        let name = component.logical_name().unwrap_or_default();
        return Err(fail!(Unsupported, "its type {name:?} is unknown"));
    }
    if let Some(text) = component.digest() {
        component.parse_digest(text)?;
    }
    if component.object().format().is_index(component.role()) {
        component.check_index_dtype()?;
    }
    Ok(())
}

/// Versions before 1.2 do not declare the decoded size of a compressed component; for a dense object, the
/// shape gives it. If the component is small, its frames are checked at open: that costs almost nothing. It
/// is an error if they decode to fewer bytes.
pub fn check_short_frames(file: &File, shared_ranges: &SharedRanges) -> Result<()> {
    // The sizes of ranges that several components share, once they were found.
    let mut shared_sizes: Vec<Option<Option<KnownSize>>> = filled(None, shared_ranges.count())?;
    for object in file.objects() {
        for component in object.components() {
            let Some((codec, expected)) = codec_and_size_by_shape(component.entry()) else { continue };
            let mut shared =
                shared_ranges.range(component.index).and_then(|range| shared_sizes.get_mut(range));
            let known = match shared.as_deref().copied().flatten() {
                Some(known) => known,
                None => size_by_frames(&component, codec)?,
            };
            if let Some(shared) = &mut shared {
                **shared = Some(known);
            }
            let short = match known {
                Some(KnownSize::Exact(size)) if size < expected => size,
                _ => continue,
            };
            let error = broken!(
                Rule::DenseSize,
                "its {} frames hold {short} bytes, but the shape {:?} takes {expected}",
                codec.name(),
                object.shape()
            );
            return Err(component.wrap(error));
        }
    }
    Ok(())
}

/// The codec of a small compressed component, and its decoded size, if only the shape gives that.
fn codec_and_size_by_shape(entry: &Entry) -> Option<(Codec, u64)> {
    const MAX_CHECKED_AT_OPEN: u64 = 4096;
    let Some(Coding::Compressed(codec)) = Coding::of(entry.encoding) else { return None };
    let size = entry.size().filter(|_| !entry.is_size_declared());
    size.filter(|_| entry.stored_size <= MAX_CHECKED_AT_OPEN).map(|size| (codec, size))
}

/// The decoded size that the frame headers give. `None` if the frames are broken; a read reports that.
fn size_by_frames(component: &Component<'_>, codec: Codec) -> Result<Option<KnownSize>> {
    match component.size_by_frames(codec) {
        Ok(known) => Ok(Some(known)),
        Err(e) if matches!(e.cause(), Cause::Broken(_)) => Ok(None),
        Err(e) => Err(component.wrap(e)),
    }
}

/// A window of row pointers that are read from the file.
struct Window<'a> {
    indptr: &'a Component<'a>,
    dtype: Dtype,
    bytes: Vec<u8>,
    start: u64,
}

impl Window<'_> {
    const BYTES: u64 = 1 << 20;

    /// The row pointer with number `at`; `None` after the last.
    fn get(&mut self, at: u64) -> Result<Option<u64>> {
        let width = self.dtype.size() as u64;
        let offset = at.saturating_mul(width);
        let size = self.indptr.size()?;
        if offset >= size {
            return Ok(None);
        }
        if offset < self.start || offset >= self.start.saturating_add(self.bytes.len() as u64) {
            let length = size.saturating_sub(offset).min(Self::BYTES) as usize;
            refill(&mut self.bytes, length)?;
            self.indptr.read_range(offset, &mut self.bytes)?;
            self.start = offset;
        }
        Ok(number(self.dtype, &self.bytes, offset.saturating_sub(self.start)))
    }
}

/// The number at byte `offset`.
pub(super) fn number(dtype: Dtype, bytes: &[u8], offset: u64) -> Option<u64> {
    let start = usize::try_from(offset).ok()?;
    let element = bytes.get(start..start.checked_add(dtype.size())?)?;
    let mut found = None;
    let kept = each_index(dtype, element, 0, |value, _| {
        found = Some(value);
        Ok(())
    });
    kept.ok().and(found)
}

impl Object<'_> {
    pub(super) fn positions_are_unique(&self, of: &Component<'_>) -> bool {
        of.file_part().capabilities().unique_positions
    }

    /// Checks for a verification that column indices ascend within each row.
    pub(super) fn check_rows(&self, csr: &CsrGeometry<'_>, checks: &SharedChecks) -> Result<()> {
        if !self.positions_are_unique(&csr.indices) {
            return Ok(());
        }
        let place = (csr.indptr.part_number(), csr.indptr.entry.offset);
        let fact = Fact::Rows(csr.indices.number_format()?, place, csr.indptr.number_format()?);
        checks.once(&csr.indices, fact, || {
            checks.charge_rows(&csr.indices, &csr.indptr)?;
            let (Some(dtype), Some(of_indptr)) = (csr.indices.dtype(), csr.indptr.dtype()) else {
                return Ok(());
            };
            let mut window = Window { indptr: &csr.indptr, dtype: of_indptr, bytes: Vec::new(), start: 0 };
            let mut rows = RowOrder::default();
            csr.indices.check_decoded_chunks(&mut |chunk, base| {
                each_index(dtype, chunk, base, |value, at| rows.check(value, at, |row| window.get(row)))
            })
        })
    }

    /// Checks that no two entries of a sparse_coo object have the same coordinates. Takes 8 bytes of memory
    /// for each entry.
    pub(super) fn check_cells(&self, coo: &CooGeometry<'_>, checks: Option<&SharedChecks>) -> Result<()> {
        if !self.positions_are_unique(&coo.coords) || coo.nnz < 2 {
            return Ok(());
        }
        let compare = || {
            let Some(dtype) = coo.coords.dtype() else { return Ok(()) };
            let mut cells = Cells::new(self.comparable_entries(&coo.coords, coo.nnz, 8)?)?;
            let shape = self.shape();
            coo.coords.check_decoded_chunks(&mut |chunk, base| cells.add(dtype, chunk, base, shape))?;
            cells.check(shape)
        };
        let check = || compare().map_err(|e| coo.coords.wrap(e));
        match checks {
            Some(checks) => {
                checks.once(&coo.coords, Fact::Cells(coo.coords.number_format()?, self.entry.rank), check)
            }
            None => check(),
        }
    }

    /// The number of entries, if the limit allows `each` bytes of memory for each of them.
    pub(super) fn comparable_entries(&self, positions: &Component<'_>, nnz: u64, each: u64) -> Result<usize> {
        let limit = decoded_limit(positions.stored_size(), self.file.max_decoded_size);
        let bytes = nnz.saturating_mul(each);
        usize::try_from(nnz).ok().filter(|_| bytes <= limit).ok_or_else(|| {
            fail!(
                Limit,
                "comparing its {nnz} entries takes {bytes} bytes of memory, above the limit of {limit}"
            )
        })
    }
}
