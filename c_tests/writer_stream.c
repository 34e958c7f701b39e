/* Chapter "writer": objects written in pieces, and calls in the wrong order. */
#include "attributes.h"
#include "writing.h"

static const char *path;

static zt_object_desc object_desc(const char *name, zt_format format, const uint64_t *shape, size_t rank)
{
    zt_object_desc d;
    INIT(d);
    d.name = name;
    d.format = format;
    d.shape = shape;
    d.rank = rank;
    return d;
}

static zt_component_desc component_desc(const char *role, zt_dtype dtype)
{
    zt_component_desc d;
    INIT(d);
    d.role = role;
    d.dtype = dtype;
    return d;
}

/* The same object in one call and in pieces of many lengths gives the same file. */
static void pieces(zt_encoding encoding, zt_digest digest, uint64_t announced, uint64_t frame_size)
{
    static const size_t lengths[] = {0 /* at once */, 1, 3, 7, 64, 1000, 4096, 99999};
    const char *first = scratch_path("at-once.zt");
    uint64_t shape = 5000;
    unsigned char *data = (unsigned char *)malloc((size_t)shape * 4), *whole = NULL;
    size_t i, size = (size_t)shape * 4, whole_size = 0;
    REQUIRE(data != NULL);
    fill_any(data, size, 9);
    memset(data + size / 2, 7, size / 2); /* half of it is compressible */
    for (i = 0; i < COUNT(lengths); i++) {
        const char *to = i ? path : first;
        zt_object_desc o = object_desc("t", ZT_FORMAT_DENSE, &shape, 1);
        zt_component_desc c = component_desc("data", ZT_DTYPE_F32);
        zt_write_options wo;
        zt_writer *w = NULL;
        zt_file *file;
        size_t at, got;
        unsigned char *back;
        INIT(wo);
        wo.frame_size = frame_size;
        CHECK_STATUS(zt_write_create(to, &wo, &w), ZT_OK);
        CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
        c.encoding = encoding;
        c.digest = digest;
        c.size = announced;
        if (i == 0) {
            c.data = data;
            c.size = size;
        }
        CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
        for (at = 0; lengths[i] && at < size; at += lengths[i]) {
            unsigned char *copy; /* a separate copy, to detect a kept pointer */
            size_t n = size - at < lengths[i] ? size - at : lengths[i];
            copy = (unsigned char *)malloc(n);
            if (!copy)
                exit(1);
            memcpy(copy, data + at, n);
            if (zt_write_data(w, copy, n) != ZT_OK)
                CHECK(0 && "zt_write_data failed");
            memset(copy, 0xee, n);
            free(copy);
        }
        CHECK_STATUS(zt_write_end(w), ZT_OK);
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
        file = open_path(to);
        back = read_component(component_of(file, "t", "data"), &got);
        CHECK(got == size && memcmp(back, data, size) == 0);
        CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
        zt_close(file);
        free(back);
        if (i == 0)
            whole = read_file(first, &whole_size);
        else
            CHECK(file_is(path, whole, whole_size));
    }
    free(whole);
    free(data);
    CHECK(remove(first) == 0);
}

static void many_components(void)
{
    static const uint64_t shape[2] = {3, 4}, indices[4] = {0, 3, 1, 2}, indptr[4] = {0, 2, 2, 4};
    static const float values[4] = {1, 2, 3, 4};
    zt_object_desc o = object_desc("s", ZT_FORMAT_SPARSE_CSR, shape, 2);
    zt_component_desc c;
    zt_writer *w = NULL;
    zt_file *file;
    zt_csr m;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    c = component_desc("values", ZT_DTYPE_F32);
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, values, 7), ZT_OK);
    CHECK_STATUS(zt_write_data(w, (const char *)values + 7, 9), ZT_OK);
    c = component_desc("indices", ZT_DTYPE_U64); /* ends the component before it */
    c.encoding = ZT_ENCODING_ZSTD;
    c.digest = ZT_DIGEST_CRC32C;
    c.data = indices;
    c.size = sizeof indices;
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, indices, 8), ZT_ERROR_STATE); /* it was written in one call */
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_INVALID_ARGUMENT); /* indptr is missing */
    c = component_desc("indptr", ZT_DTYPE_U64);
    c.size = sizeof indptr;
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, indptr, 16), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_BUFFER_SIZE); /* 32 were declared: more may follow */
    CHECK_STATUS(zt_write_data(w, indptr, 17), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_data(w, indptr + 2, 16), ZT_OK);
    CHECK_STATUS(set_i64(w, "s", "k", 5), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    INIT(m);
    CHECK_STATUS(zt_csr_view(zt_object_find(file, "s"), &m), ZT_OK);
    CHECK(m.nnz == 4 && memcmp(m.values.data, values, 16) == 0 && memcmp(m.indptr.data, indptr, 32) == 0);
    CHECK(zt_component_encoding(component_of(file, "s", "indices")) == ZT_ENCODING_ZSTD);
    CHECK_STATUS(verify_component(file, component_of(file, "s", "indices")), ZT_OK);
    CHECK(zt_value_find(zt_object_attributes(zt_object_find(file, "s")), "k") != NULL);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void sizes_of_dense(void)
{
    static const uint64_t shape = 3, none = 0;
    static const float data[4] = {1, 2, 3, 4};
    zt_object_desc o = object_desc("d", ZT_FORMAT_DENSE, &shape, 1);
    zt_component_desc c = component_desc("data", ZT_DTYPE_F32);
    zt_writer *w = NULL;
    zt_file *file;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, data, 11), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_BUFFER_SIZE); /* the shape needs 12 */
    CHECK_STATUS(zt_write_data(w, data, 2), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_data(w, NULL, 0), ZT_OK);
    CHECK_STATUS(zt_write_data(w, (const char *)data + 11, 1), ZT_OK);
    CHECK_STATUS(zt_write_data(w, data, 1), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    o = object_desc("empty", ZT_FORMAT_DENSE, &none, 1);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_U64(zt_component_size(component_of(file, "d", "data")), 12);
    CHECK_U64(zt_component_size(component_of(file, "empty", "data")), 0);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void out_of_order(void)
{
    static const uint64_t shape = 2;
    static const float data[2] = {1, 2};
    zt_object_desc o = object_desc("d", ZT_FORMAT_DENSE, &shape, 1);
    zt_component_desc c = component_desc("data", ZT_DTYPE_F32);
    zt_writer *w = NULL;
    zt_file *file;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    /* No object is open. */
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_data(w, data, 4), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_STATE);
    CHECK_STATUS(set_bool(w, "d", "k", 1), ZT_ERROR_NOT_FOUND);
    CHECK_STATUS(set_json(w, "d", "k", "1"), ZT_ERROR_NOT_FOUND);
    /* No component is open. */
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_data(w, data, 4), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_INVALID_ARGUMENT); /* dense needs "data" */
    /* Only one object at a time. */
    CHECK_STATUS(zt_write_begin(w, &o), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_dense(w, "other", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &shape, 1, data, 8), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_object(w, &o), ZT_ERROR_STATE);
    CHECK_STATUS(set_bool(w, "d", "k", 1), ZT_OK);
    CHECK_STATUS(set_bool(w, "other", "k", 1), ZT_ERROR_STATE); /* another object is open */
    CHECK_STATUS(set_bool(w, NULL, "k", 1), ZT_OK); /* file attributes can be set at any time */
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, data, 8), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_ERROR_STATE);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_ERROR_EXISTS);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK); /* the file is good after all these failures */
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 1);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
    /* Finish with an object open: no file is written, and the writer is freed. */
    CHECK(remove(path) == 0);
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_ERROR_STATE);
    CHECK(!file_exists(path));
    /* abort discards an object that was started. */
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_data(w, data, 3), ZT_OK);
    zt_write_abort(w);
    CHECK(!file_exists(path));
}

static void bad_descriptions(void)
{
    static const uint64_t shape = 2;
    static const float data[2] = {1, 2};
    zt_object_desc o = object_desc("d", ZT_FORMAT_DENSE, &shape, 1);
    zt_component_desc c = component_desc("data", ZT_DTYPE_F32);
    zt_writer *w = NULL;
    zt_file *file;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    o.components = &c;
    o.component_count = 1;
    CHECK_STATUS(zt_write_begin(w, &o), ZT_ERROR_INVALID_ARGUMENT); /* without components */
    o.components = NULL;
    o.component_count = 0;
    CHECK_STATUS(zt_write_begin(w, &o), ZT_OK);
    c.dtype = ZT_DTYPE_OTHER;
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c.dtype = 14;
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c = component_desc("data", ZT_DTYPE_F32);
    c.type = 8;
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c.type = ZT_TYPE_OTHER; /* needs a name */
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c = component_desc("data", ZT_DTYPE_F32);
    c.encoding = ZT_ENCODING_OTHER;
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c.encoding = -1;
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c = component_desc("data", ZT_DTYPE_F32);
    c.digest = ZT_DIGEST_XXH3; /* zTensor 2 has it */
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_UNSUPPORTED);
    c.digest = 5;
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c = component_desc(NULL, ZT_DTYPE_F32);
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c = component_desc("\xff", ZT_DTYPE_F32);
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_INVALID_ARGUMENT);
    c = component_desc("data", ZT_DTYPE_F32);
    c.data = data;
    c.size = 7; /* the shape needs 8 */
    CHECK_STATUS(zt_write_component(w, &c), ZT_ERROR_BUFFER_SIZE);
    c.size = 8;
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

/* Large enough to be hashed on a thread; the file is the same with one thread. */
static void hashed_by_a_worker(void)
{
    const char *path = scratch_path("hashed.zt");
    const size_t size = (9 << 20) + 3;
    const uint64_t shape = size;
    unsigned char *data = (unsigned char *)malloc(size), *first = NULL;
    size_t first_size = 0;
    uint32_t threads, algorithm;
    REQUIRE(data != NULL);
    fill_any(data, size, 11);
    for (algorithm = ZT_DIGEST_CRC32C; algorithm <= ZT_DIGEST_SHA256; algorithm++) {
        for (threads = 1; threads <= 2; threads++) {
            zt_write_options o;
            zt_writer *w = NULL;
            zt_file *file;
            INIT(o);
            o.digest = (zt_digest)algorithm;
            o.threads = threads;
            REQUIRE(CHECK_STATUS(zt_write_create(path, &o, &w), ZT_OK));
            CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape, 1, data, size), ZT_OK);
            REQUIRE(CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK));
            file = open_path(path);
            CHECK_STATUS(verify_component(file, component_of(file, "a", "data")), ZT_OK);
            zt_close(file);
            if (threads == 1)
                first = read_file(path, &first_size);
            else
                CHECK(file_is(path, first, first_size));
        }
        free(first);
    }
    free(data);
    remove(path);
}

int main(void)
{
    hashed_by_a_worker();
    path = scratch_path("streamed.zt");
    pieces(ZT_ENCODING_RAW, ZT_DIGEST_SHA256, 20000, 0);
    pieces(ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, 0, 0);
    pieces(ZT_ENCODING_ZSTD, ZT_DIGEST_CRC32C, 20000, 0);
    pieces(ZT_ENCODING_ZSTD, ZT_DIGEST_SHA256, 20000, 4096);
    pieces(ZT_ENCODING_ZSTD, ZT_DIGEST_NONE, 0, 4096);
    pieces(ZT_ENCODING_ZSTD, ZT_DIGEST_NONE, 0, 0);
    many_components();
    sizes_of_dense();
    out_of_order();
    bad_descriptions();
    CHECK(!file_exists(path) || remove(path) == 0);
    return check_done("writer_stream");
}
