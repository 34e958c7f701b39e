//! Lists of entries, linked by their positions: an entry is in one at a time.

/// No position.
pub const NONE: u32 = u32::MAX;

/// The neighbours of an entry in its list.
#[derive(Clone, Copy)]
pub struct Links {
    pub before: u32,
    pub after: u32,
}

impl Links {
    /// The links of an entry that is in no list.
    pub const NOWHERE: Links = Links { before: NONE, after: NONE };
}

/// What has links by position.
pub trait Linked {
    fn links(&mut self, at: u32) -> &mut Links;
}

/// The ends of a list, and how many are in it.
#[derive(Clone, Copy)]
pub struct List {
    pub first: u32,
    pub last: u32,
    pub count: usize,
}

impl List {
    pub const EMPTY: List = List { first: NONE, last: NONE, count: 0 };

    /// Puts an entry behind another one, or in front of all if `before` is [`NONE`].
    pub fn insert_after(&mut self, entries: &mut impl Linked, before: u32, at: u32) {
        let after = match before {
            NONE => std::mem::replace(&mut self.first, at),
            _ => std::mem::replace(&mut entries.links(before).after, at),
        };
        match after {
            NONE => self.last = at,
            _ => entries.links(after).before = at,
        }
        *entries.links(at) = Links { before, after };
        self.count += 1;
    }

    /// Puts an entry behind all.
    pub fn push(&mut self, entries: &mut impl Linked, at: u32) {
        self.insert_after(entries, self.last, at);
    }

    /// Takes an entry out.
    pub fn remove(&mut self, entries: &mut impl Linked, at: u32) {
        let Links { before, after } = std::mem::replace(entries.links(at), Links::NOWHERE);
        match before {
            NONE => self.first = after,
            _ => entries.links(before).after = after,
        }
        match after {
            NONE => self.last = before,
            _ => entries.links(after).before = before,
        }
        self.count -= 1;
    }
}
