//! `tools/need.sh` installs packages for parts of `make test`, only with `ZT_INSTALL=1` or `CI=true`, and
//! prints that first. The tests run it with stubs of apt-get, sudo and id.

use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of programs that replaces the machine's.
struct Machine {
    bin: PathBuf,
}

struct Said {
    status: Option<i32>,
    out: String,
    err: String,
    /// The arguments of apt-get, a line for each call.
    calls: String,
}

impl Machine {
    fn new(name: &str, uid: u32) -> Machine {
        let bin = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("need").join(name);
        let _ = std::fs::remove_dir_all(&bin);
        std::fs::create_dir_all(&bin).unwrap();
        for tool in ["sh", "grep", "dirname", "mktemp", "rm", "env", "tail", "chmod"] {
            let at = ["/usr/bin", "/bin"].map(|d| Path::new(d).join(tool)).into_iter().find(|p| p.exists());
            symlink(at.unwrap_or_else(|| panic!("no {tool}")), bin.join(tool)).unwrap();
        }
        let machine = Machine { bin };
        machine.stub("id", &format!("echo {uid}"));
        machine.stub("sudo", "echo \"by sudo\" >>\"$CALLS\"; exec \"$@\"");
        // Programs that it "installs" exist afterwards.
        machine.stub(
            "apt-get",
            "echo \"$*\" >>\"$CALLS\"\ncase \"$*\" in *\" install \"*mandoc*) echo '#!/bin/sh' >\"$BIN/mandoc\"; \
             chmod +x \"$BIN/mandoc\" ;; esac",
        );
        machine
    }

    fn stub(&self, name: &str, body: &str) {
        let path = self.bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn need(&self, variable: Option<(&str, &str)>, arguments: &[&str]) -> Said {
        let calls = self.bin.join("calls");
        std::fs::write(&calls, "").unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg(root().join("tools/need.sh")).args(arguments);
        command.env_clear().env("PATH", &self.bin).env("CALLS", &calls).env("BIN", &self.bin);
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        let done = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(done.stdout), text(done.stderr));
        Said { status: done.status.code(), out, err, calls: std::fs::read_to_string(&calls).unwrap() }
    }
}

const INSTALL: Option<(&str, &str)> = Some(("ZT_INSTALL", "1"));

#[test]
fn root_installs_if_allowed_and_prints_that_first() {
    for (name, variable) in [("allowed", INSTALL), ("ci", Some(("CI", "true")))] {
        let machine = Machine::new(name, 0);
        let said = machine.need(variable, &["man"]);
        assert_eq!(said.status, Some(0), "{}", said.err);
        assert_eq!(said.out.lines().count(), 1, "{}", said.out);
        assert!(said.out.contains("mandoc") && said.out.contains("checking the man pages"), "{}", said.out);
        assert!(said.calls.contains("install -y --no-install-recommends mandoc"), "{}", said.calls);
        let again = machine.need(variable, &["man"]);
        assert_eq!((again.status, again.out.as_str(), again.calls.as_str()), (Some(0), "", ""));
    }
}

#[test]
fn nothing_is_installed_unless_allowed() {
    let machine = Machine::new("unwanted", 0);
    for variable in [None, Some(("ZT_INSTALL", "0")), Some(("CI", "false"))] {
        let said = machine.need(variable, &["man"]);
        assert_eq!((said.status, said.calls.as_str()), (Some(3), ""));
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(
            said.err.contains("ZT_INSTALL=1") && said.err.contains("apt-get install mandoc"),
            "{}",
            said.err
        );
    }
}

#[test]
fn only_root_installs_and_sudo_is_not_called() {
    let machine = Machine::new("user", 1000);
    let said = machine.need(INSTALL, &["man"]);
    assert_eq!((said.status, said.calls.as_str()), (Some(3), ""), "{}", said.err);
    assert!(said.err.contains("only root can"), "{}", said.err);
}

#[test]
fn the_plan_is_one_line_that_names_each_package_once_and_installs_nothing() {
    let machine = Machine::new("plan", 0);
    let said = machine.need(INSTALL, &["--plan", "man", "c++", "cmake", "ggml"]);
    assert_eq!((said.status, said.calls.as_str()), (Some(0), ""), "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(
        said.out.contains("mandoc (for checking the man pages), g++ (for the C++ tests), cmake"),
        "{}",
        said.out
    );
    assert_eq!(said.out.matches("g++ ").count(), 1, "{}", said.out);
    let left = machine.need(None, &["--plan", "man"]);
    assert!(left.out.contains("not installed (ZT_INSTALL=1 allows it)"), "{}", left.out);
}

#[test]
fn needs_of_parts_are_in_the_table_and_in_the_plan_of_make_test() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let table = read("tools/needs.txt");
    let names: Vec<&str> =
        table.lines().filter(|l| !l.starts_with('#')).map(|l| l.split(": ").next().unwrap()).collect();
    let scripts = [
        "Makefile",
        "tests/Makefile",
        "packaging/Makefile",
        "bindings/Makefile",
        "remote/Makefile",
        "examples/Makefile",
        "examples/fetch_minilm.sh",
        "packaging/clients.sh",
        "packaging/strangers.sh",
        "tests/consumers/run.sh",
        "tests/consumers/host/checks.sh",
    ]
    .map(read);
    let asked: Vec<&str> = scripts
        .iter()
        .flat_map(|text| text.split("tools/need.sh").skip(1))
        .filter_map(|rest| rest.trim_start_matches('"').strip_prefix(' '))
        .filter_map(|rest| rest.split([' ', ';', '\n']).next())
        .collect();
    assert!(asked.len() > 20, "{asked:?}");
    for name in &asked {
        assert!(names.contains(name), "tools/needs.txt has no {name}");
    }
    let all = read("tools/test_all.sh");
    let plan = all.split("needs=\"").nth(1).unwrap().split('"').next().unwrap();
    let planned: Vec<&str> = plan.split(' ').collect();
    for name in names {
        let is_platform = name.starts_with("platform-"); // tools/platforms/test.sh uses the platform's name
        assert!(is_platform || asked.contains(&name), "{name} is not used");
        let outside = [
            "tarball",
            "deb",
            "bench",
            "runai",
            "install",
            "site",
            "llama",
            "remote",
            "report",
            "cinstall",
            "stranger-musl",
        ];
        let quick = ["platform-i686", "platform-s390x"].contains(&name);
        let outside = (is_platform && !quick) || outside.contains(&name);
        assert_eq!(planned.contains(&name), !outside, "{name}");
    }
}
