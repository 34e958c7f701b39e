/* Fails each allocation in turn, alone or with all later ones, in a process that has not called the library
 * before. So one-time and per-thread allocations fail, too, also in calls that fail anyway and must report it
 * without memory. The process must not crash or print. The status is the usual one or
 * ZT_ERROR_OUT_OF_MEMORY. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/resource.h>
#include <sys/wait.h>

#include "entry_points.h"
#include "failing_malloc.h"

enum { HIT = 64, BAD = 128 };
static FILE *printed; /* the output of a child goes there */

/* In a child: the status, whether an allocation failed, and whether the message is missing. */
static int try_one(const struct entry_scene *s, long n)
{
    zt_status status;
    const char *message;
    dup2(fileno(printed), 1), dup2(fileno(printed), 2);
    left = n;
    __atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
    status = s->run();
    __atomic_store_n(&armed, 0, __ATOMIC_SEQ_CST);
    message = zt_last_error();
    return (int)status | (refused ? HIT : 0) | (status != ZT_OK && strlen(message) < 10 ? BAD : 0);
}

/* Returns 0 when all allocations succeed. */
static int fails_well(const struct entry_scene *s, long n)
{
    int how = 0, good;
    long size;
    pid_t child;
    entry_reset();
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(try_one(s, n));
    REQUIRE(child > 0 && waitpid(child, &how, 0) == child);
    good = CHECK(WIFEXITED(how));
    if (good) {
        zt_status status = WEXITSTATUS(how) & 63;
        good &= CHECK(status == s->status || (WEXITSTATUS(how) & HIT && status == ZT_ERROR_OUT_OF_MEMORY));
        good &= CHECK(!(WEXITSTATUS(how) & BAD));
        if (!good)
            fprintf(stderr, "    status %s\n", zt_status_name(status));
    } else {
        fprintf(stderr, "    signal %d\n", WTERMSIG(how));
    }
    fseek(printed, 0, SEEK_END);
    size = ftell(printed);
    if (!CHECK(size == 0)) {
        char line[400];
        rewind(printed);
        while (fgets(line, sizeof line, printed))
            fprintf(stderr, "    printed: %s\n", line);
        good = 0;
        rewind(printed);
        REQUIRE(ftruncate(fileno(printed), 0) == 0);
    }
    if (!good)
        fprintf(stderr, "    in %s, allocation %ld%s\n", s->name, n, persistent ? " and all after it" : "");
    return !good || WEXITSTATUS(how) & HIT;
}

/* A mapping larger than the address space: its error does not need memory either. */
static zt_status no_address_space(void)
{
    struct rlimit none = {1 << 20, 1 << 20};
    zt_file *file = NULL;
    if (setrlimit(RLIMIT_AS, &none) != 0)
        return ZT_ERROR_INTERNAL;
    return zt_open(entry_good, NULL, &file);
}

/* Whether the system has such a limit: emulators may not. */
static int limits_address_space(void)
{
    int how = 0;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {1 << 20, 1 << 20};
        _exit(setrlimit(RLIMIT_AS, &none) == 0 &&
              mmap(NULL, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    }
    REQUIRE(child > 0 && waitpid(child, &how, 0) == child);
    return WIFEXITED(how) && WEXITSTATUS(how) == 1;
}

int main(void)
{
    /* Each run is a process, so only a sample of scenes runs, reduced further by ZT_STEP.
     * ZT_COLD_STEP=1 runs all in a minute. */
    const char *all = getenv("ZT_COLD_STEP");
    long step = all ? atol(all) : 17 * (long)case_step(), faults = 0;
    size_t i;
    int how = 0, is_limited = limits_address_space();
    pid_t child;
    entry_begin("fault_cold");
    printed = tmpfile();
    REQUIRE(printed != NULL && step > 0);
    fflush(NULL);
    child = fork(); /* fork, so that this process never calls the library */
    if (child == 0) {
        entry_files();
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    entry_read_good();
    for (persistent = 0; persistent < 2; persistent++) {
        static const struct entry_scene cramped = {"no_address_space", no_address_space, ZT_ERROR_OUT_OF_MEMORY};
        long of_cramped = 1;
        while (is_limited && of_cramped < 1000 && check_failures < 20 && fails_well(&cramped, of_cramped))
            of_cramped++;
        CHECK(!is_limited || (of_cramped > 3 && of_cramped < 1000));
        for (i = 0; i < COUNT(entry_scenes) && check_failures < 20; i++) {
            /* The first allocations differ from those of a process that used the library before. */
            long n = 1, most = 20000;
            while (n < most && check_failures < 20 && fails_well(&entry_scenes[i], n))
                faults++, n += n < 8 ? 1 : step;
            CHECK(n < most);
            if (getenv("ZT_TEST_VERBOSE"))
                fprintf(stderr, "%s%s: %ld allocations\n", entry_scenes[i].name, persistent ? ", from then on" : "", n);
        }
    }
    CHECK(faults > 200);
    printf("fault_cold: %ld failing allocations\n", faults);
    fclose(printed);
    entry_end();
    return check_done("fault_cold");
}
