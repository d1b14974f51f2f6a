//! The input of a run: one JSON document. Plain data, no behaviour.
//!
//! Times are seconds as floating point numbers and end in `_s`. A plan is stored with the
//! results of its run, so it never holds a password: it names the environment variable that does.
//!
//! ```
//! let plan = r#"{"version": 1, "server": {"socket": "/run/mysqld/mysqld.sock", "user": "root"},
//!     "workload": {"kind": "point_select", "rows": 1000},
//!     "load": {"connections": 8, "warmup_s": 1.0, "measure_s": 10.0}}"#;
//! let plan: contend_plan::Plan = serde_json::from_str(plan)?;
//! assert_eq!(plan.workload.kind, "point_select");
//! # Ok::<(), serde_json::Error>(())
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

mod ask;
mod workload;

pub use ask::{ASK_ARMS_MAX, ASK_PLAN_VERSION, AskArm, AskPlan};
pub use workload::{Script, ScriptValue, Workload};

/// The version this program reads. Plans of a different version are refused.
pub const PLAN_VERSION: u32 = 1;
/// Maximum number of requests in flight per connection.
pub const DEPTH_MAX: u32 = 64;
/// The most hosts that share a load.
pub const HOSTS_MAX: u32 = 1000;
/// Maximum number of threads that are sampled per second: more would be felt.
pub const LOOK_READS_MAX: u32 = 1000;

/// One run of one cell: server, workload, load and duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub version: u32,
    pub server: Server,
    pub workload: Workload,
    pub load: Load,
    /// Seed of every random stream of the run.
    #[serde(default)]
    pub seed: u64,
    /// A process on this host (the server) whose counters are read at both edges of the window.
    #[serde(default)]
    pub watch: Option<Watch>,
    /// What one run compares. It keeps connections to all arms open and hops between them, see
    /// `load.slices`. Absent: one server throughout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<Arm>,
    /// The servers, if the run uses several: each event goes to one of them, see `load.route`.
    /// Absent: `server` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
}

/// One of several servers of a run. Each of `load.connections` connects to every node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// In outcomes and messages.
    pub name: String,
    /// Absent: the plan's server.
    #[serde(default)]
    pub server: Option<Server>,
    /// Its process, if it runs on this host. Absent: no counters are read for it.
    #[serde(default)]
    pub watch: Option<Watch>,
}

/// The node that an event goes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Route {
    /// Each in turn, by the number of the event.
    RoundRobin {},
    /// At random, in proportion to these weights; a node that is not listed has weight 1.
    Chance {
        #[serde(default)]
        weights: BTreeMap<String, f64>,
    },
    /// The owner of the event's key.
    Key {
        /// Ranges of keys in ascending order: each begins after the previous one and ends with key
        /// `upto`. Empty: the keys are divided evenly between the nodes, in the order of the plan.
        #[serde(default)]
        owners: Vec<Owner>,
        /// Nodes that reach all keys. An event with keys of several owners goes to one of them, in
        /// turn by its number. Empty: the owner of its first key has all its keys.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        through: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    pub upto: u64,
    pub node: String,
}

/// One side of a comparison: a server, a server in some state (see `enter`), several servers, or a
/// different workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// In outcomes and messages.
    pub name: String,
    /// Absent: the plan's server.
    #[serde(default)]
    pub server: Option<Server>,
    /// Statements that are run on a separate connection each time the arm is entered, while no arm
    /// has load.
    #[serde(default)]
    pub enter: Vec<String>,
    /// Its process, if it runs on this host. Absent: the plan's.
    #[serde(default)]
    pub watch: Option<Watch>,
    /// Absent: the plan's workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// Absent: `load.protocol`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Absent: `load.depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = DEPTH_MAX))]
    pub depth: Option<u32>,
    /// Absent: `load.arrival`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// Several servers instead of one, see `nodes` of a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// Needs `nodes`, see `load.route`. Absent: each in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
}

/// How a run hops between its arms: in each round every arm has one slice, in random order.
///
/// If the workload has an end (`load.events`, `load.events_each`, a `list` with `times`), an arm's
/// slice is all of it, from its beginning until the last event has ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// Measured time per slice; the limit if the workload has an end.
    pub slice_s: f64,
    /// Load before that, in no figure. 0 if the workload has an end: then all of it is measured.
    #[serde(default = "default_settle_s")]
    pub settle_s: f64,
    /// Maximum pause without load after a slice, until the watched processes use almost no CPU:
    /// after writes a server continues to work for a while.
    #[serde(default)]
    pub rest_s: f64,
    pub rounds: u32,
    /// Sample threads of the arm's watched process in the middle two of every four rounds after the
    /// first, at most this many per second, see `look` of a slice. The other rounds show the effect
    /// of sampling. Absent: no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = LOOK_READS_MAX))]
    pub look_reads_per_s: Option<u32>,
}

/// How to connect and log in to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Unix socket. If it is set, `host` and `port` are not used.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default = "default_port")]
    pub port: u16,
    #[serde(default = "default_user")]
    pub user: String,
    /// Name of the environment variable that holds the password.
    #[serde(default)]
    pub password_env: Option<String>,
    #[serde(default)]
    pub database: Option<String>,
    #[serde(default = "default_connect_timeout_s")]
    pub connect_timeout_s: f64,
    #[serde(default)]
    pub tls: Tls,
    /// Send the password as plain text if the server asks for it (`mysql_clear_password`), even if
    /// the server is not verified.
    #[serde(default)]
    pub enable_cleartext_plugin: bool,
    /// Accept the RSA key that the server sends, without verifying it (`caching_sha2_password`).
    #[serde(default)]
    pub get_server_public_key: bool,
    /// PEM file with the server's RSA key.
    #[serde(default)]
    pub server_public_key_path: Option<PathBuf>,
    #[serde(default)]
    pub compression: Compression,
    /// `utf8mb4`, `utf8mb3`, `latin1`, `ascii` or `binary`.
    #[serde(default = "default_charset")]
    pub charset: String,
    /// Statements sent first on every connection of a native workload.
    #[serde(default)]
    pub init_sql: Vec<String>,
    /// Allow statements to load local files. Their content comes from the workload; a file that the
    /// server names is never read.
    #[serde(default)]
    pub local_infile: bool,
    /// MariaDB: send the metadata of a prepared statement's result once, not with each answer.
    #[serde(default)]
    pub cache_metadata: bool,
    /// For `load.protocol` `handler_socket`. Absent: the plugin's own ports on `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler_socket: Option<HandlerSocket>,
}

/// Where the plugin HandlerSocket listens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandlerSocket {
    /// Its port for reading.
    pub port: u16,
    /// Its port for writing.
    pub port_wr: u16,
    /// Unix sockets instead of the ports.
    pub socket: Option<PathBuf>,
    pub socket_wr: Option<PathBuf>,
    /// Names of the environment variables that hold the secrets of the two, if they have any.
    pub secret_env: Option<String>,
    pub secret_wr_env: Option<String>,
}

impl Default for HandlerSocket {
    fn default() -> Self {
        Self {
            port: 9998,
            port_wr: 9999,
            socket: None,
            socket_wr: None,
            secret_env: None,
            secret_wr_env: None,
        }
    }
}

impl Plan {
    /// The plan of one arm alone. What the arm leaves out is taken from this plan, except nodes and
    /// route.
    pub fn of_arm(&self, arm: &Arm) -> Self {
        let arm = arm.clone();
        let plan = self.clone();
        Self {
            server: arm.server.unwrap_or(plan.server),
            workload: arm.workload.unwrap_or(plan.workload),
            watch: arm.watch.or(plan.watch),
            nodes: arm.nodes,
            load: Load {
                protocol: arm.protocol.unwrap_or(plan.load.protocol),
                depth: arm.depth.unwrap_or(plan.load.depth),
                arrival: arm.arrival.unwrap_or(plan.load.arrival),
                route: arm.route,
                ..plan.load
            },
            arms: Vec::new(),
            ..plan
        }
    }

    /// Makes the paths of sockets and PEM files absolute, so that they hold in any current folder.
    ///
    /// # Errors
    /// The current folder does not exist.
    pub fn make_paths_absolute(&mut self) -> std::io::Result<()> {
        let arms = self.arms.iter_mut();
        let (of_arms, nodes): (Vec<_>, Vec<_>) =
            arms.map(|arm| (&mut arm.server, &mut arm.nodes)).unzip();
        let nodes = nodes.into_iter().flatten().chain(&mut self.nodes);
        let of_nodes = nodes.map(|node| &mut node.server);
        let servers = of_arms.into_iter().chain(of_nodes).flatten();
        let servers = servers.chain([&mut self.server]);
        for Server {
            socket,
            tls,
            handler_socket,
            server_public_key_path,
            ..
        } in servers
        {
            let paths = [
                socket,
                server_public_key_path,
                &mut tls.ca,
                &mut tls.certificate,
                &mut tls.key,
            ];
            let keys = handler_socket.iter_mut();
            let keys = keys.flat_map(|keys| [&mut keys.socket, &mut keys.socket_wr]);
            for path in paths.into_iter().chain(keys).flatten() {
                *path = std::path::absolute(&*path)?;
            }
        }
        Ok(())
    }
}

/// Encryption on the way to the server. The paths name PEM files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    pub mode: TlsMode,
    /// The authority that signs the server's certificate; the modes that verify need it.
    pub ca: Option<PathBuf>,
    /// The client's certificate and its key, if the server asks for one.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// Named like in the servers' own clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    Disabled,
    /// If the server offers it, and not over a Unix socket. Nothing is verified.
    #[default]
    Preferred,
    /// Always; nothing is verified.
    Required,
    /// Always; `ca` must have signed the server's certificate.
    VerifyCa,
    /// Like `verify-ca`, and the certificate must name the host.
    VerifyIdentity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    #[default]
    None,
    Zlib,
    /// MySQL only.
    Zstd,
}

/// Rate, duration and connections of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub connections: u32,
    /// Hosts that share the load. Each has the same number of connections, and the events whose
    /// number modulo `hosts` is its own.
    #[serde(default = "default_hosts")]
    #[schemars(range(min = 1, max = HOSTS_MAX))]
    pub hosts: u32,
    /// What a run does if it loses one of its hosts.
    #[serde(default)]
    pub host_lost: HostLost,
    /// Worker threads; absent: one per CPU, but at most one per connection.
    #[serde(default)]
    pub threads: Option<u32>,
    #[serde(default)]
    pub warmup_s: f64,
    /// Length of the window. Leave it out with arms: `slices` has their measured time.
    #[serde(default)]
    pub measure_s: f64,
    /// Needs `arms`, and they need it. Each arm has `warmup_s` once, before the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// Length of the intervals reported during the run; 0: none.
    #[serde(default = "default_interval_s")]
    pub interval_s: f64,
    #[serde(default)]
    pub protocol: Protocol,
    /// Requests that may be in flight on each connection: each answer triggers the next one. For
    /// workloads in which every event is one statement that does not change the connection's state.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = DEPTH_MAX))]
    pub depth: u32,
    /// How bytes get in and out of the sockets.
    #[serde(default)]
    pub engine: Engine,
    /// How errors of the server are handled.
    #[serde(default)]
    pub errors: Errors,
    /// Events of the whole run, without those of the warm-up: it ends after them, even before its
    /// time. They are shared: the next one goes to the first free connection.
    #[serde(default)]
    pub events: Option<u64>,
    /// Events of each connection: it ends after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_each: Option<u64>,
    /// When events begin.
    #[serde(default)]
    pub arrival: Arrival,
    /// Needs `nodes`; absent: each in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// Close and reopen each connection after this number of events; absent: never.
    #[serde(default)]
    pub reconnect_every: Option<u64>,
    /// Additional connections without load.
    #[serde(default)]
    pub idle_connections: u32,
    /// Open all connections at once instead of gradually.
    #[serde(default)]
    pub storm: bool,
    /// A request without an answer for this time counts as a lost connection; absent: never.
    #[serde(default)]
    pub answer_timeout_s: Option<f64>,
}

impl Load {
    /// Whether the load may end before its time, when its work is done.
    pub fn ends_with_its_work(&self) -> bool {
        let limits = [self.events, self.events_each];
        // A list without an end that connections share has this many.
        limits.into_iter().flatten().any(|limit| limit < u64::MAX)
    }
}

/// What a run does if it loses one of its hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostLost {
    /// It fails: the others stop at once.
    #[default]
    Fail,
    /// It continues without that host, and reports that.
    GoOn,
}

/// When events begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// Each connection begins an event when the previous one has ended, after the think time.
    Closed {
        /// Pause of a connection between the end of an event and the next one.
        #[serde(default)]
        think_s: f64,
        /// Pauses are exponentially distributed with the think time as their mean.
        #[serde(default)]
        think_scatters: bool,
    },
    /// Events are due at times that do not depend on the server. Each connection has at most
    /// `load.depth` events in progress. Other due events wait, and the wait counts in their
    /// latency.
    Open {
        /// How the times are distributed.
        #[serde(default)]
        process: Process,
        /// Counted from the start of the window; the warm-up runs at the first rate. After the last
        /// stage its end rate stays.
        stages: Vec<Stage>,
    },
}

impl Default for Arrival {
    fn default() -> Self {
        Self::Closed {
            think_s: 0.0,
            think_scatters: false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Arrivals are independent of each other, like those of many users.
    #[default]
    Poisson,
    Even,
}

/// A period of an open loop: a constant rate, or a ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Events per second.
    pub rate: f64,
    /// The rate at its end; absent: it stays the same.
    #[serde(default)]
    pub end_rate: Option<f64>,
    /// How long it lasts; the last one lasts to the end of the run.
    #[serde(default)]
    pub duration_s: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// `io_uring` if the kernel allows it, else `epoll`.
    #[default]
    Auto,
    Epoll,
    IoUring,
}

/// Errors by code. An error that is in no list ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Errors {
    /// The event is repeated with the same statements; its clock continues.
    pub retry: Vec<u16>,
    /// If an event has failed more often than this, it is given up and counted as failed.
    pub retry_limit: u32,
    /// Longest pause before the first retry of an event. It doubles with each further retry, to at
    /// most 64 times its length. Each pause is drawn between half of it and the whole. 0: no pause.
    pub retry_pause_s: f64,
    /// Counted, and ignored as if the answer were good.
    pub ignore: Vec<u16>,
    /// Every other code is ignored too.
    pub ignore_all: bool,
    /// A lost connection is reopened, with growing pauses.
    pub reconnect: bool,
}

impl Default for Errors {
    fn default() -> Self {
        Self {
            // A record changed since it was read, a lock wait that lasted too long, a deadlock.
            retry: vec![1020, 1205, 1213],
            retry_limit: 100,
            retry_pause_s: 0.0,
            ignore: Vec::new(),
            ignore_all: false,
            reconnect: true,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Binary protocol, statements prepared once per connection.
    #[default]
    Prepared,
    Text,
    /// MariaDB's plugin HandlerSocket: rows by key, without SQL. For `point_select`,
    /// `random_points` and `update_non_index`.
    HandlerSocket,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    pub pid: u32,
    /// A statement that returns the number of each connection with the kernel's number of its
    /// thread. Thread samples (`load.slices.look_reads_per_s`) then show separately what the
    /// threads of the slowest hundredth of events did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
    /// Further processes of the same server, such as those behind a front; the reported values are
    /// the sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<u32>,
}

fn default_port() -> u16 {
    3306
}
fn default_user() -> String {
    "root".to_owned()
}
fn default_connect_timeout_s() -> f64 {
    10.0
}
fn default_charset() -> String {
    "utf8mb4".to_owned()
}
fn default_depth() -> u32 {
    1
}
fn default_hosts() -> u32 {
    1
}
fn default_settle_s() -> f64 {
    0.02
}
fn default_interval_s() -> f64 {
    1.0
}
