/* struct_size: every one up to some more than there is, of an older and of a newer header, and absurd; for every
 * struct that has one. */
#include "support.h"

#define INVALID ZT_ERROR_INVALID_ARGUMENT
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
    return ZT_ERROR_NOT_FOUND; /* told apart from every refusal */
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

/* Each call hands `s` over as its struct and tells how that went. */
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
    return status == ZT_ERROR_NOT_FOUND ? ZT_OK : status; /* it was taken, and asked */
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
    return status == ZT_ERROR_NOT_FOUND ? ZT_OK : status; /* it was taken, and asked */
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

static zt_status call_identity(void *s)
{
    return zt_file_identity(dense_file, (zt_identity *)s);
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
    return zt_cache_get(cache, &r, -1, (zt_cache_slice *)s);
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
    REQUIRE(zt_writer_create(path, NULL, &w) == ZT_OK);
    status = zt_writer_add_batch(w, (zt_write_request *)s, 1);
    zt_writer_abort(w);
    return status;
}

static zt_status call_writer_options(void *s)
{
    zt_writer *w = NULL;
    zt_status status = zt_writer_create(path, (zt_writer_options *)s, &w);
    zt_writer_abort(w);
    return status;
}

static zt_status call_sink(void *s)
{
    zt_writer *w = NULL;
    zt_status status = zt_writer_create_sink((zt_sink *)s, NULL, &w);
    zt_writer_abort(w);
    return status;
}

static zt_status with_writer(zt_status (*call)(zt_writer *, void *), void *s)
{
    zt_writer *w = NULL;
    zt_status status;
    CHECK_STATUS(zt_writer_create(path, NULL, &w), ZT_OK);
    status = call(w, s);
    zt_writer_abort(w);
    return status;
}

static zt_status write_object(zt_writer *w, void *s)
{
    return zt_writer_add_object(w, (zt_object_desc *)s);
}

static zt_status set_attribute(zt_writer *w, void *s)
{
    return zt_writer_set_attribute(w, "k", (zt_attribute *)s);
}

static zt_status write_quantized(zt_writer *w, void *s)
{
    return zt_writer_add_quantized(w, "q", 0, shape2, 2, (zt_quantized_desc *)s);
}

static zt_status write_component(zt_writer *w, void *s)
{
    zt_object_desc o;
    INIT(o);
    o.name = "x";
    o.format = ZT_FORMAT_DENSE;
    o.shape = &eight;
    o.rank = 1;
    CHECK_STATUS(zt_writer_begin_object(w, &o), ZT_OK);
    return zt_writer_add_component(w, (zt_component_desc *)s);
}

static zt_status call_object_desc(void *s) { return with_writer(write_object, s); }
static zt_status call_attribute(void *s) { return with_writer(set_attribute, s); }
static zt_status call_quantized_desc(void *s) { return with_writer(write_quantized, s); }
static zt_status call_component_desc(void *s) { return with_writer(write_component, s); }

static zt_status call_summary(void *s)
{
    zt_writer *w = NULL;
    zt_status status;
    CHECK_STATUS(zt_writer_create(path, NULL, &w), ZT_OK);
    status = zt_writer_finish(w, (zt_write_summary *)s);
    (void)remove(path);
    return status;
}

/* Where the numbers and pointers of a struct lie, those of a zt_array one by one. */
typedef struct field { size_t at, size; } field;
#define F(T, f) {offsetof(T, f), sizeof(((T *)0)->f)}
#define A(T, f) F(T, f.data), F(T, f.size), F(T, f.count), F(T, f.dtype), F(T, f.type), F(T, f.reserved), F(T, f.reserved2)
static const field zt_open_options_fields[] = {
    F(zt_open_options, struct_size), F(zt_open_options, mode), F(zt_open_options, verify),
    F(zt_open_options, strict), F(zt_open_options, advice), F(zt_open_options, max_manifest_size),
    F(zt_open_options, max_decoded_size), F(zt_open_options, max_objects), F(zt_open_options, threads),
    F(zt_open_options, containers), F(zt_open_options, max_memory), F(zt_open_options, context),
    F(zt_open_options, progress), F(zt_open_options, name), F(zt_open_options, allocator),
    F(zt_open_options, thread_hooks)};
static const field zt_allocator_fields[] = {
    F(zt_allocator, struct_size), F(zt_allocator, context), F(zt_allocator, allocate), F(zt_allocator, free)};
static const field zt_thread_hooks_fields[] = {
    F(zt_thread_hooks, struct_size), F(zt_thread_hooks, context), F(zt_thread_hooks, on_start),
    F(zt_thread_hooks, on_end)};
static const field zt_component_info_fields[] = {
    F(zt_component_info, struct_size), F(zt_component_info, component), F(zt_component_info, object),
    F(zt_component_info, role), F(zt_component_info, role_length), F(zt_component_info, digest),
    F(zt_component_info, offset), F(zt_component_info, stored_size), F(zt_component_info, size),
    F(zt_component_info, dtype), F(zt_component_info, type), F(zt_component_info, encoding),
    F(zt_component_info, part)};
static const field zt_identity_fields[] = {
    F(zt_identity, struct_size), F(zt_identity, size), F(zt_identity, modified_ns),
    F(zt_identity, manifest_offset), F(zt_identity, manifest_hash), F(zt_identity, source_identity)};
static const field zt_store_fields[] = {
    F(zt_store, struct_size), F(zt_store, context), F(zt_store, open), F(zt_store, list)};
static const field zt_source_fields[] = {
    F(zt_source, struct_size), F(zt_source, context), F(zt_source, size), F(zt_source, read_at),
    F(zt_source, close), F(zt_source, read_many), F(zt_source, name), F(zt_source, gap),
    F(zt_source, largest_request), F(zt_source, concurrency), F(zt_source, callers_thread),
    F(zt_source, identity)};
static const field zt_read_options_fields[] = {
    F(zt_read_options, struct_size), F(zt_read_options, threads), F(zt_read_options, direct),
    F(zt_read_options, chunk_size), F(zt_read_options, in_flight), F(zt_read_options, verify),
    F(zt_read_options, pinned), F(zt_read_options, context), F(zt_read_options, on_done),
    F(zt_read_options, progress)};
static const field zt_read_request_fields[] = {
    F(zt_read_request, struct_size), F(zt_read_request, component), F(zt_read_request, offset),
    F(zt_read_request, length), F(zt_read_request, start), F(zt_read_request, count),
    F(zt_read_request, step), F(zt_read_request, dst), F(zt_read_request, dst_size), F(zt_read_request, tag),
    F(zt_read_request, rows), F(zt_read_request, row_length), F(zt_read_request, row_stride),
    F(zt_read_request, dst_stride), F(zt_read_request, verify), F(zt_read_request, convert)};
static const field zt_load_options_fields[] = {
    F(zt_load_options, struct_size), F(zt_load_options, threads), F(zt_load_options, direct),
    F(zt_load_options, chunk_size), F(zt_load_options, in_flight), F(zt_load_options, verify),
    F(zt_load_options, pinned), F(zt_load_options, order), F(zt_load_options, keep_going), F(zt_load_options, ring),
    F(zt_load_options, slot_size), F(zt_load_options, slot_count), F(zt_load_options, thread_hooks)};
static const field zt_load_event_fields[] = {
    F(zt_load_event, struct_size), F(zt_load_event, kind), F(zt_load_event, status), F(zt_load_event, message),
    F(zt_load_event, tag), F(zt_load_event, data), F(zt_load_event, size), F(zt_load_event, offset),
    F(zt_load_event, last), F(zt_load_event, slot), F(zt_load_event, piece)};
static const field zt_read_stats_fields[] = {
    F(zt_read_stats, struct_size), F(zt_read_stats, bytes), F(zt_read_stats, stored_bytes),
    F(zt_read_stats, requests), F(zt_read_stats, digests_verified), F(zt_read_stats, nanoseconds),
    F(zt_read_stats, threads), F(zt_read_stats, direct), F(zt_read_stats, reason)};
static const field zt_cache_options_fields[] = {
    F(zt_cache_options, struct_size), F(zt_cache_options, budget), F(zt_cache_options, slot_size),
    F(zt_cache_options, memory), F(zt_cache_options, threads), F(zt_cache_options, verify),
    F(zt_cache_options, context), F(zt_cache_options, choose), F(zt_cache_options, thread_hooks)};
static const field zt_cache_slice_fields[] = {
    F(zt_cache_slice, struct_size), F(zt_cache_slice, data), F(zt_cache_slice, size), F(zt_cache_slice, pin)};
static const field zt_cache_stats_fields[] = {
    F(zt_cache_stats, struct_size), F(zt_cache_stats, slots), F(zt_cache_stats, used),
    F(zt_cache_stats, pinned), F(zt_cache_stats, queued), F(zt_cache_stats, overhead),
    F(zt_cache_stats, hits), F(zt_cache_stats, joined), F(zt_cache_stats, misses),
    F(zt_cache_stats, prefetches), F(zt_cache_stats, prefetches_used), F(zt_cache_stats, prefetches_dropped),
    F(zt_cache_stats, evictions), F(zt_cache_stats, failures), F(zt_cache_stats, bytes_read)};
static const field zt_verify_options_fields[] = {
    F(zt_verify_options, struct_size), F(zt_verify_options, checks), F(zt_verify_options, threads),
    F(zt_verify_options, context), F(zt_verify_options, progress),
    F(zt_verify_options, on_failure), F(zt_verify_options, object), F(zt_verify_options, component)};
static const field zt_verify_report_fields[] = {
    F(zt_verify_report, struct_size), F(zt_verify_report, objects), F(zt_verify_report, components),
    F(zt_verify_report, bytes), F(zt_verify_report, digests_verified), F(zt_verify_report, digests_absent),
    F(zt_verify_report, digests_unknown), F(zt_verify_report, padding_nonzero)};
static const field zt_repair_options_fields[] = {
    F(zt_repair_options, struct_size), F(zt_repair_options, dry_run), F(zt_repair_options, reserved),
    F(zt_repair_options, max_manifest_size), F(zt_repair_options, cut_at), F(zt_repair_options, context),
    F(zt_repair_options, progress)};
static const field zt_repair_report_fields[] = {
    F(zt_repair_report, struct_size), F(zt_repair_report, old_size), F(zt_repair_report, new_size),
    F(zt_repair_report, objects)};
static const field zt_tensor_fields[] = {
    F(zt_tensor, struct_size), F(zt_tensor, data), F(zt_tensor, size), F(zt_tensor, dtype),
    F(zt_tensor, type), F(zt_tensor, shape), F(zt_tensor, rank)};
static const field zt_object_info_fields[] = {
    F(zt_object_info, struct_size), F(zt_object_info, object), F(zt_object_info, name),
    F(zt_object_info, name_length), F(zt_object_info, shape), F(zt_object_info, rank),
    F(zt_object_info, attributes), F(zt_object_info, component_count), F(zt_object_info, component),
    F(zt_object_info, offset), F(zt_object_info, stored_size), F(zt_object_info, size),
    F(zt_object_info, format), F(zt_object_info, dtype), F(zt_object_info, type), F(zt_object_info, encoding)};
static const field zt_csr_fields[] = {
    F(zt_csr, struct_size), F(zt_csr, rows), F(zt_csr, columns), F(zt_csr, nnz), A(zt_csr, values),
    A(zt_csr, indices), A(zt_csr, indptr)};
static const field zt_coo_fields[] = {
    F(zt_coo, struct_size), F(zt_coo, nnz), F(zt_coo, shape), F(zt_coo, rank), A(zt_coo, values),
    A(zt_coo, coords)};
static const field zt_quantized_fields[] = {
    F(zt_quantized, struct_size), F(zt_quantized, shape), F(zt_quantized, rank), F(zt_quantized, bits),
    F(zt_quantized, group_size), F(zt_quantized, packing), A(zt_quantized, packed_weight),
    A(zt_quantized, scales), A(zt_quantized, zeros)};
static const field zt_write_request_fields[] = {
    F(zt_write_request, struct_size), F(zt_write_request, name), F(zt_write_request, shape),
    F(zt_write_request, rank), F(zt_write_request, data), F(zt_write_request, size),
    F(zt_write_request, dtype), F(zt_write_request, type), F(zt_write_request, encoding),
    F(zt_write_request, digest), F(zt_write_request, name_length)};
static const field zt_writer_options_fields[] = {
    F(zt_writer_options, struct_size), F(zt_writer_options, spec_version), F(zt_writer_options, encoding),
    F(zt_writer_options, alignment), F(zt_writer_options, large_alignment), F(zt_writer_options, large_size),
    F(zt_writer_options, zstd_level), F(zt_writer_options, digest), F(zt_writer_options, threads),
    F(zt_writer_options, durable), F(zt_writer_options, frame_size), F(zt_writer_options, context),
    F(zt_writer_options, progress), F(zt_writer_options, thread_hooks)};
static const field zt_sink_fields[] = {
    F(zt_sink, struct_size), F(zt_sink, context), F(zt_sink, write), F(zt_sink, finish), F(zt_sink, close)};
static const field zt_object_desc_fields[] = {
    F(zt_object_desc, struct_size), F(zt_object_desc, name), F(zt_object_desc, name_length),
    F(zt_object_desc, format), F(zt_object_desc, reserved), F(zt_object_desc, format_name),
    F(zt_object_desc, shape), F(zt_object_desc, rank), F(zt_object_desc, components),
    F(zt_object_desc, component_count), F(zt_object_desc, attributes), F(zt_object_desc, attributes_json),
    F(zt_object_desc, format_name_length)};
static const field zt_component_desc_fields[] = {
    F(zt_component_desc, struct_size), F(zt_component_desc, role), F(zt_component_desc, role_length),
    F(zt_component_desc, dtype), F(zt_component_desc, type), F(zt_component_desc, type_name),
    F(zt_component_desc, encoding), F(zt_component_desc, digest), F(zt_component_desc, data),
    F(zt_component_desc, size), F(zt_component_desc, type_name_length)};
static const field zt_quantized_desc_fields[] = {
    F(zt_quantized_desc, struct_size), F(zt_quantized_desc, bits), F(zt_quantized_desc, group_size),
    F(zt_quantized_desc, packing), F(zt_quantized_desc, packed_weight),
    F(zt_quantized_desc, packed_weight_size), F(zt_quantized_desc, scales),
    F(zt_quantized_desc, scales_size), F(zt_quantized_desc, zeros), F(zt_quantized_desc, zeros_size),
    F(zt_quantized_desc, packed_weight_dtype), F(zt_quantized_desc, scales_dtype),
    F(zt_quantized_desc, zeros_dtype), F(zt_quantized_desc, reserved)};
static const field zt_attribute_fields[] = {
    F(zt_attribute, struct_size), F(zt_attribute, kind), F(zt_attribute, dtype), F(zt_attribute, i64),
    F(zt_attribute, u64), F(zt_attribute, f64), F(zt_attribute, data), F(zt_attribute, size),
    F(zt_attribute, count), F(zt_attribute, lengths), F(zt_attribute, key_length)};
static const field zt_write_summary_fields[] = {
    F(zt_write_summary, struct_size), F(zt_write_summary, file_size), F(zt_write_summary, objects),
    F(zt_write_summary, components), F(zt_write_summary, stored_bytes), F(zt_write_summary, data_bytes)};

/* Whether a struct of so many bytes ends within one of its fields. */
static int is_cut(const field *fields, size_t count, size_t n)
{
    size_t i;
    for (i = 0; i < count; i++)
        if (fields[i].at < n && n < fields[i].at + fields[i].size)
            return 1;
    return 0;
}

/* Every struct_size, with what is no pointer and no default behind what is said to be there. */
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
            if (s.bytes[i] != (i < n && is_out && status == ZT_OK ? 0 : 0xa5)) /* what is not known here is zeroed */
                CHECK(0 && "written past its end, or what is unknown is left");
        if (check_failures > before) {
            fprintf(stderr, "    with struct_size %lu\n", (unsigned long)n);
            break;
        }
    }
}

/* `filled`: a struct that the call takes. `need`: bytes of it that the call cannot do without. */
static void sizes(const char *what, const void *filled, size_t size, size_t need, int is_out, zt_status (*call)(void *),
                  const field *fields, size_t count)
{
    static const size_t absurd[] = {0, 1, 4, 7};
    space s;
    size_t i, n;
    unsigned long before = check_failures;
    for (i = 0; i < COUNT(absurd); i++) { /* not even struct_size is in it */
        memcpy(s.bytes, filled, size);
        memcpy(s.bytes, &absurd[i], sizeof(size_t));
        CHECK_STATUS(call(s.bytes), INVALID);
    }
    n = SIZE_MAX; /* no struct is that large: it must not be looked through */
    memcpy(s.bytes, filled, size);
    memcpy(s.bytes, &n, sizeof n);
    CHECK_STATUS(call(s.bytes), INVALID);
    /* Of a newer header: taken as long as what is not known is zero, and an output is not written past what is. */
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
    /* Of an older one: the fields it has, and nothing behind them is read or written. */
    for (n = need; n < size; n += 8) {
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

/* Arrays whose elements are larger than this header's: the first says how far apart they are. */
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
    requests[1].r.struct_size = sizeof(zt_read_request); /* not the same in every one */
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
    CHECK_STATUS(zt_writer_create(path, NULL, &w), ZT_OK);
    components[1].more[2] = 1;
    CHECK_STATUS(zt_writer_add_object(w, &o), INVALID);
    components[1].more[2] = 0;
    components[1].c.struct_size = sizeof(zt_component_desc);
    CHECK_STATUS(zt_writer_add_object(w, &o), INVALID);
    components[1].c.struct_size = sizeof components[0];
    CHECK_STATUS(zt_writer_add_object(w, &o), ZT_OK);
    CHECK_STATUS(zt_writer_finish(w, NULL), ZT_OK);
    f = open_path(path);
    CHECK_U64(zt_component_count(zt_object_find(f, "x")), 2);
    zt_close(f);
    CHECK(remove(path) == 0);
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
    OPTIONS(zt_writer_options, call_writer_options);
    OPTIONS(zt_attribute, call_attribute); /* all zero is null */
    inputs();
    arrays();
    OUTPUT(zt_object_info, call_object_info);
    OUTPUT(zt_component_info, call_component_info);
    OUTPUT(zt_tensor, call_tensor);
    OUTPUT(zt_identity, call_identity);
    OUTPUT(zt_csr, call_csr);
    OUTPUT(zt_coo, call_coo);
    OUTPUT(zt_quantized, call_quantized);
    OUTPUT(zt_read_stats, call_read_stats);
    OUTPUT(zt_cache_slice, call_cache_slice);
    OUTPUT(zt_cache_stats, call_cache_stats);
    OUTPUT(zt_load_event, call_load_next);
    OUTPUT(zt_verify_report, call_verify_report);
    OUTPUT(zt_repair_report, call_repair_report);
    OUTPUT(zt_write_summary, call_summary);
    zt_close(quantized_file);
    zt_close(sparse_file);
    zt_close(dense_file);
    CHECK(!file_exists(path));
    return check_done("hostile_structs");
}
