/* Chapter "open": a file in memory, and one that the caller's functions read. */
#include "support.h"

#define CORPUS_FILE "v1.2/py-1.2.3-all-dtypes.zt"

static zt_file *const sentinel = (zt_file *)&check_count;

static void aligned_memory(size_t shift)
{
    size_t size, i;
    unsigned char *bytes = read_file(data_path(CORPUS_FILE), &size);
    unsigned char *buffer = (unsigned char *)malloc(size + 192);
    unsigned char *data;
    zt_file *file = NULL;
    REQUIRE(buffer != NULL);
    data = buffer + (64 - (uintptr_t)buffer % 64) + shift;
    memcpy(data, bytes, size);
    CHECK_STATUS(zt_open_memory(data, size, NULL, &file), ZT_OK);
    REQUIRE(file != NULL);
    CHECK_U64(file_size(file), size);
    CHECK_U64(zt_object_count(file), 13);
    for (i = 0; i < 13; i++) {
        const zt_component *component = zt_component_at(zt_object_at(file, i), 0);
        size_t width = zt_dtype_size(zt_component_dtype(component));
        uint64_t offset = component_info(component).offset;
        size_t length = 0, want = (size_t)zt_component_size(component);
        const void *ptr = sentinel;
        unsigned char got[120];
        CHECK_STATUS(zt_component_read(component, got, sizeof got), ZT_OK);
        CHECK(are_elements(got, bytes + offset, want, width));
        if (shift % width == 0 && borrows_little_endian(width)) {
            CHECK(zt_component_caps(component) & ZT_CAP_MAP);
            CHECK_STATUS(zt_component_ptr(component, &ptr, &length), ZT_OK);
            CHECK(ptr == data + offset && length == want);
        } else {
            length = 77;
            CHECK(!(zt_component_caps(component) & ZT_CAP_MAP));
            CHECK_STATUS(zt_component_ptr(component, &ptr, &length), ZT_ERROR_NOT_MAPPABLE);
            CHECK(ptr == sentinel && length == 77);
        }
        CHECK(!(zt_component_caps(component) & ZT_CAP_DIRECT));
        {
            zt_buffer *buffer = NULL;
            CHECK_STATUS(zt_component_load(component, NULL, &buffer), ZT_OK);
            CHECK(is_aligned(zt_buffer_data(buffer), 64));
            CHECK(are_elements(zt_buffer_data(buffer), bytes + offset, want, width));
            zt_buffer_free(buffer);
        }
        { /* a view borrows if possible, otherwise it has aligned memory */
            zt_tensor tensor;
            INIT(tensor);
            CHECK_STATUS(zt_tensor_find(file, zt_object_name(zt_object_at(file, i)), &tensor), ZT_OK);
            CHECK(shift % width == 0 && borrows_little_endian(width) ? tensor.data == ptr : is_aligned(tensor.data, 64));
            CHECK(tensor.size == want && are_elements(tensor.data, bytes + offset, want, width));
        }
    }
    zt_close(file);
    free(buffer);
    free(bytes);
}

static void bad_memory(void)
{
    zt_file *file = sentinel;
    size_t size;
    unsigned char *bytes = read_file(data_path(CORPUS_FILE), &size);
    CHECK_STATUS(zt_open_memory(bytes, size - 1, NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL);
    file = sentinel;
    CHECK_STATUS(zt_open_memory(bytes, 0, NULL, &file), ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(file == NULL);
    file = sentinel;
    CHECK_STATUS(zt_open_memory(NULL, 0, NULL, &file), ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(file == NULL);
    file = sentinel;
    CHECK_STATUS(zt_open_memory(NULL, 64, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL);
    free(bytes);
}

/* A source of bytes in memory. It counts its calls, and fails when a test asks. */
typedef struct source_state {
    const unsigned char *bytes;
    size_t size;
    int sizes, reads, closes;
    int strayed;     /* number of calls for bytes past the end, or after close */
    int fail_from;   /* reads from this one on fail; 0 for none */
    zt_status fail_read, fail_size;
} source_state;

static zt_status source_size(void *context, uint64_t *size)
{
    source_state *state = (source_state *)context;
    state->sizes++;
    if (state->fail_size)
        return state->fail_size;
    *size = state->size;
    return ZT_OK;
}

static zt_status source_read_at(void *context, uint64_t offset, void *dst, size_t n)
{
    source_state *state = (source_state *)context;
    state->reads++;
    if (state->closes || offset > state->size || n > state->size - offset) {
        state->strayed = 1;
        return ZT_ERROR_IO;
    }
    if (state->fail_from && state->reads >= state->fail_from)
        return state->fail_read;
    memcpy(dst, state->bytes + offset, n);
    return ZT_OK;
}

static void source_close(void *context)
{
    ((source_state *)context)->closes++;
}

static zt_source make_source(source_state *state, const unsigned char *bytes, size_t size)
{
    zt_source source;
    memset(state, 0, sizeof *state);
    state->bytes = bytes;
    state->size = size;
    INIT(source);
    source.context = state;
    source.size = source_size;
    source.read_at = source_read_at;
    source.close = source_close;
    return source;
}

static void good_source(const unsigned char *bytes, size_t size)
{
    source_state state;
    zt_source source = make_source(&state, bytes, size);
    zt_file *file = NULL;
    zt_buffer *buffer = NULL;
    const zt_component *component;
    const void *ptr = sentinel;
    unsigned char got[120], part[7];
    size_t i;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
    REQUIRE(file != NULL);
    memset(&source, 0xff, sizeof source); /* the library copied it */
    CHECK_U64(file_size(file), size);
    CHECK_U64(zt_object_count(file), 13);
    for (i = 0; i < 13; i++) {
        component = zt_component_at(zt_object_at(file, i), 0);
        CHECK(!(zt_component_caps(component) & (ZT_CAP_MAP | ZT_CAP_DIRECT)));
        CHECK(zt_component_caps(component) & ZT_CAP_READ);
        CHECK_STATUS(zt_component_ptr(component, &ptr, NULL), ZT_ERROR_NOT_MAPPABLE);
        CHECK(ptr == sentinel);
        CHECK_STATUS(zt_component_read(component, got, sizeof got), ZT_OK);
        CHECK(are_elements(got, bytes + component_info(component).offset, (size_t)zt_component_size(component),
                           zt_dtype_size(zt_component_dtype(component))));
        CHECK_STATUS(zt_component_read_range(component, 3, part, 7), ZT_OK);
        CHECK(memcmp(part, got + 3, 7) == 0);
        CHECK_STATUS(zt_component_advise(component, ZT_ADVICE_NONE), ZT_OK);
        CHECK_STATUS(zt_component_advise(component, ZT_ADVICE_WILLNEED), ZT_ERROR_UNSUPPORTED);
        CHECK(zt_file_mode(file) == ZT_MODE_READ);
        CHECK_STATUS(zt_file_bytes(file, 0, &ptr, NULL), ZT_ERROR_NOT_MAPPABLE);
    }
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    CHECK_STATUS(zt_component_load(component_of(file, "f64", "data"), NULL, &buffer), ZT_OK);
    CHECK(zt_retain(file) == file);
    zt_close(file);
    CHECK(state.closes == 0);
    zt_close(file);
    CHECK(state.closes == 0); /* the buffer keeps a reference */
    CHECK(are_elements(zt_buffer_data(buffer), bytes + 64, 120, 8));
    zt_buffer_free(buffer);
    CHECK_U64(state.closes, 1);
    CHECK_U64(state.sizes, 1);
    CHECK(!state.strayed);
}

static void failing_source(const unsigned char *bytes, size_t size)
{
    static const zt_status failures[] = {ZT_ERROR_IO, ZT_ERROR_CANCELLED, ZT_ERROR_NOT_FOUND, ZT_ERROR_OUT_OF_MEMORY};
    source_state state;
    zt_source source;
    zt_file *file;
    zt_buffer *buffer = NULL;
    zt_tensor tensor;
    unsigned char got[120];
    size_t i;
    for (i = 0; i < COUNT(failures); i++) {
        source = make_source(&state, bytes, size);
        state.fail_size = failures[i];
        file = sentinel;
        CHECK_STATUS(zt_open_source(&source, NULL, &file), failures[i]);
        CHECK(file == NULL);
        CHECK(state.closes == 1 && state.reads == 0);

        source = make_source(&state, bytes, size);
        state.fail_from = 1;
        state.fail_read = failures[i];
        file = sentinel;
        CHECK_STATUS(zt_open_source(&source, NULL, &file), failures[i]);
        CHECK(file == NULL);
        CHECK_U64(state.closes, 1);

        /* Opens, and then fails. */
        source = make_source(&state, bytes, size);
        file = NULL;
        CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
        REQUIRE(file != NULL);
        state.fail_from = 1;
        state.fail_read = failures[i];
        CHECK_STATUS(zt_component_read(component_of(file, "f64", "data"), got, sizeof got), failures[i]);
        CHECK_STATUS(zt_component_read_range(component_of(file, "f64", "data"), 8, got, 8), failures[i]);
        CHECK_STATUS(zt_component_load(component_of(file, "f64", "data"), NULL, &buffer), failures[i]);
        CHECK(buffer == NULL);
        CHECK_STATUS(zt_verify(file, NULL, NULL), failures[i]);
        INIT(tensor);
        CHECK_STATUS(zt_tensor_find(file, "f64", &tensor), failures[i]);
        CHECK(tensor.data == NULL);
        state.fail_from = 0; /* a failure is not remembered */
        CHECK_STATUS(zt_component_read(component_of(file, "f64", "data"), got, sizeof got), ZT_OK);
        CHECK_STATUS(zt_tensor_find(file, "f64", &tensor), ZT_OK);
        CHECK(tensor.size == 120 && are_elements(tensor.data, bytes + 64, 120, 8));
        zt_close(file);
        CHECK_U64(state.closes, 1);
        CHECK(!state.strayed);
    }
    /* An invalid status is also a failure. */
    source = make_source(&state, bytes, size);
    state.fail_from = 1;
    state.fail_read = 12345;
    file = sentinel;
    CHECK(zt_open_source(&source, NULL, &file) != ZT_OK);
    CHECK(file == NULL && state.closes == 1);
    source = make_source(&state, bytes, size);
    state.fail_size = -1;
    file = sentinel;
    CHECK(zt_open_source(&source, NULL, &file) != ZT_OK);
    CHECK(file == NULL && state.closes == 1);
}

static void broken_source(const unsigned char *bytes, size_t size)
{
    source_state state;
    zt_open_options options;
    zt_source source;
    zt_file *file = sentinel;
    CHECK_STATUS(zt_open_source(NULL, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL);

    source = make_source(&state, bytes, size);
    source.read_at = NULL;
    file = sentinel;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL && state.closes == 1);

    source = make_source(&state, bytes, size);
    source.size = NULL;
    file = sentinel;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL && state.closes == 1);

    /* Invalid options: the source is closed nevertheless. */
    source = make_source(&state, bytes, size);
    INIT(options);
    options.struct_size = 1;
    file = sentinel;
    CHECK_STATUS(zt_open_source(&source, &options, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(file == NULL && state.closes == 1);

    /* A broken file; a source without a close function and context. */
    source = make_source(&state, bytes, size - 1);
    file = sentinel;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL && state.closes == 1 && !state.strayed);
    source = make_source(&state, bytes, size);
    source.close = NULL;
    file = NULL;
    CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
    zt_close(file);
    CHECK_U64(state.closes, 0);

    /* A source with a huge declared size: nothing is allocated for it. */
    source = make_source(&state, bytes, SIZE_MAX);
    state.fail_from = 1;
    state.fail_read = ZT_ERROR_IO;
    file = sentinel;
    CHECK(zt_open_source(&source, NULL, &file) != ZT_OK);
    CHECK(file == NULL && state.closes == 1);
}

int main(void)
{
    size_t size;
    unsigned char *bytes = read_file(data_path(CORPUS_FILE), &size);
    aligned_memory(0);
    aligned_memory(1);
    aligned_memory(2);
    aligned_memory(4);
    aligned_memory(8);
    bad_memory();
    good_source(bytes, size);
    failing_source(bytes, size);
    broken_source(bytes, size);
    free(bytes);
    return check_done("open_source");
}
