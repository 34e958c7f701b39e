"""Writes what the Python and Julia bindings declare of the C interface, from the headers.

    python3 bindings/generate.py            writes the files
    python3 bindings/generate.py --check    exit status 1 if one is stale
"""

import sys
from pathlib import Path

import header

HERE = Path(__file__).resolve().parent
CTYPES = {
    "void": "None", "void *": "c_void_p", "char *": "c_char_p", "int": "c_int", "size_t": "c_size_t",
    "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64", "double": "c_double",
}
JULIA = {
    "void": "Cvoid", "void *": "Ptr{Cvoid}", "char *": "Cstring", "int": "Cint", "size_t": "Csize_t",
    "int32_t": "Int32", "uint32_t": "UInt32", "int64_t": "Int64", "uint64_t": "UInt64", "double": "Float64",
}


def python(h):
    def of(c):
        if isinstance(c, tuple):
            return f"CFUNCTYPE({', '.join(of(t) for t in (c[0], *c[1]))})"
        if c in CTYPES:
            return CTYPES[c]
        if c in h.callbacks or c in h.structs or c in h.aliases:
            return c
        base = c.rstrip("*").strip()
        if base in h.opaque:
            return "c_void_p" if c.count("*") == 1 else "POINTER(c_void_p)"
        return f"POINTER({of(c[:-1].strip())})"

    lines = ['"""Generated from the headers by bindings/generate.py; do not edit."""', "",
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,",
             "                    c_uint32, c_uint64, c_void_p)", ""]
    lines += [f"{name} = {number}" for name, number in h.constants.items()] + [""]
    lines += [f"{name} = {CTYPES[c]}" for name, c in h.aliases.items()]
    lines += [f"{name} = {of(c)}" for name, c in h.callbacks.items()]
    for name, fields in h.structs.items():
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{f}", {of(c)}),' for f, c in fields] + ["    ]"]
    lines += ["", "", "FUNCTIONS = {"]
    for name, (result, arguments) in h.functions.items():
        lines.append(f'    "{name}": ({of(result)}, [{", ".join(of(c) for _, c in arguments)}]),')
    return "\n".join(lines + ["}", ""])


def julia(h):
    def of(c):
        if isinstance(c, tuple) or c in h.callbacks:
            return "Ptr{Cvoid}"
        if c in JULIA:
            return JULIA[c]
        if c in h.aliases:
            return JULIA[h.aliases[c]]
        if c in h.structs:
            return c
        base = c.rstrip("*").strip()
        if base in h.opaque:
            return "Ptr{Cvoid}" if c.count("*") == 1 else "Ptr{Ptr{Cvoid}}"
        inner = "Ptr{UInt8}" if c == "char * *" or c == "char **" else of(c[:-1].strip())
        return f"Ptr{{{inner}}}"

    def safe(name):
        return name + "_" if name in ("function", "type", "begin", "end", "struct", "mutable", "module") else name

    lines = ["# Generated from the headers by bindings/generate.py; do not edit.", ""]
    lines += [f"const {name} = {number}" for name, number in h.constants.items()]
    for name, fields in h.structs.items():
        lines += ["", f"struct {name}"]
        lines += [f"    {safe(f)}::{'Ptr{UInt8}' if c == 'char *' else of(c)}" for f, c in fields] + ["end"]
    lines.append("")
    for name, (result, arguments) in h.functions.items():
        names = ", ".join(safe(a) for a, _ in arguments)
        types = ", ".join(of(c) for _, c in arguments) + ("," if len(arguments) == 1 else "")
        values = "".join(f", {safe(a)}" for a, _ in arguments)
        lines.append(f"{name}({names}) = ccall((:{name}, libztensor), {of(result)}, ({types}){values})")
    return "\n".join(lines + [""])


def main():
    h = header.read()
    stale = []
    for path, text in ((HERE / "python/libztensor/_declarations.py", python(h)), (HERE / "julia/src/declarations.jl", julia(h))):
        if not path.exists() or path.read_text() != text:
            stale.append(path)
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    if "--check" in sys.argv:
        print(f"declarations: {2 - len(stale)} passed, {len(stale)} failed")
        for path in stale:
            print(f"stale: {path.name}; python3 bindings/generate.py makes it anew", file=sys.stderr)
        sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
