//! Keys of objects that are passed over: they mean nothing, but none may be twice in its object.

use crate::container::tables::{extend, push};
use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::find_duplicate::find_duplicate;

/// Keys of any number of objects; number 0 is one whose other keys the caller knows.
#[derive(Default)]
pub struct PassedKeys {
    texts: Vec<u8>,
    keys: Vec<Key>,
    /// The number of objects but for number 0.
    objects: u32,
}

/// A key, and which object has it. Its text begins where the one before ends.
struct Key {
    object: u32,
    end: usize,
}

impl PassedKeys {
    /// The number of one more object. There are fewer than bytes, and a text has at most 2^32.
    pub(super) fn add_object(&mut self) -> u32 {
        self.objects = self.objects.saturating_add(1);
        self.objects
    }

    /// Adds a key of an object.
    #[cold]
    pub fn push(&mut self, budget: &Budget, object: u32, key: &[u8]) -> Result<()> {
        extend(budget, &mut self.texts, key)?;
        push(budget, &mut self.keys, Key { object, end: self.texts.len() })
    }

    /// Fails if an object has a key twice; otherwise forgets all keys.
    #[inline(always)]
    pub fn check(&mut self, budget: &Budget) -> Result<()> {
        match self.keys.is_empty() {
            true => Ok(()),
            false => self.check_some(budget),
        }
    }

    #[cold]
    fn check_some(&mut self, budget: &Budget) -> Result<()> {
        let temporary = bytes_of::<(u32, &[u8])>(self.keys.len()).saturating_mul(2); // the list, and the memory that sorts it
        budget.charge(temporary, "keys that are compared")?;
        let mut keys: Vec<(u32, &[u8])> = Vec::new();
        keys.try_reserve_exact(self.keys.len())?;
        let mut start = 0;
        for key in &self.keys {
            keys.push((key.object, self.texts.get(start..key.end).unwrap_or_default()));
            start = key.end;
        }
        if let Some((_, twice)) = find_duplicate(&keys, |a, b| a.cmp(b))? {
            return Err(broken!(Rule::JsonDuplicateKey, "it has two fields {}", Quoted(twice)));
        }
        drop(keys);
        budget.give_back(temporary);
        self.texts.clear();
        self.keys.clear();
        self.objects = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::json::Scan;

    #[test]
    fn no_key_is_twice_in_an_object_that_is_passed_over() {
        let budget = Budget::new(u64::MAX);
        let skip = |text: &str| {
            let mut scan = Scan::new(text.as_bytes(), "the text", &budget).unwrap();
            let mut keys = PassedKeys::default();
            scan.skip(&mut Vec::new(), &mut keys)?;
            scan.end()?;
            keys.check(&budget)
        };
        let many: Vec<String> = (0..300).map(|at| format!(r#""{at}":{{"0":[]}}"#)).collect();
        let many = many.join(",");
        for (text, rule) in [
            (r#"{"a":1,"b":{"a":1,"b":"a"},"c":[{"a":1},{"a":{"a":null}}],"A":{}}"#.to_owned(), None),
            (r#"{"a":1,"a":1}"#.to_owned(), Some(Rule::JsonDuplicateKey)),
            (r#"{"x":{"b":{},"a":[{"b":1}],"b":2}}"#.to_owned(), Some(Rule::JsonDuplicateKey)),
            (r#"[[{"a":1},{"b":1,"\u0062":2}]]"#.to_owned(), Some(Rule::JsonDuplicateKey)),
            (format!("{{{many}}}"), None),
            (format!(r#"{{{many},"7":0}}"#), Some(Rule::JsonDuplicateKey)),
            ("[".repeat(127) + &"]".repeat(127), None),
            (r#"{"":"#.repeat(126) + "{}" + &"}".repeat(126), None),
            ("[".repeat(128) + &"]".repeat(128), Some(Rule::JsonDepth)),
            (r#"{"a":[}"#.to_owned(), Some(Rule::JsonSyntax)),
        ] {
            assert_eq!(skip(&text).err().and_then(|e| e.rule()), rule, "{text}");
        }
    }
}
