//! The weights of a quantized checkpoint, which are several tensors each, as one object each. A tensor that
//! belongs to no such weight is an object by itself, as without this.
//!
//! When a file is opened, `groups.rs` finds out which tensors belong together, by their names and types
//! and by what `config.json` says, and `join.rs` makes one object of them. What its attributes say is all
//! that reading its numbers needs (`numbers.rs`), so that a copy in a .zt file can be read as well.
//! `schemes.rs` has a row for each way in which tools store a weight.

/// An error of the rule `quantized-geometry`.
macro_rules! geometry {
    ($($detail:tt)*) => {
        $crate::error::broken!($crate::error::Rule::QuantizedGeometry, $($detail)*)
    };
}

mod as_groups;
mod bitsandbytes;
mod columns;
mod config;
mod found;
mod fp4;
mod fp8;
mod groups;
mod hqq;
mod integers;
mod join;
mod mlx;
mod numbers;
mod plan;
mod schemes;
mod tensors;

pub use plan::Plan;
pub use tensors::{StoredTensor, ROLES_OF_GROUPS};

use super::file::File;
use super::store::Store;
use crate::error::{fail, try_format, Quoted, Result};
use crate::model::manifest::Format;
use crate::reader::object::Object;
use config::Config;
use std::path::Path;

/// The attribute that has the name of a scheme.
const SCHEME: &str = "scheme";
/// The attribute that says why the numbers of a weight cannot be read.
const UNREADABLE: &str = "unreadable";

impl File {
    /// Makes the tensors of each quantized weight one object. `place` is a file of the model, and what
    /// reaches it; `config.json` is beside it.
    #[inline(never)] // its stack frame is gone before the next step
    pub(super) fn combine(&mut self, place: Option<(&dyn Store, &Path)>) -> Result<()> {
        let mut config = match place {
            Some((store, path)) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                let config = Config::read(store, folder, &self.shards.budget.lock());
                config.map_err(|e| self.in_file(e))?
            }
            None => Config::default(),
        };
        config.has_other_modules = !self.has_one_of(config.mlx_modules())?;
        let groups = groups::find(self, &config)?;
        match groups.all.is_empty() {
            true => Ok(()),
            false => self.join_groups(groups),
        }
    }

    /// Whether it has the weight of one of these modules. True without modules.
    fn has_one_of<'m>(&self, modules: impl Iterator<Item = &'m str>) -> Result<bool> {
        let mut modules = modules.peekable();
        let mut has_one = modules.peek().is_none();
        for module in modules {
            has_one = self.find_position(try_format(format_args!("{module}.weight"))?).is_some();
            if has_one {
                break;
            }
        }
        Ok(has_one)
    }
}

impl<'f> Object<'f> {
    /// The name of the scheme by which a tool stored it, if it is a quantized weight of such a one.
    pub fn scheme(&self) -> Option<&'f str> {
        let name = self.attributes()?.get(SCHEME)?.as_text()?;
        Some(name).filter(|_| self.format() == Format::QuantizedGroup || self.has_groups_of_layout())
    }

    /// Checks that its parts fit together: by its scheme, if it has one, and by the rules of its format.
    pub fn check_weight(&self) -> Result<()> {
        let has_scheme = self.attributes().is_some_and(|map| map.get(SCHEME).is_some());
        if has_scheme && self.format() == Format::QuantizedGroup {
            let plan = self.plan()?;
            if plan.has_groups {
                self.required("g_idx")?.groups_of_columns(&plan)?;
            }
        }
        self.check_parts().map(drop)
    }

    /// How its numbers are made, if it is a quantized weight whose scheme is known.
    pub(super) fn plan(&self) -> Result<Plan> {
        let wrap = |e| self.wrap(e);
        if let Some(why) = self.attributes().and_then(|map| map.get(UNREADABLE)).and_then(|why| why.as_text())
        {
            return Err(wrap(match why.chars().any(char::is_control) {
                true => fail!(Unsupported, "{}", Quoted(why.as_bytes())),
                false => fail!(Unsupported, "{why}"),
            }));
        }
        let name = self.attribute_text(SCHEME);
        let Some(scheme) = schemes::by_name(name) else {
            let format = self.format_name();
            return Err(wrap(match name {
                "" => fail!(
                    Unsupported,
                    "its format is {format:?}, whose codes cannot be read without the attribute {SCHEME:?}"
                ),
                other => fail!(Unsupported, "its scheme is {other:?}, which this version does not know"),
            }));
        };
        let codes = self.required("packed_weight")?;
        if !(scheme.codes)(codes.dtype(), codes.known_logical()) {
            let found = codes.logical_name().unwrap_or(codes.dtype_name());
            return Err(codes.wrap(fail!(Unsupported, "its type is {found}, which {name} does not have")));
        }
        if codes.entry().is_big_endian() {
            return Err(codes.wrap(fail!(Unsupported, "codes of a big-endian file cannot be read")));
        }
        (scheme.plan)(self).map_err(wrap)
    }
}
