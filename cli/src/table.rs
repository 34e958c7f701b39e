//! Aligns columns.

use crate::failure::Outcome;
use crate::output::{Output, Tone};
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A wider cell moves the rest of its own row, not the other rows.
const WIDEST: usize = 80;

/// A table that grows row by row.
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        let widths = columns.iter().map(|(heading, _)| heading.width()).collect();
        Table { columns: columns.to_vec(), widths, rows: Vec::new() }
    }

    /// One cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = Some(cell.width()).filter(|w| *w <= WIDEST).map_or(*width, |w| w.max(*width));
        }
        self.rows.push(cells);
    }

    /// Leaves out a column.
    pub fn hide(&mut self, heading: &str) {
        if let Some(at) = self.columns.iter().position(|(found, _)| *found == heading) {
            self.columns.remove(at);
            self.widths.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }

    pub fn write(&self, out: &mut Output) -> Outcome<()> {
        let headings = self.columns.iter().map(|(heading, _)| *heading);
        let line = self.line(headings);
        let line = out.toned(Tone::Heading, &line);
        out.line(format_args!("{line}"))?;
        self.rows
            .iter()
            .try_for_each(|row| out.line(format_args!("{}", self.line(row.iter().map(String::as_str)))))
    }

    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.zip(&self.widths).zip(&self.columns) {
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            match align {
                Align::Left => line.extend([cell, &pad, "  "]),
                Align::Right => line.extend([&pad, cell, "  "]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}
