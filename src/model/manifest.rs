//! What a file claims to hold: objects, their components, and where the bytes are.
//!
//! The tables are flat and every text is a position in one arena, so that opening a file with many
//! objects costs a few large allocations and none per object.

pub use super::component::{Component, Encoding, LogicalType, RareNames};
use super::value::Value;
use crate::error::{fail, Result};
use crate::memory::HugeVec;
use std::num::NonZeroU32;

/// A text in [`Manifest::texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextId {
    start: u32,
    length: u32,
}

impl TextId {
    /// How many bytes stand in front of it.
    #[inline]
    pub fn start(&self) -> usize {
        self.start as usize
    }

    /// How many bytes it has, without the NUL.
    #[inline]
    pub fn size(&self) -> usize {
        self.length as usize
    }
}

/// All names of a manifest, each with a NUL behind it so that C can borrow it.
#[derive(Debug, Default)]
pub struct TextArena {
    arena: HugeVec<u8>,
}

impl TextArena {
    /// Keeps a copy of `text`.
    pub fn add(&mut self, text: &str) -> Result<TextId> {
        self.add_utf8(text.as_bytes())
    }

    /// Appends bytes that were found to be UTF-8.
    #[inline]
    pub(crate) fn add_utf8(&mut self, text: &[u8]) -> Result<TextId> {
        let too_many = || fail!(Limit, "the manifest's names pass 4 GiB");
        let start = u32::try_from(self.arena.len()).map_err(|_| too_many())?;
        let length = u32::try_from(text.len()).map_err(|_| too_many())?;
        self.arena.try_reserve(text.len().saturating_add(1))?;
        self.arena.extend(text)?;
        self.arena.push(0)?;
        Ok(TextId { start, length })
    }

    /// The text.
    pub fn get(&self, text: TextId) -> &str {
        std::str::from_utf8(self.get_bytes(text)).unwrap_or_default()
    }

    /// Its bytes.
    #[inline]
    pub fn get_bytes(&self, text: TextId) -> &[u8] {
        let start = text.start as usize;
        self.arena.get(start..start.saturating_add(text.length as usize)).unwrap_or_default()
    }

    /// The text and the NUL behind it.
    pub fn get_c_bytes(&self, text: TextId) -> &[u8] {
        let start = text.start as usize;
        let end = start.saturating_add(text.length as usize).saturating_add(1);
        self.arena.get(start..end).unwrap_or(b"\0")
    }

    /// Where the first text stands; each stands [`TextId::start`] bytes behind, and ends with a NUL.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.arena.as_ptr()
    }

    /// Bytes of all texts, with their NULs.
    pub fn size(&self) -> usize {
        self.arena.len()
    }

    /// Bytes that can be added without asking for memory.
    pub fn spare_capacity(&self) -> usize {
        self.arena.capacity().saturating_sub(self.arena.len())
    }

    /// Room for `bytes` more bytes, and for as many again if that is less than there were.
    pub fn try_reserve(&mut self, bytes: usize) -> Result<()> {
        self.arena.try_reserve(bytes)
    }

    /// Room for `bytes` more bytes, and not many more.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.arena.try_reserve_exact(bytes)
    }
}

/// A position in a table; none takes no memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(NonZeroU32);

impl Position {
    /// The position behind `filled` entries.
    pub fn after(filled: usize) -> Result<Position> {
        let next = u32::try_from(filled).ok().and_then(|n| n.checked_add(1)).and_then(NonZeroU32::new);
        next.map(Position).ok_or_else(|| fail!(Limit, "a table of the manifest passes 2^32 entries"))
    }

    /// As a table has it.
    #[inline]
    pub fn index(self) -> usize {
        (self.0.get() as usize).saturating_sub(1)
    }
}

/// A position in one of the manifest's tables.
pub fn table_position(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| fail!(Limit, "a table of the manifest passes 2^32 entries"))
}

/// Which text of the spec a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// `ZTEN0001`: an array of tensors, no footer magic.
    V0_1,
    /// `ZTEN1000` without a footer magic; `tensors`.
    V1_0,
    /// `ZTEN1000` at both ends; the manifest says 1.1.
    V1_1,
    /// `ZTEN1000` at both ends; the manifest says 1.2 or a later minor version.
    V1_2,
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
    /// A name that this version does not know; a 0.1 layout that is not dense.
    Other(TextId),
}

impl Format {
    /// By its name in spec 1.1 and 1.2.
    pub fn from_name(name: &str) -> Option<Format> {
        match name {
            "dense" => Some(Format::Dense),
            "sparse_csr" => Some(Format::SparseCsr),
            "sparse_coo" => Some(Format::SparseCoo),
            "quantized_group" => Some(Format::QuantizedGroup),
            _ => None,
        }
    }

    /// The spec's name; none for [`Format::Other`].
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Format::Dense => Some("dense"),
            Format::SparseCsr => Some("sparse_csr"),
            Format::SparseCoo => Some("sparse_coo"),
            Format::QuantizedGroup => Some("quantized_group"),
            Format::Other(_) => None,
        }
    }

    /// The roles that the spec demands of the format; any other role is welcome.
    pub const fn required_roles(self) -> &'static [&'static str] {
        match self {
            Format::Dense => &["data"],
            Format::SparseCsr => &["values", "indices", "indptr"],
            Format::SparseCoo => &["values", "coords"],
            // `zeros` may be absent: symmetric quantization has none (decisions: quantized-without-zeros).
            Format::QuantizedGroup => &["packed_weight", "scales"],
            Format::Other(_) => &[],
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

/// How far a manifest's tables were filled at some time.
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
    /// Which text that is.
    pub version: Option<Version>,
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
    /// The attribute maps of objects.
    pub values: Vec<Value>,
    /// The attribute map of the file.
    pub attributes: Option<Value>,
    /// Roles that were seen last, so that the usual ones are kept once.
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
    pub fn object_attributes(&self, object: &Object) -> Option<&Value> {
        self.values.get(object.attributes?.index())
    }

    /// The less usual texts of a component.
    pub fn rare(&self, component: &Component) -> RareNames {
        let found = component.rare.and_then(|at| self.rare_names.get(at.index()));
        found.copied().unwrap_or_default()
    }

    /// The component's digest, as the file has it.
    pub fn digest(&self, component: &Component) -> Option<&str> {
        self.rare(component).digest.map(|t| self.texts.get(t))
    }

    /// The version as the file says it.
    pub fn version_text(&self) -> &str {
        self.version_text.map(|t| self.texts.get(t)).unwrap_or_default()
    }

    /// The copy of `role` that is kept, if it is one of those that were seen first.
    pub fn known_role(&self, role: &str) -> Option<TextId> {
        self.role_cache.iter().copied().find(|text| self.texts.get_bytes(*text) == role.as_bytes())
    }

    /// Keeps `role`, or finds the copy that is there.
    pub fn intern_role(&mut self, role: &str) -> Result<TextId> {
        const KEPT: usize = 8;
        if let Some(known) = self.known_role(role) {
            return Ok(known);
        }
        let text = self.texts.add(role)?;
        if self.role_cache.len() < KEPT {
            self.role_cache.try_reserve(1)?;
            self.role_cache.push(text);
        }
        Ok(text)
    }

    /// How far the tables are filled.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            texts: self.texts.arena.len(),
            dimensions: self.dimensions.len(),
            objects: self.objects.len(),
            components: self.components.len(),
            rare_names: self.rare_names.len(),
            values: self.values.len(),
        }
    }

    /// Forgets what came after `checkpoint`.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) {
        self.texts.arena.truncate(checkpoint.texts);
        self.dimensions.truncate(checkpoint.dimensions);
        self.objects.truncate(checkpoint.objects);
        self.components.truncate(checkpoint.components);
        self.rare_names.truncate(checkpoint.rare_names);
        self.values.truncate(checkpoint.values);
        self.role_cache.retain(|t| (t.start as usize) < checkpoint.texts);
    }

    /// Keeps `rare` unless it is empty.
    #[inline]
    pub fn add_rare_names(&mut self, rare: RareNames) -> Result<Option<Position>> {
        if rare == RareNames::default() {
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
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |product, d| product.checked_mul(*d))
}
