/* Listings and zt_object_read_as of every object of every file there is: numbers of the object, or a refusal that names
 * what the object is. Never a component of it, and never a byte behind what `written` says. */
#include "support.h"
#include <dirent.h>
#include <sys/stat.h>

#define LARGEST (1u << 14)

static unsigned long arrays, refused_formats, refused_types, conversions;
static unsigned char as[LARGEST + 64], plain[LARGEST];

/* The memory from `end` on has its old contents. */
static int untouched(size_t end)
{
    for (; end < sizeof as; end++)
        if (as[end] != 0xa5)
            return 0;
    return 1;
}

static int names(const char *message, const char *what)
{
    return what && strstr(message, what) != NULL;
}

/* What a refusal names: the format if that is not dense, else the dtype or the type. */
static int names_it(const zt_object *object, const zt_component *data)
{
    const char *message = zt_last_error();
    if (zt_object_format(object) != ZT_FORMAT_DENSE)
        return names(message, format_name(object)) || (data && names(message, type_name(data)));
    return names(message, type_name(data)) || names(message, dtype_name(data)) || names(message, encoding_name(data));
}

/* A batch reads the numbers of an object: all of them, every second row, a slice. `as` has what is expected. */
static void in_a_batch(const zt_file *file, const zt_object *object, zt_dtype to, size_t size)
{
    static unsigned char got[LARGEST + 1];
    const uint64_t *shape = zt_object_shape(object);
    const size_t rank = zt_object_rank(object);
    uint64_t rows = 1, row, i, start[1024] = {0};
    zt_read_request r;
    for (i = 0; i + 1 < rank; i++)
        rows *= shape[i];
    INIT(r);
    r.object = object, r.convert = to, r.length = ZT_WHOLE, r.dst = got, r.dst_size = size;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    CHECK(memcmp(got, as, size) == 0);
    if (size == 0)
        return;
    row = size / rows;
    r.length = 0, r.count = shape, r.start = start;
    memset(got, 0, sizeof got);
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    CHECK(memcmp(got, as, size) == 0);
    r.count = r.start = NULL;
    r.rows = (rows + 1) / 2, r.row_stride = 2, r.dst_stride = row * 2;
    memset(got, 0xa5, sizeof got);
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    for (i = 0; i < rows; i++)
        CHECK(i & 1 ? got[i * row] == 0xa5 : memcmp(got + i * row, as + i * row, row) == 0);
    r.rows = 1, r.offset = rows - 1, r.row_stride = r.dst_stride = 0;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    CHECK(memcmp(got, as + (rows - 1) * row, row) == 0);
    r.offset = rows;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.offset = UINT64_MAX;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.offset = 0, r.row_length = row;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.row_length = 0, r.rows = 0, r.length = size;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.length = ZT_WHOLE, r.offset = 1;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.offset = 0, r.component = zt_component_at(object, 0);
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.component = NULL, r.convert = 0;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    r.convert = to, r.reserved = 1;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
}

static void one_dtype(const zt_file *file, const zt_object *object, zt_dtype to)
{
    const zt_component *data = zt_component_find(object, "data");
    const zt_type type = zt_component_type(data);
    uint64_t size = 77, count = zt_object_element_count(object);
    size_t written = 77;
    zt_status sized = zt_object_size_as(object, to, &size), status;
    memset(as, 0xa5, sizeof as);
    if (sized == ZT_ERROR_LIMIT) { /* more than 2^64 bytes */
        CHECK(size == 77 && zt_object_read_as(object, to, as, sizeof as, &written) == sized && written == 77 && untouched(0));
        return;
    }
    if (sized != ZT_OK) {
        CHECK_STATUS(sized, ZT_ERROR_UNSUPPORTED);
        CHECK(size == 77 && names_it(object, data));
        CHECK_STATUS(zt_object_read_as(object, to, as, sizeof as, &written), ZT_ERROR_UNSUPPORTED);
        CHECK(written == 77 && untouched(0) && names_it(object, data));
        if (zt_object_format(object) != ZT_FORMAT_DENSE)
            refused_formats++;
        else
            refused_types++;
        return;
    }
    CHECK(zt_object_format(object) == ZT_FORMAT_DENSE);
    if (type == ZT_TYPE_COMPLEX64 || type == ZT_TYPE_COMPLEX128 || type == ZT_TYPE_COMPLEX32)
        count *= 2;
    CHECK_U64(size, count * zt_dtype_size(to));
    if (size > LARGEST)
        return;
    if (size > 0) {
        status = zt_object_read_as(object, to, as, (size_t)size - 1, &written);
        CHECK(status != ZT_OK && written == 77 && untouched(0));
    }
    status = zt_object_read_as(object, to, as, sizeof as, &written);
    CHECK(untouched((size_t)size));
    if (status == ZT_ERROR_LIMIT) { /* numbers would be lost: convert.c counts them */
        CHECK(written == 77);
        return;
    }
    if (status != ZT_OK) { /* damaged, or of an encoding that is unknown */
        CHECK(written == 77 && zt_component_read(data, plain, sizeof plain) == status);
        return;
    }
    CHECK_U64(written, size);
    if (to == zt_component_dtype(data) && to != ZT_DTYPE_BOOL && zt_dtype_size(to) * count == zt_component_size(data) &&
        (type == ZT_TYPE_NONE || count != zt_object_element_count(object))) {
        CHECK_STATUS(zt_component_read(data, plain, sizeof plain), ZT_OK);
        CHECK(memcmp(as, plain, written) == 0);
        arrays++;
    }
    CHECK_STATUS(zt_object_read_as(object, to, as, sizeof as, NULL), ZT_OK);
    in_a_batch(file, object, to, written);
    conversions++;
}

static void one_file(const char *path)
{
    zt_file *file = NULL;
    zt_object_info info;
    size_t i, filled;
    zt_dtype to;
    if (zt_open(path, NULL, &file) != ZT_OK)
        return;
    for (i = 0; i < zt_object_count(file) && i < 40; i++) {
        const zt_object *object = zt_object_at(file, i);
        INIT(info);
        CHECK_STATUS(zt_object_list(file, i, &info, 1, &filled), ZT_OK);
        if (info.format != ZT_FORMAT_DENSE && info.format != ZT_FORMAT_BLOCKS)
            CHECK(!info.component && !info.size && !info.stored_size && !info.offset && !info.dtype && !info.type);
        for (to = ZT_DTYPE_F64; to <= ZT_DTYPE_BOOL; to++)
            one_dtype(file, object, to);
    }
    zt_close(file);
}

static void one_folder(const char *folder)
{
    char path[4400];
    struct stat is;
    const struct dirent *entry;
    DIR *d = opendir(folder);
    REQUIRE(d != NULL);
    while ((entry = readdir(d)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%.4000s/%.256s", folder, entry->d_name);
        if (stat(path, &is) != 0)
            continue;
        if (S_ISDIR(is.st_mode))
            one_folder(path);
        else
            one_file(path);
    }
    closedir(d);
}

int main(void)
{
    one_folder(data_path(""));
    CHECK(arrays > 1000 && refused_formats > 1000 && refused_types > 100 && conversions > 10000);
    return check_done("numbers");
}
