//! Checks arguments from C. Only this code trusts raw pointers.

use super::sized::{Field, SizedStruct};
use crate::error::{fail, Error, Result};
use crate::reader::{File, FilePart};
use std::ffi::{c_char, c_void, CStr};
use std::mem::MaybeUninit;

/// Returns an error if the pointer is NULL.
pub(super) fn required<T>(pointer: Option<T>, what: &str) -> Result<T> {
    pointer.ok_or_else(|| fail!(InvalidArgument, "{what} is NULL"))
}

/// Writes what `find` returns to memory of the caller, which must not be NULL.
pub(super) fn put<T>(
    out: Option<&mut MaybeUninit<T>>,
    what: &str,
    find: impl FnOnce() -> Result<T>,
) -> Result<()> {
    required(out, what)?.write(find()?);
    Ok(())
}

/// Writes `value` to memory of the caller, which may be NULL.
pub(super) fn put_optional<T>(out: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}

/// A part of a file, by number.
pub(super) fn part(file: &File, part: usize) -> Result<&FilePart> {
    file.part(part).ok_or_else(|| {
        let count = file.part_count();
        fail!(InvalidArgument, "there is no part {part}: the file has {count}, from 0")
    })
}

/// Like [`part`], but opens it if it is a shard that is not open.
pub(super) fn open_part(file: &File, part: usize) -> Result<&FilePart> {
    file.open_part(part)?;
    self::part(file, part)
}

/// A name that ends in a NUL, as UTF-8.
///
/// # Safety
/// `text` is NULL or a string with a NUL at the end, which does not change for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the caller ensures this.
    utf8(required(unsafe { bytes(text) }, what)?, what)
}

/// A text that may be NULL.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn optional_text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    // SAFETY: the caller ensures this.
    let bytes = unsafe { bytes(text) };
    bytes.map(|bytes| utf8(bytes, what)).transpose()
}

fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|e| fail!(InvalidArgument, "{what} is not UTF-8 from its byte {}", e.valid_up_to()))
}

/// The bytes before a NUL; `None` for NULL.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: it is not NULL, and the caller ensures the NUL.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The name of an existing object, with a NUL at the end. It may be any bytes.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn name<'a>(name: *const c_char) -> Result<&'a [u8]> {
    // SAFETY: the caller ensures this.
    required(unsafe { bytes(name) }, "name")
}

/// A name of `length` bytes. If `length` is 0, the name ends in a NUL.
///
/// # Safety
/// As for [`text`], or `length` readable bytes.
pub(super) unsafe fn sized_text<'a>(pointer: *const c_char, length: usize, what: &str) -> Result<&'a str> {
    if length == 0 {
        // SAFETY: the caller ensures this.
        return unsafe { text(pointer, what) };
    }
    // SAFETY: the caller ensures this; bytes need no alignment.
    utf8(unsafe { slice(pointer.cast::<u8>(), length, what)? }, what)
}

/// A path, in the platform's bytes.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn path<'a>(pointer: *const c_char) -> Result<&'a std::path::Path> {
    #[cfg(unix)]
    {
        // SAFETY: the caller ensures this.
        let bytes = required(unsafe { bytes(pointer) }, "path")?;
        Ok(std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: the caller ensures this.
        unsafe { text(pointer, "path") }.map(std::path::Path::new)
    }
}

/// An array. (NULL, 0) is an empty array, (NULL, n) is an error.
///
/// # Safety
/// `pointer` is NULL or has `count` readable elements that do not change for `'a`.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, count, what)?;
    // SAFETY: it is not NULL, it is aligned, and the size fits; the caller ensures that it is readable.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Memory of the caller that will be filled.
///
/// # Safety
/// `pointer` is NULL or has `size` writable bytes that nothing else accesses for `'a`.
pub(super) unsafe fn bytes_mut<'a>(pointer: *mut c_void, size: usize, what: &str) -> Result<&'a mut [u8]> {
    if size == 0 {
        return Ok(&mut []);
    }
    check(pointer.cast::<u8>(), size, what)?;
    // SAFETY: it is not NULL, and the caller ensures that it is writable. The old content does not matter: it
    // is only written here, and Rust treats memory from C as initialised.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), size) })
}

/// An array of the caller that will be filled.
///
/// # Safety
/// `pointer` is NULL or has space for `count` elements that nothing else accesses for `'a`.
pub(super) unsafe fn output_slice<'a, T>(
    pointer: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [MaybeUninit<T>]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, count, what)?;
    // SAFETY: it is not NULL, it is aligned, and the size fits; the caller ensures that it is writable.
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

/// A copy of the caller's struct. Fields that the caller's version does not have are zero. For NULL, all are.
///
/// # Safety
/// `pointer` is NULL or points to `struct_size` readable bytes, which begin with that number.
pub(super) unsafe fn options<T: SizedStruct>(pointer: *const T) -> Result<T> {
    match pointer.is_null() {
        true => Ok(zeroed()),
        // SAFETY: the caller ensures this.
        false => unsafe { copy_of(pointer, struct_size(pointer)?) },
    }
}

/// A struct whose fields are all zero.
pub(super) fn zeroed<T: SizedStruct>() -> T {
    // SAFETY: the trait ensures that all zeros are valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Copies a struct of `claimed` bytes as far as this version knows it; the rest is zero.
///
/// # Safety
/// `pointer` is aligned and has `claimed` readable bytes; [`check_size`] allows this number.
unsafe fn copy_of<T: SizedStruct>(pointer: *const T, claimed: usize) -> Result<T> {
    if claimed == size_of::<T>() {
        // SAFETY: the caller's struct is complete; the trait ensures that it only has integers and pointers.
        return Ok(unsafe { pointer.read() });
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: both the caller's struct and the copy have this many bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(
            pointer.cast::<u8>(),
            copy.as_mut_ptr().cast::<u8>(),
            claimed.min(T::SIZE),
        );
    }
    if claimed > size_of::<T>() {
        let unknown = claimed.saturating_sub(size_of::<T>());
        // SAFETY: the bytes are in the caller's struct.
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
    // SAFETY: all zeros are valid, and the copied fields are integers and pointers.
    Ok(unsafe { copy.assume_init() })
}

/// Fills the caller's struct up to the size that it gives, but keeps `struct_size`. Fields of a newer header
/// that this version does not know become zero.
///
/// # Safety
/// `pointer` is NULL or points to `struct_size` writable bytes, which begin with that number.
pub(super) unsafe fn fill<T: SizedStruct>(pointer: *mut T, value: T) -> Result<()> {
    if pointer.is_null() {
        return Ok(());
    }
    // SAFETY: the caller ensures this.
    let size = unsafe { struct_size(pointer)? };
    let head = size_of::<usize>();
    // SAFETY: both sides have that many bytes after their first field.
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

/// Like [`fill`], but refuses NULL. The struct is checked before `find` is called.
///
/// # Safety
/// As for [`fill`].
pub(super) unsafe fn fill_required<T: SizedStruct>(
    pointer: *mut T,
    find: impl FnOnce() -> Result<T>,
) -> Result<()> {
    // SAFETY: the caller ensures this.
    if unsafe { struct_size(pointer.cast_const())? } == 0 {
        return Err(fail!(InvalidArgument, "the pointer to the {} is NULL", T::NAME));
    }
    let value = find()?;
    // SAFETY: the caller ensures this.
    unsafe { fill(pointer, value) }
}

/// Sets the part of a struct of `size` bytes to zero that this version does not know.
///
/// # Safety
/// `pointer` points to `size` writable bytes.
pub(super) unsafe fn zero_unknown<T: SizedStruct>(pointer: *mut T, size: usize) {
    if let Some(unknown) = size.checked_sub(T::SIZE) {
        // SAFETY: the bytes are in the caller's struct.
        unsafe { std::ptr::write_bytes(pointer.cast::<u8>().add(T::SIZE), 0, unknown) };
    }
}

/// The size that the caller gives for a struct that will be filled, after a check. Zero for NULL.
///
/// # Safety
/// As for [`fill`].
pub(super) unsafe fn struct_size<T: SizedStruct>(pointer: *const T) -> Result<usize> {
    if pointer.is_null() {
        return Ok(0);
    }
    if !pointer.is_aligned() {
        return Err(fail!(InvalidArgument, "{} is not aligned to {} bytes", T::NAME, align_of::<T>()));
    }
    // SAFETY: it is aligned, and the struct begins with its size.
    let claimed = unsafe { pointer.cast::<usize>().read() };
    // Usually, the caller's header has the same version.
    if claimed != size_of::<T>() {
        check_size(claimed, T::NAME, size_of::<T>(), (T::FIELDS, T::FIELD_NAMES))?;
    }
    Ok(claimed)
}

/// No newer header has a struct this large. A larger size means that struct_size was not set.
const MAX_SIZE: usize = 4096;

/// Whether a struct of the caller can have this size. If it ended inside a field, the field would only be
/// half a number or pointer.
fn check_size(
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

/// A struct that must not be NULL.
///
/// # Safety
/// As for [`options`].
pub(super) unsafe fn required_struct<T: SizedStruct>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(fail!(InvalidArgument, "{} is NULL", T::NAME));
    }
    // SAFETY: the caller ensures this.
    unsafe { options(pointer) }
}

/// Calls `body` with each element of an array of sized structs. The first element gives the size of all.
/// Messages call an element `name`, and the array by its plural.
///
/// # Safety
/// `first` is NULL or points to `count` structs of that size, which do not change during the call.
pub(super) unsafe fn for_each<T: SizedStruct>(
    first: *const T,
    count: usize,
    name: &str,
    mut body: impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    if first.is_null() {
        return Err(fail!(InvalidArgument, "{name}s is NULL, but its count is {count}"));
    }
    let at_element = |at: usize| move |e: Error| e.within(format_args!("{name} {at}"));
    // SAFETY: the caller ensures this. The first element gives the distance to the next.
    let stride = unsafe { struct_size(first) }.map_err(at_element(0))?;
    for at in 0..count {
        let offset = stride.checked_mul(at).ok_or_else(|| fail!(InvalidArgument, "too many {}", T::NAME))?;
        // SAFETY: the caller ensures that it is in the array.
        let element = unsafe { first.byte_add(offset) };
        let mut call = || {
            // SAFETY: as above.
            let claimed = unsafe { struct_size(element)? };
            if claimed != stride {
                let name = T::NAME;
                return Err(fail!(
                    InvalidArgument,
                    "struct_size of {name} number {at} is {claimed}, but {stride} in the first"
                ));
            }
            if stride == size_of::<T>() {
                // SAFETY: the struct is complete. It has integers and pointers: all their values are valid.
                return body(unsafe { &*element });
            }
            // SAFETY: it has the size that was checked above.
            body(&unsafe { copy_of(element, stride)? })
        };
        call().map_err(at_element(at))?;
    }
    Ok(())
}

/// A flag that the caller passed as an integer.
pub(super) fn flag(value: u32, what: &str) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(fail!(InvalidArgument, "{what} is {other}; it must be 0 or 1")),
    }
}

/// The value with that number, which counts from 0.
pub(super) fn by_number<N, T: Copy>(what: &str, number: N, values: &[T]) -> Result<T>
where
    N: TryInto<usize> + Copy + std::fmt::Display,
{
    let found = number.try_into().ok().and_then(|at| values.get(at));
    found.copied().ok_or_else(|| unknown(what, number))
}

/// The error for a number that no value of an enumeration has.
#[cold]
pub(super) fn unknown(what: &str, value: impl std::fmt::Display) -> Error {
    fail!(InvalidArgument, "{value} is not a {what}")
}

/// Refuses a reserved field that is not 0.
pub(super) fn zero(value: u32, what: &str) -> Result<()> {
    match value {
        0 => Ok(()),
        other => Err(fail!(InvalidArgument, "{what} is {other}; it must be 0")),
    }
}

/// A number of an options struct; 0 means the default.
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
