//! Verification of whole files, and repair of an unfinished append.

use crate::capi::arg;
use crate::capi::finding::component::zt_component;
use crate::capi::finding::object::zt_object;
use crate::capi::guard::{guard, with_failure};
use crate::capi::handle_table::Handle;
use crate::capi::opening::open::zt_file;
use crate::capi::opening::progress::{progress, zt_progress_callback, Context};
use crate::capi::sized::{of_fields, sized_struct};
use crate::capi::status::zt_status;
use crate::error::{fail, Error, Result};
use crate::reader::{OnFailure, VerifyOptions, VerifyReport};
use crate::writer::{repair_with_progress, RepairOptions, RepairReport};
use std::ffi::{c_char, c_void};
use std::ptr::null;

/// Check digests.
pub const ZT_VERIFY_DIGESTS: u32 = 1;
/// Check decoding, sizes, structure and bool bytes.
pub const ZT_VERIFY_CONTENTS: u32 = 2;
/// Reject nonzero padding.
pub const ZT_VERIFY_PADDING: u32 = 4;

/// Compare whole shards with their digests.
pub const ZT_VERIFY_SHARDS: u32 = 8;

/// Check digests, and report ZT_ERROR_UNSUPPORTED for each component without a digest or CRC-32 that can be
/// checked.
pub const ZT_VERIFY_REQUIRE_DIGESTS: u32 = 16;

/// Reports one failure, or with ZT_ERROR_UNSUPPORTED something that could not be checked. component is NULL
/// for a whole object; object and component are NULL for padding and shards. message: valid during the call.
/// Return 0 to go on, anything else to stop.
/// Calls come from one thread at a time, not always the caller's, in any order.
pub type zt_failure_callback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        object: *const zt_object,
        component: *const zt_component,
        status: zt_status,
        message: *const c_char,
    ) -> i32,
>;

/// What to verify.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_verify_options {
    /// sizeof(zt_verify_options)
    pub struct_size: usize,
    /// A set of ZT_VERIFY_ bits; 0 for digests, contents and shards.
    pub checks: u32,
    /// Number of threads; 0: the library chooses, at most 16.
    pub threads: u32,
    /// Passed to the callbacks.
    pub context: *mut c_void,
    /// Reports the stored bytes that were checked; may be NULL.
    pub progress: zt_progress_callback,
    /// Called for each failure, so that one call lists all of them. NULL: stop at the first.
    pub on_failure: zt_failure_callback,
    /// Verify only this object of the file; else NULL.
    pub object: *const zt_object,
    /// Verify only this component of the file; else NULL.
    pub component: *const zt_component,
}

/// What was verified.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_verify_report {
    /// sizeof(zt_verify_report)
    pub struct_size: usize,
    /// Objects that were checked completely.
    pub objects: u64,
    /// Components that were checked completely.
    pub components: u64,
    /// Stored bytes that were read.
    pub bytes: u64,
    /// Digests that match, including the CRC-32 of archives.
    pub digests_verified: u64,
    /// Components without a digest or CRC-32.
    pub digests_absent: u64,
    /// Digests of an unknown algorithm.
    pub digests_unknown: u64,
    /// Nonzero bytes outside of components: padding, or what zt_write_remove left.
    pub padding_nonzero: u64,
    /// Stored bytes without a digest or CRC-32 that could be checked. Damage there is not found.
    pub bytes_not_covered: u64,
    /// Components, objects and shards that could not be checked completely: an unknown dtype, encoding,
    /// digest algorithm or, in zTensor 2, type; a digest that is missing and required. If it is not 0,
    /// zt_verify does not return ZT_OK.
    pub not_checked: u64,
}

/// Verifies a file, an object or a component: digests, decoding, sizes, sparse and quantized structure, bool
/// bytes. After ZT_OK no read fails because of the contents. Changed raw bytes are found only by digests.
///
/// options: NULL for digests, contents and shards of the whole file. report: may be NULL; filled on failure,
/// too.
/// A component without a digest passes, unless ZT_VERIFY_REQUIRE_DIGESTS is set; the report counts it.
/// Returns ZT_OK only if everything was checked and is right. Otherwise the first failure in file order:
/// ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT, ZT_ERROR_IO, ZT_ERROR_CANCELLED.
/// ZT_ERROR_UNSUPPORTED if nothing is wrong but something could not be checked; report.not_checked counts it.
/// Starts threads and waits for them; to verify one object or component it starts none. Spec 1.2 sections 1
/// to 5.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_verify(
    file: Option<&zt_file>,
    options: *const zt_verify_options,
    report: *mut zt_verify_report,
) -> zt_status {
    guard(|| {
        // SAFETY: report is NULL or has the size it gives.
        unsafe { arg::struct_size(report.cast_const())? };
        let mut found = VerifyReport::default();
        let mut verify = || {
            let handles = arg::required(file, "file")?;
            let file = handles.file();
            // SAFETY: options is NULL or has the size it gives.
            let options = unsafe { arg::options(options)? };
            let wanted = verify_options(&options)?;
            let progress = progress(options.progress, options.context);
            let context = Context(options.context);
            // The address of the file's first handle. Handles are not read here; only their addresses are
            // passed to the callback.
            let first = Context(handles.handles().address(0).cast_mut().cast());
            let handle = move |at: usize| first.get().cast::<Handle>().cast_const().wrapping_add(at);
            let failed = options.on_failure.map(|callback| {
                move |object: Option<usize>, component: Option<usize>, error: &Error| {
                    let object = object.map_or(null(), |at| handle(at).cast());
                    let component = component.map_or(null(), |at| handle(at).cast());
                    // SAFETY: the caller's function, called as declared.
                    let call =
                        |status, text| unsafe { callback(context.get(), object, component, status, text) };
                    with_failure(error, call) == 0
                }
            });
            let failed = failed.as_ref().map(|failed| failed as &OnFailure<'_>);
            // SAFETY: they belong to the file, or are NULL.
            match unsafe { only(&options, handles)? } {
                Some(only) => file.verify_object(only, &wanted, &progress, failed, &mut found),
                None => file.verify_all(&wanted, &progress, failed, &mut found),
            }
        };
        let outcome = verify();
        let filled = of_fields!(zt_verify_report {
            objects, components, bytes, digests_verified, digests_absent, digests_unknown, padding_nonzero,
            bytes_not_covered, not_checked
        } of found);
        // SAFETY: report is NULL or has the size it gives.
        unsafe { arg::fill(report, filled)? };
        outcome
    })
}

/// The only object, and possibly the only component, to verify.
unsafe fn only(options: &zt_verify_options, file: &zt_file) -> Result<Option<(usize, Option<usize>)>> {
    // SAFETY: they are handles of an open file, or NULL.
    let (object, component) = unsafe { (options.object.as_ref(), options.component.as_ref()) };
    let other = || fail!(InvalidArgument, "zt_verify_options names an object or component of another file");
    if object.is_some_and(|object| !std::ptr::eq(object.owner(), file)) {
        return Err(other());
    }
    let Some(component) = component else { return Ok(object.map(|object| (object.index(), None))) };
    if !std::ptr::eq(component.owner(), file) {
        return Err(other());
    }
    let at = component.handle.index();
    let owner = file.handles().owner_of(at);
    if object.is_some_and(|object| object.index() != owner) {
        return Err(fail!(InvalidArgument, "zt_verify_options.component is not one of its object"));
    }
    Ok(Some((owner, Some(at))))
}

fn verify_options(options: &zt_verify_options) -> Result<VerifyOptions> {
    const KNOWN: u32 = ZT_VERIFY_DIGESTS
        | ZT_VERIFY_CONTENTS
        | ZT_VERIFY_PADDING
        | ZT_VERIFY_SHARDS
        | ZT_VERIFY_REQUIRE_DIGESTS;
    let unknown = options.checks & !KNOWN;
    if unknown != 0 {
        return Err(fail!(InvalidArgument, "zt_verify_options.checks has unknown bits {unknown:#x}"));
    }
    let checks = match options.checks {
        0 => ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS | ZT_VERIFY_SHARDS,
        checks => checks,
    };
    Ok(VerifyOptions {
        digests: checks & (ZT_VERIFY_DIGESTS | ZT_VERIFY_REQUIRE_DIGESTS) != 0,
        require_digests: checks & ZT_VERIFY_REQUIRE_DIGESTS != 0,
        contents: checks & ZT_VERIFY_CONTENTS != 0,
        shards: checks & ZT_VERIFY_SHARDS != 0,
        padding: checks & ZT_VERIFY_PADDING != 0,
        threads: options.threads as usize,
    })
}

/// How to repair.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_repair_options {
    /// sizeof(zt_repair_options)
    pub struct_size: usize,
    /// 1: only report what would be done.
    pub dry_run: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Largest manifest in bytes; 0: 1 GiB.
    pub max_manifest_size: u64,
    /// Size that the file shall have; a whole file must end there. 0: zt_repair finds it.
    pub cut_at: u64,
    /// Passed to progress.
    pub context: *mut c_void,
    /// Reports the bytes that were searched; may be NULL. If it stops, the file is unchanged.
    pub progress: zt_progress_callback,
}

/// What a repair did, or would do.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_repair_report {
    /// sizeof(zt_repair_report)
    pub struct_size: usize,
    /// Bytes of the file before.
    pub old_size: u64,
    /// Bytes of the file after; equal if there was nothing to repair.
    pub new_size: u64,
    /// Objects of the file after.
    pub objects: u64,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct! {
    zt_verify_options: checks, threads, context, progress, on_failure, object, component;
    zt_verify_report:
        objects, components, bytes, digests_verified, digests_absent, digests_unknown, padding_nonzero,
        bytes_not_covered, not_checked;
    zt_repair_options: dry_run, reserved, max_manifest_size, cut_at, context, progress;
    zt_repair_report: old_size, new_size, objects;
}

/// Undoes an interrupted append: the file has its content from before the append again.
///
/// path: used during the call only. report: may be NULL; filled on success.
/// An append leaves a record in the file's head until it is complete. If there is no record, the file is cut
/// only where exactly one whole file ends; otherwise the message names the places and options.cut_at chooses.
/// A file of zTensor 2 has no record: it is cut at its last end.
/// Returns ZT_ERROR_CORRUPT if no such place exists or several do (an incomplete download cannot be
/// repaired), ZT_ERROR_BUSY if a writer has the file, ZT_ERROR_NO_FILE, ZT_ERROR_UNKNOWN_CONTAINER,
/// ZT_ERROR_UNSUPPORTED, ZT_ERROR_LIMIT, ZT_ERROR_CANCELLED. On failure the file is unchanged. ZT_ERROR_IO
/// after the cut is the exception; its message says so. Then call zt_repair again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_repair(
    path: *const c_char,
    options: *const zt_repair_options,
    report: *mut zt_repair_report,
) -> zt_status {
    guard(|| {
        // SAFETY: path ends in a NUL; options and report are NULL or have the size they give.
        let (path, options, _) =
            unsafe { (arg::path(path)?, arg::options(options)?, arg::struct_size(report.cast_const())?) };
        arg::zero(options.reserved, "zt_repair_options.reserved")?;
        let most = RepairOptions::default().max_manifest_size;
        let wanted = RepairOptions {
            dry_run: arg::flag(options.dry_run, "zt_repair_options.dry_run")?,
            cut_at: options.cut_at,
            max_manifest_size: arg::or_default(options.max_manifest_size, most),
        };
        let progress = progress(options.progress, options.context);
        let RepairReport { old_size, new_size, objects } = repair_with_progress(path, &wanted, &progress)?;
        let filled = zt_repair_report { struct_size: 0, old_size, new_size, objects };
        // SAFETY: report is NULL or has the size it gives.
        unsafe { arg::fill(report, filled) }
    })
}
