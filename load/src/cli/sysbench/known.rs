//! What is known of an option.

use crate::lua::options::OptionType;
use crate::lua::run::Compat;

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub name: &'static str,
    pub kind: OptionType,
    pub default: Option<&'static str>,
    pub help: &'static str,
    pub whose: Whose,
}

/// Which versions know an option.
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

pub const fn known(
    name: &'static str,
    kind: OptionType,
    default: Option<&'static str>,
    whose: Whose,
    help: &'static str,
) -> Known {
    Known {
        name,
        kind,
        default,
        help,
        whose,
    }
}

impl Known {
    /// True where this version, or contend, knows the option.
    pub fn is_of(&self, compat: Compat) -> bool {
        match self.whose {
            Whose::Both | Whose::Ours => true,
            Whose::Only1_0 => compat == Compat::V1_0,
            Whose::Only1_1 => compat == Compat::V1_1,
        }
    }
}
