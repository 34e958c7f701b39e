"""Reads files that libztensor wrote with a released reader, and compares them with the expected contents.

    PYTHONPATH=FOLDER_OF_THAT_RELEASE python read_back.py RELEASE DIR

RELEASE is one of those at the end; install.sh makes the folders. Every NAME.zt in DIR with a sibling
NAME.expect.json is read with the release's own API and compared with it:

    {"version", "attributes", "objects": [{"name", "shape", "format", "attributes", "components": [
        {"role", "dtype", "type", "encoding", "digest", "offset", "length", "decoded_length",
         "sha256_of_decoded_little_endian_bytes"}]}]}

A component may also have "stored_dtype" (its spelling in the file, if not "dtype") and "endianness". Values
that JSON does not have are {"$bytes": hex}, {"$float": "nan"}, {"$tag": [n, v]}, {"$map": [[k, v]]},
{"$undefined": true} and {"$simple": n}. "canonical" names the file that the release must make of this one in
canonical form, byte for byte. If the release checks a component's digest, the component is read with the
check on. Then one of its bytes is flipped in a copy, and the release must reject it; otherwise "verified"
would mean nothing. Contents that a release cannot read or does not show are listed here with the reason,
counted and printed.

Exit status: 0 success, 1 a file differs, 2 nothing was checked (no file, or a different release).
"""

import argparse
import collections
import hashlib
import importlib.metadata
import json
import pathlib
import re
import sys
import tempfile

DTYPES = dict(zip(
    "f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool".split(),
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool".split()))
KNOWN_1_1_1 = ("dense", "sparse_csr", "sparse_coo")
ONLY_IN_1_1 = ("f8_e4m3", "f8_e5m2", "complex64", "complex128")

# Contents that no call of a release returns. Everything else must be there to be compared.
NOT_SHOWN = {
    "0.1.4": {"attributes": "a tensor's own fields are read past"},
    "1.1.1": {"attributes": "read past", "type": "logical types are read past",
              "dtype": "given for dense data and sparse values only",
              **dict.fromkeys(("encoding", "digest", "offset", "length"), "given for dense objects only")},
    "1.2.3": {"digest": "checked, but not given"},
}
for table in NOT_SHOWN.values():
    table["file attributes"] = "never given"
NOT_SHOWN.update(dict.fromkeys(("2.0.0", "2.1.1", "2.1.2"), {
    "attributes": "given for the file only", "digest": "checked, but not given",
    "type": "of blocks of GGUF the layout says it", "encoding": "given for raw parts only", "offset": "given for raw parts only", "length": "given for raw parts only"}))
for table in NOT_SHOWN.values():
    table.update(dict.fromkeys(("version", "uncompressed_length"), "never given"))

# Files that a release does not accept: (releases, the file, whether it is rejected at open, reason). If so,
# the rejection is checked, so that a row does not outlive its reason.
FILE_SKIPS = [
    (("0.1.4", "1.1.1"), lambda e: any("\0" in o["name"] for o in e["objects"]), False, "C strings: no NUL in names"),
    (("1.1.1", "1.2.3"), lambda e: any(n >= 1 << 63 for o in e["objects"] for n in o["shape"]), False,
     "gives shapes as signed numbers"),
    (("0.1.4",), lambda e: any(o["format"] not in ("dense", "sparsecoo", "sparsecsr") for o in e["objects"]), True,
     "refuses the file for an unknown layout"),
    (("1.1.1",), lambda e: any(not isinstance(v, str) and list(v if isinstance(v, dict) else ()) != ["$bytes"]
                               for v in (e.get("attributes") or {}).values()), True,
     "refuses the file for a file attribute that is not text"),
    (("1.1.1", "1.2.3"), lambda e: any(c.get("stored_dtype") in ONLY_IN_1_1
                                       for o in e["objects"] for c in o["components"]), True,
     "never knew the dtypes f8_e4m3, f8_e5m2, complex64, complex128 of the 1.1 text"),
    (("1.1.1", "1.2.3"), lambda e: '"$simple":' in json.dumps(e), True, "refuses the file for other simple values"),
]

skipped = collections.Counter()  # "feature: reason" -> times
checked = collections.Counter()  # what -> times


class Differs(Exception):
    """The contents read are not the expected ones."""


def require(condition, message):
    if not condition:
        raise Differs(message)


def same(where, what, want, have):
    require(want == have and type(want) is type(have), "%s: %s is %r, not %r" % (where, what, have, want))


def error_of(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return error


def skip(feature, reason):
    skipped["%s: %s" % (feature, reason)] += 1


def not_shown(feature):
    require(feature in NOT_SHOWN[release], "%s was not given, for no known reason" % feature)
    skip(feature, NOT_SHOWN[release][feature])


def dtypes(obj):
    return {c["role"]: c["dtype"] for c in obj["components"]}


def is_complex(obj):
    return any(c.get("type") in ("complex64", "complex128") for c in obj["components"])


def same_array(obj, array):
    same(obj["name"], "the array's dtype", DTYPES[dtypes(obj)["data"]], str(array.dtype))
    shape = obj["shape"] or ([1] if release == "1.2.3" else [])  # 1.2.3 returns [1] for a scalar
    same(obj["name"], "the array's shape", shape, list(array.shape))


class Release:
    """names; describe(object): the metadata; data(object): {role: bytes}; verify(path, object, role): raises
    if the digest of that component is wrong."""

    digests = "crc32c:0[xX][0-9a-fA-F]{8}|sha256:[0-9a-fA-F]{64}"
    mismatch = "checksum mismatch"

    def __init__(self, path):
        self.reader = ztensor.Reader(str(path))
        self.names = self.reader.keys() if release == "1.2.3" else self.reader.get_tensor_names()


class Release_0_1_4(Release):
    digests = "crc32c:0[xX][0-9a-fA-F]{8}"

    def describe(self, obj, index):
        m = self.reader[index]
        same(obj["name"], "name by index", obj["name"], m.name)
        component = {"dtype": m.dtype_str, "type": None, "encoding": m.encoding, "digest": m.checksum,
                     "offset": m.offset, "length": m.size}
        return {"shape": list(m.shape), "format": m.layout, "components": {"data": component}}

    def data(self, obj, index):
        if obj["format"] != "dense":
            return skip("bytes", "gives a sparse layout's bytes no shape")
        if obj["components"][0].get("endianness") == "big":
            return skip("bytes", "takes big-endian data for little-endian")
        if self.names.index(obj["name"]) != index:
            return skip("bytes", "reads by name, and this is the second of its name")
        array = self.reader.read_tensor(obj["name"])
        same_array(obj, array)
        return {"data": array.tobytes()}

    @staticmethod
    def verify(path, obj, role):
        ztensor.Reader(str(path)).read_tensor(obj["name"])


class Release_1_1_1(Release):
    def describe(self, obj, index):
        m = self.reader.metadata(obj["name"])
        components = {c["role"]: {} for c in obj["components"]}  # no call lists them; reading finds them
        if m.layout == "dense":
            components["data"] = {"dtype": m.dtype_str, "encoding": m.encoding, "digest": m.checksum,
                                  "offset": m.offset, "length": m.size}
        elif m.layout in ("sparse_csr", "sparse_coo"):
            components["values"] = {"dtype": m.dtype_str}
        return {"shape": list(m.shape), "format": m.layout, "components": components}

    def data(self, obj, index):
        name, read_tensor = obj["name"], self.reader.read_tensor
        data = {role: self.component(self.reader, name, role) for role in dtypes(obj)}
        indices = {dtype for role, dtype in dtypes(obj).items() if role != "values"}
        why = ("cannot read complex, quantized, unknown" if is_complex(obj) or obj["format"] not in KNOWN_1_1_1 else
               "" if obj["format"] == "dense" else
               "scipy is 2-D, no f16, bf16" if len(obj["shape"]) != 2 or dtypes(obj)["values"] in ("f16", "bf16") else
               "takes all indices for u64" if indices - {"u64", "i64"} else "")
        parts = []
        if why:
            skip("read_tensor", why + "; bytes taken from its C interface")
        elif obj["format"] == "dense":
            parts = [("data", read_tensor(name)), ("data", self.reader.read_tensors([name], verify_checksum=True)[0])]
            for _, array in parts:
                same_array(obj, array)
        else:
            m = read_tensor(name)
            same(name, "shape of the matrix", tuple(obj["shape"]), m.shape)
            same(name, "dtype of the matrix", DTYPES[dtypes(obj)["values"]], str(m.dtype))
            parts = ([("indices", m.indices), ("indptr", m.indptr)] if obj["format"] == "sparse_csr"
                     else [("coords", numpy.concatenate([m.row, m.col]))]) + [("values", m.data)]
        for role, array in parts:
            require(array.astype(DTYPES[dtypes(obj)[role]]).tobytes() == data[role],
                    "%s/%s: read_tensor and the C interface disagree" % (name, role))
        return data

    @staticmethod
    def component(reader, name, role):
        """The call below the sparse half of read_tensor; it always checks the digest."""
        view = ztensor.lib.ztensor_reader_read_tensor_component(reader._ptr, name.encode(), role.encode())
        view = ztensor.ffi.gc(ztensor._check_ptr(view, name), ztensor.lib.ztensor_free_tensor_view)
        return bytes(ztensor.ffi.buffer(view.data, view.len))

    @staticmethod
    def verify(path, obj, role):
        reader = ztensor.Reader(str(path))
        if role == "data" and not is_complex(obj):  # read_tensor never checks raw data, even if asked to
            reader.read_tensors([obj["name"]], verify_checksum=True)
        else:
            Release_1_1_1.component(reader, obj["name"], role)


class Release_1_2_3(Release):
    def describe(self, obj, index):
        m = self.reader.metadata(obj["name"])
        return {"shape": m.shape, "format": m.format, "attributes": m.attributes or {}, "components": m.components}

    def data(self, obj, index):
        name = obj["name"]
        if obj["format"] == "dense" and is_complex(obj):
            skip("read", "cannot shape complex; bytes taken from the call under it")
            return {role: self.reader._inner._read_component_raw(name, role)[0].tobytes() for role in dtypes(obj)}
        arrays = self.reader.read(name).components
        for role, dtype in dtypes(obj).items():
            same(name, "dtype of the array of " + role, DTYPES[dtype], str(arrays[role].dtype))
        if obj["format"] == "dense":
            for array in (arrays["data"], self.reader[name], self.reader.read_numpy(name, copy=True)):
                same_array(obj, array)
                require(array.tobytes() == arrays["data"].tobytes(), "%s: read and read_numpy disagree" % name)
        return {role: array.tobytes() for role, array in arrays.items()}

    @staticmethod
    def verify(path, obj, role):
        """Reading checks compressed components only. This copies the file and checks every component."""
        with tempfile.TemporaryDirectory() as folder:
            ztensor.remove_tensors(str(path), str(pathlib.Path(folder, "copy.zt")), [])


class Release_2(Release):
    digests = "xxh3:[0-9a-f]{16}|sha256:[0-9a-f]{64}"
    mismatch = r"rejected \((Digest|Encoding)\)"  # for decoded bytes, if they can be decoded
    layouts = {"zt.sparse_csr/1": "sparse_csr", "zt.sparse_coo/1": "sparse_coo"}

    def __init__(self, path):
        self.source = ztensor.open(str(path))
        self.names = sorted(self.source.keys())
        attributes = self.source.attributes
        self.attributes = attributes() if callable(attributes) else attributes

    def describe(self, obj, index):
        tensor = self.source[obj["name"]]
        return {"shape": list(tensor.shape), "format": self.layouts.get(tensor.layout, tensor.layout),
                "components": {role: self.part(tensor[role], tensor.layout) for role in tensor.parts}}

    @staticmethod
    def part(part, layout):
        is_bool = (part.dtype, part.logical) == ("u8", "bool")  # a dtype in our JSON and in 1.2
        described = {"dtype": "bool" if is_bool else DTYPES[part.dtype], "type": None if is_bool else part.logical}
        if layout.startswith("gguf."):
            del described["type"]
        if part.caps.map:
            described.update(encoding="raw", offset=part.location.offset, length=part.location.nbytes)
        return described

    def data(self, obj, index):
        return {role: self.source[obj["name"]][role].tobytes() for role in dtypes(obj)}

    @staticmethod
    def verify(path, obj, role):
        require(ztensor.open(str(path))[obj["name"]][role].verify(), "%s/%s: no digest" % (obj["name"], role))

    @staticmethod
    def check_whole(path, expect):
        """All digests in one call, and the canonical form."""
        digests = [c["digest"] is not None for obj in expect["objects"] for c in obj["components"]]
        same(path.name, "number of digests, and of parts without", (sum(digests), len(digests) - sum(digests)),
             tuple(ztensor.verify(str(path), True)))
        if "canonical" not in expect:
            return
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, "canonical.zt")
            writer = ztensor.Writer(str(made), canonical=True)
            writer.ingest(ztensor.open(str(path)))
            writer.finish()
            require(made.read_bytes() == path.with_name(expect["canonical"]).read_bytes(), "the canonical files differ")
        checked["canonical files compared"] += 1


def same_value(where, want, have):
    """Compares an attribute of the expectation with the one that Python got."""
    kind = next(iter(want)) if isinstance(want, dict) and len(want) == 1 else None
    if kind == "$bytes":
        same(where, "value", bytes.fromhex(want[kind]), have)
    elif kind == "$float":
        same(where, "value", str(float(want[kind])), str(have))
    elif kind in ("$tag", "$undefined"):
        skip("attributes", "gives None for tagged and undefined values")
        same(where, "value", None, have)
    elif isinstance(want, (dict, list)):
        pairs = want["$map"] if kind == "$map" else list(want.items() if isinstance(want, dict) else enumerate(want))
        require(isinstance(have, type(want)) and len(have) == len(pairs), "%s: %r is not %r" % (where, have, want))
        for key, item in pairs:
            require(isinstance(have, list) or key in have, "%s: no key %r in %r" % (where, key, have))
            same_value("%s[%r]" % (where, key), item, have[key])
    else:
        same(where, "value", want, have)


def check_digest(path, obj, want, offset, length):
    """The file must pass. With one flipped byte in this component, the file must be rejected."""
    where = "%s/%s" % (obj["name"], want["role"])
    if not re.fullmatch(Reader.digests, want["digest"]):
        return skip("digest check", "checks only " + Reader.digests)
    Reader.verify(path, obj, want["role"])
    checked["digests verified"] += 1
    if length == 0:
        return skip("flipped byte", "an empty component has none")
    stored = bytearray(path.read_bytes())
    stored[offset + length // 2] ^= 1
    with tempfile.TemporaryDirectory() as folder:
        flipped = pathlib.Path(folder, "flipped.zt")
        flipped.write_bytes(stored)
        error = error_of(Reader.verify, flipped, obj, want["role"])
    require(re.search(Reader.mismatch, str(error), re.IGNORECASE), "%s: with a byte flipped, reading gave %r" % (where, error))
    checked["flipped bytes refused"] += 1


def check_component(path, obj, want, have, data):
    where = "%s/%s" % (obj["name"], want["role"])
    want = {"type": None, "digest": None, **want, "dtype": DTYPES.get(want["dtype"], want["dtype"])}
    for field in ("dtype", "type", "encoding", "digest", "offset", "length", "uncompressed_length"):
        if field in have and field in want:
            same(where, field, want[field], have[field])
        elif want.get(field) is not None:
            not_shown(field)
    if data is None:
        return want["digest"] and skip("digest check", "the bytes cannot be read")
    require(want["role"] in data, where + ": not read")
    same(where, "decoded length", want["decoded_length"], len(data[want["role"]]))
    same(where, "SHA-256 of the decoded bytes", want["sha256_of_decoded_little_endian_bytes"],
         hashlib.sha256(data[want["role"]]).hexdigest())
    checked["components compared"] += 1
    if want["digest"] is not None:
        check_digest(path, obj, want, want.get("offset", have.get("offset")), want.get("length", have.get("length")))


def check_file(path, expect):
    file = Reader(path)
    names = [obj["name"] for obj in expect["objects"]]
    same(path.name, "list of names", names if release == "0.1.4" else sorted(names), file.names)
    not_shown("version")
    if hasattr(file, "attributes"):
        same_value("the file's attributes", expect.get("attributes") or {}, file.attributes or {})
    elif expect.get("attributes"):
        not_shown("file attributes")
    if hasattr(file, "check_whole"):
        file.check_whole(path, expect)
    for index, obj in enumerate(expect["objects"]):
        have = file.describe(obj, index)
        same(obj["name"], "shape", obj["shape"], have["shape"])
        same(obj["name"], "format", obj["format"], have["format"])
        same(obj["name"], "set of roles", sorted(c["role"] for c in obj["components"]), sorted(have["components"]))
        if "attributes" in have:
            same_value(obj["name"] + ": attributes", obj.get("attributes") or {}, have["attributes"])
        elif obj.get("attributes"):
            not_shown("attributes")
        data = file.data(obj, index)  # None if a skip was printed
        for want in obj["components"]:
            check_component(path, obj, want, have["components"][want["role"]], data)


def main(folder):
    results = collections.Counter(ok=0, FAIL=0)
    for name in sorted({f.name[:-len(end)] for end in (".zt", ".expect.json") for f in folder.glob("*" + end)}):
        path, expectation = folder / (name + ".zt"), folder / (name + ".expect.json")
        verdict, words = "skip", "no expectation beside it"
        try:
            if expectation.exists():
                expect = json.loads(expectation.read_text(encoding="utf-8"))
                verdict, words = "ok", "(%d objects)" % len(expect["objects"])
                rule = next((r for r in FILE_SKIPS if release in r[0] and r[1](expect)), None)
                if rule:
                    verdict, words = "skip", rule[3]
                    require(not rule[2] or error_of(Reader, path), "opens, though it is listed as refused: " + words)
                else:
                    check_file(path, expect)
        except Exception as error:
            verdict, words = "FAIL", error if isinstance(error, Differs) else repr(error)
        results[verdict] += 1
        print(verdict, name + ("" if verdict == "ok" else ":"), words, flush=True)
    print(*("skipped %d x %s\n" % (times, reason) for reason, times in sorted(skipped.items())), sep="", end="")
    print("release %s: %s; %s" % (release, ", ".join("%d %s" % (n, verdict) for verdict, n in results.items()),
                                  ", ".join("%d %s" % (n, what) for what, n in sorted(checked.items()))))
    return 1 if results["FAIL"] else 0 if results["ok"] else 2


if __name__ == "__main__":
    releases = {"0.1.4": Release_0_1_4, "1.1.1": Release_1_1_1, "1.2.3": Release_1_2_3,
                **dict.fromkeys(("2.0.0", "2.1.1", "2.1.2"), Release_2)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", choices=releases)
    parser.add_argument("dir", type=pathlib.Path)
    arguments = parser.parse_args()
    release, Reader = arguments.release, releases[arguments.release]
    try:
        import ztensor
        if not release.startswith("2."):
            import ml_dtypes  # registers bfloat16 in numpy
            import numpy
        found = importlib.metadata.version("ztensor"), sys.byteorder
        if found != (release, "little"):
            raise ImportError("ztensor %s on a %s-endian host" % found)
    except Exception as error:
        print("nothing checked: %r" % error, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(arguments.dir))
