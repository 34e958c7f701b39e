"""Checks the binary interface of the headers with libabigail (abidw and abidiff):

    python3 abi.py describe INCLUDE OUT.abi      writes it down
    python3 abi.py compare OLD.abi NEW.abi       fails where a program that was compiled against the old one might not run
    python3 abi.py check INCLUDE OUT             compares with the last release, and breaks copies of the headers to see that it is found

docs/abi.md says what may change. A release leaves its own in packaging/abi.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"^(?!\s*typedef)([^;{}=]*\bzt_\w+\([^;{}]*\));", re.M)
# What abidiff prints for a struct that grew at its end, and for no change.
GREW = re.compile(r"'struct (\w+)' changed:$")
ALLOWED = re.compile(r"$|.* summary: |  type size changed from |  \d+ data member insertions?:$|    '.*', at offset \d+ \(in bits\)$")


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def describe(include, out):
    """Compiles a library that defines the functions of the headers: the interface that a C compiler sees."""
    with tempfile.TemporaryDirectory() as folder:
        headers = '#include "ztensor_advanced.h"\n#include "ztensor_dlpack.h"\n'
        text = run("cc", "-E", "-P", f"-I{include}", "-x", "c", "-", input=headers)
        source = DECLARATION.sub(r"\1 { __builtin_trap(); }", text)
        # Enumerations are passed as integers, so functions do not refer to them.
        for name in sorted(set(re.findall(r"\benum (zt_\w+) \{", text))):
            source += f"enum {name} zt_numbers_of_{name[3:]};\n"
        Path(folder, "ztensor.c").write_text(source)
        run("cc", "-std=gnu99", "-w", "-g", "-O0", "-fPIC", "-shared", "-Wl,-soname,libztensor.so.1",
            f"-Wl,--version-script={ROOT}/cmake/libztensor.map", "-o", "libztensor.so", "ztensor.c", cwd=folder)
        run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", "out.abi", "libztensor.so", cwd=folder)
        shutil.copyfile(Path(folder, "out.abi"), out)


def growing(abi):
    """The structs that begin with struct_size."""
    found = set()
    for struct in xml.etree.ElementTree.parse(abi).iter("class-decl"):
        first = struct.find("data-member/var-decl")
        if first is not None and first.get("name") == "struct_size":
            found.add(struct.get("name"))
    return found


def breaks(old, new):
    """Changes in abidiff's output that docs/abi.md does not allow, as lines."""
    done = subprocess.run(["abidiff", "--leaf-changes-only", "--no-added-syms", old, new], text=True, capture_output=True)
    if done.returncode & 3:
        raise SystemExit(f"abi.py: abidiff: {done.stdout}{done.stderr}")
    sized = growing(new)
    found = []
    for line in done.stdout.splitlines():
        struct = GREW.match(line)
        if not (struct[1] in sized if struct else ALLOWED.match(line)):
            found.append(line)
    return found if done.returncode else []


# A change of the headers, whether it breaks programs, and the edit.
CHANGES = [
    ("a function is removed", True, r"int32_t zt_last_os_error\(void\);", ""),
    ("a parameter has a different type", True, r"zt_status_name\(zt_status status\)", "zt_status_name(uint64_t status)"),
    ("a status has a different number", True, r"ZT_ERROR_UNSUPPORTED = \d+", "ZT_ERROR_UNSUPPORTED = 77"),
    ("a field is put before others", True, r"struct zt_open_options \{", r"\g<0> uint64_t more;"),
    ("a field has a different type", True, r"(struct zt_cache_stats \{.*?)uint64_t", r"\1uint32_t"),
    ("a struct without struct_size grows", True, r"struct zt_array \{[^}]*", r"\g<0>uint64_t more;\n"),
    ("a function is added", False, r"int32_t zt_last_os_error\(void\);", r"\g<0> int zt_more(void);"),
    ("a status is added", False, r"ZT_ERROR_UNSUPPORTED = \d+,", r"\g<0> ZT_ERROR_MORE = 99,"),
    ("a struct grows at its end", False, r"struct zt_open_options \{[^}]*", r"\g<0>uint64_t more;\n"),
]


def check(include, out):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    now = out / "now.abi"
    describe(include, now)
    failed = 0
    for name, broken, pattern, replacement in CHANGES:
        shutil.rmtree(out / "include", ignore_errors=True)
        shutil.copytree(include, out / "include")
        count = 0
        for header in (out / "include/ztensor.h", out / "include/ztensor_advanced.h"):
            text, changed = re.subn(pattern, replacement, header.read_text(), count=1, flags=re.S)
            header.write_text(text)
            count += changed
        describe(out / "include", out / "changed.abi")
        found = breaks(now, out / "changed.abi")
        if count != 1 or bool(found) != broken:
            failed += 1
            print(f"abi: {name}: {count} changes made, found {found}")
    version = lambda path: [int(part) for part in re.findall(r"\d+", path.stem)]
    releases = sorted((ROOT / "packaging/abi").glob("libztensor-*.abi"), key=version)
    if releases:
        found = breaks(releases[-1], now)
        print("\n".join([f"abi: programs compiled against {releases[-1].stem} might not run:", *found]) if found else
              f"abi: compatible with {releases[-1].stem}")
        failed += bool(found)
    else:
        print("abi: no release to compare with")
    return failed


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("describe", "compare", "check"):
        raise SystemExit("usage: abi.py describe INCLUDE OUT.abi | compare OLD.abi NEW.abi | check INCLUDE OUT")
    what, first, second = sys.argv[1:]
    if what == "describe":
        describe(Path(first).resolve(), second)
    elif what == "compare":
        found = breaks(first, second)
        print("\n".join(found))
        raise SystemExit(1 if found else 0)
    else:
        raise SystemExit(1 if check(Path(first).resolve(), second) else 0)


main()
