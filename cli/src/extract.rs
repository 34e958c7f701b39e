//! `zt cat` and `zt extract`: write the decoded bytes of tensors, alone or as NumPy files.

use crate::arguments::{Arguments, Cat, Chosen, Command, Extract, Floats};
use crate::convert::{self, emit, emit_numbers, Elements};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::names;
use crate::new_files::{check_free, NewFile, NewFiles};
use crate::notes::{damage, Notes, What};
use crate::output::{refuse_terminal, Output};
use crate::{models, npy, text};
use clap::Parser;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::Value;
use ztensor::reader::{Component, Object};

/// Writes one component to standard output.
pub fn cat(arguments: &Cat) -> Outcome<()> {
    let path = &arguments.file;
    let interrupt = Interrupt::listen();
    let at_path = |e| Failure::at(path, e);
    refuse_terminal("the bytes of a tensor")?;
    let file = models::open(path)?;
    let chosen = Chosen::some_of(std::slice::from_ref(&arguments.name), arguments.meaning, path, &[&file])?;
    let mut objects = file.objects().filter(|object| chosen.has(object));
    let object = match (objects.next(), objects.next()) {
        (Some(object), None) => object,
        _ => return Err(Failure::at(path, format!("several objects match {:?}", arguments.name))),
    };
    let roles =
        || object.components().map(|c| text::name(c.role()).into_owned()).collect::<Vec<_>>().join(", ");
    let refused = |why: String| Failure::at(path, format!("object {:?}: {why}", arguments.name));
    let component = match (&arguments.component, object.components().len()) {
        (Some(role), _) => object.component(role),
        (None, 1) => object.components().next(),
        (None, _) => return Err(refused(format!("--component says which one: {}", roles()))),
    };
    let component = component.ok_or_else(|| refused(format!("it has the components {}", roles())))?;
    let header = match arguments.npy {
        true => header(path, &object, &component, "without --npy its bytes are written")?,
        false => Vec::new(),
    };
    let stdout = std::io::stdout();
    let mut out = stdout.lock();
    out.write_all(&header).map_err(Failure::output)?;
    let mut put =
        |bytes: &[u8]| interrupt.check().and_then(|()| out.write_all(bytes).map_err(Failure::output));
    emit(&component, false, &mut put, &at_path)?;
    out.flush().map_err(Failure::output)
}

/// The output folder. A new one has a hidden name until all files are in it. If this is dropped before, the
/// folder is removed, and so are parents that were made with it.
struct Folder {
    to: PathBuf,
    /// The hidden path of a new folder, if it is new. Its new parents are also remembered.
    hidden: Option<PathBuf>,
    made: Vec<PathBuf>,
}

impl Folder {
    fn make(to: &Path) -> Outcome<Folder> {
        let mut folder = Folder { to: to.to_owned(), hidden: None, made: Vec::new() };
        if to.exists() {
            return Ok(folder);
        }
        let failed = |e| Failure::at(to, e);
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let new = parent.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        folder.made = new.map(Path::to_owned).collect();
        std::fs::create_dir_all(parent).map_err(failed)?;
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        for number in 0.. {
            let hidden = parent.join(format!(".{name:.50}.{}-{number}.tmp", std::process::id()));
            match std::fs::create_dir(&hidden) {
                Ok(()) => {
                    folder.hidden = Some(hidden);
                    break;
                }
                // Left by another process with our process number.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(folder)
    }

    /// The current path of the folder.
    fn path(&self) -> &Path {
        self.hidden.as_deref().unwrap_or(&self.to)
    }

    /// Gives a new folder its name.
    fn publish(mut self) -> Outcome<()> {
        if let Some(hidden) = &self.hidden {
            std::fs::rename(hidden, &self.to).map_err(|e| Failure::at(&self.to, e))?;
        }
        self.hidden = None;
        self.made.clear();
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure cannot be reported here.
        if let Some(hidden) = &self.hidden {
            let _ = std::fs::remove_dir_all(hidden);
        }
        for path in &self.made {
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Writes all tensors to one file, as `zt convert` does.
fn to_one_file(arguments: &Extract) -> Outcome<()> {
    if arguments.raw {
        return Err(Failure::Usage("--raw writes a file for each tensor; --to needs the name of a folder"));
    }
    let flag = |name: &str, is_set: bool| Some(OsString::from(name)).filter(|_| is_set);
    let mut words: Vec<OsString> = ["zt", "convert", "--no-attributes"].map(OsString::from).into();
    words.extend(flag("--force", arguments.force));
    words.extend(flag("--allow-damaged", arguments.allow_damaged));
    words.extend(flag("--glob", arguments.meaning.glob));
    words.extend(flag("--exact", arguments.meaning.exact));
    let dtype = arguments.dtype.map(|dtype| format!("--dtype={}", dtype.dtype().name()));
    let names = arguments.names.iter().map(|name| format!("--include={name}"));
    words.extend(dtype.into_iter().chain(names).map(OsString::from));
    words.extend(["--".into(), arguments.file.clone().into(), arguments.to.clone().into()]);
    match Arguments::try_parse_from(words).map(|parsed| parsed.command) {
        Ok(Command::Convert(arguments)) => convert::run(&arguments).map_err(|why| match why {
            Failure::Message(why) => Failure::Message(why.replace("--lossy", "zt convert --lossy")),
            other => other,
        }),
        _ => Err(Failure::Message(String::from("internal error: extract made a wrong command line"))),
    }
}

/// Writes a file for each component; all get their names at the end.
pub fn extract(arguments: &Extract) -> Outcome<()> {
    let path = &arguments.file;
    let is_container = |path: &Path| !arguments.to.is_dir() && convert::target_of(path).is_some();
    if is_container(&arguments.to) {
        return to_one_file(arguments);
    }
    if is_container(&PathBuf::from(format!("x.{}", arguments.to.display()))) {
        return Err(Failure::Usage("--to needs a name: FILE.safetensors, or ./safetensors for a folder"));
    }
    let interrupt = Interrupt::listen_and_protect();
    let file = models::open(path)?;
    let chosen = Chosen::some_of(&arguments.names, arguments.meaning, path, &[&file])?;
    let wanted = |object: &Object<'_>| chosen.has(object);
    let dtype = arguments.dtype.map(Floats::dtype);
    let (notes, mut attributes) = (Notes::default(), count_of(file.attributes()));
    // Refuse everything that cannot be written before the first file is written.
    let (mut planned, mut names, mut is_complete) = (Vec::new(), FileNames::default(), true);
    for object in file.objects().filter(wanted) {
        attributes += count_of(object.attributes());
        if object.components().len() == 0 {
            notes.add(What::LeftOut, "object", &names::text(&object), "it has no component");
        }
        // If numbers are converted, one array with all of them; else one for each component.
        for component in object.components().take(dtype.map_or(usize::MAX, |_| 1)) {
            let header = match (dtype, arguments.raw) {
                (Some(to), is_raw) => header_of_numbers(path, &object, to, is_raw)?,
                (None, true) => Vec::new(),
                (None, false) => header(path, &object, &component, &otherwise(&component))?,
            };
            let name = match object.components().len() {
                many if many > 1 && dtype.is_none() => {
                    format!("{}.{}", names::text(&object), component.role())
                }
                _ => names::text(&object).into_owned(),
            };
            let Some((file_name, is_numbered)) = names.next(&name, arguments.raw) else {
                notes.add(What::LeftOut, "object", &names::text(&object), "its name is too long for a file");
                is_complete = false;
                continue;
            };
            if is_numbered {
                let why = format!("{file_name}, as a file system may not tell its name from another one");
                notes.add(What::Renamed, "object", &name, why);
            }
            let target = arguments.to.join(file_name);
            planned.push((component, header, target, crate::names::text(&object).into_owned()));
        }
    }
    if planned.is_empty() && is_complete {
        return Err(Failure::at(path, "it has no tensors"));
    }
    let is_one = planned.len() == 1;
    planned.iter().try_for_each(|(_, _, target, _)| match is_one {
        true => check_free(target, arguments.force),
        false if target.symlink_metadata().is_err() => Ok(()),
        false => {
            let why = "it exists, and several files cannot replace it at once; choose a new folder";
            Err(Failure::at(target, why))
        }
    })?;
    let folder = Folder::make(&arguments.to)?;
    let (mut files, mut bytes) = (Vec::new(), 0u64);
    for (component, header, target, name) in planned {
        let object = component.object();
        let parts = || object.components().filter(|part| dtype.is_some() || part.role() == component.role());
        if let Err(why) = parts().try_for_each(|part| part.check_source()) {
            let is_damage = why.is_damage();
            let why = Failure::at(path, why);
            if !(is_damage && arguments.allow_damaged) {
                return Err(if is_damage { damage::refused(why) } else { why });
            }
            let left_out = parts().any(|part| part.for_each_decoded(&mut |_| Ok(())).is_err());
            notes.add(What::Damaged, "object", &name, damage::reason(left_out));
            if left_out {
                continue;
            }
        }
        let target = folder.path().join(target.file_name().unwrap_or_default());
        let new = NewFile::create(&target, arguments.force && is_one, false)?;
        new.write(&header)?;
        let mut put = |chunk: &[u8]| {
            interrupt.check()?;
            bytes += chunk.len() as u64;
            new.write(chunk)
        };
        let failed = |e| Failure::at(path, e);
        match dtype {
            Some(to) => emit_numbers(&object, to, false, false, &mut put, &failed)?,
            None => emit(&component, false, &mut put, &failed)?,
        }
        new.close()?;
        files.push(new);
    }
    let what = text::count(files.len() as u64, "file");
    let files = NewFiles { files, ..NewFiles::default() };
    if !arguments.raw {
        files.open_each()?;
    }
    interrupt.check()?;
    files.publish()?;
    folder.publish()?;
    let folder = arguments.to.display().to_string();
    let mut out = Output::new();
    out.line(format_args!("{}: {what}, {} of data", text::one_line(&folder), text::size(bytes)))?;
    out.flush()?;
    if attributes > 0 {
        notes.add_count(What::LeftOut, "attribute", attributes, "only tensors are extracted");
    }
    notes.report();
    match is_complete {
        true => Ok(()),
        false => Err(Failure::Reported),
    }
}

fn count_of(attributes: Option<Value<'_>>) -> u64 {
    attributes.unwrap_or(Value::EMPTY_MAP).pairs().count() as u64
}

/// What helps if NumPy does not have a type.
fn otherwise(component: &Component<'_>) -> String {
    let is_of_blocks = component.known_logical().is_some_and(|logical| logical.is_block_type());
    let file = if is_of_blocks { "FILE.zt" } else { "FILE.safetensors" };
    format!("--dtype f32 writes its numbers, --to {file} keeps its type, and --raw writes only the bytes")
}

/// Makes file names that differ on every file system.
#[derive(Default)]
struct FileNames {
    /// In lower case and in Unicode's normal form C.
    taken: HashSet<String>,
    /// The last number that was added to a name.
    numbers: HashMap<String, u64>,
}

impl FileNames {
    /// The name for the file of a component: its name made safe, with a number if that is taken. Also whether
    /// it has a number. `None` if it is too long for a file name.
    fn next(&mut self, name: &str, raw: bool) -> Option<(String, bool)> {
        const MAX_SIZE: usize = 255;
        let is_safe = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':' | '\0');
        let safe: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
        let extension = if raw { "bin" } else { "npy" };
        let folded = |name: &str| name.to_lowercase().nfc().collect::<String>();
        let number = self.numbers.entry(folded(&safe)).or_insert(0);
        loop {
            *number += 1;
            let file = match *number {
                1 => format!("{safe}.{extension}"),
                number => format!("{safe}-{number}.{extension}"),
            };
            if file.len() > MAX_SIZE {
                return None;
            }
            if self.taken.insert(folded(&file)) {
                return Some((file, *number > 1));
            }
        }
    }
}

/// The header of a NumPy file with an object's numbers as elements of `to`; empty if only their bytes are
/// written.
fn header_of_numbers(path: &Path, object: &Object<'_>, to: Dtype, is_raw: bool) -> Outcome<Vec<u8>> {
    let refused = |why: String| Failure::at(path, format!("object {:?}: {why}", names::text(object)));
    let size = object.size_as(to).map_err(|e| Failure::at(path, e))?;
    let (elements, shape) = (Elements::Plain(to), object.shape());
    if elements.block().size(object.element_count().unwrap_or(0)) != Some(size) {
        return Err(refused(format!("a complex number is not one {}", to.name())));
    }
    match npy::refusal(shape) {
        _ if is_raw => Ok(Vec::new()),
        _ if npy::descr(elements).is_none() => {
            let name = to.name();
            Err(refused(format!("NumPy cannot represent {name:?}; --raw writes only the bytes")))
        }
        Some(what) => Err(refused(format!("NumPy cannot represent {what}"))),
        None => Ok(npy::header(elements, shape)),
    }
}

/// The header of a NumPy file of a component.
fn header(path: &Path, object: &Object<'_>, component: &Component<'_>, otherwise: &str) -> Outcome<Vec<u8>> {
    let refused = |what: &str| {
        let (name, role) = (names::text(object), component.role());
        // For an unknown type, it is unknown which bytes to write.
        let otherwise =
            if component.unreadable().is_none() { format!("; {otherwise}") } else { String::new() };
        let why = format!("object {name:?}: component {role:?}: NumPy cannot represent {what}{otherwise}");
        Failure::at(path, why)
    };
    let elements = Elements::of(component).filter(|elements| npy::descr(*elements).is_some());
    let elements =
        elements.ok_or_else(|| refused(&format!("{:?}", crate::elements::type_name(component))))?;
    let size = component.size().map_err(|e| Failure::at(path, e))?;
    let block = elements.block();
    let whole = object.components().len() == 1;
    let of_shape = object.element_count().and_then(|count| block.size(count));
    // If the object has several components and this one does not have its shape, it is a one-dimensional
    // array.
    let shape = match (whole, of_shape == Some(size)) {
        (_, true) => object.shape().to_vec(),
        (false, false) if size % block.bytes == 0 => vec![size / block.bytes],
        _ => return Err(refused(&format!("{size} bytes in the shape {:?}", object.shape()))),
    };
    match npy::refusal(&shape) {
        Some(what) => Err(refused(&what)),
        None => Ok(npy::header(elements, &shape)),
    }
}
