#!/bin/sh
# What holds of the small libraries alone: their sizes are those of docs/dependencies.md, and a panic is caught in what is
# relinked without backtraces. tests/ and the C programs hold the rest.
#   c_tests/small.sh LIBRARIES READING OUTPUT      folders with a libztensor.so
set -eu
LC_ALL=C
export LC_ALL

[ $# -eq 3 ] || { echo "usage: $0 LIBRARIES READING OUTPUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../docs/dependencies.md
out=$3
mkdir -p "$out"
cc=${CC:-cc}

# size_of LIBRARY COLUMN: within 2 % of what the page says.
size_of() {
    ${STRIP:-strip} -o "$out/stripped.so" "$1/libztensor.so"
    size=$(wc -c <"$out/stripped.so")
    said=$(awk -F'|' -v column="$2" '/^\| `make small`, / { gsub(/[^0-9]/, "", $column); print $column }' "$page")
    rm "$out/stripped.so"
    [ "$((size * 100))" -le "$((said * 102))" ] && [ "$((size * 100))" -ge "$((said * 98))" ] ||
        { echo "small: $1/libztensor.so has $size bytes, stripped; docs/dependencies.md says $said" >&2; exit 1; }
    echo "small: $size bytes: $1"
}
compiler=$(rustc --version | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/') machine=$($cc -dumpmachine)
case $machine-$compiler in
"x86_64-"*"linux-gnu-$(sed -n 's/.*on Linux x86-64 with Rust \([0-9.]*[0-9]\).*/\1/p' "$page")")
    size_of "$1" 3
    size_of "$2" 4
    ;;
*) echo "small: sizes: skipped: docs/dependencies.md has none of $machine with Rust $compiler" ;;
esac

cat >"$out/panics.rs" <<'END'
#[no_mangle]
pub extern "C" fn zt_panics() -> i32 {
    i32::from(std::panic::catch_unwind(|| panic!("on purpose")).is_err())
}
END
rustc --edition 2021 --crate-type staticlib -C opt-level=z -C lto=fat -C codegen-units=1 -o "$out/panics.a" "$out/panics.rs"
sh "$here/../cmake/localize_archive.sh" --strip-debug --without-backtraces "$out/panics.a" "$out/relinked.a"
echo 'int zt_panics(void); int main(void) { return zt_panics() != 1; }' >"$out/main.c"
$cc -o "$out/panics" "$out/main.c" "$out/relinked.a" -lgcc_s -lpthread -ldl -lm
RUST_BACKTRACE=1 "$out/panics" 2>"$out/printed" || { echo "small: a panic is not caught" >&2; exit 1; }
grep -q '^on purpose$' "$out/printed" || { echo "small: a panic does not say what it says" >&2; exit 1; }
case $machine in x86_64-* | aarch64-*)
    [ "$(wc -c <"$out/relinked.a")" -lt 200000 ] || { echo "small: backtraces are in it" >&2; exit 1; } ;;
esac
rm -f "$out"/panics* "$out"/main.c "$out"/relinked.a "$out"/printed
echo "small: a panic is caught"
