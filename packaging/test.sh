#!/bin/sh
# Uses the shipped files like a user without Rust: the tarball with CMake and pkg-config, and the Debian
# packages installed into a separate root. cargo is not on the PATH.
#     sh packaging/test.sh OUT
# Ends with: packages: N passed, M failed.
set -u

[ $# -eq 1 ] || { echo "usage: test.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../tests/data
version=$(sed -n 's/^version = "\([0-9.]*\)".*/\1/p' "$here/../Cargo.toml" | head -n 1)
consumers=$here/../tests/consumers
passed=0 failed=0 skipped=0
check() { # NAME COMMAND...
    name=$1
    shift
    (set -e; "$@") >"$out/test.log" 2>&1 # not in the condition, where the shell ignores set -e
    if [ $? = 0 ]; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        tail -n 25 "$out/test.log" | sed 's/^/    /'
    fi
}
finish() {
    echo "packages: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

# Tools, but no Rust.
rm -rf "$out/path"
mkdir -p "$out/path"
for tool in sh cmake make ctest cc gcc c++ g++ ld as ar ranlib pkg-config env sed cat rm mkdir uname nm strip ninja; do
    found=$(command -v "$tool") && ln -sf "$found" "$out/path/$tool"
done

check build sh "$here/build.sh" "$out"
check tarball sh "$here/dist.sh" "$out"
[ "$failed" = 0 ] || finish
tarball=$(ls "$out"/ztensor-*.tar.xz)
first=$(sha256sum <"$tarball")
same_again() { sh "$here/dist.sh" "$out" && [ "$first" = "$(sha256sum <"$tarball")" ]; }
check "the same tarball again" same_again

rm -rf "$out/else where"
mkdir "$out/else where"
unpack() { tar -xJf "$tarball" -C "$out/else where" && (cd "$out/else where"/ztensor-*/ && sha256sum --quiet -c SHA256SUMS); }
check "unpacked, sums agree" unpack
prefix=$(ls -d "$out/else where"/ztensor-*)
complete() {
    for file in bin/zt lib/libztensor.so.1 lib/libztensor.a include/ztensor.h include/ztensor_advanced.h \
        include/ztensor.hpp include/ztensor_dlpack.h lib/cmake/ztensor/ztensor-config.cmake lib/pkgconfig/ztensor.pc \
        share/doc/ztensor/LICENSE-MIT share/doc/ztensor/LICENSE-APACHE share/doc/ztensor/THIRD-PARTY-LICENSES share/man/man1/zt.1 share/zsh/site-functions/_zt \
        share/bash-completion/completions/zt share/fish/vendor_completions.d/zt.fish; do
        [ -s "$prefix/$file" ] || { echo "no $file"; return 1; }
    done
    grep -q '==== zstd-sys' "$prefix/share/doc/ztensor/THIRD-PARTY-LICENSES" &&
        grep -q 'Meta Platforms' "$prefix/share/doc/ztensor/THIRD-PARTY-LICENSES"
}
check "complete" complete
find_package() { # PREFIX BUILD
    rm -rf "$2"
    env PATH="$out/path" cmake -S "$consumers/find_package" -B "$2" "-DDATA=$data" "-DCMAKE_PREFIX_PATH=$1" &&
        env PATH="$out/path" cmake --build "$2" && (cd "$2" && env PATH="$out/path" ctest --output-on-failure --no-tests=error)
}
check "tarball, find_package without Rust" find_package "$prefix" "$out/consumer"
old_glibc() { # no symbol newer than the tarball promises
    ! objdump -T "$prefix/lib/"*.so "$prefix/bin/zt" | grep -o 'GLIBC_2[.0-9]*' | sort -Vu | sed 's/GLIBC_//' |
        awk -F. '$2 > 28' | grep . && readelf -d "$prefix/lib/libztensor.so" | grep -q 'libgcc_s.so.1'
}
zigs_runtime() { # zig's runtime is listed and has its licence
    doc=$prefix/share/doc/ztensor
    grep -q '^==== zig .* (MIT) ====' "$doc/THIRD-PARTY-LICENSES" && grep -q 'Zig contributors' "$doc/THIRD-PARTY-LICENSES" &&
        grep -q '"purl": "pkg:pypi/ziglang@' "$doc/sbom.cdx.json"
}
if [ -x "$out/zig-cc" ]; then
    check "tarball, glibc 2.28" old_glibc
    check "tarball, the runtime of zig" zigs_runtime
else
    skipped=$((skipped + 2))
fi
runs() { "$prefix/bin/zt" verify "$data/v1.2/py-1.2.3-digests.zt" && "$prefix/bin/zt" ls "$data/v0.1/py-0.1.4-all-dtypes.zt"; }
check "tarball, zt" runs
without_compat() { # Rust tests have the feature
    "$prefix/bin/zt" convert "$here/../cli/tests/data/small.h5" "$out/small.zt" 2>"$out/no-compat" && return 1
    grep 'an HDF5 file.*"compat"' "$out/no-compat"
}
check "tarball, zt without HDF5" without_compat

# libztensor_remote, if it was built (make -C remote build).
remote=no
if [ -e "$prefix/lib/libztensor_remote.so" ]; then
    remote=yes
    rm -f "$out/port"
    python3 "$here/../examples/range_server.py" "$data/v1.2" >"$out/port" &
    trap "kill $!" EXIT
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$out/port" ] || sleep 0.3; done
    url=http://127.0.0.1:$(cat "$out/port")/py-1.2.3-digests.zt
fi
only_ours() { # FILE: it exports only its own functions, and lists the libraries that it needs
    [ "$(objdump -T "$1" | grep -v '[*]UND[*]' | sed -n 's/.*ZTENSOR_REMOTE_1[.]0 *\(zt_.*\)/\1/p' | sort | tr '\n' ' ')" = \
        "zt_remote_open zt_remote_source " ]
    if objdump -T "$1" | grep -v '[*]UND[*]' | grep -E ' (DF|DO) ' | grep -v 'ZTENSOR_REMOTE_1[.]0'; then return 1; fi
    readelf -d "$1" | grep -q 'libztensor_remote.so.1' && readelf -d "$1" | grep -q 'NEEDED.*libztensor.so.1'
}
open_url() { # PREFIX BUILD: a project that finds the package
    rm -rf "$2"
    env PATH="$out/path" cmake -S "$consumers/remote" -B "$2" "-DURL=$url" "-DCMAKE_PREFIX_PATH=$1" &&
        env PATH="$out/path" cmake --build "$2" && (cd "$2" && env PATH="$out/path" ctest --output-on-failure --no-tests=error)
}
if [ $remote = yes ]; then
    check "tarball, remote, exports" only_ours "$prefix/lib/libztensor_remote.so"
    check "tarball, remote, find_package without Rust" open_url "$prefix" "$out/remote-consumer"
    by_url() {
        "$prefix/bin/zt" verify "$url"
        grep -q '==== object_store' "$prefix/share/doc/ztensor/THIRD-PARTY-LICENSES"
    }
    check "tarball, remote, zt" by_url
else
    skipped=$((skipped + 3))
    echo "packages: skipped: libztensor_remote; make -C remote builds it"
fi

if command -v abidw >/dev/null; then
    check "binary interface" python3 "$here/abi.py" check "$here/../include" "$out/abi"
else
    skipped=$((skipped + 1))
fi
sbom() { # FILE HAS HAS-NOT SUBJECT
    python3 -c '
import json, sys
sbom = json.load(open(sys.argv[1]))
has, has_not, subject = sys.argv[2:]
names = {part["name"]: part for part in sbom["components"]}
assert sbom["bomFormat"] == "CycloneDX" and sbom["metadata"]["component"]["name"] == subject, sbom["metadata"]
assert has in names and has_not not in names and "cbindgen" not in names, sorted(names)
assert all(part["licenses"] and part["purl"].startswith(("pkg:cargo/", "pkg:pypi/ziglang@")) for part in names.values())
known = {part["bom-ref"] for part in sbom["components"]} | {sbom["metadata"]["component"]["bom-ref"]}
assert all({edge["ref"], *edge["dependsOn"]} <= known for edge in sbom["dependencies"])
' "$@"
}
check "SBOM" sbom "$prefix/share/doc/ztensor/sbom.cdx.json" clap cbindgen ztensor-c
schema() { # FILE...: validates with CycloneDX's JSON schema
    PYTHONPATH=$out/python-tools python3 -c '
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for file in sys.argv[1:]:
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(file).read())
    assert error is None, (file, error)
' "$@"
}
wheel() {
    file=$(ls "$out"/wheel/libztensor-*.whl)
    rm -rf "$out/wheel/unpacked"
    mkdir "$out/wheel/unpacked"
    (cd "$out/wheel/unpacked" && python3 -m zipfile -e "$file" .)
    PYTHONPATH=$out/python-tools PATH=$out/python-tools/bin:$PATH python3 -m auditwheel show "$file" | tr '\n' ' ' | grep 'manylinux_2_28_'
    metadata=$(ls -d "$out"/wheel/unpacked/*.dist-info)
    grep -q '==== zstd-sys' "$metadata/licenses/THIRD-PARTY-LICENSES"
    [ "$(grep -c '==== clap' "$metadata/licenses/THIRD-PARTY-LICENSES")" = 0 ]
    sbom "$metadata/sboms/ztensor-c.cdx.json" zstd-sys clap ztensor-c
    python3 -c 'import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); library.zt_version.restype = ctypes.c_char_p
print(library.zt_version())' "$out/wheel/unpacked/libztensor/libztensor.so.1"
}
sh "$here/wheel.sh" "$out" >"$out/wheel.log" 2>&1
case $? in
0)
    check "wheel, manylinux_2_28" wheel
    check "SBOMs by the schema" schema "$prefix/share/doc/ztensor/"*.cdx.json "$out"/wheel/notices/sboms/*
    ;;
3) skipped=$((skipped + 2)) ;;
*) check wheel sh -c 'cat "$1" && false' sh "$out/wheel.log" ;;
esac

crate() { # the crate for crates.io compiles alone and is small
    (cd "$here/.." && "${CARGO:-cargo}" package --quiet --locked --offline --allow-dirty --no-verify --package ztensor-c)
    packed=${CARGO_TARGET_DIR:-$here/../target}/package/ztensor-c-$version.crate
    rm -rf "$out/ztensor-c-$version"
    tar -C "$out" -xzf "$packed"
    echo '[workspace]' >>"$out/ztensor-c-$version/Cargo.toml"
    (cd "$out/ztensor-c-$version" && "${CARGO:-cargo}" check --quiet --locked --offline)
    size=$(stat -c %s "$packed")
    echo "$size bytes"
    [ "$size" -lt 1000000 ]
}
check "crate" crate

if ! command -v dpkg-deb >/dev/null; then
    skipped=$((skipped + 1))
    finish
fi
check "Debian packages" sh "$here/deb.sh" "$out"
root=$out/debian
rm -rf "$root"
install_debs() {
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers"
    : >"$root/var/lib/dpkg/status"
    : >"$root/var/lib/dpkg/available"
    dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless --log=/dev/null --no-triggers \
        -i "$out"/deb/*.deb
}
check "dpkg installs them" install_debs
libdir=usr/lib/$(cc -print-multiarch)
debs=3
[ $remote = no ] || debs=5
listed() {
    [ "$(dpkg --root="$root" -l | grep -c '^i')" = $debs ] && [ -L "$root/$libdir/libztensor.so" ] &&
        ! find "$root/usr" -type f -perm /022 | grep .
}
check "all packages are installed" listed
symbols_file() { # a line for each function, with its version
    file=$root/var/lib/dpkg/info/libztensor1:$(dpkg --print-architecture).symbols
    [ -f "$file" ] && [ "$(grep -c '^ zt_.*@ZTENSOR_' "$file")" = "$(grep -c . "$here/../c_tests/abi/symbols.txt")" ]
}
check "Debian, symbols" symbols_file
check "Debian, find_package" find_package "$root/usr" "$out/debian-consumer"
compiled() { # PACKAGE EXAMPLE ARGUMENT
    flags=$(PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$root/$libdir/pkgconfig" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
        PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --define-variable=pcfiledir="/$libdir/pkgconfig" --cflags --libs "$1")
    # shellcheck disable=SC2086 # a list of words
    cc "$here/../examples/$2.c" -o "$out/$2.program" -I"$root/usr/include" $flags && LD_LIBRARY_PATH=$root/$libdir "$out/$2.program" "$3"
}
check "Debian, pkg-config" compiled ztensor inspect "$data/v1.2/py-1.2.3-sparse.zt"
if [ $remote = yes ]; then
    check "Debian, remote, exports" only_ours "$root/$libdir/libztensor_remote.so.1"
    check "Debian, remote, find_package" open_url "$root/usr" "$out/debian-remote-consumer"
    check "Debian, remote, pkg-config" compiled ztensor-remote remote "$url"
    check "Debian, remote, SBOM" sbom "$root/usr/share/doc/libztensor-remote1/sbom.cdx.json" object_store clap ztensor-remote
fi
check "Debian, zt" "$root/usr/bin/zt" verify "$data/v1.2/py-1.2.3-digests.zt"
check "Debian, SBOM of the library" sbom "$root/usr/share/doc/libztensor1/sbom.cdx.json" zstd-sys clap ztensor-c
check "Debian, SBOM of the program" sbom "$root/usr/share/doc/ztensor-tools/sbom.cdx.json" clap cbindgen ztensor-tools
if command -v lintian >/dev/null; then
    # Rules for a distribution's own packages: a bug number, a maintainer.
    check lintian lintian --fail-on error --no-cfg --allow-root --suppress-tags initial-upload-closes-no-bugs,no-manual-page \
        "$out"/deb/*.deb
fi

release() { # all files exist, sums and notes agree, and a wrong version is reported
    sh "$here/release.sh" --dry-run "$out"
    (cd "$out/release" && sha256sum --quiet -c SHA256SUMS && [ "$(ls *.crate *.deb *.whl *.tar.xz | wc -l)" = $((debs + 4)) ] && grep -q zTensor notes.md &&
        ! grep -q '^## ' notes.md)
    rm -rf "$out/other"
    mkdir "$out/other"
    (cd "$here/.." && git ls-files -z CHANGELOG.md Cargo.toml Cargo.lock include packaging remote fuzz/Cargo.lock bindings |
        xargs -0 tar -cf -) | tar -C "$out/other" -xf -
    sed -i 's/"version": "[0-9.]*"/"version": "9.9.9"/' "$out/other/packaging/vcpkg/ztensor/vcpkg.json"
    if sh "$out/other/packaging/release.sh" --dry-run "$out" 2>"$out/release.err"; then return 1; fi
    grep -q "vcpkg.json has version '9.9.9'" "$out/release.err"
}
if [ -d "$out/wheel" ]; then check "release, dry run" release; else skipped=$((skipped + 1)); fi
finish
