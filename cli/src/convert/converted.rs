//! The effect of `--dtype`: how many tensors it converted, and the largest errors.

use crate::text;
use std::cell::RefCell;
use ztensor::model::dtype::Dtype;
use ztensor::reader::Conversion;

/// The effect of `--dtype` on all converted tensors.
#[derive(Default)]
pub struct Converted(RefCell<(u64, Conversion)>);

impl Converted {
    pub fn add(&self, of: &Conversion) {
        let (tensors, all) = &mut *self.0.borrow_mut();
        *tensors += 1;
        all.lost += of.lost;
        all.largest_absolute = all.largest_absolute.max(of.largest_absolute);
        all.largest_relative = all.largest_relative.max(of.largest_relative);
    }

    /// The end of the summary; empty if no tensor was converted.
    pub fn line(&self, to: Dtype) -> String {
        let (tensors, all) = *self.0.borrow();
        let (absolute, relative) = (text::number(all.largest_absolute), text::number(all.largest_relative));
        match tensors {
            0 => String::new(),
            _ => format!(
                "; {} converted to {}, largest error {absolute}, relative {relative}",
                text::count(tensors, "object"),
                to.name()
            ),
        }
    }

    pub fn json(&self, to: Option<Dtype>) -> serde_json::Value {
        let (tensors, all) = *self.0.borrow();
        serde_json::json!({
            "dtype": to.map(Dtype::name),
            "objects": tensors,
            "lost": all.lost,
            "largest_absolute_error": all.largest_absolute,
            "largest_relative_error": all.largest_relative,
        })
    }
}
