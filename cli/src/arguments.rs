//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use globset::{GlobBuilder, GlobMatcher};
use std::path::PathBuf;
use ztensor::model::manifest::Encoding;

/// List, verify, convert, edit and repair zTensor .zt files (spec 0.1, 1.0, 1.1 and 1.2)
#[derive(Parser)]
#[command(name = "zt", version)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// List what a file holds
    Ls(Ls),
    /// Check files: digests, decoding, sizes, structure
    Verify(Verify),
    /// Make a .zt file (spec 1.2) of a .safetensors file or of a .zt file of any version
    Convert(Convert),
    /// Remove and rename objects of a file, in place, and change their attributes
    Edit(Edit),
    /// Cut a file that ends in an unfinished append back to its last good end
    Repair(Repair),
}

#[derive(Args)]
pub struct Ls {
    /// The file
    pub file: PathBuf,
    /// Only objects whose name matches one of these; `*` matches dots and slashes, too
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub globs: Vec<GlobMatcher>,
    /// Order of the list [default: as in the file]
    #[arg(long, value_name = "BY")]
    pub sort: Option<Sort>,
    /// The other way round
    #[arg(long)]
    pub reverse: bool,
    /// Sizes in bytes, digests in full, offsets
    #[arg(long, short)]
    pub long: bool,
    /// As JSON, with everything that the file says
    #[arg(long, conflicts_with = "long")]
    pub json: bool,
    /// Add the SHA-256 of every component's decoded bytes to the JSON
    #[arg(long, requires = "json")]
    pub sha256: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Sort {
    /// By name
    Name,
    /// By the place in the file
    Offset,
    /// By stored bytes
    Size,
}

#[derive(Args)]
pub struct Verify {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also refuse what a lenient reader passes over: unknown names, padding that is not zero
    #[arg(long)]
    pub strict: bool,
    /// Threads; 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
pub struct Convert {
    /// A .safetensors or .zt file
    pub input: PathBuf,
    /// The file to write; what is there stays until the new file is whole
    pub output: PathBuf,
    /// Compress with zstd, levels -7 to 22
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(i32).range(-7..=22),
    )]
    pub zstd: Option<i32>,
    /// Store without compression, also what the input compresses
    #[arg(long, conflicts_with = "zstd")]
    pub raw: bool,
    /// Store with this encoding, at its usual level
    #[arg(long, value_name = "NAME", value_parser = encoding, conflicts_with_all = ["zstd", "raw"])]
    pub encoding: Option<Encoding>,
    /// Add a digest of every component
    #[arg(long, value_name = "ALGORITHM")]
    pub digest: Option<Digest>,
    /// Components start at multiples of N bytes: a power of two from 64; K, M and G are understood
    #[arg(long, value_name = "N", value_parser = alignment, default_value = "64")]
    pub alignment: u64,
    /// Components of 1 MiB and more start at multiples of N bytes
    #[arg(long, value_name = "N", value_parser = alignment)]
    pub large_alignment: Option<u64>,
    /// Sync file and folder to the disk before the end
    #[arg(long)]
    pub durable: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Digest {
    /// SHA-256
    Sha256,
    /// CRC-32C
    Crc32c,
}

#[derive(Args)]
pub struct Edit {
    /// The file, of version 1.1 or later
    pub file: PathBuf,
    /// Take an object away, before all else; its bytes stay in the file until it is converted
    #[arg(long, value_name = "NAME", required_unless_present_any = ["rename", "unset", "set"])]
    pub remove: Vec<String>,
    /// Give an object another name; names after this one are the new ones
    #[arg(long, num_args = 2, value_names = ["NAME", "NEW"])]
    pub rename: Vec<String>,
    /// Take an attribute of an object away
    #[arg(long, num_args = 2, value_names = ["NAME", "KEY"])]
    pub unset: Vec<String>,
    /// Set an attribute of an object to a value in JSON
    #[arg(long, num_args = 3, value_names = ["NAME", "KEY", "JSON"])]
    pub set: Vec<String>,
    /// Sync the file to the disk before the end
    #[arg(long)]
    pub durable: bool,
}

#[derive(Args)]
pub struct Repair {
    /// The file
    pub file: PathBuf,
    /// Only report what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Where the file is to end, where that is in doubt
    #[arg(long, value_name = "BYTE", value_parser = clap::value_parser!(u64).range(1..))]
    pub cut_at: Option<u64>,
}

fn encoding(name: &str) -> Result<Encoding, String> {
    let names: Vec<_> = Encoding::written().filter_map(Encoding::name).collect();
    Encoding::from_name(name).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|e| e.kind().to_string())
}

fn alignment(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1u64),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    match number {
        Some(n) if n.is_power_of_two() && (64..=1 << 40).contains(&n) => Ok(n),
        _ => Err(String::from("not a power of two from 64 to 1024G")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn alignments_are_powers_of_two_from_64() {
        assert_eq!(alignment("64"), Ok(64));
        assert_eq!(alignment("4K"), Ok(4096));
        assert_eq!(alignment("2m"), Ok(2 << 20));
        for bad in ["", "K", "63", "96", "32", "0", "-64", "1.5K", "9999999999999999999G", "2048G"] {
            assert!(alignment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_star_matches_dots_and_slashes() {
        let matcher = glob("layer.*.weight").unwrap();
        assert!(matcher.is_match("layer.0.attention/query.weight"));
        assert!(!matcher.is_match("layer.0.bias"));
        assert!(glob("[").is_err());
    }
}
