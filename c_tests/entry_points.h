/* Every function of the headers, called as an application calls it, in scenes that work and in scenes that fail; for the
 * tests of what all of them promise (memory, stack). A scene needs nothing but the files that entry_files() makes, and
 * returns the status that it ended with. tests/header.rs holds this file against the headers. */
#ifndef ENTRY_POINTS_H
#define ENTRY_POINTS_H

#include <fcntl.h>
#include <sys/stat.h>

#include "attributes.h"
#include "writing.h"
#include "ztensor_dlpack.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if ((status = (call)) != ZT_OK)                                                                                \
            goto end;                                                                                                  \
    } while (0)

enum { ENTRY_BIG = 300000, ENTRY_FEW = 5000, ENTRY_BUFFER_SIZE = 1 << 20 };

static char entry_folder[4000];
static char entry_good[4096];    /* a file to read */
static char entry_damaged[4096]; /* the same, with one byte of "plain" changed */
static char entry_cut[4096];     /* its first half */
static char entry_old[4096];     /* what the target is before each scene */
static char entry_torn[4096];    /* an append to it that was cut off */
static char entry_target[4096];  /* what is written to */
static char entry_long[4096];    /* a path of more than 384 bytes, of no file */
static unsigned char entry_data[ENTRY_BIG], entry_buffer[ENTRY_BUFFER_SIZE];
static unsigned char *entry_bytes; /* of entry_good */
static size_t entry_size;

static zt_status entry_tensors(zt_writer *w)
{
    const uint64_t big = ENTRY_BIG, few = ENTRY_FEW, square[2] = {3, 3}, matrix[2] = {16, 8}, four = 4;
    const uint64_t indptr[4] = {0, 2, 2, 4}, indices[4] = {0, 2, 1, 2}, coords[8] = {0, 0, 1, 2, 0, 2, 1, 0};
    const float values[4] = {1, 2, 3, 4};
    zt_write_request batch[3];
    zt_quantized_desc q;
    zt_component_desc part;
    zt_object_desc object;
    const char *const words[3] = {"one", "two", "three"};
    const zt_attribute null = attribute(ZT_ATTRIBUTE_NULL);
    zt_status status;
    size_t i;
    INIT(q), INIT(part), INIT(object);
    TRY(zt_writer_add_dense(w, "plain", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, entry_data, ENTRY_FEW));
    TRY(zt_writer_add_dense(w, "floats", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &four, 1, values, sizeof values));
    for (i = 0; i < 3; i++) {
        INIT(batch[i]);
        batch[i].name = i == 0 ? "batch 0" : i == 1 ? "batch 1" : "batch 2";
        batch[i].shape = i == 1 ? &big : &few, batch[i].rank = 1;
        batch[i].data = entry_data, batch[i].size = (size_t)*batch[i].shape;
        batch[i].dtype = ZT_DTYPE_U8;
        batch[i].encoding = i == 1 ? ZT_ENCODING_ZSTD : ZT_ENCODING_DEFAULT;
    }
    TRY(zt_writer_add_batch(w, batch, 3));
    TRY(zt_writer_add_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, square, 4, values, sizeof values, indices, indptr));
    TRY(zt_writer_add_coo(w, "coo", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, square, 2, 4, values, sizeof values, coords));
    q.packed_weight = q.scales = entry_data, q.packed_weight_size = 64, q.scales_size = 32;
    q.packed_weight_dtype = ZT_DTYPE_I32, q.scales_dtype = ZT_DTYPE_F16, q.bits = 4, q.group_size = 8;
    q.zeros = entry_data, q.zeros_size = 32, q.zeros_dtype = ZT_DTYPE_F16;
    TRY(zt_writer_add_quantized(w, "quantized", 0, matrix, 2, &q));
    part.role = "data", part.dtype = ZT_DTYPE_U8, part.data = entry_data, part.size = ENTRY_FEW;
    object.name = "object", object.format = ZT_FORMAT_DENSE, object.shape = &few, object.rank = 1;
    object.components = &part, object.component_count = 1;
    object.attributes_json = "{\"a\":[1,2.5,{\"b\":null}]}";
    TRY(zt_writer_add_object(w, &object));
    object.name = "streamed", object.shape = &big, object.components = NULL, object.component_count = 0;
    TRY(zt_writer_begin_object(w, &object));
    TRY(zt_writer_set_open_object_attribute(w, "null", &null));
    TRY(write_remove(w, "null"));
    TRY(write_strings(w, "strings", words, NULL, 3));
    TRY(write_bool(w, "flag", 1));
    TRY(write_i64(w, "below", -3));
    TRY(write_u64(w, "above", 3));
    TRY(write_f64(w, "real", 1.5));
    TRY(write_string(w, "unit", "metre"));
    TRY(write_bytes(w, "raw", entry_data, 10));
    TRY(write_json(w, "json", "{\"k\":[1,2,3]}"));
    part.data = NULL, part.size = 0, part.encoding = ZT_ENCODING_ZSTD;
    TRY(zt_writer_add_component(w, &part));
    TRY(zt_writer_add_data(w, entry_data, ENTRY_BIG / 2));
    TRY(zt_writer_add_data(w, entry_data + ENTRY_BIG / 2, ENTRY_BIG - ENTRY_BIG / 2));
    TRY(zt_writer_end_object(w));
    TRY(zt_writer_set_attribute(w, "null", &null));
    TRY(set_remove(w, "null"));
    TRY(set_numbers(w, "numbers", ZT_DTYPE_U16, entry_data, 100));
    TRY(set_bool(w, "flag", 0));
    TRY(set_i64(w, "below", -3));
    TRY(set_u64(w, "above", 3));
    TRY(set_f64(w, "real", 1.5));
    TRY(set_string(w, "unit", "second"));
    TRY(set_bytes(w, "raw", entry_data, 10));
    TRY(set_json(w, "config", "{\"layers\":[1,2,3],\"name\":\"test\",\"deep\":[[[[1.25e3]]]]}"));
end:
    return status;
}

static zt_status entry_finish(zt_writer *w, zt_status status)
{
    zt_write_summary summary;
    INIT(summary);
    if (status == ZT_OK)
        return zt_writer_finish(w, &summary);
    zt_writer_abort(w);
    return status;
}

static zt_status entry_create(const char *path, zt_encoding encoding, zt_digest digest, uint32_t threads, uint32_t durable)
{
    zt_writer_options options;
    zt_writer *w = NULL;
    zt_status status;
    INIT(options);
    options.encoding = encoding, options.digest = digest, options.threads = threads, options.durable = durable;
    options.frame_size = 65536, options.large_size = 100000, options.large_alignment = 4096;
    status = zt_writer_create(path, &options, &w);
    return status == ZT_OK ? entry_finish(w, entry_tensors(w)) : status;
}

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
    zt_status status = zt_writer_append(path, NULL, &w);
    return status == ZT_OK ? entry_finish(w, entry_tensors(w)) : status;
}

static zt_status append_tensors(void) { return append_to(entry_target); }

static zt_status edit_objects(void)
{
    const uint64_t few = ENTRY_FEW;
    const zt_attribute null = attribute(ZT_ATTRIBUTE_NULL), gone = attribute(ZT_ATTRIBUTE_REMOVE);
    zt_writer *w = NULL;
    zt_status status;
    TRY(zt_writer_append(entry_target, NULL, &w));
    TRY(zt_writer_remove_object(w, "u8", 0));
    TRY(zt_writer_add_dense(w, "u8", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, entry_data, ENTRY_FEW));
    TRY(zt_writer_rename_object(w, "f32", 0, "swap", 0));
    TRY(zt_writer_rename_object(w, "f64", 0, "f32", 0));
    TRY(zt_writer_rename_object(w, "swap", 0, "f64", 0));
    TRY(zt_writer_set_object_attribute(w, "f64", 0, "one", &null));
    TRY(zt_writer_set_object_attribute(w, "f64", 0, "two", &null));
    TRY(zt_writer_set_object_attribute(w, "f64", 0, "one", &gone));
    if ((status = zt_writer_rename_object(w, "i8", 0, "u8", 0)) == ZT_ERROR_EXISTS)
        status = zt_writer_remove_object(w, "nobody", 0) == ZT_ERROR_NOT_FOUND ? ZT_OK : ZT_ERROR_INTERNAL;
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
    status = zt_writer_create_sink(&sink, NULL, &w);
    return status == ZT_OK ? entry_finish(w, entry_tensors(w)) : status;
}

static zt_status sink_tensors(void) { return entry_sink(1 << 30); }
static zt_status sink_that_fails(void) { return entry_sink(10000); }

/* Attributes as deep as they may be: written, read, shown, copied, taken over by an append. */
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
    TRY(zt_writer_create(entry_target, NULL, &w));
    TRY(set_json(w, "deep", json));
    status = zt_writer_finish(w, NULL);
    w = NULL;
    TRY(status);
    TRY(zt_writer_append(entry_target, NULL, &w));
    TRY(set_json(w, "more", json));
    status = zt_writer_finish(w, NULL);
    w = NULL;
    TRY(status);
    TRY(zt_open(entry_target, NULL, &file));
    TRY(zt_value_to_json(zt_file_attributes(file), (char *)entry_buffer, ENTRY_BUFFER_SIZE, &needed));
    status = strstr((char *)entry_buffer, "[{\"a\":[{\"a\":1250") ? ZT_OK : ZT_ERROR_INTERNAL;
end:
    zt_writer_abort(w);
    zt_close(file);
    return status;
}

/* What a writer refuses; its file is given up. */
static zt_status write_what_is_refused(void)
{
    const uint64_t few = 4;
    zt_writer *w = NULL;
    zt_status status;
    TRY(zt_writer_create(entry_target, NULL, &w));
    if ((status = set_json(w, "x", "{\"a\":")) != ZT_ERROR_INVALID_ARGUMENT)
        goto end;
    if ((status = zt_writer_add_data(w, "abcd", 4)) != ZT_ERROR_STATE)
        goto end;
    TRY(zt_writer_add_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, "abcd", 4));
    status = zt_writer_add_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, "abcd", 4);
end:
    zt_writer_abort(w);
    return status;
}

static zt_status copy_tensors(void)
{
    zt_writer *w = NULL;
    zt_file *file = NULL;
    zt_status status;
    size_t i;
    TRY(zt_open(entry_good, NULL, &file));
    TRY(zt_writer_create(entry_target, NULL, &w));
    TRY(zt_writer_copy_attributes(w, file));
    for (i = 0; i < zt_object_count(file); i++)
        TRY(zt_writer_add_copy(w, zt_object_at(file, i), i == 0 ? "another name" : NULL, 0));
    TRY(zt_writer_add_copy_as(w, zt_object_at(file, 0), "as zstd", 0, ZT_ENCODING_ZSTD, ZT_DIGEST_CRC32C, ZT_DTYPE_OTHER));
    status = zt_writer_finish(w, NULL);
    w = NULL;
end:
    zt_writer_abort(w);
    zt_close(file);
    return status;
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

/* A DLPack tensor ends by its own deleter, which stands where the struct has it. */
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
    TRY(zt_writer_create(entry_target, NULL, &w));
    TRY(zt_object_to_dlpack(zt_object_find(file, "plain"), &tensor));
    status = zt_writer_add_dlpack(w, "a", 0, tensor);
    entry_delete_dlpack(tensor, 2 * sizeof(void *));
    TRY(status);
    TRY(zt_component_to_dlpack(zt_component_find(zt_object_find(file, "batch 1"), "data"), &tensor));
    entry_delete_dlpack(tensor, 2 * sizeof(void *));
    TRY(zt_object_to_dlpack_unversioned(zt_object_find(file, "floats"), &plain));
    status = zt_writer_add_dlpack_unversioned(w, "b", 0, plain);
    entry_delete_dlpack(plain, 56); /* behind the tensor of 48 bytes and the context */
end:
    zt_writer_abort(w);
    zt_close(file);
    return status;
}

/* An attribute and all that is in it; few enough for an application to recurse over. */
static zt_status entry_value(const zt_value *value)
{
    zt_status status = ZT_OK;
    const char *text;
    const void *bytes;
    double real;
    uint64_t above;
    int64_t below;
    int32_t flag;
    size_t i, size;
    switch (zt_value_kind(value)) {
    case ZT_VALUE_BOOL:
        TRY(zt_value_get_bool(value, &flag));
        break;
    case ZT_VALUE_INT:
        if (zt_value_get_u64(value, &above) != ZT_OK)
            TRY(zt_value_get_i64(value, &below));
        break;
    case ZT_VALUE_FLOAT:
        TRY(zt_value_get_f64(value, &real));
        break;
    case ZT_VALUE_STRING:
        TRY(zt_value_get_string(value, &text, &size));
        break;
    case ZT_VALUE_BYTES:
        TRY(zt_value_get_bytes(value, &bytes, &size));
        break;
    case ZT_VALUE_TAG:
        (void)zt_value_dtype(value);
        TRY(zt_value_get_tag(value, &above));
        break;
    default:
        (void)zt_value_read_numbers(value, ZT_DTYPE_F64, entry_buffer, ENTRY_BUFFER_SIZE / sizeof(double));
        (void)zt_value_read_strings(value, &text, &size, 1);
        for (i = 0; i < zt_value_count(value); i++) {
            (void)zt_value_key_at(value, i);
            TRY(entry_value(zt_value_at(value, i)));
        }
    }
end:
    return status;
}

static zt_status entry_metadata(const zt_file *file)
{
    static zt_object_info infos[8];
    static zt_component_info parts[8];
    zt_status status;
    size_t i, j, n;
    INIT(infos[0]);
    TRY(zt_object_list(file, 0, infos, COUNT(infos), &n));
    INIT(parts[0]);
    TRY(zt_component_list(file, NULL, 0, parts, COUNT(parts), &n));
    (void)(zt_file_version(file) && zt_file_size(file) && zt_file_mode(file));
    (void)zt_container_name(zt_file_container(file, 0));
    {
        const void *bytes;
        uint64_t length;
        (void)zt_file_bytes(file, 0, &bytes, &length);
    }
    {
        zt_identity identity;
        INIT(identity);
        TRY(zt_file_identity(file, &identity));
        for (i = 0; i < zt_part_count(file); i++) {
            TRY(zt_part_identity(file, i, &identity));
            if (zt_part_size(file, i) != identity.size)
                return ZT_ERROR_INTERNAL;
            (void)zt_part_path(file, i);
        }
    }
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *o = zt_object_at(file, i);
        TRY(zt_object_verify(o));
        if (zt_object_find(file, zt_object_name(o)) != o || zt_object_find_n(file, zt_object_name(o), zt_object_name_length(o)) != o)
            return ZT_ERROR_INTERNAL;
        (void)(zt_object_shape(o) && zt_object_rank(o) && zt_object_element_count(o) && zt_object_format_name(o) &&
               zt_object_format(o));
        TRY(entry_value(zt_object_attributes(o)));
        for (j = 0; j < zt_component_count(o); j++) {
            const zt_component *c = zt_component_at(o, j);
            if (zt_component_find(o, zt_component_role(c)) != c || strlen(zt_component_role(c)) != zt_component_role_length(c))
                return ZT_ERROR_INTERNAL;
            if (zt_component_part(c) >= zt_part_count(file))
                return ZT_ERROR_INTERNAL;
            (void)(zt_component_dtype_name(c) && zt_component_type(c) && zt_component_type_name(c) &&
                   zt_component_encoding_name(c) && zt_component_digest(c) && zt_component_caps(c));
            {
                zt_tensor tensor;
                uint64_t measured;
                INIT(tensor);
                TRY(zt_component_measure(c, NULL, NULL, &measured));
                TRY(zt_component_read_stored(c, entry_buffer, sizeof entry_buffer));
                if (zt_component_find_n(o, zt_component_role(c), zt_component_role_length(c)) != c)
                    return ZT_ERROR_INTERNAL;
                (void)zt_value_find_n(zt_object_attributes(o), "a", 1);
                if (zt_object_format(o) == ZT_FORMAT_DENSE)
                    TRY(zt_tensor_view(o, &tensor));
            }
            (void)(zt_dtype_size(zt_component_dtype(c)) && zt_component_offset(c) && zt_component_stored_size(c) &&
                   zt_component_encoding(c));
        }
    }
    TRY(entry_value(zt_file_attributes(file)));
    TRY(zt_value_to_json(zt_value_find(zt_file_attributes(file), "config"), (char *)entry_buffer, 4096, &n));
end:
    return status;
}

static zt_status entry_views(const zt_file *file)
{
    zt_tensor tensor;
    zt_csr csr;
    zt_coo coo;
    zt_quantized quantized;
    zt_status status;
    INIT(tensor), INIT(csr), INIT(coo), INIT(quantized);
    TRY(zt_tensor_find(file, "batch 1", &tensor));
    TRY(zt_csr_view(zt_object_find(file, "csr"), &csr));
    TRY(zt_coo_view(zt_object_find(file, "coo"), &coo));
    TRY(zt_quantized_view(zt_object_find(file, "quantized"), &quantized));
end:
    return status;
}

static zt_status entry_batch(const zt_file *file, uint32_t threads, zt_direct direct)
{
    zt_read_options how;
    zt_read_stats stats;
    zt_read_request requests[4];
    const uint64_t start = 10, count = 100, step = 3;
    zt_status status;
    size_t i;
    INIT(how), INIT(stats);
    for (i = 0; i < 4; i++) {
        INIT(requests[i]);
        requests[i].component = zt_component_find(zt_object_find(file, i % 2 ? "streamed" : "plain"), "data");
        requests[i].dst = entry_buffer + i * (ENTRY_BUFFER_SIZE / 4), requests[i].dst_size = ENTRY_BUFFER_SIZE / 4;
    }
    requests[0].length = requests[3].length = ZT_WHOLE;
    requests[1].length = 200000;
    requests[2].start = &start, requests[2].count = &count, requests[2].step = &step;
    requests[3].offset = 100001, requests[3].length = 1000;
    how.threads = threads, how.direct = direct, how.verify = 1, how.chunk_size = 65536;
    TRY(zt_read_batch(file, requests, 4, &how, &stats));
end:
    return status;
}

/* A cache of three slots: the calling thread reads what is asked for, and a thread of the cache what is prefetched. */
static zt_status entry_cache(const zt_file *file)
{
    zt_cache_options how;
    zt_cache_stats stats;
    zt_cache_slice slice;
    zt_read_request requests[2];
    const uint64_t start = 10, count = 100, step = 3;
    zt_cache *cache = NULL;
    zt_status status;
    size_t i;
    INIT(how), INIT(stats), INIT(slice), INIT(requests[0]), INIT(requests[1]);
    how.budget = 32768, how.slot_size = 8192, how.threads = 1, how.verify = 1;
    requests[0].component = requests[1].component = zt_component_find(zt_object_find(file, "streamed"), "data");
    requests[0].offset = 1000, requests[0].length = 8000;
    requests[1].start = &start, requests[1].count = &count, requests[1].step = &step;
    TRY(zt_cache_create(&how, &cache));
    TRY(zt_cache_prefetch(cache, requests, 2, 1));
    for (i = 0; i < 6; i++, requests[0].offset += 5000) {
        TRY(zt_cache_get(cache, &requests[i % 2], -1, &slice));
        TRY(zt_cache_unpin(cache, &slice));
    }
    TRY(zt_cache_cancel(cache));
    TRY(zt_cache_drop(cache, requests, 2));
    TRY(zt_cache_get_stats(cache, &stats));
end:
    zt_cache_free(cache);
    return status;
}

/* The same by a load, half of it through a ring; of a failure, or at the end, it is what zt_load_finish returns. */
static zt_status entry_load(const zt_file *file, uint32_t threads)
{
    zt_load_options how;
    zt_read_request requests[4];
    zt_load_event event;
    zt_load *load = NULL;
    zt_status status;
    size_t i;
    INIT(how);
    for (i = 0; i < 4; i++) {
        INIT(requests[i]);
        requests[i].component = zt_component_find(zt_object_find(file, "plain"), "data");
        requests[i].length = ZT_WHOLE;
        if (i % 2)
            requests[i].dst = entry_buffer + i * (ENTRY_BUFFER_SIZE / 4), requests[i].dst_size = ENTRY_BUFFER_SIZE / 4;
    }
    how.threads = threads, how.chunk_size = 65536, how.slot_size = 65536, how.slot_count = 2;
    TRY(zt_load_start(requests, 4, &how, &load));
    do {
        INIT(event);
        TRY(zt_load_next(load, -1, &event));
        zt_load_release(load, &event);
    } while (event.kind != ZT_LOAD_DONE);
    if (event.status != ZT_OK)
        zt_load_cancel(load); /* too late */
end:
    i = (size_t)zt_load_finish(load, NULL);
    return status != ZT_OK ? status : (zt_status)i;
}

/* All that reads. */
static zt_status entry_read(const zt_file *file)
{
    zt_verify_options what;
    zt_verify_report report;
    zt_status status;
    const void *place;
    size_t i, j, size;
    INIT(what), INIT(report);
    TRY(entry_metadata(file));
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *o = zt_object_at(file, i);
        const uint64_t start[2] = {1, 1}, count[2] = {2, 1};
        if (zt_object_format(o) == ZT_FORMAT_DENSE)
            TRY(zt_object_read_slice(o, start, count, NULL, entry_buffer, ENTRY_BUFFER_SIZE));
        for (j = 0; j < zt_component_count(o); j++) {
            const zt_component *c = zt_component_at(o, j);
            uint64_t bytes = zt_component_size(c);
            zt_buffer *buffer = NULL;
            if ((status = zt_component_ptr(c, &place, &size)) != ZT_OK && status != ZT_ERROR_NOT_MAPPABLE)
                goto end;
            TRY(zt_component_read(c, entry_buffer, (size_t)bytes));
            TRY(zt_component_read_range(c, bytes / 3, entry_buffer, (size_t)bytes / 3));
            TRY(zt_component_verify(c));
            (void)zt_component_advise(c, ZT_ADVICE_WILLNEED); /* unsupported but for files */
            TRY(zt_component_load(c, NULL, &buffer));
            status = zt_buffer_data(buffer) && zt_buffer_size(buffer) == bytes ? ZT_OK : ZT_ERROR_INTERNAL;
            zt_buffer_free(buffer);
            TRY(status);
        }
    }
    TRY(zt_component_read_as(zt_component_find(zt_object_find(file, "floats"), "data"), ZT_DTYPE_F16, entry_buffer, 8));
    TRY(entry_views(file));
    TRY(entry_batch(file, 1, ZT_DIRECT_NEVER));
    TRY(entry_batch(file, 3, ZT_DIRECT_AUTO));
    TRY(entry_cache(file));
    TRY(entry_load(file, 1));
    TRY(entry_load(file, 3));
    what.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS | ZT_VERIFY_PADDING, what.threads = 2;
    TRY(zt_verify(file, &what, &report));
    TRY(zt_verify(file, NULL, NULL));
end:
    return status;
}

static zt_status entry_open_and_read(const char *path, zt_mode mode)
{
    zt_open_options options;
    zt_file *file = NULL;
    zt_status status;
    INIT(options);
    options.mode = mode;
    TRY(zt_open(path, &options, &file));
    zt_close(zt_retain(file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_mapped(void) { return entry_open_and_read(entry_good, ZT_MODE_MAP); }
static zt_status read_positioned(void) { return entry_open_and_read(entry_good, ZT_MODE_READ); }

static zt_status read_memory(void)
{
    zt_file *file = NULL;
    zt_status status;
    TRY(zt_open_memory(entry_bytes, entry_size, NULL, &file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

static zt_status entry_parts(const zt_file *file)
{
    zt_status status;
    size_t i;
    for (i = 0; i < zt_part_count(file); i++) {
        zt_identity identity;
        INIT(identity);
        TRY(zt_part_identity(file, i, &identity));
        if (zt_part_path(file, i) == NULL || zt_part_size(file, i) != identity.size)
            return ZT_ERROR_INTERNAL;
    }
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *o = zt_object_at(file, i);
        const zt_component *c = zt_component_at(o, 0);
        if (zt_object_find(file, zt_object_name(o)) != o || zt_component_part(c) >= zt_part_count(file))
            return ZT_ERROR_INTERNAL;
        TRY(zt_component_read(c, entry_buffer, sizeof entry_buffer));
    }
    TRY(zt_verify(file, NULL, NULL));
end:
    return status;
}

static zt_status entry_model(const char *path, uint32_t threads)
{
    zt_file *file = NULL;
    zt_open_options options;
    zt_status status;
    INIT(options);
    options.threads = threads;
    TRY(zt_open_model(path, &options, &file));
    TRY(entry_parts(file));
end:
    zt_close(file);
    return status;
}

static zt_status open_a_model(void) { return entry_model(data_path("foreign/valid/amber-hf-sharded"), 1); }
static zt_status open_a_split(void)
{
    return entry_model(data_path("foreign/valid/amber-gguf-split-hand/llm-00002-of-00003.gguf"), 2);
}
static zt_status open_without_a_part(void)
{
    return entry_model(data_path("foreign/invalid/amber-set-hf-missing-shard"), 1);
}

static zt_status read_stored_arrays(void) { return entry_model(data_path("foreign/valid/amber-fortran.npz"), 1); }
static zt_status read_deflated_arrays(void) { return entry_model(data_path("foreign/valid/amber-all-deflated.npz"), 1); }
static zt_status read_a_checkpoint(void) { return entry_model(data_path("foreign/valid/amber-shared-views.pt"), 1); }
static zt_status refuse_an_archive(void) { return entry_model(data_path("foreign/invalid/amber-npz-zip-crc-differ.npz"), 1); }
static zt_status refuse_a_pickle(void) { return entry_model(data_path("foreign/invalid/amber-pt-global-os-system.pt"), 1); }

static zt_status open_parts(void)
{
    const char *paths[2];
    zt_file *file = NULL;
    zt_status status;
    paths[0] = entry_good;
    paths[1] = data_path("v1.1/oracle-object-attributes.zt");
    TRY(zt_open_parts(paths, 2, NULL, &file));
    TRY(entry_metadata(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_descriptor(void)
{
    zt_file *file = NULL;
    zt_status status;
    int fd = open(entry_good, O_RDONLY);
    TRY(zt_open_fd(fd, 0, ZT_WHOLE, NULL, &file));
    TRY(entry_metadata(file));
end:
    zt_close(file);
    if (fd >= 0)
        close(fd);
    return status;
}

static int entry_source_calls; /* until the source fails */

static zt_status entry_source_size(void *context, uint64_t *size)
{
    (void)context;
    *size = entry_size;
    return ZT_OK;
}

static zt_status entry_source_read(void *context, uint64_t offset, void *dst, size_t n)
{
    (void)context;
    memcpy(dst, entry_bytes + offset, n);
    return __atomic_sub_fetch(&entry_source_calls, 1, __ATOMIC_RELAXED) < 0 ? ZT_ERROR_IO : ZT_OK;
}

static zt_status entry_source(int calls)
{
    zt_file *file = NULL;
    zt_source source;
    zt_status status;
    INIT(source);
    source.size = entry_source_size, source.read_at = entry_source_read;
    entry_source_calls = calls;
    TRY(zt_open_source(&source, NULL, &file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

/* A model of three parts, by name; and one that is not there. */
static zt_status entry_store_open(void *context, const char *name, zt_source *source)
{
    (void)context;
    if (strcmp(name, "good") != 0) {
        zt_set_last_error("no such file");
        return ZT_ERROR_NO_FILE;
    }
    source->size = entry_source_size, source->read_at = entry_source_read;
    source->name = "good";
    return ZT_OK;
}

static zt_status entry_store_list(void *context, const char *folder, zt_name_callback add, void *names)
{
    (void)context;
    return folder[0] ? ZT_ERROR_NOT_FOUND : add(names, "missing.zt");
}

static zt_status entry_store(const char *name)
{
    zt_file *file = NULL;
    zt_store store;
    zt_status status;
    INIT(store);
    store.open = entry_store_open, store.list = entry_store_list;
    entry_source_calls = 1 << 30;
    TRY(zt_open_model_from(&store, name, NULL, &file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_store(void) { return entry_store("good"); }
static zt_status open_a_listed_file_that_is_not_there(void) { return entry_store(""); }
static zt_status read_source(void) { return entry_source(1 << 30); }
static zt_status source_that_fails(void) { return entry_source(1); }
static zt_status source_that_fails_later(void) { return entry_source(4); }

/* Whether a file opens; with all that is checked then. */
static zt_status entry_open(const char *path)
{
    zt_open_options options;
    zt_file *file = NULL;
    zt_status status;
    INIT(options);
    options.strict = 1, options.verify = 1;
    status = zt_open(path, &options, &file);
    zt_close(file);
    return status;
}

static zt_status open_missing(void) { return entry_open(entry_long); }
static zt_status open_a_folder(void) { return entry_open(entry_folder); }
static zt_status open_a_cut_file(void) { return entry_open(entry_cut); }
static zt_status open_the_torn(void) { return entry_open(entry_torn); }
static zt_status open_the_damaged(void) { return entry_open(entry_damaged); }
static zt_status open_the_corrupt(void) { return entry_open(data_path("invalid/cbor-truncated-map.zt")); }
static zt_status open_0_1(void) { return entry_open(data_path("v0.1/py-0.1.4-all-dtypes.zt")); }
static zt_status open_1_0(void) { return entry_open(data_path("v1.0/oracle-attributes.zt")); }
static zt_status open_1_1(void) { return entry_open(data_path("v1.1/oracle-object-attributes.zt")); }
static zt_status open_many(void) { return entry_open(data_path("v1.2/py-1.2.3-1000.zt")); }

static zt_status open_no_descriptor(void)
{
    zt_file *file = NULL;
    return zt_open_fd(9999, 0, ZT_WHOLE, NULL, &file);
}

static zt_status read_the_damaged(void)
{
    zt_file *file = NULL;
    zt_status status;
    TRY(zt_open(entry_damaged, NULL, &file));
    TRY(entry_views(file));
    status = zt_verify(file, NULL, NULL);
end:
    zt_close(file);
    return status;
}

static zt_status ask_for_what_is_not_there(void)
{
    zt_file *file = NULL;
    zt_tensor tensor;
    zt_status status;
    INIT(tensor);
    TRY(zt_open(entry_good, NULL, &file));
    if ((status = zt_csr_view(zt_object_find(file, "coo"), (zt_csr *)NULL)) != ZT_ERROR_INVALID_ARGUMENT)
        goto end;
    if ((status = zt_component_read(zt_component_find(zt_object_find(file, "plain"), "data"), entry_buffer, 3)) != ZT_ERROR_BUFFER_SIZE)
        goto end;
    status = zt_tensor_find(file, "nothing of that name", &tensor);
end:
    zt_close(file);
    return status;
}

static zt_status names_of_numbers(void)
{
    zt_dtype dtype;
    zt_type type;
    zt_status status;
    (void)zt_abi_version();
    (void)zt_last_os_error();
    (void)(zt_version() && zt_last_error() && zt_last_error_rule() && zt_status_name(ZT_OK));
    (void)(zt_dtype_name(ZT_DTYPE_F32) && zt_type_name(ZT_TYPE_COMPLEX64) && zt_format_name(ZT_FORMAT_DENSE) &&
           zt_encoding_name(ZT_ENCODING_RAW));
    TRY(zt_dtype_from_name("f32", &dtype));
    TRY(zt_type_from_name("complex64", &type));
    TRY(zt_type_block(type, NULL, NULL));
    status = zt_dtype_from_name("no such dtype", &dtype);
end:
    return status;
}

static const struct entry_scene {
    const char *name;
    zt_status (*run)(void);
    zt_status status; /* what it ends with */
} entry_scenes[] = {
#define SCENE(name, status) {#name, name, status}
    SCENE(names_of_numbers, ZT_ERROR_NOT_FOUND), SCENE(open_missing, ZT_ERROR_NO_FILE), SCENE(open_a_folder, ZT_ERROR_IO),
    SCENE(open_a_cut_file, ZT_ERROR_CORRUPT), SCENE(open_the_torn, ZT_ERROR_CORRUPT),
    SCENE(open_the_damaged, ZT_ERROR_DIGEST_MISMATCH), SCENE(open_the_corrupt, ZT_ERROR_CORRUPT),
    SCENE(open_0_1, ZT_OK), SCENE(open_1_0, ZT_OK), SCENE(open_1_1, ZT_OK), SCENE(open_many, ZT_OK),
    SCENE(open_a_model, ZT_OK), SCENE(open_a_split, ZT_OK), SCENE(open_without_a_part, ZT_ERROR_NO_FILE),
    SCENE(read_stored_arrays, ZT_OK), SCENE(read_deflated_arrays, ZT_OK), SCENE(read_a_checkpoint, ZT_OK),
    SCENE(refuse_an_archive, ZT_ERROR_CORRUPT), SCENE(refuse_a_pickle, ZT_ERROR_UNSUPPORTED),
    SCENE(open_parts, ZT_OK), SCENE(open_no_descriptor, ZT_ERROR_IO), SCENE(read_mapped, ZT_OK), SCENE(read_positioned, ZT_OK),
    SCENE(read_memory, ZT_OK), SCENE(read_descriptor, ZT_OK), SCENE(read_source, ZT_OK), SCENE(read_store, ZT_OK),
    SCENE(open_a_listed_file_that_is_not_there, ZT_ERROR_NO_FILE),
    SCENE(source_that_fails, ZT_ERROR_IO), SCENE(source_that_fails_later, ZT_ERROR_IO),
    SCENE(read_the_damaged, ZT_ERROR_DIGEST_MISMATCH), SCENE(ask_for_what_is_not_there, ZT_ERROR_NOT_FOUND),
    SCENE(share_dlpack, ZT_OK), SCENE(write_raw, ZT_OK), SCENE(write_hashed, ZT_OK), SCENE(write_zstd, ZT_OK),
    SCENE(write_threads, ZT_OK), SCENE(write_durable, ZT_OK), SCENE(write_nowhere, ZT_ERROR_NO_FILE),
    SCENE(write_on_a_folder, ZT_ERROR_IO), SCENE(write_what_is_refused, ZT_ERROR_EXISTS),
    SCENE(nest_attributes, ZT_OK), SCENE(sink_tensors, ZT_OK), SCENE(sink_that_fails, ZT_ERROR_IO), SCENE(copy_tensors, ZT_OK),
    SCENE(append_tensors, ZT_OK), SCENE(edit_objects, ZT_OK), SCENE(append_to_nothing, ZT_ERROR_NO_FILE), SCENE(append_to_a_cut_file, ZT_ERROR_CORRUPT),
    SCENE(append_to_0_1, ZT_ERROR_UNSUPPORTED), SCENE(repair_good, ZT_OK), SCENE(repair_torn, ZT_OK),
    SCENE(repair_nothing, ZT_ERROR_NO_FILE), SCENE(repair_a_cut_file, ZT_ERROR_CORRUPT),
#undef SCENE
};

/* Puts the target to what it is before a scene. */
static inline void entry_reset(void)
{
    size_t size;
    unsigned char *bytes = read_file(entry_old, &size);
    write_file(entry_target, bytes, size);
    free(bytes);
}

/* Where all is, of what process ever makes it. */
static inline void entry_begin(const char *name)
{
    size_t i;
    snprintf(entry_folder, sizeof entry_folder, "%s", scratch_path(name));
    REQUIRE(mkdir(entry_folder, 0700) == 0);
    snprintf(entry_good, sizeof entry_good, "%s/good.zt", entry_folder);
    snprintf(entry_damaged, sizeof entry_damaged, "%s/damaged.zt", entry_folder);
    snprintf(entry_cut, sizeof entry_cut, "%s/cut.zt", entry_folder);
    snprintf(entry_old, sizeof entry_old, "%s/old.zt", entry_folder);
    snprintf(entry_torn, sizeof entry_torn, "%s/torn.zt", entry_folder);
    snprintf(entry_target, sizeof entry_target, "%s/target.zt", entry_folder);
    snprintf(entry_long, sizeof entry_long, "%.3000s/missing/%0500d.zt", entry_folder, 0);
    entry_long[strlen(entry_folder) + 9 + 200] = '/'; /* no name of a file has 500 bytes */
    entry_long[strlen(entry_folder) + 9 + 400] = '/';
    for (i = 0; i < ENTRY_BIG; i++)
        entry_data[i] = (unsigned char)((i * i) >> 11 & 1);
}

/* Makes the files, with the library. */
static inline void entry_files(void)
{
    unsigned char *now;
    size_t old_size, now_size, at;
    zt_file *file;
    REQUIRE(entry_create(entry_good, ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, 1, 0) == ZT_OK);
    REQUIRE(entry_create(entry_old, ZT_ENCODING_RAW, ZT_DIGEST_NONE, 1, 0) == ZT_OK);
    file = open_path(entry_good);
    at = (size_t)zt_component_offset(component_of(file, "plain", "data"));
    zt_close(file);
    now = read_file(entry_good, &now_size);
    write_file(entry_cut, now, now_size / 2);
    now[at + 7] ^= 2;
    write_file(entry_damaged, now, now_size);
    free(now);
    now = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &old_size);
    write_file(entry_old, now, old_size);
    entry_reset();
    REQUIRE(append_tensors() == ZT_OK);
    free(now);
    {
        unsigned char *old = read_file(entry_old, &old_size);
        now = read_file(entry_target, &now_size);
        memcpy(now, old, old_size); /* the old end is not cleared yet */
        write_file(entry_torn, now, now_size - 5);
        free(old), free(now);
    }
    entry_reset();
}

static inline void entry_read_good(void)
{
    entry_bytes = read_file(entry_good, &entry_size);
}

static inline void entry_end(void)
{
    free(entry_bytes);
    remove(entry_good), remove(entry_damaged), remove(entry_cut), remove(entry_old), remove(entry_torn);
    remove(entry_target);
    CHECK(rmdir(entry_folder) == 0);
}

#endif
