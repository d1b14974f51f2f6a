//! Native stacks of scripts: how large they are, where they end, and the message when a script has
//! used one up.
//!
//! A script that nests callbacks or coroutines gets an error of Lua before that ([`super::heap`]).
//! Code that allocates nothing meanwhile reaches the guard page below the stack: the kernel sends a
//! signal, and nothing can go on from there.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Size of a native stack. Only the pages that are touched take memory: some twelve kilobytes.
pub const STACK_BYTES: usize = 8 << 20;

/// The error of a script that used one up.
pub const STACK_OVERFLOW: &str =
    "stack overflow: calls, callbacks or coroutines are nested too deep";

/// Messages at the end of a process that a script has brought about.
#[derive(Debug)]
pub struct LastWords {
    /// If a stack is used up: the process then ends with exit code 1.
    pub overflow: Vec<(RawFd, Vec<u8>)>,
    /// If an invalid address was used, such as scripts may make by the FFI: the signal ends the
    /// process.
    pub bad_address: Vec<(RawFd, Vec<u8>)>,
}

static LAST_WORDS: AtomicPtr<LastWords> = AtomicPtr::new(std::ptr::null_mut());

impl LastWords {
    /// From now on these are written.
    pub fn arm(self) {
        static INSTALLED: Once = Once::new();
        // Those before are never freed: a different thread may be writing them.
        LAST_WORDS.store(Box::leak(Box::new(self)), Ordering::Release);
        INSTALLED.call_once(|| {
            for signal in [libc::SIGSEGV, libc::SIGBUS] {
                // SAFETY: the structure is all zeroes except for the fields set here. The handler
                // runs on the stack for signals that Rust's library gives each thread.
                unsafe {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = on_bad_address as *const () as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                }
            }
        });
    }
}

/// An address this near to the end of the stack was meant to be on it.
const NEAR: usize = 64 * 1024;

/// Does only what may be done in a handler of signals: reads, writes, ends.
unsafe extern "C" fn on_bad_address(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the kernel gives both, and armed words are never freed.
    unsafe {
        let address = (*info).si_addr().addr();
        let is_overflow = top_of_stack(context).is_some_and(|top| top.abs_diff(address) < NEAR);
        if let Some(words) = LAST_WORDS.load(Ordering::Acquire).as_ref() {
            let lines = match is_overflow {
                true => &words.overflow,
                false => &words.bad_address,
            };
            for (to, line) in lines {
                libc::write(*to, line.as_ptr().cast(), line.len());
            }
        }
        if is_overflow {
            libc::_exit(1);
        }
        // The instruction is tried again, and ends the process as it always would.
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// The stack pointer at the time of the signal.
unsafe fn top_of_stack(context: *mut c_void) -> Option<usize> {
    let context: *const libc::ucontext_t = context.cast();
    // SAFETY: the kernel gives the registers of the thread.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        Some((*context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        Some((*context).uc_mcontext.sp as usize)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        None
    }
}

/// The end of the calling thread's stack; 0 if the system does not report it.
pub fn lowest_of_thread() -> usize {
    let mut lowest: *mut c_void = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the attributes are written by the first call, read by the second, and freed.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0;
        }
        libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
    }
    lowest.addr()
}
