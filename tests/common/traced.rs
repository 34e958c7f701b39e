//! A child process that stops at every system call. The test kills it at any of them, or records them.
#![allow(dead_code)] // each program uses a part of it

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A child that stopped before (`entry`) or after a system call.
pub struct Stop {
    pid: libc::pid_t,
    pub entry: bool,
    pub number: libc::c_long,
    pub arguments: [u64; 6],
}

impl Stop {
    /// The file of the descriptor in the first argument.
    pub fn file(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/fd/{}", self.pid, self.arguments[0])).ok()
    }

    /// The position of that descriptor.
    pub fn position(&self) -> u64 {
        let info = format!("/proc/{}/fdinfo/{}", self.pid, self.arguments[0]);
        let text = std::fs::read_to_string(info).unwrap();
        text.strip_prefix("pos:").unwrap().lines().next().unwrap().trim().parse().unwrap()
    }

    /// Whether that descriptor bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        let info = format!("/proc/{}/fdinfo/{}", self.pid, self.arguments[0]);
        let text = std::fs::read_to_string(info).unwrap();
        let flags = text.lines().find_map(|l| l.strip_prefix("flags:")).unwrap();
        i32::from_str_radix(flags.trim(), 8).unwrap() & libc::O_DIRECT != 0
    }

    /// The number of bytes that a writing call passes; none for other calls.
    pub fn written(&self) -> Option<Vec<u8>> {
        let [_, second, third, ..] = self.arguments;
        match self.number {
            libc::SYS_write | libc::SYS_pwrite64 => Some(self.memory(second, third)),
            libc::SYS_writev => {
                let parts = self.memory(second, third * 16); // a pointer and a size for each
                let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
                let part = |part: &[u8]| self.memory(word(&part[..8]), word(&part[8..]));
                Some(parts.chunks(16).flat_map(part).collect())
            }
            _ => None,
        }
    }

    /// Reads the child's memory.
    pub fn memory(&self, address: u64, size: u64) -> Vec<u8> {
        let mut bytes = vec![0; size as usize];
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.pid)).unwrap();
        memory.read_exact_at(&mut bytes, address).unwrap();
        bytes
    }
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    Killed,
    Exit(i32),
    /// This process must not trace.
    Refused,
}

const REFUSED: i32 = 77;

/// Runs `body`, which must not start threads, in a child. At each stop it calls `continues`. If that returns
/// false, it kills the child.
pub fn run(body: &dyn Fn(), continues: &mut dyn FnMut(&Stop) -> bool) -> Ended {
    let pid = fork(|| {
        // SAFETY: the call gets no pointers.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                libc::_exit(REFUSED);
            }
            libc::raise(libc::SIGSTOP);
        }
        body();
    });
    if let Some(ended) = wait(pid) {
        return ended;
    }
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    // SAFETY: the child is ours and stopped; the number is not used as a pointer.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) }, 0);
    loop {
        // SAFETY: as before.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, 0) }, 0);
        if let Some(ended) = wait(pid) {
            return ended;
        }
        if !continues(&stop(pid)) {
            return kill(pid);
        }
    }
}

/// A child that runs only `body`, without the test around it.
pub fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child runs `body` and ends without running the parent's destructors.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
            libc::_exit(if good { 0 } else { 101 });
        }
        pid
    }
}

/// Kills a child of this process at any point.
pub fn kill(pid: libc::pid_t) -> Ended {
    // SAFETY: the child was not waited for yet, so the number still belongs to it.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    loop {
        if let Some(ended) = wait(pid) {
            return ended;
        }
    }
}

/// How the child ended; None if it only stopped.
fn wait(pid: libc::pid_t) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: `status` is ours.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, libc::__WALL) }, pid);
    if libc::WIFSTOPPED(status) {
        return None;
    }
    if libc::WIFSIGNALED(status) {
        assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
        return Some(Ended::Killed);
    }
    Some(match libc::WEXITSTATUS(status) {
        REFUSED => Ended::Refused,
        code => Ended::Exit(code),
    })
}

fn stop(pid: libc::pid_t) -> Stop {
    /// `struct ptrace_syscall_info`: kind, architecture, two addresses, the number, six arguments.
    const WORDS: usize = 11;
    const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
    let mut info = [0u64; WORDS];
    // SAFETY: the kernel writes at most the given size.
    let got = unsafe { libc::ptrace(GET_SYSCALL_INFO, pid, WORDS * 8, info.as_mut_ptr()) };
    assert!(got > 0, "the kernel does not report the system call");
    let entry = info[0].to_ne_bytes()[0] == 1;
    let mut arguments = [0; 6];
    arguments.copy_from_slice(&info[4..10]);
    Stop { pid, entry, number: info[3] as libc::c_long, arguments }
}

/// The result if no child could be killed.
pub const SKIPPED: usize = usize::MAX;

/// Kills `body` at each stop in turn. It calls `prepare` before each run, and `check` on the result. Returns
/// the number of kills.
pub fn at_every_stop(what: &str, prepare: &dyn Fn(), body: &dyn Fn(), check: &mut dyn FnMut(&str)) -> usize {
    for point in 0.. {
        prepare();
        let mut seen = 0;
        let ended = run(body, &mut |_| {
            seen += 1;
            seen <= point
        });
        match ended {
            Ended::Killed => check(&format!("{what}, killed at stop {point}")),
            Ended::Refused => {
                println!("{what}: skipped: this process may not trace its children");
                return SKIPPED;
            }
            Ended::Exit(code) => {
                assert_eq!(code, 0, "{what}");
                return point;
            }
        }
        assert!(point < 5000, "{what} never ends");
    }
    0
}
