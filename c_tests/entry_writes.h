/* Scenes of entry_points.h that write: new files, appends, edits, copies, repairs. */
#ifndef ENTRY_WRITES_H
#define ENTRY_WRITES_H

#include "entry_files.h"

static zt_status write_raw(void) { return entry_create(entry_target, ZT_ENCODING_RAW, ZT_DIGEST_NONE, 1, 0); }
static zt_status write_hashed(void) { return entry_create(entry_target, ZT_ENCODING_RAW, ZT_DIGEST_SHA256, 2, 0); }
static zt_status write_zstd(void) { return entry_create(entry_target, ZT_ENCODING_ZSTD, ZT_DIGEST_CRC32C, 1, 0); }
static zt_status write_threads(void) { return entry_create(entry_target, ZT_ENCODING_ZSTD, ZT_DIGEST_SHA256, 3, 0); }
static zt_status write_durable(void) { return entry_create(entry_target, ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, 2, 1); }
static zt_status write_nowhere(void) { return entry_create(entry_long, ZT_ENCODING_RAW, ZT_DIGEST_NONE, 1, 0); }
static zt_status write_on_a_folder(void) { return entry_create(entry_folder, ZT_ENCODING_RAW, ZT_DIGEST_NONE, 1, 0); }

static zt_status append_to(const char *path)
{
    zt_writer *w = NULL;
    zt_status status = zt_write_append(path, NULL, &w);
    return status == ZT_OK ? entry_finish(w, entry_tensors(w)) : status;
}

static zt_status append_tensors(void) { return append_to(entry_target); }

static zt_status edit_objects(void)
{
    const uint64_t few = ENTRY_FEW;
    const zt_attribute null = attribute(ZT_ATTRIBUTE_KIND_NULL), gone = attribute(ZT_ATTRIBUTE_KIND_REMOVE);
    zt_writer *w = NULL;
    zt_status status;
    TRY(zt_write_append(entry_target, NULL, &w));
    TRY(zt_write_remove(w, "u8", 0));
    TRY(zt_write_dense(w, "u8", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, entry_data, ENTRY_FEW));
    TRY(zt_write_rename(w, "f32", 0, "swap", 0));
    TRY(zt_write_rename(w, "f64", 0, "f32", 0));
    TRY(zt_write_rename(w, "swap", 0, "f64", 0));
    TRY(zt_write_attribute(w, "f64", 0, "one", &null));
    TRY(zt_write_attribute(w, "f64", 0, "two", &null));
    TRY(zt_write_attribute(w, "f64", 0, "one", &gone));
    if ((status = zt_write_rename(w, "i8", 0, "u8", 0)) == ZT_ERROR_EXISTS)
        status = zt_write_remove(w, "nobody", 0) == ZT_ERROR_NOT_FOUND ? ZT_OK : ZT_ERROR_INTERNAL;
end:
    return entry_finish(w, status);
}

static zt_status append_to_nothing(void) { return append_to(entry_long); }
static zt_status append_to_a_cut_file(void) { return append_to(entry_cut); }
static zt_status append_to_0_1(void) { return append_to(data_path("v0.1/py-0.1.4-shapes.zt")); }

static int entry_sink_left; /* bytes until the sink fails */

static zt_status entry_sink_write(void *context, const void *data, size_t n)
{
    (void)context, (void)data;
    entry_sink_left -= (int)n;
    return entry_sink_left < 0 ? ZT_ERROR_IO : ZT_OK;
}

static zt_status entry_sink(int bytes)
{
    zt_writer *w = NULL;
    zt_sink sink;
    zt_status status;
    INIT(sink);
    sink.write = entry_sink_write;
    entry_sink_left = bytes;
    status = zt_write_create_sink(&sink, NULL, &w);
    return status == ZT_OK ? entry_finish(w, entry_tensors(w)) : status;
}

static zt_status sink_tensors(void) { return entry_sink(1 << 30); }
static zt_status sink_that_fails(void) { return entry_sink(10000); }

/* Attributes with the maximum depth: written, read, printed, copied, kept by an append. */
static zt_status nest_attributes(void)
{
    enum { DEPTH = 64 };
    static char json[8 * DEPTH + 16];
    zt_writer *w = NULL;
    zt_file *file = NULL;
    zt_status status;
    size_t needed;
    char *end = json;
    int i;
    for (i = 0; i < DEPTH; i++)
        end += sprintf(end, i % 2 ? "{\"a\":" : "[");
    end += sprintf(end, "1.25e3");
    for (i = DEPTH; i-- > 0;)
        *end++ = i % 2 ? '}' : ']';
    *end = 0;
    TRY(zt_write_create(entry_target, NULL, &w));
    TRY(set_json(w, NULL, "deep", json));
    status = zt_write_finish(w, NULL);
    w = NULL;
    TRY(status);
    TRY(zt_write_append(entry_target, NULL, &w));
    TRY(set_json(w, NULL, "more", json));
    status = zt_write_finish(w, NULL);
    w = NULL;
    TRY(status);
    TRY(zt_open(entry_target, NULL, &file));
    TRY(zt_value_to_json(zt_file_attributes(file), (char *)entry_buffer, ENTRY_BUFFER_SIZE, &needed));
    status = strstr((char *)entry_buffer, "[{\"a\":[{\"a\":1250") ? ZT_OK : ZT_ERROR_INTERNAL;
end:
    zt_write_abort(w);
    zt_close(file);
    return status;
}

/* Calls that a writer rejects; the writer is aborted. */
static zt_status write_what_is_refused(void)
{
    const uint64_t few = 4;
    zt_writer *w = NULL;
    zt_status status;
    TRY(zt_write_create(entry_target, NULL, &w));
    if ((status = set_json(w, NULL, "x", "{\"a\":")) != ZT_ERROR_INVALID_ARGUMENT)
        goto end;
    if ((status = zt_write_data(w, "abcd", 4)) != ZT_ERROR_STATE)
        goto end;
    TRY(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, "abcd", 4));
    status = zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, "abcd", 4);
end:
    zt_write_abort(w);
    return status;
}

static zt_status copy_tensors(void)
{
    zt_writer *w = NULL;
    zt_file *file = NULL;
    zt_status status;
    size_t i;
    zt_copy_options named;
    INIT(named);
    named.name = "another name";
    TRY(zt_open(entry_good, NULL, &file));
    TRY(zt_write_create(entry_target, NULL, &w));
    TRY(zt_write_copy_attributes(w, file));
    for (i = 0; i < zt_object_count(file); i++)
        TRY(zt_write_copy(w, zt_object_at(file, i), i == 0 ? &named : NULL));
    named.name = "as zstd", named.encoding = ZT_ENCODING_ZSTD, named.digest = ZT_DIGEST_CRC32C;
    TRY(zt_write_copy(w, zt_object_at(file, 0), &named));
    status = zt_write_finish(w, NULL);
    w = NULL;
end:
    zt_write_abort(w);
    zt_close(file);
    return status;
}

static zt_status link_objects(void)
{
    zt_write_options options;
    zt_writer *w = NULL;
    zt_file *shard = NULL;
    zt_status status;
    INIT(options);
    options.spec = ZT_SPEC_2;
    TRY(zt_open(data_path("v2/real/py-one-tensor.zt"), NULL, &shard));
    TRY(zt_write_create(entry_target, &options, &w));
    TRY(zt_write_shard(w, "one", 0, shard));
    TRY(zt_write_link(w, zt_object_at(shard, 0), NULL, 0));
    if ((status = zt_write_shard(w, "one", 0, shard)) == ZT_ERROR_EXISTS)
        status = zt_write_link(w, zt_object_at(shard, 0), NULL, 0);
end:
    zt_close(shard);
    return entry_finish(w, status);
}

static zt_status repair_path(const char *path, uint32_t dry)
{
    zt_repair_options options;
    zt_repair_report report;
    INIT(options), INIT(report);
    options.dry_run = dry;
    return zt_repair(path, &options, &report);
}

static zt_status repair_torn(void) { return repair_path(entry_torn, 1); }
static zt_status repair_good(void) { return repair_path(entry_target, 0); }
static zt_status repair_nothing(void) { return repair_path(entry_long, 0); }
static zt_status repair_a_cut_file(void) { return repair_path(entry_cut, 0); }

/* Calls a DLPack tensor's deleter at its position in the struct. */
/* A tensor without a version. */
struct entry_dlpack {
    void *data;
    int32_t device[2], ndim;
    uint32_t dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *context;
    void (*deleter)(void *);
};

static void entry_delete_dlpack(void *tensor, size_t place)
{
    void (*deleter)(void *);
    memcpy(&deleter, (char *)tensor + place, sizeof deleter);
    deleter(tensor);
}

static zt_status share_dlpack(void)
{
    struct DLManagedTensorVersioned *tensor = NULL;
    struct DLManagedTensor *plain = NULL;
    zt_writer *w = NULL;
    zt_file *file = NULL;
    zt_status status;
    TRY(zt_open(entry_good, NULL, &file));
    TRY(zt_write_create(entry_target, NULL, &w));
    TRY(zt_object_to_dlpack(zt_object_find(file, "plain"), &tensor));
    status = zt_write_dlpack(w, "a", 0, tensor);
    entry_delete_dlpack(tensor, 8 + sizeof(void *)); /* after the version and the context */
    TRY(status);
    TRY(zt_component_to_dlpack(zt_component_find(zt_object_find(file, "batch 1"), "data"), &tensor));
    entry_delete_dlpack(tensor, 8 + sizeof(void *)); /* after the version and the context */
    TRY(zt_object_to_dlpack_unversioned(zt_object_find(file, "floats"), &plain));
    status = zt_write_dlpack_unversioned(w, "b", 0, plain);
    entry_delete_dlpack(plain, offsetof(struct entry_dlpack, deleter));
end:
    zt_write_abort(w);
    zt_close(file);
    return status;
}

#endif
