//! `zt verify`: prints a line for each file and each failure, and a summary. Sets the exit status.

mod sarif;

use crate::arguments::Verify;
use crate::elements::stored_size;
use crate::failure::{with_errors, Failure, Outcome};
use crate::names::in_json as name;
use crate::notes::{first_names, note_unchecked, Notes, What};
use crate::output::{Output, Tone};
use crate::remote;
use crate::{models, notes, progress, text};
use serde_json::{json, Value as Json};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{File, Mode, OpenOptions, VerifyOptions, VerifyReport};

/// The result for one file.
struct Found {
    report: VerifyReport,
    /// The failures, in the order in which they were found.
    failures: Vec<Broken>,
    /// What could not be checked.
    unchecked: Vec<Broken>,
    notes: Notes,
    /// Whether no data was read.
    is_quick: bool,
    /// Whether the whole file has the SHA-256 that was given.
    has_sha256: bool,
}

/// A failure of an object, a component or a file.
struct Broken {
    object: Option<String>,
    role: Option<String>,
    message: String,
    /// The rule of the format that is broken or, if the file breaks no rule, the kind of failure.
    rule: &'static str,
    cause: Cause,
    /// Whether nothing is known to be wrong, as it could not be read or decoded.
    is_unknown: bool,
    /// Whether it only fails because digests are required, and this component has none.
    lacks_digest: bool,
}

pub fn run(arguments: &Verify) -> Outcome<()> {
    let started = Instant::now();
    if arguments.sha256.is_some()
        && (arguments.files.len() > 1 || !arguments.files.iter().all(|f| f.is_file()))
    {
        return Err(Failure::Usage("--sha256 needs exactly one FILE, the path of a file"));
    }
    let mut output = PipedOutput { out: Output::new(), is_closed: false };
    let (mut good, mut partly, mut bad, mut unchecked, mut bytes) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let (mut all, notes) = (Vec::new(), Notes::default());
    for path in models::once(&arguments.files, &arguments.open_options()) {
        let found = verify(path, arguments);
        bytes = bytes.saturating_add(found.report.bytes);
        match found.state() {
            State::Good => good += 1,
            State::Structure => partly += 1,
            State::Unchecked | State::Unknown => unchecked += 1,
            State::Broken => bad += 1,
        }
        if arguments.json || arguments.sarif {
            all.push((path, found));
            continue;
        }
        let shown = remote::shown(path);
        let shown = text::one_line(&shown);
        if found.failures.is_empty() {
            let state = match found.state() {
                State::Good => output.out.toned(Tone::Good, "ok"),
                State::Structure => output.out.toned(Tone::Warning, "structure ok"),
                _ => output.out.toned(Tone::Bad, "not checked in full"),
            };
            output.line(format_args!("{shown}: {state}, {}", details(&found)))?;
            notes.absorb(found.notes);
            continue;
        }
        let failed = match found.state() {
            State::Unknown => output.out.toned(Tone::Bad, "cannot be read"),
            _ => output.out.toned(Tone::Bad, "FAILED"),
        };
        output.line(format_args!("{shown}: {failed}"))?;
        for broken in found.failures.iter().filter(|broken| !broken.lacks_digest) {
            Failure::at(path, &broken.message).report();
        }
        found.report_missing_digests(path);
        notes.absorb(found.notes);
    }
    let documents = match (arguments.json, arguments.sarif) {
        (true, _) => Some(all.iter().map(|(path, found)| found.as_json(path)).collect()),
        (_, true) => {
            let entries: Vec<_> = all.iter().flat_map(|(path, found)| found.entries(path)).collect();
            Some(sarif::log(&entries, unchecked == 0))
        }
        _ => None,
    };
    all.into_iter().for_each(|(_, found)| notes.absorb(found.notes));
    if let Some(document) = documents {
        output.line(format_args!("{}", text::json(&format!("{:#}", with_errors(document)))))?;
    } else {
        let seconds = started.elapsed().as_secs_f64();
        let (files, bytes) = (text::count(good + partly + bad + unchecked, "file"), text::size(bytes));
        let some = |count: u64, what: &str| match count {
            0 => String::new(),
            count => format!(", {count} {what}"),
        };
        let (partly, more) = (some(partly, "structure ok"), some(unchecked, "not checked in full"));
        output.line(format_args!(
            "{files}: {good} ok{partly}, {bad} failed{more}; {bytes} in {seconds:.2} s"
        ))?;
    }
    notes.report();
    match (bad, unchecked) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Trouble(Box::new(Failure::Reported))),
        _ => Err(Failure::Damaged),
    }
}

/// Standard output. If its reader is gone, lines are dropped and verification continues, so that the exit
/// status is right.
struct PipedOutput {
    out: Output,
    is_closed: bool,
}

impl PipedOutput {
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Outcome<()> {
        if self.is_closed {
            return Ok(());
        }
        match self.out.line(line).and_then(|()| self.out.flush()) {
            Err(Failure::Pipe) => {
                self.is_closed = true;
                Ok(())
            }
            outcome => outcome,
        }
    }
}

/// Finds all failures, not only the first.
fn verify(path: &Path, arguments: &Verify) -> Found {
    let (failures, unchecked, notes) = (Vec::new(), Vec::new(), Notes::default());
    let (report, is_quick) = (VerifyReport::default(), arguments.quick);
    let mut found = Found { report, failures, unchecked, notes, is_quick, has_sha256: false };
    let listed = Mutex::new(Vec::new());
    if let Some(wanted) = &arguments.sha256 {
        match check_sha256(path, wanted) {
            Ok(()) => found.has_sha256 = true,
            Err(error) => found.failures.push(Broken::of(&error, arguments)),
        }
    }
    let (has_sha256, notes) = (found.has_sha256, &found.notes);
    let outcome =
        check(path, arguments, &mut found.report, notes, has_sha256, &|file, object, component, error| {
            let object = object.and_then(|at| file.object(at));
            let component =
                object.zip(component).and_then(|(object, at)| object.components().find(|c| c.number() == at));
            let broken = Broken {
                object: object.map(|object| name(object.name_bytes()).into_owned()),
                role: component.map(|component| component.role().to_owned()),
                lacks_digest: error.cause() == Cause::Unsupported
                    && component.is_some_and(|c| c.digest().is_none() && c.member_crc32().is_none()),
                ..Broken::of(error, arguments)
            };
            listed.lock().unwrap_or_else(PoisonError::into_inner).push(broken);
        });
    let all = listed.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A failure to open the file, or one that belongs to no object, may only be in the outcome.
    let alone = outcome.err().filter(|error| all.iter().all(|broken| broken.message != error.message()));
    for broken in all {
        match broken.cause == Cause::Unsupported && !arguments.require_digests {
            true => {
                broken.note(path, &found.notes);
                found.unchecked.push(broken);
            }
            false => found.failures.push(broken),
        }
    }
    found.failures.extend(alone.as_ref().map(|error| Broken::of(error, arguments)));
    found
}

/// The limits of `--untrusted`.
const MANIFEST: u64 = 100 << 20;
const OBJECTS: u64 = 1 << 20;
const MEMORY: u64 = 512 << 20;
const DECODED: u64 = 4 << 30;

impl Verify {
    fn open_options(&self) -> OpenOptions {
        let options = OpenOptions { strict: self.strict, ..OpenOptions::default() };
        match self.untrusted {
            false => options,
            // Not mapped: a file that is truncated meanwhile is an error and not the end of the program.
            true => OpenOptions {
                mode: Mode::Read,
                max_manifest_size: MANIFEST,
                max_objects: OBJECTS,
                max_memory: Some(MEMORY),
                max_decoded_size: Some(DECODED),
                ..options
            },
        }
    }
}

type Listed<'a> = dyn Fn(&File, Option<usize>, Option<usize>, &Error) + Sync + 'a;

fn check(
    path: &Path,
    arguments: &Verify,
    report: &mut VerifyReport,
    notes: &Notes,
    has_sha256: bool,
    listed: &Listed<'_>,
) -> Result<()> {
    let file = models::open_with(path, &arguments.open_options())?;
    note_unchecked(notes, &file);
    let stored = file.objects().map(|object| stored_size(&object));
    let bar = progress::bar(stored.fold(0, u64::saturating_add), path);
    let reads = !arguments.quick;
    let options = VerifyOptions {
        digests: reads,
        require_digests: arguments.require_digests,
        contents: reads,
        shards: reads,
        threads: arguments.threads,
        ..VerifyOptions::default()
    };
    let unlisted = file.model_info().unlisted;
    if arguments.strict && unlisted > 0 {
        let (names, count) = (notes::unlisted_names(&file), text::count(unlisted, "object"));
        let shown: Vec<_> = names.iter().take(8).map(|name| format!("{name:?}")).collect();
        let error = Error::new(
            Cause::NotFound,
            format_args!(
                "its files hold {count} that the index names nowhere: {} (--include-unlisted checks them, too)",
                shown.join(", ")
            ),
        );
        listed(&file, None, None, &error);
    }
    let outcome = file.verify_all(
        &options,
        &|done, _| {
            bar.set_position(done);
            true
        },
        Some(&|object, component, error: &Error| {
            listed(&file, object, component, error);
            true
        }),
        report,
    );
    bar.finish_and_clear();
    if has_sha256 {
        report.bytes_not_covered = 0;
    }
    if report.bytes_not_covered > 0 {
        let (shown, why) = (remote::shown(path), "neither a digest nor a CRC-32 covers them");
        notes.add_part(What::NotCovered, "byte", report.bytes_not_covered, &shown, why);
    }
    outcome
}

/// Compares the SHA-256 of a file with the one that was given.
fn check_sha256(path: &Path, wanted: &[u8; 32]) -> Result<()> {
    let failed = |e: std::io::Error| Error::new(Cause::Io, format_args!("could not read it: {e}"));
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let (mut hasher, mut bytes) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut bytes).map_err(failed)? {
            0 => break,
            read => hasher.update(&bytes[..read]),
        }
    }
    let found: [u8; 32] = hasher.finalize().into();
    let hex = |digest: &[u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match found == *wanted {
        true => Ok(()),
        false => {
            let (found, wanted) = (hex(&found), hex(wanted));
            let what =
                format!("the SHA-256 of the file is {found}, not {wanted}: it is another file or damaged");
            Err(Error::new(Cause::DigestMismatch, format_args!("{what}")))
        }
    }
}

impl Broken {
    fn of(error: &Error, arguments: &Verify) -> Broken {
        let (message, cause) = (error.message().to_owned(), error.cause());
        let rule = match (error.rule_name().to_str().unwrap_or_default(), cause) {
            ("", Cause::Limit) => "limit",
            ("", Cause::Unsupported) => "unsupported",
            ("", Cause::NotZtensor) => "unknown-container",
            ("", Cause::NoFile) => "no-file",
            ("", Cause::InvalidArgument) => "not-one-model",
            ("", Cause::NotFound) => "not-found",
            ("", Cause::Busy) => "busy",
            ("", Cause::OutOfMemory) => "out-of-memory",
            ("", Cause::Io | Cause::Timeout | Cause::Caller(_)) => "io",
            ("", _) => "other",
            (rule, _) => rule,
        };
        let is_unknown = match rule {
            "unsupported" => !arguments.strict && !arguments.require_digests,
            rule => matches!(rule, "no-file" | "not-one-model" | "busy" | "out-of-memory" | "io"),
        };
        Broken { object: None, role: None, message, rule, cause, is_unknown, lacks_digest: false }
    }

    /// The name of the object, and the role of the component unless it is `data`.
    fn shown(&self) -> String {
        let object = self.object.clone().unwrap_or_default();
        match self.role.as_deref() {
            None | Some("data") => object,
            Some(role) => format!("{object}: {role}"),
        }
    }

    /// Adds a note about something that was not checked. Objects with the same reason share a note, so the
    /// reason names no object.
    fn note(&self, path: &Path, notes: &Notes) {
        let names = [("component", &self.role), ("object", &self.object)];
        let prefix = names.iter().find_map(|(noun, name)| Some(format!("{noun} {:?}: ", name.as_ref()?)));
        let reason = prefix.and_then(|prefix| Some(self.message.split_once(&prefix)?.1));
        let file = remote::shown(path);
        match (&self.object, reason) {
            (Some(object), Some(why)) => {
                notes.add(What::NotChecked, "object", object, format!("{file}: {why}"));
            }
            _ => notes.add_count(What::NotChecked, "part", 1, self.message.as_str()),
        }
    }
}

/// The result for a file.
enum State {
    Good,
    /// Nothing is wrong, but no digest covers some data, which may have changed.
    Structure,
    /// Nothing is wrong, but something was not checked.
    Unchecked,
    /// It could not be read.
    Unknown,
    Broken,
}

impl Found {
    fn state(&self) -> State {
        match (self.failures.is_empty(), self.report.not_checked) {
            (false, _) if self.failures.iter().all(|broken| broken.is_unknown) => State::Unknown,
            (false, _) => State::Broken,
            (true, 0) if self.has_sha256 => State::Good,
            (true, 0) if self.is_quick || self.report.bytes_not_covered > 0 => State::Structure,
            (true, 0) => State::Good,
            (true, _) => State::Unchecked,
        }
    }

    /// Prints one line for all components that have no digest.
    fn report_missing_digests(&self, path: &Path) {
        let missing = self.failures.iter().filter(|broken| broken.lacks_digest);
        let names: Vec<_> = missing.map(Broken::shown).collect();
        if !names.is_empty() {
            let (count, first) = (text::count(names.len() as u64, "component"), first_names(&names));
            let why = format!(
                "--require-digests: no digest covers {count}: {first}; zt convert to .zt writes digests"
            );
            Failure::at(path, why).report();
        }
    }

    /// All failures, for SARIF.
    fn entries<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = sarif::Entry<'a>> {
        self.failures.iter().chain(&self.unchecked).map(move |broken| sarif::Entry {
            path,
            object: broken.object.as_deref(),
            role: broken.role.as_deref(),
            rule: broken.rule,
            message: &broken.message,
            is_error: !broken.is_unknown,
        })
    }

    fn as_json(&self, path: &Path) -> Json {
        let failures = self.failures.iter().map(|broken| {
            json!({
                "object": broken.object,
                "role": broken.role,
                "rule": broken.rule,
                "message": broken.message,
            })
        });
        json!({
            "file": remote::shown(path),
            "ok": matches!(self.state(), State::Good | State::Structure),
            "failures": failures.collect::<Vec<_>>(),
            "objects": self.report.objects,
            "components": self.report.components,
            "bytes": self.report.bytes,
            "digests_verified": self.report.digests_verified,
            "digests_absent": self.report.digests_absent,
            "digests_unknown": self.report.digests_unknown,
            "padding_not_zero": self.report.padding_nonzero,
            "bytes_not_covered": self.report.bytes_not_covered,
            "not_checked": self.report.not_checked,
            "notes": self.notes.json(),
            "left_out": notes::left_out(path),
        })
    }
}

/// What was checked and what was not; then the sizes.
fn details(found: &Found) -> String {
    let report = &found.report;
    let digests = report.digests_verified + report.digests_absent + report.digests_unknown;
    let known = if report.digests_unknown > 0 { "known digests" } else { "digests" };
    let mut details = match report.digests_verified {
        _ if found.has_sha256 => String::from("SHA-256 verified"),
        _ if found.is_quick => String::from("data not read"),
        verified if verified == digests => format!("{} verified", text::count(verified, "digest")),
        0 => format!("0 of {digests} components have {known}"),
        verified => format!("{verified} of {digests} components have {known}, all verified"),
    };
    details += &format!("; {}, {}", text::count(report.objects, "object"), text::size(report.bytes));
    if report.digests_unknown > 0 {
        details += &format!(", {} of an unknown algorithm", text::count(report.digests_unknown, "digest"));
    }
    if report.padding_nonzero > 0 {
        details += &format!(", {} of padding not zero", text::count(report.padding_nonzero, "byte"));
    }
    details
}
