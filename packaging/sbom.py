"""Lists what packages of the workspace are linked with, as a CycloneDX 1.5 document, from cargo metadata on
standard input.

    cargo metadata ... | python3 sbom.py [--zig=VERSION] PACKAGE...      the document describes the first

--zig: zig has linked it, so zig's runtime is in it. It contains no time and no random number, so the same
source gives the same bytes.
"""

import json
import re
import sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}


def linked(identity):
    """The packages that a package is linked with, without build scripts, tests and procedural macros."""
    for dependency in nodes[identity]["deps"]:
        kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
        targets = packages[dependency["pkg"]]["targets"]
        if None in kinds and not any("proc-macro" in target["kind"] for target in targets):
            yield dependency["pkg"]


def component(identity):
    package = packages[identity]
    return {
        "type": "library",
        "bom-ref": reference(identity),
        "name": package["name"],
        "version": package["version"],
        "licenses": [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}],
        "purl": reference(identity),
    }


def reference(identity):
    return f"pkg:cargo/{packages[identity]['name']}@{packages[identity]['version']}"


def runtime(version):
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/ziglang@{version}",
        "name": "zig compiler_rt",
        "version": version,
        "licenses": [{"expression": "MIT"}],
        "purl": f"pkg:pypi/ziglang@{version}",
    }


zigs = [argument.removeprefix("--zig=") for argument in sys.argv[1:] if argument.startswith("--zig=")]
members = {packages[identity]["name"]: identity for identity in metadata["workspace_members"]}
roots = [members[name] for name in sys.argv[1 + len(zigs):]]
found, queue = set(), list(roots)
while queue:
    identity = queue.pop()
    if identity not in found:
        found.add(identity)
        queue.extend(linked(identity))
json.dump({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": component(roots[0])},
    "components": [component(identity) for identity in sorted(found - {roots[0]}, key=reference)] + [runtime(version) for version in zigs],
    "dependencies": [
        {"ref": reference(identity), "dependsOn": sorted(reference(other) for other in linked(identity))}
        for identity in sorted(found, key=reference)
    ],
}, sys.stdout, indent=1)
print()
