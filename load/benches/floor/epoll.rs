//! Readiness: epoll_wait, then recv and send for each socket that has an answer.

use super::Work;
use super::question::End;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Instant;

pub fn run(mut work: Work) -> io::Result<u64> {
    // SAFETY: no pointers; the result is checked.
    let queue = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    for (token, (stream, question)) in work
        .streams
        .iter()
        .zip(work.questions.iter_mut())
        .enumerate()
    {
        let fd = stream.as_raw_fd();
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token as u64,
        };
        // SAFETY: the pointer is to a live local.
        unsafe { libc::epoll_ctl(queue, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        send(fd, question.ask());
    }
    let mut ends: Vec<End> = work.streams.iter().map(|_| End::default()).collect();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 512];
    let mut buffer = vec![0u8; 64 * 1024];
    let mut queries = 0;
    loop {
        let count = events.len() as libc::c_int;
        // SAFETY: the pointer and length are those of a live vector.
        let found = unsafe { libc::epoll_wait(queue, events.as_mut_ptr(), count, -1) };
        for event in events.iter().take(found.max(0) as usize) {
            let token = event.u64 as usize;
            let (Some(stream), Some(question), Some(end)) = (
                work.streams.get(token),
                work.questions.get_mut(token),
                ends.get_mut(token),
            ) else {
                continue;
            };
            let fd = stream.as_raw_fd();
            // SAFETY: the pointer and length are those of a live vector.
            let filled = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            if filled <= 0 {
                return Err(io::Error::other("the server closed a connection"));
            }
            if end.is_in(buffer.get(..filled as usize).unwrap_or_default()) {
                queries += 1;
                send(fd, question.ask());
            }
        }
        if Instant::now() >= work.until {
            return Ok(queries);
        }
    }
}

#[inline]
fn send(fd: i32, bytes: &[u8]) {
    // SAFETY: the pointer and length are those of a live slice.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
}
