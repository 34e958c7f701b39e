/* Common code of the tests of the writer. */
#ifndef WRITING_H
#define WRITING_H

#include "digests.h"
#include "support.h"

/* Pseudo-random bytes, all 0 or 1, so they are valid bools. */
static inline void fill(void *data, size_t size, uint32_t seed)
{
    unsigned char *p = (unsigned char *)data;
    size_t i;
    for (i = 0; i < size; i++)
        p[i] = (unsigned char)(next_random(&seed) & 1);
}

/* Any bytes. */
static inline void fill_any(void *data, size_t size, uint32_t seed)
{
    unsigned char *p = (unsigned char *)data;
    size_t i;
    for (i = 0; i < size; i++)
        p[i] = (unsigned char)next_random(&seed);
}

/* The expected digest of a component's stored bytes, or "". */
static inline void stored_digest(const char *path, const zt_component *c, zt_digest digest, char *out, size_t size)
{
    size_t have;
    unsigned char *bytes;
    *out = 0;
    if (digest == ZT_DIGEST_DEFAULT)
        digest = ZT_DIGEST_CRC32C;
    if (digest != ZT_DIGEST_CRC32C && digest != ZT_DIGEST_SHA256)
        return;
    bytes = read_file(path, &have);
    REQUIRE(component_info(c).offset + component_info(c).stored_size <= have);
    if (digest == ZT_DIGEST_CRC32C) {
        uint32_t crc = crc32c_of(bytes + component_info(c).offset, (size_t)component_info(c).stored_size);
        snprintf(out, size, "crc32c:0x%08lX", (unsigned long)crc);
    } else {
        char hex[65];
        sha256_hex(bytes + component_info(c).offset, (size_t)component_info(c).stored_size, hex);
        snprintf(out, size, "sha256:%s", hex);
    }
    free(bytes);
}

/* Checks that all padding is 0. */
static inline void check_padding(const char *path)
{
    zt_file *file = open_path(path);
    zt_verify_options o;
    INIT(o);
    o.checks = ZT_VERIFY_PADDING;
    CHECK_STATUS(zt_verify(file, &o, NULL), ZT_OK);
    zt_close(file);
}

#endif
