/* Runs a scenario many times. In each run one of its system calls fails, in each way. Checks the status, the
 * message, descriptors, mappings, memory and files, and that the same call works afterwards. */
#ifndef FAULT_LOOP_H
#define FAULT_LOOP_H

#include <dirent.h>
#include <sys/stat.h>
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
#include <malloc.h>
#endif

#include "faults.h"
#include "writing.h"

struct outcome {
    zt_status status;
    uint64_t hash;     /* of all that was read */
    char message[512]; /* from the call that failed */
};

struct scenario {
    const char *name;
    void (*prepare)(void);           /* makes the files; may be NULL */
    void (*run)(struct outcome *);   /* the calls under test */
    /* checks files; may be NULL */
    void (*check)(const struct outcome *got, const struct outcome *undisturbed);
    size_t files;                    /* in the folder, afterwards */
    int must_fail;                   /* some fault must fail the call; false only if failures are hidden */
};

static unsigned long combinations, failures_seen;
static char fault_folder[4096];

/* In run: a failure ends it. */
#define TRY(call) \
    do { \
        if ((out->status = (call)) != ZT_OK) { \
            snprintf(out->message, sizeof out->message, "%s", zt_last_error()); \
            goto done; \
        } \
    } while (0)

static inline void hash_bytes(struct outcome *out, const void *data, size_t size)
{
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = out->hash ^ size, word;
    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; size; size--)
        h = (h ^ *p++) * 0x100000001b3u;
    out->hash = h;
}

static inline const char *in_folder(const char *name)
{
    static char paths[8][8192];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", fault_folder, name);
    return path;
}

/* Counts the files in a folder. If asked, removes hidden ones. */
static inline size_t entries_of(const char *folder, int remove_hidden)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    size_t n = 0;
    REQUIRE(d != NULL);
    while ((entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        if (remove_hidden && entry->d_name[0] == '.')
            REQUIRE(remove(in_folder(entry->d_name)) == 0);
    }
    closedir(d);
    return n;
}

static inline size_t open_descriptors(void)
{
    return entries_of("/proc/self/fd", 0);
}

/* Counts mappings of files in our folder. */
static inline size_t live_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    size_t n = 0;
    REQUIRE(maps != NULL);
    while (fgets(line, sizeof line, maps))
        n += strstr(line, fault_folder) != NULL;
    fclose(maps);
    return n;
}

/* Bytes of the heap in use; 0 if the C library does not report it. */
static inline size_t heap_in_use(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

static inline void prepared_run(const struct scenario *s, const struct fault_kind *kind, unsigned long n, struct outcome *out)
{
    if (s->prepare)
        s->prepare();
    memset(out, 0, sizeof *out);
    out->hash = 1;
    fault_arm(kind, n);
    s->run(out);
    fault_disarm();
}

static inline int same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->status == b->status && a->hash == b->hash;
}

/* Runs one fault. Returns whether the faulty call was reached. */
static inline int with_fault(const struct scenario *s, const struct fault_kind *kind, unsigned long n, const struct outcome *undisturbed)
{
    size_t descriptors = open_descriptors(), files;
    unsigned long hit;
    struct outcome got, again;
    int good = 1;
    prepared_run(s, kind, n, &got);
    hit = fault.hit;
    if (!hit)
        return 0;
    combinations++;
    failures_seen += got.status != ZT_OK;
    good &= CHECK_U64(open_descriptors(), descriptors);
    good &= CHECK_U64(live_mappings(), 0);
    if (got.status == ZT_OK) {
        good &= CHECK_U64(got.hash, undisturbed->hash);
    } else {
        good &= CHECK(!kind->hidden);
        /* For direct I/O it is UNSUPPORTED if the second open fails. */
        good &= CHECK(got.status == ZT_ERROR_IO || got.status == ZT_ERROR_NO_FILE || got.status == ZT_ERROR_UNSUPPORTED ||
                      (got.status == ZT_ERROR_OUT_OF_MEMORY && hit & BIT(MMAP))); /* malloc's call */
        good &= CHECK(strlen(got.message) > 10 && !strchr(got.message, '\n'));
    }
    files = entries_of(fault_folder, 1);
    /* A file that cannot be removed stays. */
    good &= CHECK(files == s->files || (files == s->files + 1 && hit & BIT(UNLINK)) ||
                  (files + 1 == s->files && got.status != ZT_OK));
    if (s->check)
        s->check(&got, undisturbed);
    prepared_run(s, NULL, 0, &again);
    good &= CHECK(same_outcome(&again, undisturbed));
    if (s->check)
        s->check(&again, undisturbed);
    if (!good) {
        unsigned call = 0;
        while (!(hit >> call & 1))
            call++;
        fprintf(stderr, "    in %s: %s at call %lu (first of them %s), which gave %s: %s\n", s->name, kind->name, n,
                call_names[call], zt_status_name(got.status), got.message);
    }
    return 1;
}

/* Fails every call of a scenario in every way. */
static inline void every_fault(const struct scenario *s)
{
    unsigned long before = combinations, failed_before = failures_seen, n;
    struct outcome undisturbed, twice;
    size_t k, heap;
    prepared_run(s, NULL, 0, &undisturbed);
    if (!CHECK_STATUS(undisturbed.status, ZT_OK))
        fprintf(stderr, "    in %s, undisturbed: %s\n", s->name, undisturbed.message);
    if (s->check)
        s->check(&undisturbed, &undisturbed);
    prepared_run(s, NULL, 0, &twice);
    CHECK(same_outcome(&twice, &undisturbed));
    heap = heap_in_use();
    for (k = 0; k < COUNT(fault_kinds); k++) {
        for (n = 1; with_fault(s, &fault_kinds[k], n, &undisturbed); n += case_step())
            REQUIRE(n < 5000);
        if (check_failures > 20)
            break;
    }
    /* A failure must not leak. glibc counts freed blocks in a thread's cache as in use: 64 sizes, up to 7
     * blocks each, of up to 1,032 bytes. */
    if (!CHECK(heap_in_use() < heap + 262144))
        fprintf(stderr, "    in %s: %zu bytes of heap before, %zu after\n", s->name, heap, heap_in_use());
    CHECK(combinations > before);
    CHECK(!s->must_fail || failures_seen > failed_before);
    printf("%s: %lu faults, %lu of them not survived\n", s->name, combinations - before, failures_seen - failed_before);
}

static inline void faults_begin(const char *name)
{
    snprintf(fault_folder, sizeof fault_folder, "%s", scratch_path(name));
    REQUIRE(mkdir(fault_folder, 0700) == 0);
}

static inline int faults_done(const char *name)
{
    CHECK(rmdir(fault_folder) == 0);
    printf("%s: %lu combinations of scenario, call and failure\n", name, combinations);
    return check_done(name);
}

#endif
