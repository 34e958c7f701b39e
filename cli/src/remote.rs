//! Models behind a URL. libztensor_remote is loaded at the moment when one is named, so that `zt` by itself carries no
//! network: it gives sources, which are read as any other.

use crate::failure::{Failure, Outcome};
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::sync::OnceLock;
use ztensor::error::Result;
use ztensor::reader::{File, OpenOptions};

/// A URL of a web server in its parts: what is shown and what names are made of, and what is sent along, which may be
/// secret.
#[cfg_attr(not(unix), allow(dead_code))] // elsewhere nothing is sent
struct WebUrl<'u> {
    scheme: &'u str,
    /// With its '@'.
    user: &'u str,
    /// Host and path.
    place: &'u str,
    /// With its '?'.
    query: &'u str,
}

impl<'u> WebUrl<'u> {
    fn split(url: &'u str) -> Option<WebUrl<'u>> {
        let (scheme, rest) = url.split_once("://")?;
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return None;
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let host = rest.split('/').next().unwrap_or_default();
        let (user, place) = rest.split_at(host.rfind('@').map_or(0, |at| at + 1));
        Some(WebUrl { scheme, user, place, query })
    }

    fn shown(&self) -> String {
        format!("{}://{}", self.scheme, self.place)
    }

    /// What is asked for where `shown` is another file beside it.
    #[cfg_attr(not(unix), allow(dead_code))]
    fn with_secrets(&self, shown: &str) -> String {
        let place = shown.split_once("://").map_or(shown, |(_, place)| place);
        let place = place.replace('?', "%3F").replace('#', "%23");
        format!("{}://{}{place}{}", self.scheme, self.user, self.query)
    }
}

/// Whether it is no path of a file or folder but a URL.
pub fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.contains("://")) && !path.exists()
}

/// How messages show a path or a URL: without user and query.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    WebUrl::split(&text).map(|url| url.shown()).unwrap_or(text)
}

/// Certificates of authorities, in PEM, that servers are believed by as well as the system's.
static ROOT_CERTIFICATES: OnceLock<CString> = OnceLock::new();

/// Takes them from a file.
pub fn trust(file: &Path) -> Outcome<()> {
    let text = std::fs::read(file).map_err(|e| Failure::at(file, e))?;
    let text = CString::new(text).map_err(|_| Failure::at(file, "these are no certificates in PEM"))?;
    let _ = ROOT_CERTIFICATES.set(text); // once
    Ok(())
}

/// Opens a model, by its path or its URL.
pub fn open(path: &Path) -> Outcome<File> {
    open_with(path, &OpenOptions::default()).map_err(|e| Failure::at(path, e))
}

/// Opens it with options.
pub fn open_with(path: &Path, options: &OpenOptions) -> Result<File> {
    match is_url(path) {
        false => File::open_model(path, options),
        true => library::open(path, options),
    }
}

#[cfg(not(unix))]
mod library {
    use super::{File, OpenOptions, OsStr, Path, Result};
    use ztensor::error::{Cause, Error};

    pub fn open(_: &Path, _: &OpenOptions) -> Result<File> {
        let _ = OsStr::new("");
        Err(Error::new(Cause::Unsupported, format_args!("URLs are opened on Unix alone")))
    }
}

#[cfg(unix)]
mod library {
    use super::{File, OpenOptions, OsStr, Path, Result, WebUrl, ROOT_CERTIFICATES};
    use std::ffi::{c_char, c_int, c_void, CStr, CString};
    use std::ops::Range;
    use std::sync::OnceLock;
    use ztensor::error::{Cause, Error};
    use ztensor::reader::{ByteSource, Opened, Store};
    use ztensor::source::{Profile, ReadMany, ReadRange};

    const NAME: &str =
        if cfg!(target_os = "macos") { "libztensor_remote.0.dylib" } else { "libztensor_remote.so.0" };
    /// Links are resolved at once.
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

    /// zt_remote_options of ztensor_remote.h.
    #[repr(C)]
    struct Options {
        struct_size: usize,
        texts: [*const c_char; 6],
        root_certificates: *const c_char,
        numbers: [u32; 6],
    }

    type ZtRemoteSource = unsafe extern "C" fn(*const c_char, *const Options, *mut Source) -> i32;
    type ZtLastError = unsafe extern "C" fn() -> *const c_char;

    /// The functions of the library, which stays loaded.
    struct Library {
        source: ZtRemoteSource,
        last_error: ZtLastError,
    }

    /// Beside the program, as an installation has it, or where the system looks.
    fn open_library(name: &str) -> Option<*mut c_void> {
        let in_folder = std::env::current_exe()
            .ok()
            .and_then(|program| Some(program.parent()?.join("../lib").join(name)));
        let in_folder =
            in_folder.filter(|path| path.exists()).and_then(|path| path.to_str().map(str::to_owned));
        let name = CString::new(in_folder.unwrap_or_else(|| name.into())).ok()?;
        // SAFETY: NUL-ended; the library is one that may be loaded at any time.
        Some(unsafe { dlopen(name.as_ptr(), RTLD_NOW) }).filter(|library| !library.is_null())
    }

    fn load() -> Option<Library> {
        // What it is linked to, which lies next to it: where it is loaded, the system looks no further for it.
        open_library(&NAME.replace("_remote", ""));
        let library = open_library(NAME)?;
        // SAFETY: an open library, a NUL-ended name; also of what it is linked to.
        let find =
            |name: &CStr| Some(unsafe { dlsym(library, name.as_ptr()) }).filter(|found| !found.is_null());
        let (source, last_error) = (find(c"zt_remote_source")?, find(c"zt_last_error")?);
        // SAFETY: these functions, as their headers declare them.
        unsafe {
            Some(Library {
                source: std::mem::transmute::<*mut c_void, ZtRemoteSource>(source),
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
        /// What a function of it returned, with what it says.
        fn outcome(&self, status: i32) -> Result<()> {
            let cause = match status {
                0 => return Ok(()),
                1 => Cause::InvalidArgument,
                7 => Cause::Unsupported,
                14 => Cause::OutOfMemory,
                16 => Cause::NoFile,
                _ => Cause::Io,
            };
            // SAFETY: never NULL, NUL-ended, valid until the next failure of this thread.
            let text = unsafe { CStr::from_ptr((self.last_error)()) };
            Err(Error::new(cause, format_args!("{}", text.to_string_lossy())))
        }
    }

    pub fn open(url: &Path, options: &OpenOptions) -> Result<File> {
        let text = url.to_str().unwrap_or_default();
        let store = Remote { library: get()?, url: WebUrl::split(text) };
        // The name of an index or of numbered files ends before the query.
        File::open_model_from(&store, super::shown(url).as_ref(), options)
    }

    /// The files beside one that a URL names, by their URLs as they are shown.
    struct Remote<'u> {
        library: &'static Library,
        url: Option<WebUrl<'u>>,
    }

    impl Store for Remote<'_> {
        fn for_each_name(&self, _: &Path, _: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
            Ok(false)
        }

        fn open(&self, path: &Path) -> Result<Opened> {
            let shown = path.to_str().unwrap_or_default();
            let url = self.url.as_ref().map_or(shown.to_owned(), |url| url.with_secrets(shown));
            let url = CString::new(url)
                .map_err(|_| Error::new(Cause::InvalidArgument, format_args!("a URL holds no NUL")))?;
            let library = self.library;
            // SAFETY: all of it may be zero.
            let mut source: Source = unsafe { std::mem::zeroed() };
            source.struct_size = size_of::<Source>();
            let options = Options {
                struct_size: size_of::<Options>(),
                texts: [std::ptr::null(); 6],
                root_certificates: ROOT_CERTIFICATES.get().map_or(std::ptr::null(), |text| text.as_ptr()),
                numbers: [0; 6],
            };
            // SAFETY: NUL-ended, options and a source of the sizes that they say.
            let status = unsafe { (library.source)(url.as_ptr(), &raw const options, &raw mut source) };
            library.outcome(status)?;
            let mut source = RemoteSource { library, functions: source, size: 0 };
            if let Some(size) = source.functions.size {
                // SAFETY: called as its declaration says.
                library.outcome(unsafe { size(source.functions.context, &raw mut source.size) })?;
            }
            Ok(Opened { source: Box::new(source), label: None, path: Vec::new(), modified: 0 })
        }

        fn threads(&self, files: usize) -> usize {
            files.min(16)
        }
    }

    /// A source that the library made.
    struct RemoteSource {
        library: &'static Library,
        functions: Source,
        size: u64,
    }

    // SAFETY: "from any thread, also several at once".
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
            // SAFETY: called as its declaration says; each dst has that many writable bytes.
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
    use super::{shown, WebUrl};

    #[test]
    fn urls_are_shown_without_secrets_and_opened_with_them() {
        let url = WebUrl::split("https://me:pw@host:81/m/a.zt?X-Signature=hush#part").unwrap();
        assert_eq!(url.shown(), "https://host:81/m/a.zt");
        assert_eq!(
            url.with_secrets("https://host:81/m/b?c.zt"),
            "https://me:pw@host:81/m/b%3Fc.zt?X-Signature=hush"
        );
        for (path, text) in [
            ("HTTP://host/a@b.zt?x", "HTTP://host/a@b.zt"),
            ("http://host?me@other", "http://host"),
            ("s3://bucket/a?b.zt", "s3://bucket/a?b.zt"),
            ("a?b.zt", "a?b.zt"),
        ] {
            assert_eq!(shown(path.as_ref()), text);
        }
    }
}
