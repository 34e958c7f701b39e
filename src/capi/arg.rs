//! Checks arguments that come from C. This is the only code that trusts raw pointers.

use super::sized::{Field, SizedStruct};
use crate::error::{fail, Error, Result};
use crate::reader::{File, FilePart};
use std::ffi::{c_char, c_void, CStr};
use std::mem::MaybeUninit;

/// A pointer that must not be NULL.
pub(super) fn required<T>(pointer: Option<T>, what: &str) -> Result<T> {
    pointer.ok_or_else(|| fail!(InvalidArgument, "{what} is NULL"))
}

/// One of the files that a file consists of.
pub(super) fn part(file: &File, part: usize) -> Result<&FilePart> {
    file.part(part).ok_or_else(|| {
        let count = file.part_count();
        fail!(InvalidArgument, "there is no part {part}: the file has {count}, from 0")
    })
}

/// As [`part`]; opens it if it is a shard that is not open.
pub(super) fn open_part(file: &File, part: usize) -> Result<&FilePart> {
    file.open_part(part)?;
    self::part(file, part)
}

/// A NUL-ended name, as UTF-8.
///
/// # Safety
/// `text` is NULL or a NUL-ended string that stays as it is for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(fail!(InvalidArgument, "{what} is NULL"));
    }
    // SAFETY: not NULL, and NUL-ended by this function's contract.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes
        .to_str()
        .map_err(|e| fail!(InvalidArgument, "{what} is not UTF-8 from its byte {}", e.valid_up_to()))
}

/// The NUL-ended name of an object that is there already, which may be any bytes.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn name<'a>(name: *const c_char) -> Result<&'a [u8]> {
    if name.is_null() {
        return Err(fail!(InvalidArgument, "name is NULL"));
    }
    // SAFETY: not NULL, and NUL-ended by this function's contract.
    Ok(unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// A NUL-ended name, or one of `length` bytes if `length` is not 0.
///
/// # Safety
/// As [`text`], or `length` readable bytes.
pub(super) unsafe fn sized_text<'a>(pointer: *const c_char, length: usize, what: &str) -> Result<&'a str> {
    if length == 0 {
        // SAFETY: passed on.
        return unsafe { text(pointer, what) };
    }
    // SAFETY: passed on; bytes have no alignment.
    let bytes = unsafe { slice(pointer.cast::<u8>(), length, what)? };
    let checked = std::str::from_utf8(bytes);
    checked.map_err(|e| fail!(InvalidArgument, "{what} is not UTF-8 from its byte {}", e.valid_up_to()))
}

/// A path, as the platform's bytes.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn path<'a>(pointer: *const c_char) -> Result<&'a std::path::Path> {
    if pointer.is_null() {
        return Err(fail!(InvalidArgument, "path is NULL"));
    }
    #[cfg(unix)]
    {
        // SAFETY: not NULL, and NUL-ended by this function's contract.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        Ok(std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: passed on.
        unsafe { text(pointer, "path") }.map(std::path::Path::new)
    }
}

/// An array: (NULL, 0) is empty, (NULL, n) an error.
///
/// # Safety
/// `pointer` is NULL or has `count` readable elements that nobody changes for `'a`.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, count, what)?;
    // SAFETY: not NULL, aligned, of a size that fits; readable by this function's contract.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Memory of the caller's to be filled.
///
/// # Safety
/// `pointer` is NULL or has `size` writable bytes that nobody else touches for `'a`.
pub(super) unsafe fn bytes_mut<'a>(pointer: *mut c_void, size: usize, what: &str) -> Result<&'a mut [u8]> {
    if size == 0 {
        return Ok(&mut []);
    }
    check(pointer.cast::<u8>(), size, what)?;
    // SAFETY: not NULL, and writable by this function's contract. What it held does not matter: u8 is
    // only written here, and C's memory counts as initialised to Rust.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), size) })
}

/// An array of the caller's to be filled.
///
/// # Safety
/// `pointer` is NULL or has room for `count` elements that nobody else touches for `'a`.
pub(super) unsafe fn output_slice<'a, T>(
    pointer: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [MaybeUninit<T>]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, count, what)?;
    // SAFETY: not NULL, aligned, of a size that fits; writable by this function's contract.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast::<MaybeUninit<T>>(), count) })
}

fn check<T>(pointer: *const T, count: usize, what: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(fail!(InvalidArgument, "{what} is NULL, but its count is {count}"));
    }
    if !pointer.is_aligned() {
        return Err(fail!(InvalidArgument, "{what} is not aligned to {} bytes", align_of::<T>()));
    }
    match count.checked_mul(size_of::<T>()) {
        Some(size) if isize::try_from(size).is_ok() => Ok(()),
        _ => Err(fail!(InvalidArgument, "{what}: {count} elements do not fit in memory")),
    }
}

/// The part of a sized struct that the caller has, zeros for the rest; NULL is all zeros.
///
/// # Safety
/// `pointer` is NULL or points to `struct_size` readable bytes, the first of which are that number.
pub(super) unsafe fn options<T: SizedStruct>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        // SAFETY: valid with all bytes zero, by the trait's contract.
        return Ok(unsafe { MaybeUninit::<T>::zeroed().assume_init() });
    }
    // SAFETY: passed on.
    unsafe { copy_of(pointer, struct_size(pointer)?) }
}

/// The part of a sized struct of `claimed` bytes that this version knows, zeros for the rest.
///
/// # Safety
/// `pointer` is aligned and has `claimed` readable bytes, a number that [`check_size`] allows.
unsafe fn copy_of<T: SizedStruct>(pointer: *const T, claimed: usize) -> Result<T> {
    if claimed == size_of::<T>() {
        // SAFETY: the caller has all of it; plain integers and pointers, by the trait's contract.
        return Ok(unsafe { pointer.read() });
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller has that many bytes; the copy holds the smaller number of them.
    unsafe {
        std::ptr::copy_nonoverlapping(
            pointer.cast::<u8>(),
            copy.as_mut_ptr().cast::<u8>(),
            claimed.min(T::SIZE),
        );
    }
    if claimed > size_of::<T>() {
        let unknown = claimed.saturating_sub(size_of::<T>());
        // SAFETY: within the caller's struct.
        let tail = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(size_of::<T>()), unknown) };
        if tail.iter().any(|b| *b != 0) {
            return Err(fail!(
                InvalidArgument,
                "{} of {claimed} bytes sets a field that this version does not know (it knows {})",
                T::NAME,
                size_of::<T>()
            ));
        }
    }
    // SAFETY: valid with all bytes zero, and what was copied are fields of plain integers and pointers.
    Ok(unsafe { copy.assume_init() })
}

/// Fills a sized struct of the caller's, as much of it as the caller has: zeros where a newer header has
/// fields that this version does not know. `struct_size` is kept.
///
/// # Safety
/// `pointer` is NULL or points to `struct_size` writable bytes, the first of which are that number.
pub(super) unsafe fn fill<T: SizedStruct>(pointer: *mut T, value: T) -> Result<()> {
    if pointer.is_null() {
        return Ok(());
    }
    // SAFETY: passed on.
    let size = unsafe { struct_size(pointer)? };
    let head = size_of::<usize>();
    // SAFETY: both sides have that many bytes behind their first field.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const value).cast::<u8>().add(head),
            pointer.cast::<u8>().add(head),
            size.min(T::SIZE).saturating_sub(head),
        );
        zero_unknown::<T>(pointer, size);
    }
    Ok(())
}

/// As [`fill`], but NULL is refused. The struct is checked before the value is found.
///
/// # Safety
/// As [`fill`].
pub(super) unsafe fn fill_required<T: SizedStruct>(
    pointer: *mut T,
    find: impl FnOnce() -> Result<T>,
) -> Result<()> {
    // SAFETY: passed on.
    if unsafe { struct_size(pointer.cast_const())? } == 0 {
        return Err(fail!(InvalidArgument, "the place for the {} is NULL", T::NAME));
    }
    let value = find()?;
    // SAFETY: passed on.
    unsafe { fill(pointer, value) }
}

/// Zeroes what this version does not know of a struct of `size` bytes.
///
/// # Safety
/// `pointer` points to `size` writable bytes.
pub(super) unsafe fn zero_unknown<T: SizedStruct>(pointer: *mut T, size: usize) {
    if let Some(unknown) = size.checked_sub(T::SIZE) {
        // SAFETY: within the caller's struct.
        unsafe { std::ptr::write_bytes(pointer.cast::<u8>().add(T::SIZE), 0, unknown) };
    }
}

/// The claimed size of a struct that will be filled, checked. Zero for NULL.
///
/// # Safety
/// As [`fill`].
pub(super) unsafe fn struct_size<T: SizedStruct>(pointer: *const T) -> Result<usize> {
    if pointer.is_null() {
        return Ok(0);
    }
    if !pointer.is_aligned() {
        return Err(fail!(InvalidArgument, "{} is not aligned to {} bytes", T::NAME, align_of::<T>()));
    }
    // SAFETY: aligned, and the struct begins with its size.
    let claimed = unsafe { pointer.cast::<usize>().read() };
    check_size::<T>(claimed)?;
    Ok(claimed)
}

/// No header is that much newer: a larger claim is a forgotten struct_size.
const MAX_SIZE: usize = 4096;

/// Whether a struct of the caller's can have that many bytes. One that ends within a field would have half a
/// number or half a pointer in it.
fn check_size<T: SizedStruct>(claimed: usize) -> Result<()> {
    match claimed == size_of::<T>() {
        true => Ok(()), // of the same version
        false => check_other_size(claimed, T::NAME, size_of::<T>(), (T::FIELDS, T::FIELD_NAMES)),
    }
}

fn check_other_size(
    claimed: usize,
    name: &str,
    size: usize,
    (fields, field_names): (&[Field], &str),
) -> Result<()> {
    if !(size_of::<usize>()..=MAX_SIZE).contains(&claimed) {
        return Err(fail!(
            InvalidArgument,
            "{name}.struct_size is {claimed}; set it to sizeof ({name}), {size} here"
        ));
    }
    let at = fields.partition_point(|field| field.end <= claimed);
    match fields.get(at) {
        Some(Field { start, end }) if *start < claimed => Err(fail!(
            InvalidArgument,
            "{name}.struct_size is {claimed}, which ends within {}: {start} and {end} would be good, sizeof ({name}) is {size} here",
            field_names.split(' ').nth(at).unwrap_or_default()
        )),
        _ => Ok(()),
    }
}

/// A sized struct that the call cannot do without.
///
/// # Safety
/// As [`options`].
pub(super) unsafe fn required_struct<T: SizedStruct>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(fail!(InvalidArgument, "{} is NULL", T::NAME));
    }
    // SAFETY: passed on.
    unsafe { options(pointer) }
}

/// The names of an array and of one of its elements, for messages.
#[derive(Clone, Copy)]
pub(super) struct ArrayNames(pub &'static str, pub &'static str);

/// Calls `body` with each element of an array of sized structs, whose stride is the size that the first one
/// claims.
///
/// # Safety
/// `first` points to `count` structs of that size, which nobody changes meanwhile, or is NULL.
pub(super) unsafe fn for_each<T: SizedStruct>(
    first: *const T,
    count: usize,
    names: ArrayNames,
    mut body: impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    let ArrayNames(all, one) = names;
    if count == 0 {
        return Ok(());
    }
    if first.is_null() {
        return Err(fail!(InvalidArgument, "{all} is NULL, but its count is {count}"));
    }
    let at_element = |at: usize| move |e: Error| e.within(format_args!("{one} {at}"));
    // SAFETY: passed on: the first element says how far the next is.
    let stride = unsafe { struct_size(first) }.map_err(at_element(0))?;
    for at in 0..count {
        let offset = stride.checked_mul(at).ok_or_else(|| fail!(InvalidArgument, "too many {}", T::NAME))?;
        // SAFETY: within the array by this function's contract.
        let element = unsafe { first.byte_add(offset) };
        // SAFETY: as above.
        unsafe { with_element(element, at, stride, &mut body) }.map_err(at_element(at))?;
    }
    Ok(())
}

/// Calls `body` with an element, or with a copy if the caller's struct has another size than this version's.
///
/// # Safety
/// `element` has `stride` bytes.
unsafe fn with_element<T: SizedStruct>(
    element: *const T,
    at: usize,
    stride: usize,
    body: &mut impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    if !element.is_aligned() {
        return Err(fail!(InvalidArgument, "{} is not aligned to {} bytes", T::NAME, align_of::<T>()));
    }
    // SAFETY: aligned, and the struct begins with its size.
    let claimed = unsafe { element.cast::<usize>().read() };
    if claimed != stride {
        check_size::<T>(claimed)?;
        return Err(fail!(
            InvalidArgument,
            "{} number {at} claims {claimed} bytes, the first {stride}",
            T::NAME
        ));
    }
    if stride == size_of::<T>() {
        // SAFETY: all of it is there; integers and pointers, of which every value is one.
        return body(unsafe { &*element });
    }
    // SAFETY: of the size that was checked above.
    body(&unsafe { copy_of(element, stride)? })
}

/// A flag that came as an integer.
pub(super) fn flag(value: u32, what: &str) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(fail!(InvalidArgument, "{what} is {other}, neither 0 nor 1")),
    }
}

/// Refuses a reserved field that is not 0.
pub(super) fn zero(value: u32, what: &str) -> Result<()> {
    match value {
        0 => Ok(()),
        other => Err(fail!(InvalidArgument, "{what} is {other}, not 0")),
    }
}

/// A number of an option struct, where 0 asks for the default.
pub(super) fn or_default(value: u64, default: u64) -> u64 {
    match value {
        0 => default,
        value => value,
    }
}

/// A 64-bit size as `usize`.
pub(super) fn to_usize(size: u64, what: &str) -> Result<usize> {
    usize::try_from(size)
        .map_err(|_| fail!(Unsupported, "{what} of {size} bytes does not fit this process's address space"))
}
