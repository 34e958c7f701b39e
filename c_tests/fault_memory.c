/* Fails every allocation of the library in turn, alone or with all later ones. The process must not crash,
 * the status must report it, nothing leaks, and the file before a write is intact. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/wait.h>

#include "failing_malloc.h"
#include "scenario.h"

enum { SPARED = 0, BROKEN = 1, HIT = 2 };

/* In a child: the n-th allocation fails. Returns whether it was reached, and whether all checks passed. */
static int try_one(const scene *s, long n, uint64_t sum, const unsigned char *whole, size_t whole_size)
{
    zt_status status;
    unsigned char *old;
    size_t old_size, files = scene_files();
    long before;
    int is_old, is_whole;
    check_failures = 0; /* ignore the parent's failures */
    scene_reset(s);
    old = read_file(scene_target, &old_size);
    before = live;
    scene_sum = 0;
    left = n, refused = 0;
    __atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
    status = s->run();
    __atomic_store_n(&armed, 0, __ATOMIC_SEQ_CST);
    CHECK(live - before <= 0);
    is_old = file_is(scene_target, old, old_size);
    is_whole = s->kind != READS && file_is(scene_target, whole, whole_size);
    if (status == ZT_OK) {
        /* Fewer threads, or a path that does not allocate: the outcome is the usual one. */
        CHECK(s->kind == READS ? scene_sum == sum && is_old : is_whole);
    } else {
        CHECK(refused > 0);
        CHECK(status == ZT_ERROR_OUT_OF_MEMORY || status == ZT_ERROR_IO);
        CHECK(strlen(zt_last_error()) > 0);
        CHECK(is_old);
    }
    CHECK_U64(scene_files(), files);
    /* Afterwards the library works as usual. */
    scene_reset(s);
    scene_sum = 0;
    CHECK_STATUS(s->run(), ZT_OK);
    CHECK(s->kind == READS ? scene_sum == sum : file_is(scene_target, whole, whole_size));
    free(old);
    if (check_failures)
        fprintf(stderr, "    in \"%s\", allocation %ld%s, status %s\n", s->name, n, persistent ? " and all after it" : "",
                zt_status_name(status));
    return check_failures ? BROKEN : refused ? HIT : SPARED;
}

static void every_allocation(const scene *s)
{
    unsigned char *whole;
    size_t whole_size;
    uint64_t sum;
    long n, hits = 0;
    int ended = 0, exit_status = 0;
    scene_reset(s);
    scene_sum = 0;
    REQUIRE(s->run() == ZT_OK);
    sum = scene_sum;
    whole = read_file(scene_target, &whole_size);
    for (n = 1; n < 100000 && !ended; n += (long)case_step()) {
        pid_t child;
        fflush(NULL);
        child = fork();
        if (child == 0)
            _exit(try_one(s, n, sum, whole, whole_size));
        REQUIRE(child > 0 && waitpid(child, &exit_status, 0) == child);
        if (!WIFEXITED(exit_status)) {
            fprintf(stderr, "\"%s\": allocation %ld%s ended the process by signal %d\n", s->name, n,
                    persistent ? " and all after it" : "", WTERMSIG(exit_status));
            CHECK(WIFEXITED(exit_status));
        } else {
            CHECK(WEXITSTATUS(exit_status) != BROKEN);
            ended = WEXITSTATUS(exit_status) == SPARED;
            hits += !ended;
        }
        ended = ended || check_failures > 5;
    }
    CHECK(ended && hits > (case_step() > 1 ? 0 : 10));
    if (getenv("ZT_TEST_VERBOSE"))
        fprintf(stderr, "%s%s: %ld allocations\n", s->name, persistent ? ", from then on" : "", hits);
    free(whole);
}

int main(void)
{
    size_t i;
    scene_begin("fault_memory");
    for (persistent = 0; persistent < 2; persistent++)
        for (i = 0; i < COUNT(scenes); i++)
            every_allocation(&scenes[i]);
    scene_end();
    return check_done("fault_memory");
}
