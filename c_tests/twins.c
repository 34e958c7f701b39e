/* Variants of functions: for an object, for stored bytes, for all failures of a file, and for names in
 * messages. */
#include "support.h"

static unsigned failures, of_components;
static const zt_file *verified;
static char first_message[4096];

static int32_t on_failure(void *context, const zt_object *object, const zt_component *component, zt_status status,
                          const char *message)
{
    int *stop = (int *)context;
    CHECK(object != NULL && zt_object_find(verified, zt_object_name(object)) == object);
    CHECK(status == ZT_ERROR_DIGEST_MISMATCH && message[0] != '\0');
    of_components += component != NULL && zt_component_find(object, zt_component_role(component)) == component;
    if (failures++ == 0)
        snprintf(first_message, sizeof first_message, "%s", message);
    return *stop;
}

/* Three objects with digests; the first and the last are damaged. */
static void all_failures_in_one_call(void)
{
    const char *path = scratch_path("damaged.zt");
    static const char *const names[3] = {"a", "b", "c"};
    static unsigned char data[1000];
    const uint64_t count = sizeof data;
    zt_write_options how;
    zt_verify_options options;
    zt_verify_report report;
    zt_writer *w = NULL;
    zt_file *file;
    unsigned char *bytes;
    size_t size, i;
    int stop = 0;
    uint32_t threads;
    INIT(how), INIT(options), INIT(report);
    how.digest = ZT_DIGEST_SHA256;
    REQUIRE(zt_write_create(path, &how, &w) == ZT_OK);
    for (i = 0; i < 3; i++)
        CHECK_STATUS(zt_write_dense(w, names[i], 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &count, 1, data, sizeof data), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    file = open_path(path);
    bytes = read_file(path, &size);
    bytes[component_info(component_of(file, "a", "data")).offset] ^= 1;
    bytes[component_info(component_of(file, "c", "data")).offset] ^= 1;
    zt_close(file);
    write_file(path, bytes, size);
    free(bytes);
    verified = file = open_path(path);
    options.on_failure = on_failure, options.context = &stop;
    for (threads = 1; threads <= 3; threads += 2) {
        options.threads = threads;
        failures = of_components = 0;
        CHECK_STATUS(zt_verify(file, &options, &report), ZT_ERROR_DIGEST_MISMATCH);
        CHECK(failures == 2 && of_components == 2 && report.objects == 1 && report.digests_verified == 1);
        CHECK(strstr(zt_last_error(), "\"a\"") != NULL); /* the first in file order */
    }
    CHECK(strstr(first_message, path) != NULL);
    stop = 1, failures = 0, options.threads = 1;
    CHECK_STATUS(zt_verify(file, &options, NULL), ZT_ERROR_DIGEST_MISMATCH);
    CHECK(failures == 1);
    CHECK_STATUS(verify_object(file, zt_object_find(file, "a")), ZT_ERROR_DIGEST_MISMATCH);
    CHECK_STATUS(verify_object(file, zt_object_find(file, "b")), ZT_OK);
    zt_close(file);
    remove(path);
}

/* Stored bytes can be read even if they cannot be decoded. */
static void stored_bytes(void)
{
    zt_file *file = open_data("invalid/encoding-lz4.zt");
    const zt_component *c = zt_component_at(zt_object_at(file, 0), 0);
    size_t size, stored = (size_t)component_info(c).stored_size;
    unsigned char *bytes = read_file(data_path("invalid/encoding-lz4.zt"), &size), *got = (unsigned char *)malloc(stored + 1);
    uint64_t measured = 7;
    REQUIRE(got != NULL && stored > 0);
    got[stored] = 0xa5;
    CHECK_STATUS(zt_component_read(c, got, stored), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_component_read_stored(c, got, stored + 1), ZT_OK);
    CHECK(memcmp(got, bytes + component_info(c).offset, stored) == 0 && got[stored] == 0xa5);
    CHECK_STATUS(zt_component_read_stored(c, got, stored - 1), ZT_ERROR_BUFFER_SIZE);
    CHECK_STATUS(zt_component_measure(c, NULL, NULL, &measured), ZT_ERROR_UNSUPPORTED);
    CHECK(measured == 7);
    free(got), free(bytes);
    zt_close(file);
}

/* The getter does not compute a size that the manifest does not declare. */
static void sizes_that_are_unknown(void)
{
    zt_file *file = open_data("v1.1/rs-1.1.1-sparse-zstd-digest.zt");
    size_t i, j, unknown = 0;
    for (i = 0; i < zt_object_count(file); i++)
        for (j = 0; j < zt_component_count(zt_object_at(file, i)); j++) {
            const zt_component *c = zt_component_at(zt_object_at(file, i), j);
            uint64_t size = 0;
            unknown += zt_component_size(c) == ZT_UNKNOWN_SIZE;
            CHECK_STATUS(zt_component_measure(c, NULL, NULL, &size), ZT_OK);
            CHECK_U64(zt_component_size(c), size); /* now it is known */
        }
    CHECK(unknown > 0);
    CHECK(zt_component_size(NULL) == 0);
    zt_close(file);
}

typedef struct { uint64_t done, total; unsigned calls, most; } asked;

static int32_t ask(void *context, uint64_t done, uint64_t total)
{
    asked *a = (asked *)context;
    CHECK(done >= a->done && done <= total && (a->total == 0 || a->total == total));
    a->done = done, a->total = total;
    return ++a->calls > a->most;
}

/* Decoding to compute a size reports progress, can be stopped, and can be started again. */
static void sizes_that_are_decoded(void)
{
    zt_file *file = open_data("v1.1/rs-1.1.1-sparse-zstd-digest.zt");
    unsigned decoded = 0;
    size_t i, j;
    for (i = 0; i < zt_object_count(file); i++)
        for (j = 0; j < zt_component_count(zt_object_at(file, i)); j++) {
            const zt_component *c = zt_component_at(zt_object_at(file, i), j);
            asked stop = {0, 0, 0, 0}, watch = {0, 0, 0, 1000000};
            uint64_t size = 7;
            const zt_status status = zt_component_measure(c, ask, &stop, &size);
            if (stop.calls == 0)
                continue;
            CHECK_U64(status, ZT_ERROR_CANCELLED);
            CHECK(stop.calls == 1 && size == 7 && zt_component_size(c) == ZT_UNKNOWN_SIZE);
            CHECK_STATUS(zt_component_measure(c, ask, &watch, &size), ZT_OK);
            CHECK(watch.calls > 0 && watch.total == component_info(c).stored_size);
            CHECK_U64(zt_component_size(c), size);
            CHECK_STATUS(zt_component_measure(c, ask, &watch, &size), ZT_OK);
            decoded++;
        }
    CHECK(decoded > 0);
    zt_close(file);
}

static void names_and_identities(void)
{
    size_t size;
    unsigned char *bytes = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &size);
    zt_identity a, b;
    zt_open_options options;
    zt_file *mapped = open_data("v1.2/py-1.2.3-all-dtypes.zt"), *file = NULL;
    INIT(a), INIT(b), INIT(options);
    options.name = "model inside app.apk";
    CHECK_STATUS(zt_open_memory(bytes, 3, &options, &file), ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK(strstr(zt_last_error(), "model inside app.apk") != NULL);
    REQUIRE(zt_open_memory(bytes, size, &options, &file) == ZT_OK);
    CHECK_STATUS(verify_component(file, component_of(file, "f32", "data")), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "model inside app.apk") != NULL);
    CHECK_STATUS(zt_file_identity(mapped, &a), ZT_OK);
    CHECK_STATUS(zt_file_identity(file, &b), ZT_OK);
    CHECK(a.size == size && a.manifest_hash == b.manifest_hash && a.manifest_offset == b.manifest_offset && a.manifest_hash);
    CHECK(a.modified_ns > 0 && b.modified_ns == 0);
    zt_close(file);
    zt_close(mapped);
    free(bytes);
    options.name = "\xff";
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-empty.zt"), &options, &file), ZT_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    stored_bytes();
    sizes_that_are_unknown();
    sizes_that_are_decoded();
    all_failures_in_one_call();
    names_and_identities();
    return check_done("twins");
}
