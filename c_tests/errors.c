/* Error details beside the status: the message, the system's number, the rule, and the message of a
 * request. */
#include <errno.h>

#include "support.h"

static char seen_message[4096];
static unsigned seen_failures, seen_done;

static void numbers_of_the_system(void)
{
    zt_file *file = NULL;
    CHECK(zt_last_os_error() == 0);
    CHECK_STR(zt_last_error_rule(), "");
    CHECK_STATUS(zt_open(scratch_path("missing.zt"), NULL, &file), ZT_ERROR_NO_FILE);
    CHECK(zt_last_os_error() == ENOENT);
    CHECK_STR(zt_last_error_rule(), "");
    CHECK_STATUS(zt_open(data_path("v1.2/py-1.2.3-empty.zt/x"), NULL, &file), ZT_ERROR_IO);
    CHECK(zt_last_os_error() == ENOTDIR);
    CHECK_STATUS(zt_open_fd(9999, 0, 0, NULL, &file), ZT_ERROR_IO);
    CHECK(zt_last_os_error() == EBADF);
    file = open_data("v1.2/py-1.2.3-empty.zt");
    CHECK(zt_last_os_error() == EBADF); /* success does not change it */
    CHECK_STATUS(zt_open(NULL, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(zt_last_os_error() == 0);
    zt_close(file);
}

static void names_of_rules(void)
{
    zt_file *file = NULL;
    CHECK_STATUS(zt_open(data_path("invalid/trailing-zeros.zt"), NULL, &file), ZT_ERROR_CORRUPT);
    CHECK_STR(zt_last_error_rule(), "unfinished-append");
    CHECK_STATUS(zt_open(data_path("invalid/cbor-huge-name-2-60.zt"), NULL, &file), ZT_ERROR_CORRUPT);
    CHECK_STR(zt_last_error_rule(), "cbor-malformed");
    CHECK(zt_last_os_error() == 0);
    CHECK_STATUS(zt_open(NULL, NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STR(zt_last_error_rule(), "");
}

static void on_done(void *context, uint64_t tag, zt_status status, const char *message)
{
    CHECK(context == seen_message && tag == 7);
    seen_done += status == ZT_OK;
    if (status == ZT_OK) {
        CHECK_STR(message, "");
        return;
    }
    seen_failures++;
    snprintf(seen_message, sizeof seen_message, "%s", message);
}

/* A request that fails on a thread of the library reports its message. */
static void messages_of_requests(void)
{
    zt_file *file = open_data("v1.2/py-1.2.3-all-dtypes.zt");
    static unsigned char space[4096];
    zt_read_request request;
    zt_read_options options;
    INIT(request), INIT(options);
    request.component = component_of(file, "f32", "data"), request.tag = 7, request.length = ZT_WHOLE;
    request.dst = space, request.dst_size = sizeof space;
    options.on_done = on_done, options.context = seen_message, options.threads = 2;
    CHECK_STATUS(zt_read_batch(file, &request, 1, &options, NULL), ZT_OK);
    CHECK(seen_done == 1 && seen_failures == 0);
    request.dst_size = 1;
    CHECK_STATUS(zt_read_batch(file, &request, 1, &options, NULL), ZT_ERROR_BUFFER_SIZE);
    CHECK(seen_failures == 0 || strstr(zt_last_error(), seen_message) != NULL);
    zt_close(file);
}

static void a_request_that_is_cut(void)
{
    const char *path = scratch_path("cut.zt");
    const uint64_t count = 100000;
    static unsigned char data[100000];
    zt_open_options options;
    zt_read_request request;
    zt_read_options how;
    zt_writer *w = NULL;
    zt_file *file = NULL;
    REQUIRE(zt_write_create(path, NULL, &w) == ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "a", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &count, 1, data, sizeof data), ZT_OK);
    CHECK_STATUS(zt_write_finish(w, NULL), ZT_OK);
    INIT(options), INIT(request), INIT(how);
    options.mode = ZT_MODE_READ;
    REQUIRE(zt_open(path, &options, &file) == ZT_OK);
    write_file(path, data, 1000);
    request.component = component_of(file, "a", "data"), request.tag = 7, request.length = ZT_WHOLE;
    request.dst = data, request.dst_size = sizeof data;
    how.on_done = on_done, how.context = seen_message, seen_failures = 0, seen_message[0] = '\0';
    CHECK_STATUS(zt_read_batch(file, &request, 1, &how, NULL), ZT_ERROR_IO);
    CHECK(seen_failures == 1);
    CHECK(seen_message[0] != '\0' && strstr(seen_message, "cut.zt") != NULL);
    zt_close(file);
    remove(path);
}

int main(void)
{
    numbers_of_the_system(); /* first, because nothing has failed yet */
    names_of_rules();
    messages_of_requests();
    a_request_that_is_cut();
    return check_done("errors");
}
