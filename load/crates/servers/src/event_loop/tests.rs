//! Answers that come later, over real sockets.
#![allow(clippy::unwrap_used)]
use crate::null_server::{Service, serve_answers};
use crate::serve::{Answering, Cell, ColumnOut, Refusal, ReplyWriter, ServiceTime, Ticket, When};
use contend_client::Target;
use contend_client::blocking::ControlConnection;
use contend_reactor::inbox::Inbox;
use contend_reactor::socket::Address;
use contend_wire::Credentials;
use contend_wire::mysql::value::kind;
use contend_wire::mysql::{BoundValues, Options};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// State shared by the clients of all workers: texts by the waiting client's ticket.
#[derive(Default)]
struct Board {
    texts: HashMap<u64, String>,
    ready: Vec<Ticket>,
    next: u64,
}

/// Answers every SELECT later, by a thread of its own, with the client's number and its statement;
/// everything else at once.
struct ByAnother {
    board: Arc<Mutex<Board>>,
    jobs: mpsc::Sender<(Ticket, String)>,
}

impl ByAnother {
    fn new(board: &Arc<Mutex<Board>>, inbox: &Arc<Inbox>) -> Self {
        let (jobs, asked) = mpsc::channel::<(Ticket, String)>();
        let (board, inbox) = (Arc::clone(board), Arc::clone(inbox));
        let shared = Arc::clone(&board);
        std::thread::spawn(move || {
            for (ticket, text) in asked {
                let mut board = shared.lock().unwrap();
                board.texts.insert(ticket.0, text);
                board.ready.push(ticket);
                drop(board);
                inbox.ring();
            }
        });
        Self { board, jobs }
    }

    fn put_off(&self, text: String) -> When {
        let mut board = self.board.lock().unwrap();
        board.next += 1;
        let ticket = Ticket(board.next);
        drop(board);
        self.jobs.send((ticket, text)).unwrap();
        When::Later(ticket)
    }
}

impl Answering for ByAnother {
    const VERSION: &str = "10.11.0-MariaDB-another";
    type Client = u32;
    type Statement = ();

    fn welcome(&mut self, number: u32) -> u32 {
        number
    }

    fn query(&mut self, client: &mut u32, sql: &[u8], reply: &mut ReplyWriter<'_>) -> When {
        if !sql.starts_with(b"SELECT") {
            reply.ok(0);
            return When::Now;
        }
        self.put_off(format!("{client}: {}", String::from_utf8_lossy(sql)))
    }

    fn prepare(&mut self, _client: &mut u32, _sql: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }

    fn shape<'s>(&'s self, _statement: &'s ()) -> (u16, &'s [ColumnOut]) {
        (0, &[])
    }

    fn execute(
        &mut self,
        _client: &mut u32,
        _statement: &(),
        _values: BoundValues<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> When {
        reply.ok(0);
        When::Now
    }

    fn redeem(&mut self, _client: &mut u32, ticket: Ticket, reply: &mut ReplyWriter<'_>) -> When {
        let text = self.board.lock().unwrap().texts.remove(&ticket.0).unwrap();
        // A text that begins so is put off once more.
        if let Some(text) = text.strip_suffix(" twice") {
            return self.put_off(text.to_owned());
        }
        let columns = [ColumnOut {
            name: "said".to_owned(),
            kind: kind::VAR_STRING,
            length: 256,
        }];
        reply.columns(&columns);
        reply.row(&columns, &[Cell::Text(text.as_bytes())]);
        reply.end_of_rows();
        When::Now
    }

    fn next_ready(&mut self) -> Option<Ticket> {
        self.board.lock().unwrap().ready.pop()
    }
}

#[test]
fn an_answer_that_was_put_off_comes_when_it_is_ready_and_to_whom_it_belongs() {
    for time in [ServiceTime::None, ServiceTime::Fixed { ns: 1_000 }] {
        let name = format!("contend-later-{}-{time:?}", std::process::id());
        let socket = std::env::temp_dir().join(name.replace([' ', '{', '}', ':'], ""));
        let service = Service {
            socket: Some(socket.clone()),
            port: None,
            threads: 1,
            time,
            stalls: None,
            seed: 1,
            servers: None,
        };
        let stop = AtomicBool::new(false);
        let board = Arc::new(Mutex::new(Board::default()));
        let make = move |inbox: &Arc<Inbox>| ByAnother::new(&board, inbox);
        let (ready, is_ready) = mpsc::channel();
        let served = std::thread::scope(|scope| {
            let (service, stop) = (&service, &stop);
            let server = scope.spawn(move || {
                serve_answers(service, make, &mut |_| ready.send(()).unwrap(), stop)
            });
            is_ready.recv_timeout(Duration::from_secs(60)).unwrap();
            let target = Target {
                address: Address::Unix(socket),
                credentials: Credentials::default(),
                options: Options {
                    unix_socket: true,
                    ..Options::default()
                },
                connect_timeout: Duration::from_secs(60),
            };
            let clients = (1..=4).map(|client| {
                let mut connection = ControlConnection::open(&target).unwrap();
                scope.spawn(move || {
                    for number in 0..50 {
                        let sql = format!("SELECT {number}");
                        let twice = if number % 3 == 0 { " twice" } else { "" };
                        let rows = connection.rows(&format!("{sql}{twice}"), &mut |_| Ok(()));
                        let text = rows.unwrap().remove(0).remove(0).unwrap();
                        assert_eq!(text, format!("{client}: {sql}"));
                    }
                })
            });
            for client in clients.collect::<Vec<_>>() {
                client.join().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            server.join().unwrap().unwrap()
        });
        assert_eq!((served.connections, served.queries), (4, 200));
    }
}
