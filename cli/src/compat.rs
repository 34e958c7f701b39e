//! HDF5 and ONNX, with the crate `ztensor-compat`.
//!
//! The crate allocates whatever memory files declare, and may panic or overflow its stack. So it runs in a
//! separate process of this program, which writes a temporary .zt file that is opened here. However that
//! process ends, this one reports a single line and removes the temporary files.

use crate::arguments::ReadWithCompat;
use crate::failure::{report, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::temporary::Folder;
use std::io::{copy, sink, Read, Result};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::Builder;
use std::time::Duration;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{DenseSpec, Writer, WriterOptions};

/// The pause between two checks whether the process has ended.
const PAUSE: Duration = Duration::from_millis(10);
/// The rest of its messages is ignored.
const LONGEST_MESSAGE: u64 = 1 << 12;

/// Opens a file of one of these formats.
pub fn open(path: &Path, format: &str) -> Outcome<File> {
    let mut program = Command::new(std::env::current_exe().map_err(|e| Failure::at(path, e))?);
    program.arg("read-with-compat");
    Interrupt::protect(|interrupt| open_by(program, path, format, interrupt))
}

/// Runs a program with the paths of the input and of the .zt file to write, then opens the result. Removes
/// the temporary files.
fn open_by(mut program: Command, path: &Path, format: &str, interrupt: &Interrupt) -> Outcome<File> {
    let at = |e: std::io::Error| Failure::at(path, e);
    let folder = Folder::new().map_err(at)?;
    // The crate uses the name if the content does not show the format.
    let (link, made) = (folder.path().join("in.onnx"), folder.path().join("out.zt"));
    let whole = path.canonicalize().map_err(at)?;
    #[cfg(unix)]
    std::os::unix::fs::symlink(&whole, &link).map_err(at)?;
    #[cfg(not(unix))]
    std::fs::copy(&whole, &link).map_err(at)?;
    let (status, said) = run(program.arg(&link).arg(&made), interrupt).map_err(at)?;
    interrupt.check()?;
    let message = said.lines().find_map(|line| line.strip_prefix("zt: ")).unwrap_or_default();
    if !status.success() {
        return Err(match status.code() {
            Some(1) if !message.is_empty() => {
                Failure::at(path, format!("it is {format} that cannot be read: {message}"))
            }
            _ => Failure::at(path, format!("it is {}, and reading it failed ({status})", format)),
        });
    }
    if !message.is_empty() {
        report(&format!("{}: {message}", path.display()));
    }
    File::open(&made, &OpenOptions::default()).map_err(|e| Failure::at(path, e))
}

/// Runs a program until it ends. If this process gets a signal, ends the program. Returns its status and the
/// beginning of its messages.
fn run(program: &mut Command, interrupt: &Interrupt) -> Result<(ExitStatus, String)> {
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    // Read on a thread, because a program that writes more than a pipe holds waits for a reader.
    let said = child.stderr.take().map(|said| Builder::new().spawn(move || beginning(said))).transpose();
    let status = match said.is_ok() {
        true => wait(&mut child, interrupt),
        false => end(&mut child),
    };
    let said = said?.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Ok((status?, String::from_utf8_lossy(&said).into_owned()))
}

/// Returns the beginning, and reads and drops the rest.
fn beginning(mut said: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let read = said.by_ref().take(LONGEST_MESSAGE).read_to_end(&mut kept);
    let _ = read.and_then(|_| copy(&mut said, &mut sink())); // use what was read so far
    kept
}

fn wait(child: &mut Child, interrupt: &Interrupt) -> Result<ExitStatus> {
    while interrupt.check().is_ok() {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None => std::thread::sleep(PAUSE),
        }
    }
    end(child)
}

fn end(child: &mut Child) -> Result<ExitStatus> {
    let _ = child.kill(); // it may have ended already
    child.wait()
}

/// Reads a file with the crate and writes a .zt file. This runs in the separate process.
pub fn read(arguments: &ReadWithCompat) -> Outcome<()> {
    // A panic in the crate is not a bug of this program. The exit status reports it.
    std::panic::set_hook(Box::new(|_| std::process::exit(2)));
    let at = |e: &dyn std::fmt::Display| Failure::Message(e.to_string());
    let source = ztensor_compat::open(&arguments.input).map_err(|e| at(&e))?;
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
        report(&format!("not read, because they are not numbers: {}", names.join(", ")));
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn who_says_more_than_a_pipe_holds_ends() {
        let script = "printf 'zt: no \\377 text\\n' >&2; head -c 1000000 /dev/zero >&2; exit 1";
        let (status, said) = run(&mut shell(script), &Interrupt::default()).unwrap();
        assert_eq!((status.code(), said.lines().next()), (Some(1), Some("zt: no \u{fffd} text")));
        assert_eq!(said.len(), 4096 + 2, "the replacement takes three bytes");
    }

    #[test]
    fn an_interrupt_ends_the_program() {
        let interrupt = Interrupt::default();
        interrupt.come(2);
        let (status, _) = run(Command::new("sleep").arg("1000"), &interrupt).unwrap();
        assert_eq!(status.signal(), Some(9));
    }

    /// In the shell, $1 is the file and $2 the output.
    #[test]
    fn nothing_is_left_however_the_program_ends() {
        let noted = Folder::new().unwrap();
        let note = noted.path().join("note");
        let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let opens = |rest: &str, interrupt: &Interrupt| {
            let begin = "cmp \"$1\" Cargo.toml && echo data > \"$2\" && ls -ld \"${2%/*}\"";
            let mut program = shell(&format!("{begin} > {}; {rest}", note.display()));
            program.arg("sh").current_dir(env!("CARGO_MANIFEST_DIR"));
            let opened = open_by(program, &input, "an ONNX model", interrupt);
            let said = std::fs::read_to_string(&note).unwrap();
            let (mode, folder) = (&said[..10], &said[said.find('/').unwrap()..]);
            assert_eq!(mode, "drwx------");
            assert!(!Path::new(folder.trim()).exists(), "{rest}: {folder}");
            match opened {
                Err(Failure::Message(message)) => message,
                Err(other) => format!("{other:?}"),
                Ok(_) => panic!("{rest}: it is no .zt file"),
            }
        };
        let none = Interrupt::default();
        for (rest, expected) in [
            ("exit 0", "Cargo.toml"),
            ("echo 'zt: no weights' >&2; exit 1", "no weights"),
            ("exit 2", "reading it failed"),
            ("kill -9 $$", "reading it failed"),
        ] {
            let message = opens(rest, &none);
            assert!(message.contains(expected), "{rest}: {message}");
        }
        let interrupt = Interrupt::default();
        std::thread::scope(|scope| {
            std::fs::remove_file(&note).unwrap();
            scope.spawn(|| {
                while std::fs::read(&note).map_or(0, |said| said.len()) == 0 {
                    std::thread::sleep(PAUSE);
                }
                interrupt.come(15);
            });
            assert_eq!(opens("exec sleep 1000", &interrupt), "Interrupted(15)");
        });
    }
}
