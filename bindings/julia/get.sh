#!/bin/sh
# Prints the path of a Julia of Debian 11 (1.5), which it unpacks and does not install: the last Debian that has one.
#     sh bindings/julia/get.sh DIR
# Fetches only with ZT_INSTALL=1 or CI=true. Exit status 1: it cannot be had; one line on standard error says why.
set -eu

[ $# -eq 1 ] || { echo "usage: get.sh DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
root=$dir/root
lib=$root/usr/lib/x86_64-linux-gnu

# The machine's own C library and compiler's libraries are newer.
WITHOUT="libc6 libgcc-s1 libstdc++6 libcrypt1" sh "$(dirname "$0")/../../tools/debian_packages.sh" bullseye "$dir" julia || exit 1
cat >"$dir/julia" <<END
#!/bin/sh
LD_LIBRARY_PATH='$lib:$lib/julia:$lib/openblas-pthread:$lib/blas:$lib/lapack:$root/lib/x86_64-linux-gnu' exec '$root/usr/bin/julia' "\$@"
END
chmod +x "$dir/julia"
"$dir/julia" --version >/dev/null 2>&1 || { echo "julia: the one that was unpacked does not start" >&2; exit 1; }
echo "$dir/julia"
