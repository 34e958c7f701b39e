#!/bin/sh
# Unpacks packages of a Debian release with all their dependencies, without installing them:
#     sh tools/debian_packages.sh SUITE FOLDER PACKAGE...      in FOLDER/root
# ARCHITECTURE: the processor, by default amd64. WITHOUT="libc6 ...": packages that are not unpacked.
# SOURCE=1: only the sources of these packages, without Debian's changes. Downloads only with ZT_INSTALL=1 or
# CI=true. Existing files are not downloaded again. Exit status 3: not available; one line on standard error
# gives the reason.
set -eu

[ $# -ge 3 ] || { echo "usage: debian_packages.sh SUITE FOLDER PACKAGE..." >&2; exit 2; }
suite=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
architecture=${ARCHITECTURE:-amd64}
wanted="$suite $architecture $*"
[ "$(cat "$folder/done" 2>/dev/null)" != "$wanted" ] || exit 0

lacking() { echo "packages of Debian's $suite are not available: $1" >&2; exit 3; }
case ${ZT_INSTALL-unset}-${CI-} in
1-* | unset-true) ;;
*) lacking "set ZT_INSTALL=1 to download them" ;;
esac
[ "$(uname -m)" = x86_64 ] || lacking "only supported on x86-64"
for tool in apt-get dpkg; do command -v $tool >/dev/null || lacking "$tool not found"; done
rm -rf "$folder/root" "$folder/apt" "$folder/done"
mkdir -p "$folder/root" "$folder/apt/lists/partial" "$folder/apt/archives/partial"
# Separate lists, as if nothing were installed. The machine's settings give the mirror.
find_site() { apt-get indextargets --format '$(ORIGIN) $(SITE)' | sed -n 's/^Debian //p' | grep -v security | head -n 1; }
site=$(find_site)
[ -n "$site" ] || { apt-get -qq update >/dev/null 2>&1 && site=$(find_site) && [ -n "$site" ]; } || lacking "this machine has no mirror configured"
kind=deb
[ "${SOURCE-}" != 1 ] || kind=deb-src
echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >"$folder/apt/sources.list"
: >"$folder/apt/status"
apt() {
    apt-get -qq -o Acquire::Retries=2 -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$folder/apt/sources.list" \
        -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
        -o Dir::Cache="$folder/apt" -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" "$@" \
        </dev/null >>"$folder/apt/log" 2>&1
}
apt update || lacking "$(tail -n 1 "$folder/apt/log")"
if [ "${SOURCE-}" = 1 ]; then
    (cd "$folder/apt/archives" && apt --download-only source "$@") || lacking "$(grep -E '^E:' "$folder/apt/log" | tail -n 1)"
    for archive in "$folder"/apt/archives/*.orig.tar.*z; do tar -xf "$archive" -C "$folder/root"; done
else
    apt -y --no-install-recommends --download-only install "$@" || lacking "$(grep -E '^E:' "$folder/apt/log" | tail -n 1)"
    for package in "$folder"/apt/archives/*.deb; do
        name=${package##*/}
        case " ${WITHOUT-} " in *" ${name%%_*} "*) ;; *) dpkg -x "$package" "$folder/root" ;; esac
    done
fi
rm -rf "$folder/apt"
echo "$wanted" >"$folder/done"
