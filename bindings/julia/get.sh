#!/bin/sh
# Prints the path of Julia 1.5 of Debian 11, unpacked but not installed. Later Debian releases do not have
# Julia.
#     sh bindings/julia/get.sh DIR
# Downloads only with ZT_INSTALL=1 or CI=true. Exit status 1 if it is not available; one line on standard
# error gives the reason.
set -eu

[ $# -eq 1 ] || { echo "usage: get.sh DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
root=$dir/root
lib=$root/usr/lib/x86_64-linux-gnu

# Use the system's own, newer C library and libraries of the compiler.
WITHOUT="libc6 libgcc-s1 libstdc++6 libcrypt1" sh "$(dirname "$0")/../../tools/debian_packages.sh" bullseye "$dir" julia || exit 1
cat >"$dir/julia" <<END
#!/bin/sh
LD_LIBRARY_PATH='$lib:$lib/julia:$lib/openblas-pthread:$lib/blas:$lib/lapack:$root/lib/x86_64-linux-gnu' exec '$root/usr/bin/julia' "\$@"
END
chmod +x "$dir/julia"
"$dir/julia" --version >/dev/null 2>&1 || { echo "julia: the unpacked program does not start" >&2; exit 1; }
echo "$dir/julia"
