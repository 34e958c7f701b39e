//! The command line.

mod inspect;
mod values;

use crate::standard_input::is_standard;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use ztensor::model::manifest::Encoding;

pub use inspect::{
    Add, Attr, AttrAction, Bench, Cat, Compact, Completions, Diff, Edit, Extract, Head, Id, Info, Merge,
    Move, Remove, Report, Split, Stats, Tree,
};
use values::{alignment, encoding, frame_size, rename, setting, sha256, size};
pub use values::{is_path, type_rule, value_of, Chosen, Floats, Meaning, Rename, Setting, TypeRule};

/// The heading of the options that every command has.
const EVERYWHERE: &str = "Options of all commands";

/// What holds for all commands.
const AFTER_HELP: &str = "\
Inputs of all commands that read (bench reads only a PATH):
  PATH  a file; of a model of several files any of them, its index or folder
  -     standard input; a pipe is first copied to a temporary file in $TMPDIR
  URL   https://, s3://, gs://, az://, hf://OWNER/NAME[@REVISION][/FILE];
        needs libztensor_remote
  The content decides the format: .zt, safetensors, GGUF, npz, npy, PyTorch
  of all versions; as a PATH also HDF5 and ONNX, if zt was built with them.

Exit status of all commands:
  0         success; diff: files are equal; verify: nothing is wrong
  1         failure; diff: files differ; verify: a file is bad or refused
  2         wrong usage, or no answer: diff, id or verify cannot read it all
  3         a URL needs libztensor_remote, which is not installed
  130, 143  interrupted; files are as they were before

Example: zt ls model.safetensors";

/// Inspect, compare, verify, convert, edit and repair tensor files: .zt, safetensors, GGUF, npz, PyTorch
#[derive(Parser)]
#[command(name = "zt", version, after_help = AFTER_HELP)]
pub struct Arguments {
    /// Show neither progress nor notes; failures are still reported
    #[arg(long, short, global = true, help_heading = EVERYWHERE, display_order = 900)]
    pub quiet: bool,
    /// Open or change a single file of a model
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 901)]
    pub part: bool,
    /// Show the tensors of each quantized weight as one object
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 902)]
    pub combine: bool,
    /// Include tensors that are in a model's files but not in its index
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 903)]
    pub include_unlisted: bool,
    /// Most bytes to copy from standard input, if it is a pipe, to a temporary file
    #[arg(long, value_name = "N", value_parser = size, default_value = "64G", global = true)]
    #[arg(help_heading = EVERYWHERE, display_order = 904)]
    pub stdin_limit: u64,
    /// For URLs: trust the certificate authorities in this PEM file, too
    #[arg(long, value_name = "FILE", global = true, help_heading = EVERYWHERE, display_order = 905)]
    pub root_certificates: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// List the contents of files
    Ls(Ls),
    /// Show what a model is made of: sums by name prefix, all layers at once
    Tree(Tree),
    /// Show everything about a file, or about some of its objects
    Info(Info),
    /// Compare two files or models of any containers
    Diff(Diff),
    /// Show the first numbers of tensors
    Head(Head),
    /// Show minimum, maximum, mean and deviation of tensors, NaN and zeros, histograms
    Stats(Stats),
    /// Measure how fast a file is read, compared with plain reads of the same bytes
    Bench(Bench),
    /// Write an HTML page that shows the contents of files
    Report(Report),
    /// Write the decoded bytes of a tensor to standard output
    Cat(Cat),
    /// Write tensors to NumPy files
    Extract(Extract),
    /// Print, set and remove attributes; `zt attr FILE` prints all
    Attr(Attr),
    /// Check files: digests, decoding, sizes, structure
    Verify(Verify),
    /// Print the content digest of files, and whether they are canonical
    Id(Id),
    /// Convert between .zt, .safetensors, .gguf and .npz; reads all formats that `zt` opens
    Convert(Convert),
    /// Remove objects from a file, in place
    Rm(Remove),
    /// Rename an object of a file, in place
    Mv(Move),
    /// Remove and rename objects of a file and change their attributes, all at once
    Edit(Edit),
    /// Copy objects of another file into a file
    Add(Add),
    /// Make one .zt file from several files
    Merge(Merge),
    /// Make a file of zTensor 2 with shards next to it
    Split(Split),
    /// Rewrite a file without removed data
    Compact(Compact),
    /// Cut back a file that ends in an unfinished append
    Repair(Repair),
    /// Print a shell script that completes these commands
    Completions(Completions),
    /// Print the version
    #[command(after_help = "Example: zt version | cut -d ' ' -f 2")]
    Version,
    /// The part of `convert` that runs in a separate process
    #[cfg(feature = "compat")]
    #[command(hide = true)]
    ReadWithCompat(ReadWithCompat),
}

impl Command {
    /// Whether standard output is JSON. It is not if a file is written to it.
    pub fn prints_json(&self) -> bool {
        match self {
            Command::Ls(given) => given.json,
            Command::Info(given) => given.json,
            Command::Diff(given) => given.json,
            Command::Head(given) => given.json,
            Command::Stats(given) => given.json,
            Command::Bench(given) => given.json,
            Command::Report(given) => given.json && !is_standard(&given.output),
            Command::Attr(Attr { action: AttrAction::Get { json, .. } }) => *json,
            Command::Verify(given) => given.json,
            Command::Id(given) => given.json,
            Command::Convert(given) => given.json && !is_standard(&given.output),
            _ => false,
        }
    }
}

#[cfg(feature = "compat")]
#[derive(Args)]
pub struct ReadWithCompat {
    pub input: PathBuf,
    /// A .zt file that does not exist yet
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Example: zt ls model.zt 'layer.*.weight'")]
pub struct Ls {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub file: PathBuf,
    /// List only these objects. NAME is an object's name or, if no object has it, a pattern; `*` also matches
    /// dots and slashes. A NAME that exists as a file or folder, or is a URL, is listed as another file, but
    /// not with --glob or --exact
    #[arg(value_name = "NAME")]
    pub more: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Show objects of the same type and shape, whose names differ only in a number, as one line with their
    /// number and sum
    #[arg(long, conflicts_with_all = ["json", "totals", "long"])]
    pub fold: bool,
    /// Show sums by type instead of the list
    #[arg(long, conflicts_with = "json")]
    pub totals: bool,
    /// Also show the attributes of the file
    #[arg(long, short, conflicts_with = "json")]
    pub attributes: bool,
    /// Order of the list [default: the file's order]
    #[arg(long, value_name = "BY")]
    pub sort: Option<Sort>,
    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,
    /// Show sizes in bytes, full digests, offsets
    #[arg(long, short)]
    pub long: bool,
    /// Print JSON with all metadata of the file
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
    /// By offset in the file
    Offset,
    /// By stored size
    Size,
}

#[derive(Args)]
#[command(after_help = "Exit status: 0 if nothing is wrong, 1 if a file is damaged or refused, 2 if a file \
cannot be read or checked completely, 3 as in zt --help\n\nExample: zt verify --untrusted --sarif *.safetensors")]
pub struct Verify {
    /// The files or models: paths, `-` or URLs, as `zt --help` says
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also reject what is otherwise accepted: unknown names, padding that is not zero
    #[arg(long)]
    pub strict: bool,
    /// Check only what opening checks, and do not report missing digests: reads no data
    #[arg(long)]
    pub quick: bool,
    /// The SHA-256 of the file, as a hub or a .sha256 file has it; for one FILE that is a path
    #[arg(long, value_name = "HEX", value_parser = sha256)]
    pub sha256: Option<[u8; 32]>,
    /// Also fail for bytes without a digest or CRC-32
    #[arg(long, conflicts_with = "quick")]
    pub require_digests: bool,
    /// For files from strangers: read them instead of mapping them, and reject more than 100 MiB of metadata,
    /// 2^20 objects, 512 MiB of memory for them, or 4 GiB in a compressed component
    #[arg(long)]
    pub untrusted: bool,
    /// Print JSON, an array with an entry for each file
    #[arg(long)]
    pub json: bool,
    /// Print SARIF 2.1.0, for programs that collect the results of scanners
    #[arg(long, conflicts_with = "json")]
    pub sarif: bool,
    /// Number of threads; 0 for one per processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt convert model.safetensors model.zt --zstd --digest sha256")]
pub struct Convert {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub input: PathBuf,
    /// The output: .zt, .safetensors, .gguf or .npz, chosen by its extension; `-` for standard output
    pub output: PathBuf,
    /// Output format, for other extensions and standard output
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<Target>,
    /// The version of a .zt file
    #[arg(long, value_name = "VERSION")]
    pub spec: Option<Spec>,
    /// Write the canonical form of zTensor 2: equal tensors and attributes give equal files
    #[arg(long)]
    pub canonical: bool,
    /// Replace an existing output; the old file stays until the new one is complete
    #[arg(long)]
    pub force: bool,
    /// Convert only these tensors. NAME is a tensor's name or, if no tensor has it, a pattern; `*` also
    /// matches dots and slashes
    #[arg(long, value_name = "NAME")]
    pub include: Vec<String>,
    /// Leave out these tensors
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Rename tensors; the first matching rule applies. One `*` on both sides keeps the text that it matches,
    /// unless a tensor has exactly that name
    #[arg(long, value_name = "OLD=NEW", value_parser = rename)]
    pub rename: Vec<Rename>,
    /// Convert dense tensors of floats, also 8-bit ones, and quantized tensors to this dtype. If finite
    /// numbers would become infinite, nothing is written
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<Floats>,
    /// Quantize dense tensors of floats, as ggml does, to q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, mxfp4, tq1_0
    /// or tq2_0. TYPE is for tensors of 2 or more dimensions whose names end in "weight" and hold none of
    /// "_norm.", "ffn_gate_inp" and "ssm_conv1d"; with --include for every chosen one of 2 or more, whatever
    /// its name. NAME=TYPE is for tensors of that name or pattern, and NAME=keep keeps theirs; the first that
    /// matches applies. Names do not change: a safetensors model does not become one that llama.cpp loads
    #[arg(long = "type", value_name = "[NAME=]TYPE", value_parser = type_rule, conflicts_with = "dtype")]
    pub types: Vec<TypeRule>,
    /// Fail if --type cannot quantize a tensor, as its rows are not whole blocks. Without it, the tensor
    /// keeps its type, and is listed
    #[arg(long, requires = "types")]
    pub strict: bool,
    /// Set an attribute of the output. VALUE is JSON, or text if it is not valid JSON
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<Setting>,
    /// Leave out the attributes of the file, except those of --set
    #[arg(long)]
    pub no_attributes: bool,
    /// Leave out tensors that cannot be read, and print a line for each. Without it, nothing is written
    #[arg(long)]
    pub skip_unreadable: bool,
    /// Accept bytes after the end of the input's content
    #[arg(long)]
    pub allow_trailing: bool,
    /// Leave out what the output cannot represent, and allow --dtype to make finite numbers infinite. A line
    /// is printed for each. Without it, nothing is written
    #[arg(long)]
    pub lossy: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Write a .zt, .safetensors or .gguf model as files with at most N bytes of tensors, for example 500M or
    /// 4G. Files without an index (.zt, .gguf) never replace others
    #[arg(long, value_name = "N", value_parser = size)]
    pub shard_size: Option<u64>,
    /// Compress a .zt file with zstd; levels -7 to 22, default 3
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(i32).range(-7..=22),
    )]
    pub zstd: Option<i32>,
    /// Store a .zt file without compression, also if the input is compressed
    #[arg(long, conflicts_with = "zstd")]
    pub raw: bool,
    /// Store with this encoding, at its default level
    #[arg(long, value_name = "NAME", value_parser = encoding, conflicts_with_all = ["zstd", "raw"])]
    pub encoding: Option<Encoding>,
    /// Bytes of an independent zstd frame, 1K to 1G; default 1M
    #[arg(long, value_name = "N", value_parser = frame_size)]
    pub frame_size: Option<u64>,
    /// The digest of every component of a .zt file [default: keep the input's digest, else crc32c, in zTensor
    /// 2 xxh3]
    #[arg(long, value_name = "ALGORITHM")]
    pub digest: Option<Digest>,
    /// Align components of a .zt file to multiples of N bytes: a power of two from 64, the default
    #[arg(long, value_name = "N", value_parser = alignment)]
    pub alignment: Option<u64>,
    /// Align components of 1 MiB and more to multiples of N bytes
    #[arg(long, value_name = "N", value_parser = alignment)]
    pub large_alignment: Option<u64>,
    /// Number of threads that compress and verify; 0 for one per processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Check the input first, and compare all written data with it before the output gets its name
    #[arg(long)]
    pub verify: bool,
    /// Continue after damaged data of the input. List its objects and write no new digest for them
    #[arg(long, conflicts_with = "verify")]
    pub allow_damaged: bool,
    /// Sync file and folder to the disk
    #[arg(long)]
    pub durable: bool,
}

/// An output format.
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

/// A version of .zt files that zt writes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Spec {
    /// zTensor 0.1
    #[value(name = "0.1")]
    V0_1,
    /// zTensor 1.1
    #[value(name = "1.1")]
    V1_1,
    /// zTensor 1.2, the default
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
    /// Cut the file here, if its old end is unclear
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
