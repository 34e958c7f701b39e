#!/bin/sh
# Builds and runs the C tests without cmake: with the shared and the static library, as C99 and, if there is a
# C++ compiler, as C++17. Compares the exported symbols with the header and symbols.txt.
#
#   c_tests/run.sh LIBRARIES OUTPUT      LIBRARIES: folder with libztensor.so and libztensor.a
#
# CC, CXX, NM, CFLAGS, CXXFLAGS and LDFLAGS are used. ONLY="open view" runs only those programs.
# RUNNER: starts programs for another machine, such as "qemu-s390x -L /usr/s390x-linux-gnu".
# LANGUAGES: from "c99 c++17". LIBRARIES: from "shared static". VALGRIND=1 runs each program under valgrind.
# The default is then one language and one library.
# STATIC_LIBS: system libraries for the static library, from `rustc --print native-static-libs`.
set -u
LC_ALL=C
export LC_ALL

[ $# -eq 2 ] || { echo "usage: $0 LIBRARIES OUTPUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
libs=$(cd "$1" && pwd) || exit 2
rm -rf "$2/tmp"
mkdir -p "$2/tmp" || exit 2
out=$(cd "$2" && pwd) || exit 2
export ZT_TEST_DATA="${ZT_TEST_DATA:-$here/../tests/data}"
export ZT_TEST_TMP="$out/tmp"
include="$here/../include"
CC=${CC:-cc}
CXX=${CXX:-c++}
warnings="-Wall -Wextra -pedantic -Werror"
STATIC_LIBS=${STATIC_LIBS:--lgcc_s -lutil -lrt -lpthread -lm -ldl -lc}

if [ "${VALGRIND-}" = 1 ]; then
    LANGUAGES=${LANGUAGES:-c99} LIBRARIES=${LIBRARIES:-shared}
fi
LIBRARIES=${LIBRARIES:-shared static}
programs=${ONLY:-$(cat "$here/programs.txt")}
passed=0
failed=0

# The library's own name, under which the loader searches it, too.
mkdir -p "$out/lib"
ln -sf "$libs/libztensor.so" "$out/lib/libztensor.so"
ln -sf "$libs/libztensor.so" "$out/lib/libztensor.so.1"
shared="-L$out/lib -lztensor -Wl,-rpath,$out/lib"

# test_that NAME COMMAND...: runs and counts it, and prints its output if it failed.
test_that() {
    label=$1
    shift
    if "$@" >"$out/log" 2>&1; then
        passed=$((passed + 1))
        grep '^ok ' "$out/log" | sed "s|^ok .*:|ok $label:|"
        grep ': skipped: ' "$out/log" || true
    else
        failed=$((failed + 1))
        echo "FAILED $label" >&2
        cat "$out/log" >&2
    fi
}

# compile LANGUAGE OUTPUT.o SOURCE
compile() {
    case $1 in
    c99 | c11) $CC -std=$1 $warnings ${CFLAGS--g} -I"$include" -c -o "$2" "$3" ;;
    c++17) $CXX -x c++ -std=$1 $warnings ${CXXFLAGS--g} -I"$include" -c -o "$2" "$3" ;;
    esac
}

# link LANGUAGE LIBRARY OUTPUT OBJECTS...
link() {
    linker=$CC language=$1 library=$2 output=$3
    [ "$language" = c++17 ] && linker=$CXX
    shift 3
    case $library in
    shared) $linker ${LDFLAGS-} -o "$output" "$@" $shared -lpthread -lm -ldl ;;
    static) $linker ${LDFLAGS-} -o "$output" "$@" "$libs/libztensor.a" $STATIC_LIBS ;;
    esac
}

# A program that hangs fails after ten minutes. It is in the same process group, so that a signal to this
# script stops it, too.
limit=
! command -v timeout >/dev/null 2>&1 || limit='timeout --foreground -k 10 600'

run() {
    if [ "${VALGRIND-}" = 1 ]; then
        $limit valgrind --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,possible -q "$@"
    else
        $limit ${RUNNER-} "$@"
    fi
}

# build_and_run NAME LANGUAGE SOURCES...: with both libraries.
build_and_run() {
    name=$1 language=$2
    shift 2
    objects=
    for source in "$@"; do
        object="$out/$(basename "$source").$language.o"
        compile "$language" "$object" "$here/$source" || return 1
        objects="$objects $object"
    done
    for library in $LIBRARIES; do
        program="$out/${name}_${language}_$library"
        link "$language" "$library" "$program" $objects || return 1
        # Both libraries have the same code. All faults run in C with the shared library; otherwise every
        # eleventh, unless set.
        step=11
        [ "$language $library" != "c99 shared" ] || step=1
        ZT_STEP=${ZT_STEP:-$step} run "$program" || return 1
        rm -f "$program"
    done
}

languages=
for language in ${LANGUAGES:-c99 c++17}; do
    if [ "$language" = c++17 ] && ! command -v "$CXX" >/dev/null 2>&1; then
        echo "C++ compiler not found: C++17 is not tested" >&2
    else
        languages="$languages $language"
    fi
done

for language in $languages; do
    for name in $programs; do
        test_that "$name ($language)" build_and_run "$name" "$language" "$name.c"
    done
    [ -n "${ONLY-}" ] ||
        test_that "double_include ($language)" build_and_run double_include "$language" double_include_a.c double_include_b.c
done
# ztensor.hpp in C++17 and 20, with and without exceptions, with more warnings than usual. Code that only
# reads must call nothing except the functions of ztensor.h.
wrapper_compiles() {
    for standard in 17 20; do
        for mode in "" "-fno-exceptions -fno-rtti"; do
            sources='wrapper wrapper_files'
            [ -z "$mode" ] || sources=wrapper_results
            for source in $sources; do
                $CXX -std=c++$standard $mode $warnings -Wconversion -Wshadow -I"$include" -fsyntax-only "$here/cpp/$source.cpp" || return 1
            done
        done
    done
}
# An attribute of complex elements would have half of the numbers.
wrapper_refuses_logical_types() {
    for element in float std::complex\<float\>; do
        printf '#include "ztensor.hpp"\nvoid set(zt::writer &to, const std::vector<%s> &all) { (void)to.set_attribute("a", all); }\n' \
            "$element" | $CXX -std=c++17 -I"$include" -fsyntax-only -x c++ - 2>"$out/refused.txt" && refused=no || refused=yes
        case $element-$refused in float-no | std*-yes) ;; *) cat "$out/refused.txt" && return 1 ;; esac
    done
    grep -q 'elements of a dtype, not of a logical type' "$out/refused.txt"
}
wrapper_costs_nothing() {
    for mode in "" -fno-exceptions; do
        $CXX -std=c++17 -O2 $mode -I"$include" -c -o "$out/zero_cost.o" "$here/cpp/zero_cost.cpp" || return 1
        ${NM:-nm} -u "$out/zero_cost.o" >"$out/zero_cost.txt" || return 1
        grep -q ' zt_component_size$' "$out/zero_cost.txt" || return 1
        ! grep -v ' zt_\| _GLOBAL_OFFSET_TABLE_$\| __gxx_personality_v0$' "$out/zero_cost.txt" || return 1
    done
}

if [ -z "${ONLY-}" ]; then
    case $languages in *c++17*)
        test_that "wrapper (c++17)" build_and_run wrapper c++17 cpp/wrapper.cpp cpp/wrapper_files.cpp cpp/wrapper_results.cpp
        test_that "wrapper compiles" wrapper_compiles
        test_that "wrapper refuses logical types" wrapper_refuses_logical_types
        test_that "wrapper costs nothing" wrapper_costs_nothing
        ;;
    esac
    case $languages in *c++17*) test_that "header_cpp" compile c++17 "$out/header.o" "$here/header_cpp.cpp" ;; esac
fi
# Checks of the libraries, for every language.
if [ -z "${ONLY-}" ] && [ "${languages#*c99}" != "$languages" ]; then
    test_that "header_c (c99)" compile c99 "$out/header.o" "$here/header_c.c"
    test_that "header_c (c11)" compile c11 "$out/header.o" "$here/header_c.c"
    for part in layout layout_writing; do
        test_that "$part" compile c99 "$out/$part.o" "$here/abi/$part.c"
    done
    test_that "symbols" sh "$here/abi/symbols.sh" "$libs/libztensor.so" "$include" "$ZT_TEST_TMP"
    # The installed archive is beside the library's versioned name. Only zt_* is global in it.
    [ ! -e "$libs/libztensor.so.1" ] ||
        test_that "symbols (static)" sh "$here/abi/symbols.sh" "$libs/libztensor.a" "$include" "$ZT_TEST_TMP"
fi

left=$(ls "$ZT_TEST_TMP" | wc -l)
test_that "no file left behind" [ "$left" -eq 0 ]

echo "c tests: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
