//! Reads a file through the C interface, with all kinds of options.

use crate::append::TemporaryFile;
use crate::c::*;
use arbitrary::{Result, Unstructured};
use std::ffi::{c_char, c_void, CString};
use std::ptr::{null, null_mut};

pub const OPEN_OPTIONS: usize = 136;
const OPEN_NUMBERS: usize = 64; // pointers come after them
const VERIFY_OPTIONS: usize = 56;
const PART_INFO: usize = 32;
const OBJECT_INFO: usize = 120;
const COMPONENT_INFO: usize = 112;
const READ_OPTIONS: usize = 64;
const READ_REQUEST: usize = 80;
const REPAIR_OPTIONS: usize = 48;
const REPAIR_NUMBERS: usize = 32; // pointers come after them

extern "C" fn progress(context: *mut c_void, done: u64, total: u64) -> i32 {
    assert!(done <= total);
    i32::from(!context.is_null())
}

extern "C" fn done(_context: *mut c_void, _tag: u64, status: Status, _message: *const c_char) {
    assert!((0..=18).contains(&status));
}

/// Opens with random options. A shorter struct has the same effect as one with zeros after it.
pub fn open(bytes: &[u8], u: &mut Unstructured<'_>) -> Result<Pointer> {
    let mut options = Block::any(u, OPEN_OPTIONS)?;
    if u.arbitrary()? {
        options.scribble(u, 8, OPEN_NUMBERS)?;
    }
    let mut file = 1 as Pointer;
    let data = bytes.as_ptr().cast();
    let status = check(unsafe { zt_open_memory(data, bytes.len(), options.pointer(), &mut file) });
    assert_eq!(status == OK, !file.is_null());
    if options.wrong && !options.null {
        assert_eq!(status, INVALID, "{}", last_error());
    } else if !options.null {
        let mut again = 1 as Pointer;
        let full = options.grown(OPEN_OPTIONS);
        assert_eq!(unsafe { zt_open_memory(data, bytes.len(), full.pointer(), &mut again) }, status);
        unsafe { zt_close(again) };
    }
    Ok(file)
}

/// Makes all calls that read.
pub fn walk(file: Pointer, bytes: &[u8], u: &mut Unstructured<'_>) -> Result<()> {
    unsafe {
        string(zt_file_version(file));
        let part = Block::exact(PART_INFO);
        assert_eq!(check(zt_part_get_info(file, 0, part.pointer())), OK);
        assert_eq!(part.number(16), bytes.len() as u64);
        value(zt_file_attributes(file), 0);
        let count = zt_object_count(file);
        assert!(zt_object_at(file, count).is_null() && zt_object_at(file, usize::MAX).is_null());
        for at in 0..count.min(40) {
            object(file, zt_object_at(file, at), u)?;
        }
        assert!(zt_object_find(file, null()).is_null());
        assert!(zt_object_find_n(file, null(), 5).is_null());
        verify(file, u)?;
        batch(file, u)?;
        let kept = zt_retain(file);
        zt_close(kept);
    }
    Ok(())
}

unsafe fn value(v: Pointer, depth: usize) {
    assert!(depth <= 70 && (0..=9).contains(&zt_value_get_kind(v)));
    let mut needed = 0;
    assert_eq!(zt_value_to_json(v, null_mut(), 0, &mut needed), if v.is_null() { INVALID } else { OK });
    if v.is_null() {
        return;
    }
    if depth < 3 {
        let mut text = vec![1u8; needed];
        assert_eq!(zt_value_to_json(v, text.as_mut_ptr().cast::<c_char>(), needed, null_mut()), OK);
        assert_eq!(text.iter().position(|b| *b == 0), Some(needed - 1));
        assert_ne!(zt_value_to_json(v, text.as_mut_ptr().cast::<c_char>(), needed - 1, null_mut()), OK);
    }
    let (mut integer, mut float, mut text, mut length) = (0, 0.0, null(), 0);
    check(zt_value_get_i64(v, &mut integer));
    check(zt_value_get_f64(v, &mut float));
    check(zt_value_get_string(v, &mut text, &mut length));
    check(zt_value_get_string(v, &mut text, null_mut()));
    for at in 0..zt_value_count(v).min(50) {
        value(zt_value_at(v, at), depth + 1);
        let key = zt_value_key_at(v, at);
        if !key.is_null() {
            value(key, depth + 1);
        }
    }
    assert!(zt_value_at(v, usize::MAX).is_null());
    zt_value_find(v, c"a0".as_ptr());
}

unsafe fn object(file: Pointer, o: Pointer, u: &mut Unstructured<'_>) -> Result<()> {
    let info = Block::exact(OBJECT_INFO);
    assert_eq!(check(zt_object_get_info(o, info.pointer())), OK);
    let (name, length) = (zt_object_name(o), info.number(24) as usize);
    assert_eq!(*name.add(length), 0);
    assert!(!zt_object_find_n(file, name, length).is_null() || length == 0);
    let rank = zt_object_rank(o);
    let shape = std::slice::from_raw_parts(if rank == 0 { [].as_ptr() } else { zt_object_shape(o) }, rank);
    assert!((0..=4).contains(&zt_object_format(o)));
    let own = info.number(112) as *const c_char;
    assert_eq!(own.is_null(), zt_object_format(o) != 0);
    if !own.is_null() {
        string(own);
    }
    zt_object_element_count(o);
    value(zt_object_attributes(o), 0);
    let count = zt_component_count(o);
    assert!(zt_component_at(o, count).is_null());
    for at in 0..count.min(10) {
        let c = zt_component_at(o, at);
        let role = zt_component_role(c);
        // For C, a role with a NUL ends early, so it is found by its index.
        let whole = string(role).len() == component_info(c).number(32) as usize;
        assert!(!whole || !zt_component_find(o, role).is_null());
        component(c, u)?;
    }
    let start: Vec<u64> = shape.iter().map(|d| u.int_in_range(0..=*d)).collect::<Result<_>>()?;
    let count: Vec<u64> =
        shape.iter().zip(&start).map(|(d, s)| u.int_in_range(0..=(d - s).min(3))).collect::<Result<_>>()?;
    let mut memory = vec![0u8; 2000];
    check(zt_object_read_slice(o, start.as_ptr(), count.as_ptr(), null(), memory.as_mut_ptr().cast(), 2000));
    check(zt_object_read_slice(o, null(), null(), null(), memory.as_mut_ptr().cast(), 2000));
    numbers(o, u.int_in_range(-1..=15)?);
    for (known, which) in [(48, 0), (128, 1), (96, 2), (144, 3)] {
        let view = Block::any(u, known)?;
        let before = view.bytes().to_vec();
        let status = check(match which {
            0 => zt_tensor_find(file, name, view.pointer()),
            1 => zt_csr_view(o, view.pointer()),
            2 => zt_coo_view(o, view.pointer()),
            _ => zt_quantized_view(o, view.pointer()),
        });
        assert!(status == OK || view.bytes() == before, "written to although it failed");
        assert!(status != OK || !view.null);
        assert_eq!(view.bytes()[..8], before[..8]);
    }
    Ok(())
}

/// Exactly the declared bytes are written; memory after them does not change.
unsafe fn numbers(o: Pointer, to: i32) {
    let (mut size, mut written) = (0, 0);
    let sized = check(zt_object_size_as(o, to, &mut size));
    let mut memory = vec![0x5au8; size.min(1 << 20) as usize + 64];
    let status = check(zt_object_read_as(o, to, memory.as_mut_ptr().cast(), memory.len(), &mut written));
    assert!(status != OK || sized == OK && written as u64 == size);
    let end = if sized == OK && size + 64 <= memory.len() as u64 { size as usize } else { 0 };
    assert!(end == 0 && size != 0 && sized == OK || memory[end..].iter().all(|byte| *byte == 0x5a));
    check(zt_object_read_as(o, to, null_mut(), 0, null_mut()));
}

unsafe fn component_info(c: Pointer) -> Block {
    let info = Block::exact(COMPONENT_INFO);
    assert_eq!(check(zt_component_get_info(c, info.pointer())), OK);
    info
}

unsafe fn component(c: Pointer, u: &mut Unstructured<'_>) -> Result<()> {
    let info = component_info(c);
    for (value, name) in [(72, 88), (76, 96), (80, 104)] {
        let own = info.number(name) as *const c_char;
        let is_other = info.number(value) as u32
            == if value == 76 {
                7
            } else if value == 80 {
                3
            } else {
                0
            };
        assert!(own.is_null() || is_other);
        if !own.is_null() {
            string(own);
        }
    }
    assert!((0..=13).contains(&zt_component_dtype(c)) && (0..=7).contains(&zt_component_type(c)));
    if !zt_component_digest(c).is_null() {
        string(zt_component_digest(c));
    }
    zt_component_caps(c);
    let size = zt_component_size(c);
    check(zt_component_advise(c, u.int_in_range(0..=8)?));
    let (mut at, mut length, mut buffer) = (null(), 0, 1 as Pointer);
    let borrowed = check(zt_component_ptr(c, &mut at, &mut length));
    let loaded = check(zt_component_load(c, null(), &mut buffer));
    assert_eq!(loaded == OK, !buffer.is_null());
    if loaded == OK {
        assert!([zt_buffer_size(buffer) as u64, u64::MAX].contains(&size)); // ZT_UNKNOWN_SIZE
        let size = zt_buffer_size(buffer) as u64;
        let loaded = std::slice::from_raw_parts(zt_buffer_data(buffer), size as usize);
        assert!(borrowed != OK || loaded == std::slice::from_raw_parts(at.cast::<u8>(), length));
        let mut memory = vec![0u8; loaded.len()];
        assert_eq!(check(zt_component_read(c, memory.as_mut_ptr().cast(), memory.len())), OK);
        assert_eq!(memory, loaded);
        let (from, length) = (u.int_in_range(0..=size)?, u.arbitrary::<u16>()? as usize);
        let mut part = vec![0u8; length];
        let status = check(zt_component_read_range(c, from, part.as_mut_ptr().cast(), length));
        assert_eq!(status == OK, from + length as u64 <= size);
    } else if size <= info.number(56).max(1 << 20) {
        let mut memory = vec![0u8; size as usize];
        let status = check(zt_component_read(c, memory.as_mut_ptr().cast(), memory.len()));
        assert!(status != OK || size == 0, "{size}");
    }
    zt_buffer_free(buffer);
    Ok(())
}

fn stop(u: &mut Unstructured<'_>) -> Result<usize> {
    Ok(usize::from(u.ratio(1, 5)?))
}

unsafe fn verify(file: Pointer, u: &mut Unstructured<'_>) -> Result<()> {
    let (mut options, report) = (Block::any(u, VERIFY_OPTIONS)?, Block::any(u, 64)?);
    options.scribble(u, 8, 16)?;
    options.few_threads(u, 12)?;
    options.set(16, &stop(u)?.to_ne_bytes());
    if u.arbitrary()? {
        options.set_pointer(24, progress as Progress as *const c_void);
    }
    if u.arbitrary()? {
        options.set_pointer(40, zt_object_at(file, u.int_in_range(0..=3)?));
    }
    let status = check(zt_verify(file, options.pointer(), report.pointer()));
    let refused = options.wrong && !options.null;
    assert!(!refused || status == INVALID, "{}", last_error());
    assert!(status != OK || report.null || report.bytes()[..8] == report.claimed.to_ne_bytes());
    Ok(())
}

unsafe fn batch(file: Pointer, u: &mut Unstructured<'_>) -> Result<()> {
    let (mut options, stats) = (Block::any(u, READ_OPTIONS)?, Block::any(u, 64)?);
    options.scribble(u, 8, 40)?;
    options.few_threads(u, 8)?;
    options.set(40, &stop(u)?.to_ne_bytes());
    if u.arbitrary()? {
        options
            .set_pointer(48, done as extern "C" fn(*mut c_void, u64, Status, *const c_char) as *const c_void);
        options.set_pointer(56, progress as Progress as *const c_void);
    }
    let count = zt_object_count(file);
    let mut memory = vec![vec![0u8; 3000]; 6];
    let mut requests: Vec<u64> = Vec::new();
    let mut numbers: Vec<Vec<u64>> = Vec::new();
    let mut wanted = 0;
    for dst in &mut memory {
        let o = zt_object_at(file, u.int_in_range(0..=count)?);
        let c = zt_component_at(o, u.int_in_range(0..=1)?);
        let (mut start, mut counts) = (null(), null());
        let (mut offset, mut length) = (0, 0);
        match u.int_in_range(0..=3u8)? {
            0 => (offset, length) = (u.int_in_range(0..=100)?, u.int_in_range(0..=100)?),
            1 => {
                let rank = zt_object_rank(o);
                numbers.push((0..rank).map(|_| u.int_in_range(0..=2)).collect::<Result<_>>()?);
                start = numbers[numbers.len() - 1].as_ptr();
                numbers.push((0..rank).map(|_| u.int_in_range(0..=2)).collect::<Result<_>>()?);
                counts = numbers[numbers.len() - 1].as_ptr();
            }
            2 if u.ratio(1, 4)? => (offset, length) = (u.arbitrary()?, u.arbitrary()?),
            _ => length = u64::MAX, // ZT_WHOLE
        }
        let space = if u.ratio(1, 6)? { u.int_in_range(0..=64)? } else { 3000 };
        requests.extend([
            READ_REQUEST as u64,
            c as u64,
            offset,
            length,
            start as u64,
            counts as u64,
            0,
            dst.as_mut_ptr() as u64,
            space,
            7,
        ]);
        wanted += 1;
        if u.arbitrary()? {
            break;
        }
    }
    check(zt_read_batch(file, requests.as_ptr().cast(), wanted, options.pointer(), stats.pointer()));
    check(zt_read_batch(file, null(), 0, options.pointer(), stats.pointer()));
    Ok(())
}

/// Repairs the bytes as a file.
pub fn repair(bytes: &[u8], u: &mut Unstructured<'_>) -> Result<()> {
    let place = TemporaryFile::new();
    place.put(bytes);
    let (mut options, report) = (Block::any(u, REPAIR_OPTIONS)?, Block::any(u, 32)?);
    options.scribble(u, 8, REPAIR_NUMBERS)?;
    let path = CString::new(place.path().to_str().unwrap()).unwrap();
    let status = check(unsafe { zt_repair(path.as_ptr(), options.pointer(), report.pointer()) });
    assert!(status == OK || place.get() == bytes, "rejected, but the file changed");
    assert!(!options.wrong || options.null || status == INVALID);
    Ok(())
}
