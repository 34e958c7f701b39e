/* The caller's functions that the library calls on the threads that it starts. Allocators are in
 * component_load.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include "residence.h"
#include "writing.h"

enum { MANY = 12, PART = 1 << 20 }; /* MANY components of PART bytes */

static const char *path;
static unsigned char *data; /* the bytes of all components */
static const uint64_t part = PART, whole = (uint64_t)MANY * PART;
static pthread_t caller;

typedef struct crew {
    size_t started, ended, most;
    pthread_mutex_t lock;
} crew;

static pthread_key_t key; /* what on_start stores for the thread */

static void crew_start(void *context, uint32_t index)
{
    crew *c = (crew *)context;
    CHECK(!pthread_equal(pthread_self(), caller) && pthread_getspecific(key) == NULL);
    CHECK(pthread_setspecific(key, data + index) == 0);
    pthread_mutex_lock(&c->lock);
    c->started++;
    if (c->most < index + 1)
        c->most = index + 1;
    pthread_mutex_unlock(&c->lock);
}

static void crew_end(void *context, uint32_t index)
{
    crew *c = (crew *)context;
    CHECK(pthread_getspecific(key) == data + index);
    pthread_mutex_lock(&c->lock);
    c->ended++;
    pthread_mutex_unlock(&c->lock);
}

#define crew_was(c, there) CHECK(crew_is(c, there))
static int crew_is(crew *c, int there)
{
    /* one of the 4 threads is the caller's */
    int good = c->started == c->ended && (c->started > 0) == there && c->most <= 3;
    c->started = c->ended = c->most = 0;
    return good;
}

static zt_status write_by(zt_writer *w, zt_encoding encoding, const char *name)
{
    zt_object_desc o;
    zt_component_desc c;
    INIT(o);
    INIT(c);
    o.name = name;
    o.format = ZT_FORMAT_DENSE;
    o.shape = &whole;
    o.rank = 1;
    o.components = &c;
    o.component_count = 1;
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    c.encoding = encoding;
    c.data = data;
    c.size = whole;
    return zt_write_object(w, &o);
}

/* Makes the file. */
static void writing(zt_thread_hooks *hooks, crew *c)
{
    zt_write_options o;
    zt_writer *w = NULL;
    INIT(o);
    o.digest = ZT_DIGEST_SHA256;
    o.threads = 4;
    o.thread_hooks = hooks;
    REQUIRE(zt_write_create(path, &o, &w) == ZT_OK);
    CHECK_STATUS(write_by(w, ZT_ENCODING_RAW, "raw"), ZT_OK);
    crew_was(c, 1); /* one thread hashes */
    CHECK_STATUS(write_by(w, ZT_ENCODING_ZSTD, "zstd"), ZT_OK);
    crew_was(c, 1);
    CHECK_STATUS(zt_write_dense(w, "small", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &part, 1, data, PART), ZT_OK);
    crew_was(c, 1);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
}

static int32_t go_on(void *context, uint64_t done, uint64_t total) { return (void)context, done > total; }

static void reading(zt_thread_hooks *hooks, crew *c)
{
    zt_file *file = NULL;
    zt_open_options o;
    zt_read_options ro;
    zt_read_request requests[2];
    zt_verify_options vo;
    zt_buffer *buffer = NULL;
    unsigned char *dst = (unsigned char *)malloc(2 * (size_t)whole);
    size_t i;
    REQUIRE(dst != NULL);
    INIT(o);
    INIT(ro);
    INIT(vo);
    o.mode = ZT_MODE_READ;
    o.threads = ro.threads = vo.threads = 4;
    o.thread_hooks = hooks;
    CHECK_STATUS(zt_open(path, &o, &file), ZT_OK);
    CHECK_STATUS(zt_component_read(component_of(file, "small", "data"), dst, PART), ZT_OK);
    crew_was(c, 0); /* too small for several threads */
    CHECK_STATUS(zt_component_load(component_of(file, "zstd", "data"), NULL, &buffer), ZT_OK);
    crew_was(c, reports_what_is_cached(path));
    CHECK(memcmp(zt_buffer_data(buffer), data, (size_t)whole) == 0);
    zt_buffer_free(buffer);
    for (i = 0; i < 2; i++) {
        INIT(requests[i]);
        requests[i].component = component_of(file, i ? "zstd" : "raw", "data");
        requests[i].length = ZT_WHOLE;
        requests[i].dst = dst + i * (size_t)whole;
        requests[i].dst_size = (size_t)whole;
    }
    CHECK_STATUS(zt_read_batch(file, requests, 2, &ro, NULL), ZT_OK);
    crew_was(c, 1);
    CHECK_STATUS(zt_verify(file, &vo, NULL), ZT_OK);
    crew_was(c, 1);
    zt_close(file);
    o.verify = 1; /* opening starts threads, too */
    file = NULL;
    CHECK_STATUS(zt_open(path, &o, &file), ZT_OK);
    crew_was(c, 1);
    zt_close(file);
    o.threads = 1; /* no threads are allowed */
    for (i = 0; i < 2; i++) {
        o.progress = i ? go_on : NULL;
        CHECK_STATUS(zt_open(path, &o, &file), ZT_OK);
        crew_was(c, 0);
        zt_close(file);
    }
    free(dst);
}

static void threads(void)
{
    crew c = {0, 0, 0, PTHREAD_MUTEX_INITIALIZER};
    zt_thread_hooks hooks;
    INIT(hooks);
    hooks.context = &c;
    hooks.on_start = crew_start;
    hooks.on_end = crew_end;
    writing(&hooks, &c);
    reading(&hooks, &c);
}

int main(void)
{
    size_t i;
    path = scratch_path("hooks.zt");
    caller = pthread_self();
    data = (unsigned char *)malloc((size_t)whole);
    REQUIRE(data != NULL && pthread_key_create(&key, NULL) == 0);
    for (i = 0; i < (size_t)whole; i++)
        data[i] = (unsigned char)(i * i >> 7);
    threads();
    CHECK(remove(path) == 0);
    free(data);
    return check_done("hooks");
}
