#!/bin/sh
# Another page size, which the emulator reports to the library: the C tests and the same bytes as here. Run by test.sh.
set -eu
size=$OUT/page-size
echo '#include <stdio.h>
#include <unistd.h>
int main(void) { return printf("%ld\n", sysconf(_SC_PAGESIZE)) < 0; }' | "${PREFIX_}gcc" -x c -o "$size" -
reported=$($RUNNER "$size")
case $RUNNER in
*" -p $reported "*) ;;
*) echo "FAILED: pages of $reported bytes, with $RUNNER"; exit 1 ;;
esac
C_ALONE=1
. tools/platforms/linux.sh
