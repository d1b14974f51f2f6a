//! The variables of the model server, called as MariaDB calls them.
//!
//! A few have an effect. The others exist because the study's configuration or a client sets them:
//! they can be set and read, and change nothing, because the model has no such part.

use super::sizes::KeyCacheSizes;
use crate::sizes;
use contend_servers::serve::Refusal;

/// The effect of a variable that is set while the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The key cache is replaced by an empty one.
    Cache,
    /// Its segments take blocks out in a different order from now on.
    Limits,
    /// It counts from now on.
    AtOnce,
    /// None: the model has no such part.
    None,
    /// It cannot be set.
    ReadOnly,
}

/// What values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableTakes {
    /// A number between two, with K, M and G behind it on a command line.
    Number(u64, u64),
    /// ON, OFF, 1 or 0.
    Switch,
    Text,
}

struct KnownVariable {
    name: &'static str,
    default: &'static str,
    takes: VariableTakes,
    effect: Effect,
}

const fn known(
    name: &'static str,
    default: &'static str,
    takes: VariableTakes,
    effect: Effect,
) -> KnownVariable {
    KnownVariable {
        name,
        default,
        takes,
        effect,
    }
}

const ANY: VariableTakes = VariableTakes::Number(0, u64::MAX);
const KEY_BUFFER: VariableTakes = VariableTakes::Number(0, 16 << 30);
/// MariaDB gives the key cache memory in pieces of this size.
const KEY_BUFFER_STEP: u64 = 4096;
const SEGMENTS_MAX: u64 = sizes::SEGMENTS_MAX as u64;

/// In the order of the alphabet.
const KNOWN: [KnownVariable; 39] = {
    use Effect::{AtOnce, Cache, Limits, None, ReadOnly};
    use VariableTakes::{Number, Switch, Text};
    [
        known("autocommit", "ON", Switch, None),
        known("character_set_client", "utf8mb4", Text, None),
        known("character_set_connection", "utf8mb4", Text, None),
        known("character_set_results", "utf8mb4", Text, None),
        known("character_set_server", "latin1", Text, None),
        known("collation_connection", "utf8mb4_general_ci", Text, None),
        known("default_storage_engine", "MyISAM", Text, None),
        known("foreign_key_checks", "ON", Switch, None),
        known("interactive_timeout", "28800", ANY, None),
        known("key_buffer_size", "134217728", KEY_BUFFER, Cache),
        known(
            "key_cache_age_threshold",
            "300",
            Number(100, u32::MAX as u64),
            Limits,
        ),
        known("key_cache_block_size", "1024", ANY, ReadOnly),
        known("key_cache_division_limit", "100", Number(1, 100), Limits),
        known("key_cache_segments", "0", Number(0, SEGMENTS_MAX), Cache),
        known("lock_wait_timeout", "86400", ANY, None),
        known("max_allowed_packet", "16777215", ANY, ReadOnly),
        known("max_connections", "151", Number(10, 100_000), AtOnce),
        known(
            "max_prepared_stmt_count",
            "16382",
            Number(0, u32::MAX as u64),
            AtOnce,
        ),
        known("max_statement_time", "0", Text, None),
        known("net_read_timeout", "30", ANY, None),
        known("net_write_timeout", "60", ANY, None),
        known("open_files_limit", "32000", ANY, None),
        known("pid_file", "", Text, ReadOnly),
        known("port", "0", ANY, ReadOnly),
        known("profiling", "OFF", Switch, None),
        known("query_cache_size", "0", Number(0, 0), None),
        known("query_cache_type", "OFF", Switch, None),
        known("skip_grant_tables", "ON", Switch, None),
        known("socket", "", Text, ReadOnly),
        known("sql_mode", "", Text, None),
        known("table_open_cache", "2000", ANY, None),
        known("thread_cache_size", "256", ANY, None),
        known(
            "thread_handling",
            "one-thread-per-connection",
            Text,
            ReadOnly,
        ),
        known("time_zone", "SYSTEM", Text, None),
        known("transaction_isolation", "REPEATABLE-READ", Text, None),
        known("unique_checks", "ON", Switch, None),
        known("version", super::VERSION, Text, ReadOnly),
        known("version_comment", super::COMMENT, Text, ReadOnly),
        known("wait_timeout", "28800", ANY, None),
    ]
};

/// The values of all variables.
#[derive(Clone, Debug)]
pub struct ServerVariables {
    /// In the order of [`KNOWN`].
    values: Vec<String>,
}

/// A variable as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldVariable<'v> {
    pub name: &'static str,
    pub value: &'v str,
    pub default: &'static str,
    pub is_number: bool,
}

impl Default for ServerVariables {
    fn default() -> Self {
        Self {
            values: KNOWN.iter().map(|known| known.default.to_owned()).collect(),
        }
    }
}

impl ServerVariables {
    /// Gives a variable the value of a command line, where sizes may be written as `512M`.
    ///
    /// # Errors
    /// The variable does not exist, or it takes no such value.
    pub fn begin_with(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        let name = name.replace('-', "_");
        let (place, known) = find(name.as_bytes())?;
        if known.effect == Effect::ReadOnly {
            return Err(read_only(known));
        }
        let bytes = in_bytes(value).filter(|_| known.is_number());
        let bytes = bytes.map(|bytes| bytes.to_string());
        let value = bytes.as_deref().unwrap_or(value);
        self.put(place, known.taken(value)?);
        Ok(())
    }

    /// All variables after one was set while the server runs.
    ///
    /// # Errors
    /// Like [`Self::begin_with`].
    pub fn set(&self, name: &[u8], value: &[u8]) -> Result<(Self, Effect), Refusal> {
        let (place, known) = find(name)?;
        if known.effect == Effect::ReadOnly {
            return Err(read_only(known));
        }
        let value = String::from_utf8_lossy(value);
        let mut changed = self.clone();
        if value.eq_ignore_ascii_case("DEFAULT") {
            changed.put(place, known.default.to_owned());
        } else {
            changed.put(place, known.taken(&value)?);
        }
        Ok((changed, known.effect))
    }

    /// Sets a variable that only reports a decision made elsewhere.
    pub fn tell(&mut self, name: &str, value: String) {
        if let Ok((place, _)) = find(name.as_bytes()) {
            self.put(place, value);
        }
    }

    fn put(&mut self, place: usize, value: String) {
        if let Some(slot) = self.values.get_mut(place) {
            *slot = value;
        }
    }

    /// # Errors
    /// The variable does not exist.
    pub fn get(&self, name: &[u8]) -> Result<ToldVariable<'_>, Refusal> {
        let (place, _) = find(name)?;
        self.all().nth(place).ok_or_else(|| unknown(name))
    }

    pub fn all(&self) -> impl Iterator<Item = ToldVariable<'_>> {
        KNOWN
            .iter()
            .zip(&self.values)
            .map(|(known, value)| ToldVariable {
                name: known.name,
                value,
                default: known.default,
                is_number: known.is_number(),
            })
    }

    /// Those that a command line can set.
    pub fn settable(&self) -> impl Iterator<Item = ToldVariable<'_>> {
        let is_settable = |known: &KnownVariable| known.effect != Effect::ReadOnly;
        KNOWN
            .iter()
            .zip(self.all())
            .filter(move |(known, _)| is_settable(known))
            .map(|(_, told)| told)
    }

    fn number(&self, name: &str) -> u64 {
        let value = self.get(name.as_bytes()).map(|told| told.value.parse());
        // Only numbers were taken.
        value.ok().and_then(Result::ok).unwrap_or(0)
    }

    pub fn max_connections(&self) -> u64 {
        self.number("max_connections")
    }

    pub fn max_prepared(&self) -> u64 {
        self.number("max_prepared_stmt_count")
    }

    pub fn sizes(&self) -> KeyCacheSizes {
        let small = |name| u32::try_from(self.number(name)).unwrap_or(u32::MAX);
        KeyCacheSizes {
            key_buffer_size: self.number("key_buffer_size"),
            key_cache_segments: small("key_cache_segments"),
            key_cache_division_limit: small("key_cache_division_limit"),
            key_cache_age_threshold: small("key_cache_age_threshold"),
        }
    }
}

impl KnownVariable {
    fn is_number(&self) -> bool {
        matches!(self.takes, VariableTakes::Number(..))
    }

    /// Values are cut to a multiple of this.
    fn step(&self) -> u64 {
        if self.name == "key_buffer_size" {
            KEY_BUFFER_STEP
        } else {
            1
        }
    }

    /// A value in the form that clients see.
    fn taken(&self, value: &str) -> Result<String, Refusal> {
        let switch = match value.to_ascii_uppercase().as_str() {
            "ON" | "1" | "TRUE" => Some("ON"),
            "OFF" | "0" | "FALSE" => Some("OFF"),
            _ => None,
        };
        match self.takes {
            VariableTakes::Text => Ok(value.to_owned()),
            VariableTakes::Switch => switch
                .map(str::to_owned)
                .ok_or_else(|| wrong(self.name, value, "ON or OFF")),
            VariableTakes::Number(least, most) => match value.parse::<u64>() {
                Ok(number) if (least..=most).contains(&number) => {
                    Ok((number / self.step() * self.step()).to_string())
                }
                Ok(_) if most == 0 => Err(wrong(self.name, value, "0: there is no such cache")),
                Ok(_) if most == u64::MAX => {
                    Err(wrong(self.name, value, &format!("{least} or more")))
                }
                Ok(_) => Err(wrong(self.name, value, &format!("{least} to {most}"))),
                Err(_) => Err(Refusal::new(
                    1232,
                    b"42000",
                    format!("Incorrect argument type to variable '{}'", self.name),
                )),
            },
        }
    }
}

fn find(name: &[u8]) -> Result<(usize, &'static KnownVariable), Refusal> {
    KNOWN
        .iter()
        .enumerate()
        .find(|(_, known)| name.eq_ignore_ascii_case(known.name.as_bytes()))
        .ok_or_else(|| unknown(name))
}

fn unknown(name: &[u8]) -> Refusal {
    let words = format!(
        "Unknown system variable '{}'",
        String::from_utf8_lossy(name)
    );
    Refusal::new(1193, b"HY000", words)
}

fn read_only(known: &KnownVariable) -> Refusal {
    let words = format!("Variable '{}' is a read only variable", known.name);
    Refusal::new(1238, b"HY000", words)
}

/// The server's own message, and the values that this one takes.
pub fn wrong(name: &str, value: &str, takes: &str) -> Refusal {
    let words = format!(
        "Variable '{name}' can't be set to the value of '{value}': contend's model server accepts \
         {takes}"
    );
    Refusal::new(1231, b"42000", words)
}

/// A size in bytes, as a command line writes it: 8388608, 8192K, 8M or 8m.
pub fn in_bytes(text: &str) -> Option<u64> {
    let units = [("kK", 10), ("mM", 20), ("gG", 30)];
    let (digits, shift) = units
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(|last| unit.contains(last))?, shift)))
        .unwrap_or((text, 0));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The host has no memory for the blocks of a key cache.
pub fn no_memory(bytes: u64) -> Refusal {
    let words = format!("Out of memory; restart server and try again (needed {bytes} bytes)");
    Refusal::new(1037, b"HY001", words)
}

/// Key-cache sizes that are impossible.
pub fn impossible(error: &sizes::SegmentsError) -> Refusal {
    let words = format!("contend's model server cannot do that: {error}");
    Refusal::new(1231, b"42000", words)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_stand_in_order_and_defaults_are_values_that_can_be_had() {
        assert!(KNOWN.iter().is_sorted_by_key(|known| known.name));
        for known in &KNOWN {
            assert_eq!(known.taken(known.default).as_deref(), Ok(known.default));
        }
        assert!(ServerVariables::default().sizes().blocks_each().is_ok());
    }

    #[test]
    fn a_command_line_writes_sizes_with_units_and_names_with_dashes() {
        let mut variables = ServerVariables::default();
        for (value, bytes) in [("512M", 512 << 20), ("2g", 2 << 30), ("9000", 8192)] {
            variables.begin_with("key-buffer-size", value).unwrap();
            assert_eq!(variables.sizes().key_buffer_size, bytes);
        }
        variables.begin_with("sql-mode", "1K").unwrap();
        assert_eq!(variables.get(b"sql_mode").unwrap().value, "1K");
        for (name, value, code) in [
            ("key_buffer_size", "1T", 1232),
            ("key_buffer_size", "17G", 1231),
            ("key_buffer_size", "99999999999999999999M", 1232),
            ("key_cache_age_threshold", "99", 1231),
            ("key_cache_division_limit", "101", 1231),
            ("autocommit", "perhaps", 1231),
            ("version", "1", 1238),
            ("no_such", "1", 1193),
        ] {
            let refused = variables.begin_with(name, value).unwrap_err();
            assert_eq!(refused.code, code, "{name}: {}", refused.message);
        }
    }

    #[test]
    fn a_change_is_made_on_the_side_and_says_what_comes_of_it() {
        let variables = ServerVariables::default();
        for (name, value, effect) in [
            (&b"KEY_CACHE_SEGMENTS"[..], &b"7"[..], Effect::Cache),
            (b"key_cache_division_limit", b"30", Effect::Limits),
            (b"max_connections", b"100", Effect::AtOnce),
            (b"table_open_cache", b"5", Effect::None),
        ] {
            let (changed, found) = variables.set(name, value).unwrap();
            assert_eq!(found, effect);
            assert_eq!(changed.get(name).unwrap().value.as_bytes(), value);
            let (back, _) = changed.set(name, b"default").unwrap();
            assert_eq!(back.get(name).unwrap(), variables.get(name).unwrap());
        }
    }
}
