//! `zt tree`: sums by name prefix, with the layers of a model folded. Dots and slashes separate the parts of a
//! name.

use crate::arguments::{Chosen, Tree as Arguments};
use crate::failure::Outcome;
use crate::fold::{each, fold, Fold, Kind};
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{ls, models, text};
use std::collections::BTreeMap;

pub fn run(arguments: &Arguments) -> Outcome<()> {
    let path = &arguments.file;
    let file = models::open(path)?;
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[&file])?;
    let objects: Vec<_> = file.objects().filter(|object| chosen.has(object)).collect();
    let mut tree = Tree::default();
    for line in if arguments.no_fold { each(&objects) } else { fold(&objects, false) } {
        tree.add(line, usize::from(arguments.depth));
    }
    let mut out = Output::new();
    tree.table().write(&mut out)?;
    out.line(format_args!("{}", ls::totals(&file, &objects)))?;
    out.flush()
}

/// Objects with a common prefix, up to some depth.
#[derive(Default)]
struct Tree {
    below: BTreeMap<Part, Tree>,
    objects: u64,
    stored: u64,
    /// The types and shapes of objects with exactly this name.
    kinds: Vec<Kind>,
}

/// A part of a name. Numbers come first, sorted by value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part(u64, String);

impl Part {
    fn new(text: &str) -> Part {
        let number = match text.strip_prefix('{') {
            Some(folded) => folded.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default(),
            None => text.trim_end_matches(['.', '/']),
        };
        Part(number.parse().unwrap_or(u64::MAX), text.to_owned())
    }
}

/// The first part of a name with its separator, and the rest.
fn split(name: &str) -> (&str, &str) {
    match name.char_indices().find(|(at, c)| *at > 0 && matches!(c, '.' | '/')) {
        Some((at, _)) => name.split_at(at + 1),
        None => (name, ""),
    }
}

/// Types and shapes as a text: `q6_k [640, 2048], q4_k [640, 2048]`.
fn kinds(kinds: &[Kind]) -> String {
    const MAX_SHOWN: usize = 2;
    let shown = kinds.iter().take(MAX_SHOWN);
    let shown = shown.map(|(name, shape)| format!("{} {}", text::name(name), text::shape(shape)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match kinds.len().saturating_sub(MAX_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl Tree {
    /// Adds objects. Only the first `depth` parts of their name are used.
    fn add(&mut self, line: Fold, depth: usize) {
        let mut here = self;
        here.count(&line);
        let mut rest = line.name.as_str();
        for _ in 0..depth {
            let (part, later) = split(rest);
            here = here.below.entry(Part::new(part)).or_default();
            here.count(&line);
            if later.is_empty() {
                here.kinds.extend(line.kinds);
                return;
            }
            rest = later;
        }
    }

    fn count(&mut self, line: &Fold) {
        self.objects += line.objects;
        self.stored = self.stored.saturating_add(line.stored);
    }

    /// A part that has only one part below it shares its line.
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("NAME", Align::Left),
            ("OBJECTS", Align::Right),
            ("STORED", Align::Right),
            ("SHARE", Align::Right),
            ("TYPE", Align::Left),
        ]);
        let mut due: Vec<(usize, &Part, &Tree)> = self.rows(0).collect();
        while let Some((level, part, mut tree)) = due.pop() {
            let mut name = part.1.clone();
            while let (1, true, Some((part, below))) =
                (tree.below.len(), tree.kinds.is_empty(), tree.below.first_key_value())
            {
                name.push_str(&part.1);
                tree = below;
            }
            let share = tree.stored as f64 / self.stored.max(1) as f64 * 100.0;
            table.row(vec![
                format!("{}{}", "  ".repeat(level), name),
                tree.objects.to_string(),
                text::size(tree.stored),
                format!("{share:.1} %"),
                kinds(&tree.kinds),
            ]);
            due.extend(tree.rows(level + 1));
        }
        table
    }

    /// The entries directly below. The last one comes first, because they are taken from the end.
    fn rows(&self, level: usize) -> impl Iterator<Item = (usize, &Part, &Tree)> {
        self.below.iter().rev().map(move |(part, tree)| (level, part, tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(tree: &mut Tree, name: &str, depth: usize) {
        let line = Fold { name: name.to_owned(), kinds: vec![Kind::default()], objects: 1, stored: 1 };
        tree.add(line, depth);
    }

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
        for name in ["m.{10-11}.w", "m.2.w", "m.2.b", "e/x", ".hidden", "m"] {
            add(&mut tree, name, 2);
        }
        assert_eq!(names(&tree), ["0.hidden=1", "0e/=1", "1x=1", "0m=1", "0m.=3", "12.=2", "1{10-11}.=1"]);
        assert_eq!((tree.objects, tree.stored), (6, 6));
    }

    #[test]
    fn a_name_of_many_parts_makes_no_deep_tree() {
        let mut tree = Tree::default();
        add(&mut tree, &"a.".repeat(32_000), 3);
        assert_eq!(names(&tree), ["0a.=1", "1a.=1", "2a.=1"]);
    }
}
