//! CBOR: a tree that is written in any of the forms that RFC 7049 allows, or with an error.

use arbitrary::{Result, Unstructured};

/// One CBOR item.
#[derive(Clone, Debug)]
pub enum Item {
    Unsigned(u64),
    Text(String),
    Array(Vec<Item>),
    Map(Vec<(Item, Item)>),
    Simple(u8),
    /// Bytes that are written unchanged.
    Raw(Vec<u8>),
}

pub fn text(text: &str) -> Item {
    Item::Text(text.to_owned())
}

pub fn map(pairs: Vec<(&str, Item)>) -> Item {
    Item::Map(pairs.into_iter().map(|(k, v)| (text(k), v)).collect())
}

/// How items are encoded: in the shortest form, or as the input selects.
pub struct EncodingStyle<'a, 'u> {
    pub plain: bool,
    pub input: &'a mut Unstructured<'u>,
}

impl EncodingStyle<'_, '_> {
    fn odd(&mut self, most: u8) -> Result<u8> {
        if self.plain || self.input.is_empty() {
            return Ok(0);
        }
        Ok(self.input.arbitrary::<u8>()?.saturating_sub(200).min(most))
    }

    fn head(&mut self, out: &mut Vec<u8>, major: u8, value: u64) -> Result<()> {
        let shortest = match value {
            0..=23 => 0,
            24..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 3,
            _ => 4,
        };
        let form = (shortest + self.odd(4)?).min(4);
        if form == 0 {
            out.push(major << 5 | value as u8);
            return Ok(());
        }
        out.push(major << 5 | (23 + form));
        out.extend_from_slice(&value.to_be_bytes()[8 - (1 << (form - 1))..]);
        Ok(())
    }

    pub fn put(&mut self, out: &mut Vec<u8>, item: &Item) -> Result<()> {
        match item {
            Item::Unsigned(v) => self.head(out, 0, *v),
            Item::Simple(v) => {
                out.push(0xe0 | v);
                Ok(())
            }
            Item::Raw(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Item::Text(text) if self.odd(1)? == 1 => {
                out.push(0x7f);
                let cut = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                for part in [&text[..cut], &text[cut..]] {
                    self.head(out, 3, part.len() as u64)?;
                    out.extend_from_slice(part.as_bytes());
                }
                out.push(0xff);
                Ok(())
            }
            Item::Text(text) => {
                self.head(out, 3, text.len() as u64)?;
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Item::Array(items) => {
                let open = self.open(out, 4, items.len())?;
                items.iter().try_for_each(|i| self.put(out, i))?;
                close(out, open);
                Ok(())
            }
            Item::Map(pairs) => {
                let open = self.open(out, 5, pairs.len())?;
                for (key, value) in pairs {
                    self.put(out, key)?;
                    self.put(out, value)?;
                }
                close(out, open);
                Ok(())
            }
        }
    }

    fn open(&mut self, out: &mut Vec<u8>, major: u8, count: usize) -> Result<bool> {
        if self.odd(1)? == 1 {
            out.push(major << 5 | 31);
            return Ok(true);
        }
        self.head(out, major, count as u64).map(|()| false)
    }
}

fn close(out: &mut Vec<u8>, open: bool) {
    if open {
        out.push(0xff);
    }
}

fn nodes(item: &Item) -> usize {
    1 + match item {
        Item::Array(items) => items.iter().map(nodes).sum(),
        Item::Map(pairs) => pairs.iter().map(|(k, v)| nodes(k) + nodes(v)).sum(),
        _ => 0,
    }
}

/// Changes one node of the tree. Texts become one of `words`.
pub fn bend(root: &mut Item, u: &mut Unstructured<'_>, words: &[&str]) -> Result<()> {
    let mut at = u.int_in_range(0..=nodes(root) - 1)?;
    visit(root, &mut at, &mut |item| bend_node(item, u, words)).unwrap_or(Ok(()))
}

fn visit<T>(item: &mut Item, left: &mut usize, body: &mut dyn FnMut(&mut Item) -> T) -> Option<T> {
    if *left == 0 {
        return Some(body(item));
    }
    *left -= 1;
    match item {
        Item::Array(items) => items.iter_mut().find_map(|i| visit(i, left, body)),
        Item::Map(pairs) => {
            pairs.iter_mut().find_map(|(k, v)| visit(k, left, body).or_else(|| visit(v, left, body)))
        }
        _ => None,
    }
}

fn bend_node(item: &mut Item, u: &mut Unstructured<'_>, words: &[&str]) -> Result<()> {
    let how: u8 = u.arbitrary()?;
    match item {
        Item::Unsigned(v) if how < 200 => {
            let other: u64 = u.arbitrary()?;
            let choices = [v.wrapping_add(1), v.wrapping_sub(1), 0, 64, u64::MAX, 1 << 63, 1 << 32, *v << 1];
            *v = *choices.get(usize::from(how % 12)).unwrap_or(&other);
        }
        Item::Map(pairs) if how < 200 && !pairs.is_empty() => {
            let at = u.choose_index(pairs.len())?;
            match how % 4 {
                0 => drop(pairs.remove(at)),
                1 => pairs.push(pairs[at].clone()),
                2 => pairs.push((Item::Text(u.arbitrary()?), any(u, words)?)),
                _ => pairs[at].0 = any(u, words)?,
            }
        }
        Item::Array(items) if how < 200 && !items.is_empty() => {
            let at = u.choose_index(items.len())?;
            match how % 3 {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => items[at] = any(u, words)?,
            }
        }
        Item::Text(text) if how < 200 => *text = words[u.choose_index(words.len())?].to_owned(),
        _ => *item = any(u, words)?,
    }
    Ok(())
}

/// Texts that are meaningful somewhere in a manifest.
pub const WORDS: [&str; 44] = [
    "",
    "f64",
    "f32",
    "f16",
    "bf16",
    "i64",
    "i8",
    "u64",
    "u8",
    "bool",
    "float32",
    "uint8",
    "int64",
    "f8_e4m3",
    "f8_e4m3fn",
    "f8_e5m2fnuz",
    "complex64",
    "complex128",
    "raw",
    "zstd",
    "lz4",
    "dense",
    "sparse_csr",
    "sparse_coo",
    "quantized_group",
    "sparse",
    "big",
    "little",
    "data",
    "values",
    "indices",
    "indptr",
    "coords",
    "packed_weight",
    "scales",
    "zeros",
    "1.1.0",
    "1.2.0",
    "2.0.0",
    "1",
    "crc32c:0x0",
    "sha256:00",
    "xxh:1",
    "\0\n",
];

fn any(u: &mut Unstructured<'_>, words: &[&str]) -> Result<Item> {
    Ok(match u.int_in_range(0..=8u8)? {
        0 => Item::Unsigned(u.arbitrary()?),
        1 => Item::Text(words[u.choose_index(words.len())?].to_owned()),
        2 => Item::Array(Vec::new()),
        3 => Item::Map(Vec::new()),
        4 => Item::Simple(u.int_in_range(20..=23)?),
        5 => Item::Raw(vec![0x20]),
        6 => Item::Raw(vec![0xc1, 0xf9, 0x3c, 0x00]),
        7 => Item::Array(vec![Item::Unsigned(u.arbitrary()?), Item::Unsigned(u.arbitrary()?)]),
        _ => Item::Raw(u.arbitrary()?),
    })
}
