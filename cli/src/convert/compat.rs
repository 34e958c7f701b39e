//! HDF5 and ONNX, by the crate `ztensor-compat`.
//!
//! It takes memory as files say and may panic or overflow its stack, so it runs in a process of its own, which is this
//! program once more: that one writes a temporary .zt file, and here that is opened. However it ends, here it is one line.

use super::other_formats::Format;
use crate::arguments::ReadWithCompat;
use crate::failure::{report, Failure, Outcome};
use crate::interrupt::Interrupt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{DenseSpec, Writer, WriterOptions};

/// How long to wait between two looks at the process.
const PAUSE: Duration = Duration::from_millis(10);
/// More of what it says is not looked at.
const LONGEST_MESSAGE: u64 = 1 << 12;

/// A path that is free again when this goes.
struct Temporary(PathBuf);

impl Temporary {
    fn new(end: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!(".zt-{}.{end}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // it may not be there
    }
}

/// Opens a file of such a format.
pub fn open(path: &Path, format: Format, interrupt: &Interrupt) -> Outcome<File> {
    let at = |e: std::io::Error| Failure::at(path, e);
    let made = Temporary::new("compat.zt");
    let mut command = Command::new(std::env::current_exe().map_err(at)?);
    command.arg("read-with-compat").arg(path).arg(&made.0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(at)?;
    let said = child.stderr.take();
    let status = wait(&mut child, interrupt).map_err(at)?;
    interrupt.check()?;
    let mut message = String::new();
    if let Some(said) = said {
        let _ = said.take(LONGEST_MESSAGE).read_to_string(&mut message); // it may be no text
    }
    let message = message.lines().next().and_then(|line| line.strip_prefix("zt: ")).unwrap_or_default();
    if status.success() && !message.is_empty() {
        report(message);
    }
    if !status.success() {
        return Err(match status.code() {
            Some(1) if !message.is_empty() => Failure::at(path, message),
            _ => Failure::at(path, format!("it is {}, and reading it broke off ({status})", format.name())),
        });
    }
    File::open(&made.0, &OpenOptions::default()).map_err(|e| Failure::at(path, e))
}

/// Until it has ended, or is ended by a signal to this program.
fn wait(child: &mut Child, interrupt: &Interrupt) -> std::io::Result<ExitStatus> {
    loop {
        if interrupt.check().is_err() {
            let _ = child.kill(); // it may have ended
            return child.wait();
        }
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None => std::thread::sleep(PAUSE),
        }
    }
}

/// Reads with the crate, and writes a .zt file: the other process.
pub fn read(arguments: &ReadWithCompat) -> Outcome<()> {
    // The crate's bugs are not this program's: they are told by how this process ends.
    std::panic::set_hook(Box::new(|_| std::process::exit(2)));
    let input = &arguments.input;
    let at = |e: &dyn std::fmt::Display| Failure::at(input, e);
    // It goes by the name for what says nothing about itself.
    let link = Temporary::new("onnx");
    let whole = input.canonicalize().map_err(|e| at(&e))?;
    #[cfg(unix)]
    std::os::unix::fs::symlink(&whole, &link.0).map_err(|e| at(&e))?;
    #[cfg(not(unix))]
    std::fs::copy(&whole, &link.0).map_err(|e| at(&e))?;
    let source = ztensor_compat::open(&link.0).map_err(|e| at(&e))?;
    let mut writer = Writer::create(&arguments.output, &WriterOptions::default()).map_err(|e| at(&e))?;
    for tensor in source.tensors() {
        let part = tensor.data().map_err(|e| at(&e))?;
        let bytes = part.bytes().map_err(|e| at(&e))?;
        let unknown = || at(&format!("object {:?}: its type is unknown here", tensor.name()));
        let (dtype, logical) = match part.logical() {
            None => (Dtype::from_name(part.dtype().as_str()).ok_or_else(unknown)?, None),
            Some("bool") => (Dtype::Bool, None),
            Some(name) => {
                let logical = Logical::from_name(name).ok_or_else(unknown)?;
                (logical.dtype(), Some(logical))
            }
        };
        let spec = DenseSpec { logical, ..DenseSpec::new(tensor.name(), dtype, tensor.shape(), &bytes) };
        writer.write_dense(&spec).map_err(|e| at(&e))?;
    }
    writer.finish().map_err(|e| at(&e))?;
    let skipped = source.attributes().and_then(|all| all.get("hdf5.skipped")?.as_array()).unwrap_or_default();
    if !skipped.is_empty() {
        let names: Vec<_> = skipped.iter().filter_map(|name| name.as_text()).collect();
        report(&format!("{}: not read, as they are no numbers: {}", input.display(), names.join(", ")));
    }
    Ok(())
}
