#!/bin/sh
# Unpacks packages of a release of Debian with all that they depend on, as if nothing were there, installing nothing:
#     sh tools/debian_packages.sh SUITE FOLDER PACKAGE...      in FOLDER/root
# ARCHITECTURE: of which processor, otherwise amd64. WITHOUT="libc6 ...": these are not unpacked. SOURCE=1: only the sources of
# these packages, without Debian's changes. Fetches only with ZT_INSTALL=1 or CI=true. What is there is not fetched again.
# Exit status 3: they cannot be had; one line on standard error says why.
set -eu

[ $# -ge 3 ] || { echo "usage: debian_packages.sh SUITE FOLDER PACKAGE..." >&2; exit 2; }
suite=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
architecture=${ARCHITECTURE:-amd64}
wanted="$suite $architecture $*"
[ "$(cat "$folder/done" 2>/dev/null)" != "$wanted" ] || exit 0

lacking() { echo "packages of Debian's $suite cannot be had: $1" >&2; exit 3; }
case ${ZT_INSTALL-unset}-${CI-} in
1-* | unset-true) ;;
*) lacking "ZT_INSTALL=1 allows fetching them" ;;
esac
[ "$(uname -m)" = x86_64 ] || lacking "looked for on x86-64 alone"
for tool in apt-get dpkg; do command -v $tool >/dev/null || lacking "$tool is not here"; done
rm -rf "$folder/root" "$folder/apt" "$folder/done"
mkdir -p "$folder/root" "$folder/apt/lists/partial" "$folder/apt/archives/partial"
# Lists of our own, as if nothing were installed. Where the packages come from is the machine's setting.
find_site() { apt-get indextargets --format '$(ORIGIN) $(SITE)' | sed -n 's/^Debian //p' | grep -v security | head -n 1; }
site=$(find_site)
[ -n "$site" ] || { apt-get -qq update >/dev/null 2>&1 && site=$(find_site) && [ -n "$site" ]; } || lacking "this machine names no mirror"
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
