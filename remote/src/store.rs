//! A service as a `zt_store`: `zt_open_model_from` opens the files of a model by their URLs in the form for
//! messages.

use crate::address::Service;
use crate::attempt::Seen;
use crate::connect::Client;
use crate::core::{status, zt_name_callback, zt_source, zt_source_range, zt_status};
use crate::failure::{invalid, Failure};
use crate::fetch::{Piece, MAX_READ_GAP, REQUEST, UNREADABLE_ANSWER};
use crate::guard::{guard, text};
use crate::object::Object;
use crate::runtime;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void, CString};
use std::sync::{mpsc, Arc, Mutex, PoisonError, Weak};

/// The most bytes of files' ends that are kept while a model is opened.
const MAX_KEPT_ENDS: usize = 256 << 20;
/// The most names in a folder, and the most bytes of them.
const MAX_NAMES: usize = 100_000;
const MAX_NAME_BYTES: usize = 64 << 20;

/// The last opened objects, latest last, and how many bytes each kept at that time. The caller may have
/// closed some of them.
struct Recent<T> {
    items: VecDeque<(Weak<T>, usize)>,
    held: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent { items: VecDeque::new(), held: 0 }
    }
}

impl<T> Recent<T> {
    /// Adds an object. Returns the oldest ones; they have to free their ends, so that all together keep at
    /// most `max` bytes.
    fn push(&mut self, item: &Arc<T>, size: usize, max: usize) -> Vec<Arc<T>> {
        self.items.push_back((Arc::downgrade(item), size));
        self.held += size;
        if self.held > max {
            self.items.retain(|(item, _)| item.strong_count() > 0);
            self.held = self.items.iter().map(|(_, size)| size).sum();
        }
        let mut oldest = Vec::new();
        while self.held > max && self.items.len() > 1 {
            let Some((item, size)) = self.items.pop_front() else { break };
            self.held -= size;
            oldest.extend(item.upgrade());
        }
        oldest
    }
}

/// The context of a store's functions.
pub struct Files {
    client: Arc<Client>,
    /// The objects that were opened last.
    opened: Mutex<Recent<Object>>,
}

impl Files {
    pub fn new(client: Client) -> Files {
        Files { client: Arc::new(client), opened: Mutex::default() }
    }

    /// The name for zt_open_model_from.
    pub fn name(&self) -> Result<CString, Failure> {
        let name = CString::new(self.client.address.show(&self.client.address.key));
        name.map_err(|_| invalid("a URL holds no NUL"))
    }

    /// The source of the object at the URL.
    pub fn source_of_url(&self) -> Result<zt_source, Failure> {
        let key = &self.client.address.key;
        self.source(key).map_err(|e| e.within(&self.client.address.show(key)))
    }

    /// The source of an object, by its name in messages.
    pub fn source_of_name(&self, name: &str) -> Result<zt_source, Failure> {
        let other = |_| invalid("a file of another service was requested");
        self.source(self.key(name).map_err(other)?).map_err(|e| e.within(name))
    }

    /// Frees the ends of files that were kept while the model was opened.
    pub fn opened_all(self) {
        let opened = self.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        opened
            .items
            .iter()
            .filter_map(|(object, _)| object.upgrade())
            .for_each(|object| object.forget_ends());
    }

    fn key<'n>(&self, name: &'n str) -> Result<&'n str, Failure> {
        let key = name.strip_prefix(self.client.address.shown.as_str());
        key.ok_or_else(|| Failure::new(status::INTERNAL, "a file of another service was requested"))
    }

    /// The source of an object.
    pub fn source(&self, key: &str) -> Result<zt_source, Failure> {
        if key.is_empty() || key.ends_with('/') {
            let why = match self.client.address.service {
                Service::Http => "folders cannot be listed over HTTP; name a file or an index",
                _ => "a folder is not an object; name one",
            };
            return Err(Failure::new(status::UNSUPPORTED, why));
        }
        let object = Arc::new(Object::open(&self.client, key)?);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = opened.push(&object, object.held(), MAX_KEPT_ENDS);
        drop(opened);
        oldest.iter().for_each(|object| object.forget_ends());
        let concurrency = object.concurrency() as u32; // at most 256
        Ok(zt_source {
            struct_size: size_of::<zt_source>(),
            size: Some(size),
            read_at: Some(read_at),
            close: Some(close),
            read_many: Some(read_many),
            name: object.name.as_ptr(),
            gap: MAX_READ_GAP,
            largest_request: REQUEST,
            concurrency,
            callers_thread: 0,
            identity: object.identity(),
            context: Arc::into_raw(object).cast_mut().cast(),
        })
    }

    fn list(&self, folder: &str) -> Result<Vec<CString>, Failure> {
        let not_one = || Failure::new(status::NOT_FOUND, "this is not a folder");
        let pages = self.client.pages().filter(|_| folder.is_empty() || folder.ends_with('/'));
        let pages = pages.ok_or_else(not_one)?;
        let prefix = Path::parse(folder).map_err(|_| not_one())?;
        let prefix = Some(format!("{prefix}/")).filter(|prefix| prefix != "/");
        let (send, received) = mpsc::channel();
        let max_wait = self.client.settings.timeout.saturating_mul(10);
        runtime::pool()?.spawn(async move {
            let listed = tokio::time::timeout(max_wait, list_all(pages.as_ref(), prefix.as_deref())).await;
            let late = |_| Err(Failure::new(status::IO, "there was no answer in time"));
            let _ = send.send(listed.unwrap_or_else(late));
        });
        received.recv().unwrap_or_else(|_| Err(Failure::new(status::IO, UNREADABLE_ANSWER)))
    }
}

/// The names of the files in a folder, fetched page by page.
async fn list_all(pages: &dyn PaginatedListStore, prefix: Option<&str>) -> Result<Vec<CString>, Failure> {
    let (mut names, mut count, mut bytes, mut page_token) = (Vec::new(), 0, 0, None);
    loop {
        let seen = Seen::default();
        let mut options = PaginatedListOptions { page_token, ..PaginatedListOptions::default() };
        options.delimiter = Some("/".into());
        options.extensions.insert(seen.clone());
        let page = pages.list_paginated(prefix, options).await.map_err(|e| Failure::of_request(&e, &seen))?;
        let (objects, folders) = (&page.result.objects, &page.result.common_prefixes);
        count += objects.len() + folders.len();
        bytes += objects
            .iter()
            .map(|object| &object.location)
            .chain(folders)
            .map(|at| at.as_ref().len())
            .sum::<usize>();
        if count > MAX_NAMES || bytes > MAX_NAME_BYTES {
            let text =
                format!("the folder has more than {MAX_NAMES} names, or than {MAX_NAME_BYTES} bytes of them");
            return Err(Failure::new(status::LIMIT, text));
        }
        let files = objects.iter().filter_map(|object| object.location.filename());
        names.extend(files.filter_map(|name| CString::new(name).ok()));
        page_token = page.page_token;
        if page_token.is_none() {
            return Ok(names);
        }
    }
}

/// The caller's zt_source to fill. It may be from another version of the header.
pub struct SourceOut {
    source: *mut zt_source,
    size: usize,
}

impl SourceOut {
    /// # Safety
    /// `source` is NULL or has the size it gives, and nothing else uses it until it is filled.
    pub unsafe fn new(source: *mut zt_source) -> Result<SourceOut, Failure> {
        if source.is_null() {
            return Err(invalid("the pointer to the source is NULL"));
        }
        // SAFETY: it begins with its size.
        let size = unsafe { source.cast::<usize>().read() };
        let least = std::mem::offset_of!(zt_source, read_many);
        if size < least || size % size_of::<usize>() != 0 || size > 1 << 16 {
            return Err(invalid("zt_source.struct_size is not sizeof (zt_source)"));
        }
        Ok(SourceOut { source, size })
    }

    /// Fills the fields that the caller's struct has.
    pub fn fill(self, made: zt_source) {
        let made = zt_source { struct_size: self.size, ..made };
        let known = self.size.min(size_of::<zt_source>());
        // SAFETY: source has that size.
        unsafe {
            std::ptr::write_bytes(self.source.cast::<u8>(), 0, self.size);
            std::ptr::copy_nonoverlapping((&raw const made).cast::<u8>(), self.source.cast::<u8>(), known);
        }
    }
}

/// # Safety
/// `context` is a [`Files`], `name` ends in a NUL, and `source` has the size it gives.
pub unsafe extern "C" fn open(
    context: *mut c_void,
    name: *const c_char,
    source: *mut zt_source,
) -> zt_status {
    guard(|| {
        // SAFETY: as above.
        let (files, name) = unsafe { (&*context.cast::<Files>(), text(name, "the name of a file")?) };
        // SAFETY: as above.
        let place = unsafe { SourceOut::new(source)? };
        place.fill(files.source(files.key(&name.unwrap_or_default())?)?);
        Ok(())
    })
}

/// # Safety
/// `context` is a [`Files`], `folder` ends in a NUL, and `add` accepts `names`.
pub unsafe extern "C" fn list(
    context: *mut c_void,
    folder: *const c_char,
    add: zt_name_callback,
    names: *mut c_void,
) -> zt_status {
    guard(|| {
        // SAFETY: as above.
        let (files, folder) = unsafe { (&*context.cast::<Files>(), text(folder, "the name of a folder")?) };
        let Some(add) = add else { return Err(invalid("add is NULL")) };
        for name in files.list(files.key(&folder.unwrap_or_default())?)? {
            // SAFETY: as above.
            let taken = unsafe { add(names, name.as_ptr()) };
            if taken != status::OK {
                return Err(Failure::new(taken, "the listing was ended"));
            }
        }
        Ok(())
    })
}

/// # Safety
/// `context` is an [`Object`] from [`Files::source`].
unsafe fn object<'a>(context: *mut c_void) -> &'a Object {
    // SAFETY: as above.
    unsafe { &*context.cast::<Object>() }
}

unsafe extern "C" fn size(context: *mut c_void, size: *mut u64) -> zt_status {
    guard(|| {
        // SAFETY: called like zt_source.size.
        unsafe { size.write(object(context).size()) };
        Ok(())
    })
}

unsafe extern "C" fn read_at(context: *mut c_void, offset: u64, dst: *mut c_void, size: usize) -> zt_status {
    let range = zt_source_range { offset, dst, size };
    // SAFETY: called like zt_source.read_at.
    unsafe { read_many(context, &raw const range, 1) }
}

unsafe extern "C" fn read_many(
    context: *mut c_void,
    ranges: *const zt_source_range,
    count: usize,
) -> zt_status {
    guard(|| {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: called like zt_source.read_many.
        let (object, ranges) = unsafe { (object(context), std::slice::from_raw_parts(ranges, count)) };
        let mut pieces = Vec::new();
        let no_memory = |_| Failure::new(status::OUT_OF_MEMORY, "could not allocate a list of ranges");
        pieces.try_reserve_exact(count).map_err(no_memory)?;
        pieces.extend(ranges.iter().map(|range| Piece {
            start: range.offset,
            end: range.offset.saturating_add(range.size as u64),
            dst: range.dst.cast(),
        }));
        object.read(&pieces)
    })
}

unsafe extern "C" fn close(context: *mut c_void) {
    guard(|| {
        // In a child process it is not dropped: that may wait for threads that do not exist there.
        runtime::check_process()?;
        // SAFETY: `Files::source` made it; called once, last.
        drop(unsafe { Arc::from_raw(context.cast::<Object>().cast_const()) });
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way_and_those_that_are_gone_count_no_more() {
        let (mut recent, items) = (Recent::default(), [0, 1, 2, 3].map(Arc::new));
        assert!(recent.push(&items[0], 40, 100).is_empty());
        assert!(recent.push(&items[1], 50, 100).is_empty());
        assert_eq!(recent.push(&items[2], 20, 100), [items[0].clone()]);
        let [_, second, third, fourth] = items;
        assert_eq!((recent.items.len(), recent.held), (2, 70));
        drop(second);
        assert!(recent.push(&fourth, 60, 100).is_empty());
        assert_eq!((recent.items.len(), recent.held), (2, 80));
        assert_eq!(recent.push(&Arc::new(4), 500, 100).len(), 2); // the object itself was freed already
        drop(third);
    }
}
