/* The host's functions with zstd's names. The library must not call them. */
#include <stdlib.h>

unsigned ZSTD_versionNumber(void) { return 1; }

#define TRAP(name) \
    void name(void); \
    void name(void) { abort(); }

TRAP(ZSTD_createDCtx)
TRAP(ZSTD_createDCtx_advanced)
TRAP(ZSTD_createCCtx)
TRAP(ZSTD_createCCtx_advanced)
TRAP(ZSTD_freeDCtx)
TRAP(ZSTD_DCtx_reset)
TRAP(ZSTD_DCtx_setParameter)
TRAP(ZSTD_decompress)
TRAP(ZSTD_decompressDCtx)
TRAP(ZSTD_decompressStream)
TRAP(ZSTD_findFrameCompressedSize)
TRAP(ZSTD_getFrameContentSize)
TRAP(ZSTD_getFrameHeader)
TRAP(ZSTD_isError)
TRAP(ZSTD_getErrorName)
TRAP(ZSTD_XXH64)
