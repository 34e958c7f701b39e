//! The distance of numbers from the numbers that they are compared with.

use crate::text;
use serde_json::{json, Value as Json};

/// Errors of numbers, such as quantized weights. Pairs with a number that is not finite are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// How many numbers were compared.
    count: u64,
    /// The largest absolute error.
    pub largest: f64,
    /// The sums of squares: of the errors, and of the first file's numbers.
    squares: f64,
    reference: f64,
}

impl Errors {
    /// Adds a number of the first file, and the distance of its counterpart.
    pub fn add(&mut self, number: f64, distance: f64) {
        if distance.is_finite() {
            self.count += 1;
            self.largest = self.largest.max(distance);
            self.squares += distance * distance;
            self.reference += number * number;
        }
    }

    pub fn join(&mut self, other: &Errors) {
        self.count += other.count;
        self.largest = self.largest.max(other.largest);
        self.squares += other.squares;
        self.reference += other.reference;
    }

    /// The root of the mean square error.
    pub fn rmse(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => (self.squares / count as f64).sqrt(),
        }
    }

    /// The squared error relative to the first file's numbers; infinite if these are all 0.
    pub fn nmse(&self) -> f64 {
        if self.squares == 0.0 {
            0.0
        } else {
            self.squares / self.reference
        }
    }

    pub fn means_shown(&self) -> String {
        format!("RMSE {}, NMSE {}", text::number(self.rmse()), text::number(self.nmse()))
    }
}

/// Objects whose types differ in the same way.
#[derive(Clone, Copy, Default)]
pub struct OfTypes {
    pub objects: u64,
    pub errors: Errors,
}

impl OfTypes {
    pub fn shown(&self, first: &str, second: &str) -> String {
        let (objects, largest) = (text::count(self.objects, "object"), text::number(self.errors.largest));
        let (first, second) = (text::name(first), text::name(second));
        format!("{first} and {second}: {objects}, largest error {largest}, {}", self.errors.means_shown())
    }

    pub fn as_json(&self, first: &str, second: &str) -> Json {
        json!({
            "first": first,
            "second": second,
            "objects": self.objects,
            "numbers": self.errors.count,
            "largest": self.errors.largest,
            "rmse": self.errors.rmse(),
            "nmse": self.errors.nmse(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Errors;

    #[test]
    fn errors_are_those_of_the_finite_numbers() {
        let (mut some, mut more) = (Errors::default(), Errors::default());
        assert_eq!((some.rmse(), some.nmse()), (0.0, 0.0));
        some.add(3.0, 1.0);
        some.add(f64::NAN, f64::NAN);
        more.add(-4.0, 7.0);
        more.add(1.0, f64::INFINITY);
        some.join(&more);
        assert_eq!((some.count, some.largest, some.rmse(), some.nmse()), (2, 7.0, 5.0, 2.0));
        let mut of_zeros = Errors::default();
        of_zeros.add(0.0, 1.0);
        assert_eq!(of_zeros.nmse(), f64::INFINITY);
    }
}
