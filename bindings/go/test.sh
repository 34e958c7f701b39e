#!/bin/sh
# Vets and tests the package against an installed library, and its programs against the golden output:
#     sh bindings/go/test.sh LIBDIR OUTDIR
# Ends with: go: N passed, M failed.
set -eu

[ $# -eq 2 ] || { echo "usage: test.sh LIBDIR OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
golden=$here/../golden
printf 'Name: ztensor\nDescription: zTensor files\nVersion: 1.0.0\nCflags: -I%s\nLibs: -L%s -lztensor\n' \
    "$here/../../include" "$lib" >"$out/ztensor.pc"
export PKG_CONFIG_PATH="$out" LD_LIBRARY_PATH="$lib" GOCACHE="$out/cache" GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off
export CGO_LDFLAGS_ALLOW='.*'
cd "$here"
[ -z "$(gofmt -l .)" ] || { gofmt -d .; echo "go: 0 passed, 1 failed"; exit 1; }
go vet ./...
GODEBUG=cgocheck=2 go test -count=1 -v . >"$out/log" 2>&1 || { cat "$out/log"; echo "go: 0 passed, 1 failed"; exit 1; }
passed=$(grep -c '^--- PASS' "$out/log")
for program in list read write; do go build -o "$out/$program" "./examples/$program"; done
"$out/write" "$out/written.zt"
cmp "$out/written.zt" "$golden/written.zt"
"$out/list" "$out/written.zt" | diff - "$golden/list.txt"
for name in weight half packed sparse; do "$out/read" "$out/written.zt" $name; done | diff - "$golden/read.txt"
echo "go: $((passed + 3)) passed, 0 failed"
