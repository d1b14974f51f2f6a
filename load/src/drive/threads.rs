//! How many workers a run gets where the plan leaves it open.

/// Connections that one worker serves before a second one pays.
const CONNECTIONS_A_WORKER: u32 = 64;

/// Workers for so many connections on this host.
pub fn for_connections(connections: u32) -> u32 {
    let wanted = connections.div_ceil(CONNECTIONS_A_WORKER);
    // The server usually shares this host: leave it half.
    wanted.clamp(1, half_of_host())
}

/// Half of this host's CPUs: what each side gets where client and server share it.
pub fn half_of_host() -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    (cpus / 2).max(1)
}
