//! Completion: requests and receives handed over in batches by the call that waits.

use super::Work;
use super::question::End;
use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

const SEND: u64 = 1 << 63;
const BUFFER_BYTES: usize = 8192;
const STRIDE: usize = BUFFER_BYTES + 192;

fn ring(connections: usize) -> io::Result<IoUring> {
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(
            (connections as u32 * 4)
                .clamp(1024, 65_536)
                .next_power_of_two(),
        )
        .build(1024)
}

fn push(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<()> {
    // SAFETY: the questions and buffers that entries point to live until the process ends.
    while unsafe { ring.submission().push(entry) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}

fn send(ring: &mut IoUring, work: &mut Work, token: usize) -> io::Result<()> {
    let (Some(stream), Some(question)) = (work.streams.get(token), work.questions.get_mut(token))
    else {
        return Ok(());
    };
    let bytes = question.ask();
    let entry = opcode::Send::new(Fd(stream.as_raw_fd()), bytes.as_ptr(), bytes.len() as u32)
        .flags(libc::MSG_NOSIGNAL)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
        .user_data(SEND | token as u64);
    push(ring, &entry)
}

/// One receive a socket, armed once; the kernel takes buffers from a ring that all share.
pub fn run_multishot(mut work: Work) -> io::Result<u64> {
    let connections = work.streams.len();
    let mut ring = ring(connections)?;
    let count = connections.clamp(16, 1024).next_power_of_two() as u16;
    // Left to the end of the process, as everything that the kernel may write to.
    let memory = vec![0u8; usize::from(count) * STRIDE].leak();
    let layout = std::alloc::Layout::from_size_align(usize::from(count) * 16, 4096)
        .map_err(io::Error::other)?;
    // SAFETY: the size is not zero.
    let base = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<BufRingEntry>();
    // SAFETY: the memory is never freed.
    unsafe {
        ring.submitter()
            .register_buf_ring_with_flags(base as u64, count, 0, 0)?
    };
    let mut tail = 0u16;
    let start = memory.as_mut_ptr();
    let mut give_back = |buffer: u16| {
        // SAFETY: the place is inside the ring, the address inside the memory.
        unsafe {
            let entry = &mut *base.add(usize::from(tail & (count - 1)));
            entry.set_addr(start.add(usize::from(buffer) * STRIDE) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
            tail = tail.wrapping_add(1);
            let shared = BufRingEntry::tail(base).cast_mut().cast::<AtomicU16>();
            (*shared).store(tail, Ordering::Release);
        }
    };
    (0..count).for_each(&mut give_back);
    for token in 0..connections {
        arm(&mut ring, &work, token)?;
        send(&mut ring, &mut work, token)?;
    }
    let mut ends: Vec<End> = (0..connections).map(|_| End::default()).collect();
    let mut completions: Vec<cqueue::Entry> = Vec::new();
    let mut queries = 0;
    loop {
        ring.submit_and_wait(1)?;
        completions.clear();
        completions.extend(ring.completion());
        for completion in &completions {
            let token = (completion.user_data() & !SEND) as usize;
            let (result, flags) = (completion.result(), completion.flags());
            let Some(buffer) = cqueue::buffer_select(flags) else {
                if result == -libc::ENOBUFS {
                    arm(&mut ring, &work, token)?;
                    continue;
                }
                return Err(io::Error::other(format!("a socket failed: {result}")));
            };
            // SAFETY: the kernel has filled so many bytes of this buffer and leaves it alone.
            let bytes = unsafe {
                std::slice::from_raw_parts(start.add(usize::from(buffer) * STRIDE), result as usize)
            };
            let ended = ends.get_mut(token).is_some_and(|end| end.is_in(bytes));
            give_back(buffer);
            if !cqueue::more(flags) {
                arm(&mut ring, &work, token)?;
            }
            if ended {
                queries += 1;
                send(&mut ring, &mut work, token)?;
            }
        }
        if Instant::now() >= work.until {
            return Ok(queries);
        }
    }
}

fn arm(ring: &mut IoUring, work: &Work, token: usize) -> io::Result<()> {
    let Some(stream) = work.streams.get(token) else {
        return Ok(());
    };
    let entry = opcode::RecvMulti::new(Fd(stream.as_raw_fd()), 0)
        .build()
        .user_data(token as u64);
    push(ring, &entry)
}

/// A receive of its own with each send.
pub fn run_single(mut work: Work) -> io::Result<u64> {
    let connections = work.streams.len();
    let mut ring = ring(connections)?;
    let memory = vec![0u8; connections * STRIDE].leak();
    let start = memory.as_mut_ptr();
    for token in 0..connections {
        send(&mut ring, &mut work, token)?;
        receive(&mut ring, &work, token, start)?;
    }
    let mut ends: Vec<End> = (0..connections).map(|_| End::default()).collect();
    let mut completions: Vec<cqueue::Entry> = Vec::new();
    let mut queries = 0;
    loop {
        ring.submit_and_wait(1)?;
        completions.clear();
        completions.extend(ring.completion());
        for completion in &completions {
            let token = completion.user_data() as usize;
            let result = completion.result();
            if completion.user_data() & SEND != 0 || result <= 0 {
                return Err(io::Error::other(format!("a socket failed: {result}")));
            }
            // SAFETY: the kernel has filled so many bytes of this connection's own buffer.
            let bytes =
                unsafe { std::slice::from_raw_parts(start.add(token * STRIDE), result as usize) };
            if ends.get_mut(token).is_some_and(|end| end.is_in(bytes)) {
                queries += 1;
                send(&mut ring, &mut work, token)?;
            }
            receive(&mut ring, &work, token, start)?;
        }
        if Instant::now() >= work.until {
            return Ok(queries);
        }
    }
}

fn receive(ring: &mut IoUring, work: &Work, token: usize, start: *mut u8) -> io::Result<()> {
    let Some(stream) = work.streams.get(token) else {
        return Ok(());
    };
    // SAFETY: each connection has its own stretch of the memory.
    let buffer = unsafe { start.add(token * STRIDE) };
    let entry = opcode::Recv::new(Fd(stream.as_raw_fd()), buffer, BUFFER_BYTES as u32)
        .build()
        .user_data(token as u64);
    push(ring, &entry)
}
