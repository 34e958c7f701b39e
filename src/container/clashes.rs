//! Handles several objects with the same name. All but the first get a mark, so that all are listed and can
//! be found.

use super::tables::{add_text, extend, push};
use crate::error::{try_format, Result};
use crate::memory::{bytes_of, collected, Budget};
use crate::model::manifest::{table_position, Manifest, TextId};
use crate::model::sort::sort_by;

/// Marks the objects whose names clash: "a", "a#2", "a#3". Skips marked names that exist already.
pub fn mark_objects(manifest: &mut Manifest, budget: &Budget) -> Result<()> {
    let marks = find(manifest.objects.len(), &|at| manifest.name_at(at), budget)?;
    let mut renamed: Vec<(usize, TextId)> = Vec::new();
    let mut name = Vec::new();
    for (at, number) in &marks {
        name.clear();
        extend(budget, &mut name, manifest.name_at(*at))?;
        extend(budget, &mut name, mark(*number)?.as_bytes())?;
        push(budget, &mut renamed, (*at, add_text(budget, manifest, &name)?))?;
    }
    for (at, name) in &renamed {
        if let Some(object) = manifest.objects.get_mut(*at) {
            object.name = *name;
        }
    }
    budget.give_back(name.capacity() as u64);
    budget.give_back(bytes_of::<(usize, TextId)>(renamed.capacity()));
    budget.give_back(bytes_of::<(usize, u32)>(marks.capacity()));
    Ok(())
}

/// The mark with this number.
pub fn mark(number: u32) -> Result<String> {
    try_format(format_args!("#{number}"))
}

/// For names that occurred before among `count` names: the number of the mark that makes each unique. Memory
/// for the result is charged to `budget`.
pub fn find<'a>(
    count: usize,
    name: &dyn Fn(usize) -> &'a [u8],
    budget: &Budget,
) -> Result<Vec<(usize, u32)>> {
    let temporary = bytes_of::<u32>(count);
    budget.charge(temporary, "names that are compared")?;
    let mut order: Vec<u32> = collected(count, 0..table_position(count)?)?;
    let name = |at: &u32| name(*at as usize);
    sort_by(&mut order, |a, b| name(a).cmp(name(b)).then(a.cmp(b)));
    let mut found = Vec::new();
    let mut number = 1u32;
    for pair in order.windows(2) {
        let [before, at] = pair else { continue };
        let text = name(at);
        if name(before) != text {
            number = 1;
            continue;
        }
        loop {
            number = number.saturating_add(1);
            let mark = mark(number)?;
            // Compare with the marked name without building it.
            let marked = || text.iter().chain(mark.as_bytes());
            let is_taken = order.binary_search_by(|other| name(other).iter().cmp(marked())).is_ok();
            if !is_taken {
                break;
            }
        }
        push(budget, &mut found, (*at as usize, number))?;
    }
    budget.give_back(temporary);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(names: &[&str]) -> Vec<String> {
        let mut all: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        let budget = Budget::new(1 << 20);
        for (at, number) in find(names.len(), &|at| names[at].as_bytes(), &budget).unwrap() {
            all[at] += &mark(number).unwrap();
        }
        all
    }

    #[test]
    fn a_name_that_was_there_before_gets_a_mark() {
        assert_eq!(marked(&[]), [""; 0]);
        assert_eq!(marked(&["b", "a", ""]), ["b", "a", ""]);
        assert_eq!(marked(&["a", "b", "a", "a"]), ["a", "b", "a#2", "a#3"]);
        assert_eq!(marked(&["", "", "#2"]), ["", "#3", "#2"]);
        assert_eq!(marked(&["a", "a#2", "a", "a#3", "a"]), ["a", "a#2", "a#4", "a#3", "a#5"]);
        assert_eq!(marked(&["a", "a#2", "a#2", "a"]), ["a", "a#2", "a#2#2", "a#3"]);
    }

    #[test]
    fn marked_names_all_differ() {
        // All sequences of five of these names.
        const NAMES: [&str; 5] = ["a", "a#2", "a#3", "a#2#2", "#2"];
        for sequence in 0..NAMES.len().pow(5) {
            let names: Vec<&str> =
                (0..5).map(|at| NAMES[sequence / NAMES.len().pow(at) % NAMES.len()]).collect();
            let all = marked(&names);
            let different: std::collections::BTreeSet<&String> = all.iter().collect();
            assert_eq!(different.len(), all.len(), "{names:?}: {all:?}");
            // The first object with a name keeps it.
            for (at, name) in names.iter().enumerate() {
                assert!(names[..at].contains(name) || all[at] == *name, "{names:?}: {all:?}");
            }
        }
    }
}
