# Read by build.sh and deb.sh: where cargo builds, and no path of this machine in what it makes. With ZTENSOR_QUICK=1 what
# the tests have built is taken as it is, paths and all, and a program without optimisation.
cargo=${CARGO:-cargo}
version=$(sed -n 's/^version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
home=${CARGO_HOME:-$HOME/.cargo}
here=$PWD
if [ "${ZTENSOR_QUICK-}" != 1 ]; then
    export CARGO_TARGET_DIR="$out/cargo"
    export RUSTFLAGS="${RUSTFLAGS-} --remap-path-prefix=$home=cargo --remap-path-prefix=$here=ztensor --remap-path-prefix=$out=out"
    export CFLAGS="${CFLAGS-} -ffile-prefix-map=$home=cargo"
fi

# install_into BUILD PREFIX LIBDIR [DESTDIR]
install_into() {
    rm -rf "$1"
    cmake -S . -B "$1" -DCMAKE_BUILD_TYPE=Release -DZTENSOR_BUILD_TESTS=OFF "-DCMAKE_INSTALL_LIBDIR=$3" \
        "-DCMAKE_INSTALL_PREFIX=$2" >"$out/log" 2>&1 && cmake --build "$1" >>"$out/log" 2>&1 &&
        DESTDIR=${4-} cmake --install "$1" >>"$out/log" 2>&1 || { tail -n 30 "$out/log" >&2; exit 1; }
}

# The newest glibc that any of these needs.
glibc_of() { objdump -T "$@" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1; }
