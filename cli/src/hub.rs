//! `hf://OWNER/NAME[@REVISION][/FILE]`: models on Hugging Face, as URLs of its web server.

use ztensor::error::{Cause, Error, Result};

/// The files that a model without FILE may consist of, in the order in which they are tried.
const FILES: [&str; 4] = [
    "model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
];

/// The URLs under which a model may be. `None` if the URL has another scheme.
pub fn urls(url: &str) -> Option<Result<Vec<String>>> {
    let rest = url.strip_prefix("hf://")?;
    Some(parsed(rest).ok_or_else(|| {
        Error::new(
            Cause::InvalidArgument,
            format_args!("such a URL is hf://OWNER/NAME, hf://OWNER/NAME@REVISION or hf://OWNER/NAME/FILE"),
        )
    }))
}

/// The failure if none of the files exists.
pub fn nothing() -> Error {
    Error::new(
        Cause::NoFile,
        format_args!("it has none of the files {}; hf://OWNER/NAME/FILE names another one", FILES.join(", ")),
    )
}

fn parsed(rest: &str) -> Option<Vec<String>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_name = |text: &str| !matches!(text, "" | "." | "..") && text.chars().all(is_plain);
    let (owner, rest) = rest.trim_end_matches('/').split_once('/')?;
    let (name, file) = rest.split_once('/').map_or((rest, None), |(name, file)| (name, Some(file)));
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    let mut names = [owner, name, revision].into_iter().chain(file.into_iter().flat_map(|f| f.split('/')));
    if !names.all(is_name) {
        return None;
    }
    let host = std::env::var("HF_ENDPOINT").ok().filter(|host| !host.is_empty());
    let host = host.unwrap_or_else(|| String::from("https://huggingface.co"));
    let files = file.map_or(FILES.to_vec(), |file| vec![file]);
    let url = |file| format!("{}/{owner}/{name}/resolve/{revision}/{file}", host.trim_end_matches('/'));
    Some(files.into_iter().map(url).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_its_files_on_the_web_server() {
        let all = |url| urls(url).unwrap().map_err(|e| e.message().to_owned());
        let begin = "https://huggingface.co/o/n.1/resolve";
        assert_eq!(all("hf://o/n.1/a/b.gguf"), Ok(vec![format!("{begin}/main/a/b.gguf")]));
        let found = all("hf://o/n.1@v1/").unwrap();
        assert_eq!((found.len(), &found[1]), (FILES.len(), &format!("{begin}/v1/model.safetensors")));
        for bad in
            ["hf://", "hf://o", "hf://o/", "hf://o/n/../x", "hf://o/n@/x", "hf://me:pw@o/n", "hf://o/n?x"]
        {
            assert!(all(bad).unwrap_err().contains("hf://OWNER/NAME"), "{bad}");
        }
        assert!(urls("https://host/a").is_none());
    }
}
