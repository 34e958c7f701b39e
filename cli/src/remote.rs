//! Models at a URL. libztensor_remote is only loaded when a URL is used, so `zt` itself has no network code.
//! The library returns sources, which are read like others.

use crate::hub;
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;
use ztensor::error::Result;
use ztensor::reader::{File, OpenOptions};

/// Whether an argument is a URL instead of a path.
pub fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.contains("://")) && !path.exists()
}

/// A path or URL for messages: without user, password and query. libztensor_remote parses URLs. If it refuses
/// a URL, or is not installed, only the scheme is shown.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match text.split_once("://").filter(|_| is_url(path)) {
        None => text,
        Some(_) if hub::urls(&text).is_some_and(|urls| urls.is_ok()) => text,
        Some((scheme, _)) => library::text_of(&text).unwrap_or_else(|| format!("{scheme}://...")),
    }
}

static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Whether a model at a URL was not opened because libztensor_remote is not installed.
pub fn is_missing() -> bool {
    IS_MISSING.load(Ordering::Relaxed)
}

/// Opens a model at a URL.
pub fn open(url: &Path, options: &OpenOptions) -> Result<File> {
    library::open(url, options)
}

/// Certificates of authorities (PEM) that are trusted in addition to the system's.
static ROOT_CERTIFICATES: OnceLock<CString> = OnceLock::new();

/// Reads them from a file. Fails if that is not possible.
pub fn trust(file: &Path) -> std::result::Result<(), String> {
    let is_file = std::fs::metadata(file).map_err(|e| e.to_string())?.is_file();
    if !is_file {
        return Err(String::from("it is not a regular file"));
    }
    let text = std::fs::read(file).map_err(|e| e.to_string())?;
    let text = CString::new(text).map_err(|_| String::from("these are not certificates in PEM"))?;
    let _ = ROOT_CERTIFICATES.set(text); // called once
    Ok(())
}

#[cfg(not(unix))]
mod library {
    use super::{File, OpenOptions, OsStr, Path, Result};
    use ztensor::error::{Cause, Error};

    pub fn text_of(_: &str) -> Option<String> {
        None
    }

    pub fn open(_: &Path, _: &OpenOptions) -> Result<File> {
        let _ = OsStr::new("");
        Err(Error::new(Cause::Unsupported, format_args!("URLs are only supported on Unix")))
    }
}

#[cfg(unix)]
mod library {
    use super::{hub, File, OpenOptions, Ordering, OsStr, Path, Result, IS_MISSING, ROOT_CERTIFICATES};
    use std::ffi::{c_char, c_int, c_void, CStr, CString};
    use std::ops::Range;
    use std::sync::OnceLock;
    use ztensor::error::{Cause, Error};
    use ztensor::reader::{ByteSource, Opened, Store};
    use ztensor::source::{Profile, ReadMany, ReadRange};

    const NAME: &str =
        if cfg!(target_os = "macos") { "libztensor_remote.1.dylib" } else { "libztensor_remote.so.1" };
    /// Resolve all symbols at once.
    const RTLD_NOW: c_int = 2;

    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// zt_source_range of ztensor.h.
    #[repr(C)]
    struct SourceRange {
        offset: u64,
        dst: *mut c_void,
        size: usize,
    }

    /// zt_source of ztensor.h.
    #[repr(C)]
    struct Source {
        struct_size: usize,
        context: *mut c_void,
        size: Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> i32>,
        read_at: Option<unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> i32>,
        close: Option<unsafe extern "C" fn(*mut c_void)>,
        read_many: Option<unsafe extern "C" fn(*mut c_void, *const SourceRange, usize) -> i32>,
        name: *const c_char,
        gap: u64,
        largest_request: u64,
        concurrency: u32,
        callers_thread: u32,
        identity: u64,
    }

    /// zt_remote_options of ztensor_remote.h. The texts are endpoint, region, key_id, secret, token and
    /// user_agent.
    #[repr(C)]
    struct Options {
        struct_size: usize,
        texts: [*const c_char; 6],
        root_certificates: *const c_char,
        numbers: [u32; 6],
    }

    type ZtRemoteSourceNear =
        unsafe extern "C" fn(*const c_char, *const c_char, *const Options, *mut Source) -> i32;
    type ZtRemoteUrlText = unsafe extern "C" fn(*const c_char, *mut c_char, usize, *mut usize) -> i32;
    type ZtLastError = unsafe extern "C" fn() -> *const c_char;

    /// The functions of libztensor_remote. It stays loaded.
    struct Library {
        source_near: ZtRemoteSourceNear,
        url_text: ZtRemoteUrlText,
        last_error: ZtLastError,
    }

    /// Searches next to the program, as installed, then where the system searches.
    fn open_library(name: &str) -> Option<*mut c_void> {
        let in_folder = std::env::current_exe()
            .ok()
            .and_then(|program| Some(program.parent()?.join("../lib").join(name)));
        let in_folder =
            in_folder.filter(|path| path.exists()).and_then(|path| path.to_str().map(str::to_owned));
        let name = CString::new(in_folder.unwrap_or_else(|| name.into())).ok()?;
        // SAFETY: the name ends in a NUL; this library may be loaded at any time.
        Some(unsafe { dlopen(name.as_ptr(), RTLD_NOW) }).filter(|library| !library.is_null())
    }

    fn load() -> Option<Library> {
        // Load the library that it is linked to from the same folder first, so that the system does not
        // search for it.
        open_library(&NAME.replace("_remote", ""));
        let library = open_library(NAME)?;
        // SAFETY: the library is open and the name ends in a NUL; the same holds for the library that it is
        // linked to.
        let find =
            |name: &CStr| Some(unsafe { dlsym(library, name.as_ptr()) }).filter(|found| !found.is_null());
        let (source_near, url_text) = (find(c"zt_remote_source_beside")?, find(c"zt_remote_url_text")?);
        let last_error = find(c"zt_last_error")?;
        // SAFETY: these are the functions, as their headers declare them.
        unsafe {
            Some(Library {
                source_near: std::mem::transmute::<*mut c_void, ZtRemoteSourceNear>(source_near),
                url_text: std::mem::transmute::<*mut c_void, ZtRemoteUrlText>(url_text),
                last_error: std::mem::transmute::<*mut c_void, ZtLastError>(last_error),
            })
        }
    }

    fn get() -> Result<&'static Library> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        LIBRARY.get_or_init(load).as_ref().ok_or_else(|| {
            Error::new(
                Cause::Unsupported,
                format_args!("URLs need {NAME}, which is not installed (make -C remote install)"),
            )
        })
    }

    impl Library {
        /// Converts the status of one of its functions, with its message.
        fn outcome(&self, status: i32) -> Result<()> {
            let cause = match status {
                0 => return Ok(()),
                1 => Cause::InvalidArgument,
                7 => Cause::Unsupported,
                14 => Cause::OutOfMemory,
                16 => Cause::NoFile,
                _ => Cause::Io,
            };
            // SAFETY: it is not NULL, ends in a NUL, and is valid until this thread's next failure.
            let text = unsafe { CStr::from_ptr((self.last_error)()) };
            Err(Error::new(cause, format_args!("{}", text.to_string_lossy())))
        }
    }

    /// A text for C.
    fn c_text(text: &str) -> Result<CString> {
        CString::new(text).map_err(|_| Error::new(Cause::InvalidArgument, format_args!("a URL holds no NUL")))
    }

    impl Library {
        /// The URL in the form for messages.
        fn text_of(&self, url: &CStr) -> Result<String> {
            let mut needed = 0;
            // SAFETY: the URL ends in a NUL; there is no memory for the text, and a place for its size.
            let status = unsafe { (self.url_text)(url.as_ptr(), std::ptr::null_mut(), 0, &raw mut needed) };
            if needed == 0 {
                self.outcome(status)?;
            }
            let mut text = vec![0; needed];
            // SAFETY: the URL ends in a NUL, and the memory has the given size.
            let status = unsafe {
                (self.url_text)(url.as_ptr(), text.as_mut_ptr().cast(), text.len(), std::ptr::null_mut())
            };
            self.outcome(status)?;
            text.pop();
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
    }

    /// The URL in the form for messages. `None` if it is refused, or libztensor_remote is not installed.
    pub fn text_of(url: &str) -> Option<String> {
        get().ok()?.text_of(&c_text(url).ok()?).ok()
    }

    pub fn open(url: &Path, options: &OpenOptions) -> Result<File> {
        let url = url.to_str().unwrap_or_default();
        let Some(urls) = hub::urls(url) else { return open_at(url, None, options) };
        let token = std::env::var("HF_TOKEN").ok().filter(|token| !token.is_empty());
        let token = token.as_deref().map(c_text).transpose()?;
        let urls = urls?;
        for url in &urls {
            match open_at(url, token.as_ref(), options) {
                Err(why) if why.cause() == Cause::NoFile && urls.len() > 1 => {}
                opened => return opened,
            }
        }
        Err(hub::nothing())
    }

    fn open_at(url: &str, token: Option<&CString>, options: &OpenOptions) -> Result<File> {
        let found = get().inspect_err(|_| IS_MISSING.store(true, Ordering::Relaxed));
        let (library, url) = (found?, c_text(url)?);
        // The name of an index or of numbered files ends before the query.
        let shown = library.text_of(&url)?;
        let remote = Remote { library, url, token: token.cloned() };
        File::open_model_from(&remote, shown.as_ref(), options).map_err(|why| {
            // libztensor_remote names the URL, too.
            let rest =
                why.message().strip_prefix(&format!("{shown}: ")).filter(|rest| rest.starts_with(&shown));
            rest.map(|rest| Error::new(why.cause(), format_args!("{rest}"))).unwrap_or(why)
        })
    }

    /// The files next to one at a URL, by their URLs in the form for messages.
    struct Remote {
        library: &'static Library,
        url: CString,
        /// Sent to the web server.
        token: Option<CString>,
    }

    impl Store for Remote {
        fn for_each_name(&self, _: &Path, _: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
            Ok(false)
        }

        fn open(&self, path: &Path) -> Result<Opened> {
            let (library, name) = (self.library, c_text(path.to_str().unwrap_or_default())?);
            // SAFETY: all of its fields may be zero.
            let mut source: Source = unsafe { std::mem::zeroed() };
            source.struct_size = size_of::<Source>();
            let token = self.token.as_ref().map_or(std::ptr::null(), |token| token.as_ptr());
            let none = std::ptr::null();
            let options = Options {
                struct_size: size_of::<Options>(),
                texts: [none, none, none, none, token, none],
                root_certificates: ROOT_CERTIFICATES.get().map_or(std::ptr::null(), |text| text.as_ptr()),
                numbers: [0; 6],
            };
            let (url, name) = (self.url.as_ptr(), name.as_ptr());
            // SAFETY: the texts end in a NUL; the options and the source have the sizes they give.
            let status = unsafe { (library.source_near)(url, name, &raw const options, &raw mut source) };
            library.outcome(status)?;
            let mut source = RemoteSource { library, functions: source, size: 0 };
            if let Some(size) = source.functions.size {
                // SAFETY: called as declared.
                library.outcome(unsafe { size(source.functions.context, &raw mut source.size) })?;
            }
            Ok(Opened { source: Box::new(source), label: None, path: Vec::new(), modified: 0 })
        }

        fn threads(&self, files: usize) -> usize {
            files.min(16)
        }
    }

    /// A source that libztensor_remote made.
    struct RemoteSource {
        library: &'static Library,
        functions: Source,
        size: u64,
    }

    // SAFETY: any thread may call the functions, several at once.
    unsafe impl Send for RemoteSource {}
    // SAFETY: as above.
    unsafe impl Sync for RemoteSource {}

    impl ByteSource for RemoteSource {
        fn size(&self) -> u64 {
            self.size
        }

        fn slice(&self, _: Range<u64>) -> Option<&[u8]> {
            None
        }

        fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
            self.read_many(&mut [ReadRange { offset, dst }])
        }

        fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
            let wanted = ranges.iter_mut().filter(|range| !range.dst.is_empty());
            let wanted = wanted.map(|r| SourceRange {
                offset: r.offset,
                dst: r.dst.as_mut_ptr().cast(),
                size: r.dst.len(),
            });
            let wanted: Vec<SourceRange> = wanted.collect();
            let Some(read) = self.functions.read_many else {
                return Err(Error::new(
                    Cause::Unsupported,
                    format_args!("{NAME} is too old: it has no read_many"),
                ));
            };
            // SAFETY: called as declared; each dst has that many writable bytes.
            self.library.outcome(unsafe { read(self.functions.context, wanted.as_ptr(), wanted.len()) })
        }

        fn profile(&self) -> Profile {
            Profile {
                gap: self.functions.gap,
                largest_request: self.functions.largest_request,
                concurrency: self.functions.concurrency as usize,
                callers_thread: false,
                read_many: ReadMany::Anywhere,
            }
        }

        fn identity(&self) -> u64 {
            self.functions.identity
        }
    }

    impl Drop for RemoteSource {
        fn drop(&mut self) {
            if let Some(close) = self.functions.close.take() {
                // SAFETY: called once, last.
                unsafe { close(self.functions.context) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    /// With libztensor_remote, the rest of a URL is shown if it has no secret: remote/tests/programs.rs.
    #[test]
    fn of_a_url_no_secret_is_shown() {
        for url in
            ["https://me:pw@host:81/m/a.zt?X-Signature=pw", "https://me:p/w@host/a", "s3://me:pw@bucket/a"]
        {
            let text = shown(url.as_ref());
            assert!(text.contains("://") && !text.contains("pw") && !text.contains("me:"), "{text}");
        }
        assert_eq!(shown("a?b.zt".as_ref()), "a?b.zt");
    }
}
