/* struct_size: every size up to slightly more than the struct's, sizes of older and newer headers, and absurd
 * ones, for every struct with that field. */
#include "struct_calls.h"
#include "struct_fields.h"

#define INVALID ZT_ERROR_INVALID_ARGUMENT

/* Whether a struct of `size` bytes ends inside one of its fields. */
static int is_cut(const field *fields, size_t count, size_t n)
{
    size_t i;
    for (i = 0; i < count; i++)
        if (fields[i].at < n && n < fields[i].at + fields[i].size)
            return 1;
    return 0;
}

/* Tries every struct_size, with invalid bytes after the declared size. */
static void every_size(const void *filled, size_t size, size_t need, int is_out, zt_status (*call)(void *),
                       const field *fields, size_t count)
{
    space s;
    size_t n, i;
    unsigned long before = check_failures;
    for (n = 0; n <= size + 16; n++) {
        size_t own = n < sizeof n ? sizeof n : n < size ? n : size;
        int good = n >= sizeof n && !is_cut(fields, count, n) && (n <= size || is_out);
        zt_status status;
        memset(s.bytes, 0xa5, SPACE_SIZE);
        memcpy(s.bytes, filled, own);
        memcpy(s.bytes, &n, sizeof n);
        status = call(s.bytes);
        if (!good)
            CHECK_STATUS(status, INVALID);
        else
            CHECK(status == ZT_OK || n < need);
        if (!good && n >= sizeof n && n < size)
            CHECK(strstr(zt_last_error(), "ends within") != NULL);
        for (i = own; i < SPACE_SIZE; i++)
            if (s.bytes[i] != (i < n && is_out && status == ZT_OK ? 0 : 0xa5)) /* unknown fields are zeroed */
                CHECK(0 && "written past its end, or an unknown field was not zeroed");
        if (check_failures > before) {
            fprintf(stderr, "    with struct_size %lu\n", (unsigned long)n);
            break;
        }
    }
}

/* `filled`: a struct that the call accepts. `need`: the bytes of it that the call cannot do without. */
static void sizes(const char *what, const void *filled, size_t size, size_t need, int is_out, zt_status (*call)(void *),
                  const field *fields, size_t count)
{
    static const size_t absurd[] = {0, 1, sizeof(size_t) / 2, sizeof(size_t) - 1};
    space s;
    size_t i, n;
    unsigned long before = check_failures;
    for (i = 0; i < COUNT(absurd); i++) { /* even struct_size is not inside */
        memcpy(s.bytes, filled, size);
        memcpy(s.bytes, &absurd[i], sizeof(size_t));
        CHECK_STATUS(call(s.bytes), INVALID);
    }
    n = SIZE_MAX; /* no struct is that large, and it must not be searched */
    memcpy(s.bytes, filled, size);
    memcpy(s.bytes, &n, sizeof n);
    CHECK_STATUS(call(s.bytes), INVALID);
    /* A newer header's struct is accepted if its unknown fields are zero. An output is not written past the
     * known fields. */
    memset(s.bytes, 0, SPACE_SIZE);
    memcpy(s.bytes, filled, size);
    n = size + 40;
    memcpy(s.bytes, &n, sizeof n);
    CHECK_STATUS(call(s.bytes), ZT_OK);
    for (i = size; i < SPACE_SIZE; i++)
        if (s.bytes[i])
            CHECK(0 && "written past its end");
    if (!is_out) {
        memcpy(s.bytes, filled, size);
        memcpy(s.bytes, &n, sizeof n);
        s.bytes[size + 39] = 1;
        CHECK_STATUS(call(s.bytes), INVALID);
        s.bytes[size + 39] = 0;
        s.bytes[size] = 1;
        CHECK_STATUS(call(s.bytes), INVALID);
    }
    /* An older header's struct: only its fields are read or written. */
    for (n = need; n < size; n++) {
        if (is_cut(fields, count, n))
            continue;
        memset(s.bytes, 0xa5, SPACE_SIZE);
        memcpy(s.bytes, filled, n);
        memcpy(s.bytes, &n, sizeof n);
        CHECK_STATUS(call(s.bytes), ZT_OK);
        for (i = n; i < SPACE_SIZE; i++)
            if (s.bytes[i] != 0xa5)
                CHECK(0 && "written past its end");
    }
    every_size(filled, size, need, is_out, call, fields, count);
    memcpy(s.bytes, filled, size);
    CHECK_STATUS(call(s.bytes), ZT_OK);
    if (check_failures > before)
        fprintf(stderr, "    of %s\n", what);
}

#define OPTIONS(T, call) do { T x; INIT(x); sizes(#T, &x, sizeof x, 8, 0, call, T##_fields, COUNT(T##_fields)); } while (0)
#define OUTPUT(T, call) do { T x; INIT(x); sizes(#T, &x, sizeof x, 8, 1, call, T##_fields, COUNT(T##_fields)); } while (0)

static void inputs(void)
{
    zt_source source;
    zt_store store;
    zt_sink sink;
    zt_read_request r;
    zt_write_request wr;
    zt_object_desc o;
    zt_component_desc c;
    zt_quantized_desc q;
    zt_allocator allocator;
    zt_cache_options cached;
    INIT(allocator);
    allocator.allocate = allocate;
    allocator.free = deallocate;
    sizes("zt_allocator", &allocator, sizeof allocator, sizeof allocator, 0, call_allocator, zt_allocator_fields,
          COUNT(zt_allocator_fields));
    INIT(cached);
    cached.budget = 1 << 16;
    cached.slot_size = 64;
    sizes("zt_cache_options", &cached, sizeof cached, offsetof(zt_cache_options, memory), 0, call_cache_options,
          zt_cache_options_fields, COUNT(zt_cache_options_fields));
    INIT(source);
    source.size = source_size;
    source.read_at = source_read;
    sizes("zt_source", &source, sizeof source, offsetof(zt_source, close), 0, call_source, zt_source_fields,
          COUNT(zt_source_fields));
    INIT(store);
    store.open = store_open;
    sizes("zt_store", &store, sizeof store, offsetof(zt_store, list), 0, call_store, zt_store_fields,
          COUNT(zt_store_fields));
    INIT(sink);
    sink.write = sink_write;
    sizes("zt_sink", &sink, sizeof sink, offsetof(zt_sink, finish), 0, call_sink, zt_sink_fields,
          COUNT(zt_sink_fields));
    INIT(r);
    r.component = component_of(dense_file, "i8", "data");
    r.length = ZT_WHOLE;
    r.dst = data;
    r.dst_size = sizeof data;
    sizes("zt_read_request", &r, sizeof r, offsetof(zt_read_request, tag), 0, call_read_request, zt_read_request_fields,
          COUNT(zt_read_request_fields));
    sizes("zt_read_request, cached", &r, sizeof r, offsetof(zt_read_request, tag), 0, call_cached_request,
          zt_read_request_fields, COUNT(zt_read_request_fields));
    INIT(wr);
    wr.name = "x";
    wr.shape = &eight;
    wr.rank = 1;
    wr.data = data;
    wr.size = 8;
    wr.dtype = ZT_DTYPE_U8;
    sizes("zt_write_request", &wr, sizeof wr, offsetof(zt_write_request, encoding), 0, call_write_request, zt_write_request_fields,
          COUNT(zt_write_request_fields));
    INIT(c);
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    c.data = data;
    c.size = 8;
    sizes("zt_component_desc", &c, sizeof c, offsetof(zt_component_desc, type_name_length), 0, call_component_desc, zt_component_desc_fields,
          COUNT(zt_component_desc_fields));
    c.data = NULL;
    c.size = 0;
    sizes("zt_component_desc, streamed", &c, sizeof c, offsetof(zt_component_desc, encoding), 0, call_component_desc, zt_component_desc_fields,
          COUNT(zt_component_desc_fields));
    c.data = data;
    c.size = 8;
    INIT(o);
    o.name = "x";
    o.format = ZT_FORMAT_DENSE;
    o.shape = &eight;
    o.rank = 1;
    o.components = &c;
    o.component_count = 1;
    sizes("zt_object_desc", &o, sizeof o, offsetof(zt_object_desc, attributes), 0, call_object_desc, zt_object_desc_fields,
          COUNT(zt_object_desc_fields));
    INIT(q);
    q.packed_weight = q.scales = data;
    q.packed_weight_size = 64;
    q.scales_size = 32;
    q.packed_weight_dtype = ZT_DTYPE_I32;
    q.scales_dtype = ZT_DTYPE_F16;
    sizes("zt_quantized_desc", &q, sizeof q, offsetof(zt_quantized_desc, zeros_dtype), 0, call_quantized_desc, zt_quantized_desc_fields,
          COUNT(zt_quantized_desc_fields));
}

/* Arrays with larger elements than this header's: the first element gives the distance. */
static void arrays(void)
{
    struct { zt_read_request r; uint64_t more[2]; } requests[3];
    struct { zt_component_desc c; uint64_t more[3]; } components[2];
    zt_object_desc o;
    zt_writer *w = NULL;
    zt_file *f;
    unsigned char got[3][15];
    size_t i;
    memset(requests, 0, sizeof requests);
    memset(components, 0, sizeof components);
    memset(got, 0xa5, sizeof got);
    for (i = 0; i < 3; i++) {
        requests[i].r.struct_size = sizeof requests[0];
        requests[i].r.component = component_of(dense_file, i == 1 ? "u8" : "i8", "data");
        requests[i].r.length = ZT_WHOLE;
        requests[i].r.dst = got[i];
        requests[i].r.dst_size = 15;
    }
    CHECK_STATUS(zt_read_batch(dense_file, &requests[0].r, 3, NULL, NULL), ZT_OK);
    CHECK(memcmp(got[0], got[2], 15) == 0 && memcmp(got[0], got[1], 15) != 0);
    requests[2].more[1] = 1;
    CHECK_STATUS(zt_read_batch(dense_file, &requests[0].r, 3, NULL, NULL), INVALID);
    requests[2].more[1] = 0;
    requests[1].r.struct_size = sizeof(zt_read_request); /* not the size of the others */
    CHECK_STATUS(zt_read_batch(dense_file, &requests[0].r, 3, NULL, NULL), INVALID);
    for (i = 0; i < 2; i++) {
        components[i].c.struct_size = sizeof components[0];
        components[i].c.role = i ? "more" : "data";
        components[i].c.dtype = ZT_DTYPE_U8;
        components[i].c.data = data;
        components[i].c.size = 8;
    }
    INIT(o);
    o.name = "x";
    o.format = ZT_FORMAT_DENSE;
    o.shape = &eight;
    o.rank = 1;
    o.components = &components[0].c;
    o.component_count = 2;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    components[1].more[2] = 1;
    CHECK_STATUS(zt_write_object(w, &o), INVALID);
    components[1].more[2] = 0;
    components[1].c.struct_size = sizeof(zt_component_desc);
    CHECK_STATUS(zt_write_object(w, &o), INVALID);
    components[1].c.struct_size = sizeof components[0];
    CHECK_STATUS(zt_write_object(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    f = open_path(path);
    CHECK_U64(zt_component_count(zt_object_find(f, "x")), 2);
    zt_close(f);
    CHECK(remove(path) == 0);
}

/* "Up to 4096 bytes": a larger size means that it was not set. */
static void largest(void)
{
    static uint64_t options[4104 / 8], report[4104 / 8];
    size_t size;
    for (size = 4096; size <= 4097; size++) {
        zt_status want = size == 4096 ? ZT_OK : INVALID;
        memset(options, 0, sizeof options), memset(report, 0xa5, sizeof report);
        memcpy(options, &size, sizeof size), memcpy(report, &size, sizeof size);
        CHECK_STATUS(zt_verify(dense_file, (const zt_verify_options *)(const void *)options, NULL), want);
        CHECK_STATUS(zt_verify(dense_file, NULL, (zt_verify_report *)(void *)report), want);
        CHECK((report[4096 / 8 - 1] == 0) == (want == ZT_OK) && report[4096 / 8] != 0);
    }
}

int main(void)
{
    path = scratch_path("structs.zt");
    dense_file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    sparse_file = open_data("v1.2/py-1.2.3-sparse.zt");
    quantized_file = open_data("v1.2/py-1.2.3-quantized.zt");
    OPTIONS(zt_open_options, call_open_options);
    OPTIONS(zt_thread_hooks, call_thread_hooks);
    OPTIONS(zt_read_options, call_read_options);
    OPTIONS(zt_load_options, call_load_start);
    OPTIONS(zt_read_options, call_load_options);
    OPTIONS(zt_verify_options, call_verify_options);
    OPTIONS(zt_repair_options, call_repair_options);
    OPTIONS(zt_write_options, call_writer_options);
    OPTIONS(zt_copy_options, call_copy_options);
    OPTIONS(zt_attribute, call_attribute); /* all zeros mean null */
    inputs();
    arrays();
    largest();
    OUTPUT(zt_object_info, call_object_info);
    OUTPUT(zt_component_info, call_component_info);
    OUTPUT(zt_object_info, call_one_object_info);
    OUTPUT(zt_component_info, call_one_component_info);
    OUTPUT(zt_part_info, call_part_info);
    OUTPUT(zt_tensor, call_tensor);
    OUTPUT(zt_identity, call_identity);
    OUTPUT(zt_model_info, call_model_info);
    OUTPUT(zt_csr, call_csr);
    OUTPUT(zt_coo, call_coo);
    OUTPUT(zt_quantized, call_quantized);
    OUTPUT(zt_read_stats, call_read_stats);
    OUTPUT(zt_cache_pin, call_cache_slice);
    OUTPUT(zt_cache_stats, call_cache_stats);
    OUTPUT(zt_load_event, call_load_next);
    OUTPUT(zt_load_part_stats, call_load_part_stats);
    OUTPUT(zt_verify_report, call_verify_report);
    OUTPUT(zt_repair_report, call_repair_report);
    OUTPUT(zt_write_summary, call_summary);
    zt_close(quantized_file);
    zt_close(sparse_file);
    zt_close(dense_file);
    CHECK(!file_exists(path));
    return check_done("hostile_structs");
}
