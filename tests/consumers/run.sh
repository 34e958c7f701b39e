#!/bin/sh
# Installs the library, moves the tree, and builds and runs small separate projects that use it in every supported way:
#     sh tests/consumers/run.sh SCRATCH_DIR
# cargo builds in $CARGO_TARGET_DIR, or in the scratch folder. Ends with one line: consumers: N passed, M failed, K skipped.
set -u

[ $# -eq 1 ] || { echo "usage: run.sh SCRATCH_DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
data=$repo/tests/data
prefix=$out/moved/prefix
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$out/cargo}"
passed=0 failed=0 skipped=0

check() { # NAME COMMAND...: runs it, and shows its output only if it fails
    name=$1
    shift
    (set -e; "$@") >"$out/log" 2>&1 # not in the condition, where the shell ignores set -e
    if [ $? = 0 ]; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        echo "FAILED $name: $*"
        tail -n 25 "$out/log" | cut -c 1-200 | sed "s/^/    /"
    fi
}

skip() { # NAME REASON
    skipped=$((skipped + 1))
    echo "skipped $1: $2"
}

finish() {
    echo "consumers: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

configure() { # SOURCE BUILD ARGUMENTS...
    source=$1 build=$2
    shift 2
    rm -rf "$build"
    cmake -S "$source" -B "$build" "-DDATA=$data" "$@"
}

project() { # SOURCE BUILD ARGUMENTS...: configures, builds and runs the project's tests
    configure "$@" && cmake --build "$2" && (cd "$2" && ctest --output-on-failure --no-tests=error)
}

install_and_move() {
    rm -rf "$out/first" "$out/moved"
    configure "$repo" "$out/build" -DZTENSOR_BUILD_TESTS=OFF "-DCMAKE_INSTALL_PREFIX=$out/first" \
        -DCMAKE_INSTALL_LIBDIR=lib &&
        cmake --build "$out/build" && cmake --install "$out/build" &&
        mkdir "$out/moved" && mv "$out/first" "$prefix"
}

installed_files() { # exactly these files; none contains the path of the tree
    version=$(sed -n 's/^version = "\([0-9.]*\)".*/\1/p' "$repo/Cargo.toml" | head -n 1)
    (cd "$prefix" && find . -type f -o -type l | grep -v '^./share/doc/ztensor/LICENSE' | sort) >"$out/files.is"
    {
        (cd "$repo/include" && find . -name '*.h' -o -name '*.hpp') | sed 's,^\.,./include,'
        printf './lib/%s\n' libztensor.a libztensor.so libztensor.so.1 "libztensor.so.$version" pkgconfig/ztensor.pc \
            cmake/ztensor/ztensor-config.cmake cmake/ztensor/ztensor-config-version.cmake
        printf './share/man/%s\n' man1/zt.1 man3/ztensor.3
    } | sort >"$out/files.want"
    diff "$out/files.want" "$out/files.is" || return 1
    test -n "$(ls "$prefix/share/doc/ztensor")" || { echo "no licences"; return 1; }
    test "$(readlink "$prefix/lib/libztensor.so")" = libztensor.so.1 || return 1
    test "$(readlink "$prefix/lib/libztensor.so.1")" = "libztensor.so.$version" || return 1
    ! grep -rnF -e "$out" -e "$repo" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"
}

same_files() { # A B: compares bytes and modes
    diff -r "$1" "$2" || return 1
    for root in "$1" "$2"; do
        (cd "$root" && find . -type f -exec stat -c '%a %n' {} + | sort) >"$out/modes.${root##*/}"
    done
    diff "$out/modes.${1##*/}" "$out/modes.${2##*/}"
}

without_cmake() { # `make install` installs identical files, in every folder for libraries
    rm -rf "$out/without_cmake"
    (umask 077 && sh "$repo/cmake/install.sh" "$out/build/lib" - "$out/without_cmake/a plain") >"$out/says" &&
        same_files "$prefix" "$out/without_cmake/a plain" || return 1
    libdir=lib/x86_64-linux-gnu
    sh "$repo/cmake/install.sh" "$out/build/lib" - /usr "$out/without_cmake/staged" $libdir || return 1
    configure "$repo" "$out/multiarch" -DZTENSOR_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=$libdir &&
        cmake --build "$out/multiarch" || return 1
    rm -rf "$out/multiarch-root"
    DESTDIR=$out/multiarch-root cmake --install "$out/multiarch" && same_files "$out/multiarch-root" "$out/without_cmake/staged"
}

first_program() { # the README's program with cc and pkg-config, after the settings that `make install` prints
    eval "$(sed -n 's/.*: export \(.*\)/export \1/p' "$out/says")"
    case ${PKG_CONFIG_PATH-} in "$out/without_cmake/a plain"/*) ;; *) return 1 ;; esac
    sed -n '/^```c$/,/^```$/p' "$repo/README.md" | sed '/^```/d' >"$out/list.c"
    # The shell must parse pkg-config's output, because the prefix has a space.
    eval "${CC:-cc} '$out/list.c' $(pkg-config --cflags --libs ztensor) -o '$out/list'" || return 1
    "$out/list" "$data/v1.1/rs-1.1.1-digests.zt" | grep -q ' bytes at 0x'
}

merged() { # /lib is a link to /usr/lib, where CMake searches
    root=$out/multiarch-root
    rm -f "$root/lib" && ln -s usr/lib "$root/lib" &&
        project "$here/find_package" "$out/merged" "-Dztensor_DIR=$root/lib/x86_64-linux-gnu/cmake/ztensor"
}

whole_path() { # an absolute path for the library folder
    configure "$repo" "$out/absolute" -DZTENSOR_BUILD_TESTS=OFF "-DCMAKE_INSTALL_PREFIX=$out/absolute-prefix" \
        "-DCMAKE_INSTALL_LIBDIR=$out/absolute-prefix/lib64" &&
        cmake --build "$out/absolute" && cmake --install "$out/absolute" &&
        project "$here/find_package" "$out/by_whole_path" "-Dztensor_DIR=$out/absolute-prefix/lib64/cmake/ztensor"
}

packaged() { # like a distribution: prefix /usr, several architectures, DESTDIR
    libdir=lib/x86_64-linux-gnu
    configure "$repo" "$out/packaged" -DZTENSOR_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
        -DCMAKE_INSTALL_LIBDIR=$libdir -DZTENSOR_BUILD_STATIC=OFF &&
        cmake --build "$out/packaged" || return 1
    rm -rf "$out/root"
    DESTDIR=$out/root cmake --install "$out/packaged" || return 1
    test ! -e "$out/root/usr/$libdir/libztensor.a" || { echo "installed a static library despite ZTENSOR_BUILD_STATIC=OFF"; return 1; }
    PKG_CONFIG_LIBDIR=$out/root/usr/$libdir/pkgconfig
    export PKG_CONFIG_LIBDIR
    dir=$(pkg-config --variable=libdir ztensor) && test "$(cd "$dir" && pwd)" = "$out/root/usr/$libdir"
}

# from a repository made from this working tree, committed or not; compiles once more, so without optimisation
fetch() {
    export CARGO_PROFILE_DEV_OPT_LEVEL=0
    rm -rf "$out/repository"
    mkdir "$out/repository" || return 1
    (cd "$repo" && git ls-files -z --cached --others --exclude-standard -- . ':!tests' ':!c_tests' |
        xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\n" "$f"; done' sh | tar -cf - -T -) |
        tar -xf - -C "$out/repository" || return 1
    (cd "$out/repository" && git init -q && git add -A &&
        git -c user.name=test -c user.email=test@localhost -c commit.gpgsign=false commit -qm test && git tag v1) || return 1
    project "$here/fetch_content" "$out/fetch_content" -DCMAKE_BUILD_TYPE=Debug \
        "-DZTENSOR_REPOSITORY=$out/repository" -DZTENSOR_TAG=v1
}

pkg_config() { # LINK
    link=$1
    root=$prefix
    if [ "$link" != shared ]; then # if both exist, the linker prefers the shared library
        root=$out/static_only
        rm -rf "$root"
        cp -a "$prefix" "$root"
        rm "$root"/lib/libztensor.so*
    fi
    mkdir -p "$out/pkg_config"
    rm -f "$out/pkg_config/$link" "$out/pkg_config/$link.zt"
    PKG_CONFIG_PATH=$root/lib/pkgconfig make -C "$here/pkg_config" "OUT=$out/pkg_config" "LINK=$link" || return 1
    LD_LIBRARY_PATH=$root/lib "$out/pkg_config/$link" "$data/v1.1/rs-1.1.1-digests.zt" "$out/pkg_config/$link.zt"
}

if ! sh "$repo/tools/need.sh" consumers; then
    skip everything "cmake not found"
    finish
fi
pkg_config=yes
sh "$repo/tools/need.sh" pkg-config || pkg_config=no

check install install_and_move
[ "$failed" = 0 ] || finish
check installed_files installed_files
check without_cmake without_cmake
if [ $pkg_config = yes ]; then check first_program first_program; else skip first_program "pkg-config not found"; fi
if [ $pkg_config = yes ]; then check packaged packaged; else skip packaged "pkg-config not found"; fi
check merged merged
check whole_path whole_path
check find_package project "$here/find_package" "$out/find_package" "-DCMAKE_PREFIX_PATH=$prefix"
check add_subdirectory project "$here/add_subdirectory" "$out/add_subdirectory" "-DZTENSOR_SOURCE=$repo"
if git -C "$repo" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    check fetch_content fetch
else # an unpacked source archive: CMake's variable names it
    check fetch_content project "$here/fetch_content" "$out/fetch_content" "-DFETCHCONTENT_SOURCE_DIR_ZTENSOR=$repo"
fi
for link in shared static all-static; do
    if [ $pkg_config = yes ]; then
        check "pkg_config $link" pkg_config "$link"
    else
        skip "pkg_config $link" "pkg-config not found"
    fi
done

. "$here/host/checks.sh"
finish
