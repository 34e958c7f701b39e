/* Counted checks. A program calls CHECK... and returns check_done("name"). */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ztensor_advanced.h"

static unsigned long check_count, check_failures;

/* Tests with thousands of cases run every so many-th of them: all of them take long under valgrind or an
 * emulator. */
static inline unsigned long case_step(void)
{
    const char *text = getenv("ZT_STEP");
    const unsigned long step = text ? strtoul(text, NULL, 10) : 1;
    return step ? step : 1;
}

static inline int check_that(int good, const char *file, int line, const char *text, const char *more)
{
    check_count++;
    if (!good && check_failures++ < 20) { /* print the first ones */
        fprintf(stderr, "%s:%d: %s%s\n    last error: %s\n", file, line, text, more, zt_last_error());
    }
    return good;
}

static inline int check_status(zt_status got, zt_status want, const char *file, int line, const char *text)
{
    char more[96];
    snprintf(more, sizeof more, "\n    is %s, not %s", zt_status_name(got), zt_status_name(want));
    return check_that(got == want, file, line, text, more);
}

static inline int check_u64(uint64_t got, uint64_t want, const char *file, int line, const char *text)
{
    char more[96];
    snprintf(more, sizeof more, "\n    is %llu, not %llu", (unsigned long long)got, (unsigned long long)want);
    return check_that(got == want, file, line, text, more);
}

static inline int check_str(const char *got, const char *want, const char *file, int line, const char *text)
{
    char more[512];
    snprintf(more, sizeof more, "\n    is \"%.200s\", not \"%.200s\"", got ? got : "(NULL)", want);
    return check_that(got && strcmp(got, want) == 0, file, line, text, more);
}

static inline int check_done(const char *name)
{
    int good = check_failures == 0 && check_count > 0;
    if (good)
        printf("ok %s: %lu checks\n", name, check_count);
    else
        fprintf(stderr, "FAILED %s: %lu of %lu checks\n", name, check_failures, check_count);
    return good ? 0 : 1;
}

#define CHECK(cond) check_that(!!(cond), __FILE__, __LINE__, #cond, "")
#define CHECK_STATUS(call, want) check_status((call), (want), __FILE__, __LINE__, #call)
#define CHECK_U64(got, want) check_u64((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) check_str((got), (want), __FILE__, __LINE__, #got)
/* For conditions that the rest of a program needs: ends the program if it is false. */
#define REQUIRE(cond) ((void)(CHECK(cond) || (exit(check_done(__FILE__) | 1), 0)))

#endif
