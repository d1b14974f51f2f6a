//! Counts that add up over workers, intervals and hosts.

/// Something that adds up.
pub trait Sum {
    /// Adds the records of a different worker, interval or host.
    fn merge(&mut self, other: &Self);

    /// Forgets all records and keeps their memory for more: nothing is allocated.
    fn clear(&mut self);
}

/// Declares structs that add up field by field, so that no field can be forgotten.
macro_rules! sums {
    ($(
        $(#[$of_struct:meta])*
        pub struct $name:ident {
            $($(#[$of_field:meta])* $seen:vis $field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$of_struct])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[$of_field])* $seen $field: $type,)*
        }

        impl $crate::sum::Sum for $name {
            fn merge(&mut self, other: &Self) {
                $($crate::sum::Sum::merge(&mut self.$field, &other.$field);)*
            }

            fn clear(&mut self) {
                $($crate::sum::Sum::clear(&mut self.$field);)*
            }
        }
    )*};
}
pub(crate) use sums;

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Sum for $number {
            fn merge(&mut self, other: &Self) {
                *self += other;
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    )*};
}
numbers!(u64, f64);

/// A number that cannot be read everywhere; the sum has those that were.
impl Sum for Option<u64> {
    fn merge(&mut self, other: &Self) {
        *self = match (*self, *other) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
    }

    fn clear(&mut self) {
        *self = None;
    }
}

/// Rare records, which have no memory before the first one.
impl<T: Sum + Default> Sum for Option<Box<T>> {
    fn merge(&mut self, other: &Self) {
        if let Some(other) = other {
            self.get_or_insert_default().merge(other);
        }
    }

    fn clear(&mut self) {
        self.iter_mut().for_each(|ours| ours.clear());
    }
}

/// Place by place; both have the same length.
impl<T: Sum> Sum for Vec<T> {
    fn merge(&mut self, other: &Self) {
        let pairs = self.iter_mut().zip(other);
        pairs.for_each(|(ours, theirs)| ours.merge(theirs));
    }

    fn clear(&mut self) {
        self.iter_mut().for_each(T::clear);
    }
}
