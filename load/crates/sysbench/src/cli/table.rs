//! The options that do not belong to scripts: names, kinds, defaults, whose they are, help.

use crate::lua::options::{OptionType, normal_name};
use crate::lua::run::Compat;
use InPlan::{Open, Said};
use OptionType::{Bool, Double, File, Int, List, Size, Str};
use Whose::{Both, Only1_0, Only1_1, Ours};

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub name: &'static str,
    pub kind: OptionType,
    pub default: Option<&'static str>,
    pub help: &'static str,
    pub whose: Whose,
    pub in_plan: InPlan,
}

/// Whether a plan may have an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlan {
    /// It may be among the options of the script.
    Open,
    /// Nothing: why it is refused there.
    Said(&'static str),
}

const SERVER: InPlan = Said("the measured server determines it");
const NOTHING: InPlan = Said("it does not apply to the workload of a plan");

/// The versions that have an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Both,
    Only1_0,
    Only1_1,
    /// None does: it is contend's own. Scripts see it only where it was given.
    Ours,
}

/// Options that are listed together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub title: &'static str,
    pub options: &'static [Known],
}

const fn known(
    name: &'static str,
    kind: OptionType,
    default: Option<&'static str>,
    whose: Whose,
    in_plan: InPlan,
    help: &'static str,
) -> Known {
    Known {
        name,
        kind,
        default,
        help,
        whose,
        in_plan,
    }
}

impl Known {
    /// True where this version, or contend, has the option.
    pub fn is_of(&self, compat: Compat) -> bool {
        match self.whose {
            Whose::Both | Whose::Ours => true,
            Whose::Only1_0 => compat == Compat::V1_0,
            Whose::Only1_1 => compat == Compat::V1_1,
        }
    }
}

/// In the order of the help.
#[rustfmt::skip]
pub const GROUPS: &[Group] = &[
    Group { title: "General options:", options: &[
        known("threads", Int, Some("1"), Both, Said("use load.connections instead"), "threads of the script; each runs its own events"),
        known("events", Int, Some("0"), Both, Said("use load.events of a plan instead"), "end after this number of events; 0: no limit"),
        known("time", Int, Some("10"), Both, Said("use load.measure instead"), "end after this number of seconds; 0: no limit"),
        known("warmup-time", Int, Some("0"), Only1_1, Said("use load.warmup instead"), "seconds to run before counting starts"),
        known("forced-shutdown", Str, Some("off"), Both, NOTHING, "end by force this number of seconds after --time, or N% of it; 'off': wait"),
        known("thread-stack-size", Size, Some("64K"), Both, NOTHING, "accepted; a stack uses up to 8 MiB as needed"),
        known("thread-init-timeout", Int, Some("30"), Only1_1, Said("use the connect timeout instead"), "maximum seconds until all threads have started"),
        known("rate", Int, Some("0"), Both, Said("use load.arrival of a plan instead"), "mean events per second; 0: as many as possible"),
        known("report-interval", Double, Some("0"), Both, Said("use load.interval instead"), "seconds between reports, fractions allowed; 0: only at the end"),
        known("report-checkpoints", List, Some(""), Both, NOTHING, "print the whole report at these seconds after the start, and restart counting"),
        known("debug", Bool, Some("off"), Both, NOTHING, "print more messages"),
        known("validate", Bool, Some("off"), Both, Open, "let scripts check their results"),
        known("help", Bool, Some("off"), Both, NOTHING, "print this help and exit"),
        known("version", Bool, Some("off"), Both, NOTHING, "print the version and exit"),
        known("config-file", File, None, Both, NOTHING, "read options from this file, one name=value per line"),
        known("luajit-cmd", Str, None, Only1_1, NOTHING, "command for LuaJIT: off, on, flush, opt=..."),
        known("tx-rate", Int, Some("0"), Only1_0, Said("use load.arrival of a plan instead"), "old name of --rate"),
        known("max-requests", Int, Some("0"), Only1_0, Said("use load.events of a plan instead"), "old name of --events"),
        known("max-time", Int, Some("0"), Only1_0, Said("use load.measure instead"), "old name of --time"),
        known("num-threads", Int, Some("1"), Only1_0, Said("use load.connections instead"), "old name of --threads"),
    ] },
    Group { title: "Random numbers:", options: &[
        known("rand-type", Str, Some("special"), Only1_0, Open, "distribution of sysbench.rand.default {uniform,gaussian,special,pareto}"),
        known("rand-type", Str, Some("uniform"), Only1_1, Open, "distribution of sysbench.rand.default {uniform,gaussian,pareto,zipfian}"),
        known("rand-spec-iter", Int, Some("12"), Only1_0, Open, "uniform numbers averaged into one of the gaussian distribution"),
        known("rand-spec-pct", Int, Some("1"), Only1_0, Open, "size of the special distribution's hot range, in percent"),
        known("rand-spec-res", Int, Some("75"), Only1_0, Open, "percentage of its draws in the hot range"),
        known("rand-seed", Int, Some("0"), Both, Said("use load.seed instead"), "seed of all random numbers; 0: from the clock"),
        known("rand-pareto-h", Double, Some("0.2"), Both, Open, "parameter h of pareto"),
        known("rand-zipfian-exp", Double, Some("0.8"), Only1_1, Open, "exponent of zipfian"),
    ] },
    Group { title: "Messages and statistics:", options: &[
        known("verbosity", Int, Some("3"), Both, NOTHING, "5: everything, 3: as usual, 0: only what is fatal"),
        known("percentile", Int, Some("95"), Both, NOTHING, "percentile of the latency, 1 to 100; 0: none"),
        known("histogram", Bool, Some("off"), Both, NOTHING, "print the histogram of the latency"),
    ] },
    Group { title: "Databases:", options: &[
        known("db-driver", Str, Some("mysql"), Both, NOTHING, "database driver: mysql"),
        known("db-ps-mode", Str, Some("auto"), Both, Open, "prepared statements: on the server (auto), or as plain text (disable)"),
        known("db-debug", Bool, Some("off"), Both, NOTHING, "accepted; prints nothing"),
    ] },
    Group { title: "mysql options:", options: &[
        known("mysql-host", List, Some("localhost"), Both, SERVER, "hosts, used in turn by the connections"),
        known("mysql-port", List, Some("3306"), Both, SERVER, "ports, used in turn by the connections"),
        known("mysql-socket", List, Some(""), Both, SERVER, "Unix sockets, used in turn by the connections"),
        known("mysql-user", Str, Some("sbtest"), Both, SERVER, "user"),
        known("mysql-password", Str, Some(""), Both, SERVER, "password; empty: the value of MYSQL_PWD"),
        known("mysql-db", Str, Some("sbtest"), Both, SERVER, "database"),
        known("mysql-ssl", Bool, Some("off"), Only1_0, SERVER, "use TLS; the server is not verified"),
        known("mysql-ssl", Str, Some("disabled"), Only1_1, SERVER, "TLS {disabled,preferred,required,verify_ca,verify_identity}"),
        known("mysql-ssl-key", Str, None, Only1_1, SERVER, "PEM file of the client's key"),
        known("mysql-ssl-ca", Str, None, Only1_1, SERVER, "PEM file of the authorities' certificates"),
        known("mysql-ssl-cert", Str, None, Only1_1, SERVER, "PEM file of the client's certificate"),
        known("mysql-ssl-cipher", Str, Some(""), Both, SERVER, "accepted; the ciphers of rustls are used"),
        known("mysql-get-server-public-key", Bool, Some("off"), Ours, SERVER, "accept the server's RSA key without verifying it"),
        known("mysql-server-public-key-path", Str, None, Ours, SERVER, "PEM file of the server's RSA key"),
        known("mysql-compression", Bool, Some("off"), Both, SERVER, "compress the connection with zlib"),
        known("mysql-compression-algorithms", Str, Some("zlib"), Only1_1, SERVER, "compression of the connection {zlib,zstd,uncompressed}"),
        known("mysql-debug", Bool, Some("off"), Both, SERVER, "accepted; prints nothing"),
        known("mysql-ignore-errors", List, Some("1213,1020,1205"), Both, Open, "numbers of errors that restart an event, or all"),
        known("mysql-dry-run", Bool, Some("off"), Both, SERVER, "do not connect, run no queries"),
    ] },
    Group { title: "Additional options of contend:", options: &[
        known("compat", Str, Some("1.0"), Ours, Open, "options and messages of sysbench 1.0 or 1.1"),
        known("percentiles", List, None, Ours, NOTHING, "additional percentiles in the report, such as 50,99,99.9"),
        known("os-threads", Str, Some("auto"), Ours, Open, "one operating system thread per thread of the script {on,off,auto}"),
        known("drain-time", Int, Some("10"), Ours, NOTHING, "maximum seconds for running events after the time is over"),
    ] },
];

/// Old names, and their new ones.
pub const DEPRECATED: [(&str, &str); 4] = [
    ("num_threads", "threads"),
    ("max_requests", "events"),
    ("max_time", "time"),
    ("tx_rate", "rate"),
];

/// Tests that sysbench has built in.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("fileio", "files"),
    ("cpu", "the processor"),
    ("memory", "memory"),
    ("threads", "threads of the operating system"),
    ("mutex", "mutexes"),
];

/// All options of a version.
pub fn all(compat: Compat) -> impl Iterator<Item = &'static Known> {
    let options = GROUPS.iter().flat_map(|group| group.options);
    options.filter(move |option| option.is_of(compat))
}

/// The option of a version that has this normal name.
pub fn named(compat: Compat, name: &str) -> Option<&'static Known> {
    all(compat).find(|known| normal_name(known.name) == name)
}

/// The option of either version that has this normal name; if both have one, that of `first`.
pub fn named_in_either(first: Compat, name: &str) -> Option<&'static Known> {
    named(first, name).or_else(|| named(first.other(), name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lua::options::parse;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_defaults_are_values() {
        for compat in [Compat::V1_0, Compat::V1_1] {
            let mut seen = HashSet::new();
            for option in all(compat) {
                assert!(seen.insert(normal_name(option.name)), "{}", option.name);
                if let Some(default) = option.default {
                    parse(option.kind, Some(default)).unwrap();
                }
            }
        }
    }

    #[test]
    fn old_names_stand_for_known_ones() {
        let names: HashSet<String> = all(Compat::V1_0)
            .map(|option| normal_name(option.name))
            .collect();
        for (old, new) in DEPRECATED {
            assert!(names.contains(old) && names.contains(new));
        }
    }
}
