//! One value with its memory.

use super::builder::ValueBuilder;
use super::record::{Kind, Value};
use super::tape::Tape;
use crate::error::{fail, Result};
use crate::model::text::Position;

/// A value in a tape of its own.
pub struct OwnedValue {
    tape: Tape,
    position: Position,
}

impl OwnedValue {
    /// The value that `build` makes.
    pub fn build(build: impl FnOnce(&mut ValueBuilder<'_>) -> Result<()>) -> Result<OwnedValue> {
        let mut tape = Tape::default();
        let mut builder = ValueBuilder::new(&mut tape);
        build(&mut builder)?;
        let position = builder.finish()?;
        Ok(OwnedValue { tape, position })
    }

    /// A text.
    pub fn text(text: &str) -> Result<OwnedValue> {
        OwnedValue::build(|builder| builder.text(text))
    }

    /// A value that holds no others.
    pub fn scalar(kind: Kind<'_>) -> Result<OwnedValue> {
        OwnedValue::build(|builder| match kind {
            Kind::Null => builder.null(),
            Kind::Bool(truth) => builder.boolean(truth),
            Kind::Unsigned(number) => builder.unsigned(number),
            Kind::Negative(n) => builder.negative(n),
            Kind::Float(number) => builder.float(number),
            Kind::Text(text) => builder.text(text.as_str()),
            Kind::Bytes(bytes) => builder.bytes(bytes),
            Kind::Simple(number) => builder.simple(number),
            Kind::Array(_) | Kind::Map(_) | Kind::Tag(..) => Err(fail!(Internal, "no scalar")),
        })
    }

    /// The value.
    pub fn get(&self) -> Value<'_> {
        self.tape.get(self.position)
    }
}

impl std::fmt::Debug for OwnedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}
