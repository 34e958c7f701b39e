/*
 * Every file of the corpus, valid and invalid: opens it, reads all of it in every way, verifies it. Nothing
 * may crash, and each error has a message. The Rust tests check the status of each file.
 */
#include "support.h"

static unsigned long files, opened, refused, components_read, components_refused, verified, not_verified;
static unsigned char *bytes_read;
#define LARGEST_READ (4u << 20)

/* A failed call has a status with a name, and a message of one line that names the file. */
static int reported(zt_status status, const char *name)
{
    if (status == ZT_OK)
        return 1;
    CHECK(status > ZT_OK && status < ZT_ERROR_INTERNAL);
    CHECK(strchr(zt_last_error(), '\n') == NULL && strlen(zt_last_error()) > 10);
    CHECK(strstr(zt_last_error(), name) != NULL);
    return 0;
}

static void read_all(const zt_file *file, const zt_component *c, const char *name)
{
    uint32_t caps = zt_component_caps(c);
    uint64_t size = measured_size(c);
    const void *ptr = NULL;
    size_t n = 0;
    zt_buffer *loaded = NULL;
    zt_status status;
    CHECK(zt_component_role(c) && dtype_name(c) && encoding_name(c));
    CHECK(component_info(c).offset % 64 == 0);
    status = zt_component_ptr(c, &ptr, &n);
    CHECK((status == ZT_OK) == ((caps & ZT_CAP_MAP) != 0));
    if (reported(status, name))
        CHECK(n == size && ptr != NULL);
    status = zt_component_load(c, NULL, &loaded);
    if (reported(status, name)) {
        CHECK(zt_buffer_size(loaded) == size && (caps & ZT_CAP_READ));
        CHECK(!ptr || memcmp(ptr, zt_buffer_data(loaded), n) == 0);
        components_read++;
        if (size <= LARGEST_READ) {
            CHECK_STATUS(zt_component_read(c, bytes_read, LARGEST_READ), ZT_OK);
            CHECK(memcmp(bytes_read, zt_buffer_data(loaded), (size_t)size) == 0);
            CHECK_STATUS(zt_component_read_range(c, size / 2, bytes_read, (size_t)(size - size / 2)), ZT_OK);
            CHECK(memcmp(bytes_read, (const char *)zt_buffer_data(loaded) + size / 2, (size_t)(size - size / 2)) == 0);
        }
    } else {
        CHECK(loaded == NULL);
        components_refused++;
        if (size <= LARGEST_READ)
            CHECK(zt_component_read(c, bytes_read, LARGEST_READ) != ZT_OK);
    }
    zt_buffer_free(loaded);
    reported(verify_component(file, c), name);
}

static void views(const zt_file *file, const zt_object *object, const char *name)
{
    zt_tensor t;
    zt_csr s;
    zt_coo c;
    zt_quantized q;
    INIT(t);
    INIT(s);
    INIT(c);
    INIT(q);
    if (strlen(zt_object_name(object)) == object_info(object).name_length)
        reported(zt_tensor_find(file, zt_object_name(object), &t), name);
    if (reported(zt_csr_view(object, &s), name))
        CHECK(s.indptr.count == s.rows + 1 && s.values.data && s.indices.count == s.nnz);
    if (reported(zt_coo_view(object, &c), name))
        CHECK(c.coords.count == c.nnz * c.rank && c.values.data);
    if (reported(zt_quantized_view(object, &q), name))
        CHECK(q.packed_weight.data && q.scales.data);
}

static void in_mode(const char *path, const char *name, zt_mode mode, int good)
{
    zt_open_options options;
    zt_file *file = (zt_file *)bytes_read;
    size_t o, k, needed = 0;
    INIT(options);
    options.mode = mode;
    options.max_decoded_size = LARGEST_READ; /* so that decompression bombs do not make this slow */
    files++;
    if (!reported(zt_open(path, &options, &file), name)) {
        CHECK(file == NULL);
        CHECK(!good);
        refused++;
        return;
    }
    opened++;
    CHECK(zt_file_version(file) != NULL);
    if (zt_file_attributes(file))
        CHECK(zt_value_to_json(zt_file_attributes(file), NULL, 0, &needed) == ZT_OK && needed > 2);
    for (o = 0; o < zt_object_count(file); o++) {
        const zt_object *object = zt_object_at(file, o);
        CHECK(zt_object_find_n(file, zt_object_name(object), object_info(object).name_length) != NULL);
        CHECK(zt_object_shape(object) && format_name(object));
        for (k = 0; k < zt_component_count(object); k++)
            read_all(file, zt_component_at(object, k), name);
        views(file, object, name);
        if (o > 20)
            break; /* files with a thousand objects all have the same kind */
    }
    if (reported(zt_verify(file, NULL, NULL), name))
        verified++;
    else {
        CHECK(!good);
        not_verified++;
    }
    zt_close(file);
    if (good)
        return;
    options.strict = 1;
    options.verify = 1;
    file = NULL;
    if (reported(zt_open(path, &options, &file), name))
        reported(zt_verify(file, NULL, NULL), name);
    zt_close(file);
}

static void one_file(const char *path, const char *name, int good)
{
    in_mode(path, name, ZT_MODE_MAP, good);
    in_mode(path, name, ZT_MODE_READ, good);
}

int main(void)
{
    bytes_read = (unsigned char *)malloc(LARGEST_READ);
    REQUIRE(bytes_read != NULL);
    each_of_corpus(one_file);
    CHECK(files >= 2 * 562 && opened > 0 && refused > 0 && components_refused > 0 && not_verified > 0);
    printf("corpus: %lu opens, %lu refused; components: %lu read, %lu refused; files: %lu verified, %lu not\n", files, refused,
           components_read, components_refused, verified, not_verified);
    free(bytes_read);
    return check_done("corpus");
}
