//! `zt add`, `zt merge` and `zt compact`: copy objects into a `.zt` file without encoding them again.

use crate::arguments::{Add, Chosen, Compact, Merge};
use crate::edit::{check_is_whole, check_may_change};
use crate::elements::stored_size;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::names;
use crate::names::in_json as name;
use crate::new_files::{check_free, check_is_zt, check_whole, identity, of_input, NewFile, NewFiles};
use crate::notes::{damage, note_unchecked, Notes, What};
use crate::output::Output;
use crate::remote;
use crate::{elements, models, progress, text};
use std::cmp::Ordering;
use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::HashMap;
use std::path::Path;
use ztensor::container::SPLIT_KEYS;
use ztensor::error::{Error, Result};
use ztensor::model::manifest::Container;
use ztensor::model::value::{order, Attributes, Value};
use ztensor::reader::{File, Object, OpenOptions};
use ztensor::writer::{Loss, Recode, Summary, Writer, WriterOptions};

/// How damaged objects are handled, and the notes for the end.
#[derive(Default)]
struct Damage {
    is_allowed: bool,
    notes: Notes,
}

impl Damage {
    fn new(is_allowed: bool) -> Damage {
        Damage { is_allowed, ..Damage::default() }
    }
}

/// Copies all objects. Returns those that were left out. A signal stops it between two pieces; then the
/// output stays unchanged.
fn copy_all<'f>(
    writer: &mut Writer,
    objects: &[(Object<'f>, &Path)],
    output: &Path,
    interrupt: &Interrupt,
    damage: &Damage,
) -> Outcome<Vec<Object<'f>>> {
    let listener = interrupt.clone();
    writer.on_progress(move |_| listener.check().is_ok()).map_err(|e| Failure::at(output, e))?;
    let stored = objects.iter().map(|(object, _)| stored_size(object));
    let bar = progress::bar(stored.fold(0, u64::saturating_add), output);
    let mut left_out = Vec::new();
    for (object, input) in objects {
        interrupt.check()?;
        let (mut is_refused, mut is_damaged) = (false, false);
        let mut agree = |loss: Loss, _: &Error| {
            let is_damage = matches!(loss, Loss::Damage | Loss::DamagedObject);
            is_refused |= is_damage && !damage.is_allowed;
            is_damaged |= is_damage;
            is_damage && damage.is_allowed
        };
        let text_name = object.text_name().map_err(|e| {
            Failure::at_either(
                input,
                output,
                format!("{e}; zt convert --rename writes a file where it has another one"),
            )
        })?;
        let copied = writer.copy_agreed(*object, text_name, &Recode::default(), &mut agree);
        let is_copied = copied.map_err(|e| match is_refused {
            true => damage::refused(failure(interrupt, input, output, e)),
            false => failure(interrupt, input, output, e),
        })?;
        if is_damaged {
            damage.notes.add(What::Damaged, "object", &name(object.name_bytes()), damage::reason(!is_copied));
        }
        left_out.extend((!is_copied).then_some(*object));
        object.components().for_each(|component| elements::release(&component));
        bar.inc(stored_size(object));
    }
    bar.finish_and_clear();
    interrupt.check().map(|()| left_out)
}

fn failure(interrupt: &Interrupt, input: &Path, output: &Path, error: Error) -> Failure {
    match interrupt.check() {
        Err(interrupted) => interrupted,
        Ok(()) => Failure::at_either(input, output, error),
    }
}

fn report(path: &Path, what: &str, summary: &Summary) -> Outcome<()> {
    let shown = path.display().to_string();
    let mut out = Output::new();
    out.line(format_args!(
        "{}: {what}, {}, file of {}",
        text::one_line(&shown),
        text::count(summary.objects, "object"),
        text::size(summary.file_size)
    ))?;
    out.flush()
}

pub fn add(arguments: &Add) -> Outcome<()> {
    let (path, input) = (&arguments.file, &arguments.input);
    let interrupt = Interrupt::listen_and_protect();
    check_may_change(path)?;
    check_is_zt(path)?;
    check_is_whole(path)?;
    let file = models::open(input)?;
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, input, &[&file])?;
    let wanted = |object: &Object<'_>| chosen.has(object);
    let objects: Vec<_> = file.objects().filter(wanted).map(|object| (object, input.as_path())).collect();
    if objects.is_empty() {
        return Err(Failure::at(input, "it has no tensors"));
    }
    let options = WriterOptions { durable: arguments.durable, ..WriterOptions::default() };
    let old = File::open(path, &OpenOptions::default()).map_err(|e| Failure::at(path, e))?;
    let mut writer = Writer::append(path, &options).map_err(|e| Failure::at(path, e))?;
    for (object, _) in objects.iter().filter(|(object, _)| old.find(object.name_bytes()).is_some()) {
        if !arguments.replace {
            let why = format!("object {:?} exists already; --replace removes it first", names::text(object));
            return Err(Failure::at(path, why));
        }
        writer.remove_object(&names::text(object)).map_err(|e| Failure::at(path, e))?;
    }
    let damage = Damage::new(arguments.allow_damaged);
    note_unchecked(&damage.notes, &file);
    let left_out = copy_all(&mut writer, &objects, path, &interrupt, &damage)?;
    if let Some(object) = left_out.iter().find(|object| old.find(object.name_bytes()).is_some()) {
        let why =
            format!("object {:?} is damaged, so it does not replace the existing one", names::text(object));
        return Err(Failure::at(input, why));
    }
    let summary = writer.finish().map_err(|e| failure(&interrupt, input, path, e))?;
    let added = objects.len() - left_out.len();
    let what = format!("{} added", text::count(added as u64, "object"));
    report(path, &what, &summary)?;
    for (key, _) in file.attributes().into_iter().flat_map(|map| map.pairs()) {
        damage.notes.add(What::LeftOut, "attribute", &shown_key(key), "attributes of the added file");
    }
    damage.notes.report();
    Ok(())
}

pub fn merge(arguments: &Merge) -> Outcome<()> {
    let Some((output, inputs)) = arguments.paths.split_last().filter(|(_, inputs)| !inputs.is_empty()) else {
        return Err(Failure::Usage("the file to write is missing: zt merge INPUT... OUTPUT"));
    };
    let interrupt = Interrupt::listen_and_protect();
    check_is_zt(output)?;
    check_whole(output)?;
    check_free(output, arguments.force)?;
    let old = identity(output); // before the inputs are read, because it may be one of them
    let inputs = models::once(inputs, &OpenOptions::default());
    let files = inputs.iter().map(|path| models::open(path)).collect::<Outcome<Vec<_>>>()?;
    let mut objects = Vec::new();
    let mut names: HashMap<&[u8], &Path> = HashMap::new();
    let (mut attributes, mut keys, notes) = (Attributes::default(), BTreeMap::new(), Notes::default());
    for (file, path) in files.iter().zip(inputs) {
        for object in file.objects() {
            if let Some(other) = names.insert(object.name_bytes(), path) {
                let (name, other) = (names::text(&object), remote::shown(other));
                return Err(Failure::at(path, format!("object {name:?} is also in {other}")));
            }
            objects.push((object, path));
        }
        merge_attributes(&mut attributes, &mut keys, file, &notes).map_err(|e| Failure::at(path, e))?;
    }
    // If all inputs are zTensor 2, the output is, too. The content of their shards is also put into the
    // single file.
    let usual = WriterOptions { durable: arguments.durable, ..WriterOptions::default() };
    let version = match files.iter().all(|file| file.container() == Container::V2) {
        true => Container::V2,
        false => usual.version,
    };
    let options = WriterOptions { version, ..usual };
    let new = NewFile::create(output, arguments.force, arguments.durable)?;
    let mut writer = Writer::to_sink(new.sink(), &options).map_err(|e| Failure::at(output, e))?;
    writer.set_attributes(attributes).map_err(|e| Failure::at(output, e))?;
    let damage = Damage { is_allowed: arguments.allow_damaged, notes };
    files.iter().for_each(|file| note_unchecked(&damage.notes, file));
    copy_all(&mut writer, &objects, output, &interrupt, &damage)?;
    let summary = writer.finish().map_err(|e| failure(&interrupt, output, output, e))?;
    let old_root = of_input(output, old, &files.iter().collect::<Vec<_>>());
    let new = NewFiles { files: vec![new], old_root, ..NewFiles::default() };
    drop(new.open()?);
    new.publish()?;
    report(output, &format!("{} merged", text::count(files.len() as u64, "file")), &summary)?;
    damage.notes.report();
    Ok(())
}

/// The key of an attribute. It may have any kind.
struct Key<'f>(Value<'f>);

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        order(self.0, other.0)
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key<'_> {}

fn shown_key(key: Value<'_>) -> String {
    key.as_text().map_or_else(|| format!("{key:?}"), str::to_owned)
}

/// Adds the attributes of another file; existing keys keep their values. Attributes about a file's origin, or
/// its part of a model, are left out because they would be wrong for the merged file.
fn merge_attributes<'f>(
    attributes: &mut Attributes,
    keys: &mut BTreeMap<Key<'f>, Value<'f>>,
    file: &'f File,
    notes: &Notes,
) -> Result<()> {
    let own = file.attributes().into_iter().flat_map(|map| map.pairs());
    let is_of_file =
        |key: Value<'_>| key.is_text(File::ORIGIN) || SPLIT_KEYS.iter().any(|split| key.is_text(split));
    for (key, value) in own.filter(|(key, _)| !is_of_file(*key)) {
        let left_out = |why: &str| notes.add(What::LeftOut, "attribute", &shown_key(key), why);
        match keys.entry(Key(key)) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                attributes.push(key, value)?;
            }
            Entry::Occupied(first) if order(*first.get(), value).is_ne() => {
                left_out("an earlier file has another value");
            }
            Entry::Occupied(_) => {}
        }
    }
    Ok(())
}

pub fn compact(arguments: &Compact) -> Outcome<()> {
    let path = &arguments.file;
    let interrupt = Interrupt::listen_and_protect();
    let at_path = |e| Failure::at(path, e);
    let old = identity(path);
    check_may_change(path)?;
    check_is_zt(path)?;
    check_is_whole(path)?;
    let file = File::open(path, &OpenOptions::default()).map_err(at_path)?;
    // If files of this container cannot be edited, they have no unused bytes.
    let Some(version) = file.capabilities().appends_as else {
        let container = file.container().name();
        let why = format!("a file of {container} cannot be rewritten in place; use zt convert");
        return Err(Failure::at(path, why));
    };
    if file.objects().flat_map(|object| object.components()).any(|component| component.part_number() > 0) {
        let why = "it has data in shards, which would move into it; zt merge makes one file of them";
        return Err(Failure::at(path, why));
    }
    let before = file.size();
    let objects: Vec<_> = file.objects().map(|object| (object, path.as_path())).collect();
    let (alignment, large_alignment) = alignments(&file);
    let durable = arguments.durable;
    let options = WriterOptions { version, durable, alignment, large_alignment, ..WriterOptions::default() };
    let new = NewFile::create(path, true, durable)?;
    let mut writer = Writer::to_sink(new.sink(), &options).map_err(at_path)?;
    writer.set_attributes(Attributes::of(file.attributes()).map_err(at_path)?).map_err(at_path)?;
    let damage = Damage::new(arguments.allow_damaged);
    copy_all(&mut writer, &objects, path, &interrupt, &damage)?;
    let summary = writer.finish().map_err(|e| failure(&interrupt, path, path, e))?;
    drop(new.open()?); // opened alone, because its name may be the name of a part
    NewFiles { files: vec![new], old_root: old, ..NewFiles::default() }.publish()?;
    let freed = before.saturating_sub(summary.file_size);
    report(path, &format!("{} given back", text::size(freed)), &summary)?;
    damage.notes.report();
    Ok(())
}

/// The writer's alignment options, from a file's components below and above 1 MiB. At most the size of a huge
/// page: otherwise one component at 2^40 would need that much padding.
fn alignments(file: &File) -> (u64, u64) {
    const LARGE_SIZE: u64 = 1 << 20;
    const MAX_ALIGNMENT_BITS: u32 = 21;
    let usual = WriterOptions::default().alignment;
    let all = |is_large: bool| {
        let components = file.objects().flat_map(|object| object.components());
        let offsets =
            components.filter(|c| c.stored_size() > 0 && (c.stored_size() >= LARGE_SIZE) == is_large);
        let zeros = offsets.map(|c| c.offset().trailing_zeros()).min();
        zeros.map_or(usual, |zeros| 1 << zeros.min(MAX_ALIGNMENT_BITS)).max(usual)
    };
    let (small, large) = (all(false), all(true));
    let has_small = file
        .objects()
        .flat_map(|object| object.components())
        .any(|c| (1..LARGE_SIZE).contains(&c.stored_size()));
    match has_small {
        true => (small, if large > small { large } else { 0 }),
        false => (large, 0),
    }
}
