#!/bin/sh
# Makes sure that tools are there, and installs those that are missing where it may:
#     sh tools/need.sh "what for" TOOL...
# TOOL is a command (cmake, valgrind, g++, ...), "pip" (of $PYTHON, else python3) or "libzstd" (its header and library).
# Exit status 3: something is missing and cannot be installed; one line on standard error says what.
set -eu

[ $# -ge 2 ] || { echo "usage: need.sh WHAT-FOR TOOL..." >&2; exit 2; }
purpose=$1
shift

have() {
    case $1 in
    torch) /usr/bin/python3 -c 'import torch' ;; # Debian's, for the CPU alone
    pip) "${PYTHON:-python3}" -m pip --version ;;
    valgrind) valgrind -q true ;; # without libc6-dbg it is there but cannot start
    libzstd) printf '#include <zstd.h>\nint main(void) { return !ZSTD_versionNumber(); }\n' |
        cc -x c -o /dev/null - -lzstd ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

package() {
    case $1 in
    pip) echo python3-pip ;;
    torch) echo python3-torch ;;
    go) echo golang-go ;;
    valgrind) echo valgrind libc6-dbg ;;
    libzstd) echo libzstd-dev ;;
    xz) echo xz-utils ;;
    ld | nm | objcopy | objdump | readelf) echo binutils ;;
    *) echo "$1" ;;
    esac
}

missing='' packages=''
for tool in "$@"; do
    have "$tool" || missing="$missing $tool" packages="$packages $(package "$tool")"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=''
elif sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    as_root=no
fi
if [ "$as_root" = no ] || ! command -v apt-get >/dev/null; then
    echo "need:$missing missing (for $purpose), and apt-get is out of reach here: install$packages by hand" >&2
    exit 3
fi

install_packages() {
    # shellcheck disable=SC2086 # lists of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 \
        install -y --no-install-recommends $packages </dev/null
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "need: installing$packages with apt-get, for $purpose"
if ! install_packages >"$log" 2>&1; then
    # A machine that is new has no list of packages yet.
    $as_root apt-get -qq -o DPkg::Lock::Timeout=300 update </dev/null >>"$log" 2>&1 || true
    install_packages >>"$log" 2>&1 || {
        echo "need:$missing missing (for $purpose): $(grep -E '^E:' "$log" | tail -n 1)" >&2
        exit 3
    }
fi
for tool in "$@"; do
    have "$tool" || { echo "need: $tool (for $purpose) does not work even after installing$packages" >&2; exit 3; }
done
