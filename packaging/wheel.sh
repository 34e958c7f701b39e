#!/bin/sh
# Makes the Python package with the library inside, for every Python 3 on glibc 2.28 or later, or on musl 1.2,
# with auditwheel's tag.
#     sh packaging/wheel.sh OUT             after packaging/build.sh OUT: in OUT/wheel
#     sh packaging/wheel.sh OUT SYSTEM      after packaging/elsewhere.sh OUT SYSTEM, from its output: in OUT/wheel-SYSTEM
# Exit status 3: the tools are not available from PyPI.
set -eu

[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "usage: wheel.sh OUT [SYSTEM]" >&2; exit 2; }
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
python=${PYTHON:-python3}
python_tools || exit 3
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
if [ $# -eq 2 ]; then
    system=$2 wheel=$out/wheel-$2 from=$out/elsewhere/ztensor-$version-$2 LINK=zig
    target=${system%%-*}-unknown-${system#*-}
    export _PYTHON_HOST_PLATFORM="linux-${system%%-*}" # the processor in the wheel's name
else
    system=$(uname -m)-linux-gnu wheel=$out/wheel from=$out/root LINK=$(linked_by)
fi
case $system in
*-linux-gnu) tag=manylinux_2_28_${system%%-*} runtime=libc/glibc/LICENSES ;;
*-linux-musl) tag=musllinux_1_2_${system%%-*} runtime="libunwind/LICENSE.TXT libc/musl/COPYRIGHT" ;;
*) echo "wheel.sh: no wheel for $system" >&2; exit 2 ;;
esac
LIBZTENSOR=$from/lib/libztensor.so.$version
LIBZTENSOR_NOTICES=$wheel/notices
rm -rf "$wheel"
mkdir -p "$LIBZTENSOR_NOTICES/licenses" "$LIBZTENSOR_NOTICES/sboms" "$wheel/plain"
export PYTHONPATH="$out/python-tools" PYTHONDONTWRITEBYTECODE=1 PATH="$out/python-tools/bin:$PATH"
if [ "${system##*-}" = musl ]; then # Alpine's name of musl, which wheels use; musl accepts either
    cp "$LIBZTENSOR" "$wheel/libztensor.so.1"
    LIBZTENSOR=$wheel/libztensor.so.1
    patchelf --replace-needed libc.so "libc.musl-${system%%-*}.so.1" "$LIBZTENSOR"
fi
export SOURCE_DATE_EPOCH LIBZTENSOR LIBZTENSOR_NOTICES
cp LICENSE-MIT LICENSE-APACHE "$LIBZTENSOR_NOTICES/licenses"
# shellcheck disable=SC2086 # a list of words
{ TARGET="$target" sh packaging/third_party_licences.sh ztensor-c && { [ -z "$LINK" ] || zig_licences $runtime; }; } \
    >"$LIBZTENSOR_NOTICES/licenses/THIRD-PARTY-LICENSES"
sbom ztensor-c >"$LIBZTENSOR_NOTICES/sboms/ztensor-c.cdx.json"
cp -r bindings/python "$wheel/source"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$wheel/plain" "$wheel/source"
"$python" packaging/wheel_of.py "$system" repair --plat "$tag" --only-plat --wheel-dir "$wheel" "$wheel"/plain/*.whl
