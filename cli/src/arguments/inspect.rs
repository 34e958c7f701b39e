//! The command line of what looks into files, and of what changes one in place.

use super::values::{size, Meaning};
use clap::{ArgGroup, Args, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "Example: zt info model.gguf blk.0.attn_q.weight")]
pub struct Info {
    /// The file or model, as of ls
    pub file: PathBuf,
    /// Objects to tell everything of, or patterns, as of stats; the file itself if there is none
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
}

#[derive(Args)]
#[command(after_help = "Example: zt stats model.safetensors 'layers.0.*' --histogram 20")]
pub struct Stats {
    /// The file or model, as of ls
    pub file: PathBuf,
    /// Only these objects: the name of one or, if no object has that name, a pattern; `*` matches dots and
    /// slashes, too
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Also count the finite numbers of each tensor in N ranges of equal width
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub histogram: Option<u16>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Threads; 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt bench model.safetensors --threads 1,4")]
pub struct Bench {
    /// The file or model, as of ls; not a URL
    pub file: PathBuf,
    /// Empty the page cache of the file before each run, and say so where it stays there
    #[arg(long)]
    pub cold: bool,
    /// How often each is measured; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Numbers of threads [default: 1 and as many as there are processors]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Vec<u16>,
}

#[derive(Args)]
#[command(after_help = "Example: zt diff model.safetensors model.zt && echo the same")]
pub struct Diff {
    /// One file or model, as of ls
    pub a: PathBuf,
    /// Another one, of any container
    pub b: PathBuf,
    /// Only these objects: the name of one or, if no object has that name, a pattern; `*` matches dots and
    /// slashes, too
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Do not compare the attributes of the files and their objects
    #[arg(long)]
    pub no_attributes: bool,
    /// Attributes are compared without it, too
    #[arg(long, hide = true, conflicts_with = "no_attributes")]
    pub attributes: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Threads; 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt report model.safetensors --stats -o report.html")]
pub struct Report {
    /// The files or models, as of ls
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The page that is written; `-` for standard output
    #[arg(long, short, value_name = "PAGE")]
    pub output: PathBuf,
    /// Also what values each tensor has, with a histogram: reads all data
    #[arg(long)]
    pub stats: bool,
    /// Also how the two files differ: reads all data
    #[arg(long)]
    pub diff: bool,
    /// Replace the page if it is there
    #[arg(long)]
    pub force: bool,
    /// Threads; 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[derive(Args)]
#[command(after_help = "Example: zt cat model.zt embed.weight | head -c 64 | xxd")]
pub struct Cat {
    /// The file or model, as of ls
    pub file: PathBuf,
    /// The object: its name, or a pattern that only its name matches
    pub name: String,
    #[command(flatten)]
    pub meaning: Meaning,
    /// The component, where the object has several
    #[arg(long, value_name = "ROLE")]
    pub component: Option<String>,
    /// As a NumPy file
    #[arg(long)]
    pub npy: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt extract model.safetensors 'layers.0.*' --to tensors")]
pub struct Extract {
    /// The file or model, as of ls
    pub file: PathBuf,
    /// Only these objects: the name of one or, if no object has that name, a pattern; `*` matches dots and
    /// slashes, too
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// The folder that the files come into; a new one gets its name when all are in it
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
    /// The bytes alone, name.bin, in place of NumPy files
    #[arg(long)]
    pub raw: bool,
    /// Replace a single file that is there; several files replace none
    #[arg(long)]
    pub force: bool,
    /// Go on past damaged bytes of the input and list them
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt rm model.zt lm_head.weight && zt compact model.zt")]
pub struct Remove {
    /// The file, .zt of version 1.1 or later
    pub file: PathBuf,
    /// The objects, or patterns, as of stats; their bytes stay in the file until it is compacted
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Sync the file to the disk before the end
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
    /// Sync the file to the disk before the end
    #[arg(long)]
    pub durable: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt attr get model.gguf general.name")]
pub struct Attr {
    #[command(subcommand)]
    pub action: AttrAction,
}

#[derive(Subcommand)]
pub enum AttrAction {
    /// Print an attribute, a text as it is and all else as JSON; without KEY all of them
    #[command(after_help = "Example: zt attr get model.gguf general.name")]
    Get {
        /// The file or model, as of ls
        file: PathBuf,
        /// The key; in front of it the name of an object, if it is not of the file
        #[arg(value_name = "[OBJECT] KEY", num_args = 0..=2)]
        path: Vec<String>,
    },
    /// Set an attribute without writing any data again
    #[command(after_help = "Example: zt attr set model.zt author 'Jane Doe'")]
    Set {
        /// The file, .zt of version 1.1 or later
        file: PathBuf,
        /// The key and its value: JSON, or text if it is no JSON; in front of them perhaps the name of an
        /// object
        #[arg(value_name = "[OBJECT] KEY VALUE", num_args = 1..=3, required = true, allow_negative_numbers = true)]
        path: Vec<String>,
        /// The value is text, whatever it looks like
        #[arg(long)]
        text: bool,
        /// Sync the file to the disk before the end
        #[arg(long)]
        durable: bool,
    },
    /// Take an attribute away
    #[command(after_help = "Example: zt attr rm model.zt author")]
    Rm {
        /// The file, .zt of version 1.1 or later
        file: PathBuf,
        /// The key; in front of it the name of an object, if it is not of the file
        #[arg(value_name = "[OBJECT] KEY", num_args = 1..=2, required = true)]
        path: Vec<String>,
        /// Sync the file to the disk before the end
        #[arg(long)]
        durable: bool,
    },
}

#[derive(Args)]
#[command(after_help = "Example: zt add model.zt adapter.safetensors 'lora.*'")]
pub struct Add {
    /// The file, .zt of version 1.1 or later; it is as it was until all is written
    pub file: PathBuf,
    /// What is copied into it: a file or model of any container
    pub input: PathBuf,
    /// Only these objects: the name of one or, if no object has that name, a pattern; `*` matches dots and
    /// slashes, too
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
    /// Take objects of the same name away first
    #[arg(long)]
    pub replace: bool,
    /// Sync the file to the disk before the end
    #[arg(long)]
    pub durable: bool,
    /// Go on past damaged bytes of the input, list them, and give them no new digest
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt merge encoder.safetensors decoder.gguf model.zt")]
pub struct Merge {
    /// What is merged, files or models of any container, and at last the .zt file that is written
    #[arg(required = true, value_names = ["INPUT", "OUTPUT"])]
    pub paths: Vec<PathBuf>,
    /// Replace the output if it is there; what is there stays until the new file is whole
    #[arg(long)]
    pub force: bool,
    /// Sync file and folder to the disk before the end
    #[arg(long)]
    pub durable: bool,
    /// Go on past damaged bytes of the input, list them, and give them no new digest
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt split model.zt sharded.zt --size 4G")]
pub struct Split {
    /// A file or model of any container
    pub input: PathBuf,
    /// The .zt file of zTensor 2 that is written; its shards OUTPUT-00001-of-00003.zt and so on are next to
    /// it
    pub output: PathBuf,
    /// Most bytes of tensors in a shard; K, M and G are understood
    #[arg(long, value_name = "N", value_parser = size)]
    pub size: u64,
    /// Replace the file and its shards; what is there stays until the new ones are whole
    #[arg(long)]
    pub force: bool,
    /// Sync files and folder to the disk before the end
    #[arg(long)]
    pub durable: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt compact model.zt")]
pub struct Compact {
    /// The .zt file; it is as it was until the new one is whole
    pub file: PathBuf,
    /// Sync file and folder to the disk before the end
    #[arg(long)]
    pub durable: bool,
    /// Go on past damaged bytes of the input, list them, and give them no new digest
    #[arg(long)]
    pub allow_damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Example: zt id model.zt")]
pub struct Id {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to hash by
    #[arg(long, value_name = "ALGORITHM", default_value = "sha256", value_parser = ["sha256", "xxh3"])]
    pub digest: String,
    /// As JSON, an array with an entry for each file
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
    /// Take an object away, or those that match a pattern, before all else; the bytes stay in the file until
    /// it is compacted
    #[arg(long, value_name = "NAME")]
    pub remove: Vec<String>,
    #[command(flatten)]
    pub meaning: Meaning,
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

impl Edit {
    /// None of the changes.
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
