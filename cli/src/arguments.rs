//! The command line.

mod inspect;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use ztensor::model::manifest::Encoding;

pub use inspect::{
    Add, Attr, AttrAction, Bench, Cat, Compact, Completions, Diff, Edit, Extract, Id, Info, Merge, Move,
    Remove, Report, Split, Stats,
};
use values::{alignment, encoding, frame_size, rename, size};
pub use values::{is_path, Chosen, Meaning, Rename};

/// Look into files of tensors, compare, verify, convert, edit and repair them: .zt, safetensors, GGUF, npz,
/// PyTorch
#[derive(Parser)]
#[command(name = "zt", version, after_help = "Example: zt ls model.safetensors")]
pub struct Arguments {
    /// Of URLs: certificates of authorities, in PEM, that are trusted as well as the system's
    #[arg(long, value_name = "FILE", global = true, display_order = 900)]
    pub root_certificates: Option<PathBuf>,
    /// Open or change a file by itself, although it is a part of a model
    #[arg(long, global = true, display_order = 901)]
    pub part: bool,
    /// Of a model with an index: also tensors that its files hold and the index names nowhere
    #[arg(long, global = true, display_order = 902)]
    pub include_unlisted: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// List what a file holds
    Ls(Ls),
    /// Tell everything about a file, or about some of its objects
    Info(Info),
    /// Compare two files or models of any containers
    Diff(Diff),
    /// Least, greatest, mean and deviation of tensors, NaN and zeros, histograms
    Stats(Stats),
    /// Measure how fast a file is read, beside plain reads of the same bytes
    Bench(Bench),
    /// Write a page in HTML that shows what files hold
    Report(Report),
    /// Write the decoded bytes of a tensor to standard output
    Cat(Cat),
    /// Write tensors to NumPy files
    Extract(Extract),
    /// Print, set and take away attributes
    Attr(Attr),
    /// Check files: digests, decoding, sizes, structure
    Verify(Verify),
    /// Print the content digest of files, and whether they are canonical
    Id(Id),
    /// Convert between .zt, .safetensors, .gguf and .npz; read all that `zt` opens
    Convert(Convert),
    /// Take objects of a file away, in place
    Rm(Remove),
    /// Give an object of a file another name, in place
    Mv(Move),
    /// Remove and rename objects of a file and change their attributes, all at once
    Edit(Edit),
    /// Copy objects of another file into a file
    Add(Add),
    /// Make one .zt file of several files
    Merge(Merge),
    /// Make a file of zTensor 2 with shards next to it
    Split(Split),
    /// Write a file again without what was taken away
    Compact(Compact),
    /// Cut a file that ends in an unfinished append back to its last good end
    Repair(Repair),
    /// Print what completes these commands in a shell
    Completions(Completions),
    /// What `convert` runs in a process of its own
    #[cfg(feature = "compat")]
    #[command(hide = true)]
    ReadWithCompat(ReadWithCompat),
}

#[cfg(feature = "compat")]
#[derive(Args)]
pub struct ReadWithCompat {
    pub input: PathBuf,
    /// A .zt file that is not there yet
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Example: zt ls model.zt 'layer.*.weight'")]
pub struct Ls {
    /// The file, `-` for standard input; of a model of several files any one, its index or its folder
    pub file: PathBuf,
    /// Only these objects: the name of one or, if no object has that name, a pattern; `*` matches dots and
    /// slashes, too. What is there as a file or folder, and a URL, is one more to list, but not with --glob
    /// or --exact
    #[arg(value_name = "NAME")]
    pub more: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Sums by name prefix, to this depth [default: 3]
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, require_equals = true, default_missing_value = "3", conflicts_with_all = ["json", "sort", "totals"])]
    pub tree: Option<usize>,
    /// Sums by type in place of the list
    #[arg(long, conflicts_with = "json")]
    pub totals: bool,
    /// Also the attributes of the file
    #[arg(long, short, conflicts_with = "json")]
    pub attributes: bool,
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
#[command(after_help = "Example: zt verify *.zt")]
pub struct Verify {
    /// The files or models, as of ls
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also refuse what a lenient reader passes over: unknown names, padding that is not zero
    #[arg(long)]
    pub strict: bool,
    /// Only what opening checks, and digests that are not there are not missed: no data is read
    #[arg(long)]
    pub quick: bool,
    /// Also fail for bytes that no digest and no CRC-32 covers
    #[arg(long, conflicts_with = "quick")]
    pub require_digests: bool,
    /// As JSON, an array with an entry for each file
    #[arg(long)]
    pub json: bool,
    /// Threads; 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt convert model.safetensors model.zt --zstd --digest sha256")]
pub struct Convert {
    /// A file or a model of any container that `zt` opens; `-` for standard input. Also an old checkpoint of
    /// PyTorch (before 1.6) and, if zt was built with the cargo feature compat, HDF5 and the weights of ONNX
    pub input: PathBuf,
    /// What to write: .zt, .safetensors, .gguf or .npz, by its extension; `-` for standard output
    pub output: PathBuf,
    /// What to write, for another extension, none, or standard output
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<Target>,
    /// The version of a .zt file
    #[arg(long, value_name = "VERSION")]
    pub spec: Option<Spec>,
    /// The canonical form of zTensor 2: the same tensors and attributes are the same bytes
    #[arg(long)]
    pub canonical: bool,
    /// Replace the output if it is there; what is there stays until the new file is whole
    #[arg(long)]
    pub force: bool,
    /// Only these tensors: the name of one or, if no tensor has that name, a pattern; `*` matches dots and
    /// slashes, too
    #[arg(long, value_name = "NAME")]
    pub include: Vec<String>,
    /// None of these tensors
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Rename tensors, the first rule that fits; one `*` on both sides keeps what it stands for, unless a
    /// tensor has exactly that name
    #[arg(long, value_name = "OLD=NEW", value_parser = rename)]
    pub rename: Vec<Rename>,
    /// Convert dense tensors of floats, also those of 8 bits, to this dtype. If finite numbers would become
    /// infinite, nothing is written
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<Floats>,
    /// Leave the attributes of the file out
    #[arg(long)]
    pub no_attributes: bool,
    /// Leave out tensors that cannot be read, with a line for each, instead of writing nothing
    #[arg(long)]
    pub skip_unreadable: bool,
    /// Pass over bytes behind the content of the input
    #[arg(long)]
    pub allow_trailing: bool,
    /// Leave out what the output cannot represent, and allow --dtype to make finite numbers infinite, with a
    /// line for each, instead of writing nothing
    #[arg(long)]
    pub lossy: bool,
    /// The summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Write a .zt, .safetensors or .gguf model as files of at most N bytes of tensors; K, M and G are
    /// understood. Files without an index (.zt, .gguf) replace none
    #[arg(long, value_name = "N", value_parser = size)]
    pub shard_size: Option<u64>,
    /// Compress a .zt file with zstd; levels -7 to 22, 3 if none is given
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(i32).range(-7..=22),
    )]
    pub zstd: Option<i32>,
    /// Store a .zt file without compression, also what the input compresses
    #[arg(long, conflicts_with = "zstd")]
    pub raw: bool,
    /// Store with this encoding, at its usual level
    #[arg(long, value_name = "NAME", value_parser = encoding, conflicts_with_all = ["zstd", "raw"])]
    pub encoding: Option<Encoding>,
    /// Bytes of an independent zstd frame, 1K to 1G; 1M if it is not given
    #[arg(long, value_name = "N", value_parser = frame_size)]
    pub frame_size: Option<u64>,
    /// The digest of every component of a .zt file [default: the digest that it has, else crc32c, in zTensor
    /// 2 xxh3]
    #[arg(long, value_name = "ALGORITHM")]
    pub digest: Option<Digest>,
    /// Components of a .zt file start at multiples of N bytes: a power of two from 64, which is usual
    #[arg(long, value_name = "N", value_parser = alignment)]
    pub alignment: Option<u64>,
    /// Components of 1 MiB and more start at multiples of N bytes
    #[arg(long, value_name = "N", value_parser = alignment)]
    pub large_alignment: Option<u64>,
    /// Threads that compress and verify; 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Check the input first, and compare all that was written with it before that gets its name
    #[arg(long)]
    pub verify: bool,
    /// Go on past damaged bytes of the input, list them, and give them no new digest
    #[arg(long, conflicts_with = "verify")]
    pub allow_damaged: bool,
    /// Sync file and folder to the disk before the end
    #[arg(long)]
    pub durable: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// zTensor 1.2
    Zt,
    /// safetensors
    Safetensors,
    /// GGUF
    Gguf,
    /// NumPy
    Npz,
}

/// A dtype of floats.
#[derive(Clone, Copy, ValueEnum)]
pub enum Floats {
    /// 64 bits
    F64,
    /// 32 bits
    F32,
    /// 16 bits
    F16,
    /// The upper 16 bits of f32
    Bf16,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Digest {
    /// SHA-256
    Sha256,
    /// CRC-32C
    Crc32c,
    /// XXH3, in zTensor 2
    Xxh3,
    /// No digest
    None,
}

/// A version of .zt files that are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Spec {
    /// zTensor 0.1
    #[value(name = "0.1")]
    V0_1,
    /// zTensor 1.1
    #[value(name = "1.1")]
    V1_1,
    /// zTensor 1.2, which is usual
    #[value(name = "1.2")]
    V1_2,
    /// zTensor 2
    #[value(name = "2")]
    V2,
}

#[derive(Args)]
#[command(after_help = "Example: zt repair model.zt --dry-run")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
