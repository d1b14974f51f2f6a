//! The keys that all kinds over tables of sysbench's shape have.

use super::tables::Tables;
use contend_random::{Distribution, ITER_MAX, ZIPFIAN_EXP_MAX};
use contend_random::{Sampler, Shape};

/// Declares a kind and its keys: its own, and those of the tables it asks. `also` is a check of the
/// kind's own, `metric` the metric to compare it by, if not queries per second.
macro_rules! keys_over_rows {
    (
        $(#[$meta:meta])*
        $name:ident, $kind:literal, writes: $writes:literal $(, metric: $metric:expr)?
        $(, also: $also:expr)?;
        { $($(#[$field:meta])* $key:ident: $type:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The table, with or without its database.
            #[serde(default = "crate::rows_keys::sbtest")]
            table: String,
            /// Absent: the one table of that name. A number N: `table`1 to `table`N.
            #[serde(default)]
            #[schemars(range(min = 1, max = 1_000_000))]
            tables: Option<u32>,
            /// Rows of each table; keys are drawn from 1 to this.
            #[schemars(range(min = 1, max = 9_223_372_036_854_775_807_u64))]
            rows: u64,
            /// How keys are drawn.
            #[serde(default)]
            distribution: contend_random::Distribution,
            $($(#[$field])* $key: $type,)*
        }

        impl crate::config::Keys for $name {
            const KIND: &'static str = $kind;
            const WRITES: Option<bool> = Some($writes);
            $(const METRIC: &'static str = $metric;)?

            fn check(&self) -> Result<(), String> {
                $($also(self)?;)?
                self.over().check()
            }
        }

        impl $name {
            pub(super) fn over(&self) -> crate::rows_keys::Over<'_> {
                crate::rows_keys::Over {
                    table: &self.table,
                    tables: self.tables,
                    rows: self.rows,
                    distribution: &self.distribution,
                }
            }
        }
    };
}
pub(super) use keys_over_rows;

/// Which tables, and how many rows of them.
pub struct Over<'a> {
    pub table: &'a str,
    pub tables: Option<u32>,
    pub rows: u64,
    pub distribution: &'a Distribution,
}

impl Over<'_> {
    pub fn tables(&self) -> Tables {
        Tables::new(self.table, self.tables)
    }

    /// Draws keys of one of the tables.
    pub fn sampler(&self) -> Sampler {
        Sampler::new(Shape::new(self.distribution), 1, self.rows)
    }

    /// # Errors
    /// Keys that make no sense, as text that names the path.
    pub fn check(&self) -> Result<(), String> {
        check_table(self.table)?;
        check_distribution(self.distribution)
    }
}

/// Names are in the statements unquoted, so they may not hold anything else.
fn check_table(table: &str) -> Result<(), String> {
    let fine = |part: &str| {
        !part.is_empty()
            && part.len() <= 64
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    if table.split('.').count() <= 2 && table.split('.').all(fine) {
        return Ok(());
    }
    Err(format!(
        "workload.table: {table:?} is not a plain name; use letters, digits and _, with at most \
         one dot after the database"
    ))
}

pub fn check_distribution(distribution: &Distribution) -> Result<(), String> {
    let range = |key: &str, value: u32, least: u32, most: u32| match value {
        value if (least..=most).contains(&value) => Ok(()),
        value => Err(format!(
            "workload.distribution.{key}: {value} is not between {least} and {most}"
        )),
    };
    match *distribution {
        Distribution::Uniform {} => Ok(()),
        Distribution::Gaussian { iter } => range("iter", iter, 1, ITER_MAX),
        Distribution::Special { iter, pct, res } => {
            range("iter", iter, 1, ITER_MAX)?;
            range("pct", pct, 1, 100)?;
            range("res", res, 0, 100)
        }
        Distribution::Pareto { h } if h > 0.0 && h < 1.0 => Ok(()),
        Distribution::Pareto { h } => Err(format!(
            "workload.distribution.h: {h} is not between 0 and 1"
        )),
        Distribution::Zipfian { exp } if (0.0..=ZIPFIAN_EXP_MAX).contains(&exp) => Ok(()),
        Distribution::Zipfian { exp } => Err(format!(
            "workload.distribution.exp: {exp} is not between 0 and {ZIPFIAN_EXP_MAX}"
        )),
    }
}

/// The default name of tables.
pub fn sbtest() -> String {
    "sbtest".to_owned()
}

/// A default of a key.
pub fn number<const N: u32>() -> u32 {
    N
}

/// As [`number`], of a larger kind.
pub fn wide<const N: u64>() -> u64 {
    N
}

pub fn yes() -> bool {
    true
}
