/* Prints the contents of files, read in every way, to compare two platforms:
 *     cd tests/data && find . -type f | LC_ALL=C sort | read .
 * Elements are hashed in little-endian order. Not printed: what depends on the machine by design: ZT_CAP_MAP (byte order),
 * Elements are hashed in little-endian order. Not printed, because they depend on the machine: ZT_CAP_MAP
 * (byte order), */
#include "print.h"

/* Skips larger components. */
#define LARGEST (64u << 20)

static size_t width_of(zt_dtype dtype)
{
    size_t width = zt_dtype_size(dtype);
    return width ? width : 1;
}

/* The error without the path at its start, and without numbers that depend on this machine's memory. */
static void print_status(const char *what, zt_status status, const char *name)
{
    printf("%s %s", what, zt_status_name(status));
    if (status != ZT_OK && status != ZT_ERROR_LIMIT && status != ZT_ERROR_OUT_OF_MEMORY) {
        const char *message = zt_last_error(), *after = strstr(message, name);
        printf(" %s [%s]", after ? after + strlen(name) : message, zt_last_error_rule());
    }
    printf("\n");
}

static void print_value(const char *what, const zt_value *value)
{
    size_t size = 0;
    char *text;
    if (!value)
        return;
    zt_value_to_json(value, NULL, 0, &size);
    text = (char *)memory_of(size);
    zt_value_to_json(value, text, size, NULL);
    printf("%s %lu %016" PRIx64 " %.300s\n", what, (unsigned long)size, hash_of(text, size), text);
    free(text);
}

static void print_numbers(const zt_value *value)
{
    size_t i, count = zt_value_count(value);
    for (i = 0; i < count; i++) {
        const zt_value *item = zt_value_at(value, i);
        zt_dtype dtype = zt_value_dtype(item);
        size_t size = zt_value_count(item) ? zt_value_count(item) * width_of(dtype) : width_of(dtype);
        void *numbers;
        if (!dtype || zt_value_get_kind(item) == ZT_VALUE_KIND_MAP || size > LARGEST)
            continue;
        numbers = memory_of(size);
        if (zt_value_read_numbers(item, dtype, numbers, size / width_of(dtype)) == ZT_OK)
            printf("  numbers %d %lu %016" PRIx64 "\n", (int)dtype, (unsigned long)size,
                   hash_of_elements(numbers, size, width_of(dtype)));
        free(numbers);
    }
}

static void print_array(const char *what, const zt_array *array)
{
    if (array->data)
        printf("   %s %" PRIu64 " %d %d %016" PRIx64 "\n", what, array->count, (int)array->dtype, (int)array->type,
               hash_of_elements(array->data, array->size, width_of(array->dtype)));
}

static void print_views(const zt_object *object, const char *name)
{
    zt_tensor tensor;
    zt_csr csr;
    zt_coo coo;
    zt_quantized quantized;
    INIT(tensor), INIT(csr), INIT(coo), INIT(quantized);
    switch (zt_object_format(object)) {
    case ZT_FORMAT_SPARSE_CSR:
        print_status("  csr", zt_csr_view(object, &csr), name);
        printf("   %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", csr.rows, csr.columns, csr.nnz);
        print_array("values", &csr.values), print_array("indices", &csr.indices), print_array("indptr", &csr.indptr);
        break;
    case ZT_FORMAT_SPARSE_COO:
        print_status("  coo", zt_coo_view(object, &coo), name);
        print_array("values", &coo.values), print_array("coords", &coo.coords);
        break;
    case ZT_FORMAT_QUANTIZED_GROUP:
        print_status("  quantized", zt_quantized_view(object, &quantized), name);
        printf("   %" PRIu64 " %" PRIu64 "\n", quantized.bits, quantized.group_size);
        print_array("weights", &quantized.packed_weight), print_array("scales", &quantized.scales);
        print_array("zeros", &quantized.zeros);
        break;
    default:
        print_status("  tensor", zt_tensor_view(object, &tensor), name);
        if (tensor.data)
            printf("   %016" PRIx64 "\n", hash_of_elements(tensor.data, tensor.size, width_of(tensor.dtype)));
    }
}

/* Three slabs of a dense object: all; all except the first in each dimension; every second one. */
static void print_slices(const zt_object *object, size_t size, const char *name)
{
    enum { RANK = 16 };
    size_t i, rank = zt_object_rank(object), variant;
    const uint64_t *shape = zt_object_shape(object);
    const zt_component *component = zt_component_find(object, "data");
    unsigned char *bytes;
    if (!component || rank == 0 || rank > RANK)
        return;
    bytes = (unsigned char *)memory_of(size);
    for (variant = 0; variant < 3; variant++) {
        uint64_t start[RANK], count[RANK], step[RANK], elements = 1, all = zt_object_element_count(object);
        size_t filled;
        zt_status status;
        for (i = 0; i < rank; i++) {
            step[i] = variant == 2 ? 2 : 1;
            start[i] = variant > 0 && shape[i] > 1;
            count[i] = shape[i] > start[i] ? (shape[i] - start[i] + step[i] - 1) / step[i] : 0;
            elements *= count[i];
        }
        memset(bytes, 0, size);
        status = zt_object_read_slice(object, start, count, step, bytes, size);
        filled = all ? (size_t)(elements * (size / all)) : 0;
        print_status("  slice", status, name);
        if (status == ZT_OK)
            printf("   %016" PRIx64 "\n", hash_of_elements(bytes, filled, width_of(zt_component_dtype(component))));
    }
    free(bytes);
}

/* Reads the bytes in the other ways, and prints differences. */
static void compare_reads(const zt_file *file, const zt_component *component, const unsigned char *bytes, size_t size)
{
    unsigned char *other = (unsigned char *)memory_of(size);
    zt_read_request request;
    zt_buffer *buffer = NULL;
    const void *borrowed = NULL;
    size_t borrowed_size = 0, i;
    zt_status status;
    INIT(request);
    if (zt_component_ptr(component, &borrowed, &borrowed_size) == ZT_OK && (borrowed_size != size || memcmp(borrowed, bytes, size) != 0))
        printf("   borrowed bytes DIFFER\n");
    if (zt_component_load(component, NULL, &buffer) != ZT_OK || zt_buffer_size(buffer) != size ||
        memcmp(zt_buffer_data(buffer), bytes, size) != 0)
        printf("   loaded bytes DIFFER\n");
    zt_buffer_free(buffer);
    for (i = 0; i < 6; i++) {
        size_t at = size ? (size_t)((uint64_t)i * 2654435761u % size) : 0, length = 1 + i * 7;
        if (length > size - at)
            length = size - at;
        memset(other, 0xcc, size);
        status = zt_component_read_range(component, at, other, length);
        if (status != ZT_OK)
            printf("   range %lu of %lu bytes fails: %s\n", (unsigned long)at, (unsigned long)length, zt_status_name(status));
        else if (memcmp(other, bytes + at, length) != 0)
            printf("   range %lu of %lu bytes DIFFERS\n", (unsigned long)at, (unsigned long)length);
    }
    request.component = component;
    request.length = ZT_WHOLE;
    request.dst = other;
    request.dst_size = size;
    memset(other, 0xcc, size);
    if (zt_read_batch(file, &request, 1, NULL, NULL) != ZT_OK || memcmp(other, bytes, size) != 0)
        printf("   batch DIFFERS: %s\n", zt_last_error());
    free(other);
}

static void print_bytes(const zt_file *file, const zt_component *component, const char *name)
{
    size_t size, width = width_of(zt_component_dtype(component));
    unsigned char *bytes;
    uint64_t measured = 0;
    zt_status status = zt_component_measure(component, NULL, NULL, &measured);
    zt_dtype dtype;
    print_status("  measured", status, name);
    if (status != ZT_OK || measured > LARGEST)
        return;
    size = (size_t)measured;
    bytes = (unsigned char *)memory_of(size);
    status = zt_component_read(component, bytes, size);
    print_status("  read", status, name);
    if (status == ZT_OK) {
        printf("   %" PRIu64 " %016" PRIx64 "\n", measured, hash_of_elements(bytes, size, width));
        compare_reads(file, component, bytes, size);
        for (dtype = ZT_DTYPE_F64; zt_file_mode(file) == ZT_MODE_MAP && dtype <= ZT_DTYPE_BOOL; dtype++) {
            uint64_t wanted = measured / width * zt_dtype_size(dtype);
            unsigned char *converted = (unsigned char *)memory_of((size_t)wanted);
            zt_read_request request = {sizeof request};
            request.component = component, request.length = ZT_WHOLE, request.convert = dtype;
            request.dst = converted, request.dst_size = (size_t)wanted;
            status = zt_read_batch(file, &request, 1, NULL, NULL);
            printf("   as %d %s", (int)dtype, zt_status_name(status));
            if (status == ZT_OK)
                printf(" %016" PRIx64, hash_of_elements(converted, (size_t)wanted, zt_dtype_size(dtype)));
            printf("\n");
            free(converted);
        }
    }
    free(bytes);
}

/* The name in the file if the library does not know it. */
static const char *name_of(const char *own, const char *known)
{
    return own ? own : known;
}

static void print_object(const zt_file *file, const zt_object *object, const char *name)
{
    size_t i;
    zt_object_info about;
    INIT(about);
    zt_object_get_info(object, &about);
    printf(" object %s %d %s", about.name, (int)about.format, name_of(about.format_name, zt_format_name(about.format)));
    for (i = 0; i < zt_object_rank(object); i++)
        printf(" %" PRIu64, zt_object_shape(object)[i]);
    printf("\n");
    print_value("  attributes", zt_object_attributes(object));
    for (i = 0; i < zt_component_count(object); i++) {
        const zt_component *c = zt_component_at(object, i);
        const char *type;
        uint64_t measured = 0;
        zt_component_info info;
        INIT(info);
        /* With threads, the printed size would depend on how far each thread of zt_verify came before the
         * failure. */
        zt_component_measure(c, NULL, NULL, &measured);
        zt_component_get_info(c, &info);
        type = name_of(info.type_name, zt_type_name(info.type));
        printf("  component %s %s %s %s at %" PRIu64 " stored %" PRIu64 " size %" PRIu64 " caps %x %s\n",
               info.role, name_of(info.dtype_name, zt_dtype_name(info.dtype)), type ? type : "-",
               name_of(info.encoding_name, zt_encoding_name(info.encoding)), info.offset, info.stored_size, info.size,
               (unsigned)(zt_component_caps(c) & ~(uint32_t)(ZT_CAP_MAP | ZT_CAP_PAGE_EXCLUSIVE)), info.digest ? info.digest : "-");
        print_bytes(file, c, name);
    }
    if (zt_object_format(object) == ZT_FORMAT_DENSE && zt_component_count(object) == 1) {
        uint64_t size = zt_component_size(zt_component_at(object, 0));
        if (size <= LARGEST)
            print_slices(object, (size_t)size, name);
    }
    print_views(object, name);
}

static void print_file(const char *path, const char *name)
{
    static const zt_mode modes[] = {ZT_MODE_MAP, ZT_MODE_READ};
    size_t i, k;
    for (i = 0; i < COUNT(modes); i++) {
        zt_open_options options;
        zt_verify_report report;
        zt_identity identity;
        zt_part_info part;
        zt_file *file = NULL;
        zt_status status;
        INIT(options), INIT(report), INIT(identity), INIT(part);
        options.mode = modes[i];
        status = zt_open(path, &options, &file);
        printf("%s in mode %d:", name, (int)modes[i]);
        print_status("", status, name);
        if (status != ZT_OK)
            continue;
        zt_part_get_info(file, 0, &part);
        printf(" %s %s %" PRIu64 " bytes\n", zt_container_name(part.container), zt_file_version(file), part.size);
        print_value(" attributes", zt_file_attributes(file));
        print_numbers(zt_file_attributes(file));
        zt_file_identity(file, &identity);
        printf(" manifest %" PRIu64 " %016" PRIx64 "\n", identity.manifest_offset, identity.manifest_hash);
        print_status(" verified", zt_verify(file, NULL, NULL), name);
        if (zt_verify(file, NULL, &report) == ZT_OK)
            printf("  %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", report.components, report.bytes,
                   report.digests_verified, report.padding_nonzero);
        for (k = 0; k < zt_object_count(file); k++)
            print_object(file, zt_object_at(file, k), name);
        zt_close(file);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: read FOLDER <PATHS\n");
        return 2;
    }
    print_plain_lines();
    each_path(argv[1], print_file);
    return 0;
}
