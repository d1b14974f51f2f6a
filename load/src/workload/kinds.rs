//! The registry of native workloads: what a plan calls them.

use super::Workload;
use super::native::Native;
use super::point_select::PointSelect;
use super::random_points::RandomPoints;
use crate::plan::{Protocol, Workload as Spec};
use std::sync::Arc;

/// The workload that a plan describes.
pub fn from_plan(spec: &Spec, protocol: Protocol) -> Arc<dyn Workload> {
    match spec {
        Spec::PointSelect {
            table,
            rows,
            distribution,
        } => Arc::new(Native::new(
            PointSelect::new(table, *rows, distribution),
            protocol,
        )),
        Spec::RandomPoints {
            table,
            rows,
            points,
            distribution,
        } => Arc::new(Native::new(
            RandomPoints::new(table, *rows, *points, distribution),
            protocol,
        )),
    }
}
