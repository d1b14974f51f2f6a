//! Figures of tallies as outcomes have them: by statement class and by node.

use contend_client::dialect::SessionFacts;
use contend_engine::measured::{Measured, with_hints};
use contend_engine::workload::Workload;
use contend_figures::Tally;
use contend_figures::outcome::{ClassFigures, NodeFigures, NodeHello};

/// The requests of each node.
pub(super) fn of_nodes(names: &[String], measured: &Measured) -> Vec<NodeFigures> {
    let tallies = names.iter().zip(&measured.tally.nodes);
    let servers = measured.node_servers.iter().cloned();
    let servers = servers.chain(std::iter::repeat(None));
    let figures = tallies
        .zip(servers)
        .map(|((name, tally), server)| NodeFigures {
            name: name.clone(),
            figures: tally.figures(),
            errors: with_hints(&tally.errors),
            server,
        });
    figures.collect()
}

/// Each statement class.
pub(super) fn of_classes(workload: &dyn Workload, tally: &Tally) -> Vec<ClassFigures> {
    let (classes, whole) = (workload.classes().iter(), tally.whole());
    let figures = classes
        .zip(&tally.classes)
        .map(|(name, class)| ClassFigures {
            name: name.clone(),
            figures: class.figures(&whole.response),
            errors: class.errors,
        });
    figures.collect()
}

pub(super) fn words(agreed: &[&'static str]) -> Vec<String> {
    agreed.iter().map(|&word| word.to_owned()).collect()
}

pub(super) fn node_hello((name, session): (&String, &SessionFacts)) -> NodeHello {
    NodeHello {
        name: name.clone(),
        server_version: session.server_version.clone(),
        session: words(&session.agreed),
    }
}
