//! Aligns columns.

use crate::failure::Outcome;
use crate::output::{Output, Tone};
use crate::text;
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A wider cell moves the rest of its own row, not the other rows.
const WIDEST: usize = 80;

/// The space between two columns.
const GAP: usize = 2;
/// Names are not cut to less than this.
const SHORTEST: usize = 20;

/// How a table fits into the width of the terminal.
#[derive(Clone, Copy)]
struct Layout {
    /// The most columns of a name.
    names: usize,
    /// Whether the name has one line, and the other cells the line after it.
    has_own_lines: bool,
    gap: usize,
}

impl Layout {
    /// Nothing is cut.
    const WIDE: Layout = Layout { names: usize::MAX, has_own_lines: false, gap: GAP };
}

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

    /// Writes the table. If it is wider than the terminal, it cuts the names in the first column. If they
    /// would become too short, they have lines of their own.
    pub fn write(&self, out: &mut Output) -> Outcome<()> {
        let layout = self.layout(out.width());
        let headings = self.columns.iter().map(|(heading, _)| *heading);
        let line = self.line(headings, layout);
        let line = out.toned(Tone::Heading, &line);
        out.line(format_args!("{line}"))?;
        self.rows.iter().try_for_each(|row| {
            out.line(format_args!("{}", self.line(row.iter().map(String::as_str), layout)))
        })
    }

    fn layout(&self, width: Option<usize>) -> Layout {
        let (count, names) = (self.widths.len(), self.widths.first().copied().unwrap_or(0));
        let others = self.widths.iter().skip(1).sum::<usize>() + GAP * count.saturating_sub(1);
        // Names that are wider than all columns count, too, as they move the rest of their rows.
        let longest = self.rows.iter().filter_map(|row| row.first()).map(|name| name.width()).max();
        let names = names.max(longest.unwrap_or(0));
        match width {
            Some(width) if names + others > width => match width.checked_sub(others) {
                Some(names) if names >= SHORTEST => Layout { names, ..Layout::WIDE },
                // Without the first gap, but with an indent of the same width.
                _ if others <= width => Layout { names: width, has_own_lines: true, gap: GAP },
                _ => Layout { names: width, has_own_lines: true, gap: 1 },
            },
            _ => Layout::WIDE,
        }
    }

    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>, layout: Layout) -> String {
        let mut line = String::new();
        for (at, ((cell, width), (_, align))) in cells.zip(&self.widths).zip(&self.columns).enumerate() {
            let cell = if at == 0 { text::cut(cell, layout.names) } else { cell.into() };
            if at == 0 && layout.has_own_lines {
                line.extend([&cell, "\n  "]);
                continue;
            }
            let width = if at == 0 && layout.names < usize::MAX { layout.names } else { *width };
            let (pad, gap) = (" ".repeat(width.saturating_sub(cell.width())), " ".repeat(layout.gap));
            match align {
                Align::Left => line.extend([&cell, pad.as_str(), &gap]),
                Align::Right => line.extend([pad.as_str(), &cell, &gap]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}
