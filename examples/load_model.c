/*
 * Loads a complete model into one block of memory, like an inference engine: one batch of reads, many
 * threads, and every digest checked.
 *
 *     load_model FILE [THREADS]
 */
#define _POSIX_C_SOURCE 200112L /* isatty */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <ztensor.h>

#define ALIGNMENT 64

static int show_progress(void *context, uint64_t done, uint64_t total)
{
    int *last = context;
    int percent = total ? (int)(100.0 * (double)done / (double)total) : 100;

    if (percent != *last)
        fprintf(stderr, "\rloading %3d%%%s", percent, percent == 100 ? "\r            \r" : "");
    *last = percent;
    return 0; /* a value other than 0 stops the load */
}

/*
 * Makes a request for every component. The caller chooses the destinations, here one after the other. Sizes
 * come from the file, so their sum is checked. Returns 0 if it exceeds memory.
 */
static int plan(const zt_file *file, zt_read_request *requests, size_t *n, size_t *total)
{
    *n = *total = 0;
    for (size_t i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        for (size_t j = 0; j < zt_component_count(object); j++, ++*n) {
            const zt_component *component = zt_component_at(object, j);
            uint64_t size = zt_component_size(component);
            if (size > SIZE_MAX / 2 - *total)
                return 0;
            if (requests)
                requests[*n] = (zt_read_request){.struct_size = sizeof *requests, .component = component,
                                                 .length = ZT_WHOLE, .dst_size = (size_t)size, .tag = *total};
            *total += ((size_t)size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    return 1;
}

static int load(const zt_file *file, const char *path, uint32_t threads)
{
    int last = -1, failed = 1;
    zt_read_options options = {.struct_size = sizeof options, .threads = threads, .verify = 1, .context = &last,
                               .progress = isatty(2) ? show_progress : NULL};
    zt_read_stats stats = ZT_INIT(zt_read_stats);
    size_t n, total;
    int fits = plan(file, NULL, &n, &total);
    zt_read_request *requests = fits ? calloc(n ? n : 1, sizeof *requests) : NULL;
    char *block = fits ? malloc(total + ALIGNMENT) : NULL;

    if (!requests || !block) {
        fprintf(stderr, "%s: does not fit in memory\n", path);
    } else {
        char *start = block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
        plan(file, requests, &n, &total);
        for (size_t i = 0; i < n; i++)
            requests[i].dst = start + requests[i].tag;
        failed = zt_read_batch(file, requests, n, &options, &stats) != ZT_OK;
        if (failed)
            fprintf(stderr, "%s\n", zt_last_error());
        else
            printf("%s: %" PRIu64 " tensors, %" PRIu64 " bytes, %" PRIu64 " digests verified, %.3f s (%.2f GB/s)\n",
                   path, stats.requests, stats.bytes, stats.digests_verified, (double)stats.nanoseconds / 1e9,
                   (double)stats.bytes / (double)(stats.nanoseconds + 1));
    }
    free(requests);
    free(block);
    return failed;
}

int main(int argc, char **argv)
{
    zt_file *file;
    int failed;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: load_model FILE [THREADS]\n");
        return 2;
    }
    if (zt_open(argv[1], NULL, &file) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    failed = load(file, argv[1], argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0);
    zt_close(file);
    return failed;
}
