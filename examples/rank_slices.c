/*
 * A tensor-parallel loader: reads the part of a model for one rank, in one batch over all files. Matrices are
 * cut by columns, other tensors by their first dimension. If a tensor cannot be cut evenly, every rank has
 * all of it.
 *
 *     rank_slices MODEL RANK RANKS        MODEL: a file, an index, or one of the shards
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ztensor.h>

enum { MOST_DIMENSIONS = 8 };

static int fail(void)
{
    fprintf(stderr, "%s\n", zt_last_error());
    return 1;
}

/* A request, and the numbers that it points to. */
typedef struct part {
    uint64_t start[MOST_DIMENSIONS], count[MOST_DIMENSIONS], size;
} part;

/* The rank's part of an object; 0 if the object has no data to cut. */
static int plan(const zt_object *object, uint64_t rank, uint64_t ranks, zt_read_request *request, part *part)
{
    const zt_component *data = zt_component_find(object, "data");
    const uint64_t *shape = zt_object_shape(object);
    size_t dimensions = zt_object_rank(object), cut = dimensions == 2 ? 1 : 0;

    part->size = zt_component_size(data);
    if (zt_object_format(object) != ZT_FORMAT_DENSE || !data || part->size == ZT_UNKNOWN_SIZE)
        return 0;
    *request = (zt_read_request){.struct_size = sizeof *request, .component = data, .length = ZT_WHOLE};
    if (dimensions == 0 || dimensions > MOST_DIMENSIONS || shape[cut] % ranks != 0)
        return 1;
    for (size_t i = 0; i < dimensions; i++) {
        part->count[i] = i == cut ? shape[i] / ranks : shape[i];
        part->start[i] = i == cut ? rank * part->count[i] : 0;
    }
    request->length = 0;
    request->start = part->start;
    request->count = part->count;
    part->size /= ranks;
    return 1;
}

static int load(zt_file *model, uint64_t rank, uint64_t ranks)
{
    size_t objects = zt_object_count(model), count = 0;
    zt_read_request *requests = calloc(objects + 1, sizeof *requests);
    part *parts = calloc(objects + 1, sizeof *parts);
    zt_read_stats stats = ZT_INIT(zt_read_stats);
    unsigned char *memory = NULL;
    uint64_t size = 0, sum = 0;
    int failed = !requests || !parts;

    for (size_t i = 0; !failed && i < objects; i++)
        count += (size_t)plan(zt_object_at(model, i), rank, ranks, &requests[count], &parts[count]);
    for (size_t i = 0; !failed && i < count; i++) {
        failed = size + parts[i].size < size; /* sizes come from the file and may be wrong */
        size += parts[i].size;
    }
    failed = failed || size > SIZE_MAX - 1 || !(memory = malloc((size_t)size + 1));
    size = 0;
    for (size_t i = 0; !failed && i < count; i++) {
        requests[i].dst = memory + size;
        requests[i].dst_size = (size_t)parts[i].size;
        size += parts[i].size;
    }
    if (failed)
        fprintf(stderr, "no memory\n");
    else if (zt_read_batch(model, requests, count, NULL, &stats) != ZT_OK)
        failed = fail();
    for (uint64_t i = 0; !failed && i < size; i++)
        sum += memory[i];
    if (!failed)
        printf("rank %" PRIu64 " of %" PRIu64 ": %zu tensors, %" PRIu64 " bytes of %zu files, sum %" PRIu64 "\n", rank, ranks, count,
               size, zt_part_count(model), sum);
    free(memory);
    free(parts);
    free(requests);
    return failed;
}

int main(int argc, char **argv)
{
    uint64_t rank, ranks;
    zt_file *model;
    int failed;

    if (argc != 4 || (ranks = strtoull(argv[3], NULL, 10)) == 0 || (rank = strtoull(argv[2], NULL, 10)) >= ranks) {
        fprintf(stderr, "usage: rank_slices MODEL RANK RANKS\n");
        return 2;
    }
    if (zt_open_model(argv[1], NULL, &model) != ZT_OK)
        return fail();
    failed = load(model, rank, ranks);
    zt_close(model);
    return failed;
}
