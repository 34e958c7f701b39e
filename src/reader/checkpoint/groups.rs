//! Which tensors of a file belong to one weight.

use super::config::Config;
use super::found::{Description, Found, Part, MAX_PARTS, NO_TENSOR};
use super::schemes::{Scheme, SCHEMES};
use crate::error::{fail, Cause, Error, Quoted, Result};
use crate::memory::{append, bytes_of, collected, filled, push, try_box};
use crate::model::dtype::Dtype;
use crate::model::manifest::{table_position, Format};
use crate::reader::file::File;
use crate::reader::object::Object;
use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::HashTable;
use std::hash::BuildHasher;

/// Tensors that belong to one weight.
pub struct Group {
    pub scheme: &'static Scheme,
    /// Where its tensors begin in [`Groups::tensors`], as many as the scheme has parts.
    tensors: u32,
    /// The name of its module: so many bytes of the name of that tensor.
    pub named_by: u32,
    pub module: u32,
    shape: [u64; 3],
    rank: u8,
    /// What its attributes are, in [`Groups::forms`], or why its numbers cannot be read.
    pub form: std::result::Result<u32, Box<Error>>,
}

pub struct WeightForm {
    pub scheme: &'static Scheme,
    pub description: Description,
}

#[derive(Default)]
pub struct Groups {
    pub all: Vec<Group>,
    /// Positions of objects, in the order of the parts of each scheme, or [`NO_TENSOR`].
    pub tensors: Vec<u32>,
    /// Mostly one, or a few: neighbours share theirs.
    pub forms: Vec<WeightForm>,
}

impl Groups {
    pub fn tensors(&self, group: &Group) -> &[u32] {
        let start = group.tensors as usize;
        self.tensors.get(start..start.saturating_add(group.scheme.parts.len())).unwrap_or_default()
    }

    /// The position of a weight's first tensor in the file.
    pub fn first(&self, group: &Group) -> u32 {
        self.tensors(group).iter().copied().min().unwrap_or(NO_TENSOR)
    }
}

impl Group {
    pub fn shape(&self) -> &[u64] {
        self.shape.get(..usize::from(self.rank)).unwrap_or_default()
    }
}

/// Bytes of an error with its text.
const MOST_OF_ERROR: u64 = 4096;

struct Finder<'f> {
    file: &'f File,
    config: &'f Config,
    /// The schemes that the configuration allows.
    schemes: Vec<&'static Scheme>,
    /// Those of them that it names, with their scales and codes.
    said: Vec<(&'static Scheme, &'static Part, &'static Part)>,
    /// The bytes that names of codes end with.
    ends: [bool; 256],
    /// The number of the group that a tensor belongs to, or [`NO_GROUP`].
    taken: Vec<u32>,
    groups: Groups,
    /// Hashes of the names of weights that no tensor has.
    names: HashTable<u64>,
    hasher: SeedableRandomState,
    /// How far each tensor of the last weight was from the one by which it was found. Mostly, the next weight
    /// has its tensors in the same order.
    steps: [usize; MAX_PARTS],
    name: Vec<u8>,
    /// Of the weight that was found last.
    description: Description,
    /// Memory that is counted and not used yet.
    counted: u64,
}

const NO_GROUP: u32 = u32::MAX;

/// The tensors of a module that a scheme names.
struct Siblings {
    /// Their positions, or [`NO_TENSOR`] for those that are missing or belong to another weight.
    tensors: [u32; MAX_PARTS],
    /// The number of another weight that has one, or [`NO_GROUP`].
    other: u32,
}

pub fn find(file: &File, config: &Config) -> Result<Groups> {
    let count = file.object_count();
    file.charge_combined(bytes_of::<u32>(count), "the tensors of quantized weights")?;
    let taken = filled(NO_GROUP, count)?;
    let schemes = collected(SCHEMES.len(), SCHEMES.iter().filter(|scheme| (scheme.may_be)(config)))?;
    let of_config = schemes.iter().filter(|scheme| (scheme.is_said)(config));
    let of_config = of_config.filter_map(|scheme| {
        let scales = scheme.parts.iter().find(|part| part.role == "scales")?;
        Some((*scheme, scales, scheme.parts.first()?))
    });
    let said = collected(schemes.len(), of_config)?;
    let mut ends = [false; 256];
    for part in schemes.iter().filter_map(|scheme| scheme.parts.first()) {
        let end = part.suffix.bytes().last().and_then(|byte| ends.get_mut(usize::from(byte)));
        end.into_iter().for_each(|end| *end = true);
    }
    let mut finder = Finder {
        file,
        config,
        schemes,
        ends,
        said,
        taken,
        groups: Groups::default(),
        names: HashTable::new(),
        hasher: crate::hash::state(),
        steps: [0; MAX_PARTS],
        name: Vec::new(),
        description: Description::default(),
        counted: 0,
    };
    for at in 0..count {
        finder.look_by_codes(at)?;
    }
    for at in 0..count {
        finder.look_by_name(at)?;
    }
    if !finder.said.is_empty() {
        for at in 0..count {
            finder.look_by_scales(at)?;
        }
    }
    Ok(finder.groups)
}

/// What a name has before a suffix.
fn before<'n>(name: &'n [u8], suffix: &str) -> Option<&'n [u8]> {
    if name.last() != suffix.as_bytes().last() {
        return None; // mostly
    }
    name.strip_suffix(suffix.as_bytes()).filter(|module| !module.is_empty() || suffix.starts_with('.'))
}

impl<'f> Finder<'f> {
    fn tensor(&self, at: usize) -> Option<Object<'f>> {
        if self.taken.get(at) != Some(&NO_GROUP) {
            return None;
        }
        // One with attributes would lose them.
        let is_one = |object: &Object<'f>| {
            object.format() == Format::Dense
                && object.components().len() == 1
                && object.attributes().is_none()
        };
        self.file.object(at).filter(is_one)
    }

    /// One of the possible schemes, and the tensor that has its codes.
    fn scheme(&self, at: usize) -> Option<(&'static Scheme, &'static Part)> {
        let scheme = *self.schemes.get(at)?;
        Some((scheme, scheme.parts.first()?))
    }

    /// Looks for the weight whose codes a tensor has.
    fn look_by_codes(&mut self, at: usize) -> Result<()> {
        let Some(object) = self.tensor(at) else { return Ok(()) };
        let Some(data) = object.components().next() else { return Ok(()) };
        let (name, dtype, logical) = (object.name_bytes(), data.dtype(), data.known_logical());
        let may_end = |byte: &u8| self.ends.get(usize::from(*byte)) == Some(&true);
        if !matches!(dtype, Some(Dtype::U8 | Dtype::I8 | Dtype::U32 | Dtype::I32))
            || !name.last().is_some_and(may_end)
        {
            return Ok(());
        }
        let mut said = None;
        for at_scheme in 0..self.schemes.len() {
            let Some((scheme, codes)) = self.scheme(at_scheme) else { continue };
            let Some(module) = before(name, codes.suffix) else { continue };
            if !(scheme.codes)(dtype, logical) {
                continue;
            }
            let siblings = self.siblings(scheme, module, at)?;
            if self.is_it(scheme, module, &siblings) {
                return self.add(scheme, module, &siblings, at);
            }
            if said.is_none() && (scheme.is_said)(self.config) {
                said = Some((scheme, module, siblings));
            }
        }
        match said {
            Some((scheme, module, siblings)) => self.add(scheme, module, &siblings, at),
            None => Ok(()),
        }
    }

    /// Looks for the weight of a tensor whose name alone shows that it is a part of one.
    fn look_by_name(&mut self, at: usize) -> Result<()> {
        let Some(object) = self.tensor(at) else { return Ok(()) };
        let name = object.name_bytes();
        if name.ends_with(b".weight") || name.ends_with(b".bias") {
            return Ok(()); // most names, and no sure ones
        }
        for at_scheme in 0..self.schemes.len() {
            let Some((scheme, _)) = self.scheme(at_scheme) else { continue };
            for part in scheme.parts.iter().filter(|part| part.is_sure) {
                let Some(module) = before(name, part.suffix) else { continue };
                let siblings = self.siblings(scheme, module, at)?;
                if siblings.other != NO_GROUP {
                    return self.spoil(siblings.other, name);
                }
                if self.is_it(scheme, module, &siblings) {
                    return self.add(scheme, module, &siblings, at);
                }
            }
        }
        Ok(())
    }

    /// Makes the numbers of a weight unreadable, as it has a tensor that its scheme does not have.
    #[cold]
    fn spoil(&mut self, number: u32, name: &[u8]) -> Result<()> {
        let group = self.groups.all.get(number as usize).filter(|group| group.form.is_ok());
        let Some(scheme) = group.map(|group| group.scheme) else { return Ok(()) };
        self.count_memory(scheme, true)?;
        let (name, of) = (Quoted(name), scheme.name);
        let why = try_box(fail!(Unsupported, "there is {name}, too, which weights of {of} do not have"))?;
        if let Some(group) = self.groups.all.get_mut(number as usize) {
            group.form = Err(why);
        }
        Ok(())
    }

    /// Looks for the weight of scales that have no codes. Their name may be of a tensor by itself, but
    /// not where the configuration says that there are such weights.
    fn look_by_scales(&mut self, at: usize) -> Result<()> {
        let Some(object) = self.tensor(at) else { return Ok(()) };
        let Some(data) = object.components().next() else { return Ok(()) };
        let (name, dtype, logical) = (object.name_bytes(), data.dtype(), data.known_logical());
        for at_scheme in 0..self.said.len() {
            let Some((scheme, scales, codes)) = self.said.get(at_scheme).copied() else { continue };
            let Some(module) = before(name, scales.suffix) else { continue };
            if (scheme.scales)(dtype, logical) && self.position(module, codes.suffix, at, 0)?.is_none() {
                let siblings = self.siblings(scheme, module, at)?;
                return self.add(scheme, module, &siblings, at);
            }
        }
        Ok(())
    }

    /// The tensors of a module that a scheme names. One of them is at that position.
    fn siblings(&mut self, scheme: &Scheme, module: &[u8], at: usize) -> Result<Siblings> {
        let mut siblings = Siblings { tensors: [NO_TENSOR; MAX_PARTS], other: NO_GROUP };
        for (number, (place, part)) in siblings.tensors.iter_mut().zip(scheme.parts).enumerate() {
            let step = self.steps.get(number).copied().unwrap_or(0);
            let Some(found) = self.position(module, part.suffix, at, step)? else { continue };
            if let Some(group) = self.taken.get(found).filter(|group| **group != NO_GROUP) {
                siblings.other = *group;
            }
            *place = self.tensor(found).map_or(Ok(NO_TENSOR), |_| table_position(found))?;
            self.steps.get_mut(number).into_iter().for_each(|step| *step = found.wrapping_sub(at));
        }
        Ok(siblings)
    }

    /// The position of the object of that name, which is likely to be near a sibling, at that step.
    fn position(&mut self, module: &[u8], suffix: &str, near: usize, step: usize) -> Result<Option<usize>> {
        const NEAR: [isize; 9] = [0, 1, -1, 2, -2, 3, -3, 4, -4];
        let length = module.len().saturating_add(suffix.len());
        if !self.file.capabilities().duplicate_names {
            let is_it = |at: usize| {
                let name = self.file.object(at).map_or(&b""[..], |object| object.name_bytes());
                name.len() == length && name.ends_with(suffix.as_bytes()) && name.starts_with(module)
            };
            let likely = near.wrapping_add(step);
            if is_it(likely) {
                return Ok(Some(likely));
            }
            if let Some(at) =
                NEAR.iter().filter_map(|step| near.checked_add_signed(*step)).find(|at| is_it(*at))
            {
                return Ok(Some(at));
            }
        }
        self.position_by_index(module, suffix)
    }

    /// The position of the object of that name, which may be anywhere.
    fn position_by_index(&mut self, module: &[u8], suffix: &str) -> Result<Option<usize>> {
        self.name.clear();
        self.name.try_reserve(module.len().saturating_add(suffix.len()))?;
        self.name.extend_from_slice(module);
        self.name.extend_from_slice(suffix.as_bytes());
        Ok(self.file.find_position(&self.name))
    }

    fn is_it(&self, scheme: &Scheme, module: &[u8], siblings: &Siblings) -> bool {
        (scheme.is_it)(&Found { parts: scheme.parts, module, tensors: &siblings.tensors, file: self.file })
    }

    fn add(&mut self, scheme: &'static Scheme, module: &[u8], siblings: &Siblings, at: usize) -> Result<()> {
        let tensors = siblings.tensors.get(..scheme.parts.len()).unwrap_or_default();
        let mut parts = scheme.parts.iter().zip(tensors);
        let has_the_name = parts.any(|(part, tensor)| part.suffix == scheme.weight && *tensor != NO_TENSOR);
        if siblings.other != NO_GROUP || !has_the_name && !self.is_free_name(scheme, module)? {
            return Ok(());
        }
        let described = match self.describe(scheme, module, &siblings.tensors) {
            Err(e) if !is_of_file(&e) => return Err(e),
            described => described,
        };
        self.count_memory(scheme, described.is_err())?;
        let number = table_position(self.groups.all.len())?;
        for at in tensors.iter().filter(|at| **at != NO_TENSOR) {
            self.taken.get_mut(*at as usize).into_iter().for_each(|place| *place = number);
        }
        let start = table_position(self.groups.tensors.len())?;
        append(&mut self.groups.tensors, tensors)?;
        let (mut shape, mut rank) = ([0; 3], 0);
        let form = match described {
            Ok(()) => {
                let stated = self.description.shape();
                shape.iter_mut().zip(stated).for_each(|(place, dimension)| *place = *dimension);
                rank = u8::try_from(stated.len()).unwrap_or(u8::MAX);
                Ok(self.form(scheme)?)
            }
            Err(why) => Err(try_box(why)?),
        };
        let (named_by, module) = (table_position(at)?, table_position(module.len())?);
        push(&mut self.groups.all, Group { scheme, tensors: start, named_by, module, shape, rank, form })
    }

    /// Whether neither a tensor nor another weight has the name of the weight; from now on, this one has it.
    fn is_free_name(&mut self, scheme: &Scheme, module: &[u8]) -> Result<bool> {
        if self.position_by_index(module, scheme.weight)?.is_some() {
            return Ok(false);
        }
        let hash = self.hasher.hash_one((module, scheme.weight));
        if self.names.find(hash, |other| *other == hash).is_some() {
            return Ok(false);
        }
        self.names
            .try_reserve(1, |hash| *hash)
            .map_err(|_| fail!(OutOfMemory, "could not index the weights"))?;
        self.names.insert_unique(hash, hash, |hash| *hash);
        Ok(true)
    }

    /// Counts the memory of one more weight, many at a time.
    fn count_memory(&mut self, scheme: &Scheme, has_error: bool) -> Result<()> {
        /// Names and positions.
        const MOST_OF_ONE: u64 = 512;
        /// So much is counted before it is used.
        const AT_ONCE: u64 = 1 << 16;
        let of_error = if has_error { MOST_OF_ERROR } else { MOST_OF_ONE };
        let of_one = bytes_of::<u32>(scheme.parts.len()).saturating_add(of_error);
        if self.counted < of_one {
            self.file.charge_combined(AT_ONCE, "quantized weights")?;
            self.counted = self.counted.saturating_add(AT_ONCE);
        }
        self.counted = self.counted.saturating_sub(of_one);
        Ok(())
    }

    /// Describes a weight in [`Finder::description`].
    fn describe(&mut self, scheme: &'static Scheme, module: &[u8], tensors: &[u32; MAX_PARTS]) -> Result<()> {
        let found = Found { parts: scheme.parts, module, tensors, file: self.file };
        for (role, is_it) in [("packed_weight", scheme.codes), ("scales", scheme.scales)] {
            let Some(tensor) = found.tensor(role) else { continue };
            let (dtype, logical) = tensor.element_type();
            if !is_it(dtype, logical) {
                let unknown = dtype.map_or("unknown", |dtype| dtype.name());
                let of = logical.map_or(unknown, |logical| logical.name());
                let (name, scheme) = (found.name_of(role)?, scheme.name);
                return Err(geometry!("the {role} {name} are of {of}, which {scheme} does not have"));
            }
        }
        (scheme.describe)(&found, self.config, &mut self.description)
    }

    /// The number of the form that the last description has. Neighbours mostly have the same.
    fn form(&mut self, scheme: &'static Scheme) -> Result<u32> {
        let last = self.groups.forms.len().saturating_sub(1);
        let attributes = self.description.attributes();
        let is_same = |form: &WeightForm| {
            std::ptr::eq(form.scheme, scheme) && form.description.attributes() == attributes
        };
        if self.groups.forms.last().is_some_and(is_same) {
            return table_position(last);
        }
        self.file.charge_combined(bytes_of::<WeightForm>(1), "quantized weights")?;
        push(&mut self.groups.forms, WeightForm { scheme, description: self.description.clone() })?;
        table_position(self.groups.forms.len().saturating_sub(1))
    }
}

/// Whether an error is the file's own, so that only one weight is lost by it.
fn is_of_file(error: &Error) -> bool {
    match error.cause() {
        Cause::Limit => error.is_named(), // of a component; others are those of opening
        cause => !matches!(cause, Cause::OutOfMemory | Cause::Io | Cause::Internal),
    }
}
