//! The statements of all transactions together.

use super::book::Book;
use super::keys::{Ask, Delivery as When};
use super::{delivery, new_order, order_status, payment, stock_level};

/// The statements of all transactions, asked in this way.
pub fn book(ask: Ask, when: When) -> Book {
    let deliveries = || delivery::wordings(ask);
    let (at_once, deferred) = match when {
        When::AtOnce => (deliveries(), None),
        When::Deferred => (Vec::new(), Some(deliveries())),
    };
    let kinds = [
        ("new_order", new_order::wordings(ask)),
        ("payment", payment::wordings(ask)),
        ("order_status", order_status::wordings(ask)),
        ("delivery", at_once),
        ("stock_level", stock_level::wordings(ask)),
    ];
    let deferred = deferred.map(|wordings| ("deferred_delivery", wordings));
    Book::new(ask, kinds.into_iter().chain(deferred))
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_engine::workload::CLASSES_MAX;

    #[test]
    fn every_way_has_five_kinds_and_few_classes() {
        for ask in [
            Ask::Each,
            Ask::In,
            Ask::MultiRow,
            Ask::NoRead,
            Ask::Procedure,
        ] {
            let book = super::book(ask, When::AtOnce);
            let names: Vec<&str> = book.kinds.iter().map(|kind| kind.name.as_str()).collect();
            let five = [
                "new_order",
                "payment",
                "order_status",
                "delivery",
                "stock_level",
            ];
            assert_eq!(names, five);
            let classes: usize = book.kinds.iter().map(|kind| kind.classes.len()).sum();
            assert!(classes < CLASSES_MAX);
            assert!(book.queries.iter().all(|q| usize::from(q.class) < classes));
            // 256 connections have room under the default max_prepared_stmt_count, 16382.
            let prepared = book.queries.iter().filter(|query| !query.is_text).count();
            assert!(prepared < 64, "{ask:?}: {prepared}");
            assert_eq!(super::book(ask, When::Deferred).kinds.len(), 6);
        }
    }
}
