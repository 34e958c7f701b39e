# Part of ../run.sh. Checks the exports and the hardening of the installed libraries, and that a host with its
# own zstd and another Rust library can link them.

host=$out/host
rm -rf "$host"
mkdir -p "$host"
archive=$prefix/lib/libztensor.a
shared=$prefix/lib/libztensor.so

foreign() { # LINES OF NM: prints the lines that define foreign symbols; names of symbol versions are absolute
    awk '$2 == "A" { next } NF == 3 && $3 !~ /^zt_/ { print $3; bad = 1 } $3 ~ /^zt_/ { ours = 1 } END { exit bad || !ours }'
}

only_zt_shared() { nm -D --defined-only "$shared" | foreign; }
only_zt_static() { nm -g --defined-only "$archive" | foreign; }

same_functions() { # both libraries export the functions that the header declares
    sed -n 's/^[A-Za-z].*[ *]\(zt_[a-z0-9_]*\)(.*/\1/p' "$prefix"/include/ztensor*.h | grep -v '^typedef' | sort -u >"$host/header"
    nm -D --defined-only "$shared" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$host/shared"
    nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort -u >"$host/static"
    diff "$host/header" "$host/shared" && diff "$host/header" "$host/static"
}

versioned() { # a program that needs a newer library fails to load
    nm -D --defined-only "$shared" | awk '$2 == "A" { next } $3 !~ /^zt_.*@@ZTENSOR_[0-9.]+$/ { print $3; bad = 1 } END { exit bad }'
}

hardened() { # SONAME; relocations are done before main and then read-only; the stack is not executable
    readelf -dW "$shared" >"$host/dynamic" && readelf -lW "$shared" >"$host/segments" || return 1
    grep -q 'SONAME.*\[libztensor.so.1\]' "$host/dynamic" && grep -q 'FLAGS.*NOW' "$host/dynamic" &&
        grep -q GNU_RELRO "$host/segments" && grep GNU_STACK "$host/segments" | grep -q 'RW ' &&
        ! grep -qE 'TEXTREL|RPATH|RUNPATH' "$host/dynamic"
}

native_libs() { # the libraries in ztensor.pc, libc and libgcc are sufficient, and the compiler adds no others
    libs=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --static --libs-only-l ztensor | sed 's/-lztensor//')
    cc -I"$prefix/include" -o "$host/native" "$here/host/main.c" "$host/lookalike.o" -nodefaultlibs \
        "$archive" $libs -lc -lgcc -lgcc_s && "$host/native" "$data/v1.2/py-1.2.3-zstd.zt" 1
}

parts() {
    cc -O1 -fPIC -c -o "$host/lookalike.o" "$here/host/zstd_lookalike.c" &&
        rustc --edition 2021 --crate-type staticlib -C opt-level=1 -o "$host/libother.a" "$here/host/unwinding.rs" &&
        rustc --edition 2021 --crate-type staticlib -C opt-level=1 --cfg relinked --crate-name relinked \
            -o "$host/raw.a" "$here/host/unwinding.rs" &&
        sh "$repo/cmake/localize_archive.sh" "$host/raw.a" "$host/librelinked.a"
}

link_and_run() { # LEAST_ZSTD_VERSION FLAGS LIBRARIES...: links two Rust libraries and a zstd into one program
    least=$1
    flags=$2
    shift 2
    # shellcheck disable=SC2086 # lists of words
    cc -DWITH_RUST -Wall -Werror $flags -I"$prefix/include" -o "$host/program" "$here/host/main.c" "$@" -lpthread -ldl &&
        "$host/program" "$data/v1.2/py-1.2.3-zstd.zt" "$least"
}

clashes() { # the control: before relinking, cargo's archive clashes with another Rust library
    raw=$CARGO_TARGET_DIR/release/libztensor.a
    [ -f "$raw" ] || { echo "no $raw"; return 1; }
    ! cc -DWITH_RUST -I"$prefix/include" -o "$host/clash" "$here/host/main.c" "$raw" "$host/raw.a" "$host/libother.a" \
        "$host/lookalike.o" -lpthread -ldl -lm >"$host/clash.log" 2>&1 || { echo "it links"; return 1; }
    grep 'multiple definition' "$host/clash.log" | head -n 3
}

interposed() { # the shared library does not use the host's functions with zstd's names
    cc -rdynamic -I"$prefix/include" -o "$host/interposed" "$here/host/main.c" "$host/lookalike.o" "$shared" &&
        LD_LIBRARY_PATH=$prefix/lib "$host/interposed" "$data/v1.2/py-1.2.3-zstd.zt" 1
}

check "exports of the shared library" only_zt_shared
check "exports of the static library" only_zt_static
check "exports are the header's functions" same_functions
check "symbol versions" versioned
check "hardening" hardened
check "host parts" parts
if [ $pkg_config = yes ]; then
    check "native libraries" native_libs
else
    skip "native libraries" "pkg-config not found"
fi
check "host zstd, shared" interposed
check "host, not relinked, clashes" clashes
for flags in "-fPIE -pie" "-fno-pie -no-pie"; do
    check "host, ztensor first, $flags" link_and_run 1 "$flags" \
        "$archive" "$host/librelinked.a" "$host/libother.a" "$host/lookalike.o"
    check "host, ztensor last, $flags" link_and_run 1 "$flags" \
        "$host/lookalike.o" "$host/libother.a" "$host/librelinked.a" "$archive"
    if sh "$repo/tools/need.sh" zstd; then
        check "host, libzstd, ztensor first, $flags" link_and_run 10000 "$flags" \
            "$archive" "$host/librelinked.a" "$host/libother.a" -Wl,-Bstatic -lzstd -Wl,-Bdynamic
        check "host, libzstd, ztensor last, $flags" link_and_run 10000 "$flags" \
            "$host/libother.a" "$host/librelinked.a" -Wl,-Bstatic -lzstd -Wl,-Bdynamic "$archive"
    else
        skip "host, libzstd, $flags" "no libzstd-dev"
    fi
done
