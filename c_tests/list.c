/* zt_object_list and zt_component_list: every field equals the getters, for every file of the corpus that
 * opens. */
#include "support.h"

static unsigned long odd_files, objects, without_array, not_first, unknown_sizes;

/* The described component: the data of an array; none for other objects. */
static const zt_component *reported(const zt_object *object)
{
    const zt_format format = zt_object_format(object);
    return format == ZT_FORMAT_DENSE || format == ZT_FORMAT_BLOCKS ? zt_component_find(object, "data") : NULL;
}

static void compare(const zt_file *file, size_t at, const zt_object_info *info)
{
    const zt_object *object = zt_object_at(file, at);
    const zt_component *component = reported(object);
    CHECK(info->object == object && info->component == component);
    CHECK(info->name == zt_object_name(object) && info->name_length == object_info(object).name_length);
    CHECK(info->shape == zt_object_shape(object) && info->shape != NULL);
    CHECK_U64(info->rank, zt_object_rank(object));
    CHECK(info->attributes == zt_object_attributes(object));
    CHECK_U64(info->component_count, zt_component_count(object));
    CHECK_U64(info->format, zt_object_format(object));
    CHECK_U64(info->offset, component ? component_info(component).offset : 0);
    CHECK_U64(info->stored_size, component ? component_info(component).stored_size : 0);
    CHECK_U64(info->dtype, zt_component_dtype(component));
    CHECK_U64(info->type, zt_component_type(component));
    CHECK_U64(info->encoding, zt_component_encoding(component));
    if (info->size == UINT64_MAX) {
        CHECK(info->encoding != ZT_ENCODING_RAW);
        unknown_sizes++;
    } else
        CHECK_U64(info->size, zt_component_size(component));
    without_array += component == NULL;
    not_first += component != NULL && component != zt_component_at(object, 0);
    objects++;
}

/* Lists a file, `step` objects in a call. `more` bytes of a newer header follow each struct. */
static void all_of(const zt_file *file, size_t step, size_t more)
{
    size_t stride = sizeof(zt_object_info) + more, first = 0, filled = 0, odd = 0, i, k;
    unsigned char *infos = (unsigned char *)malloc((step + 1) * stride);
    REQUIRE(infos != NULL);
    do {
        memset(infos, 0xa5, (step + 1) * stride);
        memcpy(infos, &stride, sizeof stride);
        CHECK_STATUS(zt_object_list(file, first, (zt_object_info *)(void *)infos, step, &filled), ZT_OK);
        CHECK(filled <= step && first + filled <= zt_object_count(file));
        CHECK(filled == step || first + filled == zt_object_count(file));
        for (i = 0; i < filled; i++) {
            const zt_object_info *info = (const zt_object_info *)(const void *)(infos + i * stride);
            CHECK_U64(info->struct_size, stride);
            compare(file, first + i, info);
            for (k = sizeof(zt_object_info); k < stride; k++)
                odd += infos[i * stride + k] != 0; /* unknown fields are zeroed */
        }
        for (k = filled * stride; k < (step + 1) * stride; k++)
            odd += k >= sizeof stride && infos[k] != 0xa5;
        CHECK_U64(odd, 0); /* bytes after the filled structs are unchanged */
        first += filled;
    } while (filled > 0);
    free(infos);
}

static void one_file(const char *path, const char *name, int good)
{
    zt_file *file = NULL;
    (void)name;
    if (zt_open(path, NULL, &file) != ZT_OK) {
        CHECK(!good);
        return;
    }
    odd_files += !good;
    all_of(file, 64, 0);
    all_of(file, 3, 24);
    zt_close(file);
}

/* A dense object may have other components, also before its data. */
static void data_after_others(void)
{
    static const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char *const roles[] = {"mask", "data", "note"};
    static const uint64_t shape = 4;
    const char *path = scratch_path("list.zt");
    zt_component_desc components[3];
    zt_object_desc object;
    zt_writer *writer = NULL;
    zt_file *file;
    size_t i;
    for (i = 0; i < COUNT(components); i++) {
        INIT(components[i]);
        components[i].role = roles[i];
        components[i].dtype = i == 1 ? ZT_DTYPE_I16 : ZT_DTYPE_U8;
        components[i].data = bytes;
        components[i].size = 8;
    }
    INIT(object);
    object.name = "x";
    object.format = ZT_FORMAT_DENSE;
    object.shape = &shape;
    object.rank = 1;
    object.components = components;
    object.component_count = COUNT(components);
    CHECK_STATUS(zt_write_create(path, NULL, &writer), ZT_OK);
    CHECK_STATUS(zt_write_object(writer, &object), ZT_OK);
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    file = open_path(path);
    all_of(file, 64, 0);
    all_of(file, 3, 24);
    zt_close(file);
    CHECK(remove(path) == 0);
}

static void of_an_older_header(void)
{
    struct { /* with a uint64_t, for the alignment of a longer struct */
        size_t struct_size;
        const zt_object *object;
        const char *name;
        size_t name_length;
        const uint64_t *shape;
        size_t rank;
        const zt_value *attributes;
        size_t component_count;
        const zt_component *component;
        uint64_t offset;
    } infos[3];
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt");
    size_t filled = 0, i;
    infos[0].struct_size = sizeof infos[0];
    CHECK_STATUS(zt_object_list(file, 2, (zt_object_info *)(void *)infos, COUNT(infos), &filled), ZT_OK);
    CHECK_U64(filled, 3);
    for (i = 0; i < 3; i++) {
        CHECK_U64(infos[i].struct_size, sizeof infos[0]);
        CHECK(infos[i].object == zt_object_at(file, 2 + i));
        CHECK_STR(infos[i].name, zt_object_name(zt_object_at(file, 2 + i)));
        CHECK_U64(infos[i].offset, infos[i].component ? component_info(infos[i].component).offset : 0);
    }
    zt_close(file);
}

static void ends_and_failures(void)
{
    zt_object_info infos[4];
    zt_file *file = open_data("v1.2/py-1.2.3-shapes.zt"); /* seven objects */
    size_t filled = 99;
    memset(infos, 0, sizeof infos);
    CHECK_STATUS(zt_object_list(file, 0, infos, 4, &filled), ZT_ERROR_INVALID_ARGUMENT); /* no struct_size */
    CHECK(strstr(zt_last_error(), "struct_size") != NULL && filled == 99 && infos[0].object == NULL);
    infos[0].struct_size = sizeof infos[0];
    CHECK_STATUS(zt_object_list(file, 0, infos, SIZE_MAX / 8, &filled), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(filled == 99 && infos[0].object == NULL);
    CHECK_STATUS(zt_object_list(file, 5, infos, 4, &filled), ZT_OK);
    CHECK_U64(filled, 2);
    CHECK(infos[1].object == zt_object_at(file, 6) && infos[2].object == NULL && infos[2].struct_size == 0);
    CHECK_STATUS(zt_object_list(file, 7, infos, 4, &filled), ZT_OK);
    CHECK_U64(filled, 0);
    filled = 99;
    CHECK_STATUS(zt_object_list(file, SIZE_MAX, infos, 4, &filled), ZT_OK);
    CHECK_U64(filled, 0);
    filled = 99;
    CHECK_STATUS(zt_object_list(file, 0, NULL, 0, &filled), ZT_OK);
    CHECK_U64(filled, 0);
    zt_close(file);
}

/* Lists the components of `of`, or of all objects, some in a call: equal to the getters, and later bytes are
 * unchanged. */
static size_t components_of(const zt_file *file, const zt_object *of, size_t step, size_t more)
{
    size_t stride = sizeof(zt_component_info) + more, first = 0, filled = 0, i, k;
    unsigned char *infos = (unsigned char *)malloc((step + 1) * stride);
    REQUIRE(infos != NULL);
    do {
        size_t odd = 0;
        memset(infos, 0xa5, (step + 1) * stride);
        memcpy(infos, &stride, sizeof stride);
        CHECK_STATUS(zt_component_list(file, of, first, (zt_component_info *)(void *)infos, step, &filled), ZT_OK);
        REQUIRE(filled <= step);
        for (i = 0; i < filled; i++) {
            const zt_component_info *info = (const zt_component_info *)(const void *)(infos + i * stride);
            const zt_component *c = info->component;
            CHECK(c != NULL && info->struct_size == stride && (of == NULL || info->object == of));
            if (of != NULL)
                CHECK(c == zt_component_at(of, first + i));
            CHECK(zt_component_find_n(info->object, info->role, info->role_length) != NULL);
            CHECK(info->role == zt_component_role(c) && info->role_length == component_info(c).role_length);
            CHECK(info->digest == zt_component_digest(c) && info->offset == component_info(c).offset);
            CHECK(info->stored_size == component_info(c).stored_size && info->size == zt_component_size(c));
            CHECK(info->dtype == zt_component_dtype(c) && info->type == zt_component_type(c));
            CHECK(info->encoding == zt_component_encoding(c) && info->part == component_info(c).part);
            for (k = sizeof(zt_component_info); k < stride; k++)
                odd += infos[i * stride + k] != 0;
        }
        for (k = filled * stride; k < (step + 1) * stride; k++)
            odd += k >= sizeof stride && infos[k] != 0xa5;
        CHECK_U64(odd, 0);
        first += filled;
    } while (filled == step);
    free(infos);
    return first;
}

static void components(const char *path, const char *name, int good)
{
    zt_file *file = NULL;
    size_t i, sum = 0;
    (void)name, (void)good;
    if (zt_open(path, NULL, &file) != ZT_OK)
        return;
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        size_t count = components_of(file, object, i % 3 + 1, i % 2 * 8);
        CHECK_U64(count, zt_component_count(object));
        sum += count;
    }
    CHECK_U64(components_of(file, NULL, 7, 0), sum);
    CHECK_U64(components_of(file, NULL, 100, 16), sum);
    zt_close(file);
}

/* Rejects an object of another file, and an index past the last. */
static void not_listed(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-sparse.zt"), *other = open_data("v1.2/py-1.2.3-sparse.zt");
    zt_component_info info;
    size_t filled = 9;
    INIT(info);
    CHECK_STATUS(zt_component_list(file, zt_object_at(other, 0), 0, &info, 1, &filled), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(filled == 9 && info.component == NULL);
    CHECK_STATUS(zt_component_list(file, NULL, SIZE_MAX, &info, 1, &filled), ZT_OK);
    CHECK(filled == 0 && info.component == NULL);
    zt_close(other);
    zt_close(file);
}

int main(void)
{
    each_of_corpus(one_file);
    CHECK(odd_files > 0); /* many invalid files can still be opened */
    CHECK(objects > 9000 && without_array > 100 && not_first == 0 && unknown_sizes > 0);
    data_after_others();
    CHECK(not_first == 2);
    of_an_older_header();
    ends_and_failures();
    each_of_corpus(components);
    not_listed();
    return check_done("list");
}
