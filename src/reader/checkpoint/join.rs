//! A manifest in which the tensors of each weight are one object.

use super::found::{Attribute, NO_TENSOR};
use super::groups::{Group, Groups};
use super::{SCHEME, UNREADABLE};
use crate::container::Validated;
use crate::error::{fail, try_format, Result};
use crate::memory::{append, bytes_of, filled, joined, push, with_capacity};
use crate::model::manifest::{table_position, Component, Format, Manifest, Object, Position, TextId};
use crate::model::value::ValueBuilder;
use crate::reader::file::File;
use crate::reader::lazy_sizes::LazySizes;
use crate::reader::manifest::NameIndex;

/// The objects and components of the new manifest.
#[derive(Default)]
struct Joined {
    manifest: Manifest,
    roles: Vec<(&'static str, TextId)>,
    /// The attributes of each form that came.
    attributes: Vec<Option<Position>>,
    /// For each object and each component the position that it had.
    of_objects: Vec<u32>,
    of_components: Vec<u32>,
}

impl File {
    /// Makes each group one object.
    pub(super) fn join_groups(&mut self, groups: Groups) -> Result<()> {
        let (objects, components) = (self.manifest.objects.len(), self.manifest.components.len());
        let tables = bytes_of::<(Object, u32)>(objects)
            .saturating_add(bytes_of::<(Component, u32, u32, u32)>(components))
            .saturating_add(NameIndex::size(objects));
        self.charge_combined(tables, "the objects of quantized weights")?;
        let old = std::mem::take(&mut self.manifest).into_inner();
        let joined = join(old, &groups).map_err(|e| self.in_file(e))?;
        let Joined { manifest, of_objects, of_components, .. } = joined;
        self.parts.set_positions(of_objects, of_components);
        self.manifest = Validated::known(manifest);
        // They are by the numbers that components had.
        (self.frame_indexes, self.decoded) = Default::default();
        let (parts, manifest) = (&self.parts, &self.manifest);
        let names = NameIndex::build(manifest, |one, other| parts.duplicate(manifest, one, other));
        self.names = names.map_err(|e| self.in_file(e))?;
        if self.lazy_sizes.is_some() {
            self.lazy_sizes = Some(LazySizes::of(manifest, |at| parts.number_of_component(manifest, at))?);
        }
        Ok(())
    }

    pub(super) fn charge_combined(&self, bytes: u64, what: &str) -> Result<()> {
        self.shards.budget.lock().charge(bytes, what).map_err(|e| self.in_file(e))
    }
}

fn join(mut old: Manifest, groups: &Groups) -> Result<Joined> {
    let objects = std::mem::take(&mut old.objects);
    let components = std::mem::take(&mut old.components);
    let mut joined = Joined { manifest: old, ..Joined::default() };
    joined.of_objects = with_capacity(objects.len())?;
    joined.of_components = with_capacity(components.len())?;
    joined.manifest.stored_shapes.try_reserve_exact(components.len())?;
    joined.manifest.components.try_reserve(components.len())?;
    let in_groups = groups.tensors.iter().filter(|at| **at != NO_TENSOR).count();
    let others = objects.len().saturating_sub(in_groups);
    joined.manifest.objects.try_reserve(others.saturating_add(groups.all.len()))?;
    joined.attributes = filled(None, groups.forms.len())?;
    // The number of the group of each tensor; none at the largest.
    let mut in_group = filled(u32::MAX, objects.len())?;
    for (number, group) in (0u32..).zip(&groups.all) {
        for at in groups.tensors(group).iter().filter(|at| **at != NO_TENSOR) {
            in_group.get_mut(*at as usize).into_iter().for_each(|place| *place = number);
        }
    }
    let of = |at: u32| {
        let object = objects.get(at as usize)?;
        Some((object, object.component_start, components.get(object.component_start as usize)?))
    };
    for (at, (object, group)) in (0u32..).zip(objects.iter().zip(&in_group)) {
        match groups.all.get(*group as usize) {
            None => {
                let first = table_position(joined.manifest.components.len())?;
                let start = object.component_start as usize;
                let entries = components.get(start..start.saturating_add(object.component_count as usize));
                for (place, entry) in (object.component_start..).zip(entries.ok_or_else(lost)?) {
                    joined.push_component(*entry, place, object)?;
                }
                joined.push_object(Object { component_start: first, ..*object }, at)?;
            }
            Some(group) if groups.first(group) == at => joined.push_group(groups, group, &of)?,
            Some(_) => {}
        }
    }
    Ok(joined)
}

#[cold]
fn lost() -> crate::error::Error {
    fail!(Internal, "a tensor of a weight is not there")
}

impl Joined {
    fn push_component(&mut self, entry: Component, place: u32, of: &Object) -> Result<()> {
        self.manifest.components.push(entry)?;
        let rank = if of.format == Format::Dense { of.rank } else { u32::MAX };
        self.manifest.stored_shapes.push((of.shape_start, rank)); // within what was reserved
        self.of_components.push(place);
        Ok(())
    }

    fn push_object(&mut self, object: Object, place: u32) -> Result<()> {
        self.manifest.objects.push(object)?;
        self.of_objects.push(place);
        Ok(())
    }

    fn push_group<'o>(
        &mut self,
        groups: &Groups,
        group: &Group,
        of: &impl Fn(u32) -> Option<(&'o Object, u32, &'o Component)>,
    ) -> Result<()> {
        let component_start = table_position(self.manifest.components.len())?;
        let parts = group.scheme.parts.iter().zip(groups.tensors(group));
        for (part, at) in parts.filter(|(_, at)| **at != NO_TENSOR) {
            let (object, place, entry) = of(*at).ok_or_else(lost)?;
            let mut entry = *entry;
            entry.role = self.role(part.role)?;
            self.push_component(entry, place, object)?;
        }
        let component_count = table_position(self.manifest.components.len())?.saturating_sub(component_start);
        let first_at = groups.first(group);
        let first = of(first_at).ok_or_else(lost)?.0;
        let shape = group.shape();
        let is_known = group.form.is_ok() && shape != self.manifest.shape(first);
        let (shape_start, rank) = match is_known {
            false => (first.shape_start, first.rank),
            true => {
                let start = table_position(self.manifest.dimensions.len())?;
                append(&mut self.manifest.dimensions, shape)?;
                (start, table_position(shape.len())?)
            }
        };
        let named_by = of(group.named_by).ok_or_else(lost)?.0;
        let name = self.name_of(named_by.name, group.module as usize, group.scheme.weight)?;
        let attributes = Some(self.attributes(groups, group)?);
        let format = Format::QuantizedGroup;
        let object = Object { name, format, shape_start, rank, component_start, component_count, attributes };
        self.push_object(object, first_at)
    }

    /// The name of a weight: so many bytes of that name, and a suffix.
    fn name_of(&mut self, name: TextId, length: usize, suffix: &str) -> Result<TextId> {
        let old = self.manifest.texts.get_bytes(name);
        let module = old.get(..length).unwrap_or_default();
        if old.get(length..) == Some(suffix.as_bytes()) {
            return Ok(name);
        }
        self.manifest.texts.add_bytes(&joined([module, suffix.as_bytes()])?)
    }

    fn role(&mut self, role: &'static str) -> Result<TextId> {
        // Not by their texts: at worst, a role that two schemes have is kept twice.
        if let Some((_, text)) = self.roles.iter().find(|(known, _)| std::ptr::eq(*known, role)) {
            return Ok(*text);
        }
        let text = self.manifest.texts.add(role)?;
        push(&mut self.roles, (role, text))?;
        Ok(text)
    }

    fn attributes(&mut self, groups: &Groups, group: &Group) -> Result<Position> {
        let number = group.form.as_ref().ok().map(|number| *number as usize);
        if let Some(known) = number.and_then(|number| self.attributes.get(number).copied().flatten()) {
            return Ok(known);
        }
        let mut builder = ValueBuilder::new(&mut self.manifest.values);
        builder.begin_map(None)?;
        builder.text(SCHEME)?;
        builder.text(group.scheme.name)?;
        if let Err(why) = &group.form {
            builder.text(UNREADABLE)?;
            builder.text(&try_format(format_args!("{why}"))?)?;
        }
        let form = number.and_then(|number| groups.forms.get(number));
        for (key, value) in form.map(|form| form.description.attributes()).unwrap_or_default() {
            builder.text(key)?;
            match value {
                Attribute::Nothing => builder.null()?,
                Attribute::Number(number) => builder.unsigned(*number)?,
                Attribute::Float(number) => builder.float(*number)?,
                Attribute::Text(text) => builder.text(text)?,
            }
        }
        builder.end()?;
        let at = builder.finish()?;
        let place = number.and_then(|number| self.attributes.get_mut(number));
        place.into_iter().for_each(|place| *place = Some(at));
        Ok(at)
    }
}
