//! Joins the manifests of several files into one: tables are appended, and positions are increased
//! accordingly.

use super::component::Layout;
use super::manifest::{Component, Format, Manifest, Object, Position, RareNames, Shard, TextId};
use crate::error::{fail, Result};
use crate::memory::{append, bytes_of};

impl Manifest {
    /// The memory that its tables use.
    pub fn size(&self) -> u64 {
        let tables = [
            self.texts.size() as u64,
            bytes_of::<u64>(self.dimensions.len()),
            bytes_of::<Object>(self.objects.len()),
            bytes_of::<Component>(self.components.len()),
            bytes_of::<RareNames>(self.rare_names.len()),
            bytes_of::<Layout>(self.layouts.len()),
            bytes_of::<u64>(self.strides.len()),
            bytes_of::<Shard>(self.shards.len()),
            self.values.size() as u64,
        ];
        tables.into_iter().fold(0, u64::saturating_add)
    }

    /// Reserves memory for everything in `others`.
    pub fn reserve_for<'m>(&mut self, others: impl Iterator<Item = &'m Manifest> + Clone) -> Result<()> {
        let sum = |size: fn(&Manifest) -> usize| others.clone().map(size).fold(0, usize::saturating_add);
        self.texts.reserve(sum(|m| m.texts.size()))?;
        self.dimensions.try_reserve_exact(sum(|m| m.dimensions.len()))?;
        self.objects.try_reserve_exact(sum(|m| m.objects.len()))?;
        self.components.try_reserve_exact(sum(|m| m.components.len()))?;
        self.rare_names.try_reserve_exact(sum(|m| m.rare_names.len()))?;
        self.layouts.try_reserve_exact(sum(|m| m.layouts.len()))?;
        self.strides.try_reserve_exact(sum(|m| m.strides.len()))?;
        self.values.try_reserve_exact(sum(|m| m.values.size()))
    }

    /// Appends the objects of `other` for which `is_shown` is true. [`Manifest::reserve_for`] has reserved
    /// memory. The container, the version and the file's attributes are those of the first manifest. Returns
    /// the version of `other`.
    pub fn append(&mut self, other: &Manifest, is_shown: &dyn Fn(usize) -> bool) -> Result<Option<TextId>> {
        let moved = Moved {
            text: u32::try_from(self.texts.size()).map_err(|_| too_large())?,
            dimension: u32::try_from(self.dimensions.len()).map_err(|_| too_large())?,
            rare: self.rare_names.len(),
            layout: self.layouts.len(),
            shard: self.shards.len(),
            value: self.values.size(),
        };
        let version = moved.text(other.version_text)?;
        if self.container.is_none() {
            self.container = other.container;
            self.version_text = version;
            self.attributes = moved.position(other.attributes, moved.value)?;
        }
        self.texts.append(&other.texts)?;
        self.values.append(&other.values)?;
        append(&mut self.dimensions, &other.dimensions)?;
        for rare in other.rare_names.iter() {
            self.rare_names.push(RareNames {
                digest: moved.text(rare.digest)?,
                dtype: moved.text(rare.dtype)?,
                logical: moved.text(rare.logical)?,
                encoding: moved.text(rare.encoding)?,
                layout: moved.position(rare.layout, moved.layout)?,
                shard: moved.position(rare.shard, moved.shard)?,
            })?;
        }
        self.shards.try_reserve(other.shards.len())?;
        for shard in &other.shards {
            let (name, digest) = (moved.id(shard.name)?, moved.id(shard.digest)?);
            self.shards.push(Shard { name, digest, ..*shard });
        }
        let before = u32::try_from(self.strides.len()).map_err(|_| too_large())?;
        for layout in other.layouts.iter() {
            let strides = layout.strides.map(|start| start.checked_add(before).ok_or_else(too_large));
            self.layouts.push(Layout { strides: strides.transpose()?, ..*layout })?;
        }
        append(&mut self.strides, &other.strides)?;
        self.append_objects(other, &moved, is_shown)?;
        Ok(version)
    }

    /// Appends the objects of `other` that are shown, and their components.
    fn append_objects(
        &mut self,
        other: &Manifest,
        moved: &Moved,
        is_shown: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        for (_, object) in other.objects.iter().enumerate().filter(|(at, _)| is_shown(*at)) {
            let first = u32::try_from(self.components.len()).map_err(|_| too_large())?;
            for component in other.components(object) {
                let rare = moved.position(component.rare, moved.rare)?;
                let mut component = *component;
                (component.role, component.rare) = (moved.id(component.role)?, rare);
                self.components.push(component)?;
            }
            self.objects.push(Object {
                name: moved.id(object.name)?,
                format: match object.format {
                    Format::Other(name) => Format::Other(moved.id(name)?),
                    known => known,
                },
                shape_start: object.shape_start.checked_add(moved.dimension).ok_or_else(too_large)?,
                component_start: first,
                attributes: moved.position(object.attributes, moved.value)?,
                ..*object
            })?;
        }
        Ok(())
    }
}

/// How much positions in the appended manifest increase.
struct Moved {
    text: u32,
    dimension: u32,
    rare: usize,
    layout: usize,
    shard: usize,
    value: usize,
}

impl Moved {
    fn id(&self, text: TextId) -> Result<TextId> {
        text.moved(self.text).ok_or_else(too_large)
    }

    fn text(&self, text: Option<TextId>) -> Result<Option<TextId>> {
        text.map(|text| self.id(text)).transpose()
    }

    fn position(&self, at: Option<Position>, by: usize) -> Result<Option<Position>> {
        at.map(|at| Position::after(at.index().saturating_add(by))).transpose()
    }
}

#[cold]
fn too_large() -> crate::error::Error {
    fail!(Limit, "a table of all parts together passes 2^32 entries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype::Dtype;
    use crate::model::value::{ValueBuilder, ValueKind};

    /// A manifest of `count` objects, each with `count` components, an attribute, and rare texts.
    fn manifest(prefix: &str, count: u32) -> Manifest {
        let mut m = Manifest::default();
        m.container = Some(crate::model::manifest::Container::Npz);
        m.version_text = Some(m.texts.add(prefix).unwrap());
        for at in 0..count {
            let component_start = m.components.len() as u32;
            for _ in 0..count {
                let role = m.intern_role("data").unwrap();
                let mut component = Component::new(role, Some(Dtype::U8));
                let digest = m.texts.add(&format!("{prefix} digest {at}")).unwrap();
                let layout = Some(Position::after(m.layouts.len()).unwrap());
                let strides = Some(m.strides.len() as u32);
                m.layouts.push(Layout { start: u64::from(at), strides, ..Layout::default() }).unwrap();
                m.strides.extend([prefix.len() as u64, u64::from(at)]);
                let rare = RareNames { digest: Some(digest), layout, ..RareNames::default() };
                component.rare = m.add_rare_names(rare).unwrap();
                component.offset = u64::from(at);
                m.components.push(component).unwrap();
            }
            let mut builder = ValueBuilder::new(&mut m.values);
            builder.text(&format!("{prefix} value {at}")).unwrap();
            let attributes = builder.finish().unwrap();
            let shape_start = m.dimensions.len() as u32;
            m.dimensions.extend([u64::from(at), prefix.len() as u64]);
            let format = Format::Other(m.texts.add(&format!("{prefix} format {at}")).unwrap());
            let name = m.texts.add(&format!("{prefix} name {at}")).unwrap();
            let attributes = Some(attributes);
            let (rank, component_count) = (2, count);
            m.objects
                .push(Object {
                    name,
                    format,
                    shape_start,
                    rank,
                    component_start,
                    component_count,
                    attributes,
                })
                .unwrap();
        }
        m
    }

    #[test]
    fn what_is_joined_says_of_each_object_what_its_file_said() {
        let parts = [manifest("first", 2), Manifest::default(), manifest("second one", 3)];
        let shown = |part: usize, at: usize| part != 2 || at != 1;
        let mut joint = Manifest::default();
        joint.reserve_for(parts.iter()).unwrap();
        let capacity = joint.texts.spare_capacity();
        for (number, part) in parts.iter().enumerate() {
            joint.append(part, &|at| shown(number, at)).unwrap();
        }
        assert_eq!(capacity, joint.texts.size() + joint.texts.spare_capacity(), "made room for before");
        let expected: Vec<_> =
            [("first", 0, 2), ("first", 1, 2), ("second one", 0, 3), ("second one", 2, 3)].into();
        assert_eq!(joint.objects.len(), expected.len());
        assert_eq!(joint.version_text(), "first");
        for (object, (prefix, at, count)) in joint.objects.iter().zip(expected) {
            assert_eq!(joint.texts.get(object.name), format!("{prefix} name {at}"));
            assert_eq!(joint.format_name(object.format), format!("{prefix} format {at}"));
            assert_eq!(joint.shape(object), [at, prefix.len() as u64]);
            let value = joint.object_attributes(object).unwrap();
            assert!(
                matches!(value.kind(), ValueKind::Text(t) if t.as_str() == format!("{prefix} value {at}"))
            );
            assert_eq!(joint.components(object).len(), count);
            for component in joint.components(object) {
                assert_eq!((joint.texts.get(component.role), component.offset), ("data", at));
                let layout = joint.layout(component).unwrap();
                assert_eq!(layout.start, at);
                assert_eq!(joint.strides(layout, 2), Some(&[prefix.len() as u64, at][..]));
                assert_eq!(joint.digest(component), Some(format!("{prefix} digest {at}").as_str()));
            }
        }
    }
}
