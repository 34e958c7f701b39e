//! Values in their buffer: equal to values in a tree, however they are built. They use about as many bytes as
//! in files.

use crate::common;
use crate::counting;

use common::tree::Tree;
use counting::peak;
use ztensor::error::Cause;
use ztensor::memory::Budget;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{order, Attributes, Element, OwnedValue, Tape, Value, ValueBuilder, ValueKind};

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn text(&mut self) -> String {
        let length = [0, 1, 7, 254, 255, 256, 300][self.below(7) as usize];
        (0..length).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}

fn tree(random: &mut Random, depth: u32) -> Tree {
    let number = random.below(1 << 31) << random.below(33);
    match random.below(if depth == 0 { 9 } else { 12 }) {
        0 => Tree::Null,
        1 => Tree::Bool(number % 2 == 0),
        2 => Tree::Unsigned(number),
        3 => Tree::Negative(number),
        4 => Tree::Float(number as f64 / 3.0),
        5 => Tree::text(&random.text()),
        6 => Tree::Bytes(random.text().into_bytes()),
        7 => Tree::Simple(random.below(20) as u8),
        8 => {
            let dtype = Dtype::ALL[random.below(Dtype::ALL.len() as u64) as usize];
            Tree::Number(dtype, (0..dtype.size()).map(|_| random.below(2) as u8).collect())
        }
        9 => {
            // All items have the same kind, or random kinds.
            let even = random.below(2) == 0;
            let first = tree(random, depth - 1);
            let item = |_| if even { first.clone() } else { tree(random, depth - 1) };
            Tree::Array((0..number % 9).map(item).collect())
        }
        10 => {
            Tree::Map((0..number % 9).map(|_| (tree(random, depth - 1), tree(random, depth - 1))).collect())
        }
        _ => Tree::Tag(number, Box::new(tree(random, depth - 1))),
    }
}

/// Compares two values; finds each item by its index.
fn is_same(tree: &Tree, value: Value<'_>) -> bool {
    match (tree, value.kind()) {
        (Tree::Null, ValueKind::Null) => true,
        (Tree::Bool(a), ValueKind::Bool(b)) => *a == b && value.dtype() == Some(Dtype::Bool),
        (Tree::Unsigned(a), ValueKind::Unsigned(b)) => *a == b && value.dtype().is_none(),
        (Tree::Negative(a), ValueKind::Negative(b)) => *a == b && value.dtype().is_none(),
        (Tree::Float(a), ValueKind::Float(b)) => a.to_bits() == b.to_bits() && value.dtype().is_none(),
        (
            Tree::Number(dtype, _),
            ValueKind::Unsigned(_) | ValueKind::Negative(_) | ValueKind::Float(_) | ValueKind::Bool(_),
        ) => value.dtype() == Some(*dtype),
        (Tree::Text(a), ValueKind::Text(b)) => a == b.as_str() && b.as_c_bytes().last() == Some(&0),
        (Tree::Bytes(a), ValueKind::Bytes(b)) => a == b,
        (Tree::Simple(a), ValueKind::Simple(b)) => *a == b,
        (Tree::Array(a), ValueKind::Array(b)) => {
            a.len() == b.len()
                && b.get(a.len()).is_none()
                && a.iter().enumerate().all(|(at, a)| is_same(a, b.get(at).unwrap()))
                && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b))
        }
        (Tree::Map(a), ValueKind::Map(b)) => {
            let same = |a: &(Tree, Tree), b: (Value<'_>, Value<'_>)| is_same(&a.0, b.0) && is_same(&a.1, b.1);
            a.len() == b.len()
                && b.get(a.len()).is_none()
                && a.iter().enumerate().all(|(at, a)| same(a, b.get(at).unwrap()))
                && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        (Tree::Tag(a, x), ValueKind::Tag(b, y)) => *a == b && is_same(x, y),
        _ => false,
    }
}

#[test]
fn values_equal_the_tree_they_were_built_from() {
    let mut random = Random(3);
    let mut tape = Tape::default();
    let mut kept = Vec::new();
    for _ in 0..2000 {
        let tree = tree(&mut random, 4);
        let owned = tree.owned();
        assert!(is_same(&tree, owned.get()), "{tree:?} is {owned:?}");
        kept.push((tape.add(owned.get()).unwrap(), tree));
    }
    for (position, tree) in kept {
        let value = tape.get(position);
        assert!(is_same(&tree, value) && order(value, tree.owned().get()).is_eq(), "{tree:?} is {value:?}");
    }
}

#[test]
fn a_builder_takes_calls_in_their_order_only() {
    type Calls = fn(&mut ValueBuilder<'_>) -> ztensor::error::Result<()>;
    let wrong: [(&str, Calls); 7] = [
        ("no value", |_| Ok(())),
        ("two values", |to| to.null().and_then(|()| to.null())),
        ("an end without a beginning", |to| to.null().and_then(|()| to.end().map(drop))),
        ("an array that does not end", |to| to.begin_array(Element::Any, None)),
        ("a key without a value", |to| {
            to.begin_map(None)?;
            to.text("key")?;
            to.end().map(drop)
        }),
        ("fewer items than were said", |to| {
            to.begin_array(Element::Any, Some(1))?;
            to.end().map(drop)
        }),
        ("more items than were said", |to| {
            to.begin_tag(1)?;
            to.null()?;
            to.null()
        }),
    ];
    for (what, calls) in wrong {
        assert!(OwnedValue::build(calls).is_err(), "{what}");
    }
}

#[test]
fn a_builder_nests_as_deep_as_an_attribute_map_and_no_deeper() {
    let nested = |levels: usize| (0..levels).fold(Tree::Null, |inner, _| Tree::Array(vec![inner]));
    let depth = format!("{:?}", nested(65).owned()).matches('[').count();
    assert_eq!(depth, 65);
    assert_eq!(nested(66).try_owned().unwrap_err().cause(), Cause::InvalidArgument);
}

const TOKENS: usize = 256_000;

/// A vocabulary as in GGUF files, and its size there in bytes.
fn vocabulary(map: &mut ValueBuilder<'_>) -> u64 {
    let mut random = Random(5);
    let mut size = 0;
    map.begin_map(Some(3)).unwrap();
    map.text("tokens").unwrap();
    map.begin_array(Element::Text, Some(TOKENS as u64)).unwrap();
    for _ in 0..TOKENS {
        let length = 1 + random.below(12) as usize;
        map.text(&"tokentokento"[..length]).unwrap();
        size += 8 + length as u64;
    }
    map.end().unwrap();
    for (key, dtype) in [("scores", Dtype::F32), ("types", Dtype::I32)] {
        map.text(key).unwrap();
        map.numbers(dtype, &vec![1; 4 * TOKENS]).unwrap();
        size += 4 * TOKENS as u64;
    }
    map.end().unwrap();
    size
}

#[test]
fn a_vocabulary_takes_little_more_memory_than_bytes_in_its_file() {
    let budget = Budget::new(1 << 30);
    let ((tape, size), heap) = peak(|| {
        let mut tape = Tape::default();
        let mut builder = ValueBuilder::new(&mut tape).within(Some(&budget));
        let size = vocabulary(&mut builder);
        builder.finish().unwrap();
        tape.trim(Some(&budget)).unwrap();
        (tape, size)
    });
    assert_eq!(budget.held(), tape.charged());
    let most = size * 13 / 10;
    assert!((tape.capacity() as u64) < most, "{} bytes for {size} in the file", tape.capacity());
    // Blocks of one mebibyte or more come from the system. A block for each text would use ten times as much.
    assert!(heap < 3 << 20, "{heap} bytes on the heap");
}

#[test]
fn memory_is_charged_before_it_is_allocated() {
    for limit in [0, 100, 10_000, 2 << 20] {
        let budget = Budget::new(limit);
        let mut tape = Tape::default();
        let outcome = OwnedValue::build(|_| {
            let mut builder = ValueBuilder::new(&mut tape).within(Some(&budget));
            builder.begin_array(Element::Text, None)?;
            (0..TOKENS).try_for_each(|_| builder.text("a token"))?;
            builder.end().map(drop)
        });
        assert_eq!(outcome.unwrap_err().cause(), Cause::Limit, "{limit}");
        assert!(tape.size() == 0 && tape.charged() <= limit, "{limit}");
    }
}

#[test]
fn attributes_are_set_and_removed_by_their_keys() {
    let mut attributes = Attributes::default();
    for (key, number) in [("a", 1), ("b", 2), ("a", 3)] {
        attributes.set(key, Tree::Unsigned(number).owned().get()).unwrap();
    }
    attributes.push(Tree::Unsigned(7).owned().get(), Value::NULL).unwrap();
    attributes.set("b", Value::NULL).unwrap();
    assert!(attributes.remove("a") && !attributes.remove("a") && attributes.get("a").is_none());
    let mut tape = Tape::default();
    let map = attributes.put(&mut tape, None).unwrap();
    let wanted = Tree::Map(vec![(Tree::text("b"), Tree::Null), (Tree::Unsigned(7), Tree::Null)]);
    assert!(is_same(&wanted, tape.get(map)), "{:?}", tape.get(map));
}
