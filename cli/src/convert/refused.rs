//! What the output cannot represent, and the message that names the options that help.

use crate::text;

/// The options that help against a refusal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// `--lossy` leaves the thing out.
    Lossy,
    /// `--dtype` converts the object to this dtype, which the output has.
    Dtype(&'static str),
    /// `--dtype` with this dtype, f32 or f64, keeps the object's numbers finite.
    Wider(&'static str),
}

impl Remedy {
    /// Whether it is the same option.
    pub fn is_like(self, other: Remedy) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Things that the output cannot represent, for which the same options help.
pub struct Refused {
    pub noun: &'static str,
    pub remedy: Remedy,
    /// What the first one is, and why it is refused.
    pub first: String,
    pub count: u64,
}

impl Refused {
    /// The noun, after the number of things if there are several kinds.
    fn things(&self, is_alone: bool) -> String {
        match (is_alone, self.count) {
            (false, count) => text::count(count, self.noun),
            (true, 1) => format!("the {}", self.noun),
            (true, _) => format!("the {}s", self.noun),
        }
    }
}

/// The message about all refusals: the first of each kind, then the options.
pub fn message(all: &[Refused]) -> String {
    let reason = |refused: &Refused| match refused.count - 1 {
        0 => refused.first.clone(),
        more => format!("{} (and {})", refused.first, text::count(more, &format!("more {}", refused.noun))),
    };
    let reasons: Vec<_> = all.iter().map(reason).collect();
    let options = match all {
        [refused] => {
            let (things, them) = (refused.things(true), if refused.count == 1 { "it" } else { "them" });
            match refused.remedy {
                Remedy::Lossy => format!("--lossy leaves {things} out"),
                Remedy::Dtype(to) => format!("--dtype {to} converts {them}; --lossy leaves {things} out"),
                Remedy::Wider(to) => format!("--dtype {to} keeps them finite; --lossy allows that"),
            }
        }
        several => {
            let lossy = several.iter().filter(|refused| refused.remedy == Remedy::Lossy);
            let lossy: Vec<_> = lossy.map(|refused| refused.things(false)).collect();
            let converted = several.iter().find_map(|refused| match refused.remedy {
                Remedy::Dtype(to) => Some(format!("--dtype {to} converts {}", refused.things(false))),
                _ => None,
            });
            let wider = several.iter().find_map(|refused| match refused.remedy {
                Remedy::Wider(to) => Some(format!("--dtype {to} keeps the numbers finite")),
                _ => None,
            });
            let left_out = (!lossy.is_empty()).then(|| format!("--lossy leaves {} out", lossy.join(" and ")));
            let options: Vec<_> = converted.or(wider).into_iter().chain(left_out).collect();
            options.join(", and ")
        }
    };
    format!("{}; {options}", reasons.join("; "))
}
