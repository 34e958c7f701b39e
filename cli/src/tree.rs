//! `zt tree`: sums by name prefix, with the layers of a model folded. Dots and slashes separate the parts
//! of a name.

use crate::arguments::{Chosen, Tree as Arguments};
use crate::failure::Outcome;
use crate::fold::{each, fold, Fold, Kind};
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{ls, models, text};

pub fn run(arguments: &Arguments) -> Outcome<()> {
    let path = &arguments.file;
    let file = models::open(path)?;
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[&file])?;
    let objects: Vec<_> = file.objects().filter(|object| chosen.has(object)).collect();
    let lines = if arguments.no_fold { each(&objects) } else { fold(&objects, false) };
    let mut out = Output::new();
    Tree::of(lines, usize::from(arguments.depth)).table().write(&mut out)?;
    let totals = ls::totals(&file, &objects);
    out.line(format_args!("{}", out.wrapped(&totals)))?;
    out.flush()
}

/// Objects with a common prefix, up to some depth.
#[derive(Default)]
struct Tree {
    /// In order. A name mostly has a chain of parts with one below each, so a map of each would take most of
    /// the memory.
    below: Vec<(Part, Tree)>,
    objects: u64,
    stored: u64,
    /// The types and shapes of objects with exactly this name.
    kinds: Vec<Kind>,
}

/// A part of a name.
type Part = Box<str>;

/// The number in a part, by which parts are sorted before their text; the largest one without a number.
fn number(part: &str) -> u64 {
    let number = match part.strip_prefix('{') {
        Some(folded) => folded.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default(),
        None => part.trim_end_matches(['.', '/']),
    };
    number.parse().unwrap_or(u64::MAX)
}

/// The parts of a name with their numbers.
fn parts(name: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let (part, later) = split(rest);
        rest = later;
        Some((number(part), part)).filter(|_| !part.is_empty())
    })
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
    fn of(mut lines: Vec<Fold>, depth: usize) -> Tree {
        lines.sort_by(|one, other| parts(&one.name).cmp(parts(&other.name)));
        let mut tree = Tree::default();
        lines.into_iter().for_each(|line| tree.add(line, depth));
        tree
    }

    /// Adds objects, whose name is not before those that were added. Only its first `depth` parts are used.
    fn add(&mut self, line: Fold, depth: usize) {
        let mut here = self;
        here.count(&line);
        let mut rest = line.name.as_str();
        for _ in 0..depth {
            let (part, later) = split(rest);
            if here.below.last().is_none_or(|(last, _)| **last != *part) {
                here.below.reserve_exact(usize::from(here.below.is_empty()));
                here.below.push((part.into(), Tree::default()));
            }
            here = &mut here.below.last_mut().expect("a part was just added").1;
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
            let mut name = String::from(&**part);
            while let ([(part, below)], true) = (tree.below.as_slice(), tree.kinds.is_empty()) {
                name.push_str(part);
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

    fn tree_of(names: &[&str], depth: usize) -> Tree {
        let line = |name: &&str| {
            let (name, kinds) = (String::from(*name), vec![Kind::default()]);
            Fold { name, kinds, objects: 1, stored: 1 }
        };
        Tree::of(names.iter().map(line).collect(), depth)
    }

    /// The names below a tree, in output order.
    fn names(tree: &Tree) -> Vec<String> {
        let mut due: Vec<_> = tree.rows(0).collect();
        let mut names = Vec::new();
        while let Some((level, part, tree)) = due.pop() {
            names.push(format!("{level}{part}={}", tree.objects));
            due.extend(tree.rows(level + 1));
        }
        names
    }

    #[test]
    fn names_are_cut_at_dots_and_slashes_and_numbers_are_in_order() {
        let tree = tree_of(&["m.{10-11}.w", "m.2.w", "m.2.b", "e/x", ".hidden", "m"], 2);
        assert_eq!(names(&tree), ["0.hidden=1", "0e/=1", "1x=1", "0m=1", "0m.=3", "12.=2", "1{10-11}.=1"]);
        assert_eq!((tree.objects, tree.stored), (6, 6));
    }

    #[test]
    fn a_name_of_many_parts_makes_no_deep_tree() {
        let tree = tree_of(&[&"a.".repeat(32_000)], 3);
        assert_eq!(names(&tree), ["0a.=1", "1a.=1", "2a.=1"]);
    }
}
