//! Checks the contents of sparse and quantized objects, a decoded chunk at a time, so that the memory that it takes does
//! not depend on the file.

use super::file::File;
use super::known::Verified;
use super::object::{Component, Object};
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::model::dtype::{Block, Dtype, Logical};
use crate::model::manifest::{Format, LogicalType};
use crate::model::structure::{IndexCheck, LayoutCheck};
use crate::model::value::{Element, Kind, Value};

/// The numbers of a sparse_csr object that its manifest entry and sizes give.
pub(super) struct CsrGeometry<'f> {
    pub values: Component<'f>,
    pub indices: Component<'f>,
    pub indptr: Component<'f>,
    pub rows: u64,
    pub columns: u64,
    pub nnz: u64,
}

/// The numbers of a sparse_coo object that its manifest entry and sizes give.
pub(super) struct CooGeometry<'f> {
    pub values: Component<'f>,
    pub coords: Component<'f>,
    pub nnz: u64,
}

impl<'f> Component<'f> {
    /// How many elements of its dtype it has; an error if its size is no whole number of them.
    pub(super) fn storage_count(&self) -> Result<u64> {
        let size = self.decoded_size()?;
        let Some(width) = self.entry.element_size() else {
            return Err(fail!(Unsupported, "its dtype {:?} is unknown", self.dtype_name()));
        };
        match size.checked_rem(width) {
            Some(0) => Ok(size.checked_div(width).unwrap_or(0)),
            _ => Err(broken!(
                Rule::ElementSize,
                "its {size} bytes are no whole number of {width}-byte elements"
            )),
        }
    }

    /// How many values it has, where the two parts of a complex number are one; none if the logical type is unknown.
    pub(super) fn value_count(&self) -> Result<Option<u64>> {
        let size = self.storage_count()?.saturating_mul(self.entry.width() as u64);
        let Some(block) = self.entry.block() else { return Ok(None) };
        match size.checked_rem(block.bytes) {
            Some(0) => Ok(size.checked_div(block.bytes).and_then(|n| n.checked_mul(block.elements))),
            _ if !self.entry.is_size_checked() => Ok(None),
            _ => Err(broken!(
                Rule::ElementSize,
                "its {size} bytes are no whole number of {}-byte elements",
                block.bytes
            )),
        }
    }

    /// Whether `found` values take as many bytes as `count`: 4-bit values fill up their last byte. True if the logical type
    /// is unknown.
    fn are_values_of(&self, found: Option<u64>, count: u64) -> bool {
        found.zip(self.entry.block()).is_none_or(|(found, block)| block.size(found) == block.size(count))
    }

    /// Checks that it has the size that the shape takes, if its object is an array. Opening the file did, unless the
    /// container does not say what the type is.
    pub(super) fn check_shape_size(&self) -> Result<()> {
        if self.entry.is_size_checked() || !self.object().format().is_array() {
            return Ok(());
        }
        let Some(block) = self.entry.block() else { return Ok(()) };
        let (shape, size) = (self.object().shape(), self.decoded_size()?);
        let blocks = matches!(self.object().format(), Format::Blocks(_));
        if let Some(last) = shape.last().filter(|last| blocks && !block.divides(**last)) {
            let of = block.elements;
            return Err(broken!(
                Rule::DenseSize,
                "its last dimension of {last} is no multiple of the {of} of a block"
            ));
        }
        let expected = self.object().element_count().filter(|count| !blocks || block.divides(*count));
        let expected = expected.and_then(|count| block.size(count));
        match expected == Some(size) {
            true => Ok(()),
            false => Err(broken!(
                Rule::DenseSize,
                "it has {size} bytes, which the shape {shape:?} of {}-byte blocks of {} elements does not take",
                block.bytes,
                block.elements
            )),
        }
    }

    /// Its dtype, if the container allows it for an index.
    fn check_index_dtype(&self) -> Result<Dtype> {
        let allowed = self.file_part().capabilities().index_dtypes;
        match self.entry.integer_dtype() {
            Some(dtype) if allowed.contains(dtype) => Ok(dtype),
            _ => {
                let wanted = allowed.description();
                let found = self.dtype_name();
                Err(broken!(Rule::IndexDtype, "its dtype is {found:?}, but an index has to be {wanted}"))
            }
        }
    }

    /// Runs a check over all of its values.
    pub(super) fn check_indices(&self, check: &mut IndexCheck<'_>) -> Result<()> {
        let dtype = self.check_index_dtype().map_err(|e| self.wrap(e))?;
        let width = dtype.size() as u64;
        let mut base = 0u64;
        let done = self.blob().and_then(|blob| {
            blob.for_each_decoded(&mut |chunk| {
                check.chunk(dtype, chunk, base)?;
                base = base.saturating_add((chunk.len() as u64).checked_div(width).unwrap_or(0));
                Ok(())
            })
        });
        done.and_then(|()| check.end()).map_err(|e| self.wrap(e))
    }
}

impl Component<'_> {
    /// Whether its numbers, in runs of `length`, are known to be below `bounds`. False also if no other component shares its
    /// bytes: then they have to be checked anyway.
    fn is_below(&self, verified: &Verified, bounds: &[u64], length: u64) -> Result<bool> {
        let largest = || {
            let mut largest = Vec::new();
            largest.try_reserve_exact(bounds.len())?;
            largest.resize(bounds.len(), 0);
            self.check_indices(&mut IndexCheck::Largest { largest: &mut largest, length })?;
            Ok(largest)
        };
        // No numbers have no largest.
        match length {
            0 => Ok(false),
            _ => Ok(verified.all_below(self, bounds, largest)?.unwrap_or(false)),
        }
    }
}

impl Component<'_> {
    /// Checks that the half byte behind an odd number of 4-bit elements is 0, if the container says so.
    pub(super) fn check_half_byte(&self) -> Result<()> {
        let Some(rule) = self.file_part().capabilities().padding_rule else { return Ok(()) };
        if self.known_logical().map(Logical::block) != Some(Block { elements: 2, bytes: 1 }) {
            return Ok(());
        }
        let Some(last) = self.element_count_by_layout().filter(|count| count % 2 == 1).map(|count| count / 2)
        else {
            return Ok(());
        };
        let object = self.object();
        if object.format() != Format::Dense && object.check_layout(false)? == LayoutCheck::Unknown {
            return Ok(());
        }
        let mut byte = [0];
        if self.decoded_size()? == last.saturating_add(1) {
            self.read_range(last, &mut byte)?;
        }
        match byte {
            [byte] if byte > 15 => Err(broken!(
                rule,
                "its byte {last} is {byte:#04x}, but half of it is no element and has to be 0"
            )),
            _ => Ok(()),
        }
    }

    /// How many elements it has by its object's layout, if that is known. Errors of the indices are reported elsewhere.
    fn element_count_by_layout(&self) -> Option<u64> {
        let object = self.object();
        let positions = |role| object.component(role).and_then(|positions| positions.storage_count().ok());
        match (object.format(), self.role()) {
            (_, "data") => object.element_count(),
            (Format::SparseCsr, "values") => positions("indices"),
            (Format::SparseCoo, "values") => positions("coords")?.checked_div(object.shape().len() as u64),
            _ => None,
        }
    }
}

impl<'f> Object<'f> {
    pub(super) fn csr_geometry(&self) -> Result<CsrGeometry<'f>> {
        let (values, indices, indptr) =
            (self.required("values")?, self.required("indices")?, self.required("indptr")?);
        let [rows, columns] = *self.shape() else {
            let rank = self.shape().len();
            return Err(self.wrap(broken!(Rule::CsrRank, "its rank is {rank}, but rows and columns are two")));
        };
        indices.check_index_dtype().map_err(|e| indices.wrap(e))?;
        indptr.check_index_dtype().map_err(|e| indptr.wrap(e))?;
        let nnz = indices.storage_count().map_err(|e| indices.wrap(e))?;
        let found = values.value_count().map_err(|e| values.wrap(e))?;
        if let Some(count) = found.filter(|_| !values.are_values_of(found, nnz)) {
            let error = broken!(Rule::CsrIndicesCount, "it has {count} values, but {nnz} column indices");
            return Err(self.wrap(error));
        }
        let pointers = indptr.storage_count().map_err(|e| indptr.wrap(e))?;
        if rows.checked_add(1) != Some(pointers) {
            let error = broken!(
                Rule::CsrIndptrCount,
                "it has {pointers} row pointers for {rows} rows, but there has to be one more than rows"
            );
            return Err(self.wrap(error));
        }
        Ok(CsrGeometry { values, indices, indptr, rows, columns, nnz })
    }

    pub(super) fn coo_geometry(&self) -> Result<CooGeometry<'f>> {
        let (values, coords) = (self.required("values")?, self.required("coords")?);
        coords.check_index_dtype().map_err(|e| coords.wrap(e))?;
        let rank = self.shape().len() as u64;
        let found = coords.storage_count().map_err(|e| coords.wrap(e))?;
        let value_count = values.value_count().map_err(|e| values.wrap(e))?;
        let nnz = match found.checked_div(rank) {
            Some(nnz) if values.are_values_of(value_count, nnz) => nnz,
            _ => value_count.unwrap_or(0),
        };
        if nnz.checked_mul(rank) != Some(found) {
            let error = broken!(
                Rule::CooCount,
                "it has {found} coordinates; {nnz} values in {rank} dimensions take {}",
                u128::from(nnz).saturating_mul(u128::from(rank))
            );
            return Err(self.wrap(error));
        }
        if rank == 0 && nnz > 1 {
            return Err(self.wrap(broken!(Rule::CooCount, "it has {nnz} values, but a scalar has one place")));
        }
        Ok(CooGeometry { values, coords, nnz })
    }

    /// Checks a sparse or quantized object; other formats have nothing to check. What `verified` knows of shared bytes is not
    /// checked again.
    pub(super) fn check_structure(&self, verified: &Verified) -> Result<()> {
        self.check_layout(self.file.strict)?;
        match self.format() {
            Format::SparseCsr => {
                let csr = self.csr_geometry()?;
                let pointers =
                    || csr.indptr.check_indices(&mut IndexCheck::Pointers { previous: 0, nnz: csr.nnz });
                verified.pointers(&csr.indptr, csr.nnz, pointers)?;
                if !csr.indices.is_below(verified, &[csr.columns], csr.nnz)? {
                    csr.indices.check_indices(&mut IndexCheck::Columns { columns: csr.columns })?;
                }
                self.check_rows(&csr, verified)
            }
            Format::SparseCoo => {
                let coo = self.coo_geometry()?;
                if !coo.coords.is_below(verified, self.shape(), coo.nnz)? {
                    let mut check = IndexCheck::Coordinates { shape: self.shape(), nnz: coo.nnz };
                    coo.coords.check_indices(&mut check)?;
                }
                self.check_cells(&coo, Some(verified))
            }
            Format::QuantizedGroup => self.quantized_geometry().map(drop),
            Format::Dense | Format::Blocks(_) | Format::Other(_) => Ok(()),
        }
    }

    /// The rules of its container for its layout. `complete` as in
    /// [`CheckLayout`](crate::container::capabilities::CheckLayout).
    pub(super) fn check_layout(&self, complete: bool) -> Result<LayoutCheck> {
        let Some(first) = self.components().next() else { return Ok(LayoutCheck::Unknown) };
        let check = first.file_part().capabilities().check_layout;
        check(&self.file.manifest, self.entry, complete).map_err(|e| self.wrap(e))
    }

    /// The attribute of that name, if it is a number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.attributes()?.get(key).and_then(Value::as_u64)
    }
}

/// Checks what `strict` refuses at open, and what is passed over without it.
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
        let key = match key.kind() {
            Kind::Text(text) => text.as_bytes(),
            Kind::Bytes(bytes) => bytes,
            _ => b"",
        };
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

/// Refuses bools among attributes whose byte is neither 0 nor 1. The nesting of values has a limit, so this recursion has.
fn check_attribute_bools(value: Value<'_>) -> Result<()> {
    if let Kind::Array(items) = value.kind() {
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
    component.coding()?;
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
