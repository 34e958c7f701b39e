"""Makes all symbols of a relocatable Mach-O object static unless they are in a list, like ld -r of macOS:
    python3 hide_symbols.py LIST OBJECT        LIST: names, one a line
With it, zig's linker can replace the linker of macOS, which has -exported_symbols_list."""
import struct
import sys

N_STAB, N_PEXT, N_EXT = 0xE0, 0x10, 0x01
WEAK = 0x40 | 0x80  # N_WEAK_REF, N_WEAK_DEF
SEGMENT, SYMTAB, DYSYMTAB = 0x19, 0x2, 0xB
ENTRY = struct.Struct("<IBBHQ")  # nlist_64


def commands(data):
    count = struct.unpack_from("<I", data, 16)[0]
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind, at
        at += size


def main():
    wanted = set(open(sys.argv[1], "rb").read().split())
    data = bytearray(open(sys.argv[2], "rb").read())
    assert struct.unpack_from("<I", data)[0] == 0xFEEDFACF, "a Mach-O object of 64 bits"
    places = {kind: at for kind, at in commands(data)}
    first, count, text, text_size = struct.unpack_from("<4I", data, places[SYMTAB] + 8)
    texts = bytes(data[text : text + text_size])
    groups = [], [], []  # static, global, undefined
    for number in range(count):
        name, kind, section, description, value = ENTRY.unpack_from(data, first + number * ENTRY.size)
        is_defined = section != 0 or kind & 0x0E == 0x02  # or N_ABS
        if kind & N_STAB or not kind & N_EXT:
            group = 0
        elif not is_defined:
            assert value == 0, "common symbols are not supported"
            group = 2
        elif texts[name : texts.index(b"\0", name)] in wanted:
            group = 1
        else:
            group, kind, description = 0, kind & ~(N_EXT | N_PEXT), description & ~WEAK
        groups[group].append((number, ENTRY.pack(name, kind, section, description, value)))
    ordered = [entry for group in groups for entry in group]
    data[first : first + count * ENTRY.size] = b"".join(entry for _, entry in ordered)
    now = {number: place for place, (number, _) in enumerate(ordered)}
    static, public, undefined = map(len, groups)
    struct.pack_into("<6I", data, places[DYSYMTAB] + 8, 0, static, static, public, static + public, undefined)
    for segment in (at for kind, at in commands(data) if kind == SEGMENT):
        sections = struct.unpack_from("<I", data, segment + 64)[0]
        for section in range(segment + 72, segment + 72 + 80 * sections, 80):
            start, relocations = struct.unpack_from("<II", data, section + 56)
            for at in range(start + 4, start + 4 + 8 * relocations, 8):
                bits = struct.unpack_from("<I", data, at)[0]
                if bits >> 27 & 1:  # by the index of a symbol
                    struct.pack_into("<I", data, at, bits & ~0xFFFFFF | now[bits & 0xFFFFFF])
    open(sys.argv[2], "wb").write(data)


main()
