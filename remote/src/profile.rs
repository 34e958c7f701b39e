//! The keys of a profile in the files of AWS's tools, which object_store does not read.

use std::path::PathBuf;

/// The most bytes that are read from such a file.
const MAX_READ: u64 = 1 << 20;

/// The contents of a profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub key_id: Option<String>,
    pub secret: Option<String>,
    pub token: Option<String>,
    pub region: Option<String>,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The profile of this process: $AWS_PROFILE, else "default".
pub fn read() -> Profile {
    let name = variable("AWS_PROFILE").unwrap_or_else(|| "default".into());
    let home = variable("HOME").map(PathBuf::from).unwrap_or_default().join(".aws");
    let path = |set: &str, file: &str| variable(set).map_or_else(|| home.join(file), PathBuf::from);
    let mut found = Profile::default();
    add(&mut found, &text(path("AWS_CONFIG_FILE", "config")), &["profile ", ""], &name);
    add(&mut found, &text(path("AWS_SHARED_CREDENTIALS_FILE", "credentials")), &[""], &name);
    found
}

fn text(path: PathBuf) -> String {
    let size = std::fs::metadata(&path).map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 });
    if size > MAX_READ {
        return String::new();
    }
    std::fs::read_to_string(path).unwrap_or_default()
}

fn add(profile: &mut Profile, text: &str, prefixes: &[&str], name: &str) {
    let mut is_here = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_here = prefixes
                .iter()
                .any(|prefix| section.trim().strip_prefix(prefix).map(str::trim) == Some(name));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_here && !line.starts_with(['#', ';']))
        else {
            continue;
        };
        let place = match key.trim() {
            "aws_access_key_id" => &mut profile.key_id,
            "aws_secret_access_key" => &mut profile.secret,
            "aws_session_token" => &mut profile.token,
            "region" => &mut profile.region,
            _ => continue,
        };
        *place = Some(value.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_what_stands_under_its_name() {
        let config =
            "[default]\nregion = a\n[profile deep]\nregion=b\n# region = c\n[profile other]\nregion = d\n";
        let keys =
            "[other]\naws_access_key_id = no\n[deep]\naws_access_key_id = id\naws_secret_access_key=s=e\n";
        let mut found = Profile::default();
        add(&mut found, config, &["profile ", ""], "deep");
        add(&mut found, keys, &[""], "deep");
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            Profile { key_id: some("id"), secret: some("s=e"), token: None, region: some("b") }
        );
    }
}
