/* Runs every function on a thread of 48 KiB, if the system supports that. None uses more than the 32 KiB of
 * stack that the header guarantees.
 * -DZT_NOT_RELEASED: the library is not a release build, so nothing is measured. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include "entry_points.h"

/* Sanitizers and valgrind enlarge frames or check memory below them: everything runs, but nothing is
 * measured. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ZT_NOT_RELEASED)
enum { STACK = 4 << 20, IS_MEASURED = 0 };
#else
enum { STACK = 48 << 10, IS_MEASURED = 1 };
#endif
#if defined(__s390x__) /* its calling convention has frames of at least 160 bytes: docs/platforms.md */
enum { PROMISED = 40 << 10 };
#else
enum { PROMISED = 32 << 10 };
#endif
enum { PATTERN = 0xa5 };

/* The lowest and the highest levels, which use different code. */
static zt_status compress_at(int32_t level)
{
    const uint64_t big = ENTRY_BIG;
    zt_write_options options;
    zt_writer *w = NULL;
    zt_status status;
    INIT(options);
    options.encoding = ZT_ENCODING_ZSTD, options.zstd_level = level, options.threads = 1;
    TRY(zt_write_create(entry_target, &options, &w));
    TRY(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &big, 1, entry_data, ENTRY_BIG));
    return zt_write_finish(w, NULL);
end:
    zt_write_abort(w);
    return status;
}

static zt_status compress_fast(void) { return compress_at(-7); }
static zt_status compress_lazy(void) { return compress_at(8); }
static zt_status compress_best(void) { return compress_at(22); }

static unsigned char *put_cbor(unsigned char *at, unsigned kind, uint32_t n)
{
    *at++ = (unsigned char)(kind << 5 | 26);
    *at++ = (unsigned char)(n >> 24), *at++ = (unsigned char)(n >> 16);
    *at++ = (unsigned char)(n >> 8), *at++ = (unsigned char)n;
    return at;
}

static unsigned char *put_text(unsigned char *at, const char *text)
{
    at = put_cbor(at, 3, (uint32_t)strlen(text));
    memcpy(at, text, strlen(text));
    return at + strlen(text);
}

/* Components in an order that must be sorted, each at a separate position. */
static zt_status open_shuffled(void)
{
    enum { OBJECTS = 30000 };
    static uint32_t order[OBJECTS];
    size_t data = 64 + (size_t)OBJECTS * 64;
    unsigned char *bytes = (unsigned char *)calloc(1, data + OBJECTS * 140 + 100), *at;
    uint32_t i, random = 7;
    zt_status status;
    REQUIRE(bytes != NULL);
    for (i = 0; i < OBJECTS; i++) {
        uint32_t other = next_random(&random) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    memcpy(bytes, "ZTEN1000", 8);
    at = put_cbor(bytes + data, 5, 2);
    at = put_text(put_text(at, "version"), "1.2.0");
    at = put_cbor(put_text(at, "objects"), 5, OBJECTS);
    for (i = 0; i < OBJECTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%lu", (unsigned long)i);
        at = put_cbor(put_text(at, name), 5, 3);
        at = put_cbor(put_cbor(put_text(at, "shape"), 4, 1), 0, 1);
        at = put_text(put_text(at, "format"), "dense");
        at = put_cbor(put_text(at, "components"), 5, 1);
        at = put_cbor(put_text(at, "data"), 5, 3);
        at = put_text(put_text(at, "dtype"), "u8");
        at = put_cbor(put_text(at, "offset"), 0, 64 + 64 * order[i]);
        at = put_cbor(put_text(at, "length"), 0, 1);
    }
    i = (uint32_t)(at - (bytes + data));
    at[0] = (unsigned char)i, at[1] = (unsigned char)(i >> 8), at[2] = (unsigned char)(i >> 16), at[3] = (unsigned char)(i >> 24);
    memcpy(at + 8, "ZTEN1000", 8);
    write_file(entry_target, bytes, (size_t)(at + 16 - bytes));
    free(bytes);
    status = entry_open(entry_target);
    return status;
}

static const struct entry_scene own_scenes[] = {
    {"compress_fast", compress_fast, ZT_OK}, {"compress_lazy", compress_lazy, ZT_OK}, {"compress_best", compress_best, ZT_OK},
    {"open_shuffled", open_shuffled, ZT_OK},
};

static unsigned char *stack; /* its lowest byte, above a guard page */
static unsigned char *top;   /* where the scene starts */
static int is_measured;

static void *on_the_thread(void *scene)
{
    unsigned char here = 0;
    zt_status status;
    top = &here;
    /* The memory below this frame and below memset's. */
    if (is_measured)
        memset(stack, PATTERN, (size_t)(top - stack) - 512);
    status = ((const struct entry_scene *)scene)->run();
    if (!CHECK_STATUS(status, ((const struct entry_scene *)scene)->status))
        fprintf(stderr, "    in %s\n", ((const struct entry_scene *)scene)->name);
    return NULL;
}

/* The system's minimum for a stack (128 KiB on aarch64), in complete pages. */
static size_t stack_size(void)
{
    size_t size = STACK, least = (size_t)PTHREAD_STACK_MIN, page = page_size();
    size = size < least ? least : size;
    return (size + page - 1) / page * page;
}

static size_t run_on_small_stack(const struct entry_scene *scene)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0, used;
    const size_t page = page_size(), size = stack_size();
    unsigned char *mapped = (unsigned char *)mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED && mprotect(mapped, page, PROT_NONE) == 0);
    stack = mapped + page;
    entry_reset();
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstack(&attributes, stack, size) == 0);
    REQUIRE(pthread_create(&thread, &attributes, on_the_thread, (void *)(uintptr_t)scene) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    if (is_measured)
        while (untouched < size && stack[untouched] == PATTERN)
            untouched++;
    used = is_measured ? (size_t)(top - stack) - untouched : 0;
    pthread_attr_destroy(&attributes);
    munmap(mapped, size + page);
    return used;
}

int main(void)
{
    size_t i, most = 0;
    const char *valgrind = getenv("VALGRIND");
    is_measured = IS_MEASURED && !(valgrind && *valgrind);
    entry_begin("stack");
    entry_files();
    entry_read_good();
    for (i = 0; i < COUNT(entry_scenes) + COUNT(own_scenes); i++) {
        const struct entry_scene *scene = i < COUNT(entry_scenes) ? &entry_scenes[i] : &own_scenes[i - COUNT(entry_scenes)];
        size_t used = run_on_small_stack(scene);
        if (!CHECK(used <= PROMISED))
            fprintf(stderr, "    %s uses %lu bytes of stack\n", scene->name, (unsigned long)used);
        if (getenv("ZT_TEST_VERBOSE"))
            fprintf(stderr, "%s: %lu bytes of stack\n", scene->name, (unsigned long)used);
        most = used > most ? used : most;
    }
    CHECK(!is_measured || most > 4096);
    printf("stack: at most %lu bytes\n", (unsigned long)most);
    entry_end();
    return check_done("stack");
}
