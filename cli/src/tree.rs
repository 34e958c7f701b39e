//! `zt ls --tree`: sums by name prefix. Dots and slashes separate the parts of a name.

use crate::failure::Outcome;
use crate::output::Output;
use crate::table::{Align, Table};
use crate::text;
use std::collections::BTreeMap;

/// Objects with a common prefix, up to some depth.
#[derive(Default)]
pub struct Tree {
    below: BTreeMap<Part, Tree>,
    objects: u64,
    stored: u64,
    /// The type and shape, if it is an object.
    leaf: Option<String>,
}

/// A part of a name. Numbers come first, sorted by value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part(u64, String);

impl Part {
    fn new(text: &str) -> Part {
        Part(text.trim_end_matches(['.', '/']).parse().unwrap_or(u64::MAX), text.to_owned())
    }
}

/// The first part of a name with its separator, and the rest.
fn split(name: &str) -> (&str, &str) {
    match name.char_indices().find(|(at, c)| *at > 0 && matches!(c, '.' | '/')) {
        Some((at, _)) => name.split_at(at + 1),
        None => (name, ""),
    }
}

impl Tree {
    /// Adds an object. Only the first `depth` parts of its name are used.
    pub fn add(&mut self, name: &str, depth: usize, stored: u64, what: String) {
        let mut here = self;
        here.count(stored);
        let mut rest = name;
        for _ in 0..depth {
            let (part, later) = split(rest);
            here = here.below.entry(Part::new(part)).or_default();
            here.count(stored);
            rest = later;
            if rest.is_empty() {
                here.leaf = Some(what);
                return;
            }
        }
    }

    fn count(&mut self, stored: u64) {
        self.objects += 1;
        self.stored = self.stored.saturating_add(stored);
    }

    pub fn write(&self, out: &mut Output) -> Outcome<()> {
        let mut table = Table::new(&[
            ("NAME", Align::Left),
            ("OBJECTS", Align::Right),
            ("STORED", Align::Right),
            ("SHARE", Align::Right),
            ("TYPE", Align::Left),
        ]);
        let mut due: Vec<(usize, &Part, &Tree)> = self.rows(0).collect();
        while let Some((level, part, tree)) = due.pop() {
            let share = tree.stored as f64 / self.stored.max(1) as f64 * 100.0;
            table.row(vec![
                format!("{}{}", "  ".repeat(level), text::name(&part.1)),
                tree.objects.to_string(),
                text::size(tree.stored),
                format!("{share:.1} %"),
                tree.leaf.clone().unwrap_or_default(),
            ]);
            due.extend(tree.rows(level + 1));
        }
        table.write(out)
    }

    /// The entries directly below. The last one comes first, because they are taken from the end.
    fn rows(&self, level: usize) -> impl Iterator<Item = (usize, &Part, &Tree)> {
        self.below.iter().rev().map(move |(part, tree)| (level, part, tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names below a tree, in output order.
    fn names(tree: &Tree) -> Vec<String> {
        let mut due: Vec<_> = tree.rows(0).collect();
        let mut names = Vec::new();
        while let Some((level, part, tree)) = due.pop() {
            names.push(format!("{level}{}={}", part.1, tree.objects));
            due.extend(tree.rows(level + 1));
        }
        names
    }

    #[test]
    fn names_are_cut_at_dots_and_slashes_and_numbers_are_in_order() {
        let mut tree = Tree::default();
        for name in ["m.10.w", "m.2.w", "m.2.b", "e/x", ".hidden", "m"] {
            tree.add(name, 2, 1, String::from("f32"));
        }
        assert_eq!(names(&tree), ["0.hidden=1", "0e/=1", "1x=1", "0m=1", "0m.=3", "12.=2", "110.=1"]);
        assert_eq!((tree.objects, tree.stored), (6, 6));
    }

    #[test]
    fn a_name_of_many_parts_makes_no_deep_tree() {
        let mut tree = Tree::default();
        tree.add(&"a.".repeat(32_000), 3, 1, String::new());
        assert_eq!(names(&tree), ["0a.=1", "1a.=1", "2a.=1"]);
    }
}
