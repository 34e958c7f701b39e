//! An object and a component of an open file, and what the manifest says about them.

use super::file::File;
use super::parts::FilePart;
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::model::dtype::{Class, Dtype, Logical, Numbers};
use crate::model::manifest::{self, element_count, Encoding, Format, LogicalType, RareNames};
use crate::model::value::Value;
use crate::source::ByteSource;

impl File {
    /// The object at `index`, in file order.
    pub fn object(&self, index: usize) -> Option<Object<'_>> {
        self.manifest.objects.get(index).map(|entry| Object { file: self, entry })
    }

    /// All objects, in file order.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = Object<'_>> {
        self.manifest.objects.iter().map(|entry| Object { file: self, entry })
    }

    /// The object with that name. If a 0.1 file has several, the first one.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Option<Object<'_>> {
        self.find_position(name).and_then(|at| self.object(at))
    }

    /// The object with that name. If the file has no such object, the error names the file.
    pub fn required(&self, name: impl AsRef<[u8]>) -> Result<Object<'_>> {
        let name = name.as_ref();
        self.find(name).ok_or_else(|| self.in_file(fail!(NotFound, "there is no object {}", Quoted(name))))
    }

    /// The component with number `index` in the file. It belongs to object number `object`.
    pub fn component_at(&self, object: usize, index: usize) -> Option<Component<'_>> {
        let object = self.manifest.objects.get(object)?;
        let entry = self.manifest.components.get(index)?;
        Some(Component { file: self, object, entry, index })
    }
}

/// A named tensor of an open file.
#[derive(Clone, Copy)]
pub struct Object<'f> {
    pub(super) file: &'f File,
    pub(super) entry: &'f manifest::Object,
}

impl<'f> Object<'f> {
    /// Its name; "" if the name is not UTF-8, which some containers allow.
    pub fn name(&self) -> &'f str {
        self.file.manifest.texts.get(self.entry.name)
    }

    /// Its name, or an error if the name is not UTF-8.
    pub fn text_name(&self) -> Result<&'f str> {
        let is_text = !self.name().is_empty() || self.name_bytes().is_empty();
        let not =
            || fail!(Unsupported, "the name {} is not UTF-8: give it another one", Quoted(self.name_bytes()));
        is_text.then(|| self.name()).ok_or_else(|| self.file.in_file(not()))
    }

    /// Its name in bytes, which may not be UTF-8.
    pub fn name_bytes(&self) -> &'f [u8] {
        self.file.manifest.texts.get_bytes(self.entry.name)
    }

    /// Its dimensions.
    pub fn shape(&self) -> &'f [u64] {
        self.file.manifest.shape(self.entry)
    }

    /// The product of the dimensions; `None` if it exceeds 64 bits, which is possible for sparse shapes.
    pub fn element_count(&self) -> Option<u64> {
        element_count(self.shape())
    }

    /// The layout of its components.
    pub fn format(&self) -> Format {
        self.entry.format
    }

    /// The name of its layout, as written in the file.
    pub fn format_name(&self) -> &'f str {
        self.file.manifest.format_name(self.entry.format)
    }

    /// Its attributes, a map.
    pub fn attributes(&self) -> Option<Value<'f>> {
        self.file.manifest.object_attributes(self.entry)
    }

    /// Its components, in file order.
    pub fn components(&self) -> impl ExactSizeIterator<Item = Component<'f>> + use<'f> {
        let (file, object) = (self.file, self.entry);
        let entries = file.manifest.components(object).iter().enumerate();
        entries.map(move |(at, entry)| Component {
            file,
            object,
            entry,
            index: (object.component_start as usize).saturating_add(at),
        })
    }

    /// The component with that role.
    pub fn component(&self, role: &str) -> Option<Component<'f>> {
        self.components().find(|c| c.role() == role)
    }

    /// The component with that role, or an error that names the role.
    pub(super) fn required(&self, role: &str) -> Result<Component<'f>> {
        self.component(role)
            .ok_or_else(|| self.wrap(broken!(Rule::ComponentMissing, "it has no component {role:?}")))
    }

    /// Adds the names of the file and the object to an error that has none.
    #[cold]
    pub(super) fn wrap(&self, error: Error) -> Error {
        if error.is_named() {
            return error;
        }
        // The number of the object follows from its address in the table.
        let first = self.file.manifest.objects.as_ptr().addr();
        let offset = std::ptr::from_ref(self.entry).addr().wrapping_sub(first);
        let index = offset.checked_div(size_of::<manifest::Object>()).unwrap_or(0);
        self.file
            .parts
            .of_object(index)
            .named(error.within(format_args!("object {}", Quoted(self.name_bytes()))))
            .into_named()
    }
}

/// One blob of an open file.
#[derive(Clone, Copy)]
pub struct Component<'f> {
    pub(super) file: &'f File,
    pub(super) object: &'f manifest::Object,
    pub(super) entry: &'f manifest::Component,
    pub(super) index: usize,
}

impl<'f> Component<'f> {
    /// Its position among all components of the file.
    pub fn number(&self) -> usize {
        self.index
    }

    /// Its name within the object.
    pub fn role(&self) -> &'f str {
        self.file.manifest.texts.get(self.entry.role)
    }

    /// Its storage type; `None` if this version does not know it.
    pub fn dtype(&self) -> Option<Dtype> {
        self.entry.dtype
    }

    /// The name of its storage type: from spec 1.2, or the file's own if this version does not know it.
    pub fn dtype_name(&self) -> &'f str {
        match self.entry.dtype {
            Some(dtype) => dtype.name(),
            None => self.text(self.rare().dtype),
        }
    }

    /// Its logical type.
    pub fn logical(&self) -> LogicalType {
        self.entry.logical
    }

    /// Its logical type, if this version knows it.
    pub fn known_logical(&self) -> Option<Logical> {
        self.entry.known_logical()
    }

    /// Whether its elements are separate floats of a known type. True also for 8-bit floats except f8_e8m0,
    /// which are scales of other elements.
    pub fn is_of_floats(&self) -> bool {
        let is_float = |dtype: Dtype| matches!(dtype.class(), Class::Float | Class::Bfloat);
        match self.entry.logical {
            LogicalType::Absent | LogicalType::SameAsDtype => self.entry.dtype.is_some_and(is_float),
            LogicalType::Known(logical) => {
                logical != Logical::F8E8m0 && matches!(logical.numbers(), Numbers::Float8(_))
            }
            LogicalType::Other => false,
        }
    }

    /// The name of its logical type; `None` if it has none.
    pub fn logical_name(&self) -> Option<&'f str> {
        match self.entry.logical {
            LogicalType::Absent => None,
            LogicalType::Known(logical) => Some(logical.name()),
            LogicalType::SameAsDtype | LogicalType::Other => Some(self.text(self.rare().logical)),
        }
    }

    /// Its encoding.
    pub fn encoding(&self) -> Encoding {
        self.entry.encoding
    }

    /// Its encoding's name.
    pub fn encoding_name(&self) -> &'f str {
        self.entry.encoding.name().unwrap_or_else(|| self.text(self.rare().encoding))
    }

    /// The file with the manifest that lists it. Its bytes may be in a shard of that file.
    #[inline(always)]
    pub fn file_part(&self) -> &'f FilePart {
        self.file.parts.of_component(self.index)
    }

    /// The number of the file that has its bytes.
    pub fn part_number(&self) -> usize {
        self.file.part_of(self.index)
    }

    /// The source of its bytes. If they are in a shard that is not open, opens the shard.
    #[inline(always)]
    pub(crate) fn source(&self) -> Result<&'f dyn ByteSource> {
        match self.entry.is_in_shard() {
            true => self.file.shard_source(self.entry),
            false => Ok(self.file_part().file.source.as_ref()),
        }
    }

    /// The source of its bytes. If they are in a shard that is not open, the source of the file that lists
    /// the shard, because the shard probably has a similar one.
    pub(super) fn likely_source(&self) -> &'f dyn ByteSource {
        let part =
            if self.entry.is_in_shard() && self.is_open() { self.bytes_part() } else { self.file_part() };
        part.source()
    }

    /// Whether its bytes can be read without opening a file.
    pub(super) fn is_open(&self) -> bool {
        !self.entry.is_in_shard() || self.file.part(self.part_number()).is_some_and(FilePart::is_open)
    }

    /// Whether its source may only be read by threads of the caller.
    pub fn is_callers_thread(&self) -> bool {
        self.likely_source().profile().callers_thread
    }

    /// The offset of its first stored byte in its file.
    pub fn offset(&self) -> u64 {
        self.entry.offset
    }

    /// How many stored bytes it has.
    pub fn stored_size(&self) -> u64 {
        self.entry.stored_size
    }

    /// Its digest, as written in the file.
    pub fn digest(&self) -> Option<&'f str> {
        self.file.manifest.digest(self.entry)
    }

    /// Its manifest entry, as plain data.
    pub fn entry(&self) -> &'f manifest::Component {
        self.entry
    }

    /// The object that it belongs to.
    pub fn object(&self) -> Object<'f> {
        Object { file: self.file, entry: self.object }
    }

    fn rare(&self) -> RareNames {
        self.file.manifest.rare(self.entry)
    }

    fn text(&self, text: Option<manifest::TextId>) -> &'f str {
        text.map(|t| self.file.manifest.texts.get(t)).unwrap_or_default()
    }

    /// The file that has its bytes.
    pub(super) fn bytes_part(&self) -> &'f FilePart {
        self.file.part(self.part_number()).unwrap_or(self.file_part())
    }

    #[cold]
    pub(crate) fn wrap(&self, error: Error) -> Error {
        if error.is_named() {
            return error;
        }
        let error = self.file.or_changed(self.bytes_part(), error);
        let error = match self.file.shard_name(self.entry) {
            Some(name) => error.within(format_args!("shard {name:?}")),
            None => error,
        };
        self.object().wrap(error.within(format_args!("component {:?}", self.role())))
    }
}
