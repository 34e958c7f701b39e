//! The index of a model with several files, as Hugging Face defines it: `{"metadata": {...}, "weight_map":
//! {tensor: file}}`.

use super::frame::Limits;
use super::json::{PassedKeys, Scan};
use super::tables::{add_to, push};
use crate::error::{broken, fail, Quoted, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::{TextArena, TextId};
use crate::model::sort::sort_by;
use std::ops::Range;

/// The number of the index's outer object among the objects with unknown keys.
const ROOT: u32 = 0;
/// The longest path of a file.
const MAX_PATH_SIZE: usize = 4096;

/// Says which tensor is in which file.
#[derive(Debug, Default)]
pub struct ShardIndex {
    texts: TextArena,
    /// Pairs of a tensor and its file, sorted by file, then by tensor.
    entries: Vec<(TextId, TextId)>,
    /// The names of all tensors, sorted.
    tensors: Vec<TextId>,
    /// The positions of each file's entries.
    files: Vec<Range<usize>>,
}

impl ShardIndex {
    /// Reads an index. Its `metadata` is for people; it and everything else is ignored.
    pub fn decode(bytes: &[u8], limits: &Limits, budget: &Budget) -> Result<ShardIndex> {
        let mut index = ShardIndex::default();
        let mut scan = Scan::new(bytes, "the index", budget)?;
        let (mut scratch, mut passed) = (Vec::new(), PassedKeys::default());
        let (mut is_first, mut has_map) = (true, false);
        scan.expect(b'{', "expected an object")?;
        while scan.another(std::mem::take(&mut is_first), b'}')? {
            let key = scan.string(&mut scratch)?;
            if key != b"weight_map" {
                passed.push(budget, ROOT, key)?;
                scan.expect(b':', "expected \":\"")?;
                scan.skip(&mut scratch, &mut passed)?;
                continue;
            }
            scan.expect(b':', "expected \":\"")?;
            if std::mem::replace(&mut has_map, true) {
                return Err(broken!(Rule::JsonDuplicateKey, "the index has two \"weight_map\""));
            }
            index.weight_map(&mut scan, limits, budget)?;
        }
        scan.end()?;
        passed.check(budget)?;
        if index.entries.is_empty() {
            return Err(broken!(Rule::IndexType, "the index has no \"weight_map\" that names a tensor"));
        }
        index.group(budget)?;
        Ok(index)
    }

    fn weight_map(&mut self, scan: &mut Scan<'_>, limits: &Limits, budget: &Budget) -> Result<()> {
        let (mut scratch, mut is_first) = (Vec::new(), true);
        let mut last: Option<TextId> = None;
        scan.expect(b'{', "expected an object as weight_map")?;
        while scan.another(std::mem::take(&mut is_first), b'}')? {
            if self.entries.len() as u64 >= limits.objects {
                return Err(fail!(Limit, "the index has more than {} tensors", limits.objects));
            }
            let tensor = add_to(budget, &mut self.texts, scan.string(&mut scratch)?)?;
            scan.expect(b':', "expected \":\"")?;
            let file = scan.string(&mut scratch)?;
            let file = match last.filter(|last| self.texts.get_bytes(*last) == file) {
                Some(same) => same,
                None => {
                    let tensor = Quoted(self.texts.get_bytes(tensor));
                    check_path(file).map_err(|e| e.within(format_args!("tensor {tensor}")))?;
                    add_to(budget, &mut self.texts, file)?
                }
            };
            last = Some(file);
            push(budget, &mut self.entries, (tensor, file))?;
        }
        Ok(())
    }

    /// Sorts the tensors by file. Fails if a name occurs twice.
    fn group(&mut self, budget: &Budget) -> Result<()> {
        let ShardIndex { texts, entries, tensors, files } = self;
        let text = |id: &TextId| texts.get_bytes(*id);
        sort_by(entries, |a, b| text(&a.0).cmp(text(&b.0)));
        let twice = entries.windows(2).find(|pair| matches!(pair, [a, b] if text(&a.0) == text(&b.0)));
        if let Some([(name, _), ..]) = twice {
            let name = Quoted(text(name));
            return Err(broken!(Rule::JsonDuplicateKey, "tensor {name} is twice in the weight_map"));
        }
        entries.iter().try_for_each(|(tensor, _)| push(budget, tensors, *tensor))?;
        sort_by(entries, |a, b| (text(&a.1), text(&a.0)).cmp(&(text(&b.1), text(&b.0))));
        let mut start = 0usize;
        for same in entries.chunk_by(|a, b| text(&a.1) == text(&b.1)) {
            let end = start.saturating_add(same.len());
            push(budget, files, start..end)?;
            start = end;
        }
        Ok(())
    }

    /// The number of files that it names.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// The name of a file, sorted by name. It is a path that stays in the index's folder.
    pub fn file(&self, at: usize) -> &str {
        self.entries_of(at).first().map(|(_, file)| self.texts.get(*file)).unwrap_or_default()
    }

    /// The tensors that a file must have.
    pub fn tensors(&self, file: usize) -> impl Iterator<Item = &[u8]> {
        self.entries_of(file).iter().map(|(tensor, _)| self.texts.get_bytes(*tensor))
    }

    /// Whether it names a file in its own folder.
    pub fn has_file(&self, name: &str) -> bool {
        let find = |dot: &[u8]| {
            let order = |file: &Range<usize>| {
                let file = self.entries.get(file.start).map(|(_, file)| self.texts.get_bytes(*file));
                file.unwrap_or_default().iter().cmp(dot.iter().chain(name.as_bytes()))
            };
            self.files.binary_search_by(order).is_ok()
        };
        find(b"") || find(b"./")
    }

    /// Whether it gives this tensor to a file.
    pub fn has_tensor(&self, name: &[u8]) -> bool {
        self.tensors.binary_search_by(|tensor| self.texts.get_bytes(*tensor).cmp(name)).is_ok()
    }

    /// Whether another index gives the same tensors to the same files.
    pub fn is_same(&self, other: &ShardIndex) -> bool {
        self.pairs().eq(other.pairs())
    }

    /// The names of each tensor and its file.
    fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(tensor, file)| (self.texts.get_bytes(*tensor), self.texts.get_bytes(*file)))
    }

    fn entries_of(&self, file: usize) -> &[(TextId, TextId)] {
        let range = self.files.get(file).cloned().unwrap_or_default();
        self.entries.get(range).unwrap_or_default()
    }
}

/// Refuses paths that lead out of the index's folder. Only the text is checked, not what it resolves to,
/// because caches of downloads have links instead of files.
fn check_path(path: &[u8]) -> Result<()> {
    let why = match path {
        [] => "is empty",
        [b'/', ..] => "is absolute",
        [_, b':', ..] => "begins with a drive",
        _ if path.len() > MAX_PATH_SIZE => "is longer than 4096 bytes",
        _ if path.contains(&b'\\') => "has a backslash",
        _ if path.contains(&0) => "has a NUL",
        _ if path.split(|b| *b == b'/').any(|name| name == b"..") => "leads out of the folder",
        _ => return Ok(()),
    };
    let shown = Quoted(path.get(..path.len().min(200)).unwrap_or_default());
    Err(broken!(Rule::IndexPath, "the file {shown}, which the index assigns to it, {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> Result<ShardIndex> {
        ShardIndex::decode(text.as_bytes(), &Limits::default(), &Budget::new(1 << 20))
    }

    #[test]
    fn tensors_are_listed_by_file() {
        let index = decode(
            r#" {"metadata": {"total_size": 1e3, "x": [{}]},
                "weight_map": {"c": "b.st", "a": "a.st", "b": "b\u002est"}} "#,
        );
        let index = index.unwrap();
        let found: Vec<(&str, Vec<&[u8]>)> =
            (0..index.file_count()).map(|at| (index.file(at), index.tensors(at).collect())).collect();
        let mut second = found[1].1.clone();
        second.sort_unstable();
        assert_eq!((found.len(), found[0].0, found[1].0), (2, "a.st", "b.st"));
        assert_eq!(
            (found[0].1.as_slice(), second.as_slice()),
            ([b"a".as_slice()].as_slice(), [b"b".as_slice(), b"c"].as_slice())
        );
        assert_eq!((index.file(2), index.tensors(2).count()), ("", 0));
    }

    #[test]
    fn what_is_no_index_is_refused_by_a_rule() {
        let cases = [
            ("", Rule::JsonSyntax),
            ("[]", Rule::JsonSyntax),
            ("{}", Rule::IndexType),
            (r#"{"weight_map": {}}"#, Rule::IndexType),
            (r#"{"weight_map": []}"#, Rule::JsonSyntax),
            (r#"{"weight_map": {"a": 1}}"#, Rule::JsonSyntax),
            (r#"{"weight_map": {"a": "x"}} x"#, Rule::JsonSyntax),
            (r#"{"weight_map": {"a": "x"}, "weight_map": {"b": "x"}}"#, Rule::JsonDuplicateKey),
            (r#"{"weight_map": {"a": "x", "b": "x", "\u0061": "y"}}"#, Rule::JsonDuplicateKey),
            (r#"{"metadata": {"a": [], "a": 1}, "weight_map": {"a": "x"}}"#, Rule::JsonDuplicateKey),
            (r#"{"metadata": {}, "weight_map": {"a": "x"}, "metadata": {}}"#, Rule::JsonDuplicateKey),
        ];
        for (text, rule) in cases {
            assert_eq!(decode(text).unwrap_err().rule(), Some(rule), "{text}");
        }
        let deep = format!(r#"{{"metadata": {}"#, "[".repeat(200_000));
        assert_eq!(decode(&deep).unwrap_err().rule(), Some(Rule::JsonDepth));
        let few = Limits { objects: 1, ..Limits::default() };
        let two = br#"{"weight_map": {"a": "x", "b": "x"}}"#;
        let outcome = ShardIndex::decode(two, &few, &Budget::new(1 << 20)).unwrap_err();
        assert_eq!(outcome.cause(), crate::error::Cause::Limit);
        let outcome = ShardIndex::decode(two, &Limits::default(), &Budget::new(100)).unwrap_err();
        assert_eq!(outcome.cause(), crate::error::Cause::Limit);
    }

    #[test]
    fn a_path_that_leaves_its_folder_is_refused_by_its_text() {
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a/..", "..", "C:/x", "c:x", "a\\b", "a\0b"] {
            let error = check_path(path.as_bytes()).unwrap_err();
            assert_eq!(error.rule(), Some(Rule::IndexPath), "{path}");
        }
        assert!(check_path(&[b'a'; 5000]).is_err());
        for path in ["a", "./a", "sub/a..b", "..a", "a/.b"] {
            assert!(check_path(path.as_bytes()).is_ok(), "{path}");
        }
    }
}
