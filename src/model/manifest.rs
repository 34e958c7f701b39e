//! What a file declares: objects, their components, and the positions of their bytes.
//!
//! The tables are flat, and every text is a position in one arena. So opening a file with many objects takes
//! a few large allocations, and none for each object.

use super::component::Layout;
pub use super::component::{Component, LogicalType, RareNames};
use super::dtype::{Logical, Name};
pub use super::encoding::Encoding;
pub use super::text::{Position, TextArena, TextId};
use super::value::{Tape, Value};
use crate::error::{fail, Result};
use crate::memory::{push, HugeVec};
use std::ffi::CStr;

/// The layout of a file, including the version of its specification. The table in `container` lists all of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Container(u8);

impl Container {
    /// The container with this number. Only for the table.
    pub(crate) const fn new(number: u8) -> Container {
        assert!(number > 0 && number < 32, "a container has a bit in a mask of 32");
        Container(number)
    }

    /// Its number in C.
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// Its bit in a set of containers.
    pub const fn bit(self) -> u32 {
        1 << self.0
    }
}

/// The name of this type in the options of a writer.
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
    /// Blocks of this type. The shape counts their elements.
    Blocks(Logical),
    /// A name that this version does not know, or a 0.1 layout that is not dense.
    Other(TextId),
}

impl Format {
    /// The formats of the specification.
    pub(crate) const KNOWN: [Format; 4] =
        [Format::Dense, Format::SparseCsr, Format::SparseCoo, Format::QuantizedGroup];

    /// The format with this name in spec 1.1 and 1.2, or with the name of a block type.
    pub fn from_name(name: &str) -> Option<Format> {
        let blocks = || Logical::ALL.into_iter().map(Format::Blocks);
        Format::KNOWN.into_iter().chain(blocks()).find(|format| format.name() == Some(name))
    }

    /// The name of the format of a single array: of plain elements, or of blocks of this type.
    pub(crate) fn of_array(blocks: Option<Logical>) -> &'static str {
        blocks.map_or(Format::Dense, Format::Blocks).name().unwrap_or_default()
    }

    /// Whether it is a single array, which can be sliced.
    pub const fn is_array(self) -> bool {
        matches!(self, Format::Dense | Format::Blocks(_))
    }

    const fn known_name(self) -> Option<Name> {
        match self {
            Format::Dense => Some(const { Name::new(c"dense") }),
            Format::SparseCsr => Some(const { Name::new(c"sparse_csr") }),
            Format::SparseCoo => Some(const { Name::new(c"sparse_coo") }),
            Format::QuantizedGroup => Some(const { Name::new(c"quantized_group") }),
            Format::Blocks(logical) => logical.format_name(),
            Format::Other(_) => None,
        }
    }

    /// Its name in the specification; `None` for [`Format::Other`].
    pub fn name(self) -> Option<&'static str> {
        self.known_name().map(|name| name.text)
    }

    /// Its name in the specification, with a NUL at the end.
    pub fn c_name(self) -> Option<&'static CStr> {
        self.known_name().map(|name| name.c)
    }

    /// The roles that the specification demands for the format. Other roles are allowed, too.
    pub const fn required_roles(self) -> &'static [&'static str] {
        match self {
            Format::Dense => &["data"],
            Format::SparseCsr => &["values", "indices", "indptr"],
            Format::SparseCoo => &["values", "coords"],
            // `zeros` may be absent, because symmetric quantization has no zero points (decisions:
            // quantized-without-zeros).
            Format::QuantizedGroup => &["packed_weight", "scales"],
            // No specification demands roles for them.
            Format::Blocks(_) | Format::Other(_) => &[],
        }
    }

    /// Whether a component with this role has the positions of a sparse object's values.
    pub fn is_index(self, role: &str) -> bool {
        matches!(self, Format::SparseCsr | Format::SparseCoo)
            && matches!(role, "indices" | "indptr" | "coords")
    }
}

/// A named tensor: shape, format, components.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Its name, which may be any text.
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

impl Object {
    /// An object with one component and no attributes. `shape` is the position of its first dimension and
    /// their number. [`Object::component_start`] is set when it is added.
    pub fn with_one_component(name: TextId, format: Format, shape: (u32, u32)) -> Object {
        let (shape_start, rank) = shape;
        Object { name, format, shape_start, rank, component_start: 0, component_count: 1, attributes: None }
    }
}

/// Another file that has bytes of this file's components.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    /// Its name in the manifest.
    pub name: TextId,
    /// Its size in bytes.
    pub size: u64,
    /// The digest of the whole file.
    pub digest: TextId,
}

/// The sizes of a manifest's tables at some time, for a rollback.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    texts: usize,
    dimensions: usize,
    objects: usize,
    components: usize,
    rare_names: usize,
    values: usize,
}

/// Everything that a file declares.
#[derive(Debug, Default)]
pub struct Manifest {
    /// The version as written in the file ("1.2.0"); "0.1.0" for 0.1, which has no such field.
    pub version_text: Option<TextId>,
    /// The container.
    pub container: Option<Container>,
    /// All names.
    pub texts: TextArena,
    /// All dimensions.
    pub dimensions: Vec<u64>,
    /// The objects in file order.
    pub objects: HugeVec<Object>,
    /// Their components, object by object.
    pub components: HugeVec<Component>,
    /// The rare texts of components.
    pub rare_names: HugeVec<RareNames>,
    /// The layouts of components whose elements are not just all decoded bytes in order.
    pub layouts: HugeVec<Layout>,
    /// Strides, layout by layout.
    pub strides: Vec<u64>,
    /// The shards: other files that have bytes of components.
    pub shards: Vec<Shard>,
    /// Where objects were combined: for each component the shape of the tensor that it is by itself, as the
    /// first of its dimensions and their number, which is the largest for a part of another object. Empty
    /// elsewhere.
    pub stored_shapes: Vec<(u32, u32)>,
    /// The attribute maps of the file and of objects.
    pub values: Tape,
    /// The attribute map of the file.
    pub attributes: Option<Position>,
    /// The first few roles, so that usual roles are stored once.
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

    /// The name of a format. If it is unknown, the name in the file.
    pub fn format_name(&self, format: Format) -> &str {
        match format {
            Format::Other(text) => self.texts.get(text),
            known => known.name().unwrap_or_default(),
        }
    }

    /// The object's component with this role.
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

    /// The rare texts of a component.
    pub fn rare(&self, component: &Component) -> RareNames {
        let found = component.rare.and_then(|at| self.rare_names.get(at.index()));
        found.copied().unwrap_or_default()
    }

    /// The component's layout, if it has one.
    pub fn layout(&self, component: &Component) -> Option<&Layout> {
        let at = component.rare.and_then(|at| self.rare_names.get(at.index()))?.layout?;
        self.layouts.get(at.index())
    }

    /// The strides of a layout with `rank` dimensions.
    pub fn strides(&self, layout: &Layout, rank: usize) -> Option<&[u64]> {
        let start = layout.strides? as usize;
        Some(self.strides.get(start..start.saturating_add(rank)).unwrap_or_default())
    }

    /// The shard that has the component's bytes, if they are in one.
    pub fn shard(&self, component: &Component) -> Option<&Shard> {
        let at = self.rare_names.get(component.rare?.index())?.shard?;
        self.shards.get(at.index())
    }

    /// The component's digest, as written in the file.
    pub fn digest(&self, component: &Component) -> Option<&str> {
        self.rare(component).digest.map(|t| self.texts.get(t))
    }

    /// The name of the object at `index`; empty after the last object.
    #[inline(always)]
    pub fn name_at(&self, index: usize) -> &[u8] {
        self.objects.get(index).map(|object| self.texts.get_bytes(object.name)).unwrap_or_default()
    }

    /// The version as written in the file.
    pub fn version_text(&self) -> &str {
        self.version_text.map(|t| self.texts.get(t)).unwrap_or_default()
    }

    /// The position of `role` in `texts`, if it is among the cached roles.
    pub fn known_role(&self, role: &str) -> Option<TextId> {
        self.role_cache.iter().copied().find(|text| self.texts.get_bytes(*text) == role.as_bytes())
    }

    /// The position of `role` in `texts`. Adds it if it is not among the cached roles.
    pub fn intern_role(&mut self, role: &str) -> Result<TextId> {
        const MAX_CACHED_ROLES: usize = 8;
        if let Some(known) = self.known_role(role) {
            return Ok(known);
        }
        let text = self.texts.add(role)?;
        if self.role_cache.len() < MAX_CACHED_ROLES {
            push(&mut self.role_cache, text)?;
        }
        Ok(text)
    }

    /// The current sizes of the tables.
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

    /// Removes everything that was added after `checkpoint`.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) {
        self.texts.truncate(checkpoint.texts);
        self.dimensions.truncate(checkpoint.dimensions);
        self.objects.truncate(checkpoint.objects);
        self.components.truncate(checkpoint.components);
        self.rare_names.truncate(checkpoint.rare_names);
        self.values.truncate(checkpoint.values);
        self.role_cache.retain(|t| t.start() < checkpoint.texts);
    }

    /// Adds `rare`, unless it is empty.
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

/// The number of elements of `shape`: zero if any dimension is zero, `None` if the product does not fit in 64
/// bits.
#[inline]
pub fn element_count(shape: &[u64]) -> Option<u64> {
    let product = shape.iter().try_fold(1u64, |product, d| product.checked_mul(*d));
    product.or_else(|| shape.contains(&0).then_some(0))
}
