//! How far the memory of each node is from the CPUs of each node: the time of a load, and the bytes
//! read per second.

use super::chain::{BYTES_MIN, Chain};
use super::mapped::MappedWords;
use super::nodes::{HostNode, HostNodes};
use super::{on, together};
use serde::Serialize;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

/// Memory taken from a node: this multiple of a node's caches, within bounds.
const TIMES_THE_CACHES: usize = 4;
const BYTES_MAX: usize = 1 << 30;
/// Bytes of a node that stay free.
const LEFT: usize = 64 << 20;
const MIB: usize = 1 << 20;
/// Nodes that are measured on a host with more.
const NODES_MAX: usize = 32;

/// Approximate time for all pairs together, and the limit for one.
const ALL: Duration = Duration::from_secs(6);
const PAIR_AT_MOST: Duration = Duration::from_millis(90);
/// A third of a pair's time is for its loads, the rest for this number of windows of reading. The
/// best window counts: other load can only make one slower.
const WINDOWS: u32 = 3;
/// Words between two readings of the clock.
const CHUNK: usize = 32 << 10;

/// Results for the memory nodes of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeMatrix {
    /// Bytes read of each node. Less than twice `caches_bytes` is partly read from caches.
    pub bytes: usize,
    /// Last-level caches of the node that has most.
    pub caches_bytes: usize,
    pub nodes: Vec<MemoryNode>,
    pub pairs: Vec<NodePair>,
}

/// A node, and why a part of it is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryNode {
    pub node: usize,
    /// CPUs that read.
    pub cpus: usize,
    pub no_cpus: Option<String>,
    pub no_memory: Option<String>,
}

/// The CPUs of one node and the memory of one; none if others had the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NodePair {
    pub cpus_of: usize,
    pub memory_of: usize,
    /// Nanoseconds of one load by one CPU, where each load waits for the one before it.
    pub latency_ns: Option<f64>,
    /// Bytes that all CPUs read in order, in 10^9 bytes per second.
    pub bandwidth_gb_s: Option<f64>,
}

/// A request to measure one node's memory.
#[derive(Debug)]
pub struct NodeWish<'a> {
    pub memory_of: usize,
    /// There are further nodes, so its memory must be distinguished from theirs.
    pub is_one_of_several: bool,
    pub bytes: usize,
    /// Nodes with their CPUs.
    pub readers: &'a [(usize, &'a [usize])],
    /// Time per pair.
    pub time: Duration,
}

/// Every node's memory from every node. `measure` returns all pairs of one node's memory, or why
/// that memory is not available.
pub fn matrix(
    host: &HostNodes,
    measure: impl Fn(&NodeWish<'_>) -> Result<Vec<NodePair>, String>,
) -> NodeMatrix {
    let bytes = wanted(host.caches);
    let looked = &host.nodes[..host.nodes.len().min(NODES_MAX)];
    let readers: Vec<(usize, &[usize])> = looked
        .iter()
        .filter_map(|one| Some((one.node, one.cpus.as_deref().ok()?)))
        .collect();
    let places = u32::try_from(readers.len() * looked.len()).unwrap_or(u32::MAX);
    let mut found = NodeMatrix {
        bytes,
        caches_bytes: host.caches,
        nodes: Vec::with_capacity(host.nodes.len()),
        pairs: Vec::new(),
    };
    for (place, one) in host.nodes.iter().enumerate() {
        let pairs = if place >= NODES_MAX {
            Err(format!("only {NODES_MAX} nodes are measured"))
        } else {
            enough(one, bytes).and_then(|()| {
                measure(&NodeWish {
                    memory_of: one.node,
                    is_one_of_several: host.nodes.len() > 1,
                    bytes,
                    readers: &readers,
                    time: PAIR_AT_MOST.min(ALL / places.max(1)),
                })
            })
        };
        found.nodes.push(MemoryNode {
            node: one.node,
            cpus: one.cpus.as_ref().map_or(0, Vec::len),
            no_cpus: one.cpus.as_ref().err().cloned(),
            no_memory: pairs.as_ref().err().cloned(),
        });
        found.pairs.extend(pairs.unwrap_or_default());
    }
    found
}

fn wanted(caches: usize) -> usize {
    let several = caches.saturating_mul(TIMES_THE_CACHES);
    several.clamp(BYTES_MIN, BYTES_MAX).next_multiple_of(MIB)
}

fn enough(one: &HostNode, bytes: usize) -> Result<(), String> {
    let free = one.free.clone()?;
    if free >= bytes + LEFT {
        return Ok(());
    }
    Err(format!(
        "{} MiB of its memory are free and {} are needed; the page cache is not evicted for this",
        free / MIB,
        (bytes + LEFT) / MIB
    ))
}

/// Measures on this host.
///
/// # Errors
/// Why memory of that node is not available, as text.
pub fn measured(wish: &NodeWish<'_>) -> Result<Vec<NodePair>, String> {
    let words = MappedWords::new(wish.bytes).map_err(|error| format!("no memory: {error}"))?;
    if wish.is_one_of_several {
        words.prefer(wish.memory_of).map_err(refused)?;
    }
    let mut chain = Chain::lay(words).map_err(|error| error.to_string())?;
    if wish.is_one_of_several && chain.memory().node_of().map_err(refused)? != Some(wish.memory_of)
    {
        return Err("the kernel allocated memory of different nodes instead".to_owned());
    }
    // All loads come before anything that fills caches with parts of the chain.
    let latencies: Vec<Option<f64>> = wish
        .readers
        .iter()
        .map(|(_, cpus)| {
            let first = cpus.first().copied()?;
            on(first, || chain.latency_ns(wish.time / 3)).ok().flatten()
        })
        .collect();
    let pairs = wish.readers.iter().zip(latencies);
    Ok(pairs
        .map(|(&(node, cpus), latency_ns)| NodePair {
            cpus_of: node,
            memory_of: wish.memory_of,
            latency_ns,
            bandwidth_gb_s: read(chain.memory(), cpus, wish.time * 2 / 3 / WINDOWS).ok(),
        })
        .collect())
}

fn refused(error: io::Error) -> String {
    let how = match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) => {
            "; a container needs CAP_SYS_NICE, or a seccomp profile that allows it"
        }
        _ => "",
    };
    format!("the kernel refuses to place memory on a node (mbind: {error}){how}")
}

/// Bytes that these CPUs read together, each its own part repeatedly: 10^9 bytes per second.
fn read(words: &[u64], cpus: &[usize], window: Duration) -> io::Result<f64> {
    let part = words.len().div_ceil(cpus.len().max(1)).max(1);
    let parts: Vec<&[u64]> = words.chunks(part).collect();
    let mut best = 0.0_f64;
    for _ in 0..WINDOWS {
        let rates = together(cpus, |place| {
            parts.get(place).map_or(0.0, |part| read_part(part, window))
        })?;
        best = best.max(rates.iter().sum());
    }
    Ok(best)
}

fn read_part(part: &[u64], window: Duration) -> f64 {
    let (begun, mut words) = (Instant::now(), 0_usize);
    for chunk in part.chunks(CHUNK).cycle() {
        black_box(
            chunk
                .iter()
                .fold(0_u64, |sum, word| sum.wrapping_add(*word)),
        );
        words += chunk.len();
        if begun.elapsed() >= window {
            break;
        }
    }
    (words * size_of::<u64>()) as f64 / begun.elapsed().as_nanos().max(1) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::cpus::nodes::tests::two_nodes;
    use std::cell::RefCell;
    use std::path::Path;

    /// 100 ns and 20 GB/s to the own node, 160 ns and 9 GB/s to a different one.
    fn fake(wish: &NodeWish<'_>) -> Result<Vec<NodePair>, String> {
        let pair = |&(node, _): &(usize, &[usize])| {
            let is_near = node == wish.memory_of;
            NodePair {
                cpus_of: node,
                memory_of: wish.memory_of,
                latency_ns: Some(if is_near { 100.0 } else { 160.0 }),
                bandwidth_gb_s: Some(if is_near { 20.0 } else { 9.0 }),
            }
        };
        Ok(wish.readers.iter().map(pair).collect())
    }

    fn node(
        node: usize,
        cpus: Result<Vec<usize>, String>,
        free: Result<usize, String>,
    ) -> HostNode {
        HostNode { node, cpus, free }
    }

    fn of(nodes: Vec<HostNode>) -> HostNodes {
        HostNodes { nodes, caches: 0 }
    }

    #[test]
    fn a_recorded_host_of_two_nodes_has_four_pairs() {
        let host = two_nodes("matrix", "Mems_allowed_list:\t0-1\n").read(&[0, 1, 2, 3]);
        let wishes = RefCell::new(Vec::new());
        let found = matrix(&host, |wish| {
            let readers: Vec<_> = wish.readers.iter().map(|(n, c)| (*n, c.to_vec())).collect();
            wishes
                .borrow_mut()
                .push((wish.memory_of, wish.is_one_of_several, readers));
            fake(wish)
        });
        let readers = vec![(0, vec![0, 2]), (1, vec![1, 3])];
        assert_eq!(
            *wishes.borrow(),
            [(0, true, readers.clone()), (1, true, readers)]
        );
        assert_eq!(found.bytes, 128 << 20);
        assert_eq!(found.caches_bytes, 16 << 20);
        let pairs: Vec<_> = found
            .pairs
            .iter()
            .map(|p| (p.cpus_of, p.memory_of, p.latency_ns))
            .collect();
        assert_eq!(
            pairs,
            [
                (0, 0, Some(100.0)),
                (1, 0, Some(160.0)),
                (0, 1, Some(160.0)),
                (1, 1, Some(100.0))
            ]
        );
        assert!(
            found
                .nodes
                .iter()
                .all(|n| n.cpus == 2 && n.no_cpus.is_none() && n.no_memory.is_none())
        );
    }

    #[test]
    fn nodes_without_cpus_read_nothing_and_nodes_without_memory_are_not_read() {
        let host = of(vec![
            node(0, Ok(vec![0, 1]), Err("it has no memory".to_owned())),
            node(1, Err("it has no CPUs".to_owned()), Ok(1 << 40)),
        ]);
        let found = matrix(&host, fake);
        assert_eq!(found.pairs.len(), 1);
        assert_eq!((found.pairs[0].cpus_of, found.pairs[0].memory_of), (0, 1));
        assert_eq!(
            found.nodes[0].no_memory.as_deref(),
            Some("it has no memory")
        );
        assert_eq!(found.nodes[1].no_cpus.as_deref(), Some("it has no CPUs"));
        assert_eq!(found.nodes[1].cpus, 0);
    }

    #[test]
    fn a_full_node_and_one_that_the_kernel_refuses_are_missing_with_the_reason() {
        let host = of(vec![
            node(0, Ok(vec![0]), Ok(191 << 20)),
            node(1, Ok(vec![1]), Ok(192 << 20)),
        ]);
        let found = matrix(&host, |_| {
            Err(refused(io::Error::from_raw_os_error(libc::EPERM)))
        });
        assert!(found.pairs.is_empty());
        let [full, barred] = [0, 1].map(|at| found.nodes[at].no_memory.clone().unwrap());
        assert!(
            full.starts_with("191 MiB of its memory are free and 192 are needed"),
            "{full}"
        );
        assert!(
            barred.contains("mbind: Operation not permitted"),
            "{barred}"
        );
        assert!(barred.contains("a container needs CAP_SYS_NICE"));
    }

    #[test]
    fn large_caches_want_more_memory_within_bounds() {
        assert_eq!(wanted(0), 128 << 20);
        assert_eq!(wanted(100 << 20), 400 << 20);
        assert_eq!(wanted((100 << 20) + 1), 401 << 20);
        assert_eq!(wanted(usize::MAX), 1 << 30);
    }

    #[test]
    fn many_nodes_take_no_more_time_and_those_beyond_32_are_told() {
        let free = Ok(1 << 40);
        let nodes = (0..40)
            .map(|at| node(at, Ok(vec![at]), free.clone()))
            .collect();
        let whole = RefCell::new(Duration::ZERO);
        let found = matrix(&of(nodes), |wish| {
            *whole.borrow_mut() += wish.time * wish.readers.len() as u32;
            fake(wish)
        });
        assert!(*whole.borrow() <= ALL);
        assert_eq!(found.pairs.len(), 32 * 32);
        assert_eq!(found.nodes.len(), 40);
        assert_eq!(
            found.nodes[32].no_memory.as_deref(),
            Some("only 32 nodes are measured")
        );
    }

    #[test]
    fn memory_of_this_host_is_measured_or_there_is_a_reason() {
        let allowed = crate::cpus::allowed().unwrap();
        let mut host = HostNodes::read(Path::new("/"), &allowed);
        host.caches = 0;
        let found = matrix(&host, measured);
        for node in &found.nodes {
            let of_it = found
                .pairs
                .iter()
                .filter(|pair| pair.memory_of == node.node);
            assert_eq!(of_it.count() == 0, node.no_memory.is_some(), "{node:?}");
        }
        let figures = found.pairs.iter().filter_map(|pair| pair.bandwidth_gb_s);
        assert!(figures.clone().all(|read| read > 0.0));
        assert_eq!(figures.count(), found.pairs.len());
    }

    #[test]
    fn a_cpu_that_is_not_there_gives_no_figure() {
        let gone = [rustix::thread::CpuSet::MAX_CPU - 1];
        let wish = NodeWish {
            memory_of: 0,
            is_one_of_several: false,
            bytes: 1 << 20,
            readers: &[(0, &gone)],
            time: Duration::from_millis(9),
        };
        let [pair] = measured(&wish).unwrap()[..] else {
            panic!("one pair")
        };
        assert_eq!((pair.latency_ns, pair.bandwidth_gb_s), (None, None));
    }
}
