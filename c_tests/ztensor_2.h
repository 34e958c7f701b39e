/* Common code of the tests that write zTensor 2. */
#ifndef ZTENSOR_2_H
#define ZTENSOR_2_H

#include "attributes.h"
#include "writing.h"

#define SIZE 20000 /* the size of a component with several frames */

/* Two paths, compressible bytes, and random bytes. */
static const char *path, *other;
static unsigned char lines[SIZE], noise[SIZE];

static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static const uint64_t two_by_three[2] = {2, 3}, three_by_four[2] = {3, 4}, of_size = SIZE;
static const uint64_t columns[3] = {1, 0, 3}, rows[4] = {0, 1, 3, 3}, coords[6] = {0, 1, 1, 1, 0, 3};

static inline zt_write_options spec_2(void)
{
    zt_write_options o;
    INIT(o);
    o.spec = ZT_SPEC_2;
    o.frame_size = 4096;
    return o;
}

static inline zt_write_options spec_1_2(void)
{
    zt_write_options o;
    INIT(o);
    return o;
}

static inline zt_write_options canonical(void)
{
    zt_write_options o = spec_2();
    o.canonical = 1;
    return o;
}

static inline zt_writer *create(const char *at, zt_write_options o)
{
    zt_writer *w = NULL;
    REQUIRE(CHECK_STATUS(zt_write_create(at, &o, &w), ZT_OK));
    return w;
}

static inline zt_writer *append(const char *at)
{
    zt_writer *w = NULL;
    REQUIRE(CHECK_STATUS(zt_write_append(at, NULL, &w), ZT_OK));
    return w;
}

static inline void finish(zt_writer *w)
{
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
}

static inline zt_status bytes(zt_writer *w, const char *name, const void *data, size_t size)
{
    uint64_t shape = size;
    return zt_write_dense(w, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, size);
}

static inline zt_object_desc object_desc(const char *name, zt_format format, const uint64_t *shape, size_t rank)
{
    zt_object_desc d;
    INIT(d);
    d.name = name;
    d.format = format;
    d.shape = shape;
    d.rank = rank;
    return d;
}

static inline zt_component_desc component_desc(const char *role, zt_dtype dtype, const void *data, uint64_t size)
{
    zt_component_desc c;
    INIT(c);
    c.role = role;
    c.dtype = dtype;
    c.data = data;
    c.size = size;
    return c;
}

static inline zt_write_request request(const char *name, const void *data)
{
    zt_write_request r;
    INIT(r);
    r.name = name;
    r.shape = &of_size;
    r.rank = 1;
    r.data = data;
    r.size = SIZE;
    r.dtype = ZT_DTYPE_U8;
    return r;
}

static inline zt_status streamed(zt_writer *w, const char *name, const unsigned char *data, zt_encoding encoding)
{
    zt_object_desc d = object_desc(name, ZT_FORMAT_DENSE, &of_size, 1);
    zt_component_desc c = component_desc("data", ZT_DTYPE_U8, NULL, 0);
    size_t at;
    c.encoding = encoding;
    CHECK_STATUS(zt_write_begin(w, &d), ZT_OK);
    CHECK_STATUS(set_i64(w, name, "step", -7), ZT_OK);
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    for (at = 0; at < SIZE; at += 5000)
        CHECK_STATUS(zt_write_data(w, data + at, 5000), ZT_OK);
    return zt_write_end(w);
}

/* Checks the component's bytes, and what the library reports of their storage. */
static inline void holds(const zt_file *file, const char *object, const char *role, zt_encoding encoding, const char *digest,
    const void *data, size_t size)
{
    const zt_component *c = component_of(file, object, role);
    size_t have, width = zt_dtype_size(zt_component_dtype(c));
    unsigned char *got = (unsigned char *)malloc(size + 1), tail[100];
    CHECK_U64(component_info(c).offset % 4096, 0);
    CHECK(zt_component_encoding(c) == encoding);
    CHECK_U64(zt_component_size(c), size);
    CHECK(digest ? strncmp(zt_component_digest(c), digest, strlen(digest)) == 0 : zt_component_digest(c) == NULL);
    /* there is no digest to check */
    CHECK_STATUS(verify_component(file, c), digest ? ZT_OK : ZT_ERROR_UNSUPPORTED);
    if (zt_component_type(c) == ZT_TYPE_OTHER) { /* never returned as elements of its dtype */
        CHECK_STATUS(zt_component_read(c, got, size), ZT_ERROR_UNSUPPORTED);
        CHECK_STATUS(zt_component_read_stored(c, got, size), ZT_OK);
        CHECK(memcmp(got, data, size) == 0);
        free(got);
        return;
    }
    free(got);
    got = read_component(c, &have);
    CHECK(have == size && memcmp(got, data, size) == 0);
    free(got);
    if (width == 1 && size > sizeof tail) {
        CHECK_STATUS(zt_component_read_range(c, size - sizeof tail, tail, sizeof tail), ZT_OK);
        CHECK(memcmp(tail, (const unsigned char *)data + size - sizeof tail, sizeof tail) == 0);
    }
}

static inline void refused(zt_status got, zt_status want, const char *why)
{
    CHECK_STATUS(got, want);
    if (!CHECK(strstr(zt_last_error(), why) != NULL))
        fprintf(stderr, "    wanted: %s\n", why);
}

static inline void refused_options(zt_write_options o, zt_status want, const char *why)
{
    zt_writer *w = (zt_writer *)&o;
    refused(zt_write_create(path, &o, &w), want, why);
    CHECK(w == NULL && !file_exists(path));
}

static inline void set_up(void)
{
    path = scratch_path("ztensor_2.zt");
    other = scratch_path("ztensor_2_other.zt");
    memset(lines, 'x', SIZE);
    fill(lines, SIZE / 2, 3);
    fill_any(noise, SIZE, 5);
}

#endif
