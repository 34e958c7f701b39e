//! The handles of an open file, and of its objects and components. A handle of an object or component points
//! to an entry in a table of the file. The entry has the address of the file; its position in the table is
//! the number of the object or component. Entry n serves both object n and component n, so that handles take
//! little memory in a file of many objects.

use crate::error::{fail, Result};
use crate::memory::try_box;
use crate::model::manifest::{Manifest, TextId};
use crate::reader::{Component, File};
use std::ffi::c_char;
use std::ptr::null;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An open file or model. It never changes.
pub struct zt_file {
    references: AtomicUsize,
    file: File,
    handles: HandleTable,
}

impl zt_file {
    /// Puts a file on the heap, with one reference. The handles that C borrows point back to it.
    #[inline(never)] // keeps the copies of the file that this makes out of the caller's stack frame
    pub(super) fn new(file: File) -> Result<*mut zt_file> {
        let handles = HandleTable::reserve(file.manifest())?;
        let handle = Box::into_raw(try_box(zt_file { references: AtomicUsize::new(1), file, handles })?);
        // SAFETY: it is from the box above, and nothing else uses it yet.
        let this = unsafe { &mut *handle };
        this.handles.fill(handle, this.file.manifest());
        Ok(handle)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// A text of the manifest, for C.
    pub(super) fn text(&self, text: TextId) -> *const c_char {
        self.file.manifest().texts.get_c_bytes(text).as_ptr().cast()
    }

    pub(super) fn handles(&self) -> &HandleTable {
        &self.handles
    }

    /// The handle of an object; NULL if the number is too large.
    pub(super) fn object_handle(&self, index: usize) -> *const zt_object {
        self.handles.get(index, self.file.manifest().objects.len()).cast()
    }

    /// The handle of a component; NULL if the number is too large.
    pub(super) fn component_handle(&self, index: usize) -> *const zt_component {
        self.handles.get(index, self.file.manifest().components.len()).cast()
    }

    pub(super) fn retain(&self) {
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// Releases a reference. The last one frees the file.
    ///
    /// # Safety
    /// [`zt_file::new`] made `handle`, and the caller owns one of its references.
    pub(super) unsafe fn release(handle: *mut zt_file) {
        // SAFETY: it is alive, because the caller still owns a reference.
        let before = unsafe { (*handle).references.fetch_sub(1, Ordering::Release) };
        if before == 1 {
            // An acquire load instead of a fence, because ThreadSanitizer does not support fences.
            // SAFETY: the file is alive until just below.
            unsafe { (*handle).references.load(Ordering::Acquire) };
            // SAFETY: this was the last reference; `new` boxed the file.
            drop(unsafe { Box::from_raw(handle) });
        }
    }
}

/// A reference to an open file.
pub(super) struct FileReference(*mut zt_file);

impl FileReference {
    /// # Safety
    /// The file is open.
    pub(super) unsafe fn new(file: *const zt_file) -> FileReference {
        // SAFETY: the caller ensures this.
        unsafe { &*file }.retain();
        FileReference(file.cast_mut())
    }

    pub(super) fn file(&self) -> &zt_file {
        // SAFETY: this reference keeps it open.
        unsafe { &*self.0 }
    }
}

impl Drop for FileReference {
    fn drop(&mut self) {
        // SAFETY: this is our reference, and it is released only here.
        unsafe { zt_file::release(self.0) };
    }
}

/// A named tensor of an open file.
pub struct zt_object {
    pub(super) handle: Handle,
}

impl zt_object {
    pub(super) fn owner(&self) -> &zt_file {
        self.handle.owner()
    }

    pub(super) fn index(&self) -> usize {
        self.handle.index()
    }
}

/// One blob of bytes of an object.
pub struct zt_component {
    pub(super) handle: Handle,
}

impl zt_component {
    pub(super) fn owner(&self) -> &zt_file {
        self.handle.owner()
    }

    pub(super) fn component(&self) -> Result<Component<'_>> {
        let (owner, index) = (self.owner(), self.handle.index());
        let found = owner.file().component_at(owner.handles().owner_of(index), index);
        found.ok_or_else(|| fail!(Internal, "a component without its entry"))
    }
}

/// An entry of the table.
pub(super) struct Handle {
    file: *const zt_file,
}

impl Handle {
    /// The file that owns the table of this handle.
    pub(super) fn owner(&self) -> &zt_file {
        // SAFETY: the file owns the table of handles, and lives as long as handles are borrowed.
        unsafe { &*self.file }
    }

    pub(super) fn file(&self) -> *const zt_file {
        self.file
    }

    /// The number of the object or component.
    pub(super) fn index(&self) -> usize {
        let first = self.owner().handles().table.as_ptr();
        std::ptr::from_ref(self).addr().wrapping_sub(first.addr()) / size_of::<Handle>()
    }
}

/// The table of handles, and the object of each component.
#[derive(Default)]
pub(super) struct HandleTable {
    table: Vec<Handle>,
    /// The object of each component. Empty if component n belongs to object n for all n, as in a file of
    /// dense objects.
    owners: Vec<u32>,
}

impl HandleTable {
    /// Reserves memory for all handles of a file, so that [`HandleTable::fill`] does not have to move them.
    pub(super) fn reserve(manifest: &Manifest) -> Result<HandleTable> {
        let mut handles = HandleTable::default();
        handles.table.try_reserve_exact(manifest.objects.len().max(manifest.components.len()))?;
        if manifest.objects.iter().any(|o| o.component_count != 1) {
            handles.owners.try_reserve_exact(manifest.components.len())?;
            // The manifest ensures that positions in both tables fit in 32 bits.
            for (index, object) in (0u32..).zip(manifest.objects.iter()) {
                handles.owners.extend(std::iter::repeat_n(index, object.component_count as usize));
            }
        }
        Ok(handles)
    }

    /// Makes the handles, each with the address of the file.
    pub(super) fn fill(&mut self, file: *const zt_file, manifest: &Manifest) {
        let count = manifest.objects.len().max(manifest.components.len());
        self.table.extend(std::iter::repeat_with(|| Handle { file }).take(count));
    }

    /// The address of the handle of an object or component that exists.
    #[inline]
    pub(super) fn address(&self, index: usize) -> *const Handle {
        self.table.as_ptr().wrapping_add(index)
    }

    fn get(&self, index: usize, count: usize) -> *const Handle {
        self.table.get(index).filter(|_| index < count).map_or(null(), std::ptr::from_ref)
    }

    /// The number of the object that has this component.
    pub(super) fn owner_of(&self, component: usize) -> usize {
        self.owners.get(component).map_or(component, |object| *object as usize)
    }
}

// Both types have the layout of a Handle, so the casts above are sound.
const _: () = {
    assert!(size_of::<zt_object>() == size_of::<Handle>() && align_of::<zt_object>() == align_of::<Handle>());
    assert!(
        size_of::<zt_component>() == size_of::<Handle>()
            && align_of::<zt_component>() == align_of::<Handle>()
    );
};
