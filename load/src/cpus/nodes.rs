//! The memory nodes of this host, and what of each is there for us.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const NODES: &str = "sys/devices/system/node";
const CPUS: &str = "sys/devices/system/cpu";
/// A list of the kernel that claims more is not one.
const NUMBERS_MAX: usize = 1 << 16;

/// A node as far as it can be used. A missing part has a reason, as text.
#[derive(Clone, Debug, PartialEq)]
pub struct HostNode {
    pub node: usize,
    /// CPUs of it that this process may use; at least one.
    pub cpus: Result<Vec<usize>, String>,
    /// Unused bytes of it.
    pub free: Result<usize, String>,
}

/// The nodes of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostNodes {
    pub nodes: Vec<HostNode>,
    /// All last-level caches of that node that has most of them, in bytes; 0 if none is shown.
    pub caches: usize,
}

impl HostNodes {
    /// Reads the kernel's files. A kernel without nodes has one, with all CPUs.
    ///
    /// # Arguments
    /// `root`: where `sys` and `proc` are; `allowed`: CPUs that this process may use.
    pub fn read(root: &Path, allowed: &[usize]) -> Self {
        let ours = mems_allowed(root);
        let mut known: Vec<HostNode> = numbered(&root.join(NODES))
            .map(|node| HostNode {
                node,
                cpus: cpus_of(root, node, allowed),
                free: free_of(root, node).and_then(|free| match &ours {
                    // No cpuset has a node without memory, so that is reported before.
                    Some(ours) if !ours.contains(&node) => {
                        Err("the cpuset of this process excludes its memory".to_owned())
                    }
                    _ => Ok(free),
                }),
            })
            .collect();
        known.sort_unstable_by_key(|one| one.node);
        if known.is_empty() {
            known.push(HostNode {
                node: 0,
                cpus: Ok(allowed.to_vec()),
                free: free_of_host(root),
            });
        }
        let mut caches = known
            .iter()
            .map(|one| caches_of(root, one.cpus.as_deref().unwrap_or_default()));
        let caches = caches.by_ref().max().unwrap_or_default();
        Self {
            nodes: known,
            caches,
        }
    }
}

/// Numbers of the folders `node0`, `node1`, …
fn numbered(folder: &Path) -> impl Iterator<Item = usize> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        entry
            .file_name()
            .to_str()?
            .strip_prefix("node")?
            .parse()
            .ok()
    })
}

fn cpus_of(root: &Path, node: usize, allowed: &[usize]) -> Result<Vec<usize>, String> {
    let file = root.join(format!("{NODES}/node{node}/cpulist"));
    let Some(of_it) = fs::read_to_string(file)
        .ok()
        .and_then(|text| numbers(&text))
    else {
        return Err("the kernel does not show its CPUs".to_owned());
    };
    if of_it.is_empty() {
        return Err("it has no CPUs".to_owned());
    }
    let ours: Vec<usize> = of_it
        .into_iter()
        .filter(|cpu| allowed.contains(cpu))
        .collect();
    if ours.is_empty() {
        return Err("this process may not use any of its CPUs".to_owned());
    }
    Ok(ours)
}

fn free_of(root: &Path, node: usize) -> Result<usize, String> {
    let text = fs::read_to_string(root.join(format!("{NODES}/node{node}/meminfo")));
    let text = text.unwrap_or_default();
    // `Node 0 MemFree:  8192000 kB`
    let bytes = |name: &str| text.lines().find_map(|line| kib(line.split_once(name)?.1));
    match (bytes("MemTotal:"), bytes("MemFree:")) {
        (Some(0), _) => Err("it has no memory".to_owned()),
        (Some(_), Some(free)) => Ok(free),
        _ => Err("the kernel does not show its memory".to_owned()),
    }
}

fn free_of_host(root: &Path) -> Result<usize, String> {
    let text = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    text.lines()
        .find_map(|line| kib(line.strip_prefix("MemFree:")?))
        .ok_or_else(|| "the kernel does not show its memory".to_owned())
}

/// `  8192000 kB` in bytes.
fn kib(text: &str) -> Option<usize> {
    let number: usize = text.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Nodes whose memory this process may use; None if the kernel gives no answer.
fn mems_allowed(root: &Path) -> Option<Vec<usize>> {
    let text = fs::read_to_string(root.join("proc/self/status")).ok()?;
    numbers(
        text.lines()
            .find_map(|line| line.strip_prefix("Mems_allowed_list:"))?,
    )
}

/// The last-level caches of these CPUs, each once.
fn caches_of(root: &Path, cpus: &[usize]) -> usize {
    // By the CPUs that share it: no identity number of a cache is shown by all kernels.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for cpu in cpus {
        let folder = root.join(format!("{CPUS}/cpu{cpu}/cache"));
        let last = (0..8)
            .filter_map(|index| {
                let of = folder.join(format!("index{index}"));
                let level: u32 = read_trimmed(&of.join("level"))?.parse().ok()?;
                let bytes = cache_bytes(&read_trimmed(&of.join("size"))?)?;
                Some((level, read_trimmed(&of.join("shared_cpu_list"))?, bytes))
            })
            .max_by_key(|(level, ..)| *level);
        seen.extend(last.map(|(_, shared, bytes)| (shared, bytes)));
    }
    seen.values()
        .fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

fn read_trimmed(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

/// `32768K` in bytes.
fn cache_bytes(text: &str) -> Option<usize> {
    text.strip_suffix('K')?
        .parse::<usize>()
        .ok()?
        .checked_mul(1024)
}

/// Numbers of the kernel's list form: `0-3,8` is 0, 1, 2, 3, 8. None if it is not one.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last.saturating_sub(first) + found.len() > NUMBERS_MAX {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found)
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use std::path::PathBuf;

    /// A host as a tree of files in its own folder.
    pub struct Recorded(PathBuf);

    impl Recorded {
        pub fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let id = std::process::id();
            let root = std::env::temp_dir().join(format!("contend-nodes-{id}-{name}"));
            for (path, text) in files {
                let file = root.join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Self(root)
        }

        pub fn read(&self, allowed: &[usize]) -> HostNodes {
            HostNodes::read(&self.0, allowed)
        }
    }

    impl Drop for Recorded {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const STATUS: &str = "Name:\tcontend-load\nMems_allowed:\t3\nMems_allowed_list:\t0-1\n";

    /// Two sockets of two CPUs, a cache for each socket; the second node is nearly full.
    pub fn two_nodes(name: &str, status: &str) -> Recorded {
        let cache = |cpu: usize, index: usize, file: &str| {
            format!("{CPUS}/cpu{cpu}/cache/index{index}/{file}")
        };
        let mut files: Vec<(String, String)> = vec![
            (format!("{NODES}/node0/cpulist"), "0,2\n".to_owned()),
            (format!("{NODES}/node1/cpulist"), "1,3\n".to_owned()),
            (
                format!("{NODES}/node0/meminfo"),
                "Node 0 MemTotal:       65536000 kB\nNode 0 MemFree:         4096000 kB\n"
                    .to_owned(),
            ),
            (
                format!("{NODES}/node1/meminfo"),
                "Node 1 MemTotal:       65536000 kB\nNode 1 MemFree:         2048000 kB\n"
                    .to_owned(),
            ),
            (format!("{NODES}/possible"), "0-1\n".to_owned()),
            ("proc/self/status".to_owned(), status.to_owned()),
        ];
        for cpu in 0..4 {
            let socket = if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" };
            for (index, level, size, shared) in [
                (0, "1\n", "32K\n", cpu.to_string()),
                (3, "3\n", "16384K\n", socket.to_owned()),
            ] {
                files.push((cache(cpu, index, "level"), level.to_owned()));
                files.push((cache(cpu, index, "size"), size.to_owned()));
                files.push((cache(cpu, index, "shared_cpu_list"), shared));
            }
        }
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(p, t)| (p.as_str(), t.as_str()))
            .collect();
        Recorded::new(name, &files)
    }

    #[test]
    fn two_nodes_have_their_cpus_their_free_memory_and_a_cache() {
        let found = two_nodes("plain", STATUS).read(&[0, 1, 2, 3]);
        assert_eq!(found.caches, 16 << 20);
        let [near, far] = &found.nodes[..] else {
            panic!("{found:?}")
        };
        assert_eq!((near.node, near.cpus.clone()), (0, Ok(vec![0, 2])));
        assert_eq!((far.node, far.cpus.clone()), (1, Ok(vec![1, 3])));
        assert_eq!(near.free, Ok(4_096_000 * 1024));
        assert_eq!(far.free, Ok(2_048_000 * 1024));
    }

    #[test]
    fn a_node_whose_cpus_are_not_ours_and_one_outside_the_cpuset_say_so() {
        let found = two_nodes("held", "Mems_allowed_list:\t0\n").read(&[2]);
        assert_eq!(found.nodes[0].cpus, Ok(vec![2]));
        let (cpus, free) = (&found.nodes[1].cpus, &found.nodes[1].free);
        assert_eq!(
            cpus.as_ref().unwrap_err(),
            "this process may not use any of its CPUs"
        );
        assert_eq!(
            free.as_ref().unwrap_err(),
            "the cpuset of this process excludes its memory"
        );
    }

    #[test]
    fn memory_without_cpus_and_cpus_without_memory_are_nodes() {
        let host = Recorded::new(
            "odd",
            &[
                ("sys/devices/system/node/node0/cpulist", "0-1\n"),
                (
                    "sys/devices/system/node/node0/meminfo",
                    "Node 0 MemTotal: 0 kB\nNode 0 MemFree: 0 kB\n",
                ),
                ("sys/devices/system/node/node10/cpulist", "\n"),
                (
                    "sys/devices/system/node/node10/meminfo",
                    "Node 10 MemTotal: 9 kB\nNode 10 MemFree: 8 kB\n",
                ),
                ("sys/devices/system/node/node2/cpulist", "what\n"),
                ("proc/self/status", "Mems_allowed_list:\t2,10\n"),
            ],
        );
        let found = host.read(&[0, 1]);
        let told: Vec<_> = found.nodes.iter().map(|one| one.node).collect();
        assert_eq!(told, [0, 2, 10]);
        assert_eq!(
            found.nodes[0].free.as_ref().unwrap_err(),
            "it has no memory"
        );
        assert_eq!(
            found.nodes[1].cpus.as_ref().unwrap_err(),
            "the kernel does not show its CPUs"
        );
        assert_eq!(
            found.nodes[1].free.as_ref().unwrap_err(),
            "the kernel does not show its memory"
        );
        assert_eq!(found.nodes[2].cpus.as_ref().unwrap_err(), "it has no CPUs");
        assert_eq!(found.nodes[2].free, Ok(8192));
        assert_eq!(found.caches, 0);
    }

    #[test]
    fn a_kernel_without_nodes_is_one_node_with_every_cpu() {
        let host = Recorded::new(
            "none",
            &[("proc/meminfo", "MemTotal: 900 kB\nMemFree:  100 kB\n")],
        );
        let found = host.read(&[0, 5]);
        let one = HostNode {
            node: 0,
            cpus: Ok(vec![0, 5]),
            free: Ok(102_400),
        };
        assert_eq!(found.nodes, [one]);
    }

    #[test]
    fn lists_of_the_kernel_are_read_and_others_are_not() {
        assert_eq!(numbers("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(numbers(" \n"), Some(vec![]));
        assert_eq!(numbers("0-"), None);
        assert_eq!(numbers("0-99999999"), None);
        assert_eq!(numbers("3-1"), Some(vec![]));
    }

    #[test]
    fn this_host_has_a_node_with_our_cpus() {
        let allowed = crate::cpus::allowed().unwrap();
        let found = HostNodes::read(Path::new("/"), &allowed);
        let ours: usize = found
            .nodes
            .iter()
            .flat_map(|one| &one.cpus)
            .map(Vec::len)
            .sum();
        assert_eq!(ours, allowed.len());
    }
}
