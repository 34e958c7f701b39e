#!/bin/sh
# Makes a release of the version in Cargo.toml. Checks that all other versions agree, and that CHANGELOG.md
# has notes and a date. Puts the shipped files in OUT/release with SHA256SUMS, and sets a git tag.
#     sh packaging/release.sh [--dry-run] OUT      after all that `make -C packaging release` makes in OUT
# --dry-run sets no tag, and accepts uncommitted changes, notes of an unreleased version, and missing packages
# for other machines.
set -eu

dry=no
[ "${1-}" != --dry-run ] || { dry=yes; shift; }
[ $# -eq 1 ] || { echo "usage: release.sh [--dry-run] OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
fail() { echo "release.sh: $*" >&2; exit 1; }

# Other places with a version, and how to read it. CMake and pkg-config use Cargo.toml's.
agrees() { # FILE SED-SCRIPT
    said=$(sed -n "$2" "$1" | head -n 1)
    [ "$said" = "$version" ] || fail "$1 has version '$said', Cargo.toml $version"
}
sed -n 's/^#define ZT_VERSION_[A-Z]* \([0-9]*\)$/\1/p' include/ztensor.h | paste -sd. >"$out/header-version"
agrees "$out/header-version" p
agrees remote/Cargo.toml 's/^version = "\(.*\)"$/\1/p'
agrees bindings/python/pyproject.toml 's/^version = "\(.*\)"$/\1/p'
agrees bindings/julia/Project.toml 's/^version = "\(.*\)"$/\1/p'
for recipe in conan conan/tarball; do
    agrees packaging/$recipe/conanfile.py 's/^    version = "\(.*\)"$/\1/p'
done
for ports in vcpkg vcpkg-tarball; do
    agrees packaging/$ports/ztensor/vcpkg.json 's/^  "version": "\(.*\)",$/\1/p'
done
agrees Cargo.lock '/^name = "ztensor-c"$/{n;s/^version = "\(.*\)"$/\1/p;}'
agrees fuzz/Cargo.lock '/^name = "ztensor-c"$/{n;s/^version = "\(.*\)"$/\1/p;}'
agrees remote/Cargo.lock '/^name = "ztensor-remote"$/{n;s/^version = "\(.*\)"$/\1/p;}'

heading=$(grep -F "## [$version] - " CHANGELOG.md) || fail "CHANGELOG.md has no '## [$version] - DAY'"
if [ $dry = no ]; then
    case $heading in *" - "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) ;; *) fail "CHANGELOG.md has no date: $heading" ;; esac
    [ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes"
    ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "the tag v$version exists"
fi

rm -rf "$out/release"
mkdir "$out/release"
awk -v heading="$heading" '$0 == heading { on = 1; next } /^## \[/ { on = 0 } on' CHANGELOG.md | sed '/./,$!d' >"$out/release/notes.md"
[ -s "$out/release/notes.md" ] || fail "CHANGELOG.md has no notes for $version"
git archive --prefix="ztensor-$version/" HEAD | xz -6 >"$out/release/ztensor-$version-source.tar.xz"
for file in "$out/ztensor-$version-$(uname -m)-linux-gnu.tar.xz" "$out/deb/"*"_$version-1_"*.deb "$out/wheel/libztensor-$version-"*.whl; do
    [ -f "$file" ] || fail "$file is missing"
    cp "$file" "$out/release"
done
for file in "$out/ztensor-$version-"*-linux-*.tar.xz "$out/ztensor-$version-"*-windows.zip "$out/deb-arm64/"*"_$version-1_arm64.deb" \
    "$out"/wheel-*-linux-*/"libztensor-$version-"*.whl; do
    if [ -f "$file" ]; then cp "$file" "$out/release"; else [ $dry = yes ] || fail "$file is missing"; fi
done
cp "$out/root/share/doc/ztensor/sbom.cdx.json" "$out/release/ztensor-$version.cdx.json"
[ ! -f "$out/root/share/doc/ztensor/sbom-remote.cdx.json" ] ||
    cp "$out/root/share/doc/ztensor/sbom-remote.cdx.json" "$out/release/ztensor-remote-$version.cdx.json"
"$cargo" package --quiet --locked --allow-dirty --no-verify --package ztensor-c
cp "${CARGO_TARGET_DIR:-target}/package/ztensor-c-$version.crate" "$out/release"
# The next release is compared with it. Commit it in packaging/abi.
if command -v abidw >/dev/null; then
    python3 packaging/abi.py describe include "$out/release/libztensor-$version.abi"
elif [ $dry = no ]; then
    fail "abidw, which records the binary interface, not found"
fi
(cd "$out/release" && sha256sum -- * >"$out/SHA256SUMS" && mv "$out/SHA256SUMS" .)
[ $dry = yes ] || git tag -a "v$version" --cleanup=verbatim -F "$out/release/notes.md"
echo "$out/release: $version, $(wc -l <"$out/release/SHA256SUMS") files"
