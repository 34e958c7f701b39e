//! Names of numbered files, `PREFIX-00001-of-00005.EXTENSION`, in all spellings in use.

use crate::error::{try_format, Result};

/// Files of one model have the same stem and the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// safetensors or PyTorch files. The lower number is preferred.
    Weights(u8),
    /// Other formats: a model's files all have the same format.
    Own(u8),
}

impl Family {
    pub fn is_same(self, other: Family) -> bool {
        self == other || matches!((self, other), (Family::Weights(_), Family::Weights(_)))
    }

    pub fn is_preferred_to(self, other: Family) -> bool {
        matches!((self, other), (Family::Weights(one), Family::Weights(other)) if one < other)
    }
}

/// The extensions of model files. If a model has files with several of them, the first in this list is
/// preferred. Numbered files of the family `Weights` have an index.
pub const EXTENSIONS: [(&str, Family); 8] = [
    ("safetensors", Family::Weights(0)),
    ("bin", Family::Weights(1)),
    ("pt", Family::Weights(1)),
    ("pth", Family::Weights(1)),
    ("ckpt", Family::Weights(1)),
    ("zt", Family::Own(0)),
    ("gguf", Family::Own(1)),
    ("npz", Family::Own(2)),
];

/// The text between the number and the count, in lower or upper case.
const BETWEEN: [&str; 2] = ["-of-", "_of_"];
/// Characters allowed before the number and after the count.
const SEPARATORS: [char; 3] = ['-', '_', '.'];
/// The most files of a numbered set.
const MAX_COUNT: u32 = 99_999;

/// A name, split. All names of a set differ only in `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberedName<'n> {
    /// The text before the number, including the separator.
    pub prefix: &'n str,
    /// The text after the count: possibly a variant, then the extension.
    pub suffix: &'n str,
    pub count: u32,
    /// How many digits the number has.
    digits: usize,
    /// The count as written, with the text before it.
    of_count: &'n str,
    pub number: u32,
}

/// The number and the count, if `name` is the name of one of several files of a model. Numbers run from 1 to
/// the count, or from 0 to the count less one. The name has no folder, or '/' after the folder.
pub fn part_of_set(name: &str) -> Option<(u32, u32)> {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    NumberedName::parse(name).map(|numbered| (numbered.number, numbered.count))
}

impl<'n> NumberedName<'n> {
    pub fn parse(name: &'n str) -> Option<NumberedName<'n>> {
        BETWEEN.iter().find_map(|between| {
            let windows = || name.as_bytes().windows(between.len());
            let at = windows().rposition(|window| window.eq_ignore_ascii_case(between.as_bytes()))?;
            let (front, behind) = name.split_at_checked(at)?;
            let count = behind.get(between.len()..)?;
            let is_digit = |c: char| c.is_ascii_digit();
            let (prefix, suffix) = (front.trim_end_matches(is_digit), count.trim_start_matches(is_digit));
            let (number, of_count) = (front.get(prefix.len()..)?, behind.strip_suffix(suffix)?);
            let count = count.strip_suffix(suffix)?;
            let is_separated = |at: Option<char>| at.is_none_or(|at| SEPARATORS.contains(&at));
            let is_model = suffix.rsplit_once('.').is_some_and(|(_, end)| family_of(end).is_some());
            if !is_model || !is_separated(prefix.chars().next_back()) || !is_separated(suffix.chars().next())
            {
                return None;
            }
            let (digits, number, count) = (number.len(), parse_number(number)?, parse_number(count)?);
            let found = NumberedName { prefix, suffix, count, digits, of_count, number };
            (count > 0 && number <= count).then_some(found)
        })
    }

    pub fn name(&self, number: u32) -> Result<String> {
        let NumberedName { prefix, suffix, digits, of_count, .. } = self;
        try_format(format_args!("{prefix}{number:0digits$}{of_count}{suffix}"))
    }

    /// The name with the number cleared, so that it is equal for all names of a set.
    pub fn set(self) -> NumberedName<'n> {
        NumberedName { number: 0, ..self }
    }

    pub fn is_of_set(&self, other: &NumberedName<'_>) -> bool {
        self.set() == other.set()
    }

    /// The names that programs give to the index of this set. Only safetensors and PyTorch files have one.
    pub fn index_names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let prefix = self.prefix.trim_end_matches(SEPARATORS);
        let (variant, extension) = self.suffix.rsplit_once('.').unwrap_or_default();
        if !matches!(family_of(extension), Some(Family::Weights(_))) {
            return Ok(names);
        }
        // In `model.fp16-00001-of-00002.safetensors`, the variant comes before the number.
        let (stem, variant) = match variant.trim_start_matches(SEPARATORS) {
            "" => prefix.rsplit_once('.').unwrap_or((prefix, "")),
            variant => (prefix, variant),
        };
        names.try_reserve_exact(4)?; // at most four names
        if !variant.is_empty() {
            names.push(try_format(format_args!("{stem}.{extension}.index.{variant}.json"))?);
            names.push(try_format(format_args!("{stem}.{extension}.{variant}.index.json"))?);
            names.push(try_format(format_args!("{stem}.{variant}.{extension}.index.json"))?);
        }
        names.push(try_format(format_args!("{stem}.{extension}.index.json"))?);
        Ok(names)
    }
}

/// The family of files with that extension; `None` if they are not models.
pub fn family_of(extension: &str) -> Option<Family> {
    EXTENSIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension)).map(|(_, family)| *family)
}

fn parse_number(digits: &str) -> Option<u32> {
    let is_number = (1..=9).contains(&digits.len());
    digits.parse().ok().filter(|number| is_number && *number <= MAX_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_one_of_the_names_that_programs_give() {
        let of = |name: &str| NumberedName::parse(name).unwrap().index_names().unwrap();
        assert_eq!(of("m-00001-of-00002.safetensors"), ["m.safetensors.index.json"]);
        let of_variant = [
            "m.safetensors.index.fp16.json",
            "m.safetensors.fp16.index.json",
            "m.fp16.safetensors.index.json",
            "m.safetensors.index.json",
        ];
        assert_eq!(of("m.fp16-00001-of-00002.safetensors"), of_variant);
        assert_eq!(of("m-00001-of-00002.fp16.safetensors"), of_variant);
        assert!(of("m-00001-of-00002.gguf").is_empty());
    }

    #[test]
    fn each_form_is_a_number_a_count_and_the_names_of_the_others() {
        let cases = [
            ("m-00001-of-00005.gguf", (1, 5), "m-00003-of-00005.gguf"),
            ("m_00002-of-00003.safetensors", (2, 3), "m_00003-of-00003.safetensors"),
            ("m-00000-of-00004.safetensors", (0, 4), "m-00003-of-00004.safetensors"),
            ("m-00001-of-000163.safetensors", (1, 163), "m-00003-of-000163.safetensors"),
            ("m-1-of-12.pt", (1, 12), "m-3-of-12.pt"),
            ("pytorch_model-00001-of-00003.bin", (1, 3), "pytorch_model-00003-of-00003.bin"),
            ("x-00001-of-00003.fp16.safetensors", (1, 3), "x-00003-of-00003.fp16.safetensors"),
            ("x.fp16-00001-of-00003.safetensors", (1, 3), "x.fp16-00003-of-00003.safetensors"),
            ("a.b-00001-of-00003-bf16.zt", (1, 3), "a.b-00003-of-00003-bf16.zt"),
            ("00001-of-00003.gguf", (1, 3), "00003-of-00003.gguf"),
            ("m_1_of_3.npz", (1, 3), "m_3_of_3.npz"),
            ("m-00001-OF-00003.gguf", (1, 3), "m-00003-OF-00003.gguf"),
            ("m_1_Of_3.npz", (1, 3), "m_3_Of_3.npz"),
            ("m.00001-of-00003.GGUF", (1, 3), "m.00003-of-00003.GGUF"),
            ("a-1-of-2-00001-of-00003.gguf", (1, 3), "a-1-of-2-00003-of-00003.gguf"),
        ];
        for (name, found, third) in cases {
            assert_eq!(part_of_set(name), Some(found), "{name}");
            let parsed = NumberedName::parse(name).unwrap();
            assert_eq!(parsed.name(3).unwrap(), third);
            assert_eq!(parsed.name(found.0).unwrap(), name);
            assert!(parsed.is_of_set(&NumberedName::parse(third).unwrap_or(parsed)));
        }
        assert_eq!(part_of_set("folder/m-00001-of-00005.gguf"), Some((1, 5)));
    }

    #[test]
    fn other_names_are_not_numbered() {
        for name in [
            "m.gguf",
            "m-00001.gguf",
            "m-00006-of-00005.gguf",
            "m-00001-of-00000.gguf",
            "m-00000-of-00000.gguf",
            "m-of-00005.gguf",
            "m-x-of-5.gguf",
            "top3-of-5.pt",
            "m-1-of-5x.gguf",
            "m-00001-of-00005",
            "m-00001-of-00005.json",
            "m-00001-of-00005.gguf.part",
            "m-0000000001-of-0000000002.gguf",
            "m-1-of-100000.gguf",
            "m-1-of-é.gguf",
            "é-of-é.gguf",
            "",
            "-of-",
        ] {
            assert_eq!(part_of_set(name), None, "{name}");
        }
    }
}
