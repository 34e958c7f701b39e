#!/bin/sh
# Unpacks Debian's packages of the minimum Rust version, without installing them:
#     sh tools/debian_rust.sh FOLDER [PART...]
# FOLDER/rustc and FOLDER/rustdoc are then commands. PART: a Debian architecture whose standard library is
# also needed (s390x, arm64, ...), or "source": FOLDER/cargo, and std's source, which cargo -Zbuild-std
# compiles. The packages are named by version, because Debian's current ones change. Existing files are not
# downloaded again. Exit status 3: not available; one line on standard error gives the reason.
set -eu
version=1.85.0+dfsg3-1~deb12u3

[ $# -ge 1 ] || { echo "usage: debian_rust.sh FOLDER [PART...]" >&2; exit 2; }
mkdir -p "$1/unpacked"
folder=$(cd "$1" && pwd)
shift
root=$folder/rust
# Only one process at a time: msrv.sh and platforms/test.sh share the folder.
exec 9>"$folder/lock"
! command -v flock >/dev/null || flock 9

lacking() {
    echo "Debian's Rust ${version%%+*} is not available here: $1" >&2
    exit 3
}

[ "$(uname -m)" = x86_64 ] || lacking "only supported on x86-64"
wanted="rustc-web=$version libstd-rust-web-1.85=$version libstd-rust-web-dev=$version libllvm19" architectures=
for part in "$@"; do
    case $part in
    source) wanted="$wanted rust-web-src=$version cargo-web=$version libgit2-1.5 libhttp-parser2.9 libssh2-1 libpcre3" ;;
    *) wanted="$wanted libstd-rust-web-dev:$part=$version" architectures="$architectures -o APT::Architectures::=$part" ;;
    esac
done
missing=
for package in $wanted; do
    [ -e "$folder/unpacked/$package" ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
    for tool in apt-get dpkg; do
        command -v $tool >/dev/null || lacking "$tool not found"
    done
    packages=$folder/packages
    rm -rf "$packages"
    mkdir -p "$packages/lists/partial" "$root"
    # Separate lists, so that the machine's do not change. The machine's settings give the mirror.
    apt() {
        # shellcheck disable=SC2086 # a list of words
        apt-get -qq -o Acquire::Retries=2 -o APT::Sandbox::User=root -o Dir::State::Lists="$packages/lists" \
            -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Architectures::=amd64 $architectures "$@" \
            </dev/null >>"$packages/log" 2>&1
    }
    apt update || true # a list that fails may not be needed
    # shellcheck disable=SC2086 # a list of words
    (cd "$packages" && apt download $missing) || lacking "$(grep -E '^E:' "$packages/log" | tail -n 1)"
    for package in "$packages"/*.deb; do
        dpkg -x "$package" "$root"
    done
    rm -rf "$packages"
    for package in $missing; do
        : >"$folder/unpacked/$package"
    done
fi

# Wrapper scripts, so that only these commands use the libraries. Written as new files, because the old ones
# may be starting.
for command in rustc rustdoc cargo; do
    cat >"$folder/.$command" <<END
#!/bin/sh
LD_LIBRARY_PATH='$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu' exec '$root/usr/bin/$command' "\$@"
END
    chmod +x "$folder/.$command"
    mv -f "$folder/.$command" "$folder/$command"
done
"$folder/rustc" --version | grep -q "^rustc ${version%%+*}" || lacking "the unpacked compiler does not start"
