/* Copies objects of other containers to a .zt file: unchanged, compressed, and as floats of another dtype. */
#include "support.h"

static const char *path;

static void same_bytes(const zt_object *a, const zt_object *b)
{
    const zt_component *from = zt_component_find(a, "data"), *to = zt_component_find(b, "data");
    size_t n, m;
    unsigned char *x, *y;
    CHECK_STR(format_name(b), format_name(a));
    CHECK(zt_component_dtype(to) == zt_component_dtype(from) && zt_component_type(to) == zt_component_type(from));
    x = read_component(from, &n);
    y = read_component(to, &m);
    CHECK(n == m && memcmp(x, y, n) == 0);
    free(x);
    free(y);
}

static void copied(const char *name, zt_encoding encoding)
{
    zt_file *from = open_data(name), *to;
    zt_writer *w = NULL;
    size_t i, blocks = 0;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(zt_write_copy_attributes(w, from), ZT_OK);
    for (i = 0; i < zt_object_count(from); i++)
        CHECK_STATUS(copy_as(w, zt_object_at(from, i), NULL, encoding, ZT_DIGEST_CRC32C, ZT_DTYPE_OTHER), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    to = open_path(path);
    CHECK_U64(zt_object_count(to), zt_object_count(from));
    for (i = 0; i < zt_object_count(to); i++) {
        const zt_object *a = zt_object_at(from, i), *b = zt_object_at(to, i);
        size_t elements = 0, bytes = 0;
        uint64_t stated = 0;
        same_bytes(a, b);
        CHECK(zt_component_encoding(zt_component_at(b, 0)) == (encoding ? encoding : ZT_ENCODING_RAW));
        CHECK(zt_component_digest(zt_component_at(b, 0)) != NULL);
        if (zt_object_format(b) != ZT_FORMAT_BLOCKS)
            continue;
        blocks++;
        CHECK_STATUS(zt_type_block(zt_component_type(zt_component_at(b, 0)), &elements, &bytes), ZT_OK);
        CHECK_STATUS(zt_value_get_u64(zt_value_find(zt_object_attributes(b), "elems_per_block"), &stated), ZT_OK);
        CHECK_U64(stated, elements);
        CHECK_STATUS(zt_value_get_u64(zt_value_find(zt_object_attributes(b), "block_bytes"), &stated), ZT_OK);
        CHECK_U64(stated, bytes);
    }
    CHECK((blocks > 0) == (strstr(name, "all-types") != NULL));
    CHECK((zt_value_find(zt_file_attributes(to), "ztensor.origin") != NULL) == (strstr(name, ".gguf") != NULL));
    CHECK_STATUS(zt_verify(to, NULL, NULL), ZT_OK);
    zt_close(to);
    zt_close(from);
}

static void as_floats(void)
{
    zt_file *from = open_data("foreign/valid/amber-all-dtypes-rust.safetensors"), *to;
    zt_writer *w = NULL;
    size_t i, changed = 0;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    CHECK_STATUS(copy_as(w, zt_object_at(from, 0), "x", 77, 0, 0), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(copy_as(w, zt_object_at(from, 0), "x", 0, 77, 0), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(copy_as(w, zt_object_at(from, 0), "x", 0, 0, 77), ZT_ERROR_INVALID_ARGUMENT);
    for (i = 0; i < zt_object_count(from); i++)
        CHECK_STATUS(copy_as(w, zt_object_at(from, i), NULL, 0, 0, ZT_DTYPE_F64), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    to = open_path(path);
    for (i = 0; i < zt_object_count(from); i++) {
        zt_dtype old = zt_component_dtype(zt_component_at(zt_object_at(from, i), 0));
        zt_dtype dtype = zt_component_dtype(zt_component_at(zt_object_at(to, i), 0));
        changed += dtype != old;
        CHECK(dtype == old || dtype == ZT_DTYPE_F64);
    }
    CHECK(changed >= 3);
    zt_close(to);
    zt_close(from);
}

static void refused(void)
{
    zt_file *big = open_data("foreign/valid/amber-big-endian-py.gguf"), *odd = open_data("foreign/valid/amber-name-not-utf8.gguf");
    zt_writer *w = NULL;
    size_t i, blocks = 0, names = 0;
    CHECK_STATUS(zt_write_create(path, NULL, &w), ZT_OK);
    for (i = 0; i < zt_object_count(big); i++) {
        int is_blocks = zt_object_format(zt_object_at(big, i)) == ZT_FORMAT_BLOCKS;
        blocks += (size_t)is_blocks;
        CHECK_STATUS(zt_write_copy(w, zt_object_at(big, i), NULL), is_blocks ? ZT_ERROR_UNSUPPORTED : ZT_OK);
    }
    for (i = 0; i < zt_object_count(odd); i++) {
        char name[32];
        snprintf(name, sizeof name, "renamed %u", (unsigned)i);
        names += zt_write_copy(w, zt_object_at(odd, i), NULL) == ZT_ERROR_UNSUPPORTED;
        CHECK_STATUS(copy_named(w, zt_object_at(odd, i), name), ZT_OK);
    }
    CHECK(blocks > 0 && names > 0);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    zt_close(big);
    zt_close(odd);
}

int main(void)
{
    static const char *const names[] = {
        "foreign/valid/amber-all-types-py.gguf", "foreign/valid/amber-kv-all-be3.gguf", "foreign/valid/amber-vocab.gguf",
        "foreign/valid/amber-all-dtypes-rust.safetensors", "foreign/valid/amber-torch-save.safetensors"};
    size_t i;
    path = scratch_path("copy_foreign.zt");
    for (i = 0; i < COUNT(names); i++) {
        copied(names[i], ZT_ENCODING_DEFAULT);
        copied(names[i], ZT_ENCODING_ZSTD);
    }
    as_floats();
    refused();
    CHECK(remove(path) == 0);
    return check_done("copy_foreign");
}
