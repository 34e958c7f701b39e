//! The command line of commands that inspect files, and of commands that change files in place.

use super::values::{size, Floats, Meaning};
use clap::{ArgGroup, Args, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "Example: zt tree model.safetensors")]
pub struct Tree {
    /// The file or model, as in ls
    pub file: PathBuf,
    /// Only these objects. NAME is an object's name or, if no object has it, a pattern; `*` also matches dots
    /// and slashes
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Use only the first N parts of names; dots and slashes separate parts
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=100))]
    pub depth: u8,
    /// Show each layer by itself. Without it, objects whose names differ only in a number share a line
    #[arg(long)]
    pub no_fold: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt info model.gguf blk.0.attn_q.weight")]
pub struct Info {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub file: PathBuf,
    /// Objects to show, or patterns, as in stats; without a NAME the file
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Show the bytes of tensors by type and by layer, and of a key-value cache in f16, if the attributes
    /// (general.architecture and others) give its size
    #[arg(long, conflicts_with = "names")]
    pub memory: bool,
    /// Positions in the key-value cache [default: the attribute context_length]
    #[arg(long, value_name = "N", requires = "memory", value_parser = clap::value_parser!(u64).range(1..))]
    pub context: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt stats model.safetensors 'layers.0.*' --histogram 20")]
pub struct Stats {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub file: PathBuf,
    /// Only these objects. NAME is an object's name or, if no object has it, a pattern; `*` also matches dots
    /// and slashes
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Also count the finite numbers of each tensor in N ranges of equal width
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub histogram: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Number of threads; 0 for one per processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt head model.gguf blk.0.attn_q.weight --count 8")]
pub struct Head {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub file: PathBuf,
    /// Objects to show, or patterns, as in stats; without a NAME all
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// How many numbers to show of each object
    #[arg(long, short = 'n', value_name = "N", default_value_t = 16)]
    pub count: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt bench model.safetensors --threads 1,4")]
pub struct Bench {
    /// The file or model: a path
    pub file: PathBuf,
    /// Evict the file from the page cache before each run, and report if some of it stays
    #[arg(long)]
    pub cold: bool,
    /// Number of runs; the fastest one counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Numbers of threads [default: 1 and one per processor]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Vec<u16>,
}

#[derive(Args)]
#[command(after_help = "Example: zt diff model.safetensors model.zt && echo the same")]
pub struct Diff {
    /// One file or model: a path, `-` or a URL, as `zt --help` says
    pub a: PathBuf,
    /// Another one, of any container
    pub b: PathBuf,
    /// Only these objects. NAME is an object's name or, if no object has it, a pattern; `*` also matches dots
    /// and slashes
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Do not compare the attributes of the files and their objects
    #[arg(long)]
    pub no_attributes: bool,
    /// Accepted for compatibility: attributes are always compared
    #[arg(long, hide = true, conflicts_with = "no_attributes")]
    pub attributes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Number of threads; 0 for one per processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt report model.safetensors --stats -o report.html")]
pub struct Report {
    /// The files or models: paths, `-` or URLs, as `zt --help` says
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The page to write; `-` for standard output
    #[arg(long, short, value_name = "PAGE")]
    pub output: PathBuf,
    /// Also show the values of each tensor with a histogram: reads all data
    #[arg(long)]
    pub stats: bool,
    /// Also show how the two files differ: reads all data
    #[arg(long)]
    pub diff: bool,
    /// Replace an existing page
    #[arg(long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Number of threads; 0 for one per processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt cat model.zt embed.weight | head -c 64 | xxd")]
pub struct Cat {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub file: PathBuf,
    /// The object: its name, or a pattern that matches only its name
    pub name: String,
    #[command(flatten)]
    pub meaning: Meaning,
    /// The component, if the object has several
    #[arg(long, value_name = "ROLE")]
    pub component: Option<String>,
    /// Write a NumPy file
    #[arg(long)]
    pub npy: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt extract model.gguf 'blk.0.*' --dtype f32 --to tensors")]
pub struct Extract {
    /// The file or model: a path, `-` or a URL, as `zt --help` says
    pub file: PathBuf,
    /// Only these objects. NAME is an object's name or, if no object has it, a pattern; `*` also matches dots
    /// and slashes
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// The output folder; a new one gets its name when all files are in it. A name that ends in .safetensors,
    /// .zt, .gguf or .npz is one file with all tensors, which keeps bf16 and f8
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
    /// Write only the bytes, name.bin, instead of NumPy files
    #[arg(long)]
    pub raw: bool,
    /// Write the numbers of each object in this dtype, also of bf16, f8, quantized and sparse ones. If finite
    /// numbers would become infinite, nothing is written
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<Floats>,
    /// Replace an existing file if only one is written; several files never replace others
    #[arg(long)]
    pub force: bool,
    /// Continue after damaged data of the input and list its objects
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt rm model.zt lm_head.weight && zt compact model.zt")]
pub struct Remove {
    /// The file, .zt of version 1.1 or later
    pub file: PathBuf,
    /// The objects, or patterns, as in stats; their bytes stay in the file until zt compact
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Sync the file to the disk
    #[arg(long)]
    pub durable: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt mv model.zt old.name new.name")]
pub struct Move {
    /// The file, .zt of version 1.1 or later
    pub file: PathBuf,
    /// The object
    pub name: String,
    /// Its new name
    pub new: String,
    /// Sync the file to the disk
    #[arg(long)]
    pub durable: bool,
}

#[derive(Args)]
#[command(
    after_help = "set and rm change .zt files; zt convert --set writes a new file of another format.\n\n\
                  Example: zt attr model.gguf"
)]
pub struct Attr {
    #[command(subcommand)]
    pub action: AttrAction,
}

#[derive(Subcommand)]
pub enum AttrAction {
    /// Print an attribute, text unquoted and other values as JSON; without KEY all attributes
    #[command(after_help = "Example: zt attr get model.gguf general.name")]
    Get {
        /// The file or model: a path, `-` or a URL, as `zt --help` says
        file: PathBuf,
        /// The key; for an attribute of an object, the object's name before it
        #[arg(value_name = "[OBJECT] KEY", num_args = 0..=2)]
        path: Vec<String>,
        /// Print JSON, with the types of the values
        #[arg(long)]
        json: bool,
    },
    /// Set an attribute without rewriting data
    #[command(after_help = "Example: zt attr set model.zt author 'Jane Doe'")]
    Set {
        /// The file, .zt of version 1.1 or later
        file: PathBuf,
        /// The key and its value: JSON, or text if it is not valid JSON; for an attribute of an object, the
        /// object's name before them
        #[arg(value_name = "[OBJECT] KEY VALUE", num_args = 1..=3, required = true, allow_negative_numbers = true)]
        path: Vec<String>,
        /// Store the value as text, even if it is valid JSON
        #[arg(long)]
        text: bool,
        /// Sync the file to the disk
        #[arg(long)]
        durable: bool,
    },
    /// Remove an attribute
    #[command(after_help = "Example: zt attr rm model.zt author")]
    Rm {
        /// The file, .zt of version 1.1 or later
        file: PathBuf,
        /// The key; for an attribute of an object, the object's name before it
        #[arg(value_name = "[OBJECT] KEY", num_args = 1..=2, required = true)]
        path: Vec<String>,
        /// Sync the file to the disk
        #[arg(long)]
        durable: bool,
    },
}

#[derive(Args)]
#[command(after_help = "Example: zt add model.zt adapter.safetensors 'lora.*'")]
pub struct Add {
    /// The file, .zt of version 1.1 or later; unchanged until all is written
    pub file: PathBuf,
    /// The source: a file or model of any container
    pub input: PathBuf,
    /// Only these objects. NAME is an object's name or, if no object has it, a pattern; `*` also matches dots
    /// and slashes
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// First remove objects of the same name
    #[arg(long)]
    pub replace: bool,
    /// Sync the file to the disk
    #[arg(long)]
    pub durable: bool,
    /// Continue after damaged data of the input. List its objects and write no new digest for them
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt merge encoder.safetensors decoder.gguf model.zt")]
pub struct Merge {
    /// The inputs, files or models of any container, and last the .zt file to write
    #[arg(required = true, value_names = ["INPUT", "OUTPUT"])]
    pub paths: Vec<PathBuf>,
    /// Replace an existing output; the old file stays until the new one is complete
    #[arg(long)]
    pub force: bool,
    /// Sync file and folder to the disk
    #[arg(long)]
    pub durable: bool,
    /// Continue after damaged data of the input. List its objects and write no new digest for them
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt split model.zt sharded.zt --size 4G")]
pub struct Split {
    /// A file or model of any container
    pub input: PathBuf,
    /// The zTensor 2 file to write; its shards OUTPUT-00001-of-00003.zt and so on are written next to it
    pub output: PathBuf,
    /// Most bytes of tensors in a shard, for example 500M or 4G
    #[arg(long, value_name = "N", value_parser = size)]
    pub size: u64,
    /// Replace an existing file and its shards; they stay until the new ones are complete
    #[arg(long)]
    pub force: bool,
    /// Sync files and folder to the disk
    #[arg(long)]
    pub durable: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt compact model.zt")]
pub struct Compact {
    /// The .zt file; unchanged until the new one is complete
    pub file: PathBuf,
    /// Sync file and folder to the disk
    #[arg(long)]
    pub durable: bool,
    /// Continue after damaged data of the input. List its objects and write no new digest for them
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt id model.zt")]
pub struct Id {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The hash algorithm
    #[arg(long, value_name = "ALGORITHM", default_value = "sha256", value_parser = ["sha256", "xxh3"])]
    pub digest: String,
    /// Print JSON, an array with an entry for each file
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt completions bash > ~/.local/share/bash-completion/completions/zt")]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
#[command(after_help = "Example: zt edit model.zt --remove old.bias --rename a.weight b.weight")]
#[command(group = ArgGroup::new("changes").required(true).multiple(true).args(["remove", "rename", "unset", "set"]))]
pub struct Edit {
    /// The file, of version 1.1 or later
    pub file: PathBuf,
    /// Remove an object, or those that match a pattern, before the other changes; the bytes stay in the file
    /// until zt compact
    #[arg(long, value_name = "NAME")]
    pub remove: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Rename an object; later changes use the new name
    #[arg(long, num_args = 2, value_names = ["NAME", "NEW"])]
    pub rename: Vec<String>,
    /// Remove an attribute of an object
    #[arg(long, num_args = 2, value_names = ["NAME", "KEY"])]
    pub unset: Vec<String>,
    /// Set an attribute of an object to a value in JSON
    #[arg(long, num_args = 3, value_names = ["NAME", "KEY", "JSON"])]
    pub set: Vec<String>,
    /// Sync the file to the disk
    #[arg(long)]
    pub durable: bool,
}

impl Edit {
    /// No changes.
    fn nothing(file: &Path, durable: bool) -> Edit {
        let (remove, rename, unset, set) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let meaning = Meaning::default();
        Edit { file: file.to_owned(), remove, meaning, rename, unset, set, durable }
    }
}

impl From<&Remove> for Edit {
    fn from(given: &Remove) -> Edit {
        Edit {
            remove: given.names.clone(),
            meaning: given.meaning,
            ..Edit::nothing(&given.file, given.durable)
        }
    }
}

impl From<&Move> for Edit {
    fn from(given: &Move) -> Edit {
        let rename = vec![given.name.clone(), given.new.clone()];
        Edit { rename, ..Edit::nothing(&given.file, given.durable) }
    }
}
