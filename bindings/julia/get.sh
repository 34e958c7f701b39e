#!/bin/sh
# Prints the path of a Julia of Debian 11 (1.5), which it unpacks and does not install: the last Debian that has one.
#     sh bindings/julia/get.sh DIR
# ZT_INSTALL=0 fetches nothing. Exit status 1: it cannot be had; one line on standard error says why.
set -eu

[ $# -eq 1 ] || { echo "usage: get.sh DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
suite=bullseye
root=$dir/root
lib=$root/usr/lib/x86_64-linux-gnu

lacking() { echo "julia: $1" >&2; exit 1; }

if [ ! -e "$dir/done" ]; then
    [ "${ZT_INSTALL-}" != 0 ] || lacking "not fetched (ZT_INSTALL=0)"
    [ "$(uname -m)" = x86_64 ] || lacking "looked for on x86-64 alone"
    for tool in apt-get dpkg; do command -v $tool >/dev/null || lacking "$tool is not here"; done
    rm -rf "$root" "$dir/apt"
    mkdir -p "$root" "$dir/apt/lists/partial" "$dir/apt/archives/partial"
    # Lists of our own, as if nothing were installed. Where the packages come from is the machine's setting.
    find_site() { apt-get indextargets --format '$(ORIGIN) $(SITE)' | sed -n 's/^Debian //p' | grep -v security | head -n 1; }
    site=$(find_site)
    [ -n "$site" ] || { apt-get -qq update >/dev/null 2>&1 && site=$(find_site) && [ -n "$site" ]; } || lacking "Debian's packages cannot be had"
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $site $suite main" >"$dir/apt/sources.list"
    : >"$dir/apt/status"
    apt() {
        apt-get -qq -o Acquire::Retries=2 -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$dir/apt/sources.list" \
            -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$dir/apt/lists" -o Dir::State::status="$dir/apt/status" \
            -o Dir::Cache="$dir/apt" "$@" </dev/null >>"$dir/apt/log" 2>&1
    }
    apt update || lacking "$(tail -n 1 "$dir/apt/log")"
    apt -y --no-install-recommends --download-only install julia || lacking "$(grep -E '^E:' "$dir/apt/log" | tail -n 1)"
    for package in "$dir"/apt/archives/*.deb; do
        # The machine's own C library and compiler's libraries are newer.
        case $package in */libc6_* | */libgcc-s1_* | */libstdc++6_* | */libcrypt1_*) ;; *) dpkg -x "$package" "$root" ;; esac
    done
    rm -rf "$dir/apt"
    cat >"$dir/julia" <<END
#!/bin/sh
LD_LIBRARY_PATH='$lib:$lib/julia:$lib/openblas-pthread:$lib/blas:$lib/lapack:$root/lib/x86_64-linux-gnu' exec '$root/usr/bin/julia' "\$@"
END
    chmod +x "$dir/julia"
    "$dir/julia" --version >/dev/null 2>&1 || lacking "the one that was unpacked does not start"
    touch "$dir/done"
fi
echo "$dir/julia"
