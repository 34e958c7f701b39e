//! `zt completions`: what completes commands in a shell.

use crate::arguments::{Arguments, Completions};
use crate::failure::Outcome;
use crate::output::Output;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;

pub fn run(arguments: &Completions) -> Outcome<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "zt", &mut script);
    let script = String::from_utf8_lossy(&script);
    let mut out = Output::new();
    match arguments.shell {
        Shell::Bash => out.put(&for_bash(&script))?,
        Shell::Fish => out.put(&for_fish(&script))?,
        _ => out.put(&script)?,
    }
    out.flush()
}

/// As clap makes it, a script for bash offers options where a file is due, and pieces of names that have
/// spaces in them. Where it offers nothing, bash itself completes names of files.
fn for_bash(script: &str) -> String {
    const WORDS: &str = r#"
_zt_words() {
    local word words=()
    _zt "$@"
    [[ $2 == -* ]] && return
    for word in "${COMPREPLY[@]}"; do
        [[ $word == -* ]] || words+=("$word")
    done
    COMPREPLY=("${words[@]}")
}
"#;
    let files = r#"COMPREPLY=($(compgen -f "${cur}"))"#;
    format!("{}{WORDS}", script.replace(files, "COMPREPLY=()").replace("-F _zt ", "-F _zt_words "))
}

/// As clap makes it, a script for fish knows the values of options, and none of words that stand alone: the
/// shells of this command.
fn for_fish(script: &str) -> String {
    let shells: Vec<String> = Shell::value_variants().iter().map(Shell::to_string).collect();
    let shells = shells.join(" ");
    format!("{script}complete -c zt -n \"__fish_seen_subcommand_from completions\" -f -a \"{shells}\"\n")
}
