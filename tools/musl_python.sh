#!/bin/sh
# Prints the path of a Python for musl, which Debian does not have. It is compiled once from the source of
# Debian's package with Debian's musl-gcc. It has ctypes and other modules that need no library.
#     sh tools/musl_python.sh FOLDER
# Downloads only with ZT_INSTALL=1 or CI=true. Exit status 3: not available; one line on standard error gives
# the reason.
set -eu

[ $# -eq 1 ] || { echo "usage: musl_python.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
prefix=$folder/prefix
if ! "$prefix/bin/python3" -c 'import ctypes' 2>/dev/null; then
    lacking() { echo "a Python for musl is not available: $1" >&2; exit 3; }
    command -v musl-gcc >/dev/null || lacking "musl-gcc not found"
    SOURCE=1 sh "$(dirname "$0")/debian_packages.sh" bookworm "$folder/source" libffi python3.11 || exit 3
    rm -rf "$prefix"
    mkdir -p "$prefix/include" # the kernel's headers, which glibc keeps with its own
    ln -s /usr/include/linux /usr/include/asm-generic /usr/include/x86_64-linux-gnu/asm "$prefix/include"
    # Debian's gcc prints x86_64-linux-gnu for musl, too. Python would report an error, or use glibc's
    # headers.
    # shellcheck disable=SC2016 # the script's own variables
    printf '#!/bin/sh\ncase $1 in *-print-multiarch) echo x86_64-linux-musl ;; *) exec musl-gcc "$@" ;; esac\n' >"$folder/cc"
    chmod +x "$folder/cc"
    for name in libffi Python; do
        options="--disable-shared --with-pic"
        [ $name = libffi ] || options="--disable-test-modules --without-ensurepip"
        cd "$folder/source/root/$name"-*/
        # shellcheck disable=SC2086 # a list of words
        { ./configure --quiet --prefix="$prefix" $options "CC=$folder/cc" CFLAGS="-O1 -w" CPPFLAGS="-I$prefix/include" \
            LDFLAGS="-L$prefix/lib" && make -j2 && make install; } >"$folder/$name.log" 2>&1 || lacking "$folder/$name.log"
    done
    "$prefix/bin/python3" -c 'import ctypes' || lacking "it was built without ctypes"
fi
echo "$prefix/bin/python3"
