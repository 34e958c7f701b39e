#!/bin/sh
# Makes a tarball for users without Rust: libraries, headers, CMake package, pkg-config, program, licences,
# SHA256SUMS.
#     sh packaging/dist.sh OUT      after packaging/build.sh OUT
# The same source, compilers and SOURCE_DATE_EPOCH give the same bytes.
set -eu

[ $# -eq 1 ] || { echo "usage: dist.sh OUT" >&2; exit 2; }
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
name=ztensor-$version-$(uname -m)-linux-gnu
rm -rf "$out/$name" "$out/$name".tar.xz*
cp -a "$out/root" "$out/$name"
(cd "$out/$name" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
(cd "$out" && tar --sort=name --owner=0 --group=0 --numeric-owner "--mtime=@$epoch" --mode=go-w -cf - "$name" | xz -6 >"$name.tar.xz" &&
    sha256sum "$name.tar.xz" >"$name.tar.xz.sha256")
glibc=$(glibc_of "$out/root/lib/"*.so "$out/root/bin/zt")
echo "$out/$name.tar.xz: $(stat -c %s "$out/$name.tar.xz") bytes; needs glibc $glibc or later"
for file in lib/libztensor.so lib/libztensor.a lib/libztensor_remote.so lib/libztensor_remote.a bin/zt; do
    [ ! -e "$out/root/$file" ] || echo "    $file $(stat -Lc %s "$out/root/$file") bytes"
done
