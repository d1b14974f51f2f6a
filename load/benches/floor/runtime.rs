//! A common async runtime, one task a connection on one thread: what a program costs that
//! leaves the event loop to somebody else.

use super::Work;
use super::question::{End, Question};
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub fn run(work: Work) -> io::Result<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        let mut handles = Vec::new();
        for (stream, question) in work.streams.into_iter().zip(work.questions) {
            let until = work.until;
            handles.push(tokio::task::spawn_local(async move {
                // Both kinds of stream are asked the same way, so the family decides here.
                if is_unix(&stream) {
                    let stream = tokio::net::UnixStream::from_std(UnixStream::from(stream))?;
                    converse(stream, question, until).await
                } else {
                    let stream = tokio::net::TcpStream::from_std(TcpStream::from(stream))?;
                    converse(stream, question, until).await
                }
            }));
        }
        let mut queries = 0;
        for handle in handles {
            queries += handle.await.map_err(io::Error::other)??;
        }
        Ok(queries)
    })
}

async fn converse(
    mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin,
    mut question: Question,
    until: Instant,
) -> io::Result<u64> {
    let mut buffer = vec![0; 16 * 1024];
    let mut end = End::default();
    let mut queries = 0;
    while Instant::now() < until {
        stream.write_all(question.ask()).await?;
        loop {
            let filled = stream.read(&mut buffer).await?;
            if filled == 0 {
                return Err(io::Error::other("the server closed a connection"));
            }
            if end.is_in(buffer.get(..filled).unwrap_or_default()) {
                break;
            }
        }
        queries += 1;
    }
    Ok(queries)
}

fn is_unix(stream: &OwnedFd) -> bool {
    use std::os::fd::AsRawFd as _;
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the pointers are to live locals.
    unsafe {
        libc::getsockname(
            stream.as_raw_fd(),
            (&raw mut address).cast(),
            &raw mut length,
        );
    }
    i32::from(address.ss_family) == libc::AF_UNIX
}
