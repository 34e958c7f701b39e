//! SARIF 2.1.0: the form in which programs that scan files exchange what they found.

use crate::remote;
use serde_json::{json, Value as Json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// A failure in the log.
pub struct Entry<'a> {
    pub path: &'a Path,
    pub object: Option<&'a str>,
    pub role: Option<&'a str>,
    pub rule: &'a str,
    pub message: &'a str,
    /// Whether the file is damaged or refused, and not only unread.
    pub is_error: bool,
}

/// The log of a run. `is_complete` says whether everything could be checked.
pub fn log(entries: &[Entry<'_>], is_complete: bool) -> Json {
    let rules: BTreeSet<&str> = entries.iter().map(|entry| entry.rule).collect();
    let rule = |id: &&str| json!({ "id": id, "shortDescription": { "text": format!("zt verify: {id}") } });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "zt",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            } },
            "invocations": [{ "executionSuccessful": is_complete }],
            "results": entries.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(entry: &Entry<'_>) -> Json {
    let mut location = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(entry.path) } } });
    if let Some(object) = entry.object {
        let role = entry.role.map(|role| format!(": {role}"));
        let name = format!("{object}{}", role.unwrap_or_default());
        location["logicalLocations"] = json!([{ "name": object, "fullyQualifiedName": name }]);
    }
    json!({
        "ruleId": entry.rule,
        "level": if entry.is_error { "error" } else { "warning" },
        "message": { "text": entry.message },
        "locations": [location],
    })
}

/// A path as a URI: relative, or with the scheme `file`. A URL stays, without user and query.
fn uri(path: &Path) -> String {
    let is_url = remote::is_url(path);
    let shown = remote::shown(path);
    let bytes = if is_url { shown.as_bytes() } else { path.as_os_str().as_encoded_bytes() };
    let mut uri = String::from(if path.is_absolute() && !is_url { "file://" } else { "" });
    for byte in bytes.iter().copied() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte.into()),
            b':' | b'@' | b'%' | b'[' | b']' if is_url => uri.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            b'\\' if cfg!(windows) => uri.push('/'),
            byte => write!(uri, "%{byte:02X}").unwrap_or(()),
        }
    }
    uri
}
