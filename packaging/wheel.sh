#!/bin/sh
# The Python package with the library inside, for every Python 3 on a glibc of 2.28 or later, as auditwheel names it.
#     sh packaging/wheel.sh OUT      after packaging/build.sh OUT
# Exit status 3: the tools are not on PyPI as seen from here.
set -eu

[ $# -eq 1 ] || { echo "usage: wheel.sh OUT" >&2; exit 2; }
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
python=${PYTHON:-python3}
python_tools || exit 3
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
LIBZTENSOR=$out/root/lib/libztensor.so.$version
LIBZTENSOR_NOTICES=$out/wheel/notices
export SOURCE_DATE_EPOCH LIBZTENSOR LIBZTENSOR_NOTICES
rm -rf "$out/wheel"
mkdir -p "$LIBZTENSOR_NOTICES/licenses" "$LIBZTENSOR_NOTICES/sboms" "$out/wheel/plain"
cp LICENSE-MIT LICENSE-APACHE "$LIBZTENSOR_NOTICES/licenses"
LINK=$(linked_by)
{ sh packaging/third_party_licences.sh ztensor-c && { [ -z "$LINK" ] || zig_licences libc/glibc/LICENSES; }; } \
    >"$LIBZTENSOR_NOTICES/licenses/THIRD-PARTY-LICENSES"
sbom ztensor-c >"$LIBZTENSOR_NOTICES/sboms/ztensor-c.cdx.json"
cp -r bindings/python "$out/wheel/source"
export PYTHONPATH="$out/python-tools" PYTHONDONTWRITEBYTECODE=1 PATH="$out/python-tools/bin:$PATH"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$out/wheel/plain" "$out/wheel/source"
"$python" -m auditwheel repair --plat "manylinux_2_28_$(uname -m)" --only-plat --wheel-dir "$out/wheel" "$out"/wheel/plain/*.whl
