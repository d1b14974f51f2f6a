//! A thread for each client, as the servers of the studies have: it waits in its socket, and in
//! every lock.

use super::answers::ModelAnswers;
use super::model::Model;
use contend_reactor::listeners::Listeners;
use contend_servers::serve::{Received, Refusal, ServedSession, TAIL_BYTES_MAX, turn_away};
use rustix::buffer::spare_capacity;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::retry_on_intr;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A thread of a client needs a few pages of stack. Only those that it touches are taken.
const STACK_BYTES: usize = 256 << 10;
/// A client is let in only if this much memory is free. Its thread takes a part of it, and a
/// program that gets none when it asks for some is ended.
const SPARE_BYTES: usize = 8 << 20;
/// A client's buffers begin with this size.
const BUFFER_BYTES: usize = 4 << 10;
/// How long a client may take to read the answers to requests taken before the end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The clients that are connected.
#[derive(Default)]
pub struct ThreadClients {
    open: Mutex<HashMap<u32, Arc<OwnedFd>>>,
    one_left: Condvar,
    /// No more is read from clients.
    ending: AtomicBool,
}

impl ThreadClients {
    /// Accepts clients until `stop` is set, each with a thread and with answers of its own. Then
    /// lets every thread answer the requests it has taken, and waits until all are gone.
    pub fn serve(self: &Arc<Self>, listeners: &Listeners, stop: &AtomicBool, model: &Arc<Model>) {
        listeners.admit_each(stop, |number, socket| {
            if let Err(refusal) = model.admit() {
                return refuse(&socket, &refusal);
            }
            let socket = Arc::new(socket);
            self.locked().insert(number, Arc::clone(&socket));
            let (clients, answering) = (Arc::clone(self), Arc::clone(model));
            let left = Departure { clients, number };
            let theirs = Arc::clone(&socket);
            let begun = has_memory().and_then(|()| {
                std::thread::Builder::new()
                    .name(format!("client-{number}"))
                    .stack_size(STACK_BYTES)
                    .spawn(move || {
                        // A client that is gone needs no message.
                        let _ = talk(&theirs, number, &left.clients.ending, &answering);
                        drop(left);
                    })
            });
            if let Err(error) = begun {
                model.lost();
                refuse(&socket, &no_thread(&error));
            }
        });
        self.end();
    }

    fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.each(Shutdown::Read);
        let open = self.locked();
        let (open, waited) = self
            .one_left
            .wait_timeout_while(open, FAREWELL, |open| !open.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        drop(open);
        if waited.timed_out() {
            // A client that does not read gets no answer.
            self.each(Shutdown::Both);
        }
        let mut open = self.locked();
        while !open.is_empty() {
            open = self
                .one_left
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn each(&self, how: Shutdown) {
        for socket in self.locked().values() {
            // It may be closed already.
            let _ = shutdown(socket, how);
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u32, Arc<OwnedFd>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it is dropped its client has left; also if its thread panicked or never began.
struct Departure {
    clients: Arc<ThreadClients>,
    number: u32,
}

impl Drop for Departure {
    fn drop(&mut self) {
        self.clients.locked().remove(&self.number);
        self.clients.one_left.notify_all();
    }
}

/// Says why a client is turned away. A socket that was just opened has room for that.
fn refuse(socket: &OwnedFd, refusal: &Refusal) {
    let mut out = Vec::new();
    turn_away(refusal, &mut out);
    let _ = contend_reactor::socket::send(socket, &out);
}

fn has_memory() -> io::Result<()> {
    let mut spare: Vec<u8> = Vec::new();
    let had = spare.try_reserve_exact(SPARE_BYTES);
    // It is allocated although it is not used.
    std::hint::black_box(&mut spare);
    had.map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))
}

fn no_thread(error: &io::Error) -> Refusal {
    let code = error.raw_os_error().unwrap_or(0);
    let words = format!(
        "Can't create a new thread (errno {code} \"{error}\"); if you are not out of available \
         memory, you can consult the manual for a possible OS-dependent bug"
    );
    Refusal::new(1135, b"HY000", words)
}

/// Talks with one client until it leaves or the server ends.
fn talk(socket: &OwnedFd, number: u32, ending: &AtomicBool, model: &Arc<Model>) -> io::Result<()> {
    let mut answers = ModelAnswers::new(model);
    let mut out = Vec::with_capacity(BUFFER_BYTES);
    let mut taken: Vec<u8> = Vec::with_capacity(BUFFER_BYTES);
    let mut session = ServedSession::greet(number, &mut answers, &mut out);
    fcntl_setfl(socket, OFlags::empty())?;
    loop {
        send_all(socket, &out)?;
        out.clear();
        if ending.load(Ordering::Relaxed) {
            return Ok(());
        }
        if taken.len() == taken.capacity() {
            taken.reserve(BUFFER_BYTES);
        }
        let (_, more) =
            retry_on_intr(|| recv(socket, spare_capacity(&mut taken), RecvFlags::empty()))?;
        if more == 0 {
            return Ok(());
        }
        let mut read = 0;
        let stays = loop {
            let rest = taken.get(read..).unwrap_or_default();
            match session.hear(rest, &mut answers, &mut out) {
                Received::More => break true,
                Received::Answered { consumed } | Received::Settled { consumed } => {
                    read += consumed;
                }
                Received::Left => break false,
            }
        };
        taken.drain(..read);
        if !stays || taken.len() > TAIL_BYTES_MAX {
            return send_all(socket, &out);
        }
    }
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = retry_on_intr(|| send(socket, bytes, SendFlags::NOSIGNAL))?;
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}
