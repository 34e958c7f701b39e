//! `zt cat` and `zt extract`: the decoded bytes of tensors, alone or as NumPy files.

use crate::arguments::{check_matches, is_chosen, Cat, Extract};
use crate::convert::{check_free, emit, Elements, NewFile};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::notes::{damage, Notes, What};
use crate::output::{refuse_terminal, Output};
use crate::remote;
use crate::{npy, text};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use ztensor::reader::{Component, Object};

/// Writes one component to standard output.
pub fn cat(arguments: &Cat) -> Outcome<()> {
    let path = &arguments.file;
    let interrupt = Interrupt::listen();
    let at_path = |e| Failure::at(path, e);
    refuse_terminal("the bytes of a tensor")?;
    let file = remote::open(path)?;
    let object = file.required(&arguments.name).map_err(at_path)?;
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
    emit(&component, None, false, &mut put, &at_path)?;
    out.flush().map_err(Failure::output)
}

/// A new folder. When this is dropped, the folder and the parents that were made with it are removed, unless it is kept or
/// has files in it.
struct NewFolder(Vec<PathBuf>);

impl NewFolder {
    fn make(path: &Path) -> Outcome<NewFolder> {
        let new = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let folder = NewFolder(new.map(Path::to_owned).collect());
        std::fs::create_dir_all(path).map_err(|e| Failure::at(path, e))?;
        Ok(folder)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_dir(path); // a failure cannot be reported here
        }
    }
}

/// Writes a file for each component; all get their names at the end.
pub fn extract(arguments: &Extract) -> Outcome<()> {
    let path = &arguments.file;
    let interrupt = Interrupt::listen();
    let file = remote::open(path)?;
    check_matches(&arguments.globs, path, &[&file])?;
    let wanted = |object: &Object<'_>| is_chosen(object.name(), &arguments.globs);
    // Whatever cannot be written is refused before the first file is written.
    let (mut planned, mut targets) = (Vec::new(), HashSet::new());
    for object in file.objects().filter(wanted) {
        for component in object.components() {
            let header = match arguments.raw {
                true => Vec::new(),
                false => header(path, &object, &component, "--raw writes bytes alone")?,
            };
            let target = target(arguments, &object, &component)?;
            // Also where a file system takes large and small letters for the same.
            if !targets.insert(target.to_string_lossy().to_lowercase()) {
                let name = text::name(object.name());
                let why =
                    format!("object {name:?}: another one comes into the same file, {}", target.display());
                return Err(Failure::at(path, why));
            }
            check_free(&target, arguments.force)?;
            planned.push((component, header, target, object.name().to_owned()));
        }
    }
    if planned.is_empty() {
        return Err(Failure::at(path, "it has no tensors"));
    }
    let folder = NewFolder::make(&arguments.to)?;
    let (mut files, mut bytes) = (Vec::new(), 0u64);
    let notes = Notes::default();
    for (component, header, target, name) in planned {
        let new = NewFile::create(&target, arguments.force, false)?;
        new.write(&header)?;
        let mut put = |chunk: &[u8]| {
            interrupt.check()?;
            bytes += chunk.len() as u64;
            new.write(chunk)
        };
        if let Err(why) = component.check_source() {
            let is_damage = why.is_damage();
            match arguments.allow_damaged && is_damage {
                true => notes.add(What::Damaged, "object", &name, "the bytes do not agree with a checksum"),
                false if is_damage => return Err(damage::refused(Failure::at(path, why))),
                false => return Err(Failure::at(path, why)),
            }
        }
        emit(&component, None, false, &mut put, &|e| Failure::at(path, e))?;
        new.close()?;
        files.push(new);
    }
    interrupt.check()?;
    let what = text::count(files.len() as u64, "file");
    NewFile::publish_all(files)?;
    folder.keep();
    let folder = arguments.to.display().to_string();
    let mut out = Output::new();
    out.line(format_args!("{}: {what}, {} of data", text::one_line(&folder), text::size(bytes)))?;
    out.flush()?;
    notes.report();
    Ok(())
}

/// The file of a component: its name, made safe, in the folder. What would be another folder is none here.
fn target(arguments: &Extract, object: &Object<'_>, component: &Component<'_>) -> Outcome<PathBuf> {
    let name = match object.components().len() {
        1 => object.name().to_owned(),
        _ => format!("{}.{}", object.name(), component.role()),
    };
    let is_safe = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':' | '\0');
    let safe: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    let extension = if arguments.raw { "bin" } else { "npy" };
    let file_name = format!("{safe}.{extension}");
    if file_name.len() > 255 {
        let shown = text::name(object.name()).into_owned();
        return Err(Failure::at(
            &arguments.file,
            format!("object {shown:?}: its name is too long for a file"),
        ));
    }
    Ok(arguments.to.join(file_name))
}

/// The header of a NumPy file of a component.
fn header(path: &Path, object: &Object<'_>, component: &Component<'_>, otherwise: &str) -> Outcome<Vec<u8>> {
    let refused = |what: &str| {
        let (name, role) = (object.name(), component.role());
        Failure::at(
            path,
            format!("object {name:?}: component {role:?}: NumPy cannot represent {what}; {otherwise}"),
        )
    };
    let elements = Elements::of(component).filter(|elements| npy::descr(*elements).is_some());
    let elements =
        elements.ok_or_else(|| refused(&format!("{:?}", crate::elements::type_name(component))))?;
    let size = component.size().map_err(|e| Failure::at(path, e))?;
    let block = elements.block();
    let whole = object.components().len() == 1;
    let of_shape = object.element_count().and_then(|count| block.size(count));
    // A component that does not fill the object's shape is an array in one dimension, if the object has several.
    let shape = match (whole, of_shape == Some(size)) {
        (_, true) => object.shape().to_vec(),
        (false, false) if size % block.bytes == 0 => vec![size / block.bytes],
        _ => return Err(refused(&format!("{size} bytes in the shape {:?}", object.shape()))),
    };
    Ok(npy::header(elements, &shape))
}
