//! A thread whose system calls are refused as a filter of a container does (seccomp), and those of the
//! threads that it starts. Nobody else's are.

use libc::{c_long, sock_filter, sock_fprog};

/// A system call that is refused, and of which argument that depends.
#[derive(Clone, Copy)]
pub struct Rule {
    call: c_long,
    /// The argument, what of its lower 32 bits counts, and its value then.
    when: Option<(u32, u32, u32)>,
}

/// Whatever it is asked.
pub const fn all_of(call: c_long) -> Rule {
    Rule { call, when: None }
}

/// If argument `at` has, masked, this value.
pub const fn if_argument(call: c_long, at: u32, mask: u32, value: u32) -> Rule {
    Rule { call, when: Some((at, mask, value)) }
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(value: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt, jf, k: value }
}

/// The filter of these rules. Fields of `seccomp_data`: the number at 0, the arguments, 8 bytes each, from 16
/// on.
fn program(rules: &[Rule], error: i32) -> Vec<sock_filter> {
    let load = |at: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at);
    let refuse = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | error as u32);
    let lower_half = if cfg!(target_endian = "big") { 4 } else { 0 };
    let mut program = Vec::new();
    for rule in rules {
        program.push(load(0));
        match rule.when {
            None => program.push(jump(rule.call as u32, 0, 1)),
            Some((at, mask, value)) => {
                program.push(jump(rule.call as u32, 0, 4));
                program.push(load(16 + 8 * at + lower_half));
                program.push(statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask));
                program.push(jump(value, 0, 1));
            }
        }
        program.push(refuse);
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    program
}

/// Runs `body` on a thread that is refused these calls with `error`; none, with a line that says so, where
/// this system has no such filters.
pub fn refusing<T: Send>(rules: &[Rule], error: i32, body: impl FnOnce() -> T + Send) -> Option<T> {
    let mut program = program(rules, error);
    let on_thread = move || {
        let filter = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the program is there during the call, and is of the thread that it is set for.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
        };
        if !set {
            println!("skipped: no filter of system calls: {}", std::io::Error::last_os_error());
        }
        set.then(body)
    };
    std::thread::scope(|scope| scope.spawn(on_thread).join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
}
