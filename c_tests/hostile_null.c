/* NULL for each pointer of each function that reads: it fails or does nothing, and never crashes. For
 * functions that write: hostile_null_write.c. */
#include "support.h"
#include "ztensor_dlpack.h"

#define INVALID ZT_ERROR_INVALID_ARGUMENT

static zt_file *file;
static const zt_object *object;
static const zt_component *component;
static char space[4096];
static const uint64_t two[2] = {2, 2};

static void library_and_open(void)
{
    const char *path = data_path("v1.2/py-1.2.3-all-dtypes.zt");
    zt_dtype dtype = 1;
    zt_type type = 1;
    zt_source source;
    zt_store store;
    const char *const no_paths[1] = {NULL};
    zt_file *f = file;
    CHECK_STATUS(zt_dtype_from_name(NULL, &dtype), INVALID);
    CHECK_STATUS(zt_dtype_from_name("f32", NULL), INVALID);
    CHECK_STATUS(zt_type_from_name(NULL, &type), INVALID);
    CHECK_STATUS(zt_type_from_name("complex64", NULL), INVALID);
    CHECK_STATUS(zt_type_block(ZT_TYPE_COMPLEX64, NULL, NULL), ZT_OK); /* either may be NULL */
    CHECK_STATUS(zt_type_ggml(ZT_DTYPE_F32, ZT_TYPE_NONE, NULL), INVALID);
    CHECK_STATUS(zt_type_from_ggml(0, NULL, NULL), ZT_OK); /* either may be NULL */
    CHECK(dtype == 1 && type == 1);
    CHECK_STATUS(zt_open(NULL, NULL, &f), INVALID);
    CHECK(f == NULL);
    CHECK_STATUS(zt_open(path, NULL, NULL), INVALID);
    CHECK_STATUS(zt_open(NULL, NULL, NULL), INVALID);
    CHECK_STATUS(zt_open_fd(0, 0, 0, NULL, NULL), INVALID);
    CHECK_STATUS(zt_open_handle(NULL, 0, 0, NULL, NULL), INVALID);
    CHECK_STATUS(zt_open_model(NULL, NULL, &f), INVALID);
    CHECK(f == NULL);
    CHECK_STATUS(zt_open_model("", NULL, NULL), INVALID);
    CHECK_STATUS(zt_open_parts(NULL, 1, NULL, &f), INVALID);
    CHECK_STATUS(zt_open_parts(NULL, 0, NULL, &f), INVALID);
    CHECK_STATUS(zt_open_parts(no_paths, 1, NULL, &f), INVALID);
    CHECK_STATUS(zt_open_parts(no_paths, 1, NULL, NULL), INVALID);
    f = file;
    CHECK_STATUS(zt_open_memory(NULL, 100, NULL, &f), INVALID);
    CHECK(f == NULL);
    CHECK_STATUS(zt_open_memory(space, 100, NULL, NULL), INVALID);
    f = file;
    CHECK_STATUS(zt_open_source(NULL, NULL, &f), INVALID);
    CHECK(f == NULL);
    INIT(source);
    CHECK_STATUS(zt_open_source(&source, NULL, &f), INVALID);
    CHECK_STATUS(zt_open_source(&source, NULL, NULL), INVALID);
    f = file;
    CHECK_STATUS(zt_open_model_from(NULL, "x", NULL, &f), INVALID);
    CHECK(f == NULL);
    INIT(store);
    CHECK_STATUS(zt_open_model_from(&store, "x", NULL, &f), INVALID);
    CHECK_STATUS(zt_open_model_from(&store, NULL, NULL, &f), INVALID);
    CHECK_STATUS(zt_open_model_from(&store, "x", NULL, NULL), INVALID);
    zt_set_last_error("said");
    zt_set_last_error(NULL);
    CHECK(strcmp(zt_last_error(), "said") == 0);
    CHECK(zt_retain(NULL) == NULL);
    zt_close(NULL);
    CHECK(zt_file_version(NULL) == NULL && zt_file_attributes(NULL) == NULL);
    CHECK(zt_object_count(NULL) == 0);
}

static void dlpack(void)
{
    struct DLManagedTensorVersioned *tensor = (struct DLManagedTensorVersioned *)space;
    struct DLManagedTensor *old = (struct DLManagedTensor *)space;
    CHECK_STATUS(zt_object_to_dlpack(NULL, &tensor), INVALID);
    CHECK(tensor == NULL);
    CHECK_STATUS(zt_object_to_dlpack(object, NULL), INVALID);
    tensor = (struct DLManagedTensorVersioned *)space;
    CHECK_STATUS(zt_component_to_dlpack(NULL, &tensor), INVALID);
    CHECK(tensor == NULL);
    CHECK_STATUS(zt_component_to_dlpack(component, NULL), INVALID);
    CHECK_STATUS(zt_object_to_dlpack_unversioned(NULL, &old), INVALID);
    CHECK(old == NULL);
    CHECK_STATUS(zt_object_to_dlpack_unversioned(object, NULL), INVALID);
    CHECK_STATUS(zt_write_dlpack(NULL, "a", 0, (const struct DLManagedTensorVersioned *)space), INVALID);
    CHECK_STATUS(zt_write_dlpack_unversioned(NULL, "a", 0, (const struct DLManagedTensor *)space), INVALID);
}

static void objects_and_components(void)
{
    zt_tensor tensor;
    uint64_t measured = 7, wide = 9;
    const void *ptr = space;
    size_t size = 7;
    zt_buffer *buffer = (zt_buffer *)space;
    zt_object_info info;
    zt_component_info parts;
    INIT(info);
    INIT(parts);
    CHECK(zt_object_at(NULL, 0) == NULL && zt_object_find(NULL, "a") == NULL && zt_object_find(file, NULL) == NULL);
    INIT(tensor);
    CHECK_STATUS(zt_tensor_view(NULL, &tensor), INVALID);
    CHECK_STATUS(zt_tensor_view(object, NULL), INVALID);
    CHECK_STATUS(zt_component_measure(NULL, NULL, NULL, &measured), INVALID);
    CHECK_STATUS(zt_component_read_stored(NULL, space, sizeof space), INVALID);
    CHECK_STATUS(zt_component_read_stored(component, NULL, sizeof space), INVALID);
    CHECK(zt_component_find_n(NULL, "data", 4) == NULL && zt_component_find_n(object, NULL, 4) == NULL);
    CHECK(zt_value_find_n(NULL, "a", 1) == NULL && zt_value_find_n(zt_file_attributes(file), NULL, 1) == NULL);
    {
        zt_identity identity;
        zt_model_info info_of_model;
        zt_part_info part;
        INIT(identity);
        INIT(info_of_model);
        INIT(part);
        CHECK_STATUS(zt_part_get_info(NULL, 0, &part), INVALID);
        CHECK_STATUS(zt_part_get_info(file, 0, NULL), INVALID);
        CHECK_STATUS(zt_part_get_info(file, 1, &part), INVALID);
        CHECK(part.path == NULL && part.size == 0);
        CHECK_STATUS(zt_file_identity(NULL, &identity), INVALID);
        CHECK_STATUS(zt_file_identity(file, NULL), INVALID);
        CHECK_STATUS(zt_part_identity(NULL, 0, &identity), INVALID);
        CHECK_STATUS(zt_part_identity(file, 0, NULL), INVALID);
        CHECK_STATUS(zt_model_get_info(NULL, &info_of_model), INVALID);
        CHECK_STATUS(zt_model_get_info(file, NULL), INVALID);
        CHECK(identity.size == 0);
    }
    CHECK_STATUS(zt_component_measure(component, NULL, NULL, NULL), INVALID);
    CHECK(tensor.data == NULL && measured == 7);
    CHECK_STATUS(zt_object_list(NULL, 0, &info, 1, &size), INVALID);
    CHECK_STATUS(zt_object_list(file, 0, NULL, 1, &size), INVALID);
    CHECK_STATUS(zt_object_list(file, 0, &info, 1, NULL), INVALID);
    CHECK(size == 7 && info.object == NULL);
    CHECK_STATUS(zt_object_list(file, 0, NULL, 0, &size), ZT_OK);
    CHECK_STATUS(zt_object_get_info(NULL, &info), INVALID);
    CHECK_STATUS(zt_object_get_info(object, NULL), INVALID);
    CHECK_STATUS(zt_component_get_info(NULL, &parts), INVALID);
    CHECK_STATUS(zt_component_get_info(component, NULL), INVALID);
    CHECK(info.object == NULL && parts.component == NULL);
    CHECK_STATUS(zt_component_list(NULL, NULL, 0, &parts, 1, &size), INVALID);
    CHECK_STATUS(zt_component_list(file, NULL, 0, NULL, 1, &size), INVALID);
    CHECK_STATUS(zt_component_list(file, NULL, 0, &parts, 1, NULL), INVALID);
    CHECK_STATUS(zt_component_list(file, NULL, 0, NULL, 0, &size), ZT_OK);
    CHECK(size == 0);
    size = 7;
    CHECK(zt_object_find_n(NULL, "a", 1) == NULL && zt_object_find_n(file, NULL, 1) == NULL);
    CHECK(zt_object_name(NULL) == NULL && zt_object_rank(NULL) == 0);
    CHECK(zt_object_shape(NULL) == NULL && zt_object_element_count(NULL) == 0);
    CHECK(zt_object_format(NULL) == ZT_FORMAT_OTHER);
    CHECK(zt_object_attributes(NULL) == NULL && zt_component_count(NULL) == 0);
    CHECK(zt_component_at(NULL, 0) == NULL && zt_component_find(NULL, "data") == NULL);
    CHECK(zt_component_find(object, NULL) == NULL && zt_component_find(NULL, NULL) == NULL);
    CHECK_STATUS(zt_object_read_slice(NULL, two, two, NULL, space, sizeof space), INVALID);
    CHECK_STATUS(zt_object_read_slice(object, NULL, two, NULL, space, sizeof space), INVALID);
    CHECK_STATUS(zt_object_read_slice(object, two, NULL, NULL, space, sizeof space), INVALID);
    CHECK_STATUS(zt_object_read_slice(object, two, two, NULL, NULL, sizeof space), INVALID);
    CHECK(zt_component_role(NULL) == NULL);
    CHECK(zt_component_dtype(NULL) == ZT_DTYPE_OTHER);
    CHECK(zt_component_type(NULL) == ZT_TYPE_NONE);
    CHECK(zt_component_encoding(NULL) == 0);
    CHECK(zt_component_size(NULL) == 0);
    CHECK(zt_component_digest(NULL) == NULL && zt_component_caps(NULL) == 0);
    CHECK(zt_file_mode(NULL) == ZT_MODE_MAP);
    CHECK(zt_part_count(NULL) == 0);
    CHECK_STATUS(zt_file_bytes(NULL, 0, &ptr, NULL), INVALID);
    CHECK_STATUS(zt_file_bytes(file, 0, NULL, NULL), INVALID);
    CHECK_STATUS(zt_component_ptr(NULL, &ptr, &size), INVALID);
    CHECK(ptr == space && size == 7);
    CHECK_STATUS(zt_component_ptr(component, NULL, &size), INVALID);
    CHECK_STATUS(zt_component_ptr(component, NULL, NULL), INVALID);
    CHECK(size == 7);
    CHECK_STATUS(zt_component_read(NULL, space, sizeof space), INVALID);
    CHECK_STATUS(zt_component_read(component, NULL, sizeof space), INVALID);
    CHECK_STATUS(zt_component_read_range(NULL, 0, space, 1), INVALID);
    CHECK_STATUS(zt_component_read_range(component, 0, NULL, 1), INVALID);
    CHECK_STATUS(zt_component_load(NULL, NULL, &buffer), INVALID);
    CHECK(buffer == NULL);
    CHECK_STATUS(zt_component_load(component, NULL, NULL), INVALID);
    CHECK(zt_buffer_data(NULL) == NULL && zt_buffer_size(NULL) == 0);
    zt_buffer_free(NULL);
    CHECK_STATUS(zt_object_read_as(NULL, ZT_DTYPE_F64, space, sizeof space, &size), INVALID);
    CHECK_STATUS(zt_object_read_as(object, ZT_DTYPE_F64, NULL, sizeof space, &size), INVALID);
    CHECK_STATUS(zt_object_size_as(NULL, ZT_DTYPE_F64, &wide), INVALID);
    CHECK_STATUS(zt_object_size_as(object, ZT_DTYPE_F64, NULL), INVALID);
    CHECK(size == 7 && wide == 9);
    CHECK_STATUS(zt_component_advise(NULL, ZT_ADVICE_NONE), INVALID);
}

static void values(void)
{
    int32_t b = 7;
    int64_t i = 7;
    uint64_t u = 7;
    double f = 7;
    const char *s = space;
    const void *y = space;
    size_t n = 7;
    zt_status status;
    CHECK(zt_value_get_kind(NULL) == ZT_VALUE_KIND_NULL && zt_value_count(NULL) == 0);
    CHECK(zt_value_at(NULL, 0) == NULL && zt_value_key_at(NULL, 0) == NULL && zt_value_find(NULL, "a") == NULL);
    CHECK_STATUS(zt_value_get_bool(NULL, &b), INVALID);
    CHECK_STATUS(zt_value_get_i64(NULL, &i), INVALID);
    CHECK_STATUS(zt_value_get_u64(NULL, &u), INVALID);
    CHECK_STATUS(zt_value_get_f64(NULL, &f), INVALID);
    CHECK_STATUS(zt_value_get_string(NULL, &s, &n), INVALID);
    CHECK_STATUS(zt_value_get_bytes(NULL, &y, &n), INVALID);
    CHECK(zt_value_dtype(NULL) == 0);
    CHECK_STATUS(zt_value_get_tag(NULL, &u), INVALID);
    CHECK_STATUS(zt_value_read_numbers(NULL, ZT_DTYPE_U64, &u, 1), INVALID);
    CHECK_STATUS(zt_value_read_numbers(NULL, ZT_DTYPE_U64, NULL, 0), INVALID);
    CHECK_STATUS(zt_value_read_strings(NULL, NULL, NULL, 0), INVALID);
    CHECK_STATUS(zt_value_get_bool(NULL, NULL), INVALID);
    CHECK_STATUS(zt_value_get_string(NULL, NULL, NULL), INVALID);
    CHECK(b == 7 && i == 7 && u == 7 && f == 7 && s == space && y == space && n == 7);
    /* A NULL result means no value or a null value. */
    memset(space, 0, 16);
    status = zt_value_to_json(NULL, space, sizeof space, NULL);
    CHECK(status == INVALID || (status == ZT_OK && strcmp(space, "null") == 0));
}

static void caches(void)
{
    zt_cache_options o;
    zt_cache_pin slice;
    zt_cache_stats stats;
    zt_read_request r;
    zt_cache *cache = (zt_cache *)space;
    INIT(o);
    INIT(slice);
    INIT(stats);
    INIT(r);
    CHECK_STATUS(zt_cache_create(NULL, &cache), INVALID);
    CHECK(cache == NULL);
    CHECK_STATUS(zt_cache_create(&o, &cache), INVALID); /* no budget */
    o.budget = 1 << 16, o.slot_size = 64;
    CHECK_STATUS(zt_cache_create(&o, NULL), INVALID);
    REQUIRE(zt_cache_create(&o, &cache) == ZT_OK);
    CHECK_STATUS(zt_cache_get(NULL, &r, 0, &slice), INVALID);
    CHECK_STATUS(zt_cache_get(cache, NULL, 0, &slice), INVALID);
    CHECK_STATUS(zt_cache_get(cache, &r, 0, &slice), INVALID); /* no component */
    r.component = component;
    CHECK_STATUS(zt_cache_get(cache, &r, 0, NULL), INVALID);
    CHECK_STATUS(zt_cache_prefetch(NULL, NULL, 0), INVALID);
    CHECK_STATUS(zt_cache_prefetch(cache, NULL, 1), INVALID);
    CHECK_STATUS(zt_cache_prefetch(cache, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_cache_unpin(NULL, &slice), INVALID);
    CHECK_STATUS(zt_cache_unpin(cache, NULL), ZT_OK);
    CHECK_STATUS(zt_cache_unpin(cache, &slice), ZT_OK); /* without a pin */
    CHECK_STATUS(zt_cache_drop(NULL, NULL, 0), INVALID);
    CHECK_STATUS(zt_cache_drop(cache, NULL, 1), INVALID);
    CHECK_STATUS(zt_cache_drop(cache, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_cache_cancel(NULL), INVALID);
    CHECK_STATUS(zt_cache_get_stats(NULL, &stats), INVALID);
    CHECK_STATUS(zt_cache_get_stats(cache, NULL), INVALID);
    zt_cache_free(cache);
    zt_cache_free(NULL);
}

static void views_and_batch(void)
{
    zt_tensor tensor;
    zt_csr csr;
    zt_coo coo;
    zt_quantized quantized;
    zt_read_request r;
    zt_read_stats stats;
    INIT(tensor);
    INIT(csr);
    INIT(coo);
    INIT(quantized);
    INIT(r);
    INIT(stats);
    CHECK_STATUS(zt_tensor_find(NULL, "f32", &tensor), INVALID);
    CHECK_STATUS(zt_tensor_find(file, NULL, &tensor), INVALID);
    CHECK_STATUS(zt_tensor_find(file, "f32", NULL), INVALID);
    CHECK_STATUS(zt_csr_view(NULL, &csr), INVALID);
    CHECK_STATUS(zt_csr_view(object, NULL), INVALID);
    CHECK_STATUS(zt_coo_view(NULL, &coo), INVALID);
    CHECK_STATUS(zt_coo_view(object, NULL), INVALID);
    CHECK_STATUS(zt_quantized_view(NULL, &quantized), INVALID);
    CHECK_STATUS(zt_quantized_view(object, NULL), INVALID);
    CHECK(tensor.data == NULL && csr.values.data == NULL && coo.values.data == NULL && quantized.scales.data == NULL);
    CHECK_STATUS(zt_read_batch(NULL, NULL, 0, NULL, NULL), INVALID);
    CHECK_STATUS(zt_read_batch(NULL, &r, 1, NULL, &stats), INVALID);
    CHECK_STATUS(zt_read_batch(file, NULL, 1, NULL, &stats), INVALID);
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, &stats), INVALID); /* no component, no dst */
    r.component = component, r.length = ZT_WHOLE;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, &stats), ZT_ERROR_BUFFER_SIZE); /* dst has 0 bytes */
    r.dst_size = 4096;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, &stats), INVALID);
    caches();
    {
        zt_load *load = NULL;
        zt_load_event event;
        zt_load_part_stats parts;
        size_t filled = 7;
        INIT(event);
        INIT(parts);
        CHECK_STATUS(zt_load_start(NULL, 0, NULL, NULL), INVALID);
        CHECK_STATUS(zt_load_start(NULL, 1, NULL, &load), INVALID);
        r.component = NULL, r.dst_size = 0;
        CHECK_STATUS(zt_load_start(&r, 1, NULL, &load), INVALID);
        CHECK(load == NULL);
        CHECK_STATUS(zt_load_next(NULL, 0, &event), INVALID);
        CHECK_STATUS(zt_load_cancel(NULL), INVALID);
        zt_load_release(NULL, NULL);
        zt_load_release(NULL, &event);
        CHECK_STATUS(zt_load_start(NULL, 0, NULL, &load), ZT_OK);
        CHECK_STATUS(zt_load_next(load, 0, NULL), INVALID);
        zt_load_release(load, NULL);
        CHECK_STATUS(zt_load_get_part_stats(NULL, 0, &parts, 1, &filled), INVALID);
        CHECK_STATUS(zt_load_get_part_stats(load, 0, NULL, 1, &filled), INVALID);
        CHECK_STATUS(zt_load_get_part_stats(load, 0, &parts, 1, NULL), INVALID);
        CHECK(filled == 7);
        CHECK_STATUS(zt_load_get_part_stats(load, 0, NULL, 0, &filled), ZT_OK);
        CHECK(filled == 0);
        CHECK_STATUS(zt_load_finish(load, NULL), ZT_OK);
        CHECK_STATUS(zt_load_finish(NULL, NULL), ZT_OK);
        CHECK_STATUS(zt_load_finish(NULL, &stats), ZT_OK);
    }
    CHECK_STATUS(zt_verify(NULL, NULL, NULL), INVALID);
    CHECK_STATUS(zt_repair(NULL, NULL, NULL), INVALID);
}

int main(void)
{
    file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    object = zt_object_find(file, "f32");
    component = zt_component_find(object, "data");
    library_and_open();
    objects_and_components();
    dlpack();
    values();
    views_and_batch();
    zt_close(file);
    return check_done("hostile_null");
}
