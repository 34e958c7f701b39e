#!/bin/sh
# Another page size, which the emulator reports to the library: runs the C tests, and compares bytes with this
# machine. Run by test.sh.
set -eu
size=$OUT/page-size
cat >"$size.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) { return printf("%ld", sysconf(_SC_PAGESIZE)) < 0; }
END
"${PREFIX_}gcc" -o "$size" "$size.c"
reported=$($RUNNER "$size")
case $RUNNER in
*" -p $reported "*) ;;
*) echo "FAILED: pages of $reported bytes, with $RUNNER"; exit 1 ;;
esac
C_ALONE=1
. tools/platforms/linux.sh
