//! `zt completions`: prints a script that completes commands in a shell.

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

/// clap's script for bash offers options where a file is expected, and splits names that contain spaces.
/// Where our version offers nothing, bash itself completes file names.
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

/// clap's script for fish completes values of options, but not of positional arguments: the shells of this
/// command.
fn for_fish(script: &str) -> String {
    let shells: Vec<String> = Shell::value_variants().iter().map(Shell::to_string).collect();
    let shells = shells.join(" ");
    format!("{script}complete -c zt -n \"__fish_seen_subcommand_from completions\" -f -a \"{shells}\"\n")
}
