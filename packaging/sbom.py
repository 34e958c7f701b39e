"""What is linked into the library and the program, as a CycloneDX 1.5 document: of cargo metadata on standard input.

No time and no random number is in it, so that the same source gives the same bytes.
"""

import json
import sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}


def linked(identity):
    """The packages that one is linked with: no build scripts, no tests, no procedural macros."""
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
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        "purl": reference(identity),
    }


def reference(identity):
    return f"pkg:cargo/{packages[identity]['name']}@{packages[identity]['version']}"


own = {identity for identity in metadata["workspace_members"]}
root = next(identity for identity in own if packages[identity]["name"] == "ztensor-c")
found, queue = set(), sorted(own)
while queue:
    identity = queue.pop()
    if identity not in found:
        found.add(identity)
        queue.extend(linked(identity))
json.dump({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": component(root)},
    "components": [component(identity) for identity in sorted(found - own, key=reference)],
    "dependencies": [
        {"ref": reference(identity), "dependsOn": sorted(reference(other) for other in linked(identity))}
        for identity in sorted(found, key=reference)
    ],
}, sys.stdout, indent=1)
print()
