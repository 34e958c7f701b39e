//! Folds objects whose names differ only in one number, such as the layers of a model, into one line.

use crate::elements::{self, stored_size};
use crate::names;
use std::collections::{BTreeSet, HashMap};
use ztensor::reader::Object;

/// Objects with names that differ only in their folded numbers.
pub struct Fold {
    /// The name, as [`names::shown`] gives it. Folded numbers are written like `{0-31}`.
    pub name: String,
    /// Their types and shapes, without repetition.
    pub kinds: Vec<Kind>,
    pub objects: u64,
    pub stored: u64,
}

/// A type and a shape.
pub type Kind = (String, Vec<u64>);

/// How many numbers of a name can be folded, from its start. A name has one for its layer, and perhaps one
/// for an expert.
const MAX_NUMBERS: usize = 4;
/// How many ranges of numbers a name shows.
const MAX_RANGES: usize = 4;

/// A fold whose name still has its numbers as values.
struct Numbered<'f> {
    /// The texts around the numbers: one more than there are numbers.
    texts: Vec<&'f str>,
    numbers: Vec<Vec<u32>>,
    /// Numbers of kinds.
    kinds: BTreeSet<usize>,
    objects: u64,
    stored: u64,
}

impl Numbered<'_> {
    fn name(&self) -> String {
        let mut name = String::new();
        for (at, text) in self.texts.iter().enumerate() {
            name.push_str(text);
            name.extend(self.numbers.get(at).map(|numbers| shown(numbers)));
        }
        name
    }
}

/// The texts of a name around its numbers, and the numbers. A number with a leading zero is text.
fn split(name: &str) -> (Vec<&str>, Vec<u32>) {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    let (mut start, mut at) = (0, 0);
    while let Some(first) = name[at..].find(|c: char| c.is_ascii_digit()).map(|found| at + found) {
        let end = name[first..].find(|c: char| !c.is_ascii_digit()).map_or(name.len(), |found| first + found);
        let digits = &name[first..end];
        at = end;
        match digits.parse() {
            Ok(number) if numbers.len() < MAX_NUMBERS && (digits == "0" || !digits.starts_with('0')) => {
                texts.push(&name[start..first]);
                numbers.push(number);
                start = end;
            }
            _ => {}
        }
    }
    texts.push(&name[start..]);
    (texts, numbers)
}

/// Sorted numbers as ranges: `3`, `{0-31}`, `{0-3,7,9-31}`. Dots and slashes would look like parts of a name.
pub fn shown(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let texts: Vec<_> = ranges.iter().map(text).collect();
    match (numbers, texts.len()) {
        ([number], _) => number.to_string(),
        (_, 0..=MAX_RANGES) => format!("{{{}}}", texts.join(",")),
        _ => {
            let (first, rest) = (texts[..MAX_RANGES - 1].join(","), &ranges[MAX_RANGES - 1..]);
            let more: u64 = rest.iter().map(|(first, last)| u64::from(last - first) + 1).sum();
            format!("{{{first} and {more} more}}")
        }
    }
}

fn kind_of(object: &Object<'_>) -> Kind {
    (elements::type_of_object(object), object.shape().to_vec())
}

/// Each object by itself.
pub fn each(objects: &[Object<'_>]) -> Vec<Fold> {
    let one = |object: &Object<'_>| Fold {
        name: names::shown(object).into_owned(),
        kinds: vec![kind_of(object)],
        objects: 1,
        stored: stored_size(object),
    };
    objects.iter().map(one).collect()
}

/// Folds objects. Each line has the place of its first object. With `by_kind` the objects of a line have the
/// same type and shape.
pub fn fold(objects: &[Object<'_>], by_kind: bool) -> Vec<Fold> {
    let all: Vec<_> = objects.iter().map(names::shown).collect();
    let mut kinds: Vec<Kind> = Vec::new();
    let mut of_kind = HashMap::new();
    let mut folds: Vec<(usize, Numbered<'_>)> = Vec::new();
    for (object, name) in objects.iter().zip(&all) {
        let kind = kind_of(object);
        let kind = *of_kind.entry(kind.clone()).or_insert_with(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        let (texts, numbers) = split(name);
        let numbers = numbers.into_iter().map(|number| vec![number]).collect();
        let (kinds, stored) = (BTreeSet::from([kind]), stored_size(object));
        folds.push((if by_kind { kind } else { 0 }, Numbered { texts, numbers, kinds, objects: 1, stored }));
    }
    for at in 0..MAX_NUMBERS {
        folds = fold_number(folds, at);
    }
    let finish = |(_, fold): (usize, Numbered<'_>)| {
        let kinds = fold.kinds.iter().filter_map(|kind| kinds.get(*kind).cloned()).collect();
        Fold { name: fold.name(), kinds, objects: fold.objects, stored: fold.stored }
    };
    folds.into_iter().map(finish).collect()
}

/// Folds the number at a position of the names.
fn fold_number(folds: Vec<(usize, Numbered<'_>)>, at: usize) -> Vec<(usize, Numbered<'_>)> {
    let mut places = HashMap::new();
    let mut folded: Vec<(usize, Numbered<'_>)> = Vec::new();
    for (kind, mut fold) in folds {
        let Some(numbers) = fold.numbers.get_mut(at).map(std::mem::take) else {
            folded.push((kind, fold));
            continue;
        };
        let place = *places.entry((kind, fold.texts.clone(), fold.numbers.clone())).or_insert(folded.len());
        match folded.get_mut(place) {
            Some((_, first)) => {
                first.numbers[at].extend(numbers);
                first.kinds.extend(fold.kinds);
                first.objects += fold.objects;
                first.stored = first.stored.saturating_add(fold.stored);
            }
            None => {
                fold.numbers[at] = numbers;
                folded.push((kind, fold));
            }
        }
    }
    for (_, fold) in &mut folded {
        if let Some(numbers) = fold.numbers.get_mut(at) {
            numbers.sort_unstable();
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(names: &[&str]) -> Vec<(String, u64)> {
        let number = |name| {
            let (texts, numbers): (_, Vec<u32>) = split(name);
            let numbers = numbers.into_iter().map(|number| vec![number]).collect();
            (0, Numbered { texts, numbers, kinds: BTreeSet::new(), objects: 1, stored: 1 })
        };
        let folds = (0..MAX_NUMBERS).fold(names.iter().copied().map(number).collect(), fold_number);
        folds.into_iter().map(|(_, fold)| (fold.name(), fold.objects)).collect()
    }

    #[test]
    fn names_that_differ_in_one_number_are_folded() {
        let one = |name: &str, count| (name.to_owned(), count);
        assert_eq!(
            folded(&["h.10.w", "e", "h.2.w", "h.1.w", "h.1.b", "h.2.b", "h.01.w"]),
            [one("h.{1-2,10}.w", 3), one("e", 1), one("h.{1-2}.b", 2), one("h.01.w", 1)]
        );
        let experts: Vec<_> =
            (0..3).flat_map(|layer| (0..4).map(move |expert| format!("l.{layer}.e.{expert}.w"))).collect();
        let experts: Vec<_> = experts.iter().map(String::as_str).collect();
        assert_eq!(folded(&experts), [one("l.{0-2}.e.{0-3}.w", 12)]);
        // Without one of them, the rest is not a product.
        assert_eq!(folded(&experts[1..]), [one("l.{0-2}.e.{1-3}.w", 9), one("l.{1-2}.e.0.w", 2)]);
    }

    #[test]
    fn long_lists_of_numbers_are_cut_and_odd_names_stay() {
        assert_eq!(shown(&[0, 2, 4, 6, 8, 10]), "{0,2,4 and 3 more}");
        assert_eq!(shown(&[0, 1, u32::MAX]), "{0-1,4294967295}");
        let long = "9".repeat(50);
        for name in ["", "a", "7", "ü1ö", "1.2.3.4.5.6", long.as_str(), "4294967296", "007"] {
            assert_eq!(folded(&[name]), [(name.to_owned(), 1)]);
        }
    }
}
