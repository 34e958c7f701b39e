/* Fails every system call for opening and reading in turn, in every way; see fault_loop.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#ifndef __linux__
int main(void)
{
    printf("fault_read: skipped: only on Linux can a program replace libc's functions\n");
    CHECK(zt_abi_version() == ZT_ABI_VERSION);
    return check_done("fault_read");
}
#else
#include "fault_loop.h"

#define RAW 50000u
#define PACKED 30000u
static unsigned char raw[RAW];
static int32_t packed[PACKED];
static float floats[1000];

static void write_source(void)
{
    static const uint64_t shape_raw = RAW, shape_packed = PACKED, shape_floats[2] = {10, 100}, shape_csr[2] = {3, 4};
    static const uint64_t indices[3] = {0, 3, 1}, indptr[4] = {0, 2, 2, 3};
    zt_write_options o;
    zt_writer *w = NULL;
    zt_object_desc object;
    zt_component_desc component;
    size_t i;
    fill_any(raw, sizeof raw, 5);
    for (i = 0; i < PACKED; i++)
        packed[i] = (int32_t)(i / 7);
    for (i = 0; i < COUNT(floats); i++)
        floats[i] = (float)i / 3;
    INIT(o);
    o.large_alignment = 4096;
    o.large_size = 10000;
    o.frame_size = 32768;
    o.threads = 1;
    o.digest = ZT_DIGEST_NONE; /* for components that do not set one */
    CHECK_STATUS(zt_write_create(in_folder("source.zt"), &o, &w), ZT_OK);
    INIT(object);
    INIT(component);
    object.name = "raw";
    object.format = ZT_FORMAT_DENSE;
    object.shape = &shape_raw;
    object.rank = 1;
    object.components = &component;
    object.component_count = 1;
    component.role = "data";
    component.dtype = ZT_DTYPE_U8;
    component.data = raw;
    component.size = sizeof raw;
    component.digest = ZT_DIGEST_CRC32C;
    CHECK_STATUS(zt_write_object(w, &object), ZT_OK);
    object.name = "packed";
    object.shape = &shape_packed;
    component.dtype = ZT_DTYPE_I32;
    component.encoding = ZT_ENCODING_ZSTD;
    component.data = packed;
    component.size = sizeof packed;
    component.digest = ZT_DIGEST_SHA256;
    CHECK_STATUS(zt_write_object(w, &object), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "floats", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape_floats, 2, floats, sizeof floats), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape_csr, 3, floats, 12, indices, indptr), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
}

/* What a scenario opens and reads. */
static struct {
    zt_mode mode;
    uint32_t verify;
    zt_advice advice;
    int by_descriptor;
    zt_direct direct;
    uint32_t threads;
} how;

static zt_status open_source(zt_file **file)
{
    zt_open_options o;
    zt_status status;
    INIT(o);
    o.mode = how.mode;
    o.verify = how.verify;
    o.advice = how.advice;
    if (how.by_descriptor) {
        const struct fault_kind *kind = fault.kind;
        int fd;
        fault.kind = NULL; /* the caller's own open must not fail */
        fd = open(in_folder("source.zt"), O_RDONLY);
        fault.kind = kind;
        REQUIRE(fd >= 0);
        status = zt_open_fd(fd, 0, ZT_WHOLE, &o, file);
        close(fd);
        return status;
    }
    return zt_open(in_folder("source.zt"), &o, file);
}

static void opening(struct outcome *out)
{
    zt_file *file = NULL;
    size_t i;
    TRY(open_source(&file));
    for (i = 0; i < zt_object_count(file); i++)
        hash_bytes(out, zt_object_name(zt_object_at(file, i)), object_info(zt_object_at(file, i)).name_length);
done:
    CHECK((file == NULL) == (out->status != ZT_OK));
    zt_close(file);
}

static void reading(struct outcome *out)
{
    static const uint64_t start[2] = {2, 10}, count[2] = {5, 20}, step[2] = {1, 3};
    static unsigned char place[PACKED * 4];
    static double wide[1000];
    zt_file *file = NULL;
    zt_buffer *buffer = NULL;
    const zt_object *object;
    zt_tensor tensor;
    zt_csr csr;
    size_t i, k;
    TRY(open_source(&file));
    for (i = 0; i < zt_object_count(file); i++) {
        object = zt_object_at(file, i);
        for (k = 0; k < zt_component_count(object); k++) {
            const zt_component *c = zt_component_at(object, k);
            size_t size = (size_t)measured_size(c), half = size / 2;
            TRY(zt_component_read(c, place, sizeof place));
            hash_bytes(out, place, size);
            TRY(zt_component_read_range(c, half / 2, place, half));
            hash_bytes(out, place, half);
            TRY(zt_component_load(c, NULL, &buffer));
            hash_bytes(out, zt_buffer_data(buffer), zt_buffer_size(buffer));
            zt_buffer_free(buffer);
            buffer = NULL;
            if (zt_component_digest(c))
                TRY(verify_component(file, c));
        }
    }
    TRY(zt_object_read_as(zt_object_find(file, "floats"), ZT_DTYPE_F64, wide, sizeof wide, NULL));
    hash_bytes(out, wide, sizeof wide);
    TRY(zt_object_read_slice(zt_object_find(file, "floats"), start, count, step, place, sizeof place));
    hash_bytes(out, place, 5 * 20 * 4);
    INIT(tensor);
    TRY(zt_tensor_find(file, "packed", &tensor));
    hash_bytes(out, tensor.data, tensor.size);
    INIT(tensor);
    TRY(zt_tensor_find(file, "raw", &tensor));
    hash_bytes(out, tensor.data, tensor.size);
    INIT(csr);
    TRY(zt_csr_view(zt_object_find(file, "csr"), &csr));
    hash_bytes(out, csr.indptr.data, csr.indptr.size);
done:
    CHECK(out->status == ZT_OK || buffer == NULL);
    zt_buffer_free(buffer);
    zt_close(file);
}

static void verifying(struct outcome *out)
{
    zt_verify_options o;
    zt_verify_report report;
    zt_file *file = NULL;
    INIT(o);
    INIT(report);
    o.threads = how.threads;
    o.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS | ZT_VERIFY_PADDING;
    TRY(open_source(&file));
    TRY(zt_verify(file, &o, &report));
    hash_bytes(out, &report, sizeof report);
    CHECK(report.digests_verified == 2);
done:
    zt_close(file);
}

static void batch(struct outcome *out)
{
    static unsigned char places[8][PACKED * 4];
    zt_read_request r[8];
    zt_read_options o;
    zt_read_stats stats;
    zt_file *file = NULL;
    size_t i, k, n = 0;
    INIT(o);
    INIT(stats);
    o.threads = how.threads;
    o.direct = how.direct;
    o.chunk_size = 16384;
    o.verify = 1;
    TRY(open_source(&file));
    for (i = 0; i < zt_object_count(file); i++)
        for (k = 0; k < zt_component_count(zt_object_at(file, i)); k++, n++) {
            INIT(r[n]);
            r[n].component = zt_component_at(zt_object_at(file, i), k);
            r[n].length = ZT_WHOLE;
            r[n].dst = places[n];
            r[n].dst_size = sizeof places[n];
        }
    INIT(r[n]);
    r[n].component = component_of(file, "raw", "data");
    r[n].offset = 4099;
    r[n].length = 20011;
    r[n].dst = places[n];
    r[n].dst_size = sizeof places[n];
    n++;
    CHECK(n <= COUNT(r));
    TRY(zt_read_batch(file, r, n, &o, &stats));
    for (i = 0; i < n; i++)
        hash_bytes(out, places[i], r[i].length != ZT_WHOLE ? (size_t)r[i].length : (size_t)measured_size(r[i].component));
    CHECK(stats.requests == n && stats.digests_verified == 2);
done:
    zt_close(file);
}

/* Everything through a ring of two slots, except one request with its own memory. */
static void loading(struct outcome *out)
{
    static unsigned char places[8][PACKED * 4];
    zt_read_request r[8];
    zt_load_options o;
    zt_load_event event;
    zt_read_stats stats;
    zt_load *load = NULL;
    zt_file *file = NULL;
    size_t i, k, n = 0;
    INIT(o), INIT(stats);
    o.threads = how.threads;
    o.direct = how.direct;
    o.chunk_size = 16384;
    o.slot_size = 65536;
    o.slot_count = 2;
    o.verify = 1;
    TRY(open_source(&file));
    for (i = 0; i < zt_object_count(file); i++)
        for (k = 0; k < zt_component_count(zt_object_at(file, i)); k++, n++) {
            INIT(r[n]);
            r[n].component = zt_component_at(zt_object_at(file, i), k);
            r[n].length = ZT_WHOLE;
            r[n].tag = n;
            if (n == 0)
                r[n].dst = places[n], r[n].dst_size = sizeof places[n];
        }
    CHECK(n <= COUNT(r));
    TRY(zt_load_start(r, n, &o, &load));
    for (;;) {
        INIT(event);
        TRY(zt_load_next(load, -1, &event));
        if (event.kind == ZT_LOAD_KIND_DONE)
            break;
        if (event.kind == ZT_LOAD_KIND_DATA && event.slot != ZT_NO_SLOT)
            memcpy(places[event.tag] + event.offset, event.data, event.size);
        zt_load_release(load, &event);
    }
    out->status = event.status;
    snprintf(out->message, sizeof out->message, "%s", event.message);
    CHECK(zt_load_finish(load, &stats) == out->status);
    load = NULL;
    if (out->status != ZT_OK)
        goto done;
    for (i = 0; i < n; i++)
        hash_bytes(out, places[i], (size_t)measured_size(r[i].component));
    CHECK(stats.requests == n && stats.digests_verified == 2);
done:
    zt_load_finish(load, NULL);
    zt_close(file);
}

/* Prefetches by the cache's thread, and reads by the caller. A slice that could not be read is read again. */
static void caching(struct outcome *out)
{
    zt_cache_options o;
    zt_cache_pin slice;
    zt_read_request r;
    zt_cache *cache = NULL;
    zt_file *file = NULL;
    size_t i;
    INIT(o), INIT(r);
    o.slot_size = PACKED * 4;
    o.budget = 2 * (PACKED * 4 + 8192);
    o.threads = 1;
    o.verify = 1;
    TRY(open_source(&file));
    TRY(zt_cache_create(&o, &cache));
    r.length = ZT_WHOLE;
    for (i = 0; i < zt_object_count(file); i++) {
        r.component = zt_component_at(zt_object_at(file, i), 0);
        if (i % 2)
            TRY(zt_cache_prefetch(cache, &r, 1));
        INIT(slice);
        TRY(zt_cache_get(cache, &r, -1, &slice));
        hash_bytes(out, slice.data, slice.size);
        CHECK_STATUS(zt_cache_unpin(cache, &slice), ZT_OK);
    }
done:
    zt_cache_free(cache);
    zt_close(file);
}

static int direct_works(void)
{
    struct outcome out;
    memset(&out, 0, sizeof out);
    batch(&out);
    return out.status == ZT_OK;
}

static void scenario(const char *name, void (*run)(struct outcome *))
{
    struct scenario s;
    memset(&s, 0, sizeof s);
    s.name = name;
    s.run = run;
    s.files = 1;
    s.must_fail = 1;
    every_fault(&s);
}

int main(void)
{
    faults_begin("fault-read");
    write_source();
    how.threads = 1;
    how.direct = ZT_DIRECT_NEVER;
    for (how.mode = ZT_MODE_MAP; how.mode <= ZT_MODE_READ; how.mode++) {
        const char *mode = how.mode == ZT_MODE_MAP ? "map" : "read";
        printf("mode %s:\n", mode);
        scenario("open, list", opening);
        how.advice = ZT_ADVICE_WILLNEED;
        how.verify = 1;
        scenario("open with digests and advice", opening);
        how.advice = ZT_ADVICE_NONE;
        how.verify = 0;
        how.by_descriptor = 1;
        scenario("open a descriptor", opening);
        how.by_descriptor = 0;
        scenario("read, range, load, verify, convert, slice, views", reading);
        scenario("verify", verifying);
        scenario("batch", batch);
        scenario("load", loading);
        scenario("cache", caching);
    }
    how.mode = ZT_MODE_READ;
    how.direct = ZT_DIRECT_ALWAYS;
    if (direct_works()) {
        scenario("batch with direct reads", batch);
        scenario("load with direct reads", loading);
    } else
        printf("fault_read: direct reads: skipped: not supported here: %s\n", zt_last_error());
    how.direct = ZT_DIRECT_AUTO;
    how.threads = 3;
    scenario("batch on threads", batch);
    scenario("load on threads", loading);
    /* The replaced functions were called: reading needs these. */
    CHECK(fault.met[CALL_OPEN] && fault.met[CALL_PREAD] && fault.met[CALL_MMAP] && fault.met[CALL_FADVISE] && fault.met[CALL_DUP]);
    CHECK(fault.met[CALL_STATX] + fault.met[CALL_FSTAT] + fault.met[CALL_STAT] > 0);
    CHECK(remove(in_folder("source.zt")) == 0);
    return faults_done("fault_read");
}
#endif
