#!/bin/sh
# Checks that everything compiles with the minimum Rust version that Cargo.toml states:
#     sh tools/msrv.sh
# Takes that toolchain from rustup where it is installed, else Debian's packages of it, which are unpacked under target/
# and not installed. They are named by version, as Debian's current ones move on.
# Exit status 3: the toolchain cannot be had; one line on standard error says so.
set -eu
cd "$(dirname "$0")/.."

msrv=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
debian=1.85.0+dfsg3-1~deb12u3
llvm=libllvm19
target=${CARGO_TARGET_DIR:-$PWD/target}/msrv
packages=$target/packages
root=$target/rust-$debian

check() {
    CARGO_TARGET_DIR=$target "$@" check --workspace --all-targets --locked
}

lacking() {
    echo "msrv: Rust $msrv cannot be had here: $1" >&2
    exit 3
}

if rustup toolchain list 2>/dev/null | grep -q "^$msrv"; then
    check cargo "+$msrv"
    exit
fi

case $debian in "$msrv".*) ;; *) lacking "Cargo.toml states $msrv, this script knows the packages of $debian" ;; esac
[ "$(uname -m)" = x86_64 ] || lacking "the packages are looked for on x86-64 alone"

if [ ! -e "$root/done" ]; then
    for tool in apt-get dpkg; do
        command -v $tool >/dev/null || lacking "$tool is not here"
    done
    rm -rf "$packages" "$root"
    mkdir -p "$packages/lists/partial" "$root"
    # Lists of our own, so that the machine's stay as they are. Where the packages come from is the machine's setting.
    apt() {
        apt-get -qq -o Acquire::Retries=2 -o APT::Sandbox::User=root -o Dir::State::Lists="$packages/lists" \
            -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Architectures::=amd64 "$@" </dev/null >>"$packages/log" 2>&1
    }
    apt update || lacking "$(tail -n 1 "$packages/log")"
    (cd "$packages" && apt download "rustc-web=$debian" "libstd-rust-web-1.85=$debian" "libstd-rust-web-dev=$debian" $llvm) ||
        lacking "$(grep -E '^E:' "$packages/log" | tail -n 1)"
    for package in "$packages"/*.deb; do
        dpkg -x "$package" "$root"
    done
    rm -rf "$packages"
    touch "$root/done"
fi

# The compiler as a command of its own, as only it is to find these libraries.
cat >"$target/rustc" <<END
#!/bin/sh
LD_LIBRARY_PATH='$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu' exec '$root/usr/bin/rustc' "\$@"
END
chmod +x "$target/rustc"
"$target/rustc" --version | grep -q "^rustc $msrv" || lacking "the unpacked compiler does not start"
RUSTC=$target/rustc check cargo
