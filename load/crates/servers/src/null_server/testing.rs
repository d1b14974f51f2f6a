//! A null server for unit tests of code that talks to servers.

use super::{Service, serve_answers};
use crate::serve::{Answering, Canned, ServiceTime, Stalls};
use contend_client::Target;
use contend_reactor::socket::Address;
use contend_wire::Credentials;
use contend_wire::mysql::Options;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Serves on a socket of its own until it is dropped.
pub struct NullServer {
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    pub fn start(time: ServiceTime, stalls: Option<Stalls>) -> Self {
        Self::answering(time, stalls, Canned::default)
    }

    /// A server with other answers than the null server's.
    pub fn answering<A: Answering + Send + 'static>(
        time: ServiceTime,
        stalls: Option<Stalls>,
        make: impl Fn() -> A + Send + 'static,
    ) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("contend-null-{}-{number}", std::process::id());
        let service = Service {
            socket: Some(std::env::temp_dir().join(name)),
            port: None,
            threads: 1,
            time,
            stalls,
            seed: 1,
            servers: None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = mpsc::channel();
        let socket = service.socket.clone().unwrap_or_default();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let _ = serve_answers(
                &service,
                make,
                &mut |_| {
                    let _ = ready.send(());
                },
                &stopped,
            );
        });
        // If it fails, connecting reports it.
        let _ = is_ready.recv_timeout(Duration::from_secs(60));
        Self {
            socket,
            stop,
            thread: Some(thread),
        }
    }

    pub fn quick() -> Self {
        Self::start(ServiceTime::None, None)
    }

    pub fn target(&self) -> Target {
        Target {
            address: Address::Unix(self.socket.clone()),
            credentials: Credentials::default(),
            options: Options {
                unix_socket: true,
                local_infile: true,
                ..Options::default()
            },
            connect_timeout: Duration::from_secs(60),
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
