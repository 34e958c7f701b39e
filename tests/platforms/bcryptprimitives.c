/* bcryptprimitives.dll for a wine that does not have it: Rust's standard library gets random bytes from
 * it. */
#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *bytes, unsigned long size);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, size_t size)
{
    return SystemFunction036(bytes, (unsigned long)size);
}
