/* Invalid enum values and sizes, names that are not UTF-8, and writers that have failed. */
#include "attributes.h"
#include "support.h"

#define INVALID ZT_ERROR_INVALID_ARGUMENT

static zt_file *file;
static const zt_object *object;
static const zt_component *component;
static const char *path;
static const uint64_t two[2] = {2, 2};
static unsigned char space[4096];

static const char *const not_utf8[] = {"\xff", "\x80", "\xc3", "\xc3(", "\xe2\x82", "\xf0\x9f\x98", "\xc0\x80", "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80", "ok\xfe"};

static void names(void)
{
    zt_writer *w = NULL;
    zt_tensor t;
    zt_object_desc o;
    zt_component_desc c;
    zt_quantized_desc q;
    static const uint64_t zeros[3] = {0, 0, 0};
    size_t i;
    INIT(t);
    INIT(c);
    INIT(q);
    q.packed_weight = q.scales = space;
    q.packed_weight_size = q.scales_size = 4;
    q.packed_weight_dtype = q.scales_dtype = ZT_DTYPE_U8;
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    c.data = space;
    c.size = 4;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    for (i = 0; i < COUNT(not_utf8); i++) {
        const char *bad = not_utf8[i];
        CHECK(zt_object_find(file, bad) == NULL && zt_object_find_n(file, bad, strlen(bad)) == NULL);
        CHECK(zt_component_find(object, bad) == NULL);
        CHECK_STATUS(zt_tensor_find(file, bad, &t), ZT_ERROR_NOT_FOUND);
        CHECK_STATUS(zt_write_dense(w, bad, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, space, 4), INVALID);
        CHECK_STATUS(zt_write_csr(w, bad, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 0, NULL, 0, NULL, zeros), INVALID);
        CHECK_STATUS(zt_write_coo(w, bad, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, 0, NULL, 0, NULL), INVALID);
        CHECK_STATUS(zt_write_quantized(w, bad, 0, two, 2, &q), INVALID);
        CHECK_STATUS(copy_named(w, object, bad), INVALID);
        INIT(o);
        o.name = bad;
        o.format = ZT_FORMAT_DENSE;
        o.shape = two;
        o.rank = 2;
        CHECK_STATUS(zt_write_begin(w, &o), INVALID);
        o.components = &c;
        o.component_count = 1;
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        o.name = "a";
        o.attributes_json = bad;
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        o.attributes_json = NULL;
        o.format = ZT_FORMAT_OTHER;
        o.format_name = bad;
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        o.format = ZT_FORMAT_DENSE;
        o.format_name = NULL;
        c.role = bad;
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        c.role = "data";
        c.type = ZT_TYPE_OTHER;
        c.type_name = bad;
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        c.type = ZT_TYPE_NONE;
        c.type_name = NULL;
        q.packing = bad;
        CHECK_STATUS(zt_write_quantized(w, "a", 0, two, 2, &q), INVALID);
        q.packing = NULL;
        CHECK_STATUS(set_i64(w, NULL, bad, 1), INVALID);
        CHECK_STATUS(set_string(w, NULL, "k", bad), INVALID);
    }
    zt_write_abort(w);
    CHECK(!file_exists(path));
}

static void enumerations(void)
{
    static const int32_t bad[] = {-1, 100, INT32_MAX, INT32_MIN};
    zt_writer *w = NULL;
    zt_open_options open_options;
    zt_read_options read_options;
    zt_write_request wr;
    zt_verify_options verify_options;
    zt_object_desc o;
    zt_component_desc c;
    zt_file *f;
    uint64_t size = 9;
    size_t i;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    for (i = 0; i < COUNT(bad); i++) {
        CHECK(zt_dtype_name(bad[i]) == NULL && zt_type_name(bad[i]) == NULL && zt_format_name(bad[i]) == NULL);
        CHECK_STATUS(zt_object_read_as(object, bad[i], space, sizeof space, NULL), INVALID);
        CHECK_STATUS(zt_object_size_as(object, bad[i], &size), INVALID);
        CHECK_STATUS(zt_component_advise(component, (zt_advice)bad[i]), INVALID);
        CHECK_STATUS(zt_write_dense(w, "a", 0, bad[i], ZT_TYPE_NONE, two, 2, space, 4), INVALID);
        CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, bad[i], two, 2, space, 4), INVALID);
        INIT(wr);
        wr.name = "a";
        wr.shape = two;
        wr.rank = 2;
        wr.data = space;
        wr.size = 4;
        wr.dtype = bad[i];
        CHECK_STATUS(zt_write_batch(w, &wr, 1), INVALID);
        wr.dtype = ZT_DTYPE_U8;
        wr.type = bad[i];
        CHECK_STATUS(zt_write_batch(w, &wr, 1), INVALID);
        wr.type = ZT_TYPE_NONE;
        wr.encoding = bad[i];
        CHECK_STATUS(zt_write_batch(w, &wr, 1), INVALID);
        wr.encoding = ZT_ENCODING_DEFAULT;
        wr.digest = bad[i];
        CHECK_STATUS(zt_write_batch(w, &wr, 1), INVALID);
        INIT(open_options);
        open_options.mode = bad[i];
        f = file;
        CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-empty.zt"), &open_options, &f), INVALID);
        CHECK(f == NULL);
        INIT(open_options);
        open_options.advice = (zt_advice)bad[i];
        CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-empty.zt"), &open_options, &f), INVALID);
        INIT(read_options);
        read_options.direct = bad[i];
        CHECK_STATUS(zt_read_batch(file, NULL, 0, &read_options, NULL), INVALID);
        INIT(verify_options);
        verify_options.checks = (uint32_t)bad[i];
        CHECK_STATUS(zt_verify(file, &verify_options, NULL), INVALID);
        INIT(c);
        c.role = "data";
        c.dtype = ZT_DTYPE_U8;
        c.data = space;
        c.size = 4;
        INIT(o);
        o.name = "a";
        o.format = bad[i];
        o.shape = two;
        o.rank = 2;
        o.components = &c;
        o.component_count = 1;
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        o.format = ZT_FORMAT_DENSE;
        c.encoding = bad[i];
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
        c.encoding = 0;
        c.digest = bad[i];
        CHECK_STATUS(zt_write_object(w, &o), INVALID);
    }
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_OTHER, ZT_TYPE_NONE, two, 2, space, 4), INVALID);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_OTHER, two, 2, space, 4), INVALID);
    zt_write_abort(w);
}

static void absurd_sizes(void)
{
    static const uint64_t huge[2] = {UINT64_MAX, UINT64_MAX}, half[2] = {UINT64_C(1) << 32, UINT64_C(1) << 32};
    zt_read_request r;
    zt_write_request wr;
    zt_object_desc o;
    zt_component_desc c;
    zt_writer *w = NULL;
    zt_file *f = file;
    zt_status status;
    CHECK(zt_object_find_n(file, "f32", SIZE_MAX) == NULL);
    /* More memory than exists is accepted or rejected; bytes after the component are not touched. */
    memset(space, 0xa5, sizeof space);
    status = zt_component_read(component, space, SIZE_MAX);
    CHECK(status == ZT_OK || status == INVALID);
    CHECK(space[60] == 0xa5);
    status = zt_object_read_as(object, ZT_DTYPE_F64, space, SIZE_MAX, NULL);
    CHECK(status == ZT_OK || status == INVALID);
    CHECK(space[120] == 0xa5);
    CHECK_STATUS(zt_component_read_range(component, 0, space, SIZE_MAX), INVALID);
    CHECK_STATUS(zt_component_read_range(component, 1, space, SIZE_MAX), INVALID);
    CHECK(zt_open_memory(space, SIZE_MAX, NULL, &f) != ZT_OK && f == NULL);
    INIT(r);
    r.component = component;
    r.length = ZT_WHOLE;
    r.dst = space;
    r.dst_size = sizeof space;
    CHECK(zt_read_batch(file, &r, SIZE_MAX, NULL, NULL) != ZT_OK);
    CHECK(zt_read_batch(file, &r, SIZE_MAX / sizeof r, NULL, NULL) != ZT_OK);
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, space, SIZE_MAX) != ZT_OK);
    INIT(wr);
    wr.name = "a";
    wr.shape = two;
    wr.rank = 2;
    wr.data = space;
    wr.size = SIZE_MAX;
    wr.dtype = ZT_DTYPE_U8;
    CHECK(zt_write_batch(w, &wr, 1) != ZT_OK);
    CHECK(zt_write_batch(w, &wr, SIZE_MAX) != ZT_OK);
    CHECK(zt_write_batch(w, &wr, SIZE_MAX / sizeof wr) != ZT_OK);
    wr.rank = SIZE_MAX;
    wr.size = 4;
    CHECK_STATUS(zt_write_batch(w, &wr, 1), INVALID);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, SIZE_MAX, space, 4), INVALID);
    CHECK(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, huge, 2, space, 1) != ZT_OK);
    CHECK(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, half, 2, space, 0) != ZT_OK); /* 2^64 elements are not 0 */
    CHECK(zt_write_csr(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, SIZE_MAX, space, 1, two, two) != ZT_OK);
    CHECK(zt_write_csr(w, "a", 0, ZT_DTYPE_F64, ZT_TYPE_NONE, two, SIZE_MAX / 8 + 1, space, 0, two, two) != ZT_OK);
    CHECK(zt_write_csr(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, huge, 1, space, 1, two, two) != ZT_OK); /* rows + 1 is 0 */
    CHECK(zt_write_coo(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, SIZE_MAX, space, 1, two) != ZT_OK);
    CHECK(zt_write_coo(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, SIZE_MAX, 1, space, 1, two) != ZT_OK);
    CHECK_STATUS(set_bytes(w, NULL, "k", space, SIZE_MAX), INVALID);
    INIT(c);
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    c.data = space;
    c.size = UINT64_MAX;
    INIT(o);
    o.name = "a";
    o.format = ZT_FORMAT_DENSE;
    o.shape = two;
    o.rank = 2;
    o.components = &c;
    o.component_count = 1;
    CHECK(zt_write_object(w, &o) != ZT_OK);
    c.size = 4;
    o.component_count = SIZE_MAX;
    CHECK(zt_write_object(w, &o) != ZT_OK);
    o.component_count = 1;
    o.name_length = SIZE_MAX;
    CHECK(zt_write_object(w, &o) != ZT_OK);
    o.name_length = 0;
    c.role_length = SIZE_MAX;
    CHECK(zt_write_object(w, &o) != ZT_OK);
    c.role_length = 0;
    o.component_count = 0;
    CHECK_STATUS(zt_write_begin(w, &o), INVALID); /* components without a count */
    o.components = NULL;
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    c.data = NULL;
    c.size = UINT64_MAX; /* the declared size does not match the shape */
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_BUFFER_SIZE);
    c.size = 0;
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK(zt_write_data(w, space, SIZE_MAX) != ZT_OK);
    CHECK_STATUS(zt_write_data(w, space, 4), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    f = open_path(path);
    CHECK_U64(zt_object_count(f), 1);
    CHECK_STATUS(zt_verify(f, NULL, NULL), ZT_OK);
    zt_close(f);
    CHECK(remove(path) == 0);
}

/* Arrays of numbers at odd addresses are rejected or read correctly. */
static void misaligned_arrays(void)
{
    unsigned char bytes[sizeof two + 8];
    const uint64_t *at;
    zt_writer *w = NULL;
    zt_status status;
    memcpy(bytes + 1, two, sizeof two);
    at = (const uint64_t *)(const void *)(bytes + 1);
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    status = zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, at, 2, space, 4);
    CHECK(status == ZT_OK || status == INVALID);
    zt_write_abort(w);
    memcpy(bytes + 1, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    status = zt_object_read_slice(object, at, two, NULL, space, sizeof space);
    CHECK(status == ZT_OK || status == INVALID);
}

/* A sink that accepts 100000 bytes. */

static zt_status failing_write(void *context, const void *bytes, size_t n)
{
    (void)bytes;
    return (*(size_t *)context += n) > 100000 ? ZT_ERROR_IO : ZT_OK;
}

static void failed_writer(void)
{
    static const uint64_t shape = 1 << 20, zeros[3] = {0, 0, 0};
    unsigned char *large = (unsigned char *)calloc(1, (size_t)shape);
    size_t written = 0;
    zt_writer *w = NULL;
    zt_sink sink;
    zt_object_desc o;
    zt_component_desc c;
    zt_quantized_desc q;
    zt_write_summary summary;
    REQUIRE(large != NULL);
    INIT(sink);
    sink.context = &written;
    sink.write = failing_write;
    INIT(summary);
    INIT(o);
    o.name = "b";
    o.format = ZT_FORMAT_DENSE;
    INIT(c);
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    INIT(q);
    q.packed_weight = q.scales = space;
    q.packed_weight_size = q.scales_size = 4;
    q.packed_weight_dtype = q.scales_dtype = ZT_DTYPE_U8;
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, large, (size_t)shape), ZT_ERROR_IO);
    CHECK_STATUS(zt_write_dense(w, "b", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, space, 4), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_csr(w, "b", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 0, NULL, 0, NULL, zeros), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_coo(w, "b", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, 0, NULL, 0, NULL), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_quantized(w, "b", 0, two, 2, &q), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_data(w, space, 1), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_STATE);
    CHECK_STATUS(copy_named(w, object, "b"), ZT_ERROR_STATE);
    o.components = &c;
    o.component_count = 1;
    c.data = space;
    c.size = 1;
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_STATE);
    CHECK_STATUS(set_bool(w, NULL, "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_i64(w, NULL, "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_u64(w, NULL, "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_f64(w, NULL, "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_string(w, NULL, "k", "v"), ZT_ERROR_STATE);
    CHECK_STATUS(set_bytes(w, NULL, "k", "v", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_json(w, NULL, "k", "1"), ZT_ERROR_STATE);
    CHECK_STATUS(set_bool(w, "a", "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_i64(w, "a", "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_u64(w, "a", "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_f64(w, "a", "k", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_string(w, "a", "k", "v"), ZT_ERROR_STATE);
    CHECK_STATUS(set_bytes(w, "a", "k", "v", 1), ZT_ERROR_STATE);
    CHECK_STATUS(set_json(w, "a", "k", "1"), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_finish(w, &summary), ZT_ERROR_STATE);
    CHECK_U64(summary.file_size, 0);
    free(large);
}

int main(void)
{
    path = scratch_path("hostile.zt");
    file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    object = zt_object_find(file, "f32");
    component = zt_component_find(object, "data");
    names();
    enumerations();
    absurd_sizes();
    misaligned_arrays();
    failed_writer();
    zt_close(file);
    CHECK(!file_exists(path));
    return check_done("hostile_values");
}
