//! The C interface for a C program: declarations, and option structs in memory of exactly their declared
//! size, so that a sanitizer detects accesses past it.

use arbitrary::{Result, Unstructured};
use std::alloc::Layout;
use std::ffi::{c_char, c_void, CStr};
use ztensor as _; // links the functions

pub type Status = i32;
pub type Pointer = *const c_void;
pub type Progress = extern "C" fn(*mut c_void, u64, u64) -> i32;

pub const OK: Status = 0;
pub const INVALID: Status = 1;

extern "C" {
    pub fn zt_last_error() -> *const c_char;
    pub fn zt_status_name(status: Status) -> *const c_char;
    pub fn zt_open_memory(data: Pointer, size: usize, options: Pointer, file: *mut Pointer) -> Status;
    pub fn zt_retain(file: Pointer) -> Pointer;
    pub fn zt_close(file: Pointer);
    pub fn zt_file_version(file: Pointer) -> *const c_char;
    pub fn zt_part_get_info(file: Pointer, part: usize, info: *mut c_void) -> Status;
    pub fn zt_file_attributes(file: Pointer) -> Pointer;
    pub fn zt_object_count(file: Pointer) -> usize;
    pub fn zt_object_at(file: Pointer, index: usize) -> Pointer;
    pub fn zt_object_find(file: Pointer, name: *const c_char) -> Pointer;
    pub fn zt_object_find_n(file: Pointer, name: *const c_char, length: usize) -> Pointer;
    pub fn zt_object_name(object: Pointer) -> *const c_char;
    pub fn zt_object_get_info(object: Pointer, info: *mut c_void) -> Status;
    pub fn zt_object_rank(object: Pointer) -> usize;
    pub fn zt_object_shape(object: Pointer) -> *const u64;
    pub fn zt_object_element_count(object: Pointer) -> u64;
    pub fn zt_object_format(object: Pointer) -> i32;
    pub fn zt_object_attributes(object: Pointer) -> Pointer;
    pub fn zt_component_count(object: Pointer) -> usize;
    pub fn zt_component_at(object: Pointer, index: usize) -> Pointer;
    pub fn zt_component_find(object: Pointer, role: *const c_char) -> Pointer;
    pub fn zt_object_read_slice(
        o: Pointer,
        start: *const u64,
        count: *const u64,
        step: *const u64,
        dst: *mut c_void,
        n: usize,
    ) -> Status;
    pub fn zt_component_role(component: Pointer) -> *const c_char;
    pub fn zt_component_get_info(component: Pointer, info: *mut c_void) -> Status;
    pub fn zt_component_dtype(component: Pointer) -> i32;
    pub fn zt_component_type(component: Pointer) -> i32;
    pub fn zt_component_size(component: Pointer) -> u64;
    pub fn zt_component_digest(component: Pointer) -> *const c_char;
    pub fn zt_component_caps(component: Pointer) -> u32;
    pub fn zt_component_ptr(component: Pointer, ptr: *mut Pointer, size: *mut usize) -> Status;
    pub fn zt_component_read(component: Pointer, dst: *mut c_void, size: usize) -> Status;
    pub fn zt_component_read_range(component: Pointer, offset: u64, dst: *mut c_void, n: usize) -> Status;
    pub fn zt_component_load(component: Pointer, options: Pointer, buffer: *mut Pointer) -> Status;
    pub fn zt_buffer_data(buffer: Pointer) -> *const u8;
    pub fn zt_buffer_size(buffer: Pointer) -> usize;
    pub fn zt_buffer_free(buffer: Pointer);
    pub fn zt_object_read_as(
        object: Pointer,
        dtype: i32,
        dst: *mut c_void,
        size: usize,
        written: *mut usize,
    ) -> Status;
    pub fn zt_object_size_as(object: Pointer, dtype: i32, size: *mut u64) -> Status;
    pub fn zt_component_advise(component: Pointer, advice: u32) -> Status;
    pub fn zt_read_batch(
        file: Pointer,
        requests: Pointer,
        n: usize,
        options: Pointer,
        stats: *mut c_void,
    ) -> Status;
    pub fn zt_verify(file: Pointer, options: Pointer, report: *mut c_void) -> Status;
    pub fn zt_repair(path: *const c_char, options: Pointer, report: *mut c_void) -> Status;
    pub fn zt_tensor_find(file: Pointer, name: *const c_char, view: *mut c_void) -> Status;
    pub fn zt_csr_view(object: Pointer, view: *mut c_void) -> Status;
    pub fn zt_coo_view(object: Pointer, view: *mut c_void) -> Status;
    pub fn zt_quantized_view(object: Pointer, view: *mut c_void) -> Status;
    pub fn zt_value_get_kind(value: Pointer) -> i32;
    pub fn zt_value_get_i64(value: Pointer, out: *mut i64) -> Status;
    pub fn zt_value_get_f64(value: Pointer, out: *mut f64) -> Status;
    pub fn zt_value_get_string(value: Pointer, text: *mut *const c_char, length: *mut usize) -> Status;
    pub fn zt_value_count(value: Pointer) -> usize;
    pub fn zt_value_at(value: Pointer, index: usize) -> Pointer;
    pub fn zt_value_key_at(value: Pointer, index: usize) -> Pointer;
    pub fn zt_value_find(value: Pointer, key: *const c_char) -> Pointer;
    pub fn zt_value_to_json(value: Pointer, buf: *mut c_char, size: usize, needed: *mut usize) -> Status;
    pub fn zt_write_create_sink(sink: Pointer, options: Pointer, writer: *mut Pointer) -> Status;
    pub fn zt_write_dense(
        w: Pointer,
        name: *const c_char,
        length: usize,
        dtype: i32,
        t: i32,
        shape: *const u64,
        rank: usize,
        data: Pointer,
        size: usize,
    ) -> Status;
    pub fn zt_write_batch(w: Pointer, requests: Pointer, n: usize) -> Status;
    pub fn zt_write_csr(
        w: Pointer,
        name: *const c_char,
        length: usize,
        dtype: i32,
        t: i32,
        shape: *const u64,
        nnz: usize,
        values: Pointer,
        size: usize,
        indices: *const u64,
        indptr: *const u64,
    ) -> Status;
    pub fn zt_write_quantized(
        w: Pointer,
        name: *const c_char,
        length: usize,
        shape: *const u64,
        rank: usize,
        desc: Pointer,
    ) -> Status;
    pub fn zt_write_object(w: Pointer, desc: Pointer) -> Status;
    pub fn zt_write_begin(w: Pointer, desc: Pointer) -> Status;
    pub fn zt_write_component(w: Pointer, desc: Pointer) -> Status;
    pub fn zt_write_data(w: Pointer, data: Pointer, size: usize) -> Status;
    pub fn zt_write_end(w: Pointer) -> Status;
    pub fn zt_write_shard(w: Pointer, name: *const c_char, length: usize, file: Pointer) -> Status;
    pub fn zt_write_link(w: Pointer, object: Pointer, name: *const c_char, length: usize) -> Status;
    pub fn zt_write_copy(w: Pointer, object: Pointer, options: Pointer) -> Status;
    pub fn zt_write_attribute(
        w: Pointer,
        object: *const c_char,
        length: usize,
        key: *const c_char,
        attribute: Pointer,
    ) -> Status;
    pub fn zt_value_read_numbers(value: Pointer, dtype: i32, dst: *mut c_void, count: usize) -> Status;
    pub fn zt_value_read_strings(
        value: Pointer,
        strings: *mut *const c_char,
        lengths: *mut usize,
        count: usize,
    ) -> Status;
    pub fn zt_write_finish(w: Pointer, summary: *mut c_void) -> Status;
    pub fn zt_write_abort(w: Pointer);
}

/// A valid status: known, with a text, and not an internal error.
pub fn check(status: Status) -> Status {
    assert!((0..=18).contains(&status), "status {status}: {}", last_error());
    assert!(status == OK || !last_error().is_empty());
    assert!(!unsafe { zt_status_name(status) }.is_null());
    status
}

pub fn last_error() -> String {
    unsafe { CStr::from_ptr(zt_last_error()) }.to_str().expect("UTF-8").to_owned()
}

/// A text of the library.
pub fn string<'a>(text: *const c_char) -> &'a str {
    assert!(!text.is_null());
    unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8")
}

/// A struct that begins with its size, in a separate allocation.
pub struct Block {
    base: *mut u8,
    layout: Layout,
    shift: usize,
    pub claimed: usize,
    /// NULL is passed instead.
    pub null: bool,
    /// The call must reject it.
    pub wrong: bool,
}

impl Block {
    fn allocate(bytes: usize, shift: usize, claimed: usize) -> Block {
        let layout = Layout::from_size_align(bytes.max(8) + shift, 8).unwrap();
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        let block = Block { base, layout, shift, claimed, null: false, wrong: shift > 0 };
        unsafe { block.base.add(shift).cast::<usize>().write_unaligned(claimed) };
        block
    }

    fn with(mut self, null: bool, wrong: bool) -> Block {
        (self.null, self.wrong) = (null, wrong);
        self
    }

    /// A struct of this version with `known` bytes, all zero.
    pub fn exact(known: usize) -> Block {
        Block::allocate(known, 0, known)
    }

    /// A struct from various callers: older, newer, NULL, misaligned, or with a wrong size.
    pub fn any(u: &mut Unstructured<'_>, known: usize) -> Result<Block> {
        let mut block = match u.int_in_range(0..=15u8)? {
            0 => Block::exact(known).with(true, false),
            1 => Block::allocate(known, u.int_in_range(1..=7)?, known),
            2 => Block::allocate(8, 0, u.int_in_range(0..=7)?).with(false, true),
            3 => {
                let claimed = if u.arbitrary()? { usize::MAX } else { u.int_in_range(4097..=1 << 40)? };
                Block::allocate(8, 0, claimed).with(false, true)
            }
            4 | 5 => {
                let more = u.int_in_range(1..=200)?;
                Block::allocate(known + more, 0, known + more)
            }
            6 | 7 => {
                // fields are aligned, so the size does not cut one
                let less = 8 * u.int_in_range(1..=known / 8)?;
                Block::allocate(less, 0, less)
            }
            8 => {
                let within = 8 * u.int_in_range(1..=known / 8)? - u.int_in_range(1..=3)?; // cuts a field
                Block::allocate(within.max(9), 0, within.max(9)).with(false, true)
            }
            _ => Block::exact(known),
        };
        if block.claimed > known && !block.wrong && u.arbitrary()? {
            let at = u.int_in_range(known..=block.claimed - 1)?;
            unsafe { *block.base.add(at) = u.int_in_range(1..=255)? };
            block.wrong = true;
        }
        Ok(block)
    }

    /// Sets bytes at an offset, up to the struct's end. A pointer that does not fit is not set.
    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        if self.layout.size() >= self.shift + at + bytes.len() {
            unsafe { self.base.add(self.shift + at).copy_from(bytes.as_ptr(), bytes.len()) };
        }
    }

    pub fn set_pointer<T>(&mut self, at: usize, pointer: *const T) {
        self.set(at, &(pointer as usize).to_ne_bytes());
    }

    /// Sets a few numbers between `from` and `to`.
    pub fn scribble(&mut self, u: &mut Unstructured<'_>, from: usize, to: usize) -> Result<()> {
        for _ in 0..u.int_in_range(0..=3)? {
            let at = from + 4 * u.choose_index((to - from) / 4)?;
            let value: u32 = match u.int_in_range(0..=5u8)? {
                0..=2 => u.int_in_range(0..=7)?,
                3 => 1 << u.int_in_range(0..=31)?,
                4 => u32::MAX,
                _ => u.arbitrary()?,
            };
            self.set(at, &value.to_ne_bytes());
        }
        Ok(())
    }

    /// Usually one thread, because starting threads is slow.
    pub fn few_threads(&mut self, u: &mut Unstructured<'_>, at: usize) -> Result<()> {
        if u.ratio(15, 16)? {
            self.set(at, &1u32.to_ne_bytes());
        }
        Ok(())
    }

    pub fn pointer(&self) -> *mut c_void {
        if self.null {
            std::ptr::null_mut()
        } else {
            unsafe { self.base.add(self.shift).cast() }
        }
    }

    /// The 8 bytes at `at`.
    pub fn number(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes()[self.shift + at..][..8].try_into().unwrap())
    }

    pub fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.base, self.layout.size()) }
    }

    /// The same fields with zeros after the declared size: what a current caller would pass.
    pub fn grown(&self, known: usize) -> Block {
        let mut full = Block::exact(known);
        full.set(8, &self.bytes()[8..self.claimed.min(known)]);
        full
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        unsafe { std::alloc::dealloc(self.base, self.layout) };
    }
}
