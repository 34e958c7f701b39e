#!/bin/sh
# Checks for the tools that a part of make needs, and installs packages for missing ones:
#     sh tools/need.sh NAME              a name in tools/needs.txt
#     sh tools/need.sh --plan NAME...    only prints, in one line, what will be installed for these, and why
# Installs only with ZT_INSTALL=1 or CI=true, and only as root.
# Exit status 3: something is missing and was not installed; one line on standard error says what. The caller
# then skips its part.
set -eu

usage() { echo "usage: need.sh NAME | need.sh --plan NAME..." >&2; exit 2; }
[ $# -ge 1 ] || usage
plan=no
if [ "$1" = --plan ]; then plan=yes; shift; fi
[ $# -ge 1 ] && { [ $plan = yes ] || [ $# = 1 ]; } || usage
table=$(dirname "$0")/needs.txt

have() {
    case $1 in
    torch) /usr/bin/python3 -c 'import torch' ;; # Debian's, only for the CPU
    pip) "${PYTHON:-python3}" -m pip --version ;;
    valgrind) valgrind -q true ;; # without libc6-dbg it exists but cannot start
    libzstd) printf '#include <zstd.h>\nint main(void) { return !ZSTD_versionNumber(); }\n' |
        cc -x c -o /dev/null - -lzstd ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# cross_compiler TOOL: Debian's packages for s390x-linux-gnu-gcc and similar, and for the C library.
cross_compiler() {
    triple=${1%-g??}
    case $triple in
    aarch64-*) architecture=arm64 ;;
    i686-*) architecture=i386 ;;
    arm-*hf) architecture=armhf ;;
    *) architecture=${triple%%-*} ;;
    esac
    echo "${1##*-}-$triple" "libc6-dev-$architecture-cross"
}

package() {
    case $1 in
    pip) echo python3-pip ;;
    torch) echo python3-torch ;;
    go) echo golang-go ;;
    valgrind) echo valgrind libc6-dbg ;;
    libzstd) echo libzstd-dev ;;
    abidw) echo abigail-tools ;;
    xz) echo xz-utils ;;
    *-linux-gnu*-gcc | *-linux-gnu*-g++) cross_compiler "$1" ;;
    qemu-*) echo qemu-user ;;
    x86_64-w64-mingw32-gcc) echo gcc-mingw-w64-x86-64 ;;
    wine) echo wine wine64 ;;
    musl-gcc) echo musl-tools ;;
    cargo-cinstall) echo cargo-c ;;
    llvm-*-14) echo llvm-14 ;;
    ld | nm | objcopy | objdump | readelf) echo binutils ;;
    *) echo "$1" ;;
    esac
}

# look_up NAME: sets tools and purpose.
look_up() {
    row=$(grep "^$1: " "$table") || { echo "need: tools/needs.txt has no \"$1\"" >&2; exit 2; }
    row=${row#"$1: "}
    tools=${row%%: *}
    purpose=${row#*: }
}

# compare: sets missing and packages from tools.
compare() {
    missing='' packages=''
    for tool in $tools; do
        have "$tool" || missing="$missing $tool" packages="$packages $(package "$tool")"
    done
}

# The reason why nothing can be installed, or empty.
obstacle=''
case ${ZT_INSTALL-unset}-${CI-} in
1-* | unset-true) ;;
*) obstacle='ZT_INSTALL=1 allows it' ;;
esac
if [ -n "$obstacle" ]; then
    :
elif ! command -v apt-get >/dev/null; then
    obstacle='apt-get not found'
elif [ "$(id -u)" != 0 ]; then
    obstacle='only root can'
fi

if [ $plan = yes ]; then
    all='' known=' '
    for name in "$@"; do
        look_up "$name"
        compare
        new=''
        for one in $packages; do
            case $known in *" $one "*) ;; *) known="$known$one " new="$new $one" ;; esac
        done
        [ -z "$new" ] || all="$all,$new (for $purpose)"
    done
    [ -n "$all" ] || exit 0
    if [ -n "$obstacle" ]; then
        echo "need: missing and not installed ($obstacle), so that parts are skipped:${all#,}"
    else
        echo "need: apt-get will install:${all#,}"
    fi
    exit 0
fi

look_up "$1"
compare
[ -n "$missing" ] || exit 0
if [ -n "$obstacle" ]; then
    echo "need:$missing missing (for $purpose), not installed ($obstacle); by hand: apt-get install$packages" >&2
    exit 3
fi

install_packages() {
    # shellcheck disable=SC2086 # lists of words
    env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 \
        install -y --no-install-recommends $packages </dev/null
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "need: installing$packages with apt-get, for $purpose"
if ! install_packages >"$log" 2>&1; then
    # A new machine does not have a list of packages yet.
    apt-get -qq -o DPkg::Lock::Timeout=300 update </dev/null >>"$log" 2>&1 || true
    install_packages >>"$log" 2>&1 || {
        echo "need:$missing missing (for $purpose): $(grep -E '^E:' "$log" | tail -n 1)" >&2
        exit 3
    }
fi
for tool in $tools; do
    have "$tool" || { echo "need: $tool (for $purpose) does not work even after installing$packages" >&2; exit 3; }
done
