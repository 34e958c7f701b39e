/* bcryptprimitives.dll for a wine that has none: Rust's standard library asks it for random bytes. */
#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *bytes, unsigned long size);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, size_t size)
{
    return SystemFunction036(bytes, (unsigned long)size);
}
