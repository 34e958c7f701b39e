/* Common code of the tests of opening. */
#ifndef OPENING_H
#define OPENING_H

#include "support.h"

/* Not NULL, to see that a failed open sets it to NULL. */
static zt_file *const sentinel = (zt_file *)&check_count;

static inline void expect_failure(const char *path, const zt_open_options *options, zt_status want)
{
    zt_file *file = sentinel;
    if (!CHECK_STATUS(zt_open(path, options, &file), want)) {
        fprintf(stderr, "    path: %s\n", path);
        if (file && file != sentinel)
            zt_close(file);
        return;
    }
    CHECK(file == NULL);
    CHECK(strchr(zt_last_error(), '\n') == NULL);
}

#endif
