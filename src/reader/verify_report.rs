//! What to verify, and what was.

/// What to verify.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions {
    /// Digests of components that have one.
    pub digests: bool,
    /// Refuse components with bytes that neither a digest nor a CRC-32 covers. Needs `digests`.
    pub require_digests: bool,
    /// Decoding, sizes, sparse and quantized structure, bool bytes.
    pub contents: bool,
    /// All bytes of shards, by the digests in the table of shards.
    pub shards: bool,
    /// Refuse padding that is not zero.
    pub padding: bool,
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions {
            digests: true,
            require_digests: false,
            contents: true,
            shards: true,
            padding: false,
            threads: 0,
        }
    }
}

/// What was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects.
    pub objects: u64,
    /// Components.
    pub components: u64,
    /// Stored bytes.
    pub bytes: u64,
    /// Digests that agree.
    pub digests_verified: u64,
    /// Components without a digest.
    pub digests_absent: u64,
    /// Digests of unknown algorithms.
    pub digests_unknown: u64,
    /// Padding bytes that are not zero.
    pub padding_nonzero: u64,
    /// Stored bytes of components without a digest or CRC-32 that can be checked.
    pub bytes_not_covered: u64,
    /// Components, objects and shards that could not be checked, or not in full.
    pub not_checked: u64,
}

impl VerifyReport {
    pub(super) fn add(&mut self, other: &VerifyReport) {
        self.objects = self.objects.saturating_add(other.objects);
        self.components = self.components.saturating_add(other.components);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.digests_verified = self.digests_verified.saturating_add(other.digests_verified);
        self.digests_absent = self.digests_absent.saturating_add(other.digests_absent);
        self.digests_unknown = self.digests_unknown.saturating_add(other.digests_unknown);
        self.padding_nonzero = self.padding_nonzero.saturating_add(other.padding_nonzero);
        self.bytes_not_covered = self.bytes_not_covered.saturating_add(other.bytes_not_covered);
        self.not_checked = self.not_checked.saturating_add(other.not_checked);
    }
}
