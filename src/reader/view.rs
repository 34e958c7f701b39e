//! The components of an object as arrays: unchanged, and without a copy if possible.

use super::borrowed_or_read::ComponentBytes;
use super::object::{Component, Object};
use super::structure::{number, CooGeometry, CsrGeometry};
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::manifest::{Format, LogicalType};
use crate::model::structure::{each_index, parse_packing, Groups, IndexCheck, LayoutCheck, RowOrder};
use crate::model::value::{Text, Value};

/// One component of a view.
pub struct ViewPart<'f> {
    bytes: &'f [u8],
    /// The number of elements of the dtype.
    pub count: u64,
    /// The storage type.
    pub dtype: Dtype,
    /// The logical type.
    pub logical: LogicalType,
}

impl<'f> ViewPart<'f> {
    /// The elements, in the host's byte order.
    pub fn bytes(&self) -> &'f [u8] {
        self.bytes
    }
}

/// A dense tensor.
pub struct TensorView<'f> {
    /// The elements, row-major.
    pub data: ViewPart<'f>,
    /// The dimensions.
    pub shape: &'f [u64],
}

/// A matrix of compressed sparse rows.
pub struct CsrView<'f> {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub columns: u64,
    /// Number of entries.
    pub nnz: u64,
    /// The entries.
    pub values: ViewPart<'f>,
    /// The columns of the entries.
    pub indices: ViewPart<'f>,
    /// The first entry of each row, then the number of entries.
    pub indptr: ViewPart<'f>,
}

/// A coordinate list.
pub struct CooView<'f> {
    /// Number of entries.
    pub nnz: u64,
    /// The dimensions.
    pub shape: &'f [u64],
    /// The entries.
    pub values: ViewPart<'f>,
    /// The coordinates of all entries: one run for each dimension.
    pub coords: ViewPart<'f>,
}

/// A quantized object: codes with scales.
pub struct QuantizedView<'f> {
    /// The dimensions of the tensor before it was quantized.
    pub shape: &'f [u64],
    /// How many bits a weight has, if declared.
    pub bits: Option<u64>,
    /// How many weights a group has, if declared.
    pub group_size: Option<u64>,
    /// How weights are packed, if declared.
    pub packing: Option<Text<'f>>,
    /// How many weights are in an element of `packed_weight`, if declared.
    pub weights_per_element: Option<u64>,
    /// The layout's other properties, if it has any.
    pub groups: Option<Groups>,
    /// The packed weights.
    pub packed_weight: ViewPart<'f>,
    /// A scale for each group.
    pub scales: ViewPart<'f>,
    /// A zero point for each group, if there are any.
    pub zeros: Option<ViewPart<'f>>,
}

impl<'f> Component<'f> {
    fn part(&self) -> Result<ViewPart<'f>> {
        self.part_of(self.cached_bytes()?)
    }

    /// Decoded bytes of this component as a part of a view.
    pub(super) fn part_of<'b>(&self, bytes: &'b [u8]) -> Result<ViewPart<'b>> {
        let count = self.storage_count().map_err(|e| self.wrap(e))?;
        let dtype =
            self.entry.dtype.ok_or_else(|| fail!(Internal, "a readable component without a dtype"))?;
        Ok(ViewPart { bytes, count, dtype, logical: self.entry.logical })
    }

    /// Its bytes: borrowed, or decoded once and then kept by the file.
    fn cached_bytes(&self) -> Result<&'f [u8]> {
        if let Ok(bytes) = self.borrow_inner() {
            return Ok(bytes);
        }
        if let Some(found) = self.file.decoded.get(self.index) {
            return Ok(found);
        }
        match self.load()? {
            ComponentBytes::Owned(buffer) => {
                self.file.decoded.insert(self.index, buffer).map_err(|e| self.wrap(e))
            }
            ComponentBytes::Borrowed(bytes) => Ok(bytes),
        }
    }
}

impl<'f> Object<'f> {
    fn check_format(&self, wanted: Format) -> Result<()> {
        if self.format() == wanted {
            return Ok(());
        }
        let (found, wanted) = (self.format_name(), wanted.name().unwrap_or_default());
        Err(self.wrap(fail!(Unsupported, "its format is {found:?}, not {wanted:?}")))
    }

    /// The object as a dense tensor.
    pub fn tensor_view(&self) -> Result<TensorView<'f>> {
        if !self.format().is_array() {
            self.check_format(Format::Dense)?;
        }
        if let Format::Blocks(_) = self.format() {
            self.check_layout(true)?;
        }
        let data = self.required("data")?;
        data.check_shape_size().map_err(|e| data.wrap(e))?;
        Ok(TensorView { data: data.part()?, shape: self.shape() })
    }

    /// The components of a sparse_csr object, after checking that they fit together.
    pub fn csr_view(&self) -> Result<CsrView<'f>> {
        self.check_format(Format::SparseCsr)?;
        let csr = self.csr_geometry()?;
        let CsrGeometry { values, indices, indptr, .. } = &csr;
        self.csr_view_of(&csr, [values.cached_bytes()?, indices.cached_bytes()?, indptr.cached_bytes()?])
    }

    /// Like [`Object::csr_view`], with the components' bytes from the caller.
    pub(super) fn csr_view_of<'b>(
        &self,
        csr: &CsrGeometry<'f>,
        [values, indices, indptr]: [&'b [u8]; 3],
    ) -> Result<CsrView<'b>> {
        let view = CsrView {
            rows: csr.rows,
            columns: csr.columns,
            nnz: csr.nnz,
            values: csr.values.part_of(values)?,
            indices: csr.indices.part_of(indices)?,
            indptr: csr.indptr.part_of(indptr)?,
        };
        let CsrView { indices, indptr, .. } = &view;
        check_part(&csr.indptr, indptr, &mut IndexCheck::Pointers { previous: 0, nnz: csr.nnz })?;
        check_part(&csr.indices, indices, &mut IndexCheck::Columns { columns: csr.columns })?;
        if self.positions_are_unique(&csr.indices) {
            let (mut rows, width) = (RowOrder::default(), indptr.dtype.size() as u64);
            let mut pointer = |row: u64| Ok(number(indptr.dtype, indptr.bytes(), row.saturating_mul(width)));
            let check = |value, at| rows.check(value, at, &mut pointer);
            let checked = each_index(indices.dtype, indices.bytes(), 0, check);
            checked.map_err(|e| csr.indices.wrap(e))?;
        }
        Ok(view)
    }

    /// The components of a sparse_coo object, after checking that they fit together.
    pub fn coo_view(&self) -> Result<CooView<'f>> {
        self.check_format(Format::SparseCoo)?;
        self.check_layout(true)?;
        let coo = self.coo_geometry()?;
        self.coo_view_of(&coo, [coo.values.cached_bytes()?, coo.coords.cached_bytes()?])
    }

    /// Like [`Object::coo_view`], with the components' bytes from the caller.
    pub(super) fn coo_view_of<'b>(
        &self,
        coo: &CooGeometry<'f>,
        [values, coords]: [&'b [u8]; 2],
    ) -> Result<CooView<'b>>
    where
        'f: 'b,
    {
        let (shape, nnz) = (self.shape(), coo.nnz);
        let (values, coords) = (coo.values.part_of(values)?, coo.coords.part_of(coords)?);
        let view = CooView { nnz, shape, values, coords };
        check_part(&coo.coords, &view.coords, &mut IndexCheck::Coordinates { shape, nnz })?;
        self.check_cells(coo, None)?;
        Ok(view)
    }

    /// The components of an object with codes and scales, after checking that they fit together. The object
    /// is a quantized_group, or has another such layout of its container.
    pub fn quantized_view(&self) -> Result<QuantizedView<'f>> {
        let zeros = || self.component("zeros").map(|zeros| zeros.part()).transpose();
        if let Some(groups) = self.groups()? {
            return Ok(QuantizedView {
                shape: self.shape(),
                bits: Some(groups.bits),
                group_size: Some(groups.group_size),
                packing: None,
                weights_per_element: Some(groups.codes_per_element),
                groups: Some(groups),
                packed_weight: self.required("data")?.part()?,
                scales: self.required("scales")?.part()?,
                zeros: zeros()?,
            });
        }
        self.check_format(Format::QuantizedGroup)?;
        self.check_parts()?;
        let (packed_weight, scales) = (self.required("packed_weight")?, self.required("scales")?);
        let packing = self.attributes().and_then(|a| a.get("packing"));
        Ok(QuantizedView {
            shape: self.shape(),
            bits: self.number("bits"),
            group_size: self.number("group_size"),
            weights_per_element: packing
                .and_then(Value::as_text)
                .and_then(parse_packing)
                .map(|(count, _)| count),
            groups: None,
            packing: packing.and_then(Value::text),
            packed_weight: packed_weight.part()?,
            scales: scales.part()?,
            zeros: zeros()?,
        })
    }

    /// The groups of an object, if its layout has groups.
    pub(super) fn groups(&self) -> Result<Option<Groups>> {
        let Format::Other(_) = self.format() else { return Ok(None) };
        match self.check_layout(true)? {
            LayoutCheck::Groups(groups) if groups.zero_point.is_none() => {
                Err(self.wrap(fail!(Unsupported, "its zero point exceeds 64 bits")))
            }
            LayoutCheck::Groups(groups) => Ok(Some(groups)),
            LayoutCheck::Unknown | LayoutCheck::Kept => Ok(None),
        }
    }

    /// Whether its layout has groups, and it follows the rules of this layout.
    pub(super) fn has_groups_of_layout(&self) -> bool {
        matches!(self.groups(), Ok(Some(_)))
    }
}

fn check_part(component: &Component<'_>, part: &ViewPart<'_>, check: &mut IndexCheck<'_>) -> Result<()> {
    check.chunk(part.dtype, part.bytes(), 0).and_then(|()| check.end()).map_err(|e| component.wrap(e))
}
