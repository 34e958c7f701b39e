/* NULL for each pointer of each function that writes: it fails or does nothing, and never crashes. */
#include "attributes.h"
#include "support.h"

#define INVALID ZT_ERROR_INVALID_ARGUMENT

static zt_file *file;
static const zt_object *object;
static char space[4096];
static const uint64_t two[2] = {2, 2};

/* Calls every function that writes with a NULL writer. */
static void no_writer(void)
{
    zt_writer *w = (zt_writer *)space;
    zt_sink sink;
    zt_write_request r;
    zt_object_desc o;
    zt_component_desc c;
    zt_quantized_desc q;
    zt_write_summary summary;
    zt_attribute attr = attribute(ZT_ATTRIBUTE_KIND_NULL);
    INIT(sink);
    INIT(r);
    INIT(o);
    INIT(c);
    INIT(q);
    INIT(summary);
    o.name = "a";
    c.role = "data";
    CHECK_STATUS(zt_write_create(NULL, NULL, &w), INVALID);
    CHECK(w == NULL);
    CHECK_STATUS(zt_write_create(scratch_path("null.zt"), NULL, NULL), INVALID);
    CHECK(!file_exists(scratch_path("null.zt")));
    w = (zt_writer *)space;
    CHECK_STATUS(zt_write_append(NULL, NULL, &w), INVALID);
    CHECK(w == NULL);
    CHECK_STATUS(zt_write_append(scratch_path("null.zt"), NULL, NULL), INVALID);
    w = (zt_writer *)space;
    CHECK_STATUS(zt_write_create_sink(NULL, NULL, &w), INVALID);
    CHECK(w == NULL);
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, &w), INVALID);
    CHECK_STATUS(zt_write_create_sink(&sink, NULL, NULL), INVALID);
    CHECK_STATUS(zt_write_dense(NULL, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, space, 1), INVALID);
    CHECK_STATUS(zt_write_batch(NULL, NULL, 0), INVALID);
    CHECK_STATUS(zt_write_batch(NULL, &r, 1), INVALID);
    CHECK_STATUS(zt_write_csr(NULL, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 0, NULL, 0, NULL, two), INVALID);
    CHECK_STATUS(zt_write_coo(NULL, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, 0, NULL, 0, NULL), INVALID);
    CHECK_STATUS(zt_write_quantized(NULL, "a", 0, two, 2, &q), INVALID);
    CHECK_STATUS(zt_write_object(NULL, &o), INVALID);
    CHECK_STATUS(zt_write_begin(NULL, &o), INVALID);
    CHECK_STATUS(zt_write_component(NULL, &c), INVALID);
    CHECK_STATUS(zt_write_data(NULL, space, 1), INVALID);
    CHECK_STATUS(zt_write_end(NULL), INVALID);
    CHECK_STATUS(zt_write_copy(NULL, object, NULL), INVALID);
    CHECK_STATUS(zt_write_shard(NULL, "a", 0, NULL), INVALID);
    CHECK_STATUS(zt_write_link(NULL, object, NULL, 0), INVALID);
    CHECK_STATUS(zt_write_copy_attributes(NULL, file), INVALID);
    CHECK_STATUS(zt_write_finish(NULL, NULL), ZT_OK);
    CHECK_STATUS(zt_write_finish(NULL, &summary), ZT_OK);
    zt_write_abort(NULL);
    CHECK_STATUS(zt_write_attribute(NULL, NULL, 0, "k", &attr), INVALID);
    CHECK_STATUS(zt_write_remove(NULL, "a", 0), INVALID);
    CHECK_STATUS(zt_write_rename(NULL, "a", 0, "b", 0), INVALID);
    CHECK_STATUS(zt_write_attribute(NULL, "a", 0, "k", &attr), INVALID);
}

/* With a writer, but without each argument that a call needs. The writer then finishes a good file. */
static void nothing_to_write(void)
{
    const char *path = scratch_path("nothing.zt");
    static const uint64_t zeros[3] = {0, 0, 0};
    zt_writer *w = NULL;
    zt_write_request r;
    zt_object_desc o;
    zt_component_desc c;
    zt_quantized_desc q;
    zt_attribute attr = attribute(ZT_ATTRIBUTE_KIND_NULL);
    zt_file *f;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, NULL, &attr), INVALID);
    CHECK_STATUS(zt_write_attribute(w, NULL, 0, "k", NULL), INVALID);
    CHECK_STATUS(zt_write_attribute(w, NULL, 1, "k", &attr), INVALID);
    CHECK_STATUS(zt_write_dense(w, NULL, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, space, 1), INVALID);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 2, space, 4), INVALID);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, NULL, 4), INVALID);
    CHECK_STATUS(zt_write_remove(w, NULL, 0), INVALID);
    CHECK_STATUS(zt_write_remove(w, NULL, 1), INVALID);
    CHECK_STATUS(zt_write_rename(w, NULL, 0, "b", 0), INVALID);
    CHECK_STATUS(zt_write_rename(w, "a", 0, NULL, 0), INVALID);
    CHECK_STATUS(zt_write_attribute(w, "a", 0, NULL, &attr), INVALID);
    CHECK_STATUS(zt_write_attribute(w, "a", 0, "k", NULL), INVALID);
    INIT(r);
    CHECK_STATUS(zt_write_batch(w, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_write_batch(w, NULL, 1), INVALID);
    CHECK_STATUS(zt_write_batch(w, &r, 0), ZT_OK);
    r.dtype = ZT_DTYPE_U8;
    r.data = space;
    r.size = 1;
    CHECK_STATUS(zt_write_batch(w, &r, 1), INVALID); /* no name */
    r.name = "a";
    r.rank = 2;
    r.size = 4;
    CHECK_STATUS(zt_write_batch(w, &r, 1), INVALID); /* no shape */
    r.shape = two;
    r.data = NULL;
    CHECK_STATUS(zt_write_batch(w, &r, 1), INVALID);
    CHECK_STATUS(zt_write_csr(w, NULL, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 0, NULL, 0, NULL, zeros), INVALID);
    CHECK_STATUS(zt_write_csr(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 0, NULL, 0, NULL, zeros), INVALID);
    CHECK_STATUS(zt_write_csr(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 0, NULL, 0, NULL, NULL), INVALID);
    CHECK_STATUS(zt_write_csr(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 1, NULL, 1, two, zeros), INVALID);
    CHECK_STATUS(zt_write_csr(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 1, space, 1, NULL, zeros), INVALID);
    CHECK_STATUS(zt_write_coo(w, NULL, 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, 0, NULL, 0, NULL), INVALID);
    CHECK_STATUS(zt_write_coo(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, NULL, 2, 0, NULL, 0, NULL), INVALID);
    CHECK_STATUS(zt_write_coo(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, 1, NULL, 1, two), INVALID);
    CHECK_STATUS(zt_write_coo(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, two, 2, 1, space, 1, NULL), INVALID);
    INIT(q);
    CHECK_STATUS(zt_write_quantized(w, "a", 0, two, 2, NULL), INVALID);
    CHECK_STATUS(zt_write_quantized(w, NULL, 0, two, 2, &q), INVALID);
    CHECK_STATUS(zt_write_quantized(w, "a", 0, NULL, 2, &q), INVALID);
    CHECK_STATUS(zt_write_quantized(w, "a", 0, two, 2, &q), INVALID); /* no dtypes */
    INIT(o);
    CHECK_STATUS(zt_write_object(w, NULL), INVALID);
    CHECK_STATUS(zt_write_object(w, &o), INVALID); /* no name */
    o.name = "a";
    o.format = ZT_FORMAT_DENSE;
    o.component_count = 1;
    CHECK_STATUS(zt_write_object(w, &o), INVALID);
    o.component_count = 0;
    o.rank = 1;
    CHECK_STATUS(zt_write_begin(w, &o), INVALID); /* no shape */
    CHECK_STATUS(zt_write_begin(w, NULL), INVALID);
    o.rank = 0;
    CHECK_STATUS(zt_write_copy(w, NULL, NULL), INVALID);
    CHECK_STATUS(zt_write_shard(w, "a", 0, NULL), INVALID);
    CHECK_STATUS(zt_write_link(w, NULL, "a", 0), INVALID);
    CHECK_STATUS(zt_write_copy_attributes(w, NULL), INVALID);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    INIT(c);
    CHECK_STATUS(zt_write_component(w, NULL), INVALID);
    CHECK_STATUS(zt_write_component(w, &c), INVALID); /* no role */
    c.role = "data";
    c.dtype = ZT_DTYPE_U8;
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, NULL, 1), INVALID);
    CHECK_STATUS(zt_write_data(w, "a", 1), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    f = open_path(path);
    CHECK_U64(zt_object_count(f), 1);
    CHECK_STATUS(zt_verify(f, NULL, NULL), ZT_OK);
    zt_close(f);
    CHECK(remove(path) == 0);
}

int main(void)
{
    file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    object = zt_object_find(file, "f32");
    no_writer();
    nothing_to_write();
    zt_close(file);
    return check_done("hostile_null_write");
}
