/* Chapter "writer": many objects in one call. The file equals the one with single calls. A rejected call does
 * not change the writer. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef __linux__
#include <dirent.h>
#endif

#include "writing.h"

#define MOST 1100 /* of 4 KiB: enough that another thread writes them */
#define LARGE (5u << 20)
static unsigned char data[LARGE + 1000];
static const char *path, *other;

typedef struct {
    zt_write_request requests[MOST];
    char names[MOST][16];
    uint64_t shapes[MOST];
    size_t n;
} plan;

static plan mixed, small;

static zt_write_request *add(plan *p, size_t size)
{
    zt_write_request *r = &p->requests[p->n];
    INIT(*r);
    snprintf(p->names[p->n], sizeof p->names[0], "object %u", (unsigned)p->n);
    p->shapes[p->n] = size;
    r->name = p->names[p->n];
    r->shape = &p->shapes[p->n];
    r->rank = 1;
    r->data = size ? data + p->n : NULL;
    r->size = size;
    r->dtype = ZT_DTYPE_U8;
    p->n++;
    return r;
}

static void make_plans(void)
{
    static const size_t sizes[] = {0, 1, 63, 64, 4096, 300 << 10, LARGE, 5, 1000};
    static const zt_encoding encodings[] = {ZT_ENCODING_DEFAULT, ZT_ENCODING_RAW, ZT_ENCODING_ZSTD};
    static const zt_digest digests[] = {ZT_DIGEST_DEFAULT, ZT_DIGEST_NONE, ZT_DIGEST_CRC32C, ZT_DIGEST_SHA256};
    size_t i;
    for (i = 0; i < 36; i++) {
        zt_write_request *r = add(&mixed, i % 9 == 6 && i > 9 ? 70000 : sizes[i % 9]);
        r->encoding = encodings[i / 2 % 3];
        r->digest = digests[i % 4];
    }
    for (i = 0; i < MOST; i++)
        add(&small, 4096);
}

/* Single calls, as zt_write_object does it. */
static zt_status each(zt_writer *w, const plan *p)
{
    size_t i;
    zt_status status = ZT_OK;
    for (i = 0; i < p->n && status == ZT_OK; i++) {
        const zt_write_request *r = &p->requests[i];
        zt_component_desc c;
        zt_object_desc o;
        INIT(c);
        INIT(o);
        c.role = "data";
        c.dtype = r->dtype;
        c.type = r->type;
        c.encoding = r->encoding;
        c.digest = r->digest;
        c.data = r->data;
        c.size = r->size;
        o.name = r->name;
        o.format = ZT_FORMAT_DENSE;
        o.shape = r->shape;
        o.rank = r->rank;
        o.components = &c;
        o.component_count = 1;
        status = zt_write_object(w, &o);
    }
    return status;
}

static int same_files(const char *a, const char *b)
{
    size_t n, m;
    unsigned char *x = read_file(a, &n), *y = read_file(b, &m);
    int same = n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* Both ways with these options; then verifies every digest. */
static void both(const plan *p, const zt_write_options *o)
{
    zt_writer *w = NULL;
    zt_write_summary one, all;
    zt_verify_report report;
    zt_verify_options checks;
    zt_file *file;
    INIT(one);
    INIT(all);
    INIT(report);
    INIT(checks);
    checks.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_PADDING;
    CHECK_STATUS(zt_write_create(other, o, &w), ZT_OK);
    CHECK_STATUS(each(w, p), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, &one), ZT_OK);
    CHECK_STATUS(zt_write_create(path, o, &w), ZT_OK);
    CHECK_STATUS(zt_write_batch(w, p->requests, p->n), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, &all), ZT_OK);
    CHECK(SAME_FROM(file_size, one, all));
    CHECK(same_files(path, other));
    file = open_path(path);
    CHECK_U64(zt_object_count(file), p->n);
    CHECK_STATUS(zt_verify(file, &checks, &report), ZT_OK);
    CHECK(report.digests_verified > p->n / 2);
    zt_close(file);
}

static void same_bytes(void)
{
    static const uint32_t threads[] = {1, 2, 8, 0};
    static const zt_digest digests[] = {ZT_DIGEST_DEFAULT, ZT_DIGEST_CRC32C, ZT_DIGEST_SHA256};
    zt_write_options o;
    size_t i, d;
    for (d = 0; d < COUNT(digests); d++) {
        for (i = 0; i < COUNT(threads); i++) {
            if (case_step() > 1 && i != d)
                continue;
            INIT(o);
            o.digest = digests[d];
            o.threads = threads[i];
            both(&small, &o);
            o.spec = i == 0 ? ZT_SPEC_1_1_0 : ZT_SPEC_DEFAULT;
            o.durable = i % 2;
            o.large_alignment = i < 2 ? 4096 : 0;
            o.encoding = i == 3 ? ZT_ENCODING_ZSTD : ZT_ENCODING_DEFAULT;
            both(&mixed, &o);
        }
    }
}

/* Each error that a request can have, among good requests. */
static void refused(void)
{
    static const uint64_t two = 2;
    zt_write_request *bad = &small.requests[300];
    const zt_write_request good = *bad;
    zt_write_options o;
    zt_writer *w = NULL;
    int i;
    INIT(o);
    o.digest = ZT_DIGEST_SHA256;
    o.threads = 2;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "there", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &two, 1, data, 2), ZT_OK);
    for (i = 0; i < 11; i++) {
        zt_status want = ZT_ERROR_INVALID_ARGUMENT;
        const char *message = "request 300: object \"object 300\": ";
        *bad = good;
        switch (i) {
        case 0: bad->name = "there", want = ZT_ERROR_EXISTS, message = "request 300: object \"there\": "; break;
        case 1: bad->name = "object 299", want = ZT_ERROR_EXISTS, message = "request 300: object \"object 299\": "; break;
        case 2: bad->name = NULL, message = "request 300: name is NULL"; break;
        case 3: bad->name = "\xff", message = "request 300: name is not UTF-8"; break;
        case 4: bad->size--, want = ZT_ERROR_BUFFER_SIZE; break;
        case 5: bad->dtype = ZT_DTYPE_OTHER; break;
        case 6: bad->type = ZT_TYPE_COMPLEX64; break; /* does not go with u8 */
        case 7: bad->shape = NULL; break;
        case 8: bad->data = NULL; break;
        case 9: bad->encoding = (zt_encoding)77; break;
        default: bad->digest = (zt_digest)77; break;
        }
        CHECK_STATUS(zt_write_batch(w, small.requests, small.n), want);
        if (!CHECK(strncmp(zt_last_error(), message, strlen(message)) == 0))
            fprintf(stderr, "    %d: %s\n", i, message);
    }
    *bad = good;
    CHECK_STATUS(zt_write_batch(w, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_write_batch(w, small.requests, small.n), ZT_OK);
    CHECK_STATUS(zt_write_batch(w, small.requests + 7, 1), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK_STATUS(zt_write_create(other, &o, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "there", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &two, 1, data, 2), ZT_OK);
    CHECK_STATUS(each(w, &small), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    CHECK(same_files(path, other)); /* as if no call had been rejected */
}

/* Data that the version cannot represent, and a batch with an object open. */
static void out_of_turn(void)
{
    zt_write_options o;
    zt_object_desc object;
    zt_writer *w = NULL;
    zt_write_request r = small.requests[0];
    INIT(o);
    o.spec = ZT_SPEC_0_1_0;
    CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK);
    r.type = ZT_TYPE_F8_E5M2;
    CHECK_STATUS(zt_write_batch(w, &r, 1), ZT_ERROR_UNSUPPORTED);
    r.type = ZT_TYPE_NONE;
    CHECK_STATUS(zt_write_batch(w, &r, 1), ZT_OK);
    INIT(object);
    object.name = "open";
    object.format = ZT_FORMAT_DENSE;
    CHECK_STATUS(zt_write_begin(w, &object), ZT_OK);
    CHECK_STATUS(zt_write_batch(w, &small.requests[1], 1), ZT_ERROR_STATE);
    zt_write_abort(w);
}

/* The number of threads of this process; 0 if unknown. */
static size_t threads_now(void)
{
    size_t n = 0;
#ifdef __linux__
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    while (tasks && (task = readdir(tasks)) != NULL)
        n += task->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
#endif
    return n;
}

/* A joined thread may still be counted for a moment. */
static size_t threads_left(size_t wanted)
{
    int i;
    for (i = 0; i < 5000 && threads_now() > wanted; i++)
        usleep(1000);
    return threads_now();
}

static struct {
    size_t bytes, most, threads;
    zt_writer *writer;
} taken;

static zt_status take(void *context, const void *bytes, size_t n)
{
    (void)context, (void)bytes;
    if (taken.writer)
        CHECK_STATUS(zt_write_batch(taken.writer, small.requests, 1), ZT_ERROR_STATE);
    taken.bytes += n;
    if (taken.threads < threads_now())
        taken.threads = threads_now();
    return taken.bytes > taken.most ? ZT_ERROR_CANCELLED : ZT_OK;
}

/* A writer to the sink, which accepts this number of bytes. */
static zt_writer *to_taken(size_t most, zt_digest digest, uint32_t threads)
{
    zt_sink sink;
    zt_write_options o;
    zt_writer *w = NULL;
    INIT(sink);
    INIT(o);
    sink.write = take;
    o.digest = digest;
    o.threads = threads;
    taken.bytes = 0;
    taken.most = most;
    CHECK_STATUS(zt_write_create_sink(&sink, &o, &w), ZT_OK);
    return w;
}

/* A sink's functions are called as usual. After one fails the writer stays failed. */
static void to_a_sink(void)
{
    static const size_t most[] = {8, 100000, 1000000, 2400000, SIZE_MAX};
    size_t i;
    for (i = 0; i < COUNT(most); i++) {
        zt_writer *w = to_taken(most[i], ZT_DIGEST_SHA256, 2);
        taken.writer = w;
        CHECK_STATUS(zt_write_batch(w, small.requests, small.n), i < 4 ? ZT_ERROR_CANCELLED : ZT_OK);
        taken.writer = NULL;
        CHECK_STATUS(zt_write_batch(w, small.requests, 1), i < 4 ? ZT_ERROR_STATE : ZT_ERROR_EXISTS);
        zt_write_abort(w);
    }
}

/* Uses as many threads as allowed, and none for small batches. */
static void few_threads(void)
{
    static const struct { uint32_t threads; zt_digest digest; size_t n, extra; } cases[] = {
        {1, ZT_DIGEST_SHA256, MOST, 0}, {2, ZT_DIGEST_SHA256, 3, 0}, {2, ZT_DIGEST_NONE, MOST, 0},
        {2, ZT_DIGEST_CRC32C, MOST, 0}, {2, ZT_DIGEST_SHA256, MOST, 1}, {3, ZT_DIGEST_SHA256, MOST, 2},
    };
    size_t i, attempt, alone = threads_left(1);
    for (i = 0; alone > 0 && i < COUNT(cases); i++) {
        taken.threads = 0;
        /* A thread that the system starts late is not observed in every try. */
        for (attempt = 0; attempt < 50 && taken.threads != alone + cases[i].extra; attempt++) {
            zt_writer *w = to_taken(SIZE_MAX, cases[i].digest, cases[i].threads);
            CHECK_STATUS(zt_write_batch(w, small.requests, cases[i].n), ZT_OK);
            CHECK(taken.threads <= alone + cases[i].extra);
            CHECK_U64(threads_left(alone), alone);
            CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
        }
        CHECK_U64(taken.threads, alone + cases[i].extra);
    }
}

int main(void)
{
    fill_any(data, sizeof data, 5);
    path = scratch_path("batch.zt");
    other = scratch_path("each.zt");
    make_plans();
    same_bytes();
    refused();
    out_of_turn();
    to_a_sink();
    few_threads();
    remove(path);
    remove(other);
    return check_done("write_batch");
}
