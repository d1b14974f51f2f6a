//! The files of `/proc` that a look at threads reads, and the meaning of their text.

use super::places::{Doing, WaitPlace, is_page_fault};
use crate::look::places;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::str;

/// The files of one process under a root, `/proc` but in tests.
#[derive(Clone, Debug)]
pub(super) struct ProcessFiles {
    root: PathBuf,
    folder: PathBuf,
}

/// A thread, with its files that are read again and again: opening one costs several times as much
/// as reading it. A file that could not be kept open is opened each time.
#[derive(Debug)]
pub(super) struct WatchedThread {
    pub(super) number: u32,
    syscall: Option<File>,
    schedstat: Option<File>,
}

/// A thread's time: on a CPU, and waiting for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scheduled {
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
}

/// A process's clock ticks in user mode and in the kernel, and its page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
}

/// All CPUs of the host, in clock ticks: busy with anything, and stolen by the hypervisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostTicks {
    pub(super) busy: u64,
    pub(super) stolen: u64,
}

/// The result of one reading of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    Running,
    /// For the other end of one socket to send.
    Receive,
    ReceiveAny,
    Send,
    Futex(u64),
    Disk,
    PageFault,
    Other,
    /// The thread has ended.
    Gone,
}

impl ProcessFiles {
    pub(super) fn of(pid: u32) -> Self {
        Self::under(Path::new("/proc"), pid)
    }

    pub(super) fn under(root: &Path, pid: u32) -> Self {
        Self {
            root: root.to_owned(),
            folder: root.join(pid.to_string()),
        }
    }

    /// The threads of the process.
    ///
    /// # Errors
    /// The process is gone, or hidden.
    pub(super) fn threads(&self) -> io::Result<Vec<u32>> {
        let entries = std::fs::read_dir(self.folder.join("task"))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// A thread of the process; `kept` decides whether its files stay open.
    pub(super) fn watched(&self, number: u32, keep: bool) -> WatchedThread {
        let open = |name| {
            let path = self.path_of(number, name);
            keep.then(|| File::open(path).ok()).flatten()
        };
        WatchedThread {
            number,
            syscall: open("syscall"),
            schedstat: open("schedstat"),
        }
    }

    /// None if the thread has ended, or the kernel counts no such time.
    pub(super) fn scheduled(&self, thread: &WatchedThread) -> Option<Scheduled> {
        let mut text = [0; 128];
        let path = || self.path_of(thread.number, "schedstat");
        scheduled_in(read(thread.schedstat.as_ref(), path, &mut text).ok()?)
    }

    pub(super) fn stat(&self) -> Option<ProcessStat> {
        stat_in(&std::fs::read_to_string(self.folder.join("stat")).ok()?)
    }

    pub(super) fn host(&self) -> Option<HostTicks> {
        host_in(&std::fs::read_to_string(self.root.join("stat")).ok()?)
    }

    /// What a thread is doing.
    ///
    /// # Errors
    /// No permission to read it, or the kernel does not show it.
    pub(super) fn look(&self, thread: &WatchedThread) -> io::Result<ThreadState> {
        let mut text = [0; 256];
        let path = || self.path_of(thread.number, "syscall");
        let line = match read(thread.syscall.as_ref(), path, &mut text) {
            Ok(line) => line,
            Err(error) if is_gone(&error) => return self.gone(thread.number, error),
            Err(error) => return Err(error),
        };
        let odd = || io::Error::new(ErrorKind::InvalidData, "unknown format");
        Ok(match places::doing(line).ok_or_else(odd)? {
            Doing::Running => ThreadState::Running,
            Doing::Outside => self.outside(thread.number),
            Doing::Waits(place) => self.waits(place),
        })
    }

    /// A file that is missing while its thread exists does not exist on this kernel.
    fn gone(&self, thread: u32, error: io::Error) -> io::Result<ThreadState> {
        let lives = self.folder.join("task").join(thread.to_string()).exists();
        if lives {
            Err(error)
        } else {
            Ok(ThreadState::Gone)
        }
    }

    fn waits(&self, place: WaitPlace) -> ThreadState {
        match place {
            WaitPlace::Receive(_) => ThreadState::Receive,
            WaitPlace::ReceiveAny => ThreadState::ReceiveAny,
            WaitPlace::Send => ThreadState::Send,
            WaitPlace::Futex(address) => ThreadState::Futex(address),
            WaitPlace::Disk => ThreadState::Disk,
            WaitPlace::Reading(descriptor) => self.by_descriptor(descriptor, ThreadState::Receive),
            WaitPlace::Writing(descriptor) => self.by_descriptor(descriptor, ThreadState::Send),
            WaitPlace::Other => ThreadState::Other,
        }
    }

    /// What a call on a descriptor waits for; `socket` if it is of one.
    fn by_descriptor(&self, descriptor: u64, socket: ThreadState) -> ThreadState {
        let link = self.folder.join("fd").join(descriptor.to_string());
        let Ok(target) = std::fs::read_link(link) else {
            return ThreadState::Other;
        };
        let target = target.to_string_lossy();
        if target.starts_with("socket:") {
            socket
        } else if target.starts_with('/') {
            ThreadState::Disk
        } else {
            ThreadState::Other
        }
    }

    fn outside(&self, thread: u32) -> ThreadState {
        let mut text = [0; 128];
        match read(None, || self.path_of(thread, "wchan"), &mut text) {
            // It went on since.
            Ok(function) if function.trim() == "0" || function.trim().is_empty() => {
                ThreadState::Running
            }
            Ok(function) if is_page_fault(function) => ThreadState::PageFault,
            _ => ThreadState::Other,
        }
    }

    fn path_of(&self, thread: u32, name: &str) -> PathBuf {
        let mut number = itoa::Buffer::new();
        let path = self.folder.join("task").join(number.format(thread));
        path.join(name)
    }
}

/// The current text of a file; an error if the thread has ended.
fn read<'text>(
    kept: Option<&File>,
    path: impl FnOnce() -> PathBuf,
    text: &'text mut [u8],
) -> io::Result<&'text str> {
    let length = match kept {
        Some(file) => file.read_at(text, 0)?,
        None => File::open(path())?.read_at(text, 0)?,
    };
    str::from_utf8(text.get(..length).unwrap_or_default())
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "unknown format"))
}

/// Whether an error means that the thread has ended.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn scheduled_in(text: &str) -> Option<Scheduled> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let (run_ns, wait_ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(Scheduled { run_ns, wait_ns })
}

/// The name of a program, in brackets, may hold anything: the fields follow the last bracket.
fn stat_in(text: &str) -> Option<ProcessStat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse().ok();
    Some(ProcessStat {
        minor_faults: number(7)?,
        major_faults: number(9)?,
        user_ticks: number(11)?,
        system_ticks: number(12)?,
    })
}

fn host_in(text: &str) -> Option<HostTicks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Option<Vec<u64>> = line
        .split_ascii_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    let [user, nice, system, _idle, _waits, hard, soft, stolen, ..] = ticks?[..] else {
        return None;
    };
    let busy = [user, nice, system, hard, soft];
    Some(HostTicks {
        busy: busy.iter().fold(0, |sum, ticks| sum.saturating_add(*ticks)),
        stolen,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// A process 7 with a thread 8 whose files have these texts.
    fn process(name: &str, files: &[(&str, &str)]) -> ProcessFiles {
        let own = format!("contend-look-{}-{name}", std::process::id());
        let root = std::env::temp_dir().join(own);
        let folder = root.join("7/task/8");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        std::fs::create_dir_all(root.join("7/fd")).unwrap();
        for (number, target) in [
            ("3", "socket:[99]"),
            ("4", "/data/t.MYD"),
            ("5", "pipe:[1]"),
        ] {
            let link = root.join("7/fd").join(number);
            drop(std::fs::remove_file(&link));
            std::os::unix::fs::symlink(target, link).unwrap();
        }
        ProcessFiles::under(&root, 7)
    }

    fn found(name: &str, syscall: &str, wchan: &str) -> ThreadState {
        let files = process(name, &[("syscall", syscall), ("wchan", wchan)]);
        files.look(&files.watched(8, true)).unwrap()
    }

    #[test]
    fn a_descriptor_tells_a_socket_from_a_file() {
        let line = |number: i64, fd: u64| format!("{number} {fd:#x} 0x0 0x0 0x0 0x0 0x0 0x1 0x1");
        let read = |fd| found("fd", &line(libc::SYS_read, fd), "");
        let write = |fd| found("fd", &line(libc::SYS_write, fd), "");
        assert_eq!(
            (read(3), write(3)),
            (ThreadState::Receive, ThreadState::Send)
        );
        assert_eq!((read(4), write(4)), (ThreadState::Disk, ThreadState::Disk));
        assert_eq!((read(5), read(6)), (ThreadState::Other, ThreadState::Other));
    }

    #[test]
    fn outside_a_call_the_function_of_the_kernel_counts() {
        let outside = |wchan| found("outside", "-1 0x7ffd 0x7f1c", wchan);
        assert_eq!(outside("folio_wait_bit_common"), ThreadState::PageFault);
        assert_eq!(outside("do_exit"), ThreadState::Other);
        assert_eq!(outside("0"), ThreadState::Running);
    }

    #[test]
    fn a_thread_that_ended_is_no_error_and_a_missing_file_is() {
        let files = process("gone", &[("schedstat", "5 6 7\n")]);
        for keep in [true, false] {
            let (lives, ended) = (files.watched(8, keep), files.watched(9, keep));
            assert_eq!(files.look(&ended).unwrap(), ThreadState::Gone);
            assert_eq!(files.look(&lives).unwrap_err().kind(), ErrorKind::NotFound);
            let (run_ns, wait_ns) = (5, 6);
            assert_eq!(files.scheduled(&lives), Some(Scheduled { run_ns, wait_ns }));
            assert_eq!(files.scheduled(&ended), None);
        }
        assert_eq!(files.threads().unwrap(), [8]);
        assert_eq!((files.stat(), files.host()), (None, None));
        assert!(ProcessFiles::of(u32::MAX).threads().is_err());
    }

    #[test]
    fn a_file_that_is_kept_open_says_what_is_so_now() {
        let files = process("kept", &[("schedstat", "5 6 7\n")]);
        let kept = files.watched(8, true);
        let run_ns = || files.scheduled(&kept).unwrap().run_ns;
        assert_eq!(run_ns(), 5);
        process("kept", &[("schedstat", "50 60 8\n")]);
        assert_eq!(run_ns(), 50);
    }

    #[test]
    fn of_a_thread_that_ends_while_its_files_are_open_nothing_is_said() {
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            std::thread::park();
        });
        let files = ProcessFiles::of(std::process::id());
        let kept = files.watched(told.recv().unwrap() as u32, true);
        assert_ne!(files.look(&kept).unwrap(), ThreadState::Gone);
        assert!(files.scheduled(&kept).is_some());
        thread.thread().unpark();
        thread.join().unwrap();
        // The kernel may need a moment for the rest of it.
        for _ in 0..1000 {
            if files.look(&kept).unwrap() == ThreadState::Gone {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(files.look(&kept).unwrap(), ThreadState::Gone);
        assert_eq!(files.scheduled(&kept), None);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let files = process("odd", &[("syscall", "walking\n")]);
        let kind = files.look(&files.watched(8, true)).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::InvalidData);
    }

    #[test]
    fn our_own_threads_can_be_seen() {
        let files = ProcessFiles::of(std::process::id());
        let thread = *files.threads().unwrap().first().unwrap();
        assert!(files.scheduled(&files.watched(thread, true)).is_some());
        assert!(files.stat().is_some() && files.host().is_some());
    }

    #[test]
    fn a_name_in_brackets_may_hold_brackets() {
        let text = "7 (a) b (c) S 1 1 1 0 -1 4 11 12 13 14 15 16 17 18 20 0 3";
        assert_eq!(
            stat_in(text),
            Some(ProcessStat {
                minor_faults: 11,
                major_faults: 13,
                user_ticks: 15,
                system_ticks: 16
            })
        );
        let text = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n";
        let (busy, stolen) = (19, 8);
        assert_eq!(host_in(text), Some(HostTicks { busy, stolen }));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in ".*") {
            scheduled_in(&text);
            stat_in(&text);
            host_in(&text);
        }

        #[test]
        fn times_are_read_back(run_ns: u64, wait_ns: u64, slices: u64) {
            let text = format!("{run_ns} {wait_ns} {slices}\n");
            prop_assert_eq!(scheduled_in(&text), Some(Scheduled { run_ns, wait_ns }));
        }
    }
}
