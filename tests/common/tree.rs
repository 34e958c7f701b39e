//! Values as a tree, which is easy to make, compare and walk.

use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{Attributes, Element, OwnedValue, Value, ValueBuilder, ValueKind};

/// A value.
#[derive(Clone, Debug)]
pub enum Tree {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(u64),
    Float(f64),
    /// A number with a declared dtype.
    Number(Dtype, Vec<u8>),
    Text(String),
    Bytes(Vec<u8>),
    Array(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
    Tag(u64, Box<Tree>),
    Simple(u8),
}

impl Tree {
    pub fn text(text: &str) -> Tree {
        Tree::Text(text.to_owned())
    }

    pub fn of(value: Value<'_>) -> Tree {
        match value.kind() {
            ValueKind::Null => Tree::Null,
            ValueKind::Bool(v) => Tree::Bool(v),
            ValueKind::Unsigned(v) => Tree::Unsigned(v),
            ValueKind::Negative(n) => Tree::Negative(n),
            ValueKind::Float(v) => Tree::Float(v),
            ValueKind::Text(v) => Tree::text(v.as_str()),
            ValueKind::Bytes(v) => Tree::Bytes(v.to_vec()),
            ValueKind::Array(items) => Tree::Array(items.iter().map(Tree::of).collect()),
            ValueKind::Map(pairs) => {
                Tree::Map(pairs.iter().map(|(k, v)| (Tree::of(k), Tree::of(v))).collect())
            }
            ValueKind::Tag(tag, inner) => Tree::Tag(tag, Box::new(Tree::of(inner))),
            ValueKind::Simple(v) => Tree::Simple(v),
        }
    }

    /// The library's form of the value. Fails if it nests too deep.
    pub fn try_owned(&self) -> Result<OwnedValue> {
        OwnedValue::build(|to| self.put(to))
    }

    pub fn owned(&self) -> OwnedValue {
        self.try_owned().unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }

    fn put(&self, to: &mut ValueBuilder<'_>) -> Result<()> {
        match self {
            Tree::Null => return to.null(),
            Tree::Bool(v) => return to.boolean(*v),
            Tree::Unsigned(v) => return to.unsigned(*v),
            Tree::Negative(n) => return to.negative(*n),
            Tree::Float(v) => return to.float(*v),
            Tree::Number(dtype, element) => return to.number(*dtype, element),
            Tree::Text(v) => return to.text(v),
            Tree::Bytes(v) => return to.bytes(v),
            Tree::Simple(v) => return to.simple(*v),
            Tree::Array(items) => {
                to.begin_array(Element::Any, None)?;
                items.iter().try_for_each(|item| item.put(to))?;
            }
            Tree::Map(pairs) => {
                to.begin_map(Some(pairs.len() as u64))?;
                pairs.iter().try_for_each(|(k, v)| k.put(to).and_then(|()| v.put(to)))?;
            }
            Tree::Tag(tag, inner) => {
                to.begin_tag(*tag)?;
                inner.put(to)?;
            }
        }
        to.end().map(drop)
    }
}

/// The pairs as attributes, unchanged.
pub fn attributes(pairs: &[(Tree, Tree)]) -> Attributes {
    let mut attributes = Attributes::default();
    for (key, value) in pairs {
        attributes.push(key.owned().get(), value.owned().get()).unwrap();
    }
    attributes
}
