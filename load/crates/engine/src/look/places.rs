//! The place where a thread waits, if it does, from its line in `/proc/PID/task/TID/syscall`.

/// The state of a thread when it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// On a CPU, or waiting for one: the kernel does not distinguish these here.
    Running,
    /// It waits in a system call, here.
    Waits(WaitPlace),
    /// It waits, and not in a system call.
    Outside,
}

/// Where a thread waits in a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitPlace {
    /// For bytes from the other end of this socket; the descriptor, if the call names it.
    Receive(Option<u64>),
    /// For one of several descriptors.
    ReceiveAny,
    /// Until the other end of a socket takes the bytes sent.
    Send,
    /// For the word at this address of its own memory: a lock, or a condition.
    Futex(u64),
    Disk,
    /// In a call that reads or writes, on any kind of descriptor.
    Reading(u64),
    Writing(u64),
    Other,
}

/// None if the line is not of this file's format.
pub(super) fn doing(line: &str) -> Option<Doing> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if first == "running" {
        return Some(Doing::Running);
    }
    let number: i64 = first.parse().ok()?;
    if number == -1 {
        return Some(Doing::Outside);
    }
    let mut arguments = [0_u64; 6];
    for argument in &mut arguments {
        let word = words.next()?.strip_prefix("0x")?;
        *argument = u64::from_str_radix(word, 16).ok()?;
    }
    Some(Doing::Waits(place(number, arguments)))
}

fn place(number: i64, [first, second, ..]: [u64; 6]) -> WaitPlace {
    match number {
        libc::SYS_futex => WaitPlace::Futex(first),
        libc::SYS_recvfrom | libc::SYS_recvmsg => WaitPlace::Receive(Some(first)),
        libc::SYS_ppoll if second == 1 => WaitPlace::Receive(None),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll if second == 1 => WaitPlace::Receive(None),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait => WaitPlace::ReceiveAny,
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_epoll_pwait => WaitPlace::ReceiveAny,
        libc::SYS_accept | libc::SYS_accept4 => WaitPlace::ReceiveAny,
        libc::SYS_sendto | libc::SYS_sendmsg => WaitPlace::Send,
        libc::SYS_read | libc::SYS_readv => WaitPlace::Reading(first),
        libc::SYS_write | libc::SYS_writev => WaitPlace::Writing(first),
        number if is_of_files(number) => WaitPlace::Disk,
        _ => WaitPlace::Other,
    }
}

/// Calls that wait for a disk, or for a lock of a file system.
fn is_of_files(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if [libc::SYS_open, libc::SYS_rename, libc::SYS_unlink].contains(&number) {
        return true;
    }
    const CALLS: &[i64] = &[
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_preadv,
        libc::SYS_pwritev,
        libc::SYS_preadv2,
        libc::SYS_pwritev2,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_sync_file_range,
        libc::SYS_msync,
        libc::SYS_fallocate,
        libc::SYS_ftruncate,
        libc::SYS_openat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_unlinkat,
        libc::SYS_io_submit,
        libc::SYS_io_getevents,
        libc::SYS_io_uring_enter,
        libc::SYS_copy_file_range,
        libc::SYS_sendfile,
    ];
    CALLS.contains(&number)
}

/// Whether a function of the kernel, as `wchan` names it, waits for a page of memory.
pub(super) fn is_page_fault(function: &str) -> bool {
    const WORDS: &[&str] = &[
        "folio",
        "page",
        "fault",
        "swap",
        "rwsem_down",
        "io_schedule",
    ];
    WORDS.iter().any(|word| function.contains(word))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn line(number: i64, first: u64, second: u64) -> String {
        format!("{number} {first:#x} {second:#x} 0x0 0x0 0x0 0x0 0x7ffd9c0 0x7f1c2\n")
    }

    #[test]
    fn a_line_says_where_a_thread_waits() {
        let waits = |number, first, second| doing(&line(number, first, second));
        let cases = [
            (libc::SYS_futex, 0x55d0, 0x80, WaitPlace::Futex(0x55d0)),
            (libc::SYS_recvfrom, 17, 0, WaitPlace::Receive(Some(17))),
            (libc::SYS_ppoll, 0x7ffd, 1, WaitPlace::Receive(None)),
            (libc::SYS_ppoll, 0x7ffd, 3, WaitPlace::ReceiveAny),
            (libc::SYS_sendto, 17, 0, WaitPlace::Send),
            (libc::SYS_read, 17, 0, WaitPlace::Reading(17)),
            (libc::SYS_write, 17, 0, WaitPlace::Writing(17)),
            (libc::SYS_fdatasync, 4, 0, WaitPlace::Disk),
            (libc::SYS_pread64, 4, 0, WaitPlace::Disk),
            (libc::SYS_clock_nanosleep, 0, 0, WaitPlace::Other),
        ];
        for (number, first, second, place) in cases {
            assert_eq!(waits(number, first, second), Some(Doing::Waits(place)));
        }
        assert_eq!(doing("running\n"), Some(Doing::Running));
        assert_eq!(doing("-1 0x7ffd9c0 0x7f1c2\n"), Some(Doing::Outside));
    }

    #[test]
    fn what_is_no_such_line_is_none() {
        for bad in [
            "",
            "\n",
            "walking",
            "202",
            "202 0x1",
            "202 1 2 3 4 5 6",
            "x 0x1",
        ] {
            assert_eq!(doing(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn faults_are_told_by_the_function_that_waits() {
        assert!(is_page_fault("folio_wait_bit_common"));
        assert!(!is_page_fault("hrtimer_nanosleep"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in ".*") {
            doing(&text);
            is_page_fault(&text);
        }

        #[test]
        fn every_number_has_a_place(number in any::<i64>(), first in any::<u64>(), second in any::<u64>()) {
            let found = doing(&line(number, first, second)).unwrap();
            prop_assert_eq!(found == Doing::Outside, number == -1);
            if number == libc::SYS_futex {
                prop_assert_eq!(found, Doing::Waits(WaitPlace::Futex(first)));
            }
        }
    }
}
