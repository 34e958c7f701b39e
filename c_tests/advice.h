/* Which advice this system supports, from its declarations or its answers. */
#ifndef ADVICE_H
#define ADVICE_H

#include <unistd.h>

#ifdef _WIN32
#include <windows.h>
#endif

#include "check.h"

/* Whether a file's pages in the page cache can be released: with POSIX advice for files. */
static inline int has_posix_advice(void)
{
#if defined(_POSIX_ADVISORY_INFO) && _POSIX_ADVISORY_INFO > 0
    return 1;
#else
    return 0;
#endif
}

/* Whether mappings and files accept advice, by these functions or, on macOS, others. */
static inline int has_advice(void)
{
#ifdef __APPLE__
    return 1;
#else
    return has_posix_advice();
#endif
}

/* Whether pages of a mapping can be removed from the process. */
static inline int releases_pages(void)
{
#ifdef _WIN32
    return 1;
#else
    return has_advice();
#endif
}

/* Whether the system can read pages ahead on request. */
static inline int prefetches(void)
{
#ifdef _WIN32
    static char pages[8192];
    WIN32_MEMORY_RANGE_ENTRY range;
    range.VirtualAddress = pages;
    range.NumberOfBytes = sizeof pages;
    return PrefetchVirtualMemory(GetCurrentProcess(), 1, &range, 0) != 0;
#else
    return has_advice();
#endif
}

/* Every advice there is: what the others test. */
static const zt_advice all_advice[] = {ZT_ADVICE_NONE, ZT_ADVICE_SEQUENTIAL, ZT_ADVICE_WILLNEED, ZT_ADVICE_POPULATE,
                                       ZT_ADVICE_EVICT, ZT_ADVICE_RELEASE};

/* Whether advice on a file in this mode is available. */
static inline int takes_advice(zt_advice advice, zt_mode mode)
{
    const int maps = mode != ZT_MODE_READ;
    switch (advice) {
    case ZT_ADVICE_NONE:
        return 1;
    case ZT_ADVICE_SEQUENTIAL:
        return has_advice();
    case ZT_ADVICE_WILLNEED:
    case ZT_ADVICE_POPULATE:
        return maps ? prefetches() : has_advice();
    case ZT_ADVICE_EVICT:
        return has_posix_advice() && mode != ZT_MODE_PRIVATE;
    case ZT_ADVICE_RELEASE:
        return releases_pages() && maps && mode != ZT_MODE_PRIVATE;
    default:
        printf("takes_advice does not know advice %u\n", advice);
        abort();
    }
}

#endif
