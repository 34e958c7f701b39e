//! Values on the command line: what is chosen by name, sizes, new names.

use super::{GlobOrPath, Rename};
use crate::names;
use crate::failure::{Failure, Outcome};
use crate::remote;
use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;
use ztensor::model::manifest::Encoding;
use ztensor::reader::File;

pub fn encoding(name: &str) -> Result<Encoding, String> {
    let names: Vec<_> = Encoding::written().filter_map(Encoding::name).collect();
    Encoding::from_name(name).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// Whether a name matches one of the globs, or there is none.
pub fn is_chosen<'g>(name: &str, globs: impl IntoIterator<Item = &'g GlobMatcher>) -> bool {
    let mut globs = globs.into_iter().peekable();
    globs.peek().is_none() || globs.any(|glob| glob.is_match(name))
}

/// Refuses a glob that no object matches: of a wrong name it would say that all is well.
pub fn check_matches(globs: &[GlobMatcher], path: &Path, files: &[&File]) -> Outcome<()> {
    let matches = |glob: &&GlobMatcher| {
        files.iter().flat_map(|file| file.objects()).any(|object| glob.is_match(&*names::text(&object)))
    };
    match globs.iter().find(|glob| !matches(glob)) {
        Some(glob) => Err(Failure::at(path, format!("no object matches {:?}", glob.glob().glob()))),
        None => Ok(()),
    }
}

pub fn glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|e| e.kind().to_string())
}

pub fn glob_or_path(text: &str) -> Result<GlobOrPath, String> {
    let path = Path::new(text);
    match path.exists() || remote::is_url(path) {
        true => Ok(GlobOrPath::Path(path.to_owned())),
        false => glob(text).map(GlobOrPath::Glob),
    }
}

pub fn rename(text: &str) -> Result<Rename, String> {
    let (old, new) = text.split_once('=').ok_or("not OLD=NEW")?;
    let owned = |(a, b): (&str, &str)| (a.to_owned(), b.to_owned());
    match (old.split_once('*'), new.split_once('*')) {
        (None, None) => Ok(Rename::Whole(old.to_owned(), new.to_owned())),
        (Some(old), Some(new)) if !old.1.contains('*') && !new.1.contains('*') => {
            Ok(Rename::Around(owned(old), owned(new)))
        }
        _ => Err(String::from("there is to be one * on both sides, or none")),
    }
}

/// Bytes, as 4096, 4K or 2G.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1u64),
    };
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit))
}

pub fn size(text: &str) -> Result<u64, String> {
    bytes(text).filter(|n| *n > 0).ok_or_else(|| String::from("not a number of bytes"))
}

pub fn frame_size(text: &str) -> Result<u64, String> {
    let allowed = |n: &u64| (1 << 10..=1 << 30).contains(n);
    bytes(text).filter(allowed).ok_or_else(|| String::from("not from 1K to 1G"))
}

pub fn alignment(text: &str) -> Result<u64, String> {
    let allowed = |n: &u64| n.is_power_of_two() && (64..=1 << 40).contains(n);
    bytes(text).filter(allowed).ok_or_else(|| String::from("not a power of two from 64 to 1024G"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_powers_of_two_from_64() {
        assert_eq!(alignment("64"), Ok(64));
        assert_eq!(alignment("4K"), Ok(4096));
        assert_eq!(alignment("2m"), Ok(2 << 20));
        for bad in ["", "K", "63", "96", "32", "0", "-64", "1.5K", "9999999999999999999G", "2048G"] {
            assert!(alignment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn renames_have_one_star_on_both_sides_or_none() {
        let own = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(rename("a=b=c"), Ok(Rename::Whole("a".into(), "b=c".into())));
        assert_eq!(rename("model.*=*"), Ok(Rename::Around(own("model.", ""), own("", ""))));
        for bad in ["", "a", "a*=b", "a=b*", "*a*=b*", "*=**"] {
            assert!(rename(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_chosen_by_any_glob_and_all_are_without_one() {
        let globs = ["a*", "*z"].map(|text| glob(text).unwrap());
        let chosen = ["ab", "bz", "b"].map(|name| (is_chosen(name, &globs), is_chosen(name, &[])));
        assert_eq!(chosen, [(true, true), (true, true), (false, true)]);
    }

    #[test]
    fn a_file_that_is_there_and_a_url_are_no_globs() {
        let is_path = |text: &str| matches!(glob_or_path(text), Ok(GlobOrPath::Path(_)));
        let texts = ["Cargo.toml", "https://host/b.zt?a=[", "Cargo.*", "layers.0"];
        assert_eq!(texts.map(is_path), [true, true, false, false]);
    }

    #[test]
    fn a_star_matches_dots_and_slashes() {
        let matcher = glob("layer.*.weight").unwrap();
        assert!(matcher.is_match("layer.0.attention/query.weight"));
        assert!(!matcher.is_match("layer.0.bias"));
        assert!(glob("[").is_err());
    }
}
