#!/usr/bin/env python3
"""Runs the C tests, records every status of every call, and compares them with the header's documentation.

    tools/check_statuses.py LIBRARIES OUTPUT     LIBRARIES: folder with libztensor.so; OUTPUT: a folder to build in

A function's doc names a status itself, or says "as zt_other", "what zt_other" or "statuses: as zt_other".
Statuses that the header's prologue documents for all functions are not required: invalid arguments, memory,
failures of the caller's functions, shards. CC is used. ONLY="open view" runs only those programs; then
functions that were not called are not a failure."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OF_ALL = {"ZT_OK", "ZT_ERROR_INVALID_ARGUMENT", "ZT_ERROR_OUT_OF_MEMORY"}
# "The first failure": every failure of a read.
OF_A_READ = {"zt_load_finish": "zt_read_batch"}

RECORDER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "ztensor_advanced.h"
#include "ztensor_dlpack.h"

static volatile unsigned char *seen; /* a byte for each status of each function; shared with children */
__attribute__((constructor)) static void begin(void)
{
    int fd = open(getenv("ZT_SEEN"), O_RDWR);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, FUNCTIONS * 32, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        abort();
    seen = (volatile unsigned char *)map;
}
static int is_of_all(zt_status status) /* documented in the prologue for every function */
{
    const char *text = zt_last_error();
    return strstr(text, "the caller's zt_") || strstr(text, "shard \"") || (status == ZT_ERROR_CANCELLED && strstr(text, "stopped"));
}
static zt_status note(unsigned function, zt_status status)
{
    if (status == ZT_OK || (status > 0 && status < 32 && !is_of_all(status)))
        seen[function * 32 + (unsigned)status] = 1;
    return status;
}
"""


def headers():
    texts = []
    for name in ("ztensor.h", "ztensor_advanced.h", "ztensor_dlpack.h"):
        with open(os.path.join(ROOT, "include", name), encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def docs_of(header):
    """The doc of each function, and the parameters of those that return a status."""
    docs, parameters, lines = {}, {}, []
    joined = re.sub(r",\n    ", ", ", header).replace("ZT_NODISCARD ", "")
    for line in joined.splitlines():
        if line.startswith("///"):
            lines.append(line[3:].strip())
            continue
        found = re.match(r"(?:const )?(\w+) \**(zt_\w+)\((.*)\);", line)
        if found:
            docs[found[2]] = " ".join(lines)
            if found[1] == "zt_status":
                parameters[found[2]] = found[3]
        lines = []
    return docs, parameters


def named(docs, function, depth=0):
    """The statuses that a doc names, and those of the functions that it refers to."""
    doc = docs[function]
    statuses = set(re.findall(r"ZT_ERROR_[A-Z_]+", doc))
    others = {OF_A_READ[function]} if function in OF_A_READ else set()
    for words in re.findall(r"(?:[Aa]s|what)((?:[ ,]*(?:zt_\w+|and|returns?|what|as|or|statuses|options|file|else|for|called))+)", doc):
        others.update(name for name in re.findall(r"zt_\w+", words) if name in docs and name != function)
    if depth < 6:
        for other in others:
            statuses |= named(docs, other, depth + 1)
    return statuses


def wrappers(parameters):
    text = [f"#define FUNCTIONS {len(parameters)}", RECORDER]
    for number, (name, declared) in enumerate(parameters.items()):
        arguments = ", ".join(re.search(r"(\w+)$", one)[1] for one in declared.split(", "))
        text.append(f"zt_status __real_{name}({declared});\nzt_status __wrap_{name}({declared});")
        text.append(f"zt_status __wrap_{name}({declared})\n{{\n    return note({number}, __real_{name}({arguments}));\n}}")
    return "\n".join(text)


def run(libraries, output, parameters):
    """The statuses of each function; None if a program failed."""
    os.makedirs(os.path.join(output, "tmp"), exist_ok=True)
    recorder, table = os.path.join(output, "statuses.c"), os.path.join(output, "seen")
    with open(recorder, "w", encoding="utf-8") as file:
        file.write(wrappers(parameters))
    with open(table, "wb") as file:
        file.write(bytes(32 * len(parameters)))
    environment = dict(os.environ, ZT_SEEN=table, ZT_TEST_DATA=os.path.join(ROOT, "tests/data"),
                       ZT_TEST_TMP=os.path.join(output, "tmp"), LD_LIBRARY_PATH=output)
    environment.setdefault("ZT_STEP", "47")  # other tests cover faults; most are ZT_ERROR_OUT_OF_MEMORY
    for name in ("libztensor.so", "libztensor.so.1"):
        link = os.path.join(output, name)
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.join(libraries, "libztensor.so"), link)
    compiler = os.environ.get("CC", "cc")
    wrap = ["-Wl," + ",".join(f"--wrap={name}" for name in parameters)]
    with open(os.path.join(ROOT, "c_tests/programs.txt"), encoding="utf-8") as file:
        programs = os.environ.get("ONLY", file.read()).split()
    def compile_c(standard, source, built):
        subprocess.run([compiler, "-std=" + standard, "-g", "-I", os.path.join(ROOT, "include"), "-c", source, "-o", built], check=True)

    compile_c("gnu99", recorder, recorder + ".o")
    good = True
    for program in programs:
        source, built = os.path.join(ROOT, "c_tests", program + ".c"), os.path.join(output, program)
        compile_c("c99", source, built + ".o")
        subprocess.run([compiler, "-o", built, built + ".o", recorder + ".o", *wrap, "-L", output, "-lztensor", "-lpthread", "-lm", "-ldl"], check=True)
        ran = subprocess.run([built], env=environment, capture_output=True, text=True, errors="replace", timeout=600, check=False)
        if ran.returncode != 0:
            good = False
            print(f"FAILED {program}\n{ran.stderr}", file=sys.stderr)
        os.remove(built)
    with open(table, "rb") as file:
        seen = file.read()
    return {name: {s for s in range(32) if seen[32 * at + s]} for at, name in enumerate(parameters)} if good else None


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    libraries, output = (os.path.abspath(argument) for argument in sys.argv[1:])
    header = headers()
    names = {int(number): name for name, number in re.findall(r"^    (ZT_OK|ZT_ERROR_\w+) = (\d+)", header, re.M)}
    docs, parameters = docs_of(header)
    found = run(libraries, output, parameters)
    if found is None:
        sys.exit(1)
    wrong = 0
    for function, statuses in found.items():
        unsaid = {names[status] for status in statuses} - OF_ALL - named(docs, function)
        if unsaid:
            print(f"{function} returned statuses that its doc does not name: {', '.join(sorted(unsaid))}", file=sys.stderr)
        if "ONLY" not in os.environ and 0 not in statuses and function != "zt_open_handle":
            print(f"{function} never returned ZT_OK", file=sys.stderr)
            wrong += 1
        wrong += len(unsaid)
    print(f"statuses: {len(found)} functions, {sum(map(len, found.values()))} statuses seen, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
