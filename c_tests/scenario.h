/* Complete uses of the library for the tests of injected faults. Each ends with a status. If it is ZT_OK,
 * there is also a hash of what was read, or a file that was written. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <dirent.h>
#include <sys/stat.h>

#include "attributes.h"
#include "writing.h"
#include "ztensor_dlpack.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if ((status = (call)) != ZT_OK)                                                                                \
            goto end;                                                                                                  \
    } while (0)

static char scene_source[4096]; /* a file to read */
static char scene_old[4096];    /* the file before an append */
static char scene_torn[4096];   /* the file with a truncated append */
static char scene_target[4096]; /* the file that scenes write */
static const char *scene_folder;
static unsigned char *scene_big; /* a compressible megabyte, and a part of it */
static const size_t scene_big_size = (1 << 20) + 70000;
static uint64_t scene_sum; /* hash of what was read */

static inline void scene_add(const void *data, size_t size)
{
    const unsigned char *p = (const unsigned char *)data;
    uint64_t word = size, sum = scene_sum;
    for (; size > 0; p += sizeof word) {
        size_t n = size < sizeof word ? size : sizeof word;
        sum = (sum ^ word) * 1099511628211u;
        sum ^= sum >> 29;
        memcpy(&word, p, n);
        size -= n;
    }
    scene_sum = (sum ^ word) * 1099511628211u;
}

static inline zt_status scene_read(zt_mode mode)
{
    zt_open_options options;
    zt_file *file = NULL;
    zt_csr csr;
    zt_coo coo;
    zt_tensor tensor;
    zt_status status;
    size_t i, j, size;
    INIT(options), INIT(csr), INIT(coo), INIT(tensor);
    options.mode = mode;
    TRY(zt_open(scene_source, &options, &file));
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        scene_add(zt_object_name(object), object_info(object).name_length);
        for (j = 0; j < zt_component_count(object); j++) {
            const zt_component *component = zt_component_at(object, j);
            zt_buffer *buffer = NULL;
            TRY(zt_component_load(component, NULL, &buffer));
            scene_add(zt_buffer_data(buffer), zt_buffer_size(buffer));
            zt_buffer_free(buffer);
        }
    }
    TRY(zt_tensor_find(file, "big", &tensor));
    scene_add(tensor.data, 4096);
    TRY(zt_csr_view(zt_object_find(file, "csr"), &csr));
    scene_add(csr.indptr.data, csr.indptr.size);
    TRY(zt_coo_view(zt_object_find(file, "coo"), &coo));
    scene_add(coo.coords.data, coo.coords.size);
    TRY(zt_value_to_json(zt_file_attributes(file), NULL, 0, &size));
    scene_add(&size, sizeof size);
    TRY(zt_verify(file, NULL, NULL));
end:
    zt_close(file);
    return status;
}

static inline zt_status scene_map(void)
{
    return scene_read(ZT_MODE_MAP);
}

static inline zt_status scene_pread(void)
{
    return scene_read(ZT_MODE_READ);
}

/* A DLPack tensor of every dense object. Only the positions of deleter and data in the struct matter. */
static inline zt_status scene_dlpack(void)
{
    zt_open_options options;
    zt_file *file = NULL;
    zt_status status;
    size_t i;
    INIT(options);
    options.mode = ZT_MODE_READ;
    TRY(zt_open(scene_source, &options, &file));
    for (i = 0; i < zt_object_count(file); i++) {
        struct DLManagedTensorVersioned *tensor = NULL;
        void (*deleter)(struct DLManagedTensorVersioned *);
        void *data;
        if (zt_object_format(zt_object_at(file, i)) != ZT_FORMAT_DENSE)
            continue;
        TRY(zt_object_to_dlpack(zt_object_at(file, i), &tensor));
        /* after the version and the context */
        memcpy(&deleter, (char *)tensor + 8 + sizeof(void *), sizeof deleter);
        memcpy(&data, (char *)tensor + 16 + 2 * sizeof(void *), sizeof data);  /* after the flags */
        scene_add(data, 64);
        deleter(tensor);
    }
end:
    zt_close(file);
    return status;
}

/* Two threads, a small chunk, ranges and digests. */
static inline zt_status scene_batch(void)
{
    static unsigned char whole[(1 << 20) + 70000], part[100000], plain[40000];
    zt_open_options options;
    zt_read_options how;
    zt_read_request requests[3];
    zt_file *file = NULL;
    zt_status status;
    INIT(options), INIT(how), INIT(requests[0]), INIT(requests[1]), INIT(requests[2]);
    memset(whole, 0, sizeof whole), memset(part, 0, sizeof part), memset(plain, 0, sizeof plain);
    options.mode = ZT_MODE_READ;
    TRY(zt_open(scene_source, &options, &file));
    requests[0].component = component_of(file, "big", "data");
    requests[0].length = requests[2].length = ZT_WHOLE;
    requests[0].dst = whole, requests[0].dst_size = sizeof whole;
    requests[1].component = requests[0].component;
    requests[1].offset = 1000001, requests[1].length = sizeof part;
    requests[1].dst = part, requests[1].dst_size = sizeof part;
    requests[2].component = component_of(file, "plain", "data");
    requests[2].dst = plain, requests[2].dst_size = sizeof plain;
    how.threads = 2, how.verify = 1, how.chunk_size = 65536;
    TRY(zt_read_batch(file, requests, 3, &how, NULL));
    scene_add(whole, sizeof whole), scene_add(part, sizeof part), scene_add(plain, sizeof plain);
end:
    zt_close(file);
    return status;
}

/* Typical uses of a writer: complete tensors, a stream of frames, attributes. */
static inline zt_status scene_fill(zt_writer *w)
{
    const uint64_t big = scene_big_size, few = 10000;
    const float values[4] = {1, 2, 3, 4};
    const uint64_t indptr[4] = {0, 2, 2, 4}, indices[4] = {0, 2, 1, 2};
    const uint64_t square[2] = {3, 3}, coords[8] = {0, 0, 1, 2, 0, 2, 1, 0};
    zt_write_request batch[3];
    size_t i;
    zt_component_desc part;
    zt_object_desc object;
    zt_status status;
    INIT(part), INIT(object);
    TRY(zt_write_dense(w, "plain", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &few, 1, scene_big, 40000));
    TRY(zt_write_dense(w, "big", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &big, 1, scene_big, scene_big_size));
    for (i = 0; i < 3; i++) {
        INIT(batch[i]);
        batch[i].name = i == 0 ? "batch 0" : i == 1 ? "batch 1" : "batch 2";
        batch[i].shape = i == 1 ? &big : &few, batch[i].rank = 1;
        batch[i].data = scene_big, batch[i].size = (size_t)*batch[i].shape;
        batch[i].dtype = ZT_DTYPE_U8;
    }
    TRY(zt_write_batch(w, batch, 3));
    TRY(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, square, 4, values, sizeof values, indices, indptr));
    TRY(zt_write_coo(w, "coo", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, square, 2, 4, values, sizeof values, coords));
    object.name = "streamed", object.format = ZT_FORMAT_DENSE, object.shape = &big, object.rank = 1;
    TRY(zt_write_begin(w, &object));
    TRY(set_string(w, "streamed", "unit", "metre"));
    part.role = "data", part.dtype = ZT_DTYPE_U8;
    TRY(zt_write_component(w, &part));
    TRY(zt_write_data(w, scene_big, scene_big_size / 2));
    TRY(zt_write_data(w, scene_big + scene_big_size / 2, scene_big_size / 2));
    TRY(zt_write_end(w));
    TRY(set_json(w, NULL, "config", "{\"layers\":[1,2,3],\"name\":\"test\"}"));
end:
    return status;
}

static inline zt_status scene_write(zt_encoding encoding, zt_digest digest, uint32_t durable)
{
    zt_write_options options;
    zt_writer *w = NULL;
    zt_status status;
    INIT(options);
    options.encoding = encoding, options.digest = digest, options.durable = durable, options.threads = 2;
    TRY(zt_write_create(scene_target, &options, &w));
    TRY(scene_fill(w));
    return zt_write_finish(w, NULL);
end:
    zt_write_abort(w);
    return status;
}

static inline zt_status scene_raw(void)
{
    return scene_write(ZT_ENCODING_RAW, ZT_DIGEST_NONE, 0);
}

/* A thread hashes while the writer writes. */
static inline zt_status scene_hashed(void)
{
    return scene_write(ZT_ENCODING_RAW, ZT_DIGEST_SHA256, 0);
}

static inline zt_status scene_zstd(void)
{
    return scene_write(ZT_ENCODING_ZSTD, ZT_DIGEST_SHA256, 1);
}

static inline zt_status scene_append(void)
{
    zt_write_options options;
    zt_writer *w = NULL;
    zt_status status;
    INIT(options);
    options.durable = 1;
    TRY(zt_write_append(scene_target, &options, &w));
    TRY(scene_fill(w));
    return zt_write_finish(w, NULL);
end:
    zt_write_abort(w);
    return status;
}

static inline zt_status scene_copy(void)
{
    zt_writer *w = NULL;
    zt_file *file = NULL;
    zt_status status;
    size_t i;
    TRY(zt_open(scene_source, NULL, &file));
    TRY(zt_write_create(scene_target, NULL, &w));
    for (i = 0; i < zt_object_count(file); i++)
        TRY(zt_write_copy(w, zt_object_at(file, i), NULL));
    status = zt_write_finish(w, NULL);
    w = NULL;
end:
    zt_write_abort(w);
    zt_close(file);
    return status;
}

static inline zt_status scene_repair(void)
{
    return zt_repair(scene_target, NULL, NULL);
}

enum { READS, CREATES, APPENDS, REPAIRS };

typedef struct scene {
    const char *name;
    zt_status (*run)(void);
    int kind;
} scene;

static const scene scenes[] = {
    {"read through a map", scene_map, READS},   {"read by pread", scene_pread, READS},
    {"batch", scene_batch, READS},              {"write raw", scene_raw, CREATES},
    {"dlpack", scene_dlpack, READS},            {"write hashed", scene_hashed, CREATES},
    {"write zstd, durable", scene_zstd, CREATES}, {"copy", scene_copy, CREATES},
    {"append", scene_append, APPENDS},          {"repair", scene_repair, REPAIRS},
};

/* Restores the target before a scene: an old file or, for a repair, a broken one. */
static inline void scene_reset(const scene *s)
{
    size_t size;
    unsigned char *bytes = read_file(s->kind == REPAIRS ? scene_torn : scene_old, &size);
    write_file(scene_target, bytes, size);
    free(bytes);
}

static inline size_t scene_files(void)
{
    DIR *d = opendir(scene_folder);
    size_t n = 0;
    REQUIRE(d != NULL);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static inline void scene_begin(const char *folder_name)
{
    static char folder[4096];
    zt_write_options options;
    zt_writer *w = NULL;
    unsigned char *old, *now;
    size_t i, old_size, now_size;
    scene_folder = strcpy(folder, scratch_path(folder_name));
    REQUIRE(mkdir(folder, 0700) == 0);
    snprintf(scene_source, sizeof scene_source, "%.4000s/source.zt", folder);
    snprintf(scene_old, sizeof scene_old, "%.4000s/old.zt", folder);
    snprintf(scene_torn, sizeof scene_torn, "%.4000s/torn.zt", folder);
    snprintf(scene_target, sizeof scene_target, "%.4000s/target.zt", folder);
    scene_big = (unsigned char *)malloc(scene_big_size);
    REQUIRE(scene_big != NULL);
    for (i = 0; i < scene_big_size; i++)
        scene_big[i] = (unsigned char)((i * i) >> 11 & 15);
    INIT(options);
    options.encoding = ZT_ENCODING_ZSTD, options.digest = ZT_DIGEST_CRC32C, options.frame_size = 1 << 18;
    REQUIRE(zt_write_create(scene_source, &options, &w) == ZT_OK);
    REQUIRE(scene_fill(w) == ZT_OK);
    REQUIRE(zt_write_finish(w, NULL) == ZT_OK);
    old = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &old_size);
    write_file(scene_old, old, old_size);
    write_file(scene_target, old, old_size);
    REQUIRE(scene_append() == ZT_OK);
    now = read_file(scene_target, &now_size);
    memcpy(now, old, old_size); /* the old end is not cleared yet */
    write_file(scene_torn, now, now_size - 5);
    free(old), free(now);
}

static inline void scene_end(void)
{
    remove(scene_source), remove(scene_old), remove(scene_torn), remove(scene_target);
    CHECK(remove(scene_folder) == 0);
    free(scene_big);
}

#endif
