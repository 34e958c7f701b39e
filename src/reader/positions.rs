//! Checks that the positions of a sparse object rise within each row, or that no two are equal, if the
//! container demands it. That they are in range was checked before.

use super::known::Verified;
use super::object::{Component, Object};
use super::structure::{CooGeometry, CsrGeometry};
use super::view::ViewPart;
use crate::error::{fail, Result};
use crate::load::decoded_limit;
use crate::model::dtype::Dtype;
use crate::model::structure::{each_index, Cells, RowOrder};

/// A window on row pointers that are read from the file.
struct Window<'a> {
    indptr: &'a Component<'a>,
    dtype: Dtype,
    bytes: Vec<u8>,
    start: u64,
}

impl Window<'_> {
    const BYTES: u64 = 1 << 20;

    /// The pointer number `at`; none behind the last.
    fn get(&mut self, at: u64) -> Result<Option<u64>> {
        let width = self.dtype.size() as u64;
        let offset = at.saturating_mul(width);
        let size = self.indptr.size()?;
        if offset >= size {
            return Ok(None);
        }
        if offset < self.start || offset >= self.start.saturating_add(self.bytes.len() as u64) {
            let length = size.saturating_sub(offset).min(Self::BYTES) as usize;
            self.bytes.clear();
            self.bytes.try_reserve_exact(length)?;
            self.bytes.resize(length, 0);
            self.indptr.read_range(offset, &mut self.bytes)?;
            self.start = offset;
        }
        Ok(number(self.dtype, &self.bytes, offset.saturating_sub(self.start)))
    }
}

/// The number at byte `offset`.
fn number(dtype: Dtype, bytes: &[u8], offset: u64) -> Option<u64> {
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
    fn positions_are_unique(&self, of: &Component<'_>) -> bool {
        of.file_part().capabilities().unique_positions
    }

    /// Checks that column indices rise within each row, for a verification.
    pub(super) fn check_rows(&self, csr: &CsrGeometry<'_>, verified: &Verified) -> Result<()> {
        if !self.positions_are_unique(&csr.indices) {
            return Ok(());
        }
        verified.rows(&csr.indices, &csr.indptr, || {
            let (Some(dtype), Some(of_indptr)) = (csr.indices.dtype(), csr.indptr.dtype()) else {
                return Ok(());
            };
            let mut window = Window { indptr: &csr.indptr, dtype: of_indptr, bytes: Vec::new(), start: 0 };
            let mut rows = RowOrder::default();
            let mut base = 0u64;
            csr.indices.for_each_decoded(&mut |chunk| {
                each_index(dtype, chunk, base, |value, at| rows.check(value, at, |row| window.get(row)))?;
                base = base.saturating_add((chunk.len() / dtype.size()) as u64);
                Ok(())
            })
        })
    }

    /// As [`Object::check_rows`], for a view, whose parts are in memory.
    pub(super) fn check_viewed_rows(
        &self,
        csr: &CsrGeometry<'_>,
        indices: &ViewPart<'_>,
        indptr: &ViewPart<'_>,
    ) -> Result<()> {
        if !self.positions_are_unique(&csr.indices) {
            return Ok(());
        }
        let mut rows = RowOrder::default();
        let width = indptr.dtype.size() as u64;
        let mut pointer = |row: u64| Ok(number(indptr.dtype, indptr.bytes(), row.saturating_mul(width)));
        let checked =
            each_index(indices.dtype, indices.bytes(), 0, |value, at| rows.check(value, at, &mut pointer));
        checked.map_err(|e| csr.indices.wrap(e))
    }

    /// Checks that no two entries of a sparse_coo object are the same element. It takes 8 bytes of memory for
    /// each entry.
    pub(super) fn check_cells(&self, coo: &CooGeometry<'_>, verified: Option<&Verified>) -> Result<()> {
        if !self.positions_are_unique(&coo.coords) || coo.nnz < 2 {
            return Ok(());
        }
        let check = || self.check_cells_inner(coo).map_err(|e| coo.coords.wrap(e));
        match verified {
            Some(verified) => verified.cells(&coo.coords, self.entry.rank, check),
            None => check(),
        }
    }

    fn check_cells_inner(&self, coo: &CooGeometry<'_>) -> Result<()> {
        let Some(dtype) = coo.coords.dtype() else { return Ok(()) };
        let limit = decoded_limit(coo.coords.stored_size(), self.file.max_decoded_size);
        let bytes = coo.nnz.saturating_mul(8);
        let Some(count) = usize::try_from(coo.nnz).ok().filter(|_| bytes <= limit) else {
            return Err(fail!(
                Limit,
                "comparing its {} entries takes {bytes} bytes of memory, above the limit of {limit}",
                coo.nnz
            ));
        };
        let mut cells = Cells::new(count)?;
        let (mut base, shape) = (0u64, self.shape());
        coo.coords.for_each_decoded(&mut |chunk| {
            cells.add(dtype, chunk, base, shape)?;
            base = base.saturating_add((chunk.len() / dtype.size()) as u64);
            Ok(())
        })?;
        cells.check(shape)
    }
}
