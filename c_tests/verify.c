/* Chapter "verify": zt_verify on good and broken files, its report, its callback. Repair: repair.c. */
#include "support.h"

typedef struct seen { uint64_t calls, last, total; int falling; uint64_t stop_at; } seen;

static int32_t on_progress(void *context, uint64_t done, uint64_t total)
{
    seen *s = (seen *)context;
    s->calls++;
    s->falling |= done < s->last || done > total || (s->total && total != s->total);
    s->last = done;
    s->total = total;
    return s->stop_at && s->calls >= s->stop_at;
}

/* Counts from the manifest. */
static zt_verify_report counted(const zt_file *file)
{
    zt_verify_report want;
    size_t o, k;
    INIT(want);
    want.objects = zt_object_count(file);
    for (o = 0; o < want.objects; o++) {
        const zt_object *object = zt_object_at(file, o);
        for (k = 0; k < zt_component_count(object); k++) {
            const zt_component *c = zt_component_at(object, k);
            want.components++;
            want.bytes += component_info(c).stored_size;
            if (!zt_component_digest(c))
                want.digests_absent++;
            else if (zt_component_caps(c) & ZT_CAP_VERIFY)
                want.digests_verified++;
            else
                want.digests_unknown++;
        }
    }
    return want;
}

static void good_files(void)
{
    static const char *const names[] = {
        "v0.1/py-0.1.4-all-dtypes.zt", "v0.1/rs-0.1.0-big-endian.zt", "v0.1/rs-0.1.0-crc32c.zt", "v0.1/oracle-sha256.zt",
        "v0.1/rs-0.1.0-sparse-layouts.zt", "v1.0/py-1.0.1-sparse.zt", "v1.0/rs-1.0.0-crc32c.zt", "v1.1/oracle-index-dtypes.zt",
        "v1.1/rs-1.1.1-sparse-zstd-digest.zt", "v1.1/oracle-quantized.zt", "v1.1/oracle-f8-complex.zt",
        "v1.2/py-1.2.3-digests.zt", "v1.2/py-1.2.3-sparse.zt", "v1.2/py-1.2.3-quantized.zt", "v1.2/py-1.2.3-unknown-format.zt",
        "v1.2/py-1.2.3-unknown-type.zt", "v1.2/py-1.2.3-empty.zt", "v1.2/py-1.2.3-1000.zt", "v1.2/rs-1.2.3-1m.zt",
        "v1.2/oracle-plain-crc.zt", "valid-odd/coo-huge-shape.zt", "valid-odd/zstd-two-frames.zt", "valid-odd/alias.zt",
        "valid-odd/unknown-format-no-components.zt"};
    static const uint32_t threads[] = {0, 1, 2, 4};
    size_t i, mode, t;
    for (i = 0; i < COUNT(names); i++) {
        for (mode = 0; mode < 2; mode++) {
            zt_file *file = open_data_mode(names[i], (zt_mode)mode);
            zt_verify_report want = counted(file);
            for (t = 0; t < COUNT(threads); t++) {
                zt_verify_options o;
                zt_verify_report r;
                seen s;
                memset(&s, 0, sizeof s);
                INIT(o);
                INIT(r);
                o.threads = threads[t];
                o.context = &s;
                o.progress = on_progress;
                if (!CHECK_STATUS(zt_verify(file, &o, &r), ZT_OK))
                    fprintf(stderr, "    in %s\n", names[i]);
                CHECK_U64(r.objects, want.objects);
                CHECK_U64(r.components, want.components);
                CHECK_U64(r.digests_verified, want.digests_verified);
                CHECK_U64(r.digests_absent, want.digests_absent);
                CHECK_U64(r.digests_unknown, want.digests_unknown);
                CHECK(r.bytes <= want.bytes && (want.bytes == 0 || r.bytes > 0)); /* tied weights may be read once */
                CHECK(r.struct_size == sizeof r && !s.falling && s.last == s.total);
            }
            CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
            zt_close(file);
        }
    }
}

static void broken_files(void)
{
    static const struct { const char *name; zt_status all, digests, contents; } rows[] = {
        {"digest-sha256-flipped-bit", ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_DIGEST_MISMATCH, ZT_OK},
        {"digest-crc32c-flipped-bit", ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_DIGEST_MISMATCH, ZT_OK},
        {"digest-zstd-mismatch", ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_DIGEST_MISMATCH, ZT_OK},
        {"digest-form-63", ZT_ERROR_CORRUPT, ZT_ERROR_CORRUPT, ZT_OK},
        {"v0.1-checksum-mismatch", ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_DIGEST_MISMATCH, ZT_OK},
        {"zstd-corrupt-block", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"zstd-ulength-one-more", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"zstd-trailing-garbage", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"bool-2", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"bool-zstd-7", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"csr-indptr-decreasing", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"csr-column-equal", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"csr-indices-u32-1.2", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"coo-out-of-range-row", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"coo-aos", ZT_ERROR_CORRUPT, ZT_OK, ZT_ERROR_CORRUPT},
        {"dtype-unknown", ZT_ERROR_UNSUPPORTED, ZT_OK, ZT_ERROR_UNSUPPORTED},
        {"encoding-lz4", ZT_ERROR_UNSUPPORTED, ZT_OK, ZT_ERROR_UNSUPPORTED},
    };
    char name[80];
    size_t i;
    uint32_t threads;
    for (i = 0; i < COUNT(rows); i++) {
        zt_file *file;
        snprintf(name, sizeof name, "invalid/%s.zt", rows[i].name);
        file = open_data(name);
        for (threads = 1; threads <= 2; threads++) {
            zt_verify_options o;
            zt_verify_report r;
            INIT(o);
            INIT(r);
            o.threads = threads;
            r.objects = UINT64_MAX;
            CHECK_STATUS(zt_verify(file, &o, &r), rows[i].all);
            CHECK(r.objects <= zt_object_count(file)); /* filled even if the call fails */
            CHECK(strstr(zt_last_error(), rows[i].name) != NULL);
            o.checks = ZT_VERIFY_DIGESTS;
            CHECK_STATUS(zt_verify(file, &o, NULL), rows[i].digests);
            o.checks = ZT_VERIFY_CONTENTS;
            CHECK_STATUS(zt_verify(file, &o, NULL), rows[i].contents);
            o.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS;
            CHECK_STATUS(zt_verify(file, &o, NULL), rows[i].all);
        }
        zt_close(file);
    }
}

/* The first failure in file order, for any number of threads. */
static void first_failure(void)
{
    static const uint64_t shape = 100000;
    const char *path = scratch_path("two-broken.zt");
    char name[16];
    unsigned char *data = (unsigned char *)malloc((size_t)shape), *bytes;
    zt_write_options wo;
    zt_writer *writer = NULL;
    size_t size, i;
    uint32_t threads;
    REQUIRE(data != NULL);
    INIT(wo);
    wo.digest = ZT_DIGEST_SHA256;
    CHECK_STATUS(zt_write_create(path, &wo, &writer), ZT_OK);
    for (i = 0; i < 20; i++) {
        memset(data, (int)i, (size_t)shape);
        snprintf(name, sizeof name, "t%02u", (unsigned)i);
        CHECK_STATUS(zt_write_dense(writer, name, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, (size_t)shape), ZT_OK);
    }
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    bytes = read_file(path, &size);
    bytes[64 + 7 * 100032 + 99999] ^= 1; /* t07's last byte; the next starts at a multiple of 64 */
    bytes[64 + 8 * 100032] ^= 1;         /* t08's first */
    bytes[64 + 19 * 100032 + 5] ^= 1;
    write_file(path, bytes, size);
    for (threads = 1; threads <= 8; threads *= 2) {
        zt_file *file = open_path(path);
        zt_verify_options o;
        zt_verify_report r;
        INIT(o);
        INIT(r);
        o.threads = threads;
        CHECK_U64(component_info(component_of(file, "t07", "data")).offset, 64 + 7 * 100032);
        for (i = 0; i < 5; i++) {
            CHECK_STATUS(zt_verify(file, &o, &r), ZT_ERROR_DIGEST_MISMATCH);
            CHECK(strstr(zt_last_error(), "t07") != NULL);
        }
        zt_close(file);
    }
    CHECK(remove(path) == 0);
    free(bytes);
    free(data);
}

static void padding(void)
{
    zt_file *file = open_data("valid-odd/padding-nonzero.zt");
    zt_verify_options o;
    zt_verify_report r;
    size_t size, i, nonzero = 0;
    unsigned char *bytes = read_file(data_path("valid-odd/padding-nonzero.zt"), &size);
    for (i = 8; i < 64; i++) /* between the magic and the only blob */
        nonzero += bytes[i] != 0;
    CHECK(nonzero > 0);
    INIT(o);
    INIT(r);
    CHECK_STATUS(zt_verify(file, NULL, &r), ZT_OK); /* readers may ignore it */
    o.checks = ZT_VERIFY_PADDING;
    CHECK_STATUS(zt_verify(file, &o, &r), ZT_ERROR_CORRUPT);
    CHECK_U64(r.padding_nonzero, nonzero);
    o.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS | ZT_VERIFY_PADDING;
    CHECK_STATUS(zt_verify(file, &o, &r), ZT_ERROR_CORRUPT);
    zt_close(file);
    free(bytes);
    file = open_data("valid-odd/gaps.zt"); /* bytes between components */
    o.checks = ZT_VERIFY_PADDING;
    CHECK_STATUS(zt_verify(file, &o, &r), ZT_ERROR_CORRUPT);
    zt_close(file);
    file = open_data("v1.2/py-1.2.3-sparse.zt");
    CHECK_STATUS(zt_verify(file, &o, &r), ZT_OK);
    CHECK_U64(r.padding_nonzero, 0);
    zt_close(file);
}

static void callbacks_and_options(void)
{
    zt_file *file = open_data("v1.2/rs-1.2.3-1m.zt");
    zt_verify_options o;
    zt_verify_report r;
    seen s;
    uint32_t threads;
    for (threads = 1; threads <= 4; threads *= 2) {
        memset(&s, 0, sizeof s);
        s.stop_at = 1;
        INIT(o);
        INIT(r);
        o.threads = threads;
        o.context = &s;
        o.progress = on_progress;
        CHECK_STATUS(zt_verify(file, &o, &r), ZT_ERROR_CANCELLED);
        CHECK(s.calls >= 1 && r.components <= 2);
    }
    INIT(o);
    o.checks = 32;
    CHECK_STATUS(zt_verify(file, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    o.checks = UINT32_MAX;
    CHECK_STATUS(zt_verify(file, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_verify(NULL, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
}

/* One object, one component: what is counted, and what is rejected. */
static void parts_of_a_file(void)
{
    zt_file *file = open_data("v1.2/rs-1.2.3-1m.zt"), *other = open_data("v1.2/rs-1.2.3-1m.zt");
    const zt_object *object = zt_object_at(file, 0);
    const zt_component *component = zt_component_at(object, 0);
    zt_verify_options o;
    zt_verify_report r;
    seen s;
    memset(&s, 0, sizeof s);
    INIT(o), INIT(r);
    o.context = &s, o.progress = on_progress, o.object = object;
    CHECK_STATUS(zt_verify(file, &o, &r), ZT_OK);
    CHECK_U64(r.objects, 1);
    CHECK_U64(r.components, zt_component_count(object));
    CHECK(s.calls >= 1 && s.last == s.total && s.total == r.bytes && !s.falling);
    o.component = component;
    CHECK_STATUS(zt_verify(file, &o, &r), ZT_OK);
    CHECK_U64(r.components, 1);
    CHECK_U64(r.bytes, component_info(component).stored_size);
    s.stop_at = 1;
    CHECK_STATUS(zt_verify(file, &o, NULL), ZT_ERROR_CANCELLED);
    CHECK_STATUS(zt_verify(other, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    o.object = NULL;
    CHECK_STATUS(zt_verify(other, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    if (zt_object_count(file) > 1) {
        o.object = zt_object_at(file, 1);
        CHECK_STATUS(zt_verify(file, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    }
    zt_close(file);
    zt_close(other);
}

int main(void)
{
    good_files();
    broken_files();
    first_failure();
    padding();
    callbacks_and_options();
    parts_of_a_file();
    return check_done("verify");
}
