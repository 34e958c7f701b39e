/* Chapter "batch": components, ranges and hyperslabs in one call, on several threads. */
#include "support.h"

#define MOST 4096

/* What the callbacks recorded. The library calls them from one thread at a time. */
typedef struct seen {
    unsigned char tags[MOST];
    size_t done, failed, strange;
    uint64_t last, total, calls;
    int falling;
    uint64_t stop_at; /* stops at the call with this number; 0 never */
} seen;

static void on_done(void *context, uint64_t tag, zt_status status, const char *message)
{
    seen *s = (seen *)context;
    if (tag >= MOST || s->tags[tag]++)
        s->strange++;
    s->done++;
    s->failed += status != ZT_OK;
    s->strange += (status == ZT_OK) != (message[0] == '\0');
}

static int32_t on_progress(void *context, uint64_t done, uint64_t total)
{
    seen *s = (seen *)context;
    s->calls++;
    s->falling |= done < s->last || done > total || (s->total && total != s->total);
    s->last = done;
    s->total = total;
    return s->stop_at && s->calls >= s->stop_at ? -5 : 0;
}

/* Requests with their memory and the expected bytes. */
typedef struct plan {
    zt_read_request requests[MOST];
    unsigned char *got[MOST], *want[MOST];
    uint64_t slab[MOST][12];
    size_t size[MOST], n;
    uint64_t bytes;
} plan;

static plan *new_plan(void)
{
    plan *p = (plan *)calloc(1, sizeof *p);
    REQUIRE(p != NULL);
    return p;
}

static void free_plan(plan *p)
{
    size_t i;
    for (i = 0; i < p->n; i++) {
        free(p->got[i]);
        free(p->want[i]);
    }
    free(p);
}

static zt_read_request *add(plan *p, const zt_component *component, size_t size)
{
    zt_read_request *r = &p->requests[p->n];
    REQUIRE(p->n < MOST);
    INIT(*r);
    r->component = component;
    r->length = ZT_WHOLE;
    r->tag = p->n;
    p->got[p->n] = (unsigned char *)malloc(size + 2);
    p->want[p->n] = (unsigned char *)malloc(size + 1);
    REQUIRE(p->got[p->n] != NULL && p->want[p->n] != NULL);
    r->dst = p->got[p->n] + 1; /* unaligned */
    r->dst_size = size;
    p->size[p->n] = size;
    p->bytes += size;
    p->n++;
    return r;
}

static void add_whole(plan *p, const zt_component *c)
{
    size_t size;
    zt_read_request *r;
    uint64_t measured;
    REQUIRE(zt_component_measure(c, NULL, NULL, &measured) == ZT_OK);
    size = (size_t)measured;
    r = add(p, c, size);
    r->length = p->n % 2 ? size : ZT_WHOLE; /* both values mean the complete component */
    CHECK_STATUS(zt_component_read(c, p->want[p->n - 1], size), ZT_OK);
}

static void add_range(plan *p, const zt_component *c, uint64_t offset, size_t n)
{
    zt_read_request *r = add(p, c, n);
    r->offset = offset;
    r->length = n;
    CHECK_STATUS(zt_component_read_range(c, offset, p->want[p->n - 1], n), ZT_OK);
}

/* Every second element of the last dimension; of other dimensions all except the first. */
static void add_slab(plan *p, const zt_object *object)
{
    const zt_component *c = zt_component_find(object, "data");
    size_t rank = zt_object_rank(object), d, size = (size_t)(measured_size(c) / zt_object_element_count(object));
    uint64_t *slab = p->slab[p->n];
    zt_read_request *r;
    REQUIRE(rank > 0 && rank <= 4);
    for (d = 0; d < rank; d++) {
        uint64_t dim = zt_object_shape(object)[d];
        slab[d] = d + 1 < rank && dim > 1;
        slab[4 + d] = d + 1 < rank ? dim - slab[d] : (dim + 1) / 2;
        slab[8 + d] = d + 1 < rank ? 1 : 2;
        size *= (size_t)slab[4 + d];
    }
    r = add(p, c, size);
    r->length = 0;
    r->start = slab;
    r->count = slab + 4;
    r->step = slab + 8;
    CHECK_STATUS(zt_object_read_slice(object, slab, slab + 4, slab + 8, p->want[p->n - 1], size), ZT_OK);
}

static int filled(const plan *p)
{
    size_t i, wrong = 0;
    for (i = 0; i < p->n; i++)
        wrong += memcmp(p->got[i] + 1, p->want[i], p->size[i]) != 0 || p->got[i][0] != 0xa5 || p->got[i][p->size[i] + 1] != 0xa5;
    return wrong == 0;
}

static void run(const zt_file *file, plan *p, uint32_t threads, zt_direct direct, uint64_t chunk, uint32_t verify, uint64_t digests)
{
    zt_read_options o;
    zt_read_stats stats;
    seen *s = (seen *)calloc(1, sizeof *s);
    zt_status status;
    size_t i;
    REQUIRE(s != NULL);
    for (i = 0; i < p->n; i++)
        memset(p->got[i], 0xa5, p->size[i] + 2);
    INIT(o);
    INIT(stats);
    o.threads = threads;
    o.direct = direct;
    o.chunk_size = chunk;
    o.verify = verify;
    o.context = s;
    o.on_done = on_done;
    o.progress = on_progress;
    status = zt_read_batch(file, p->requests, p->n, &o, &stats);
    if (direct == ZT_DIRECT_ALWAYS && status == ZT_ERROR_UNSUPPORTED) { /* depends on the file system */
        free(s);
        return;
    }
    CHECK_STATUS(status, ZT_OK);
    CHECK(filled(p));
    CHECK(s->done == p->n && s->failed == 0 && s->strange == 0);
    CHECK(!s->falling && s->last == s->total && s->total == p->bytes);
    CHECK_U64(stats.bytes, p->bytes);
    CHECK_U64(stats.requests, p->n);
    CHECK_U64(stats.digests_verified, digests);
    CHECK(stats.threads >= 1 && (threads == 0 || stats.threads <= threads));
    CHECK(stats.reason != NULL && strlen(stats.reason) > 0 && strchr(stats.reason, '\n') == NULL);
    CHECK(direct != ZT_DIRECT_NEVER || stats.direct == 0);
    CHECK(direct != ZT_DIRECT_ALWAYS || stats.direct == 1);
    CHECK(stats.stored_bytes > 0 && stats.struct_size == sizeof stats);
    free(s);
}

static void every_kind(zt_mode mode)
{
    static const char *const names[] = {"v1.2/py-1.2.3-all-dtypes.zt", "v1.2/py-1.2.3-zstd.zt", "v1.2/rs-1.2.3-1m.zt",
                                        "v0.1/rs-0.1.0-big-endian.zt", "v1.1/rs-1.1.1-sparse-zstd-digest.zt",
                                        "v1.2/py-1.2.3-digests.zt", "v1.2/py-1.2.3-1000.zt", "valid-odd/zstd-two-frames.zt"};
    static const uint32_t threads[] = {0, 1, 2, 4};
    size_t i, o, k, t;
    for (i = 0; i < COUNT(names); i++) {
        zt_file *file = open_data_mode(names[i], mode);
        plan *p = new_plan();
        uint64_t digests = 0;
        for (o = zt_object_count(file); o-- > 0;) { /* in reverse order */
            const zt_object *object = zt_object_at(file, o);
            for (k = 0; k < zt_component_count(object); k++) {
                const zt_component *c = zt_component_at(object, k);
                size_t size = (size_t)measured_size(c);
                add_whole(p, c);
                digests += (zt_component_caps(c) & ZT_CAP_VERIFY) != 0;
                if (size > 3)
                    add_range(p, c, size / 3, size / 2);
            }
            if (zt_object_format(object) == ZT_FORMAT_DENSE && zt_object_element_count(object) > 1)
                add_slab(p, object);
        }
        for (t = 0; t < COUNT(threads); t++) {
            run(file, p, threads[t], ZT_DIRECT_AUTO, 0, 0, 0);
            run(file, p, threads[t], ZT_DIRECT_NEVER, 4096, 1, digests);
        }
        run(file, p, 2, ZT_DIRECT_ALWAYS, 0, 0, 0);
        free_plan(p);
        zt_close(file);
    }
}

static void nothing_to_do(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    zt_read_stats stats;
    zt_read_request r;
    float got = 0;
    INIT(stats);
    CHECK_STATUS(zt_read_batch(file, NULL, 0, NULL, NULL), ZT_OK);
    CHECK_STATUS(zt_read_batch(file, NULL, 0, NULL, &stats), ZT_OK);
    CHECK(stats.bytes == 0 && stats.requests == 0);
    INIT(r);
    r.component = component_of(file, "s3", "data"); /* no elements */
    r.length = ZT_WHOLE;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, &stats), ZT_OK);
    CHECK(stats.bytes == 0 && stats.requests == 1);
    r.component = component_of(file, "s0", "data");
    r.length = 0;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, &stats), ZT_OK); /* an empty range */
    CHECK(stats.bytes == 0 && stats.requests == 1);
    r.length = ZT_WHOLE;
    r.dst = &got;
    r.dst_size = sizeof got;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK); /* all defaults */
    CHECK(got > 0.514669f && got < 0.514670f);
    CHECK_STATUS(zt_read_batch(file, &r, 0, NULL, &stats), ZT_OK);
    zt_close(file);
}

static void one_bad_request(const char *name, const char *object, const char *role, zt_status want, uint64_t offset,
                            uint64_t length, size_t dst_size)
{
    zt_file *file = open_data(name);
    zt_read_request r;
    zt_read_options o;
    zt_read_stats stats;
    seen *s = (seen *)calloc(1, sizeof *s);
    unsigned char got[4096];
    REQUIRE(s != NULL);
    INIT(r);
    INIT(o);
    INIT(stats);
    r.component = object ? component_of(file, object, role) : zt_component_at(zt_object_at(file, 0), 0);
    r.offset = offset;
    r.length = length;
    r.dst = got;
    r.dst_size = dst_size;
    o.context = s;
    o.on_done = on_done;
    o.verify = 1;
    CHECK_STATUS(zt_read_batch(file, &r, 1, &o, &stats), want);
    CHECK(s->done == s->failed); /* only a failure may have been reported */
    CHECK_U64(stats.requests, 0);
    zt_close(file);
    free(s);
}

static void failures(void)
{
    static const uint64_t zero[2] = {0, 0}, one[2] = {1, 1}, many[2] = {4, 1};
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt"), *other = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    zt_read_request r;
    unsigned char got[256];
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_BUFFER_SIZE, 0, ZT_WHOLE, 119);
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_BUFFER_SIZE, 8, 16, 15);
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_INVALID_ARGUMENT, 1, 120, 4096);
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_INVALID_ARGUMENT, UINT64_MAX, 2, 4096);
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_INVALID_ARGUMENT, 2, UINT64_MAX - 1, 4096);
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_INVALID_ARGUMENT, 121, ZT_WHOLE, 4096);
    one_bad_request("v1.2/py-1.2.3-all-dtypes.zt", "f64", "data", ZT_ERROR_BUFFER_SIZE, 100, ZT_WHOLE, 19);
    one_bad_request("invalid/digest-sha256-flipped-bit.zt", NULL, "data", ZT_ERROR_DIGEST_MISMATCH, 0, ZT_WHOLE, 4096);
    one_bad_request("invalid/dtype-unknown.zt", "a", "data", ZT_ERROR_UNSUPPORTED, 0, ZT_WHOLE, 4096);
    one_bad_request("invalid/encoding-lz4.zt", "a", "data", ZT_ERROR_UNSUPPORTED, 0, ZT_WHOLE, 4096);
    one_bad_request("invalid/zstd-corrupt-block.zt", NULL, "data", ZT_ERROR_CORRUPT, 0, ZT_WHOLE, 4096);
    INIT(r);
    r.dst = got;
    r.dst_size = sizeof got;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT); /* no component */
    r.component = component_of(other, "f64", "data");
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT); /* of another file */
    r.component = component_of(file, "f64", "data");
    r.dst = NULL;
    r.length = ZT_WHOLE;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.dst = got;
    r.length = 0;
    r.start = zero;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT); /* start without count */
    r.count = many;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT); /* leaves the shape */
    r.count = one;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    r.step = zero;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.step = NULL;
    r.start = NULL;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT); /* count without start */
    CHECK_STATUS(zt_read_batch(file, NULL, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_read_batch(NULL, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(other);
    zt_close(file);
}

/* One damaged component among good ones: only that one is reported as failed. */
static void failure_among_others(void)
{
    uint32_t threads;
    for (threads = 1; threads <= 4; threads *= 2) {
        zt_file *file = open_data("invalid/digest-sha256-flipped-bit.zt");
        plan *p = new_plan();
        seen *s = (seen *)calloc(1, sizeof *s);
        zt_read_options o;
        size_t i;
        REQUIRE(s != NULL);
        for (i = 0; i < 6; i++) /* ranges are not verified, complete components are */
            add_range(p, zt_component_at(zt_object_at(file, 0), 0), i, 2);
        add_whole(p, zt_component_at(zt_object_at(file, 0), 0));
        INIT(o);
        o.threads = threads;
        o.verify = 1;
        o.context = s;
        o.on_done = on_done;
        CHECK_STATUS(zt_read_batch(file, p->requests, p->n, &o, NULL), ZT_ERROR_DIGEST_MISMATCH);
        CHECK(s->strange == 0 && s->failed <= 1 && s->done <= p->n);
        free(s);
        free_plan(p);
        zt_close(file);
    }
}

/* With keep_going every request is reported, the others are read, and the call returns the first failure. */
static void continues_past_failures(const char *name, zt_status want, size_t bad)
{
    uint32_t threads;
    for (threads = 1; threads <= 4; threads *= 2) {
        zt_file *file = open_data(name);
        plan *p = new_plan();
        seen *s = (seen *)calloc(1, sizeof *s);
        zt_read_options o;
        zt_read_stats stats;
        size_t i, k;
        REQUIRE(s != NULL);
        for (i = 0; i < zt_object_count(file); i++)
            for (k = 0; k < zt_component_count(zt_object_at(file, i)); k++)
                add(p, zt_component_at(zt_object_at(file, i), k), 1 << 16)->length = ZT_WHOLE;
        REQUIRE(p->n > bad);
        INIT(o);
        INIT(stats);
        o.threads = threads;
        o.verify = 1;
        o.context = s;
        o.on_done = on_done;
        o.keep_going = 1;
        CHECK_STATUS(zt_read_batch(file, p->requests, p->n, &o, &stats), want);
        CHECK(s->strange == 0 && s->failed == bad && s->done == p->n);
        CHECK_U64(stats.failed, bad);
        CHECK_U64(stats.requests, p->n - bad);
        /* Invalid arguments are rejected before the call reads. */
        memset(s, 0, sizeof *s);
        p->requests[p->n - 1].component = NULL;
        CHECK_STATUS(zt_read_batch(file, p->requests, p->n, &o, &stats), ZT_ERROR_INVALID_ARGUMENT);
        CHECK(s->done == 0 && stats.requests == 0);
        free(s);
        free_plan(p);
        zt_close(file);
    }
}

static void cancelled(void)
{
    uint32_t threads;
    for (threads = 1; threads <= 4; threads *= 2) {
        zt_file *file = open_data("v1.2/py-1.2.3-1000.zt");
        plan *p = new_plan();
        seen *s = (seen *)calloc(1, sizeof *s);
        zt_read_options o;
        zt_read_stats stats;
        size_t i;
        REQUIRE(s != NULL);
        for (i = 0; i < 1000; i++)
            add_whole(p, zt_component_at(zt_object_at(file, i), 0));
        INIT(o);
        INIT(stats);
        stats.bytes = UINT64_MAX;
        o.threads = threads;
        o.context = s;
        o.on_done = on_done;
        o.progress = on_progress;
        s->stop_at = 1;
        CHECK_STATUS(zt_read_batch(file, p->requests, p->n, &o, &stats), ZT_ERROR_CANCELLED);
        CHECK(s->strange == 0 && s->calls >= 1);
        CHECK(stats.bytes <= p->bytes); /* filled even if the call fails */
        /* the file is still usable */
        CHECK_STATUS(zt_read_batch(file, p->requests, p->n, NULL, NULL), ZT_OK);
        free(s);
        free_plan(p);
        zt_close(file);
    }
}

static void unknown_options(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    zt_read_options o;
    INIT(o);
    o.direct = 3;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    o.direct = -1;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.pinned = 2;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.verify = 2;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    INIT(o);
    o.keep_going = 2;
    CHECK_STATUS(zt_read_batch(file, NULL, 0, &o, NULL), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
}

int main(void)
{
    every_kind(ZT_MODE_MAP);
    every_kind(ZT_MODE_READ);
    nothing_to_do();
    failures();
    failure_among_others();
    continues_past_failures("v1.2/py-1.2.3-all-dtypes.zt", ZT_OK, 0);
    continues_past_failures("copy/damaged-component.zt", ZT_ERROR_CORRUPT, 1); /* found while reading */
    continues_past_failures("invalid/zstd-bomb-sparse-1.1.zt", ZT_ERROR_LIMIT, 1);
    continues_past_failures("foreign/valid/amber-odd-dtypes.npz", ZT_ERROR_UNSUPPORTED, 8); /* before */
    cancelled();
    unknown_options();
    return check_done("batch");
}
