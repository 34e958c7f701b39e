# Sourced by build.sh and deb.sh. Sets cargo's folder, and keeps this machine's paths out of the output.
# ZTENSOR_QUICK=1 uses what the tests have built, including paths, and a program without optimisation.
cargo=${CARGO:-cargo}
version=$(sed -n 's/^version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
home=${CARGO_HOME:-$HOME/.cargo}
here=$PWD
tools=${CARGO_TARGET_DIR:-$PWD/target}
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

# Builds libztensor_remote, linked with the libztensor in OUT/root/lib, in OUT/remote. Returns 1 if the
# package has to do without it: with ZTENSOR_REMOTE=0, or if the tests, whose libraries are used, have not
# built it. It has 130 crates.
stage_remote() {
    [ "${ZTENSOR_REMOTE-}" != 0 ] || return 1
    built=${CARGO_TARGET_DIR:-$here/target}/remote
    if [ "${ZTENSOR_QUICK-}" != 1 ]; then
        ZT_LIB_DIR=$out/root/lib CARGO_TARGET_DIR=$built "$cargo" rustc --quiet --manifest-path remote/Cargo.toml --lib --release \
            --crate-type cdylib,staticlib --locked || exit 1
    elif [ ! -e "$built/release/libztensor_remote.so" ]; then
        return 1
    fi
    rm -rf "$out/remote"
    mkdir "$out/remote"
    cp -a "$out/root/lib/"libztensor.so* "$out/remote"
    LIBRARY=libztensor_remote sh cmake/stage_libraries.sh "$built/release" "$out/remote" "$version" --strip-debug || exit 1
}

# A C compiler that links with glibc 2.28, independent of this machine: zig from PyPI. Empty if not available.
old_glibc_compiler() {
    case $(uname -sm) in "Linux x86_64" | "Linux aarch64") ;; *) return ;; esac
    zig=$(CARGO_TARGET_DIR="$tools" sh tools/zig.sh 2>"$out/zig.log") || return 0
    # The system's libgcc_s, like in C++ programs: -lgcc_s would link zig's own unwinder in.
    cat >"$out/zig-cc" <<END
#!/bin/sh
# Links with glibc 2.28.
export ZIG_LOCAL_CACHE_DIR='$out/zig-cache' ZIG_GLOBAL_CACHE_DIR='$out/zig-cache'
for word; do
    shift
    [ "\$word" != -lgcc_s ] || word=$(cc -print-file-name=libgcc_s.so.1)
    set -- "\$@" "\$word"
done
exec '$zig' cc -target $(uname -m)-linux-gnu.2.28 "\$@"
END
    chmod +x "$out/zig-cc"
    echo "$out/zig-cc"
}

# The compiler that built OUT/root, if it was zig.
linked_by() { [ ! -x "$out/zig-cc" ] || echo "$out/zig-cc"; }

# The licences of what zig links into a library: zig's own, and these of its files.
zig_licences() {
    zig=$(CARGO_TARGET_DIR="$tools" sh tools/zig.sh)
    printf '\n==== zig %s, its runtime (MIT) ====\n\n' "$("$zig" version)"
    cat "${zig%/*}/LICENSE"
    for file; do
        printf '\n==== zig, %s ====\n\n' "$file"
        cat "${zig%/*}/lib/$file"
    done
}

# Tools for wheels and documents from PyPI, in OUT/python-tools.
python_tools() {
    cmp -s packaging/requirements.txt "$out/python-tools/requirements.txt" && return
    rm -rf "$out/python-tools"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-input --no-compile --retries 1 --only-binary :all: \
        --target "$out/python-tools" -r packaging/requirements.txt >"$out/pip.log" 2>&1 &&
        cp packaging/requirements.txt "$out/python-tools"
}

# sbom PACKAGE...: lists what they are linked with, for $target; including zig's runtime if $LINK is zig.
target=$(rustc -vV | sed -n 's/^host: //p')
sbom() {
    zig=
    [ -z "${LINK-}" ] || zig=$("$(CARGO_TARGET_DIR="$tools" sh tools/zig.sh)" version)
    "$cargo" metadata --manifest-path "$(workspace_of "$1")/Cargo.toml" --format-version 1 --locked --offline --filter-platform "$target" |
        python3 packaging/sbom.py ${zig:+"--zig=$zig"} "$@"
}

# Checks that no file in this folder contains a path of this machine.
no_paths_of_here() {
    [ "${ZTENSOR_QUICK-}" != 1 ] || return 0
    ! grep -lrF -e "$home" -e "$here" "$1" || { echo "these files contain a path of this machine" >&2; exit 1; }
}

# The newest glibc that any of these needs. $cross: the prefix of the tools for another processor.
glibc_of() { "${cross-}objdump" -T "$@" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1; }

# The folder of a package's workspace.
workspace_of() { if [ "$1" = ztensor-remote ]; then echo remote; else echo .; fi; }
