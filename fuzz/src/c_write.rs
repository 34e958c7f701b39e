//! A writer through the C interface, with all kinds of descriptions.

use crate::c::*;
use arbitrary::{Result, Unstructured};
use std::ffi::{c_char, c_void, CString};
use std::ptr::null;

const WRITER_OPTIONS: usize = 96;
const WRITER_NUMBERS: usize = 64; // pointers come after them
const COMPONENT: usize = 72;
const OBJECT: usize = 96;
const QUANTIZED: usize = 128;
const COPY_OPTIONS: usize = 40;
const ATTRIBUTE: usize = 80;

/// zt_write_request.
#[repr(C)]
struct WriteRequest {
    size: usize,
    name: *const c_char,
    shape: *const u64,
    rank: usize,
    data: Pointer,
    bytes: usize,
    kinds: [i32; 4],
}

/// The context of the sink's functions.
#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    most: usize,
    finished: u32,
    closed: u32,
}

extern "C" fn write(context: *mut c_void, data: Pointer, size: usize) -> Status {
    let taken = unsafe { &mut *context.cast::<Taken>() };
    assert_eq!((taken.finished, taken.closed), (0, 0));
    if taken.bytes.len() + size > taken.most {
        return 2;
    }
    taken.bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(data.cast(), size) });
    OK
}

extern "C" fn finish(context: *mut c_void) -> Status {
    unsafe { (*context.cast::<Taken>()).finished += 1 };
    OK
}

extern "C" fn close(context: *mut c_void) {
    unsafe { (*context.cast::<Taken>()).closed += 1 };
}

/// Writes a file, possibly with a copy of an object of `file`. Returns it if it was finished.
pub fn some(file: Pointer, u: &mut Unstructured<'_>) -> Result<Option<Vec<u8>>> {
    let mut taken = Taken { most: 1 << 20, ..Taken::default() };
    let context: *mut Taken = &mut taken;
    let mut sink = Block::exact(40);
    sink.set_pointer(8, context);
    sink.set_pointer(16, write as extern "C" fn(*mut c_void, Pointer, usize) -> Status as *const c_void);
    sink.set_pointer(24, finish as extern "C" fn(*mut c_void) -> Status as *const c_void);
    sink.set_pointer(32, close as extern "C" fn(*mut c_void) as *const c_void);
    let mut options = Block::any(u, WRITER_OPTIONS)?;
    if u.arbitrary()? {
        options.scribble(u, 8, WRITER_NUMBERS)?;
    }
    if u.ratio(9, 10)? {
        options.few_threads(u, 48)?;
    }
    let mut writer = 1 as Pointer;
    let status = check(unsafe { zt_write_create_sink(sink.pointer(), options.pointer(), &mut writer) });
    assert!(!options.wrong || options.null || status == INVALID);
    assert_eq!(status == OK, !writer.is_null());
    let closed = || unsafe { (*context).closed };
    if status != OK {
        assert_eq!(closed(), 1);
        return Ok(None);
    }
    let made = (0..u.int_in_range(0..=12)?).try_for_each(|_| unsafe { call(writer, file, u) });
    let summary = Block::any(u, 48)?;
    if made.is_err() || u.ratio(1, 6)? {
        unsafe { zt_write_abort(writer) };
        assert_eq!(closed(), 1);
        return made.map(|()| None);
    }
    let status = check(unsafe { zt_write_finish(writer, summary.pointer()) });
    assert_eq!(closed(), 1);
    Ok((status == OK).then_some(taken.bytes))
}

fn text(u: &mut Unstructured<'_>) -> Result<CString> {
    const TEXTS: [&[u8]; 9] =
        [b"data", b"values", b"indices", b"indptr", b"a", b"", b"\xff\xfe", b"{\"x\":[1,2.5]}", b"[1]"];
    Ok(CString::new(TEXTS[u.choose_index(TEXTS.len())?]).unwrap())
}

/// A NUL-terminated text, or NULL.
fn maybe(text: &CString, u: &mut Unstructured<'_>) -> Result<*const std::ffi::c_char> {
    Ok(if u.ratio(1, 8)? { null() } else { text.as_ptr() })
}

fn number(u: &mut Unstructured<'_>) -> Result<i32> {
    Ok(if u.ratio(1, 10)? { u.arbitrary()? } else { u.int_in_range(0..=4)? })
}

fn component(u: &mut Unstructured<'_>, texts: &[CString; 3], data: &[u8]) -> Result<Block> {
    let mut desc = Block::exact(COMPONENT);
    desc.set_pointer(8, maybe(&texts[0], u)?);
    if u.ratio(1, 6)? {
        desc.set(16, &texts[0].as_bytes().len().to_ne_bytes());
    }
    desc.set(24, &u.int_in_range(0..=14i32)?.to_ne_bytes());
    desc.set(28, &if u.ratio(1, 3)? { number(u)? } else { 0 }.to_ne_bytes());
    if u.ratio(1, 6)? {
        desc.set(28, &7i32.to_ne_bytes());
        desc.set_pointer(32, maybe(&texts[1], u)?);
        desc.set(64, &(u.int_in_range(0..=1)? * texts[1].as_bytes().len()).to_ne_bytes());
    }
    desc.set(40, &if u.ratio(1, 2)? { number(u)? } else { 0 }.to_ne_bytes());
    desc.set(44, &if u.ratio(1, 2)? { number(u)? } else { 0 }.to_ne_bytes());
    if u.ratio(3, 4)? {
        desc.set_pointer(48, data.as_ptr());
        desc.set(56, &(data.len() as u64).to_ne_bytes());
    } else if u.arbitrary()? {
        desc.set(56, &u.arbitrary::<u64>()?.to_ne_bytes());
    }
    Ok(desc)
}

unsafe fn call(w: Pointer, file: Pointer, u: &mut Unstructured<'_>) -> Result<()> {
    let texts = [text(u)?, text(u)?, text(u)?];
    let name = CString::new(format!("n{}", u.int_in_range(0..=6u8)?)).unwrap();
    let shape: Vec<u64> = (0..u.int_in_range(0..=3)?)
        .map(|_| Ok(if u.ratio(1, 20)? { u.arbitrary()? } else { u.int_in_range(0..=4)? }))
        .collect::<Result<_>>()?;
    let product = shape.iter().fold(1u64, |n, d| n.saturating_mul(*d)).min(200) as usize;
    let data =
        vec![
            1u8;
            if u.ratio(1, 4)? { u.int_in_range(0..=300)? } else { product * (1 << u.int_in_range(0..=3)?) }
        ];
    let (dtype, logical) = (u.int_in_range(0..=14)?, if u.ratio(1, 4)? { number(u)? } else { 0 });
    let (encoding, digest) = (number(u)?, number(u)?);
    let parts = component(u, &texts, &data)?;
    let mut object = Block::exact(OBJECT);
    object.set_pointer(8, maybe(&name, u)?);
    object.set(24, &number(u)?.to_ne_bytes());
    if u.ratio(1, 4)? {
        object.set_pointer(32, texts[1].as_ptr());
        object.set(88, &(u.int_in_range(0..=1)? * texts[1].as_bytes().len()).to_ne_bytes());
    }
    object.set_pointer(40, shape.as_ptr());
    object.set(48, &shape.len().to_ne_bytes());
    if u.ratio(1, 4)? {
        object.set_pointer(80, texts[2].as_ptr());
    }
    if u.ratio(1, 4)? && !file.is_null() {
        object.set_pointer(72, zt_object_attributes(zt_object_at(file, 0)));
    }
    check(match u.int_in_range(0..=13u8)? {
        11 => zt_write_shard(w, maybe(&name, u)?, 0, file),
        12 => {
            let count = zt_object_count(file);
            zt_write_link(w, zt_object_at(file, u.int_in_range(0..=count)?), maybe(&name, u)?, 0)
        }
        0 => zt_write_dense(
            w,
            name.as_ptr(),
            0,
            dtype,
            logical,
            shape.as_ptr(),
            shape.len(),
            data.as_ptr().cast(),
            data.len(),
        ),
        1 => {
            let (places, pointers) = ([0u64; 4], [0u64, 0, 1, 2, 4]);
            let size = [u.int_in_range(0..=4)?, 3];
            let nnz = u.int_in_range(0..=4)?;
            zt_write_csr(
                w,
                name.as_ptr(),
                0,
                dtype,
                logical,
                size.as_ptr(),
                nnz,
                data.as_ptr().cast(),
                data.len(),
                places.as_ptr(),
                pointers.as_ptr(),
            )
        }
        2 | 3 => {
            object.set_pointer(56, parts.pointer());
            object.set(64, &1usize.to_ne_bytes());
            zt_write_object(w, object.pointer())
        }
        4 => zt_write_begin(w, object.pointer()),
        5 => zt_write_component(w, parts.pointer()),
        6 => zt_write_data(w, data.as_ptr().cast(), data.len()),
        7 => zt_write_end(w),
        8 => {
            let count = zt_object_count(file);
            let mut options = Block::exact(COPY_OPTIONS);
            options.set_pointer(8, maybe(&name, u)?);
            zt_write_copy(w, zt_object_at(file, u.int_in_range(0..=count)?), options.pointer())
        }
        9 => {
            let mut attribute = Block::exact(ATTRIBUTE);
            let kind = u.int_in_range(-1..=12i32)?;
            attribute.set(8, &kind.to_ne_bytes());
            attribute.set(12, &dtype.to_ne_bytes());
            attribute.set(16, &u.arbitrary::<[u8; 24]>()?);
            match kind {
                5 | 7 => attribute.set_pointer(40, maybe(&texts[1], u)?),
                6 | 8 => {
                    attribute.set_pointer(40, data.as_ptr());
                    attribute.set(48, &u.int_in_range(0..=data.len())?.to_ne_bytes());
                    attribute.set(56, &u.int_in_range(0..=data.len() / 8)?.to_ne_bytes());
                }
                _ => {}
            }
            zt_write_attribute(w, maybe(&name, u)?, 0, maybe(&texts[0], u)?, attribute.pointer())
        }
        10 => {
            let other = CString::new("another").unwrap();
            let requests = [&name, &other].map(|name| WriteRequest {
                size: size_of::<WriteRequest>(),
                name: name.as_ptr(),
                shape: shape.as_ptr(),
                rank: shape.len(),
                data: data.as_ptr().cast(),
                bytes: data.len(),
                kinds: [dtype, logical, encoding, digest],
            });
            zt_write_batch(w, requests.as_ptr().cast(), requests.len())
        }
        _ => {
            let mut desc = Block::exact(QUANTIZED);
            desc.set(8, &u.int_in_range(0..=65u64)?.to_ne_bytes());
            desc.set(16, &u.int_in_range(0..=9u64)?.to_ne_bytes());
            for at in [32, 48, 64] {
                desc.set_pointer(at, data.as_ptr());
                desc.set(at + 8, &(u.int_in_range(0..=data.len())? as u64).to_ne_bytes());
            }
            for at in [80, 84, 88] {
                desc.set(at, &u.int_in_range(0..=14i32)?.to_ne_bytes());
            }
            for at in [96, 100, 104, 112, 120, 124] {
                desc.set(at, &u.int_in_range(0..=2u32)?.to_ne_bytes());
            }
            zt_write_quantized(w, name.as_ptr(), 0, shape.as_ptr(), shape.len(), desc.pointer())
        }
    });
    Ok(())
}
