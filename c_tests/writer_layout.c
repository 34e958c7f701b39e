/* Chapter "writer": positions of components, frames of compressed ones, and the same bytes in every run. */
#include "advice.h"
#include "attributes.h"
#include "writing.h"

static const char *path;

static void alignment(uint64_t align, uint64_t large_align, uint64_t large_size)
{
    static const uint64_t sizes[] = {1, 100, 4095, 4096, 10000, 8192, 0, 12288, 65536};
    unsigned char *data = (unsigned char *)malloc(65536);
    uint64_t a = align ? align : 64, large = large_size ? large_size : 1048576, end = 8;
    zt_write_options o;
    zt_writer *w = NULL;
    zt_file *file;
    size_t i;
    REQUIRE(data != NULL);
    fill_any(data, 65536, 3);
    INIT(o);
    o.alignment = align;
    o.large_alignment = large_align;
    o.large_size = large_size;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    for (i = 0; i < COUNT(sizes); i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", (unsigned)i);
        CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &sizes[i], 1, data, (size_t)sizes[i]), ZT_OK);
    }
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    for (i = 0; i < COUNT(sizes); i++) {
        const zt_component *c = zt_component_at(zt_object_at(file, i), 0);
        uint64_t want = large_align && sizes[i] >= large && large_align > a ? large_align : a;
        size_t size;
        unsigned char *got = read_component(c, &size);
        CHECK(component_info(c).offset % want == 0);
        CHECK(component_info(c).offset >= end || sizes[i] == 0);
        CHECK(component_info(c).offset - end < want || sizes[i] == 0); /* no unnecessary padding */
        end = component_info(c).offset + sizes[i];
        CHECK(size == sizes[i] && memcmp(got, data, size) == 0);
        free(got);
        if (sizes[i] && want >= 4096) { /* the next component starts in another page, too */
            CHECK(zt_component_caps(c) & ZT_CAP_DIRECT);
            CHECK(want < page_size() || zt_component_caps(c) & ZT_CAP_PAGE_EXCLUSIVE);
            CHECK_STATUS(zt_component_advise(c, ZT_ADVICE_RELEASE), takes_advice(ZT_ADVICE_RELEASE, ZT_MODE_MAP) ? ZT_OK : ZT_ERROR_UNSUPPORTED);
            CHECK_STATUS(zt_component_advise(c, ZT_ADVICE_EVICT), takes_advice(ZT_ADVICE_EVICT, ZT_MODE_MAP) ? ZT_OK : ZT_ERROR_UNSUPPORTED);
            got = read_component(c, &size);
            CHECK(memcmp(got, data, size) == 0);
            free(got);
        }
        if (component_info(c).offset % 4096)
            CHECK(!(zt_component_caps(c) & (ZT_CAP_DIRECT | ZT_CAP_PAGE_EXCLUSIVE)));
    }
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    check_padding(path);
    free(data);
}

static void refused(void)
{
    static const uint64_t odd[] = {1, 8, 32, 63, 65, 96, 100, UINT64_MAX};
    zt_write_options o;
    zt_writer *w;
    size_t i;
    for (i = 0; i < COUNT(odd); i++) {
        INIT(o);
        o.alignment = odd[i];
        w = (zt_writer *)&o;
        CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
        CHECK(w == NULL);
        INIT(o);
        o.large_alignment = odd[i];
        CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    }
    INIT(o);
    o.zstd_level = 23;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    o.zstd_level = -8;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.encoding = ZT_ENCODING_OTHER;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    o.encoding = 4;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.digest = ZT_DIGEST_XXH3; /* zTensor 2 has it */
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_UNSUPPORTED);
    o.digest = 5;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.spec = 20001;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.durable = 2;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL && !file_exists(path));
}

/* A compressed component in frames is decoded by range and in parallel, with the same bytes. */
static void frames(void)
{
    uint64_t shape = 300000;
    unsigned char *data = (unsigned char *)malloc((size_t)shape), *got = (unsigned char *)malloc((size_t)shape);
    uint32_t seed = 5;
    zt_write_options o;
    zt_writer *w = NULL;
    zt_file *file;
    const zt_component *c;
    zt_read_request r;
    zt_read_options ro;
    size_t i;
    REQUIRE(data != NULL && got != NULL);
    fill(data, (size_t)shape, 6);
    INIT(o);
    o.encoding = ZT_ENCODING_ZSTD;
    o.frame_size = 10000;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "z", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, (size_t)shape), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    c = component_of(file, "z", "data");
    CHECK(component_info(c).stored_size < shape / 4); /* only two values */
    CHECK(zt_component_caps(c) & ZT_CAP_RANGE);
    for (i = 0; i < 40; i++) {
        size_t from = next_random(&seed) % 300000, n = next_random(&seed) % (300000 - from + 1);
        CHECK_STATUS(zt_component_read_range(c, from, got, n), ZT_OK);
        CHECK(memcmp(got, data + from, n) == 0);
    }
    INIT(r);
    INIT(ro);
    r.component = c;
    r.length = ZT_WHOLE;
    r.dst = got;
    r.dst_size = (size_t)shape;
    ro.threads = 4;
    memset(got, 9, (size_t)shape);
    CHECK_STATUS(zt_read_batch(file, &r, 1, &ro, NULL), ZT_OK);
    CHECK(memcmp(got, data, (size_t)shape) == 0);
    zt_close(file);
    free(got);
    free(data);
}

static void write_mixture(const char *to, uint64_t rows, uint32_t threads, zt_encoding encoding, int32_t level)
{
    const uint64_t shape[2] = {rows, 1000};
    const size_t size = (size_t)rows * 4000;
    unsigned char *data = (unsigned char *)malloc(size);
    zt_write_options o;
    zt_writer *w = NULL;
    size_t i;
    REQUIRE(data != NULL);
    fill(data, size, 8);
    INIT(o);
    o.threads = threads;
    o.encoding = encoding;
    o.zstd_level = level;
    o.digest = ZT_DIGEST_SHA256;
    o.frame_size = 65536;
    CHECK_STATUS(zt_write_create(to, &o, &w), ZT_OK);
    for (i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", (unsigned)i);
        CHECK_STATUS(zt_write_dense(w, name, 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, data, size), ZT_OK);
    }
    CHECK_STATUS(set_string(w, NULL, "a", "b"), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    free(data);
}

static void same_bytes(void)
{
    static const uint32_t threads[] = {1, 2, 4, 0};
    const char *first = scratch_path("first.zt");
    size_t e, t, size;
    for (e = 0; e < 2; e++) {
        unsigned char *want;
        write_mixture(first, 300, 1, e ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW, 0);
        want = read_file(first, &size);
        for (t = 0; t < COUNT(threads); t++) {
            write_mixture(path, 300, threads[t], e ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW, 0);
            CHECK(file_is(path, want, size));
        }
        if (e) { /* level 0 is level 3; other levels give different bytes; all can be read */
            /* the last one is slow: two frames for each object */
            static const int32_t levels[] = {3, -7, 1, 22};
            for (t = 0; t < COUNT(levels); t++) {
                zt_file *file;
                write_mixture(path, levels[t] == 3 ? 300 : 30, 2, ZT_ENCODING_ZSTD, levels[t]);
                CHECK(levels[t] != 3 || file_is(path, want, size));
                file = open_path(path);
                CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
                zt_close(file);
            }
        }
        free(want);
    }
    CHECK(remove(first) == 0);
}

int main(void)
{
    path = scratch_path("laid-out.zt");
    refused();
    alignment(0, 0, 0);
    alignment(64, 0, 0);
    alignment(256, 0, 0);
    alignment(4096, 0, 0);
    alignment(0, 4096, 4096);
    alignment(64, 65536, 8192);
    alignment(128, 4096, 0); /* large alignment starts at 1 MiB, so it is not used here */
    frames();
    same_bytes();
    CHECK(remove(path) == 0);
    return check_done("writer_layout");
}
