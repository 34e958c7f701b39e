"""Reads the headers in include/: the constants, structs and functions that bindings declare."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Header:
    constants: dict = field(default_factory=dict)  # name: number
    enums: dict = field(default_factory=dict)  # zt_mode: [its constants]
    aliases: dict = field(default_factory=dict)  # zt_status: int32_t
    callbacks: dict = field(default_factory=dict)  # name: (result, [argument types])
    opaque: list = field(default_factory=list)  # handles
    structs: dict = field(default_factory=dict)  # name: [(field name, type or (result, [arguments]))]
    functions: dict = field(default_factory=dict)  # name: (result, [(argument name, type)])


def kind(text):
    """A C type without const and struct: 'zt_file *', 'char *', 'uint64_t'."""
    words = re.sub(r"\b(const|struct)\b", " ", text).replace("*", " * ").split()
    return " ".join(w for w in words if w != "*") + " " * ("*" in words) + "*" * words.count("*")


def argument(text):
    """'const char *name' is ('name', 'char *')."""
    found = re.fullmatch(r"(.*?[\s*])(\w+)", text.strip(), re.S)
    return found.group(2), kind(found.group(1))


def arguments(text):
    text = text.strip()
    return [] if text in ("", "void") else [argument(a) for a in text.split(",")]


def statements(code):
    """The text between semicolons outside of braces."""
    depth, start = 0, 0
    for at, c in enumerate(code):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            yield code[start:at].strip()
            start = at + 1


def read(names=("ztensor.h", "ztensor_advanced.h", "ztensor_dlpack.h")):
    header = Header()
    for name in names:
        text = re.sub(r"/\*.*?\*/", " ", (ROOT / "include" / name).read_text(), flags=re.S)
        text = re.sub(r"//[^\n]*", " ", text)
        for found in re.finditer(r"^#define (ZT_\w+) (\d+|0x[0-9A-Fa-f]+|UINT64_MAX)(?:u?ll)?\s*$", text, re.M | re.I):
            number = found.group(2)
            header.constants[found.group(1)] = 2**64 - 1 if number == "UINT64_MAX" else int(number, 0)
        code = re.sub(r"^\s*#.*$", " ", text, flags=re.M).replace('extern "C" {', " ")
        code = re.sub(r"^}\s*$", " ", code, flags=re.M)
        for statement in statements(code.replace("ZT_NODISCARD ", " ")):
            take(header, statement)
    header.opaque = [name for name in header.opaque if name not in header.structs]
    header.structs = in_order(header.structs)
    return header


def in_order(structs):
    """Orders structs so that each comes after the structs that its fields name."""
    ordered = {}

    def put(name):
        for _, of in structs[name] if name not in ordered else ():
            for one in [of] if isinstance(of, str) else of[1]:
                if (named := one.rstrip("* ")) in structs and named != name:
                    put(named)
        ordered.setdefault(name, structs[name])

    for name in structs:
        put(name)
    return ordered


def take(header, statement):
    if found := re.fullmatch(r"typedef enum \w+ \{(.*)\} (\w+)_value", statement, re.S):
        for item in filter(str.strip, found.group(1).split(",")):
            constant, number = item.split("=")
            header.constants[constant.strip()] = int(number)
            header.enums.setdefault(found.group(2), []).append(constant.strip())
    elif found := re.fullmatch(r"struct (\w+) \{(.*)\}", statement, re.S):
        fields = []
        for item in filter(str.strip, found.group(2).split(";")):
            if pointer := re.fullmatch(r"\s*(.*?)\(\*(\w+)\)\((.*)\)\s*", item, re.S):
                types = [t for _, t in arguments(pointer.group(3))]
                fields.append((pointer.group(2), (kind(pointer.group(1)), types)))
            else:
                fields.append(argument(item))
        header.structs[found.group(1)] = fields
    elif found := re.fullmatch(r"typedef struct (\w+) \w+|struct (DL\w+)", statement):
        header.opaque.append(found.group(1) or found.group(2))
    elif found := re.fullmatch(r"typedef (.*?)\(\*(\w+)\)\((.*)\)", statement, re.S):
        header.callbacks[found.group(2)] = (kind(found.group(1)), [t for _, t in arguments(found.group(3))])
    elif found := re.fullmatch(r"typedef (\w+) (\w+)", statement):
        header.aliases[found.group(2)] = found.group(1)
    elif found := re.fullmatch(r"(.*?[\s*])(zt_\w+)\((.*)\)", statement, re.S):
        header.functions[found.group(2)] = (kind(found.group(1)), arguments(found.group(3)))
    elif statement:
        raise SystemExit(f"header.py cannot parse: {statement[:200]}")
