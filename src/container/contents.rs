//! The rules for the contents of objects. The writer, copies and verification all use them. Bools are 0 or 1,
//! unused bits after the last element are 0, the components of a sparse object fit together, and its
//! positions are in range and distinct. The container's [`Capabilities`] say which rules apply.

use super::capabilities::Capabilities;
use crate::error::{broken, fail, Error, Result, Rule};
use crate::model::dtype::{Block, Dtype, Logical};
use crate::model::manifest::{element_count, Component, Format, Manifest, Object};
use crate::model::structure::{check_bools, parse_packing, LayoutCheck, QuantizedSizes};
use crate::model::value::Value;

/// The check of a component's decoded bytes that does not depend on other components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementCheck {
    bools: bool,
    /// The position of the last byte, its unused bits, and the rule that these are 0.
    padding: Option<(u64, u8, Rule)>,
}

impl ElementCheck {
    /// Whether the check needs all bytes.
    pub fn needs_all_bytes(&self) -> bool {
        self.bools
    }

    /// The position of the last byte, if the check needs it.
    pub fn needs_last_byte(&self) -> Option<u64> {
        self.padding.map(|(last, ..)| last)
    }

    /// Checks the bytes from `base` on.
    pub fn check(&self, bytes: &[u8], base: u64) -> Result<()> {
        if self.bools {
            check_bools(bytes, |at| base.saturating_add(at))?;
        }
        let Some((last, unused, rule)) = self.padding else { return Ok(()) };
        let at = last.checked_sub(base).and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| bytes.get(at)) {
            Some(byte) if byte & unused != 0 => Err(broken!(
                rule,
                "its byte {last} is {byte:#04x}, but its bits {unused:#04x} belong to no element and have \
                 to be 0"
            )),
            _ => Ok(()),
        }
    }
}

/// The components with positions in a sparse object, and the bounds to check them against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// It has no positions.
    None,
    /// Row pointers and column indices.
    Csr {
        /// All column indices are less than this.
        columns: u64,
        /// The number of entries.
        nnz: u64,
    },
    /// Coordinates.
    Coo {
        /// The number of entries.
        nnz: u64,
    },
}

impl Capabilities {
    /// The check for the bytes of a component with this type. `count` is the number of its elements, if
    /// known. If `strict` is set, bools must be 0 or 1 in every container.
    pub fn element_check(
        &self,
        dtype: Option<Dtype>,
        logical: Option<Logical>,
        count: Option<u64>,
        strict: bool,
    ) -> ElementCheck {
        let bools = dtype == Some(Dtype::Bool) && (strict || !self.any_byte_is_true);
        let block = logical.filter(|logical| !logical.is_block_type()).map(Logical::block);
        let padding = self.padding_rule.zip(block).zip(count);
        let padding = padding.and_then(|((rule, block), count)| {
            let (last, unused) = unused_bits(block, count)?;
            Some((last, unused, rule))
        });
        ElementCheck { bools, padding }
    }

    /// How many elements a component has according to its object's layout, if known. `nnz` is the number of
    /// entries of a sparse object.
    pub fn count_by_layout(
        &self,
        manifest: &Manifest,
        object: &Object,
        role: &str,
        nnz: Option<u64>,
    ) -> Result<Option<u64>> {
        match (object.format, role) {
            (Format::Dense, "data") => Ok(element_count(manifest.shape(object))),
            (Format::SparseCsr | Format::SparseCoo, "values") => Ok(nnz),
            (Format::Other(_), "data") => Ok(match (self.check_layout)(manifest, object, false)? {
                LayoutCheck::Unknown => None,
                LayoutCheck::Kept | LayoutCheck::Groups(_) => element_count(manifest.shape(object)),
            }),
            _ => Ok(None),
        }
    }

    /// Checks that the components of an object, whose sizes are known, match its format. Returns the bounds
    /// for its positions. `part` finds a component by its role.
    pub fn check_parts(
        &self,
        format: Format,
        shape: &[u64],
        attributes: Option<Value<'_>>,
        part: &dyn Fn(&str) -> Result<Option<Component>>,
    ) -> Result<Positions> {
        let required = |role: &str| {
            part(role)?.ok_or_else(|| broken!(Rule::ComponentMissing, "it has no component {role:?}"))
        };
        match format {
            Format::SparseCsr => {
                let [values, indices, indptr] =
                    [required("values")?, required("indices")?, required("indptr")?];
                let nnz = self.check_csr(shape, &values, &indices, &indptr)?;
                Ok(Positions::Csr { columns: shape.get(1).copied().unwrap_or(0), nnz })
            }
            Format::SparseCoo => {
                let nnz = self.check_coo(shape, &required("values")?, &required("coords")?)?;
                Ok(Positions::Coo { nnz })
            }
            Format::QuantizedGroup => {
                let (packed, scales) = (required("packed_weight")?, required("scales")?);
                let zeros = part("zeros")?;
                let count = |role: &str, c: &Component| storage_count(c).map_err(|e| in_component(role, e));
                let attribute = |key: &str| attributes.and_then(|a| a.get(key));
                let sizes = QuantizedSizes {
                    shape,
                    bits: attribute("bits").and_then(Value::as_u64),
                    group_size: attribute("group_size").and_then(Value::as_u64),
                    packing: attribute("packing").and_then(Value::as_text).and_then(parse_packing),
                    packed_dtype: packed.dtype,
                    packed_size: size_of(&packed),
                    packed_count: count("packed_weight", &packed)?,
                    scale_count: count("scales", &scales)?,
                    zero_count: zeros.map(|zeros| count("zeros", &zeros)).transpose()?,
                };
                sizes.check().map(|()| Positions::None)
            }
            Format::Dense | Format::Blocks(_) => {
                let Some(data) = part("data")? else { return Ok(Positions::None) };
                let checked = check_array(format, shape, &data);
                checked.map(|()| Positions::None).map_err(|e| in_component("data", e))
            }
            Format::Other(_) => Ok(Positions::None),
        }
    }

    /// The dtype of a component with positions, if the container allows it for positions.
    pub fn check_index_dtype(&self, entry: &Component, name: &str) -> Result<Dtype> {
        match entry.integer_dtype() {
            Some(dtype) if self.index_dtypes.contains(dtype) => Ok(dtype),
            _ => {
                let wanted = self.index_dtypes.description();
                Err(broken!(Rule::IndexDtype, "its dtype is {name:?}, but an index has to be {wanted}"))
            }
        }
    }

    fn check_index(&self, role: &str, entry: &Component) -> Result<u64> {
        let name = entry.dtype.map_or("unknown", Dtype::name);
        let checked = self.check_index_dtype(entry, name).and_then(|_| storage_count(entry));
        checked.map_err(|e| in_component(role, e))
    }

    fn check_csr(
        &self,
        shape: &[u64],
        values: &Component,
        indices: &Component,
        indptr: &Component,
    ) -> Result<u64> {
        let [rows, _] = *shape else {
            let rank = shape.len();
            return Err(broken!(Rule::CsrRank, "its rank is {rank}, but rows and columns are two"));
        };
        let (nnz, pointers) = (self.check_index("indices", indices)?, self.check_index("indptr", indptr)?);
        let found = value_count(values).map_err(|e| in_component("values", e))?;
        if let Some(count) = found.filter(|_| !are_values_of(values, found, nnz)) {
            return Err(broken!(Rule::CsrIndicesCount, "it has {count} values, but {nnz} column indices"));
        }
        match rows.checked_add(1) == Some(pointers) {
            true => Ok(nnz),
            false => Err(broken!(
                Rule::CsrIndptrCount,
                "it has {pointers} row pointers for {rows} rows, but there has to be one more than rows"
            )),
        }
    }

    fn check_coo(&self, shape: &[u64], values: &Component, coords: &Component) -> Result<u64> {
        let rank = shape.len() as u64;
        let found = self.check_index("coords", coords)?;
        let value_count = value_count(values).map_err(|e| in_component("values", e))?;
        let nnz = match found.checked_div(rank) {
            Some(nnz) if are_values_of(values, value_count, nnz) => nnz,
            _ => value_count.unwrap_or(0),
        };
        if nnz.checked_mul(rank) != Some(found) {
            return Err(broken!(
                Rule::CooCount,
                "it has {found} coordinates; {nnz} values in {rank} dimensions take {}",
                u128::from(nnz).saturating_mul(u128::from(rank))
            ));
        }
        match rank == 0 && nnz > 1 {
            true => Err(broken!(Rule::CooCount, "it has {nnz} values, but a scalar has one place")),
            false => Ok(nnz),
        }
    }
}

/// The position of the last byte of `count` elements, and its unused bits. `None` if all bits are used.
fn unused_bits(block: Block, count: u64) -> Option<(u64, u8)> {
    if block.divides(count) {
        return None;
    }
    let bits = block.bytes.checked_mul(8)?.checked_div(block.elements)?;
    let used = count.checked_rem(block.elements)?.checked_mul(bits)?.checked_rem(8)?;
    let last = block.size(count)?.checked_sub(1)?;
    match u32::try_from(used).ok()? {
        0 => None,
        used => Some((last, 0xff_u8.checked_shl(used)?)),
    }
}

fn in_component(role: &str, error: Error) -> Error {
    error.within(format_args!("component {role:?}"))
}

/// The decoded size, which the caller has set.
fn size_of(entry: &Component) -> u64 {
    entry.size().unwrap_or(entry.stored_size)
}

/// How many elements of its dtype it has. An error if its size is not a multiple of the element size.
pub fn storage_count(entry: &Component) -> Result<u64> {
    let Some(dtype) = entry.dtype else { return Err(fail!(Unsupported, "its dtype is unknown")) };
    let (size, width) = (size_of(entry), dtype.size() as u64);
    match size.checked_rem(width) {
        Some(0) => Ok(size.checked_div(width).unwrap_or(0)),
        _ => Err(broken!(
            Rule::ElementSize,
            "its {size} bytes are not a whole number of {width}-byte elements"
        )),
    }
}

/// How many values it has. A complex number is one value. `None` if the logical type is unknown. If several
/// elements are in a byte, the last block may be filled in part.
pub fn value_count(entry: &Component) -> Result<Option<u64>> {
    let size = storage_count(entry)?.saturating_mul(entry.width() as u64);
    let Some(block) = entry.block() else { return Ok(None) };
    match size.checked_rem(block.bytes) {
        Some(0) => Ok(size.checked_div(block.bytes).and_then(|n| n.checked_mul(block.elements))),
        Some(rest) if block.elements > 1 && entry.known_logical().is_some_and(|l| !l.is_block_type()) => {
            let whole = size.checked_div(block.bytes).unwrap_or(0).saturating_mul(block.elements);
            let more = rest.saturating_mul(block.elements).checked_div(block.bytes).unwrap_or(0);
            Ok(Some(whole.saturating_add(more)))
        }
        _ => Err(broken!(
            Rule::ElementSize,
            "its {size} bytes are not a whole number of {}-byte elements",
            block.bytes
        )),
    }
}

/// Whether `found` values take as many bytes as `count`: the last byte of 4-bit values may be filled in part.
/// True if the logical type is unknown.
fn are_values_of(entry: &Component, found: Option<u64>, count: u64) -> bool {
    found.zip(entry.block()).is_none_or(|(found, block)| block.size(found) == block.size(count))
}

/// Checks that the data of an array has the size that its shape needs. Does nothing if its type is unknown.
pub fn check_array(format: Format, shape: &[u64], data: &Component) -> Result<()> {
    let block = match format {
        // The format gives the type of the blocks, so no type field is written.
        Format::Blocks(logical) if data.dtype == Some(logical.dtype()) => Some(logical.block()),
        _ => data.block(),
    };
    let Some(block) = block else { return Ok(()) };
    let (size, blocks) = (size_of(data), matches!(format, Format::Blocks(_)));
    if let Some(last) = shape.last().filter(|last| blocks && !block.divides(**last)) {
        let of = block.elements;
        return Err(broken!(
            Rule::DenseSize,
            "its last dimension of {last} is not a multiple of the {of} of a block"
        ));
    }
    let expected = element_count(shape).filter(|count| !blocks || block.divides(*count));
    match expected.and_then(|count| block.size(count)) == Some(size) {
        true => Ok(()),
        false => Err(broken!(
            Rule::DenseSize,
            "it has {size} bytes, which does not match the shape {shape:?} of {}-byte blocks of {} elements",
            block.bytes,
            block.elements
        )),
    }
}
