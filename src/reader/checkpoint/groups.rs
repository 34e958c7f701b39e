//! Which tensors of a file belong to one weight.

use super::config::Config;
use super::found::{Description, Found, MAX_PARTS};
use super::schemes::{Scheme, SCHEMES};
use crate::error::{broken, Cause, Error, Result, Rule};
use crate::memory::bytes_of;
use crate::model::manifest::Format;
use crate::reader::file::File;
use crate::reader::object::Object;

/// Tensors that belong to one weight, by their positions.
pub struct Group {
    pub scheme: &'static Scheme,
    /// In the order of the scheme's parts.
    pub tensors: [Option<u32>; MAX_PARTS],
    /// The name of the module.
    pub module: Vec<u8>,
    /// What the object says, or why its numbers cannot be read.
    pub description: Result<Description>,
}

impl Group {
    /// The position of its first tensor in the file.
    pub fn first(&self) -> u32 {
        self.tensors.iter().flatten().copied().min().unwrap_or(0)
    }
}

/// Looks for the tensors of weights.
struct Finder<'f> {
    file: &'f File,
    config: &'f Config,
    /// Whether a tensor belongs to a group.
    is_taken: Vec<bool>,
    groups: Vec<Group>,
    name: Vec<u8>,
}

/// The groups of a file.
pub fn find(file: &File, config: &Config) -> Result<Vec<Group>> {
    let count = file.object_count();
    file.charge_combined(count as u64, "the tensors of quantized weights")?;
    let mut is_taken = Vec::new();
    is_taken.try_reserve_exact(count)?;
    is_taken.resize(count, false);
    let mut finder = Finder { file, config, is_taken, groups: Vec::new(), name: Vec::new() };
    for at in 0..count {
        finder.look_by_codes(at)?;
    }
    for at in 0..count {
        finder.look_by_name(at)?;
    }
    Ok(finder.groups)
}

/// What a name has before a suffix.
fn before<'n>(name: &'n [u8], suffix: &str) -> Option<&'n [u8]> {
    name.strip_suffix(suffix.as_bytes()).filter(|module| !module.is_empty() || suffix.starts_with('.'))
}

impl<'f> Finder<'f> {
    fn tensor(&self, at: usize) -> Option<Object<'f>> {
        let object = self.file.object(at).filter(|object| object.format() == Format::Dense)?;
        Some(object).filter(|_| self.is_taken.get(at) == Some(&false))
    }

    /// Looks for the weight whose codes a tensor has.
    fn look_by_codes(&mut self, at: usize) -> Result<()> {
        let Some(object) = self.tensor(at) else { return Ok(()) };
        let Some(data) = object.component("data") else { return Ok(()) };
        let (name, dtype, logical) = (object.name_bytes(), data.dtype(), data.known_logical());
        let mut said = None;
        for scheme in &SCHEMES {
            let Some(codes) = scheme.parts.first() else { continue };
            let Some(module) = before(name, codes.suffix).filter(|_| (scheme.codes)(dtype, logical)) else {
                continue;
            };
            let tensors = self.siblings(scheme, module)?;
            let found = self.found(scheme, module, &tensors);
            if (scheme.is_it)(&found, self.config) {
                return self.add(scheme, module, tensors);
            }
            if said.is_none() && (scheme.is_said)(self.config) {
                said = Some((scheme, module, tensors));
            }
        }
        match said {
            Some((scheme, module, tensors)) => self.add(scheme, module, tensors),
            None => Ok(()),
        }
    }

    /// Looks for the weight of a tensor whose name alone shows that it is a part of one.
    fn look_by_name(&mut self, at: usize) -> Result<()> {
        let Some(object) = self.tensor(at) else { return Ok(()) };
        let name = object.name_bytes();
        for scheme in &SCHEMES {
            for part in scheme.parts.iter().filter(|part| part.is_sure) {
                let Some(module) = before(name, part.suffix) else { continue };
                let tensors = self.siblings(scheme, module)?;
                if (scheme.is_it)(&self.found(scheme, module, &tensors), self.config) {
                    return self.add(scheme, module, tensors);
                }
            }
        }
        Ok(())
    }

    /// The tensors of a module that a scheme names and that are in no other group.
    fn siblings(&mut self, scheme: &Scheme, module: &[u8]) -> Result<[Option<u32>; MAX_PARTS]> {
        let mut tensors = [None; MAX_PARTS];
        for (place, part) in tensors.iter_mut().zip(scheme.parts) {
            let found = self.position(module, part.suffix)?.filter(|at| self.tensor(*at).is_some());
            *place = found.and_then(|at| u32::try_from(at).ok());
        }
        Ok(tensors)
    }

    /// The position of the object of that name.
    fn position(&mut self, module: &[u8], suffix: &str) -> Result<Option<usize>> {
        self.name.clear();
        self.name.try_reserve(module.len().saturating_add(suffix.len()))?;
        self.name.extend_from_slice(module);
        self.name.extend_from_slice(suffix.as_bytes());
        Ok(self.file.find_position(&self.name))
    }

    fn found<'n>(
        &self,
        scheme: &'static Scheme,
        module: &'n [u8],
        tensors: &[Option<u32>; MAX_PARTS],
    ) -> Found<'n>
    where
        'f: 'n,
    {
        Found { parts: scheme.parts, module, tensors: tensors.map(|at| self.file.object(at? as usize)) }
    }

    fn add(
        &mut self,
        scheme: &'static Scheme,
        module: &[u8],
        tensors: [Option<u32>; MAX_PARTS],
    ) -> Result<()> {
        // Another tensor that has the name of the weight is the weight.
        let of_weight = self.position(module, scheme.weight)?;
        if of_weight.is_some_and(|at| !tensors.contains(&u32::try_from(at).ok())) {
            return Ok(());
        }
        let found = self.found(scheme, module, &tensors);
        let types = found.tensor("packed_weight").map(|codes| codes.element_type());
        let description = match types.filter(|(dtype, logical)| !(scheme.codes)(*dtype, *logical)) {
            Some((dtype, logical)) => {
                let unknown = dtype.map_or("unknown", |dtype| dtype.name());
                let name = logical.map_or(unknown, |logical| logical.name());
                let (codes, scheme) = (found.name_of("packed_weight")?, scheme.name);
                Err(broken!(
                    Rule::QuantizedGeometry,
                    "the codes {codes} are of {name}, which {scheme} does not have"
                ))
            }
            None => (scheme.describe)(&found, self.config),
        };
        let description = match description {
            Err(e) if !is_of_file(&e) => return Err(e),
            description => description,
        };
        self.file
            .charge_combined(bytes_of::<Group>(1).saturating_add(module.len() as u64), "quantized weights")?;
        for at in tensors.iter().flatten() {
            let place = usize::try_from(*at).ok().and_then(|at| self.is_taken.get_mut(at));
            place.into_iter().for_each(|place| *place = true);
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(module.len())?;
        copy.extend_from_slice(module);
        self.groups.try_reserve(1)?;
        self.groups.push(Group { scheme, tensors, module: copy, description });
        Ok(())
    }
}

/// Whether an error is the file's own, so that only one weight is lost by it.
fn is_of_file(error: &Error) -> bool {
    !matches!(error.cause(), Cause::OutOfMemory | Cause::Limit | Cause::Io | Cause::Internal)
}
