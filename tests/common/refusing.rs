//! A thread whose system calls fail as in a container with a filter (seccomp). The threads that it starts
//! inherit the filter. Other threads are not affected.

use libc::{c_long, sock_filter, sock_fprog};

/// A system call that fails, and the argument that selects the calls.
#[derive(Clone, Copy)]
pub struct Rule {
    call: c_long,
    /// The argument's index, the mask for its lower 32 bits, and the value.
    when: Option<(u32, u32, u32)>,
}

/// Fails for all arguments.
pub const fn all_of(call: c_long) -> Rule {
    Rule { call, when: None }
}

/// Fails if argument `at`, masked, has this value.
pub const fn if_argument(call: c_long, at: u32, mask: u32, value: u32) -> Rule {
    Rule { call, when: Some((at, mask, value)) }
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(value: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt, jf, k: value }
}

/// The seccomp filter for these rules. Fields of `seccomp_data`: the number at offset 0, the arguments, 8
/// bytes each, from offset 16 on.
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

/// Runs `body` on a thread where these calls fail with `error`. If this system does not support filters, it
/// prints that and does nothing.
pub fn refusing<T: Send>(rules: &[Rule], error: i32, body: impl FnOnce() -> T + Send) -> Option<T> {
    let mut program = program(rules, error);
    let on_thread = move || {
        let filter = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the program lives during the call. It filters the calling thread.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
        };
        if !set {
            println!("skipped: cannot filter system calls: {}", std::io::Error::last_os_error());
        }
        set.then(body)
    };
    std::thread::scope(|scope| scope.spawn(on_thread).join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
}
