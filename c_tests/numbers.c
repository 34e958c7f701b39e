/* Listings and zt_object_read_as of every object of every file: returns the object's numbers, or an error
 * that names the reason. It must not return a component instead, or write past `written`. Also decodes blocks
 * of a real GGUF by their formulas. */
#include "loading.h"
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#define LARGEST (1u << 14)

static unsigned long arrays, blocks, sparse, groups, weights, refused_formats, refused_types, conversions, mismatches, files;
static unsigned char as[LARGEST + 64], plain[LARGEST];

/* Checks that the 512 bytes from `end` on are unchanged. */
static int untouched(size_t end)
{
    const size_t last = end + 512 < sizeof as ? end + 512 : sizeof as;
    for (; end < last; end++)
        if (as[end] != 0xa5)
            return 0;
    return 1;
}

static int names(const char *message, const char *what)
{
    return what && strstr(message, what) != NULL;
}

/* The word in the error: the format if it is not dense, otherwise the dtype or type. */
static int names_it(const zt_object *object, const zt_component *data)
{
    const char *message = zt_last_error();
    if (zt_object_format(object) != ZT_FORMAT_DENSE && names(message, format_name(object)))
        return 1;
    return data && (names(message, type_name(data)) || names(message, dtype_name(data)) || names(message, encoding_name(data)));
}

/* A batch reads an object's numbers: all, every second row, a slice. `as` has the expected ones. */
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

/* Every second element of each dimension; the first one is left out if there are several. */
static void by_a_strided_slice(const zt_file *file, const zt_object *object, zt_dtype to, size_t size)
{
    static unsigned char got[LARGEST + 1];
    const uint64_t *shape = zt_object_shape(object);
    const size_t rank = zt_object_rank(object);
    uint64_t start[1024], count[1024], step[1024], at[1024] = {0}, all = 1, i, n;
    size_t each;
    zt_read_request r;
    for (i = 0; i < rank; i++) {
        start[i] = shape[i] > 1, step[i] = 2, count[i] = (shape[i] - start[i] + 1) / 2;
        all *= count[i];
    }
    each = size / (size_t)zt_object_element_count(object);
    INIT(r);
    r.object = object, r.convert = to, r.start = start, r.count = count, r.step = step;
    r.dst = got, r.dst_size = (size_t)all * each - 1;
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_ERROR_BUFFER_SIZE);
    r.dst_size++;
    memset(got, 0xa5, sizeof got);
    CHECK_STATUS(zt_read_batch(file, &r, 1, NULL, NULL), ZT_OK);
    for (n = 0; n < all; n++) {
        size_t from = 0;
        for (i = 0; i < rank; i++)
            from = from * (size_t)shape[i] + (size_t)(start[i] + at[i] * step[i]);
        CHECK(memcmp(got + n * each, as + from * each, each) == 0);
        for (i = rank; i > 0 && ++at[i - 1] == count[i - 1]; i--)
            at[i - 1] = 0;
    }
    CHECK(got[all * each] == 0xa5);
}

/* Whether a load of this request gives the expected numbers. Returns its status, and whether a digest
 * failed. */
static zt_status load_gives(const zt_read_request *request, const zt_load_options *options, const void *wanted, size_t size,
    int *is_of_digest)
{
    zt_load *load = start_load(request, 1, options);
    zt_load_event event;
    zt_status status;
    size_t came = 0;
    for (;;) {
        INIT(event);
        REQUIRE(zt_load_next(load, -1, &event) == ZT_OK);
        if (event.kind == ZT_LOAD_KIND_DONE)
            break;
        if (event.kind == ZT_LOAD_KIND_DATA) {
            REQUIRE(event.offset + event.size <= size);
            CHECK(memcmp(event.data, (const unsigned char *)wanted + event.offset, (size_t)event.size) == 0);
            CHECK(is_aligned(event.data, 64));
            came += (size_t)event.size;
        }
        zt_load_release(load, &event);
    }
    status = event.status;
    CHECK(status != ZT_OK || came == size);
    *is_of_digest = strstr(event.message, "digest ") != NULL || status == ZT_ERROR_DIGEST_MISMATCH;
    CHECK_STATUS(zt_load_finish(load, NULL), status);
    return status;
}

/* With digest checks, which other reads do not make. */
static void through_a_ring(const zt_object *object, zt_dtype to, size_t size)
{
    zt_read_request r;
    zt_load_options options;
    int is_of_digest;
    INIT(r);
    INIT(options);
    r.object = object, r.convert = to, r.length = ZT_WHOLE, r.verify = 1;
    options.slot_size = 65536, options.slot_count = 2, options.threads = 1;
    if (load_gives(&r, &options, as, size, &is_of_digest) != ZT_OK) {
        CHECK(is_of_digest);
        mismatches++;
    }
}

static void in_a_cache(const zt_object *object, zt_dtype to, size_t size)
{
    zt_cache_options options;
    zt_cache *cache = NULL;
    zt_cache_pin pin, again;
    zt_read_request r;
    INIT(options);
    INIT(pin);
    INIT(again);
    INIT(r);
    options.budget = 1 << 20, options.slot_size = LARGEST, options.threads = 1;
    r.object = object, r.convert = to, r.length = ZT_WHOLE;
    CHECK_STATUS(zt_cache_create(&options, &cache), ZT_OK);
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &pin), ZT_OK);
    CHECK(pin.size == size && memcmp(pin.data, as, size) == 0);
    CHECK_STATUS(zt_cache_get(cache, &r, -1, &again), ZT_OK);
    CHECK(again.data == pin.data);
    zt_cache_unpin(cache, &pin), zt_cache_unpin(cache, &again);
    zt_cache_free(cache);
}

/* How many elements fill whole bytes. */
static size_t elements_of_block(zt_type type)
{
    size_t elements = 1, bytes;
    return zt_type_block(type, &elements, &bytes) == ZT_OK ? elements : 1;
}

static void one_dtype(const zt_file *file, const zt_object *object, zt_dtype to)
{
    const zt_format format = zt_object_format(object);
    const int is_dense = format == ZT_FORMAT_DENSE, is_sparse = format == ZT_FORMAT_SPARSE_CSR || format == ZT_FORMAT_SPARSE_COO;
    const zt_component *data = zt_component_find(object, is_sparse ? "values" : "data");
    const zt_type type = zt_component_type(data);
    const size_t of_block = elements_of_block(type);
    uint64_t size = 77, count = zt_object_element_count(object);
    size_t written = 77;
    zt_status sized = zt_object_size_as(object, to, &size), status;
    memset(as, 0xa5, sizeof as);
    if (sized == ZT_ERROR_LIMIT) { /* larger than 2^64 bytes */
        CHECK(size == 77 && zt_object_read_as(object, to, as, sizeof as, &written) == sized && written == 77 && untouched(0));
        return;
    }
    if (sized == ZT_ERROR_CORRUPT) { /* a layout with a damaged or missing part or attribute */
        CHECK(!is_dense);
        CHECK(size == 77 && zt_object_read_as(object, to, as, sizeof as, &written) == sized && written == 77 && untouched(0));
        return;
    }
    if (sized != ZT_OK) {
        CHECK_STATUS(sized, ZT_ERROR_UNSUPPORTED);
        CHECK(size == 77 && names_it(object, data));
        CHECK_STATUS(zt_object_read_as(object, to, as, sizeof as, &written), ZT_ERROR_UNSUPPORTED);
        CHECK(written == 77 && untouched(0) && names_it(object, data));
        if (!is_dense)
            refused_formats++;
        else
            refused_types++;
        return;
    }
    CHECK(is_dense || is_sparse || to <= ZT_DTYPE_BF16);
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
    if (status == ZT_ERROR_LIMIT) { /* numbers do not fit: convert.c counts them */
        CHECK(written == 77);
        return;
    }
    if (status != ZT_OK) { /* damaged, or of an unknown encoding */
        CHECK(written == 77 && (!is_dense || zt_component_read(data, plain, sizeof plain) == status));
        return;
    }
    blocks += format == ZT_FORMAT_BLOCKS;
    sparse += is_sparse;
    groups += format == ZT_FORMAT_OTHER;
    weights += format == ZT_FORMAT_QUANTIZED_GROUP;
    CHECK_U64(written, size);
    if (is_dense && to == zt_component_dtype(data) && to != ZT_DTYPE_BOOL && zt_dtype_size(to) * count == zt_component_size(data) &&
        (type == ZT_TYPE_NONE || count != zt_object_element_count(object))) {
        CHECK_STATUS(zt_component_read(data, plain, sizeof plain), ZT_OK);
        CHECK(memcmp(as, plain, written) == 0);
        arrays++;
    }
    CHECK_STATUS(zt_object_read_as(object, to, as, sizeof as, NULL), ZT_OK);
    /* A request for an array reads complete blocks. */
    if (!is_dense || count % of_block == 0) /* otherwise rows would end within a byte */
        in_a_batch(file, object, to, written);
    if (format != ZT_FORMAT_BLOCKS && of_block == 1 && written > 0) {
        by_a_strided_slice(file, object, to, written);
        if (to == ZT_DTYPE_F32) { /* each call starts threads */
            through_a_ring(object, to, written);
            in_a_cache(object, to, written);
        }
    }
    conversions++;
}

static void one_file(const char *path)
{
    zt_file *file = NULL;
    zt_open_options options;
    zt_object_info info;
    size_t i, filled;
    zt_dtype to;
    if (files++ % ((case_step() + 9) / 10) != 0)
        return;
    INIT(options);
    options.combine_quantized = 1; /* so that the weights of checkpoints are objects */
    if (zt_open(path, &options, &file) != ZT_OK)
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

#define Q8_0_BLOCK 34
#define Q4_K_BLOCK 144

static float f16_at(const unsigned char *bytes)
{
    const unsigned code = bytes[0] | (unsigned)bytes[1] << 8, exponent = code >> 10 & 31, fraction = code & 1023;
    const double magnitude = exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24);
    return (float)(code >> 15 ? -magnitude : magnitude);
}

static float q8_0_element(const unsigned char *data, size_t i)
{
    const unsigned char *block = data + i / 32 * Q8_0_BLOCK;
    return (float)(signed char)block[2 + i % 32] * f16_at(block);
}

static float q4_k_element(const unsigned char *data, size_t i)
{
    const unsigned char *block = data + i / 256 * Q4_K_BLOCK, *packed = block + 4;
    const size_t group = i % 256 / 32;
    const unsigned code = block[16 + group / 2 * 32 + i % 32] >> group % 2 * 4 & 15;
    unsigned scale = packed[group] & 63, min = packed[group + 4] & 63;
    volatile float scaled, least; /* rounds each product to a float */
    if (group >= 4) {
        scale = (packed[group + 4] & 15) | packed[group - 4] >> 6 << 4;
        min = packed[group + 4] >> 4 | packed[group] >> 6 << 4;
    }
    scaled = f16_at(block) * (float)scale;
    least = f16_at(block + 2) * (float)min;
    scaled = scaled * (float)code;
    return scaled - least;
}

/* f32 and f16 of a tensor: completely, by rows into memory with gaps, as a slice, and through a load's
 * ring. */
static void numbers_of_blocks(const char *name, size_t count, size_t block, float (*element)(const unsigned char *, size_t))
{
    zt_file *file = open_data("foreign/valid/amber-candle-writer.gguf");
    const zt_object *object = zt_object_find(file, name);
    const zt_component *data = zt_component_find(object, "data");
    const size_t blocks_there = (size_t)zt_component_size(data) / block, of = count / blocks_there;
    unsigned char stored[512], halves[2048], again[2048];
    float numbers[512], rows[3 * 512];
    size_t i, j, written = 0;
    zt_read_request request;
    zt_load_options options;
    int is_of_digest;
    uint64_t size = 0;

    REQUIRE(blocks_there > 1 && zt_object_element_count(object) == count);
    CHECK_STATUS(zt_component_read(data, stored, sizeof stored), ZT_OK);
    CHECK_STATUS(zt_object_size_as(object, ZT_DTYPE_F32, &size), ZT_OK);
    CHECK_U64(size, 4 * count);
    CHECK_STATUS(zt_object_read_as(object, ZT_DTYPE_F32, numbers, sizeof numbers, &written), ZT_OK);
    CHECK_U64(written, 4 * count);
    for (i = 0; i < count; i++) {
        const float wanted = element(stored, i);
        CHECK(memcmp(&numbers[i], &wanted, 4) == 0);
    }
    CHECK_STATUS(zt_object_read_as(object, ZT_DTYPE_F16, halves, sizeof halves, &written), ZT_OK);
    CHECK_U64(written, 2 * count);
    for (i = 0; i < count; i++) {
        const unsigned char *half = halves + 2 * i, little[2] = {half[is_big_endian() != 0], half[!is_big_endian()]};
        CHECK(fabs((double)f16_at(little) - numbers[i]) <= fabs(numbers[i]) / 2048 + ldexp(1, -25));
    }
    /* Rows of one block. Every second row of memory must not change. */
    INIT(request);
    request.component = data, request.rows = blocks_there, request.row_length = block, request.convert = ZT_DTYPE_F32;
    request.dst = rows, request.dst_size = sizeof rows, request.dst_stride = 8 * of;
    memset(rows, 0xa5, sizeof rows);
    CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_OK);
    for (i = 0; i < blocks_there; i++) {
        CHECK(memcmp(rows + 2 * of * i, numbers + of * i, 4 * of) == 0);
        for (j = 0; j < 4 * of && i + 1 < blocks_there; j++)
            CHECK(((unsigned char *)(rows + 2 * of * i + of))[j] == 0xa5);
    }
    /* The last block only, as f16. */
    INIT(request);
    request.component = data, request.offset = (blocks_there - 1) * block, request.length = block;
    request.convert = ZT_DTYPE_F16, request.dst = again, request.dst_size = sizeof again;
    CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_OK);
    CHECK(memcmp(again, halves + (blocks_there - 1) * of * 2, 2 * of) == 0);
    request.offset -= 1;
    CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "whole blocks") != NULL);
    request.offset += 1, request.length -= 2;
    CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    request.length += 2, request.convert = ZT_DTYPE_I32;
    CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), type_name(data)) != NULL);
    INIT(request);
    INIT(options);
    request.component = data, request.length = ZT_WHOLE, request.convert = ZT_DTYPE_F32;
    CHECK_STATUS(load_gives(&request, &options, numbers, 4 * count, &is_of_digest), ZT_OK);
    zt_close(file);
}

/* More than what is written around the caches, unless that takes too long. */
#define ROWS (case_step() > 1 ? 512u : 8192u)
#define COLUMNS 1152u
#define LARGE_COUNT ((size_t)ROWS * COLUMNS)
#define LARGE_SIZE (LARGE_COUNT / 32 * Q8_0_BLOCK)
#define PART (LARGE_COUNT / 32 / 3)

static void write_large(zt_writer *writer, const char *name, zt_encoding encoding, const unsigned char *stored)
{
    const uint64_t shape[2] = {ROWS, COLUMNS};
    zt_object_desc object;
    zt_component_desc component;
    INIT(object);
    INIT(component);
    component.role = "data", component.dtype = ZT_DTYPE_U8, component.encoding = encoding;
    component.data = stored, component.size = LARGE_SIZE;
    object.name = name, object.format = ZT_FORMAT_OTHER, object.format_name = "gguf.q8_0/1";
    object.shape = shape, object.rank = 2, object.components = &component, object.component_count = 1;
    CHECK_STATUS(zt_write_object(writer, &object), ZT_OK);
}

/* Pieces that are not complete blocks: with one thread and several, through a ring, and compressed. Some
 * numbers are too large for f16. All of them are counted, in every thread. */
static void many_blocks(void)
{
    const char *path = scratch_path("blocks.zt");
    unsigned char *stored = (unsigned char *)malloc(LARGE_SIZE);
    float *numbers = (float *)malloc(4 * LARGE_COUNT), *wanted = (float *)malloc(4 * LARGE_COUNT);
    zt_writer *writer = NULL;
    zt_file *file;
    uint32_t state = 40, round;
    size_t i, written, lost = 0;
    char count[64];
    REQUIRE(stored && numbers && wanted);
    for (i = 0; i < LARGE_SIZE; i++)
        stored[i] = (unsigned char)(i % Q8_0_BLOCK == 1 ? 0x20 : next_random(&state) >> 8);
    stored[1] = stored[100 * Q8_0_BLOCK + 1] = stored[LARGE_SIZE - Q8_0_BLOCK + 1] = 0x7a;
    for (i = 0; i < LARGE_COUNT; i++) {
        wanted[i] = q8_0_element(stored, i);
        lost += fabs(wanted[i]) >= 65520;
    }
    REQUIRE(lost > 50);
    CHECK_STATUS(zt_write_create(path, NULL, &writer), ZT_OK);
    write_large(writer, "plain", ZT_ENCODING_RAW, stored);
    write_large(writer, "packed", ZT_ENCODING_ZSTD, stored);
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    file = open_path(path);
    snprintf(count, sizeof count, " %lu finite numbers", (unsigned long)lost);
    for (round = 0; round < 6; round++) {
        const zt_object *object = zt_object_find(file, round % 2 ? "packed" : "plain");
        zt_read_request request;
        zt_read_options options;
        INIT(request);
        INIT(options);
        request.component = zt_component_find(object, "data"), request.length = ZT_WHOLE;
        request.convert = ZT_DTYPE_F32, request.dst = numbers, request.dst_size = 4 * LARGE_COUNT;
        options.threads = 1 + round / 2, options.chunk_size = round < 4 ? 0 : 65536;
        memset(numbers, 0xa5, 4 * LARGE_COUNT);
        if (round < 2)
            CHECK_STATUS(zt_object_read_as(object, ZT_DTYPE_F32, numbers, 4 * LARGE_COUNT, &written), ZT_OK);
        else
            CHECK_STATUS(zt_read_batch(file, &request, 1, &options, NULL), ZT_OK);
        CHECK(memcmp(numbers, wanted, 4 * LARGE_COUNT) == 0);
        request.convert = ZT_DTYPE_F16;
        CHECK_STATUS(zt_read_batch(file, &request, 1, &options, NULL), ZT_ERROR_LIMIT);
        CHECK(strstr(zt_last_error(), count) != NULL);
        request.lossy = 1;
        CHECK_STATUS(zt_read_batch(file, &request, 1, &options, NULL), ZT_OK);
        /* Some rows of blocks, from an offset that is not at a page. */
        request.convert = ZT_DTYPE_F32, request.offset = 7 * Q8_0_BLOCK, request.length = PART * Q8_0_BLOCK;
        CHECK_STATUS(zt_read_batch(file, &request, 1, &options, NULL), ZT_OK);
        CHECK(memcmp(numbers, wanted + 7 * 32, 4 * PART * 32) == 0);
    }
    for (round = 0; round < 4; round++) {
        zt_read_request request;
        zt_load_options options;
        int is_of_digest;
        INIT(request);
        INIT(options);
        request.component = component_of(file, round % 2 ? "packed" : "plain", "data"), request.length = ZT_WHOLE;
        request.convert = ZT_DTYPE_F32;
        options.slot_size = 65536 << round, options.slot_count = 4, options.threads = 1 + round / 2;
        /* Raw components are read into the slots without memory for all of them. */
        options.in_flight = round % 2 ? 0 : 2u << 20;
        CHECK_STATUS(load_gives(&request, &options, wanted, 4 * LARGE_COUNT, &is_of_digest), ZT_OK);
    }
    zt_close(file);
    remove(path);
    free(stored), free(numbers), free(wanted);
}

/* Numbers that are larger than a slot are decoded to temporary memory first, within in_flight. */
static void more_than_a_slot(void)
{
    static const uint64_t shape[2] = {100, 1000}, coords[6] = {0, 50, 99, 999, 500, 0};
    static const float values[3] = {1, 2, 3};
    static float wanted[100000];
    const char *path = scratch_path("sparse.zt");
    zt_writer *writer = NULL;
    zt_file *file;
    zt_read_request r;
    zt_load_options options;
    zt_load *load = NULL;
    int is_of_digest;
    CHECK_STATUS(zt_write_create(path, NULL, &writer), ZT_OK);
    CHECK_STATUS(zt_write_coo(writer, "s", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, shape, 2, 3, values, sizeof values, coords), ZT_OK);
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    file = open_path(path);
    INIT(r);
    INIT(options);
    r.object = zt_object_at(file, 0), r.convert = ZT_DTYPE_F32, r.length = ZT_WHOLE;
    options.slot_size = 65536, options.slot_count = 2, options.in_flight = 399999;
    CHECK_STATUS(zt_load_start(&r, 1, &options, &load), ZT_ERROR_LIMIT);
    options.in_flight = 400000;
    wanted[999] = 1, wanted[50500] = 2, wanted[99000] = 3;
    CHECK_STATUS(load_gives(&r, &options, wanted, sizeof wanted, &is_of_digest), ZT_OK);
    zt_close(file);
    remove(path);
}

/* The producers differ. */
static void blocks_of_a_big_endian_file(void)
{
    zt_file *file = open_data("foreign/valid/amber-big-endian-py.gguf");
    size_t i, refused = 0;
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        if (zt_object_format(object) != ZT_FORMAT_BLOCKS)
            continue;
        CHECK_STATUS(zt_object_read_as(object, ZT_DTYPE_F32, as, sizeof as, NULL), ZT_ERROR_UNSUPPORTED);
        CHECK(strstr(zt_last_error(), "big-endian") != NULL);
        refused++;
    }
    CHECK(refused > 1);
    zt_close(file);
}

int main(void)
{
    numbers_of_blocks("cdl3.q8_0", 96, Q8_0_BLOCK, q8_0_element);
    numbers_of_blocks("cdl3.q4_k", 512, Q4_K_BLOCK, q4_k_element);
    many_blocks();
    blocks_of_a_big_endian_file();
    more_than_a_slot();
    one_folder(data_path(""));
    CHECK(conversions > 1000 && mismatches < 100);
    if (case_step() <= 10)
        CHECK(arrays > 1000 && blocks > 300 && sparse > 300 && groups > 10 && weights > 80 && refused_formats > 1000 &&
              refused_types > 100 && conversions > 10000 && mismatches > 3);
    return check_done("numbers");
}
