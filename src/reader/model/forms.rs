//! The forms of a model: files of other formats, variants, indexes; and which of them is preferred.

use super::listing::{family, listed, stem, Family};
use super::numbered::NumberedName;
use crate::container::ShardIndex;
use crate::error::{fail, Result};

/// The most models of which one is chosen by its form.
const MAX_COMPARED: usize = 256;

/// What a folder may be opened as.
pub struct Candidate<'l> {
    pub name: &'l str,
    stem: String,
    family: Option<Family>,
    pub kind: Kind<'l>,
}

/// What a candidate is.
pub enum Kind<'l> {
    /// An index, or why it cannot be read.
    Index(Result<ShardIndex>),
    /// Numbered files.
    Set(NumberedName<'l>),
    /// With its shards, where it is known to have such.
    File(Vec<String>),
}

impl<'l> Candidate<'l> {
    pub fn new(name: &'l str, kind: Kind<'l>) -> Result<Candidate<'l>> {
        let (stem, found) = stem(name)?;
        let of_index = match &kind {
            Kind::Index(Ok(index)) => family(index.file(0)),
            _ => None,
        };
        Ok(Candidate { name, stem, family: found.or(of_index), kind })
    }

    pub fn is_index(&self) -> bool {
        matches!(self.kind, Kind::Index(_))
    }

    /// Whether the other one may be shards of a former or a future state of this file: a replacement that was
    /// stopped leaves `STEM-00001-of-00002.zt` or `STEM-r2-00001-of-00002.zt` beside `STEM.zt`.
    fn may_have_left(&self, other: &Candidate<'_>, behind_stem: &str) -> bool {
        let is_generation = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let is_own = behind_stem.is_empty() || behind_stem.strip_prefix("-r").is_some_and(is_generation);
        let is_zt = self.name.ends_with(".zt") && other.name.ends_with(".zt");
        is_own && is_zt && matches!((&self.kind, &other.kind), (Kind::File(_), Kind::Set(_)))
    }

    /// Whether it is a form of the same model that comes before `other`.
    fn is_preferred_to(&self, other: &Candidate<'_>) -> bool {
        let (Some(one), Some(two)) = (self.family, other.family) else { return false };
        if !one.is_same(two) {
            return false;
        }
        match other.stem.strip_prefix(self.stem.as_str()) {
            Some("") => match (&self.kind, &other.kind) {
                _ if one != two => one.is_preferred_to(two),
                (Kind::Index(Ok(index)), Kind::Index(Ok(others))) => {
                    index.is_same(others) && self.name < other.name
                }
                (Kind::Index(_), Kind::Index(_)) => false,
                (Kind::Index(_), _) => true,
                _ => self.may_have_left(other, ""),
            },
            Some(variant) if variant.starts_with('.') => !self.stem.is_empty(),
            Some(behind) => self.may_have_left(other, behind),
            None => false,
        }
    }
}

/// Whether two names are of forms of one model.
pub fn is_one_model(one: &str, other: &str) -> Result<bool> {
    let ((one, _), (other, _)) = (stem(one)?, stem(other)?);
    let is_variant =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
    Ok(one == other || is_variant(&one, &other) || is_variant(&other, &one))
}

/// The index that rules, of several that name a file.
pub fn preferred_index(found: Vec<(&str, ShardIndex)>) -> Result<Option<(&str, ShardIndex)>> {
    let mut all = Vec::new();
    all.try_reserve_exact(found.len())?;
    for (name, index) in found {
        all.push(Candidate::new(name, Kind::Index(Ok(index)))?);
    }
    reduce(&mut all)?;
    if all.len() > 1 {
        let names = listed(all.iter().map(|candidate| candidate.name));
        return Err(fail!(InvalidArgument, "several indexes name it, so name one of them: {names}"));
    }
    Ok(all.pop().and_then(|candidate| match candidate.kind {
        Kind::Index(Ok(index)) => Some((candidate.name, index)),
        _ => None,
    }))
}

/// Takes away those to which another one is preferred.
pub fn reduce(all: &mut Vec<Candidate<'_>>) -> Result<()> {
    if all.len() > MAX_COMPARED {
        return Ok(());
    }
    let mut stays = Vec::new();
    stays.try_reserve_exact(all.len())?;
    stays.extend(all.iter().map(|candidate| !all.iter().any(|other| other.is_preferred_to(candidate))));
    let mut stays = stays.into_iter();
    all.retain(|_| stays.next() == Some(true));
    Ok(())
}
