//! Numbers of a record, one after the other.

/// What is left of a record.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn take(&mut self, count: u16) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::from(count))?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }
}

/// The number of the item of an extra field that has sizes and offsets of 64 bits.
const ZIP64: u16 = 1;

/// The bytes of the 64-bit item of an extra field: none if there is none, an error for items that pass its
/// end. Up to three bytes behind the last item are padding, as some writers align by them.
pub(super) fn zip64_item(extra: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let mut fields = Fields(extra);
    let mut found = None;
    while fields.0.len() >= 4 {
        let item = fields.u16().zip(fields.u16());
        let Some((kind, item)) = item.and_then(|(kind, size)| Some((kind, fields.take(size)?))) else {
            return Err("an item of its extra field passes the end of that");
        };
        if kind == ZIP64 && found.replace(item).is_some() {
            return Err("its extra field has two items of 64-bit sizes");
        }
    }
    Ok(found)
}
