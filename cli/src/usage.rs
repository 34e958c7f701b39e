//! Parses the command line. An error is a single line like every failure, and help is a result.

use crate::arguments::{type_rule, Arguments};
use crate::failure::{collect_errors, error as report, Failure};
use crate::output::print_errors;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// An option whose number is optional.
const WITH_NUMBER: &str = "--zstd";

/// The parsed arguments, or the exit status.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, ExitCode> {
    let words = with_get(with_numbers(words));
    Arguments::try_parse_from(&words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Failure::output(error).report(),
        },
        // Without any arguments, help is printed as an error.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            if words.iter().any(|word| word == "--json") {
                collect_errors();
            }
            report(&format!("{}; {} --help has more", what_is_wrong(&error), command_of(&words)));
            print_errors();
            ExitCode::from(2)
        }
    })
}

/// Turns `--zstd 9` into `--zstd=9`. Only then, FILE in `--zstd FILE` is not parsed as a level.
fn with_numbers(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::new();
    let mut only_names = false;
    for word in words {
        only_names |= word == "--";
        let is_number = word.to_str().is_some_and(|text| text.parse::<i64>().is_ok());
        match out.last_mut().filter(|option| *option == WITH_NUMBER) {
            Some(option) if is_number && !only_names => {
                option.push("=");
                option.push(word);
            }
            _ => out.push(word),
        }
    }
    out
}

/// Turns `zt attr FILE` into `zt attr get FILE`.
fn with_get(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_action = |word: &OsString| ["get", "set", "rm", "help"].iter().any(|action| word == action);
    let is_word = |word: &OsString| word == "-" || !word.to_string_lossy().starts_with('-');
    let root = Arguments::command();
    let with_value = root.get_arguments().filter(|option| option.get_action().takes_values());
    let with_value: Vec<_> =
        with_value.filter_map(|o| o.get_long()).map(|long| format!("--{long}")).collect();
    let is_value = |at: usize| with_value.iter().any(|option| words[at - 1] == **option);
    let mut names = (1..words.len()).filter(|at| is_word(&words[*at]) && !is_value(*at));
    match (names.next(), names.next()) {
        (Some(attr), Some(next)) if words[attr] == "attr" && !is_action(&words[next]) => {
            words.insert(attr + 1, "get".into());
        }
        _ => {}
    }
    words
}

/// The error message without the usage after it.
fn what_is_wrong(error: &Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim);
    let said = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let mut out = String::new();
    for line in said.filter(|line| !line.is_empty()) {
        match (line.strip_prefix("error: "), line.strip_prefix("tip: ")) {
            (Some(message), _) => out.push_str(message),
            // That an unknown option could be the name of a file misleads.
            (_, Some(tip)) if tip.starts_with("to pass '") => out += &commands_with_option(error),
            (_, Some(tip)) => out.extend(["; ", tip]),
            _ => out.extend([" ", line]),
        }
    }
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let blocks = of(ContextKind::InvalidValue);
    if of(ContextKind::InvalidArg).starts_with("--dtype") && type_rule(blocks).is_ok() {
        out += &format!("; --type {blocks} quantizes");
    }
    out
}

/// The commands that have the unknown option of another command, after a semicolon; nothing if none has it.
fn commands_with_option(error: &Error) -> String {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return String::new() };
    let root = Arguments::command();
    let has = |command: &&clap::Command| {
        let mut names = command.get_arguments().filter_map(|argument| argument.get_long());
        names.any(|long| option.strip_prefix("--") == Some(long))
    };
    let names: Vec<_> = root.get_subcommands().filter(has).map(|command| command.get_name()).collect();
    match names.as_slice() {
        [] => String::new(),
        [name] => format!("; zt {name} has it"),
        [names @ .., last] => format!("; zt {} and {last} have it", names.join(", ")),
    }
}

/// The command whose help to suggest: `zt`, or `zt ls`.
fn command_of(words: &[OsString]) -> String {
    let root = Arguments::command();
    let (mut command, mut name) = (&root, String::from("zt"));
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(found) = command.find_subcommand(word) else { break };
        name.extend([" ", found.get_name()]);
        command = found;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attr_with_a_file_is_attr_get() {
        let given = |text: &str| with_get(text.split(' ').map(OsString::from).collect()).join(" ".as_ref());
        for (text, meant) in [
            ("zt attr a.zt", "zt attr get a.zt"),
            ("zt --part attr --quiet -", "zt --part attr get --quiet -"),
            ("zt attr set a.zt k v", "zt attr set a.zt k v"),
            ("zt attr --help", "zt attr --help"),
            ("zt attr --stdin-limit 1G get a.zt", "zt attr --stdin-limit 1G get a.zt"),
            ("zt --root-certificates c.pem attr a.zt", "zt --root-certificates c.pem attr get a.zt"),
            ("zt ls attr a.zt", "zt ls attr a.zt"),
        ] {
            assert_eq!(given(text), OsString::from(meant));
        }
    }

    #[test]
    fn a_number_after_an_option_that_may_have_one_is_its_value() {
        let given = |text: &str| with_numbers(text.split(' ').map(OsString::from)).join(" ".as_ref());
        for (text, meant) in [
            ("zt convert --zstd 9 a b", "zt convert --zstd=9 a b"),
            ("zt convert a b --zstd -5", "zt convert a b --zstd=-5"),
            ("zt convert --zstd a b", "zt convert --zstd a b"),
            ("zt convert --zstd=3 9 b", "zt convert --zstd=3 9 b"),
            ("zt convert -- --zstd 2", "zt convert -- --zstd 2"),
        ] {
            assert_eq!(given(text), OsString::from(meant));
        }
    }
}
