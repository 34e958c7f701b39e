//! POSIX threads. The standard library aborts if there is no memory for a thread. These are started without
//! an allocation in this library, so fewer of them run instead. They also leave no thread-local data in the
//! caller's threads.

use crate::lock::Mutex;
use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// The size of a thread's stack. Code on it recurses at most 64 levels deep.
const STACK: usize = 2 << 20;

/// The data that the threads of a call share. It is on the stack of the caller, who waits for them.
struct Job<'a> {
    body: &'a (dyn Fn() + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Joins the threads that were started when it is dropped.
struct Started<'a> {
    threads: &'a [MaybeUninit<libc::pthread_t>],
    count: usize,
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        for thread in self.threads.iter().take(self.count) {
            // SAFETY: it is one of the first `count`, which were started, and it is joined only here.
            unsafe { libc::pthread_join(thread.assume_init(), std::ptr::null_mut()) };
        }
    }
}

/// Runs `body` on `more` threads and `own` on the caller's thread. Waits for all.
pub fn run<R>(more: usize, body: &(dyn Fn() + Sync), own: impl FnOnce() -> R) -> R {
    let job = Job { body, panic: Mutex::new(None) };
    let mut threads = [const { MaybeUninit::<libc::pthread_t>::uninit() }; super::hooks::MAX_THREADS];
    let more = more.min(threads.len());
    let argument = std::ptr::from_ref(&job).cast_mut().cast::<c_void>();
    // SAFETY: `job` lives until the thread is joined (see `Started`), and any thread may use it.
    let start = |place: &mut MaybeUninit<_>| unsafe { create(place, enter, argument) };
    let mut count = 0;
    let before = block_signals();
    while threads.get_mut(count).is_some_and(|place| count < more && start(place)) {
        count += 1;
    }
    restore_signals(&before);
    let started = Started { threads: &threads, count };
    let made = own(); // if it panics, `started` is dropped, too
    drop(started);
    match job.panic.into_inner() {
        None => made,
        // A bug; the boundary to C turns the panic into a status.
        Some(panic) => resume_unwind(panic),
    }
}

/// Starts a thread. Returns whether that succeeded.
///
/// # Safety
/// Another thread may call `entry` with `argument` until it is joined.
unsafe fn create(place: &mut MaybeUninit<libc::pthread_t>, entry: Entry, argument: *mut c_void) -> bool {
    // SAFETY: the attributes are initialised before and destroyed after their use; the caller ensures the
    // rest.
    unsafe {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
            return false;
        }
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
        let status = libc::pthread_create(place.as_mut_ptr(), attributes.as_ptr(), entry, argument);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        status == 0
    }
}

/// The function that a thread runs.
pub type Entry = extern "C" fn(*mut c_void) -> *mut c_void;

/// A thread that continues after the call that started it.
pub struct Thread(libc::pthread_t);

impl Thread {
    /// Starts a thread, if the system provides one.
    ///
    /// # Safety
    /// Another thread may call `entry` with `argument` until [`Thread::join`] has returned.
    pub unsafe fn start(entry: Entry, argument: *mut c_void) -> Option<Thread> {
        let mut place = MaybeUninit::uninit();
        let before = block_signals();
        // SAFETY: the caller ensures this.
        let started = unsafe { create(&mut place, entry, argument) };
        restore_signals(&before);
        // SAFETY: it is initialised, because the thread was started.
        started.then(|| Thread(unsafe { place.assume_init() }))
    }

    /// Waits until the thread has ended.
    pub fn join(self) {
        // SAFETY: it was started, and is joined only here.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }
}

/// Names the calling thread, for debuggers.
pub fn name_thread() {
    #[cfg(target_os = "linux")]
    // SAFETY: the calling thread, and a name of at most 15 bytes.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), c"ztensor".as_ptr());
    }
}

extern "C" fn enter(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passed it, and it lives until this thread is joined.
    let job = unsafe { &*argument.cast::<Job<'_>>() };
    name_thread();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(job.body)) {
        let mut place = job.panic.lock();
        // The first panic is kept. Another one is leaked, because dropping it may panic.
        std::mem::forget(place.replace(panic));
    }
    std::ptr::null_mut()
}

/// The number of processors that this process may use: its affinity, limited by the share of its control
/// group. The standard library's function allocates and cannot report a failure.
pub fn processors() -> usize {
    // SAFETY: a query without memory.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    let online = usize::try_from(online).unwrap_or(1);
    [allowed(), share()].into_iter().flatten().fold(online, usize::min)
}

#[cfg(target_os = "linux")]
fn allowed() -> Option<usize> {
    // SAFETY: a local set of the passed size; all zeros are valid.
    let count = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return None;
        }
        libc::CPU_COUNT(&set)
    };
    usize::try_from(count).ok().filter(|n| *n > 0)
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Option<usize> {
    None
}

/// The number of processors of a control group: "50000 100000" is half a processor, "max 100000" means all.
#[cfg(target_os = "linux")]
fn share() -> Option<usize> {
    let mut text = [0; 64];
    let mut file = std::fs::File::open("/sys/fs/cgroup/cpu.max").ok()?;
    let size = std::io::Read::read(&mut file, &mut text).ok()?;
    share_of(std::str::from_utf8(text.get(..size)?).ok()?)
}

#[cfg(not(target_os = "linux"))]
fn share() -> Option<usize> {
    None
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn share_of(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota: usize = words.next()?.parse().ok()?;
    let period: usize = words.next()?.parse().ok()?;
    Some(quota.checked_div(period)?.max(1))
}

/// Blocks the signals that are meant for threads of the program; new threads inherit this. Signals that a
/// thread causes itself stay unblocked: if one were blocked, it would end the process even if the program
/// could handle it.
fn block_signals() -> libc::sigset_t {
    const OF_THE_THREAD: [libc::c_int; 7] =
        [libc::SIGBUS, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];
    // SAFETY: local sets of signals; all zeros are valid before a set is filled.
    unsafe {
        let (mut set, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut set);
        for signal in OF_THE_THREAD {
            libc::sigdelset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &set, &mut before);
        before
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_share_of_the_processors_counts() {
        assert_eq!(share_of("max 100000\n"), None);
        assert_eq!(share_of("50000 100000\n"), Some(1));
        assert_eq!(share_of("350000 100000\n"), Some(3));
        assert_eq!(share_of("1 0\n"), None);
        assert_eq!(share_of(""), None);
        assert!((1..=4096).contains(&processors()));
    }

    #[test]
    fn a_host_is_not_given_our_threads_for_its_signals() {
        crate::threads::run(2, crate::threads::ThreadHooks::default(), &|| {
            if !crate::threads::is_worker() {
                return;
            }
            // SAFETY: sets of signals that live here.
            unsafe {
                let mut mask: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
                assert_eq!(libc::sigismember(&mask, libc::SIGINT), 1);
                assert_eq!(libc::sigismember(&mask, libc::SIGTERM), 1);
                assert_eq!(
                    libc::sigismember(&mask, libc::SIGBUS),
                    0,
                    "a host may handle its mapping's faults"
                );
            }
        });
    }
}
