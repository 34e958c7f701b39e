/* Files that the scenes of entry_points.h read and write. */
#ifndef ENTRY_FILES_H
#define ENTRY_FILES_H

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
static char entry_damaged[4096]; /* the same file with one changed byte of "plain" */
static char entry_cut[4096];     /* its first half */
static char entry_old[4096];     /* the target before each scene */
static char entry_torn[4096];    /* the target with a truncated append */
static char entry_target[4096];  /* the file that scenes write */
static char entry_long[4096];    /* a path of more than 384 bytes without a file */
static unsigned char entry_data[ENTRY_BIG], entry_buffer[ENTRY_BUFFER_SIZE];
static unsigned char *entry_bytes; /* contents of entry_good */
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
    const zt_attribute null = attribute(ZT_ATTRIBUTE_KIND_NULL);
    zt_status status;
    size_t i;
    INIT(q), INIT(part), INIT(object);
    TRY(zt_write_dense(w, "plain", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &few, 1, entry_data, ENTRY_FEW));
    TRY(zt_write_dense(w, "floats", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &four, 1, values, sizeof values));
    for (i = 0; i < 3; i++) {
        INIT(batch[i]);
        batch[i].name = i == 0 ? "batch 0" : i == 1 ? "batch 1" : "batch 2";
        batch[i].shape = i == 1 ? &big : &few, batch[i].rank = 1;
        batch[i].data = entry_data, batch[i].size = (size_t)*batch[i].shape;
        batch[i].dtype = ZT_DTYPE_U8;
        batch[i].encoding = i == 1 ? ZT_ENCODING_ZSTD : ZT_ENCODING_DEFAULT;
    }
    TRY(zt_write_batch(w, batch, 3));
    TRY(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, square, 4, values, sizeof values, indices, indptr));
    TRY(zt_write_coo(w, "coo", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, square, 2, 4, values, sizeof values, coords));
    q.packed_weight = q.scales = entry_data, q.packed_weight_size = 64, q.scales_size = 32;
    q.packed_weight_dtype = ZT_DTYPE_I32, q.scales_dtype = ZT_DTYPE_F16, q.bits = 4, q.group_size = 8;
    q.zeros = entry_data, q.zeros_size = 32, q.zeros_dtype = ZT_DTYPE_F16;
    TRY(zt_write_quantized(w, "quantized", 0, matrix, 2, &q));
    part.role = "data", part.dtype = ZT_DTYPE_U8, part.data = entry_data, part.size = ENTRY_FEW;
    object.name = "object", object.format = ZT_FORMAT_DENSE, object.shape = &few, object.rank = 1;
    object.components = &part, object.component_count = 1;
    object.attributes_json = "{\"a\":[1,2.5,{\"b\":null}]}";
    TRY(zt_write_object(w, &object));
    object.name = "streamed", object.shape = &big, object.components = NULL, object.component_count = 0;
    TRY(zt_write_begin(w, &object));
    TRY(zt_write_attribute(w, "streamed", 0, "null", &null));
    TRY(set_remove(w, "streamed", "null"));
    TRY(set_strings(w, "streamed", "strings", words, NULL, 3));
    TRY(set_bool(w, "streamed", "flag", 1));
    TRY(set_i64(w, "streamed", "below", -3));
    TRY(set_u64(w, "streamed", "above", 3));
    TRY(set_f64(w, "streamed", "real", 1.5));
    TRY(set_string(w, "streamed", "unit", "metre"));
    TRY(set_bytes(w, "streamed", "raw", entry_data, 10));
    TRY(set_json(w, "streamed", "json", "{\"k\":[1,2,3]}"));
    part.data = NULL, part.size = 0, part.encoding = ZT_ENCODING_ZSTD;
    TRY(zt_write_component(w, &part));
    TRY(zt_write_data(w, entry_data, ENTRY_BIG / 2));
    TRY(zt_write_data(w, entry_data + ENTRY_BIG / 2, ENTRY_BIG - ENTRY_BIG / 2));
    TRY(zt_write_end(w));
    TRY(zt_write_attribute(w, NULL, 0, "null", &null));
    TRY(set_remove(w, NULL, "null"));
    TRY(set_numbers(w, NULL, "numbers", ZT_DTYPE_U16, entry_data, 100));
    TRY(set_bool(w, NULL, "flag", 0));
    TRY(set_i64(w, NULL, "below", -3));
    TRY(set_u64(w, NULL, "above", 3));
    TRY(set_f64(w, NULL, "real", 1.5));
    TRY(set_string(w, NULL, "unit", "second"));
    TRY(set_bytes(w, NULL, "raw", entry_data, 10));
    TRY(set_json(w, NULL, "config", "{\"layers\":[1,2,3],\"name\":\"test\",\"deep\":[[[[1.25e3]]]]}"));
end:
    return status;
}

static zt_status entry_finish(zt_writer *w, zt_status status)
{
    zt_write_summary summary;
    INIT(summary);
    if (status == ZT_OK)
        return zt_write_finish(w, &summary);
    zt_write_abort(w);
    return status;
}

static zt_status entry_create(const char *path, zt_encoding encoding, zt_digest digest, uint32_t threads, uint32_t durable)
{
    zt_write_options options;
    zt_writer *w = NULL;
    zt_status status;
    INIT(options);
    options.encoding = encoding, options.digest = digest, options.threads = threads, options.durable = durable;
    options.frame_size = 65536, options.large_size = 100000, options.large_alignment = 4096;
    status = zt_write_create(path, &options, &w);
    return status == ZT_OK ? entry_finish(w, entry_tensors(w)) : status;
}

#endif
