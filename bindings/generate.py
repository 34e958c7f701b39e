"""Writes the declarations of the C interface for the Go, Julia and Python bindings, from the headers.

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
    callbacks = dict(h.callbacks)
    for name, fields in h.structs.items():
        # A callback may have structs as arguments that are declared before the struct that holds the
        # callback.
        used = [c for _, field in fields for c in ([field] if isinstance(field, str) else field[1])]
        lines += [f"{c} = {of(callbacks.pop(c))}" for c in used if c in callbacks]
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{f}", {of(c)}),' for f, c in fields] + ["    ]"]
    lines += [f"{name} = {of(c)}" for name, c in callbacks.items()]
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

    def argument(pairs, at):
        """Cstring rejects text with a NUL inside, so it is only for arguments without a length."""
        name, c = pairs[at]
        has_length = at + 1 < len(pairs) and pairs[at + 1][0] == name + "_length"
        return "Ptr{UInt8}" if c == "char *" and (has_length or name in ("key", "role", "buf") or pairs[-1][0] == "length") else of(c)

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
        types = ", ".join(argument(arguments, at) for at in range(len(arguments))) + ("," if len(arguments) == 1 else "")
        values = "".join(f", {safe(a)}" for a, _ in arguments)
        lines.append(f"{name}({names}) = ccall((:{name}, libztensor), {of(result)}, ({types}){values})")
    return "\n".join(lines + [""])


# Type in Go, prefix of its values, and its description. ZT_CAP_ and ZT_VERIFY_ are sets.
GO = {
    "zt_dtype": ("DType", "ZT_DTYPE_", "a storage type"), "zt_type": ("Type", "ZT_TYPE_", "a logical type"),
    "zt_format": ("Format", "ZT_FORMAT_", "a layout of components"), "zt_encoding": ("Encoding", "ZT_ENCODING_", "how bytes are stored"),
    "zt_mode": ("Mode", "ZT_MODE_", "how a file's bytes are reached"), "zt_advice": ("Advice", "ZT_ADVICE_", "what will be done with bytes"),
    "zt_container": ("Container", "ZT_CONTAINER_", "how a file is laid out"), "zt_value_kind": ("Kind", "ZT_VALUE_KIND_", "what kind of thing a value is"),
    "zt_direct": ("Direct", "ZT_DIRECT_", "whether reads go past the page cache"), "zt_digest": ("Digest", "ZT_DIGEST_", "a checksum"),
    "zt_cache_policy": ("CachePolicy", "ZT_CACHE_", "which slice of a cache is evicted when a slot is needed"),
    "zt_spec": ("Spec", "ZT_SPEC_", "a version of the spec to write"),
    "caps": ("Cap", "ZT_CAP_", "a set of what would work on a component"), "checks": ("Check", "ZT_VERIFY_", "a set of what to verify"),
}


# Words that are not changed.
INITIALS = ("CSR", "COO", "ZT", "NPZ", "GGUF", "LRU", "SLRU", "XXS", "XS", "NL", "S", "M", "K")


def camel(name):
    """SPARSE_CSR becomes SparseCSR, GGUF_Q4_0 becomes GGUFQ4_0, and 1_2_0 stays."""
    made = ""
    for word in name.split("_"):
        plain = word.startswith("COMPLEX") or word.isalpha() and word not in INITIALS
        made += "_" * (made[-1:].isdigit() and word[0].isdigit()) + (word.capitalize() if plain else word)
    return made


def go(h):
    lines = ["// Generated from the headers by bindings/generate.py; do not edit.", "", "package ztensor", "",
             "// #include <ztensor_advanced.h>", 'import "C"']
    for alias, (name, prefix, what) in GO.items():
        values = h.enums.get(alias) or [v for v in h.constants if v.startswith(prefix)]
        base = {"uint32_t": "uint32"}.get(h.aliases.get(alias, "uint32_t"), "int32")
        names = [name + camel(v[len(prefix):]) for v in values]
        width = max(map(len, names))
        lines += ["", f"// {name} is {what}; ztensor.h describes each.", f"type {name} {base}", "", f"// Values of {name}.", "const ("]
        lines += [f"\t{n:{width}} {name} = C.{v}" for n, v in zip(names, values)] + [")"]
    return "\n".join(lines + [""])


def main():
    h = header.read()
    stale = []
    written = {"python/libztensor/_declarations.py": python(h), "julia/src/declarations.jl": julia(h), "go/constants.go": go(h)}
    for path, text in ((HERE / name, text) for name, text in written.items()):
        if not path.exists() or path.read_text() != text:
            stale.append(path)
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    if "--check" in sys.argv:
        print(f"declarations: {len(written) - len(stale)} passed, {len(stale)} failed")
        for path in stale:
            print(f"stale: {path.name}; run python3 bindings/generate.py", file=sys.stderr)
        sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
