/* Chapter "object": finding and describing objects, and slices of dense ones (slice.c has more). */
#include "support.h"

static void shapes(void)
{
    static const struct { const char *name; size_t rank; uint64_t shape[8], count; } rows[] = {
        {"s0", 0, {0}, 1},
        {"s1", 1, {1}, 1},
        {"s2", 1, {0}, 0},
        {"s3", 3, {3, 0, 2}, 0},
        {"s4", 1, {7}, 7},
        {"s5", 4, {2, 3, 4, 5}, 120},
        {"s6", 8, {1, 1, 1, 1, 1, 1, 1, 1}, 1},
    };
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    size_t i, d;
    CHECK_U64(zt_object_count(file), COUNT(rows));
    for (i = 0; i < COUNT(rows); i++) {
        const zt_object *object = zt_object_at(file, i);
        CHECK_STR(zt_object_name(object), rows[i].name);
        CHECK_U64(object_info(object).name_length, 2);
        CHECK(zt_object_find(file, rows[i].name) == object);
        CHECK_U64(zt_object_rank(object), rows[i].rank);
        CHECK_U64(zt_object_element_count(object), rows[i].count);
        REQUIRE(zt_object_shape(object) != NULL);
        for (d = 0; d < rows[i].rank; d++)
            CHECK_U64(zt_object_shape(object)[d], rows[i].shape[d]);
        CHECK(zt_object_format(object) == ZT_FORMAT_DENSE);
        CHECK_STR(format_name(object), "dense");
        CHECK(zt_object_attributes(object) == NULL);
        CHECK_U64(zt_component_count(object), 1);
    }
    CHECK(zt_object_at(file, COUNT(rows)) == NULL);
    CHECK(zt_object_at(file, SIZE_MAX) == NULL);
    zt_close(file);
}

static void products_that_leave_64_bits(void)
{
    zt_file *file = open_data("valid-odd/unknown-format-huge-shape.zt");
    CHECK_U64(zt_object_element_count(zt_object_at(file, 0)), UINT64_MAX);
    zt_close(file);
    file = open_data("valid-odd/coo-huge-shape.zt"); /* 2^80 */
    CHECK_U64(zt_object_element_count(zt_object_at(file, 0)), UINT64_MAX);
    CHECK_U64(zt_object_shape(zt_object_at(file, 0))[1], UINT64_C(1) << 40);
    zt_close(file);
    file = open_data("valid-odd/shape-large-dims.zt");
    CHECK_U64(zt_object_element_count(zt_object_at(file, 0)), 0);
    CHECK_U64(zt_object_shape(zt_object_at(file, 0))[0], UINT64_MAX);
    zt_close(file);
    file = open_data("invalid/shape-zero-times-huge.zt"); /* readers may accept it, and this one does */
    CHECK_U64(zt_object_element_count(zt_object_at(file, 0)), 0);
    zt_close(file);
}

static void odd_names(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-nul-and-empty-names.zt");
    const zt_object *empty = zt_object_at(file, 0), *a = zt_object_at(file, 1), *nul = zt_object_at(file, 2);
    CHECK_U64(zt_object_count(file), 3);
    CHECK_STR(zt_object_name(empty), "");
    CHECK_U64(object_info(empty).name_length, 0);
    CHECK_U64(object_info(a).name_length, 1);
    CHECK_U64(object_info(nul).name_length, 3);
    CHECK(memcmp(zt_object_name(nul), "a\0b", 4) == 0);
    CHECK(zt_object_find(file, "") == empty);
    CHECK(zt_object_find(file, "a") == a);
    CHECK(zt_object_find_n(file, NULL, 0) == empty);
    CHECK(zt_object_find_n(file, "x", 0) == empty);
    CHECK(zt_object_find_n(file, "abc", 1) == a);
    CHECK(zt_object_find_n(file, "a\0b", 3) == nul);
    CHECK(zt_object_find_n(file, "a\0b", 2) == NULL);
    CHECK(zt_object_find_n(file, "a\0b", 4) == NULL);
    CHECK(zt_object_find_n(file, NULL, 3) == NULL);
    zt_close(file);
    file = open_data("valid-odd/name-prefixes.zt");
    CHECK(zt_object_find(file, "a") == zt_object_at(file, 0));
    CHECK(zt_object_find_n(file, "a\0", 2) == zt_object_at(file, 1));
    CHECK(zt_object_find(file, "aa") == zt_object_at(file, 2));
    zt_close(file);
    file = open_data("valid-odd/name-nfc-nfd.zt"); /* only bytes are compared */
    CHECK(zt_object_find(file, "\xc3\xa9") == zt_object_at(file, 0));
    CHECK(zt_object_find(file, "e\xcc\x81") == zt_object_at(file, 1));
    CHECK(zt_object_find(file, "e") == NULL);
    CHECK(zt_object_find(file, "\xff\xfe") == NULL);
    zt_close(file);
}

static void finding(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-1000.zt");
    char kept[512], name[16];
    zt_dtype dtype;
    size_t i;
    CHECK_STATUS(zt_dtype_from_name("nothing", &dtype), ZT_ERROR_NOT_FOUND);
    snprintf(kept, sizeof kept, "%s", zt_last_error());
    for (i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "m.%04u", (unsigned)i);
        CHECK(zt_object_find(file, name) == zt_object_at(file, i));
        CHECK(zt_object_find_n(file, name, 6) == zt_object_at(file, i));
        CHECK_STR(zt_object_name(zt_object_at(file, i)), name);
    }
    CHECK(zt_object_find(file, "m.1000") == NULL);
    CHECK(zt_object_find(file, "m.000") == NULL);
    CHECK(zt_object_find(file, "") == NULL);
    CHECK(zt_object_find(file, NULL) == NULL);
    CHECK(zt_component_find(zt_object_at(file, 0), "values") == NULL);
    CHECK(zt_component_find(zt_object_at(file, 0), NULL) == NULL);
    CHECK_STR(zt_last_error(), kept); /* not finding an object is not a failure */
    zt_close(file);
}

static void duplicates_of_0_1(void)
{
    zt_file *file = open_data("v0.1/py-0.1.4-duplicate-name.zt");
    CHECK_U64(zt_object_count(file), 2);
    CHECK(zt_object_find(file, "same") == zt_object_at(file, 0));
    CHECK(zt_object_at(file, 0) != zt_object_at(file, 1));
    CHECK_STR(zt_object_name(zt_object_at(file, 1)), "same");
    CHECK(zt_component_dtype(zt_component_at(zt_object_at(file, 0), 0)) == ZT_DTYPE_U8);
    CHECK(zt_component_dtype(zt_component_at(zt_object_at(file, 1), 0)) == ZT_DTYPE_I16);
    zt_close(file);
}

static void file_order(void)
{
    zt_file *file = open_data("valid-odd/blob-order.zt");
    CHECK_STR(zt_object_name(zt_object_at(file, 0)), "z");
    CHECK_STR(zt_object_name(zt_object_at(file, 1)), "a");
    zt_close(file);
    file = open_data("valid-odd/v0.1-order.zt");
    CHECK_STR(zt_object_name(zt_object_at(file, 0)), "a");
    CHECK_STR(zt_object_name(zt_object_at(file, 1)), "b");
    CHECK_U64(component_info(zt_component_at(zt_object_at(file, 0), 0)).offset, 128);
    zt_close(file);
}

static void formats(void)
{
    static const struct { const char *file, *object, *name; zt_format format; size_t components; } rows[] = {
        {"v1.2/py-1.2.3-sparse.zt", "csr", "sparse_csr", ZT_FORMAT_SPARSE_CSR, 3},
        {"v1.2/py-1.2.3-sparse.zt", "coo3", "sparse_coo", ZT_FORMAT_SPARSE_COO, 2},
        {"v1.2/py-1.2.3-quantized.zt", "gptq", "quantized_group", ZT_FORMAT_QUANTIZED_GROUP, 3},
        {"v1.2/py-1.2.3-unknown-format.zt", "blk", "block_mx", ZT_FORMAT_OTHER, 2},
        {"v1.2/py-1.2.3-unknown-format.zt", "odd", "dense", ZT_FORMAT_DENSE, 2},
        {"valid-odd/unknown-format.zt", "x", "blocked_ell", ZT_FORMAT_OTHER, 2},
        {"valid-odd/unknown-format-no-components.zt", "x", "constant", ZT_FORMAT_OTHER, 0},
        {"v0.1/rs-0.1.0-sparse-layouts.zt", "coo", "sparsecoo", ZT_FORMAT_OTHER, 1},
        {"v0.1/rs-0.1.0-sparse-layouts.zt", "csr", "sparsecsr", ZT_FORMAT_OTHER, 1},
        {"v0.1/rs-0.1.0-sparse-layouts.zt", "d", "dense", ZT_FORMAT_DENSE, 1},
        {"valid-odd/v0.1-no-layout.zt", NULL, "dense", ZT_FORMAT_DENSE, 1},
    };
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        zt_file *file = open_data(rows[i].file);
        const zt_object *object = rows[i].object ? zt_object_find(file, rows[i].object) : zt_object_at(file, 0);
        REQUIRE(object != NULL);
        CHECK_U64(zt_object_format(object), rows[i].format);
        CHECK_STR(format_name(object), rows[i].name);
        CHECK_U64(zt_component_count(object), rows[i].components);
        CHECK(zt_component_at(object, rows[i].components) == NULL);
        CHECK(zt_component_at(object, SIZE_MAX) == NULL);
        zt_close(file);
    }
}

static void components_in_order(void)
{
    static const char *const csr[] = {"indices", "indptr", "values"};
    static const char *const dense[] = {"data", "mask", "note"};
    zt_file *file = open_data("v1.2/py-1.2.3-sparse.zt");
    const zt_object *object = zt_object_find(file, "csr");
    size_t i;
    for (i = 0; i < 3; i++) {
        CHECK_STR(zt_component_role(zt_component_at(object, i)), csr[i]);
        CHECK_U64(component_info(zt_component_at(object, i)).role_length, strlen(csr[i]));
        CHECK(zt_component_find(object, csr[i]) == zt_component_at(object, i));
    }
    CHECK(zt_component_find(object, "data") == NULL && zt_component_find(object, "") == NULL);
    zt_close(file);
    file = open_data("valid-odd/dense-extra-role.zt");
    for (i = 0; i < 3; i++)
        CHECK_STR(zt_component_role(zt_component_at(zt_object_at(file, 0), i)), dense[i]);
    zt_close(file);
}

static void attributes(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-quantized.zt");
    const zt_value *map = zt_object_attributes(zt_object_find(file, "gptq-z"));
    const char *packing = NULL;
    uint64_t bits = 0, group = 0;
    CHECK(zt_value_get_kind(map) == ZT_VALUE_KIND_MAP);
    CHECK_STATUS(zt_value_get_u64(zt_value_find(map, "bits"), &bits), ZT_OK);
    CHECK_STATUS(zt_value_get_u64(zt_value_find(map, "group_size"), &group), ZT_OK);
    CHECK_STATUS(zt_value_get_string(zt_value_find(map, "packing"), &packing, NULL), ZT_OK);
    CHECK(bits == 8 && group == 16);
    CHECK_STR(packing, "4_per_i32");
    zt_close(file);
    file = open_data("v0.1/rs-0.1.0-custom-fields.zt"); /* custom fields are the object's attributes */
    map = zt_object_attributes(zt_object_find(file, "u"));
    CHECK_U64(zt_value_count(map), 3);
    CHECK(zt_value_find(map, "name") == NULL && zt_value_find(map, "offset") == NULL);
    CHECK_STATUS(zt_value_get_string(zt_value_find(map, "version"), &packing, NULL), ZT_OK);
    CHECK_STR(packing, "not the file's");
    zt_close(file);
}

static void spoilt_objects_are_listed(void)
{
    zt_file *file = open_data("invalid/dtype-unknown.zt");
    const zt_object *object = zt_object_find(file, "a");
    CHECK(object != NULL);
    CHECK_U64(zt_object_rank(object), 2);
    CHECK_U64(zt_object_element_count(object), 4);
    CHECK(zt_object_format(object) == ZT_FORMAT_DENSE);
    CHECK_U64(zt_component_count(object), 1);
    zt_close(file);
    file = open_data("invalid/rank-1000.zt");
    CHECK_U64(zt_object_rank(zt_object_at(file, 0)), 1000);
    zt_close(file);
}

static void tied_weights(void)
{
    zt_file *file = open_data("valid-odd/alias.zt");
    const void *a = NULL, *alias = NULL;
    const zt_component *component = component_of(file, "a", "data");
    if (borrows_little_endian(zt_dtype_size(zt_component_dtype(component)))) {
        CHECK_STATUS(zt_component_ptr(component, &a, NULL), ZT_OK);
        CHECK_STATUS(zt_component_ptr(component_of(file, "alias", "data"), &alias, NULL), ZT_OK);
        CHECK(a == alias);
    }
    CHECK_U64(component_info(component).offset, component_info(component_of(file, "alias", "data")).offset);
    zt_close(file);
}

int main(void)
{
    shapes();
    products_that_leave_64_bits();
    odd_names();
    finding();
    duplicates_of_0_1();
    file_order();
    formats();
    components_in_order();
    attributes();
    spoilt_objects_are_listed();
    tied_weights();
    return check_done("object");
}
