# Sourced by macos.sh. CMake builds both libraries for two architectures, relinks each archive and joins them.
# zig's linker and tests/platforms/hide_symbols.py replace the linker of macOS. LLVM's lipo, which fails on
# joined bitcode, replaces macOS's. Sets status to 1 on failure.
llvm() { command -v "llvm-$1-14"; }
(OUT=$OUT/x86_64 && mkdir -p "$OUT" && zig_compiler x86_64-macos)

# A replacement for macOS's compiler with the options used here: the last -arch counts, and with -r it takes
# an archive and a list of symbols that stay global.
cat >"$OUT/apple_cc" <<END
#!/bin/sh
set -eu
compiler='$OUT/cc' joins= list= archive= object= last=
for word; do
    case \$last\$word in
    -archx86_64) compiler='$OUT/x86_64/cc' ;;
    -archarm64) compiler='$OUT/cc' ;;
    -o*) object=\$word ;;
    -r) joins=yes ;;
    -Wl,-exported_symbols_list,*) list=\${word##*,} ;;
    *.a) archive=\$word ;;
    esac
    case \$word in -arch | -o) last=\$word ;; *) last= ;; esac
done
[ "\$joins" = yes ] || exec "\$compiler" "\$@"
[ "\${APPLE_LD_FAILS-}" != 1 ] || { echo "ld: simulated failure" >&2; exit 1; }
case " \$* " in *" -Wl,-all_load "*) ;; *) exit 1 ;; esac
members=\$(mktemp -d)
trap 'rm -rf "\$members"' EXIT
(cd "\$members" && '$ar' x "\$archive")
"\$compiler" -r -o "\$object" "\$members"/*.o
'$(llvm objcopy)' --remove-section=__LLVM,__bitcode --remove-section=__LLVM,__cmdline "\$object"
[ "\${APPLE_LD_HIDES-}" = no ] || '${PYTHON:-python3}' '$PWD/tests/platforms/hide_symbols.py' "\$list" "\$object"
END

# The cargo for both. Builds that only the second test needs are not optimised.
cat >"$OUT/apple_cargo" <<END
#!/bin/sh
export CC_aarch64_apple_darwin='$OUT/cc' AR_aarch64_apple_darwin='$ar' CARGO_TARGET_AARCH64_APPLE_DARWIN_LINKER='$OUT/cc'
export CC_x86_64_apple_darwin='$OUT/x86_64/cc' AR_x86_64_apple_darwin='$ar' CARGO_TARGET_X86_64_APPLE_DARWIN_LINKER='$OUT/x86_64/cc'
case " \$* " in *" --target x86_64-"*) export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off ;; esac
exec '$cargo' "\$@" $std
END
chmod +x "$OUT/apple_cc" "$OUT/apple_cargo"

# configure [CMAKE_ARGUMENT...]
configure() {
    rm -rf "$OUT/cmake"
    CC="$OUT/apple_cc" AR="$ar" NM="$(llvm nm)" INSTALL_NAME_TOOL="$(llvm install-name-tool)" cmake -S . -B "$OUT/cmake" \
        -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/platforms/apple.toolchain.cmake" -DZTENSOR_BUILD_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX="$OUT/installed" "-DZTENSOR_CARGO=$OUT/apple_cargo" "-DZTENSOR_LIPO=$(llvm lipo)" \
        "-DZTENSOR_CARGO_TARGET_DIR=$CARGO_TARGET_DIR" "$@" >"$OUT/configured" 2>&1
}
# wrong WHAT
wrong() {
    echo "FAILED: $1"
    status=1
}
# builds_for TARGETS [CMAKE_ARGUMENT...]: checks the targets that cargo builds
builds_for() {
    targets=$1
    shift
    configure "$@" || { cat "$OUT/configured"; wrong "cmake $*"; return; }
    asked=$(grep -o 'rustc --lib .* --target [^ ]*' "$OUT/cmake/CMakeFiles/ztensor_cargo.dir/build.make" | sed 's/.* //')
    [ "$(echo $asked)" = "$targets" ] || wrong "cmake $* builds for $(echo $asked)"
}
builds_for '' # this machine's target
builds_for x86_64-apple-darwin -DCMAKE_OSX_ARCHITECTURES=x86_64 -DCMAKE_OSX_DEPLOYMENT_TARGET=11.0
[ "$(grep -c 'MACOSX_DEPLOYMENT_TARGET=11.0' "$OUT/cmake/CMakeFiles/ztensor_cargo.dir/build.make")" = 2 ] ||
    wrong "CMAKE_OSX_DEPLOYMENT_TARGET does not reach cargo and the linker"
builds_for aarch64-apple-ios -DCMAKE_OSX_ARCHITECTURES=arm64 -DZTENSOR_CARGO_TARGET=aarch64-apple-ios
if configure -DCMAKE_OSX_ARCHITECTURES=ppc || ! grep -q 'no Rust target is known for "ppc"' "$OUT/configured"; then
    wrong "an unknown architecture was not rejected"
fi
builds_for 'aarch64-apple-darwin x86_64-apple-darwin' '-DCMAKE_OSX_ARCHITECTURES=arm64;x86_64'

rm -rf "$OUT/installed"
cmake --build "$OUT/cmake" >"$OUT/built" 2>&1 || wrong "cmake --build"
cat "$OUT/built"
! grep localize_macho "$OUT/built" || wrong "an archive was not relinked"
cmake --install "$OUT/cmake" >/dev/null
for library in libztensor.dylib libztensor.a; do
    "$(llvm lipo)" "$OUT/installed/lib/$library" -verify_arch arm64 x86_64 || wrong "wrong architectures in $library"
done
# own_zstd ARCHITECTURE ARCHIVE: links a program that has its own functions with libzstd's names
own_zstd() {
    "$OUT/apple_cc" -arch "$1" -std=c99 -Wall -Wextra -pedantic -Werror -Iinclude -o "$OUT/own_zstd" tests/platforms/own_zstd.c "$2" \
        >"$OUT/own_zstd.log" 2>&1
}
for architecture in arm64 x86_64; do
    "$(llvm nm)" -g --defined-only -arch "$architecture" "$OUT/installed/lib/libztensor.a" 2>/dev/null | sed -n 's/^[0-9a-f]* T _//p' | LC_ALL=C sort |
        diff c_tests/abi/symbols.txt - || wrong "symbols of libztensor.a for $architecture differ from symbols.txt"
    "$(llvm otool)" -arch "$architecture" -D "$OUT/installed/lib/libztensor.dylib" | grep -qx '@rpath/libztensor\.[0-9]*\.dylib' ||
        wrong "wrong install name for $architecture"
    own_zstd "$architecture" "$OUT/installed/lib/libztensor.a" || { cat "$OUT/own_zstd.log"; wrong "own_zstd.c for $architecture"; }
done
# cargo's archive clashes. If the linker fails or hides nothing, the build uses that archive.
if own_zstd arm64 "$built/libztensor.a" || ! grep -q 'duplicate symbol.*ZSTD_createDCtx' "$OUT/own_zstd.log"; then
    wrong "own_zstd.c links with cargo's archive"
fi
# as_built WHY VARIABLE=VALUE
as_built() {
    env "$2" ARCH=arm64 LINK="$OUT/apple_cc" NM="$(llvm nm)" AR="$ar" sh cmake/localize_macho.sh --strip-debug \
        "$built/libztensor.a" "$OUT/as_built.a" 2>"$OUT/as_built.log" || wrong "localize_macho.sh, $2"
    if ! grep -q "^localize_macho.sh: $1: " "$OUT/as_built.log" || ! cmp "$built/libztensor.a" "$OUT/as_built.a"; then
        cat "$OUT/as_built.log"
        wrong "localize_macho.sh, $2"
    fi
}
as_built "the linker failed" APPLE_LD_FAILS=1
as_built "the relinked archive has other symbols than zt_\*" APPLE_LD_HIDES=no
rm -rf "$OUT/cmake" "$OUT/installed" "$OUT/own_zstd" "$OUT/as_built.a"
