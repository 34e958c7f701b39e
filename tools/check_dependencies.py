#!/usr/bin/env python3
"""Compares the crates of the shipped library with docs/dependencies.md: the same crates, each with its
licence and a reason. No crate may occur twice, come from outside the registry, or have a licence that is not
listed here. Needs no network."""
import pathlib
import re
import subprocess
import sys

# For libztensor_remote. Its TLS uses the BoringSSL code in ring.
ALLOWED_REMOTE = {"ISC"}
ALLOWED = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "Zlib", "Unlicense", "Unicode-3.0"}
root = pathlib.Path(__file__).resolve().parent.parent


def crates(edges):
    """Maps names to (version, licence) for what the library needs over these edges."""
    command = ["cargo", "tree", "--package", "ztensor-c", "--edges", edges, "--prefix", "none", "--locked"]
    command += ["--target", "x86_64-unknown-linux-gnu", "--no-dedupe", "--format", "{p}|{l}"]
    lines = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    return {tuple(line.replace("/", " OR ").split("|")) for line in lines if line and not line.startswith("ztensor-c ")}


linked = crates("normal,no-proc-macro")
building = crates("normal,build") - linked
errors = []
for crate, licence in sorted(linked | building):
    if len(crate.replace(" (proc-macro)", "").split()) != 2:
        errors.append(f"{crate} does not come from the registry")
    if not set(re.split(r"[ ()]+", licence)) & ALLOWED:
        errors.append(f"{crate} has the licence {licence}")
names = [crate.split()[0] for crate, _ in linked | building]
errors += [f"{name} occurs in two versions" for name in sorted({n for n in names if names.count(n) > 1})]

text = (root / "docs/dependencies.md").read_text()
for kind, there in (("linked", linked), ("for building", building)):
    section = text.split(f"## {kind.capitalize()}\n", 1)[-1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|", section, re.M)
    listed = {name: (licence.strip(), why.strip()) for name, licence, why in rows}
    found = {crate.split()[0]: licence for crate, licence in there}
    for name in sorted(found.keys() | listed.keys()):
        if name not in listed:
            errors.append(f"{name} ({found[name]}) is {kind}, but docs/dependencies.md does not give the reason")
        elif name not in found:
            errors.append(f"{name} is listed as {kind}, but the library does not use it")
        elif listed[name][0] != found[name] or len(listed[name][1]) < 10:
            errors.append(f"{name}: its licence is {found[name]}, but it has no reason")

command = ["cargo", "tree", "--edges", "normal,build", "--prefix", "none", "--locked", "--no-dedupe", "--target"]
command += ["x86_64-unknown-linux-gnu", "--format", "{p}|{l}"]
remote = subprocess.run(command, cwd=root / "remote", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
if remote.returncode:
    print(f"dependencies: skipped: those of remote/: {remote.stderr.strip().splitlines()[-1]}")
for crate, licence in sorted({tuple(line.split("|")) for line in remote.stdout.splitlines() if "ztensor-remote" not in line}):
    if len(crate.replace(" (proc-macro)", "").split()) != 2:
        errors.append(f"remote: {crate} does not come from the registry")
    parts = licence.replace("/", " OR ").split(" AND ")
    if not all(set(re.split(r"[ ()]+", part)) & (ALLOWED | ALLOWED_REMOTE) for part in parts):
        errors.append(f"remote: {crate} has the licence {licence}")
for error in errors:
    print(f"dependencies: {error}", file=sys.stderr)
print(f"dependency check: {0 if errors else 1} passed, {1 if errors else 0} failed")
sys.exit(1 if errors else 0)
