/* All calls that read an open file, for the scenes of entry_points.h. */
#ifndef ENTRY_READS_H
#define ENTRY_READS_H

#include "entry_files.h"

/* Reads an attribute and everything in it. It nests so little that an application may recurse. */
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
    switch (zt_value_get_kind(value)) {
    case ZT_VALUE_KIND_BOOL:
        TRY(zt_value_get_bool(value, &flag));
        break;
    case ZT_VALUE_KIND_INT:
        if (zt_value_get_u64(value, &above) != ZT_OK)
            TRY(zt_value_get_i64(value, &below));
        break;
    case ZT_VALUE_KIND_FLOAT:
        TRY(zt_value_get_f64(value, &real));
        break;
    case ZT_VALUE_KIND_STRING:
        TRY(zt_value_get_string(value, &text, &size));
        break;
    case ZT_VALUE_KIND_BYTES:
        TRY(zt_value_get_bytes(value, &bytes, &size));
        break;
    case ZT_VALUE_KIND_TAG:
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
    (void)(zt_file_version(file) && file_size(file) && zt_file_mode(file));
    (void)zt_container_name(part_info(file, 0).container);
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
            zt_part_info part;
            INIT(part);
            TRY(zt_part_identity(file, i, &identity));
            TRY(zt_part_get_info(file, i, &part));
            if (part.size != identity.size)
                return ZT_ERROR_INTERNAL;
            (void)part.path;
        }
    }
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *o = zt_object_at(file, i);
        zt_object_info about;
        INIT(about);
        TRY(zt_object_get_info(o, &about));
        TRY(verify_object(file, o));
        if (zt_object_find(file, zt_object_name(o)) != o || zt_object_find_n(file, about.name, about.name_length) != o)
            return ZT_ERROR_INTERNAL;
        (void)(zt_object_shape(o) && zt_object_rank(o) && zt_object_element_count(o) && zt_object_format(o));
        TRY(entry_value(zt_object_attributes(o)));
        for (j = 0; j < zt_component_count(o); j++) {
            const zt_component *c = zt_component_at(o, j);
            zt_component_info info;
            INIT(info);
            TRY(zt_component_get_info(c, &info));
            if (zt_component_find(o, zt_component_role(c)) != c || strlen(zt_component_role(c)) != info.role_length)
                return ZT_ERROR_INTERNAL;
            if (info.part >= zt_part_count(file))
                return ZT_ERROR_INTERNAL;
            (void)(zt_component_type(c) && zt_component_digest(c) && zt_component_caps(c));
            {
                zt_tensor tensor;
                uint64_t measured;
                INIT(tensor);
                TRY(zt_component_measure(c, NULL, NULL, &measured));
                TRY(zt_component_read_stored(c, entry_buffer, sizeof entry_buffer));
                if (zt_component_find_n(o, zt_component_role(c), info.role_length) != c)
                    return ZT_ERROR_INTERNAL;
                (void)zt_value_find_n(zt_object_attributes(o), "a", 1);
                if (zt_object_format(o) == ZT_FORMAT_DENSE)
                    TRY(zt_tensor_view(o, &tensor));
            }
            (void)(zt_dtype_size(zt_component_dtype(c)) && zt_component_encoding(c));
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

/* A cache of three slots. The calling thread reads what it gets, and a thread of the cache reads
 * prefetches. */
static zt_status entry_cache(const zt_file *file)
{
    zt_cache_options how;
    zt_cache_stats stats;
    zt_cache_pin slice;
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
    TRY(zt_cache_prefetch(cache, requests, 2));
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

/* The same with a load, half of it through a ring. Returns the result of zt_load_finish. */
static zt_status entry_load(const zt_file *file, uint32_t threads)
{
    zt_load_options how;
    zt_read_request requests[4];
    zt_load_event event;
    zt_load_part_stats parts;
    zt_load *load = NULL;
    zt_status status;
    size_t i;
    INIT(how), INIT(parts);
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
    } while (event.kind != ZT_LOAD_KIND_DONE);
    if (event.status != ZT_OK)
        zt_load_cancel(load); /* too late */
    TRY(zt_load_get_part_stats(load, 0, &parts, 1, &i));
end:
    i = (size_t)zt_load_finish(load, NULL);
    return status != ZT_OK ? status : (zt_status)i;
}

/* Makes all calls that read. */
static zt_status entry_read(const zt_file *file)
{
    zt_verify_options what;
    zt_verify_report report;
    zt_status status;
    const void *place;
    uint64_t needed;
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
            TRY(verify_component(file, c));
            (void)zt_component_advise(c, ZT_ADVICE_WILLNEED); /* only files support it */
            TRY(zt_component_load(c, NULL, &buffer));
            status = zt_buffer_data(buffer) && zt_buffer_size(buffer) == bytes ? ZT_OK : ZT_ERROR_INTERNAL;
            zt_buffer_free(buffer);
            TRY(status);
        }
    }
    TRY(zt_object_size_as(zt_object_find(file, "floats"), ZT_DTYPE_F16, &needed));
    TRY(zt_object_read_as(zt_object_find(file, "floats"), ZT_DTYPE_F16, entry_buffer, (size_t)needed, &size));
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

#endif
