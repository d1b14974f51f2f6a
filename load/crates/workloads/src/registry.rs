//! The kinds of workload: each is one file, and one line of [`KINDS`].
//!
//! A kind declares its keys as a struct, the only place for their meanings, defaults and ranges.
//! Plans are read and checked by it; `contend-load schema plan` prints it for other programs.

use super::config::{Keys, WorkloadConfig};
use super::{batch_insert, batch_select, bulk_insert, insert, list, oltp_keys, point_select};
use super::{random_points, random_ranges, recorded, scan, sql, string_lookup, tpcc};
use contend_plan::{Script, Workload as Named};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Every kind that a plan may name.
pub const KINDS: &[Entry] = &[
    Entry::of::<point_select::Keys>(),
    Entry::of::<random_points::Keys>(),
    Entry::of::<random_ranges::Keys>(),
    Entry::of::<oltp_keys::ReadOnly>(),
    Entry::of::<oltp_keys::ReadWrite>(),
    Entry::of::<oltp_keys::WriteOnly>(),
    Entry::of::<oltp_keys::UpdateIndex>(),
    Entry::of::<oltp_keys::UpdateNonIndex>(),
    Entry::of::<oltp_keys::Delete>(),
    Entry::of::<insert::Keys>(),
    Entry::of::<bulk_insert::Keys>(),
    Entry::of::<tpcc::Keys>(),
    Entry::of::<batch_select::Keys>(),
    Entry::of::<batch_insert::Keys>(),
    Entry::of::<string_lookup::Keys>(),
    Entry::of::<sql::Keys>(),
    Entry::of::<list::Keys>(),
    Entry::of::<scan::Keys>(),
    Entry::of::<recorded::Keys>(),
    Entry::of::<Script>(),
];

type Read = fn(&Map<String, Value>) -> Result<Box<dyn WorkloadConfig>, String>;

/// A kind of the registry.
pub struct Entry {
    pub kind: &'static str,
    writes: Option<bool>,
    metric: &'static str,
    read: Read,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Entry {
    pub const fn of<K: Keys>() -> Self {
        Self {
            kind: K::KIND,
            writes: K::WRITES,
            metric: K::METRIC,
            read: read_as::<K>,
            schema: K::json_schema,
        }
    }
}

/// The plan's workload.
///
/// # Errors
/// One line that names the path, or the key that is unknown.
pub fn read(workload: &Named) -> Result<Box<dyn WorkloadConfig>, String> {
    read_of(KINDS, workload)
}

fn read_of(kinds: &[Entry], workload: &Named) -> Result<Box<dyn WorkloadConfig>, String> {
    match kinds.iter().find(|entry| entry.kind == workload.kind) {
        Some(entry) => (entry.read)(&workload.keys),
        None => {
            let names: Vec<String> = kinds.iter().map(|e| format!("`{}`", e.kind)).collect();
            // In the wording of the JSON reader, so that the nearest name is offered in one place.
            Err(format!(
                "unknown variant `{}`, expected one of {}",
                workload.kind,
                names.join(", ")
            ))
        }
    }
}

fn read_as<K: Keys>(keys: &Map<String, Value>) -> Result<Box<dyn WorkloadConfig>, String> {
    let schema = K::json_schema(&mut SchemaGenerator::default());
    check_ranges(&schema, keys)?;
    let told = K::deserialize(Value::Object(keys.clone())).map_err(|error| error.to_string())?;
    told.check()?;
    Ok(Box::new(told))
}

/// Checks that numbers are in the ranges that the schema of their keys states.
fn check_ranges(schema: &Schema, keys: &Map<String, Value>) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        // Others are refused as what they are.
        let Some(value) = keys.get(name).and_then(whole) else {
            continue;
        };
        let bound = |name| property.get(name).and_then(whole);
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most) {
            let (least, most) = (least.unwrap_or(0), most.unwrap_or(i64::MAX.into()));
            return Err(format!(
                "workload.{name}: {value} is not between {least} and {most}"
            ));
        }
    }
    Ok(())
}

fn whole(value: &Value) -> Option<i128> {
    let signed = value.as_i64().map(i128::from);
    signed.or(value.as_u64().map(i128::from))
}

/// The workload of a plan as JSON Schema, one variant per kind; definitions that it refers to are
/// left in `generator`. `x-writes`: whether a kind changes rows; null: that depends. `x-metric` is
/// the metric for comparing it unless an experiment names one.
pub fn schema(generator: &mut SchemaGenerator) -> Value {
    schema_of(KINDS, generator)
}

fn schema_of(kinds: &[Entry], generator: &mut SchemaGenerator) -> Value {
    let variants: Vec<Value> = kinds
        .iter()
        .map(|entry| {
            let mut variant = (entry.schema)(generator).to_value();
            if let Some(variant) = variant.as_object_mut() {
                let kind = json!({"type": "string", "const": entry.kind});
                let properties = variant.entry("properties").or_insert_with(|| json!({}));
                properties["kind"] = kind;
                let required = variant.entry("required").or_insert_with(|| json!([]));
                if let Some(required) = required.as_array_mut() {
                    required.insert(0, json!("kind"));
                }
                variant.remove("title");
                variant.remove("$schema");
                variant.insert("x-writes".to_owned(), json!(entry.writes));
                variant.insert("x-metric".to_owned(), json!(entry.metric));
            }
            variant
        })
        .collect();
    json!({
        "description": "What the load does. One variant per kind.",
        "oneOf": variants,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::native;
    use crate::native::Way;
    use crate::native::tests::point_selects;
    use contend_engine::workload::Workload;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use std::sync::Arc;

    /// Asks for a lucky number.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct MadeUp {
        /// The number that brings luck.
        #[serde(default = "seven")]
        #[schemars(range(min = 1, max = 13))]
        luck: u32,
    }

    fn seven() -> u32 {
        7
    }

    impl WorkloadConfig for MadeUp {
        fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
            Ok(native(point_selects(u64::from(self.luck)), way))
        }
    }

    impl Keys for MadeUp {
        const KIND: &'static str = "made_up";
        const WRITES: Option<bool> = Some(false);
    }

    const WITH_IT: &[Entry] = &[Entry::of::<point_select::Keys>(), Entry::of::<MadeUp>()];

    fn told(kind: &str, keys: Value) -> Result<Box<dyn WorkloadConfig>, String> {
        let keys = keys.as_object().cloned().unwrap_or_default();
        let kind = kind.to_owned();
        read_of(WITH_IT, &Named { kind, keys })
    }

    #[test]
    fn a_made_up_kind_is_a_file_and_a_line() {
        let made = told("made_up", json!({"luck": 3})).unwrap();
        assert_eq!(
            made.build(Way::default()).unwrap().classes(),
            ["point_select"]
        );
        assert!(told("made_up", json!({})).is_ok());
        let refusal = |keys| told("made_up", keys).err().unwrap();
        assert_eq!(
            refusal(json!({"luck": 14})),
            "workload.luck: 14 is not between 1 and 13"
        );
        assert!(refusal(json!({"lack": 1})).starts_with("unknown field `lack`"));
        assert!(
            told("made_down", json!({}))
                .err()
                .unwrap()
                .contains("`made_up`")
        );
    }

    #[test]
    fn it_shows_up_in_the_schema_with_all_that_was_declared() {
        let schema = schema_of(WITH_IT, &mut SchemaGenerator::default());
        let made = &schema["oneOf"][1];
        assert_eq!(made["description"], "Asks for a lucky number.");
        assert_eq!(made["properties"]["kind"]["const"], "made_up");
        assert_eq!(made["x-writes"], false);
        assert_eq!(made["x-metric"], "qps");
        let luck = &made["properties"]["luck"];
        assert_eq!(luck["description"], "The number that brings luck.");
        assert_eq!((&luck["default"], &luck["minimum"]), (&json!(7), &json!(1)));
        assert_eq!(luck["maximum"], 13);
    }

    #[test]
    fn every_kind_and_key_of_the_registry_says_what_it_means() {
        let mut generator = SchemaGenerator::default();
        let schema = schema(&mut generator);
        for variant in schema["oneOf"].as_array().unwrap() {
            let kind = &variant["properties"]["kind"]["const"];
            assert!(variant["description"].is_string(), "{kind}");
            for (name, key) in variant["properties"].as_object().unwrap() {
                let says = name == "kind" || key["description"].is_string();
                assert!(says, "{kind}: {name}");
            }
        }
    }
}
