//! What a file declares to hold: objects, their components, and where the bytes are.
//!
//! The tables are flat and every text is a position in one arena, so that opening a file with many
//! objects costs a few large allocations and none per object.

use super::component::Layout;
pub use super::component::{Component, LogicalType, RareNames};
use super::dtype::{Logical, Name};
pub use super::encoding::Encoding;
pub use super::text::{Position, TextArena, TextId};
use super::value::{Tape, Value};
use crate::error::{fail, Result};
use crate::memory::HugeVec;
use std::ffi::CStr;

/// How a file is laid out, and which text of a spec it follows. All of them are in the table of `container`.
/// cbindgen:ignore
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Container(u8);

impl Container {
    /// By its number, for the table.
    pub(crate) const fn new(number: u8) -> Container {
        assert!(number > 0 && number < 32, "a container has a bit in a mask of 32");
        Container(number)
    }

    /// Its number in C.
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// Its bit in a mask of containers.
    pub const fn bit(self) -> u32 {
        1 << self.0
    }
}

/// Its name in the options of a writer.
pub use Container as Version;

/// A position in one of the manifest's tables.
pub fn table_position(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| fail!(Limit, "a table of the manifest passes 2^32 entries"))
}

/// A layout of components. Spec 1.2 section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One row-major array.
    Dense,
    /// Compressed sparse rows.
    SparseCsr,
    /// Coordinate list.
    SparseCoo,
    /// Quantized groups.
    QuantizedGroup,
    /// Blocks of that type; the shape counts their elements.
    Blocks(Logical),
    /// A name that this version does not know; a 0.1 layout that is not dense.
    Other(TextId),
}

impl Format {
    /// The formats of the spec.
    pub(crate) const KNOWN: [Format; 4] =
        [Format::Dense, Format::SparseCsr, Format::SparseCoo, Format::QuantizedGroup];

    /// By its name in spec 1.1 and 1.2, or by the name of a block type.
    pub fn from_name(name: &str) -> Option<Format> {
        let blocks = || Logical::ALL.into_iter().map(Format::Blocks);
        Format::KNOWN.into_iter().chain(blocks()).find(|format| format.name() == Some(name))
    }

    /// The name of the format of one array: of plain elements, or of blocks of that type.
    pub(crate) fn of_array(blocks: Option<Logical>) -> &'static str {
        blocks.map_or(Format::Dense, Format::Blocks).name().unwrap_or_default()
    }

    /// Whether it is one array that can be sliced.
    pub const fn is_array(self) -> bool {
        matches!(self, Format::Dense | Format::Blocks(_))
    }

    const fn known_name(self) -> Option<Name> {
        const DENSE: Name = Name::new(c"dense");
        const SPARSE_CSR: Name = Name::new(c"sparse_csr");
        const SPARSE_COO: Name = Name::new(c"sparse_coo");
        const QUANTIZED_GROUP: Name = Name::new(c"quantized_group");
        match self {
            Format::Dense => Some(DENSE),
            Format::SparseCsr => Some(SPARSE_CSR),
            Format::SparseCoo => Some(SPARSE_COO),
            Format::QuantizedGroup => Some(QUANTIZED_GROUP),
            Format::Blocks(logical) => logical.format_name(),
            Format::Other(_) => None,
        }
    }

    /// The spec's name; none for [`Format::Other`].
    pub fn name(self) -> Option<&'static str> {
        self.known_name().map(|name| name.text)
    }

    /// Its name in the spec, with a NUL behind it.
    pub fn c_name(self) -> Option<&'static CStr> {
        self.known_name().map(|name| name.c)
    }

    /// The roles that the spec demands of the format; any other role is welcome.
    pub const fn required_roles(self) -> &'static [&'static str] {
        match self {
            Format::Dense => &["data"],
            Format::SparseCsr => &["values", "indices", "indptr"],
            Format::SparseCoo => &["values", "coords"],
            // `zeros` may be absent: symmetric quantization has none (decisions: quantized-without-zeros).
            Format::QuantizedGroup => &["packed_weight", "scales"],
            // No spec demands roles of them.
            Format::Blocks(_) | Format::Other(_) => &[],
        }
    }

    /// Whether a component of that role is the positions of the values of a sparse object.
    pub fn is_index(self, role: &str) -> bool {
        matches!(self, Format::SparseCsr | Format::SparseCoo)
            && matches!(role, "indices" | "indptr" | "coords")
    }
}

/// A named tensor: shape, format, components.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Its name; any text.
    pub name: TextId,
    /// The layout of its components.
    pub format: Format,
    /// First dimension in [`Manifest::dimensions`].
    pub shape_start: u32,
    /// Number of dimensions.
    pub rank: u32,
    /// First component in [`Manifest::components`].
    pub component_start: u32,
    /// Number of components.
    pub component_count: u32,
    /// Position in [`Manifest::values`], if it has attributes.
    pub attributes: Option<Position>,
}

/// Another file that has bytes of components.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    /// What the manifest calls it.
    pub name: TextId,
    /// Bytes of it.
    pub size: u64,
    /// The digest of all of it.
    pub digest: TextId,
}

/// The sizes of a manifest's tables, to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    texts: usize,
    dimensions: usize,
    objects: usize,
    components: usize,
    rare_names: usize,
    values: usize,
}

/// Everything that a file says about itself.
#[derive(Debug, Default)]
pub struct Manifest {
    /// The version as the file says it ("1.2.0"); "0.1.0" for 0.1, which does not say.
    pub version_text: Option<TextId>,
    /// What the file is.
    pub container: Option<Container>,
    /// All names.
    pub texts: TextArena,
    /// All dimensions.
    pub dimensions: Vec<u64>,
    /// The objects in file order.
    pub objects: HugeVec<Object>,
    /// Their components, object by object.
    pub components: HugeVec<Component>,
    /// The less usual texts of components.
    pub rare_names: HugeVec<RareNames>,
    /// The layouts of components whose elements are not simply all of their decoded bytes in order.
    pub layouts: HugeVec<Layout>,
    /// Strides, layout by layout.
    pub strides: Vec<u64>,
    /// The files that components may be in beside this one.
    pub shards: Vec<Shard>,
    /// Where objects were combined: for each component the shape of the tensor that it is by itself, as the
    /// first of its dimensions and their number. Empty elsewhere.
    pub stored_shapes: Vec<(u32, u32)>,
    /// The attribute maps of the file and of objects.
    pub values: Tape,
    /// The attribute map of the file.
    pub attributes: Option<Position>,
    /// The roles that were seen first, so that the usual ones are kept once.
    role_cache: Vec<TextId>,
}

impl Manifest {
    /// The object's dimensions.
    pub fn shape(&self, object: &Object) -> &[u64] {
        let start = object.shape_start as usize;
        self.dimensions.get(start..start.saturating_add(object.rank as usize)).unwrap_or_default()
    }

    /// The object's components, in file order.
    pub fn components(&self, object: &Object) -> &[Component] {
        let start = object.component_start as usize;
        self.components.get(start..start.saturating_add(object.component_count as usize)).unwrap_or_default()
    }

    /// The name of a format, the file's own where it is unknown.
    pub fn format_name(&self, format: Format) -> &str {
        match format {
            Format::Other(text) => self.texts.get(text),
            known => known.name().unwrap_or_default(),
        }
    }

    /// The object's component of that role.
    pub fn component(&self, object: &Object, role: &str) -> Option<&Component> {
        self.components(object).iter().find(|c| self.texts.get_bytes(c.role) == role.as_bytes())
    }

    /// The object's attribute map.
    pub fn object_attributes(&self, object: &Object) -> Option<Value<'_>> {
        Some(self.values.get(object.attributes?))
    }

    /// The file's attribute map.
    pub fn file_attributes(&self) -> Option<Value<'_>> {
        Some(self.values.get(self.attributes?))
    }

    /// The less usual texts of a component.
    pub fn rare(&self, component: &Component) -> RareNames {
        let found = component.rare.and_then(|at| self.rare_names.get(at.index()));
        found.copied().unwrap_or_default()
    }

    /// Where the component's elements are, if that has to be said.
    pub fn layout(&self, component: &Component) -> Option<&Layout> {
        let at = component.rare.and_then(|at| self.rare_names.get(at.index()))?.layout?;
        self.layouts.get(at.index())
    }

    /// The strides of a layout, of as many dimensions.
    pub fn strides(&self, layout: &Layout, rank: usize) -> Option<&[u64]> {
        let start = layout.strides? as usize;
        Some(self.strides.get(start..start.saturating_add(rank)).unwrap_or_default())
    }

    /// The file that has the component's bytes, where that is not the manifest's own.
    pub fn shard(&self, component: &Component) -> Option<&Shard> {
        let at = self.rare_names.get(component.rare?.index())?.shard?;
        self.shards.get(at.index())
    }

    /// The component's digest, as the file has it.
    pub fn digest(&self, component: &Component) -> Option<&str> {
        self.rare(component).digest.map(|t| self.texts.get(t))
    }

    /// The version as the file says it.
    pub fn version_text(&self) -> &str {
        self.version_text.map(|t| self.texts.get(t)).unwrap_or_default()
    }

    /// The position of `role` in `texts`, if it is in the cache of roles.
    pub fn known_role(&self, role: &str) -> Option<TextId> {
        self.role_cache.iter().copied().find(|text| self.texts.get_bytes(*text) == role.as_bytes())
    }

    /// The position of `role` in `texts`, to which it is added if it is not in the cache.
    pub fn intern_role(&mut self, role: &str) -> Result<TextId> {
        const MAX_CACHED_ROLES: usize = 8;
        if let Some(known) = self.known_role(role) {
            return Ok(known);
        }
        let text = self.texts.add(role)?;
        if self.role_cache.len() < MAX_CACHED_ROLES {
            self.role_cache.try_reserve(1)?;
            self.role_cache.push(text);
        }
        Ok(text)
    }

    /// How far the tables are filled.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            texts: self.texts.size(),
            dimensions: self.dimensions.len(),
            objects: self.objects.len(),
            components: self.components.len(),
            rare_names: self.rare_names.len(),
            values: self.values.size(),
        }
    }

    /// Removes everything after `checkpoint`.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) {
        self.texts.truncate(checkpoint.texts);
        self.dimensions.truncate(checkpoint.dimensions);
        self.objects.truncate(checkpoint.objects);
        self.components.truncate(checkpoint.components);
        self.rare_names.truncate(checkpoint.rare_names);
        self.values.truncate(checkpoint.values);
        self.role_cache.retain(|t| t.start() < checkpoint.texts);
    }

    /// Keeps `rare` unless it is empty.
    #[inline]
    pub fn add_rare_names(&mut self, rare: RareNames) -> Result<Option<Position>> {
        if rare.is_empty() {
            return Ok(None);
        }
        let at = Position::after(self.rare_names.len())?;
        self.rare_names.push(rare)?;
        Ok(Some(at))
    }
}

/// Number of elements of `shape`; zero if any dimension is zero, none if the product leaves 64 bits.
#[inline]
pub fn element_count(shape: &[u64]) -> Option<u64> {
    let product = shape.iter().try_fold(1u64, |product, d| product.checked_mul(*d));
    product.or_else(|| shape.contains(&0).then_some(0))
}
