//! Makes the header's enumerations from the tables of the model.

use std::fmt::Write as _;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Container, Encoding};

/// A constant: its name after the prefix, its number, its description.
type Row = (String, i32, &'static str);

/// An enumeration, the prefix of its constants, and the constants of a table.
fn table(name: &str) -> Option<(&'static str, Vec<Row>)> {
    // "zt.zstd-seekable/1" becomes ZSTD_SEEKABLE.
    let word = |name: &str| name.trim_start_matches("zt.").split('/').next().map(str::to_uppercase);
    let row = |name: &str, number, about| (word(name).unwrap().replace(['.', '-'], "_"), number, about);
    Some(match name {
        "zt_dtype_value" => ("ZT_DTYPE_", Dtype::ALL.map(|d| row(d.name(), d.number(), d.about())).to_vec()),
        "zt_type_value" => ("ZT_TYPE_", Logical::ALL.map(|t| row(t.name(), t.number(), t.about())).to_vec()),
        "zt_encoding_value" => {
            let rows = Encoding::KNOWN.map(|e| row(e.name().unwrap(), e.number(), e.about()));
            ("ZT_ENCODING_", rows.to_vec())
        }
        "zt_container_value" => {
            ("ZT_CONTAINER_", Container::ALL.map(|c| row(c.constant(), c.number(), "")).to_vec())
        }
        _ => return None,
    })
}

/// The enumeration with the values of its table, in the order of their numbers.
pub fn with_values(name: &str, item: &str) -> String {
    let Some((prefix, mut rows)) = table(name) else { return item.to_owned() };
    let (head, rest) = item.split_once("{\n").expect("an enumeration");
    let (members, tail) = rest.split_at(rest.rfind('}').expect("the enumeration does not end"));
    let mut comment = String::new();
    let mut all: Vec<(i32, String)> = Vec::new();
    for line in members.lines() {
        match line.split_once(" = ") {
            Some((_, number)) => {
                let number = number.trim_end_matches(',').parse().expect("a number");
                all.push((number, std::mem::take(&mut comment) + line + "\n"));
            }
            None => comment += &format!("{line}\n"),
        }
    }
    for (name, number, about) in rows.drain(..) {
        let mut member = String::new();
        if !about.is_empty() {
            writeln!(member, "    ///{about}").unwrap();
        }
        writeln!(member, "    {prefix}{name} = {number},").unwrap();
        all.push((number, member));
    }
    all.sort_by_key(|(number, _)| *number);
    assert!(all.windows(2).all(|pair| pair[0].0 != pair[1].0), "{name} has the same number twice");
    all.into_iter().fold(format!("{head}{{\n"), |out, (_, member)| out + &member) + tail
}
