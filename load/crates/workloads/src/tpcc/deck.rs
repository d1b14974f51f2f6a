//! Which transaction a terminal begins next: from a deck of cards, or by weights (clause 5.2.4).

use super::keys::Weights;
use contend_random::Stream;

/// The five transactions, and what a queued delivery becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Card {
    #[default]
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    /// The work of a delivery that was queued before.
    DeferredDelivery,
}

/// The five transactions, in the order of the kinds of event.
pub const CARDS: [Card; 5] = [
    Card::NewOrder,
    Card::Payment,
    Card::OrderStatus,
    Card::Delivery,
    Card::StockLevel,
];

impl Card {
    /// Its place among the kinds of event.
    pub fn place(self) -> usize {
        self as usize
    }
}

/// Cards of a deck, per transaction.
const IN_DECK: [usize; 5] = [10, 10, 1, 1, 1];
pub const DECK: usize = 23;

/// Keeps the shuffling of decks apart from the other long streams of a seed.
const DECK_STREAMS: u64 = 1 << 51;

/// The deck of one terminal. When it is used up it is shuffled again.
#[derive(Debug)]
pub struct Deck {
    cards: [Card; DECK],
    next: usize,
    stream: Stream,
}

impl Deck {
    pub fn new(seed: u64, terminal: u32) -> Self {
        let mut cards = [Card::NewOrder; DECK];
        let sorted = CARDS.iter().zip(IN_DECK);
        let sorted = sorted.flat_map(|(card, count)| std::iter::repeat_n(*card, count));
        cards
            .iter_mut()
            .zip(sorted)
            .for_each(|(to, card)| *to = card);
        Self {
            cards,
            next: DECK,
            stream: Stream::new(seed, DECK_STREAMS + u64::from(terminal)),
        }
    }

    pub fn draw(&mut self) -> Card {
        if self.next >= DECK {
            self.next = 0;
            for end in (1..DECK).rev() {
                self.cards
                    .swap(end, self.stream.below(end as u64 + 1) as usize);
            }
        }
        self.next += 1;
        self.cards.get(self.next - 1).copied().unwrap_or_default()
    }
}

impl Weights {
    /// A transaction, in proportion to the weights.
    pub fn draw(&self, stream: &mut Stream) -> Card {
        let weights = self.in_order();
        let mut drawn = stream.below(weights.iter().map(|w| u64::from(*w)).sum());
        for (card, weight) in CARDS.iter().zip(weights) {
            match drawn.checked_sub(u64::from(weight)) {
                None => return *card,
                Some(rest) => drawn = rest,
            }
        }
        Card::NewOrder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cards: impl Iterator<Item = Card>) -> [usize; 5] {
        let mut counts = [0; 5];
        cards.for_each(|card| counts[card.place()] += 1);
        counts
    }

    #[test]
    fn each_deck_has_its_cards_and_is_shuffled_anew() {
        let mut deck = Deck::new(1, 0);
        let decks: Vec<Vec<Card>> = (0..20)
            .map(|_| (0..DECK).map(|_| deck.draw()).collect())
            .collect();
        for cards in &decks {
            assert_eq!(counts(cards.iter().copied()), IN_DECK);
        }
        assert!(decks.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn terminals_have_decks_of_their_own_which_come_again() {
        let cards = |seed, terminal| {
            let mut deck = Deck::new(seed, terminal);
            (0..50).map(|_| deck.draw()).collect::<Vec<Card>>()
        };
        assert_eq!(cards(3, 1), cards(3, 1));
        assert_ne!(cards(3, 1), cards(3, 2));
        assert_ne!(cards(3, 1), cards(4, 1));
    }

    #[test]
    fn weights_are_shares() {
        let mut stream = Stream::new(1, 0);
        let seen = counts((0..100_000).map(|_| Weights::default().draw(&mut stream)));
        for (seen, expected) in seen.iter().zip([45_000, 43_000, 4_000, 4_000, 4_000]) {
            assert!(seen.abs_diff(expected) < 800, "{seen} {expected}");
        }
        let only = Weights {
            new_order: 0,
            payment: 0,
            order_status: 0,
            delivery: 7,
            stock_level: 0,
        };
        let seen = counts((0..100).map(|_| only.draw(&mut stream)));
        assert_eq!(seen, [0, 0, 0, 100, 0]);
    }
}
