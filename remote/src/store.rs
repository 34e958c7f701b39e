//! A service as the `zt_store` that `zt_open_model_from` asks for the files of a model, by their URLs as messages show
//! them.

use crate::address::Service;
use crate::capi::guard;
use crate::connect::Client;
use crate::core::{status, zt_name_callback, zt_source, zt_source_range, zt_status};
use crate::failure::Failure;
use crate::fetch::{Piece, GAP, GIVEN_UP, REQUEST};
use crate::object::Object;
use crate::runtime;
use crate::settings::text;
use object_store::path::Path;
use std::ffi::{c_char, c_void, CString};
use std::sync::{mpsc, Arc, Mutex, PoisonError};

/// Bytes that one call of read_many is asked for are this many requests: with two such calls there are always some
/// under way.
const CALLS: usize = 2;

/// What the functions of a store have.
pub struct Files {
    client: Arc<Client>,
    /// Those that were opened.
    opened: Mutex<Vec<Arc<Object>>>,
}

impl Files {
    pub fn new(client: Client) -> Files {
        Files { client: Arc::new(client), opened: Mutex::default() }
    }

    /// What zt_open_model_from shall open.
    pub fn name(&self) -> Result<CString, Failure> {
        let name = CString::new(self.client.address.show(&self.client.address.key));
        name.map_err(|_| Failure::new(status::INVALID_ARGUMENT, "a URL holds no NUL"))
    }

    /// The source of the object that the URL names.
    pub fn source_of_url(&self) -> Result<zt_source, Failure> {
        let key = &self.client.address.key;
        self.source(key).map_err(|e| e.within(&self.client.address.show(key)))
    }

    /// Gives back what was kept of the files for their opening.
    pub fn opened_all(self) {
        let opened = self.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        opened.iter().for_each(|object| object.forget_ends());
    }

    fn key<'n>(&self, name: &'n str) -> Result<&'n str, Failure> {
        let key = name.strip_prefix(self.client.address.shown.as_str());
        key.ok_or_else(|| Failure::new(status::INTERNAL, "a file of another service was asked for"))
    }

    /// The source of an object.
    pub fn source(&self, key: &str) -> Result<zt_source, Failure> {
        if key.is_empty() || key.ends_with('/') {
            let why = match self.client.address.service {
                Service::Http => "folders cannot be listed over HTTP; name a file or an index",
                _ => "a folder is no object; name one",
            };
            return Err(Failure::new(status::UNSUPPORTED, why));
        }
        let object = Arc::new(Object::open(&self.client, key)?);
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(object.clone());
        let concurrency = object.concurrency().div_ceil(CALLS) as u32;
        Ok(zt_source {
            struct_size: size_of::<zt_source>(),
            size: Some(size),
            read_at: Some(read_at),
            close: Some(close),
            read_many: Some(read_many),
            name: object.name.as_ptr(),
            gap: GAP,
            largest_request: REQUEST,
            concurrency,
            callers_thread: 0,
            identity: object.identity(),
            context: Arc::into_raw(object).cast_mut().cast(),
        })
    }

    fn list(&self, folder: &str) -> Result<Vec<CString>, Failure> {
        let not_one = || Failure::new(status::NOT_FOUND, "this is no folder");
        let bucket = self.client.bucket().filter(|_| folder.is_empty() || folder.ends_with('/'));
        let bucket = bucket.ok_or_else(not_one)?;
        let prefix = Path::parse(folder).map_err(|_| not_one())?;
        let (send, received) = mpsc::channel();
        let most = self.client.settings.timeout.saturating_mul(10);
        runtime::pool()?.spawn(async move {
            let seen = crate::failure::Seen::default();
            let listed = tokio::time::timeout(most, bucket.list_with_delimiter(Some(&prefix))).await;
            let _ = send.send(match listed {
                Ok(listed) => listed.map_err(|e| Failure::of_request(&e, &seen)),
                Err(_) => Err(Failure::new(status::IO, "there was no answer in the time for it")),
            });
        });
        let listed = received.recv().unwrap_or_else(|_| Err(Failure::new(status::IO, GIVEN_UP)));
        let listed = listed?;
        let names = listed.objects.iter().filter_map(|object| object.location.filename());
        Ok(names.filter_map(|name| CString::new(name).ok()).collect())
    }
}

/// # Safety
/// `context` is a [`Files`], `name` NUL-ended, `source` a place for one.
pub unsafe extern "C" fn open(
    context: *mut c_void,
    name: *const c_char,
    source: *mut zt_source,
) -> zt_status {
    guard(|| {
        // SAFETY: as above.
        let (files, name) = unsafe { (&*context.cast::<Files>(), text(name, "the name of a file")?) };
        let opened = files.source(files.key(&name.unwrap_or_default())?)?;
        // SAFETY: as above.
        unsafe { source.write(opened) };
        Ok(())
    })
}

/// # Safety
/// `context` is a [`Files`], `folder` NUL-ended, `add` takes `names`.
pub unsafe extern "C" fn list(
    context: *mut c_void,
    folder: *const c_char,
    add: zt_name_callback,
    names: *mut c_void,
) -> zt_status {
    guard(|| {
        // SAFETY: as above.
        let (files, folder) = unsafe { (&*context.cast::<Files>(), text(folder, "the name of a folder")?) };
        let Some(add) = add else { return Err(Failure::new(status::INVALID_ARGUMENT, "add is NULL")) };
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
/// `context` is an [`Object`] of [`Files::source`].
unsafe fn object<'a>(context: *mut c_void) -> &'a Object {
    // SAFETY: as above.
    unsafe { &*context.cast::<Object>() }
}

unsafe extern "C" fn size(context: *mut c_void, size: *mut u64) -> zt_status {
    guard(|| {
        // SAFETY: called as zt_source.size.
        unsafe { size.write(object(context).size()) };
        Ok(())
    })
}

unsafe extern "C" fn read_at(context: *mut c_void, offset: u64, dst: *mut c_void, size: usize) -> zt_status {
    let range = zt_source_range { offset, dst, size };
    // SAFETY: called as zt_source.read_at.
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
        // SAFETY: called as zt_source.read_many.
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
        // SAFETY: from `Files::source`; called once, last.
        drop(unsafe { Arc::from_raw(context.cast::<Object>().cast_const()) });
        Ok(())
    });
}
