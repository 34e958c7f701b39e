//! The page's data about a file. A component is a row, short enough for a million rows in a page.

use super::page::Page;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::names;
use crate::stats::Found;
use crate::{attributes, elements, remote};
use serde_json::{json, Value as Json};
use std::collections::HashMap;
use std::path::Path;
use ztensor::reader::{Component, File, Object};

/// The statistics of each component of a file.
pub type StatsOf = Vec<Option<Found>>;

pub struct FileData<'f> {
    path: &'f Path,
    file: &'f File,
    texts: Texts<'f>,
}

/// Texts that many rows share, each stored once.
#[derive(Default)]
struct Texts<'f> {
    places: HashMap<&'f str, usize>,
    list: Vec<&'f str>,
}

impl<'f> Texts<'f> {
    fn place(&mut self, text: &'f str) -> usize {
        *self.places.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() - 1
        })
    }
}

/// JavaScript has no exact integers above 2^53, so those become texts.
fn exact(number: u64) -> Json {
    match number {
        0..=0x001f_ffff_ffff_ffff => json!(number),
        _ => json!(number.to_string()),
    }
}

impl<'f> FileData<'f> {
    pub fn new(path: &'f Path, file: &'f File) -> FileData<'f> {
        FileData { path, file, texts: Texts::default() }
    }

    /// Writes the data, row by row.
    pub fn write(mut self, page: &mut Page, stats: Option<StatsOf>, interrupt: &Interrupt) -> Outcome<()> {
        let (path, file) = (self.path, self.file);
        let attributes = attributes::lines(file.attributes()).map_err(|e| Failure::at(path, e))?;
        let parts = file.parts().map(|part| json!({ "name": part.label(), "size": exact(part.size()) }));
        let head = json!({
            "path": remote::shown(path),
            "container": file.container().name(),
            "version": file.version(),
            "size": exact(file.size()),
            "objects": file.object_count(),
            "parts": parts.collect::<Vec<_>>(),
            "attributes": attributes,
            "has_stats": stats.is_some(),
        });
        let head = head.to_string();
        page.put_json(&head[..head.len() - 1])?; // without the closing brace
        page.put_json(",\"rows\":[")?;
        let mut stats = stats.into_iter().flatten();
        let mut separator = "\n";
        for object in file.objects() {
            interrupt.check()?;
            let attributes = attributes::lines(object.attributes()).map_err(|e| Failure::at(path, e))?;
            for component in object.components() {
                let found = stats.next().flatten();
                let row = self.row(&object, &component, found.as_ref(), &attributes);
                page.put_json(separator)?;
                page.put_json(&row.to_string())?;
                separator = ",\n";
            }
        }
        page.put_json("],\"texts\":")?;
        page.put_json(&json!(self.texts.list).to_string())?;
        page.put_json("}")
    }

    /// In the order of `ROW` in model.js.
    fn row(
        &mut self,
        object: &Object<'f>,
        component: &Component<'f>,
        found: Option<&Found>,
        attributes: &[String],
    ) -> Json {
        let role = match object.components().len() {
            1 => Json::Null,
            _ => json!(self.texts.place(component.role())),
        };
        json!([
            names::text(object),
            role,
            self.texts.place(elements::type_name(component)),
            self.texts.place(object.format_name()),
            self.texts.place(component.encoding_name()),
            object.shape().iter().map(|dimension| exact(*dimension)).collect::<Vec<_>>(),
            component.part_number(),
            exact(component.offset()),
            exact(component.stored_size()),
            component.size().ok().map(exact),
            component.digest(),
            found.map(values),
            attributes,
        ])
    }
}

/// In the order of `VALUES` in model.js.
fn values(found: &Found) -> Json {
    let summary = &found.summary;
    json!([
        exact(summary.count),
        summary.min(),
        summary.max(),
        summary.mean(),
        summary.deviation(),
        exact(summary.zero),
        exact(summary.nan),
        exact(summary.infinite),
        found.histogram.as_ref().map(|histogram| &histogram.counts),
    ])
}
