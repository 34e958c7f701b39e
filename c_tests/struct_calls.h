/* A call for each struct with a struct_size, for hostile_structs.c. */
#ifndef STRUCT_CALLS_H
#define STRUCT_CALLS_H

#include "support.h"

#define SPACE_SIZE 512

typedef union space { unsigned char bytes[SPACE_SIZE]; uint64_t align; } space;

static zt_file *dense_file, *sparse_file, *quantized_file;
static const char *path;
static unsigned char data[64];
static const uint64_t eight = 8, shape2[2] = {16, 8};

static zt_status source_size(void *context, uint64_t *size)
{
    (void)context;
    *size = 0;
    return ZT_ERROR_NOT_FOUND; /* no call rejects an argument with this status */
}

static zt_status source_read(void *context, uint64_t offset, void *dst, size_t n)
{
    (void)context, (void)offset, (void)dst, (void)n;
    return ZT_ERROR_NOT_FOUND;
}

static void *allocate(void *context, size_t size, size_t alignment)
{
    (void)context, (void)size, (void)alignment;
    return NULL;
}

static void deallocate(void *context, void *memory, size_t size, size_t alignment)
{
    (void)context, (void)memory, (void)size, (void)alignment;
}

static zt_status sink_write(void *context, const void *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
    return ZT_OK;
}

/* Each call passes `s` as its struct and returns the result. */
static zt_status call_open_options(void *s)
{
    zt_file *f = NULL;
    zt_status status = zt_open(data_path("v1.2/py-1.2.3-all-dtypes.zt"), (zt_open_options *)s, &f);
    zt_close(f);
    return status;
}

static zt_status call_allocator(void *s)
{
    zt_file *f = NULL;
    zt_open_options o;
    zt_status status;
    INIT(o);
    o.allocator = (zt_allocator *)s;
    status = zt_open(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &o, &f);
    zt_close(f);
    return status;
}

static zt_status call_thread_hooks(void *s)
{
    zt_file *f = NULL;
    zt_open_options o;
    zt_status status;
    INIT(o);
    o.thread_hooks = (zt_thread_hooks *)s;
    status = zt_open(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &o, &f);
    zt_close(f);
    return status;
}

static zt_status call_load_options(void *s)
{
    zt_buffer *b = NULL;
    zt_status status = zt_component_load(component_of(dense_file, "f32", "data"), (zt_read_options *)s, &b);
    zt_buffer_free(b);
    return status;
}

static zt_status call_source(void *s)
{
    zt_file *f = NULL;
    zt_status status = zt_open_source((zt_source *)s, NULL, &f);
    return status == ZT_ERROR_NOT_FOUND ? ZT_OK : status; /* the struct was accepted and used */
}

static zt_status store_open(void *context, const char *name, zt_source *source)
{
    (void)context, (void)name, (void)source;
    return ZT_ERROR_NOT_FOUND;
}

static zt_status call_store(void *s)
{
    zt_file *f = NULL;
    zt_status status = zt_open_model_from((zt_store *)s, "x", NULL, &f);
    return status == ZT_ERROR_NOT_FOUND ? ZT_OK : status; /* the struct was accepted and used */
}

static zt_status call_read_options(void *s)
{
    return zt_read_batch(dense_file, NULL, 0, (zt_read_options *)s, NULL);
}

static zt_status call_read_stats(void *s)
{
    return zt_read_batch(dense_file, NULL, 0, NULL, (zt_read_stats *)s);
}

static zt_status call_load_start(void *s)
{
    zt_load *load = NULL;
    zt_status status = zt_load_start(NULL, 0, (zt_load_options *)s, &load);
    zt_load_finish(load, NULL);
    return status;
}

static zt_status call_load_next(void *s)
{
    zt_load *load = NULL;
    zt_status status;
    REQUIRE(zt_load_start(NULL, 0, NULL, &load) == ZT_OK);
    status = zt_load_next(load, 0, (zt_load_event *)s);
    zt_load_release(load, (zt_load_event *)s);
    zt_load_finish(load, NULL);
    return status;
}

static zt_status call_load_part_stats(void *s)
{
    zt_load *load = NULL;
    zt_status status;
    size_t n = 0;
    zt_load_event event;
    zt_read_request request;
    INIT(request);
    request.component = zt_component_at(zt_object_at(dense_file, 0), 0);
    request.length = ZT_WHOLE;
    REQUIRE(zt_load_start(&request, 1, NULL, &load) == ZT_OK);
    do { /* to the end, so that finishing it does not set a message */
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
        zt_load_release(load, &event);
    } while (event.kind != ZT_LOAD_KIND_DONE);
    status = zt_load_get_part_stats(load, 0, (zt_load_part_stats *)s, 1, &n);
    zt_load_finish(load, NULL);
    return status;
}

static zt_status call_verify_options(void *s)
{
    return zt_verify(dense_file, (zt_verify_options *)s, NULL);
}

static zt_status call_verify_report(void *s)
{
    return zt_verify(dense_file, NULL, (zt_verify_report *)s);
}

static zt_status call_repair_options(void *s)
{
    return zt_repair(data_path("v1.2/py-1.2.3-all-dtypes.zt"), (zt_repair_options *)s, NULL);
}

static zt_status call_repair_report(void *s)
{
    return zt_repair(data_path("v1.2/py-1.2.3-all-dtypes.zt"), NULL, (zt_repair_report *)s);
}

static zt_status call_tensor(void *s)
{
    return zt_tensor_find(dense_file, "f32", (zt_tensor *)s);
}

static zt_status call_object_info(void *s)
{
    size_t n = 0;
    return zt_object_list(dense_file, 0, (zt_object_info *)s, 1, &n);
}

static zt_status call_component_info(void *s)
{
    size_t n = 0;
    return zt_component_list(dense_file, NULL, 0, (zt_component_info *)s, 1, &n);
}

static zt_status call_one_object_info(void *s)
{
    return zt_object_get_info(zt_object_at(dense_file, 0), (zt_object_info *)s);
}

static zt_status call_one_component_info(void *s)
{
    return zt_component_get_info(zt_component_at(zt_object_at(dense_file, 0), 0), (zt_component_info *)s);
}

static zt_status call_part_info(void *s)
{
    return zt_part_get_info(dense_file, 0, (zt_part_info *)s);
}

static zt_status call_identity(void *s)
{
    return zt_file_identity(dense_file, (zt_identity *)s);
}

static zt_status call_model_info(void *s)
{
    return zt_model_get_info(dense_file, (zt_model_info *)s);
}

static zt_status call_csr(void *s)
{
    return zt_csr_view(zt_object_find(sparse_file, "csr"), (zt_csr *)s);
}

static zt_status call_coo(void *s)
{
    return zt_coo_view(zt_object_find(sparse_file, "coo"), (zt_coo *)s);
}

static zt_status call_quantized(void *s)
{
    return zt_quantized_view(zt_object_find(quantized_file, "gptq"), (zt_quantized *)s);
}

static zt_status call_read_request(void *s)
{
    return zt_read_batch(dense_file, (zt_read_request *)s, 1, NULL, NULL);
}

static zt_status with_cache(zt_status (*call)(zt_cache *, void *), void *s)
{
    zt_cache_options o;
    zt_cache *cache = NULL;
    zt_status status;
    INIT(o);
    o.budget = 1 << 16, o.slot_size = 4096;
    REQUIRE(zt_cache_create(&o, &cache) == ZT_OK);
    status = call(cache, s);
    zt_cache_free(cache);
    return status;
}

static zt_status get_into(zt_cache *cache, void *s)
{
    zt_read_request r;
    INIT(r);
    r.component = component_of(dense_file, "f32", "data"), r.length = ZT_WHOLE;
    return zt_cache_get(cache, &r, -1, (zt_cache_pin *)s);
}

static zt_status get_stats(zt_cache *cache, void *s)
{
    return zt_cache_get_stats(cache, (zt_cache_stats *)s);
}

static zt_status drop_slice(zt_cache *cache, void *s)
{
    return zt_cache_drop(cache, (zt_read_request *)s, 1);
}

static zt_status call_cache_slice(void *s) { return with_cache(get_into, s); }
static zt_status call_cache_stats(void *s) { return with_cache(get_stats, s); }
static zt_status call_cached_request(void *s) { return with_cache(drop_slice, s); }

static zt_status call_cache_options(void *s)
{
    zt_cache *cache = NULL;
    zt_status status = zt_cache_create((zt_cache_options *)s, &cache);
    zt_cache_free(cache);
    return status;
}

static zt_status call_write_request(void *s)
{
    zt_writer *w = NULL;
    zt_status status;
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    status = zt_write_batch(w, (zt_write_request *)s, 1);
    zt_write_abort(w);
    return status;
}

static zt_status call_writer_options(void *s)
{
    zt_writer *w = NULL;
    zt_status status = zt_write_create(path, (zt_write_options *)s, &w);
    zt_write_abort(w);
    return status;
}

static zt_status call_sink(void *s)
{
    zt_writer *w = NULL;
    zt_status status = zt_write_create_sink((zt_sink *)s, NULL, &w);
    zt_write_abort(w);
    return status;
}

static zt_status with_writer(zt_status (*call)(zt_writer *, void *), void *s)
{
    zt_writer *w = NULL;
    zt_status status;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    status = call(w, s);
    zt_write_abort(w);
    return status;
}

static zt_status write_object(zt_writer *w, void *s)
{
    return zt_write_object(w, (zt_object_desc *)s);
}

static zt_status set_attribute(zt_writer *w, void *s)
{
    return zt_write_attribute(w, NULL, 0, "k", (zt_attribute *)s);
}

static zt_status write_quantized(zt_writer *w, void *s)
{
    return zt_write_quantized(w, "q", 0, shape2, 2, (zt_quantized_desc *)s);
}

static zt_status write_component(zt_writer *w, void *s)
{
    zt_object_desc o;
    INIT(o);
    o.name = "x";
    o.format = ZT_FORMAT_DENSE;
    o.shape = &eight;
    o.rank = 1;
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    return zt_write_component(w, (zt_component_desc *)s);
}

static zt_status call_object_desc(void *s) { return with_writer(write_object, s); }
static zt_status copy(zt_writer *w, void *s)
{
    return zt_write_copy(w, zt_object_at(dense_file, 0), (const zt_copy_options *)s);
}
static zt_status call_copy_options(void *s) { return with_writer(copy, s); }
static zt_status call_attribute(void *s) { return with_writer(set_attribute, s); }
static zt_status call_quantized_desc(void *s) { return with_writer(write_quantized, s); }
static zt_status call_component_desc(void *s) { return with_writer(write_component, s); }

static zt_status call_summary(void *s)
{
    zt_writer *w = NULL;
    zt_status status;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    status = zt_write_finish(w, (zt_write_summary *)s);
    (void)remove(path);
    return status;
}

#endif
