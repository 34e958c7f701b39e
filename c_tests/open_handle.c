/* Chapter "open": a part of a larger file by a HANDLE of Windows. On other systems the call fails with that
 * message. */
#ifdef _WIN32
#include <windows.h>
#endif

#include "opening.h"

#ifdef _WIN32

static const char name[] = "v1.2/py-1.2.3-all-dtypes.zt";

/* For reading, shared with all processes. */
static HANDLE opened(const char *path, DWORD access, DWORD flags)
{
    const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    HANDLE handle = CreateFileA(path, access, shared, NULL, OPEN_EXISTING, flags, NULL);
    REQUIRE(handle != INVALID_HANDLE_VALUE);
    return handle;
}

static void expect_no_file(HANDLE handle, uint64_t offset, uint64_t length, zt_status want)
{
    zt_file *file = sentinel;
    CHECK_STATUS(zt_open_handle(handle, offset, length, NULL, &file), want);
    CHECK(file == NULL);
}

static LONGLONG position(HANDLE handle)
{
    LARGE_INTEGER none, now;
    none.QuadPart = 0;
    REQUIRE(SetFilePointerEx(handle, none, &now, FILE_CURRENT));
    return now.QuadPart;
}

static void parts(uint64_t offset)
{
    const char *path = scratch_path("container.bin");
    size_t size;
    unsigned char *bytes = read_file(data_path(name), &size), got[60];
    unsigned char *whole = (unsigned char *)malloc((size_t)offset + size + 100);
    const void *ptr = NULL;
    const zt_component *component;
    zt_file *file = NULL;
    HANDLE handle;
    zt_mode mode;
    REQUIRE(whole != NULL);
    memset(whole, 0x5a, (size_t)offset + size + 100);
    memcpy(whole + offset, bytes, size);
    write_file(path, whole, (size_t)offset + size + 100);
    for (mode = ZT_MODE_MAP; mode <= ZT_MODE_PRIVATE; mode++) {
        zt_open_options options;
        INIT(options);
        options.mode = mode;
        handle = opened(path, GENERIC_READ, FILE_ATTRIBUTE_NORMAL);
        CHECK_STATUS(zt_open_handle(handle, offset, size, &options, &file), ZT_OK);
        CHECK(CloseHandle(handle));
        REQUIRE(file != NULL);
        CHECK_U64(file_size(file), size);
        CHECK_U64(zt_object_count(file), 13);
        component = component_of(file, "f32", "data");
        CHECK_U64(component_info(component).offset, 192);
        CHECK_STATUS(zt_component_read(component, got, sizeof got), ZT_OK);
        CHECK(are_elements(got, bytes + 192, 60, 4));
        if (zt_file_mode(file) != ZT_MODE_READ && offset % 4 == 0 && borrows_little_endian(4)) {
            CHECK_STATUS(zt_component_ptr(component, &ptr, NULL), ZT_OK);
            CHECK(is_aligned(ptr, offset % 64 ? (size_t)(offset % 64) : 64) && memcmp(ptr, bytes + 192, 60) == 0);
        } else
            CHECK_STATUS(zt_component_ptr(component, &ptr, NULL), ZT_ERROR_NOT_MAPPABLE);
        CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
        zt_close(file);
    }
    write_file(path, whole, (size_t)offset + size);
    handle = opened(path, GENERIC_READ | GENERIC_WRITE, FILE_ATTRIBUTE_NORMAL);
    CHECK_STATUS(zt_open_handle(handle, offset, ZT_WHOLE, NULL, &file), ZT_OK);
    CHECK_U64(file_size(file), size);
    zt_close(file);
    expect_no_file(handle, offset, size - 1, ZT_ERROR_CORRUPT);
    expect_no_file(handle, offset, size + 1, ZT_ERROR_INVALID_ARGUMENT);
    expect_no_file(handle, offset, 0, ZT_ERROR_UNKNOWN_CONTAINER);
    expect_no_file(handle, offset + size + 1, ZT_WHOLE, ZT_ERROR_INVALID_ARGUMENT);
    expect_no_file(handle, UINT64_MAX, UINT64_MAX, ZT_ERROR_INVALID_ARGUMENT);
    CHECK(position(handle) >= 0); /* the caller's handle is still open */
    CHECK(CloseHandle(handle));
    CHECK(remove(path) == 0);
    free(whole);
    free(bytes);
}

/* Direct reads from an offset that is not a multiple of a sector up to the end of the file, which is not one
 * either. */
static void direct(uint64_t offset)
{
    const char *path = scratch_path("direct.bin");
    size_t size, want_size, i;
    unsigned char *bytes = read_file(data_path("v1.2/rs-1.2.3-1m.zt"), &size);
    unsigned char *whole = (unsigned char *)calloc((size_t)offset + size, 1), *got, *want;
    zt_file *file = NULL;
    HANDLE handle;
    REQUIRE(whole != NULL);
    memcpy(whole + offset, bytes, size);
    write_file(path, whole, (size_t)offset + size);
    handle = opened(path, GENERIC_READ, FILE_ATTRIBUTE_NORMAL);
    CHECK_STATUS(zt_open_handle(handle, offset, ZT_WHOLE, NULL, &file), ZT_OK);
    CHECK(CloseHandle(handle));
    REQUIRE(file != NULL);
    for (i = 0; i < zt_object_count(file); i++) {
        zt_read_request request;
        zt_read_options options;
        zt_read_stats stats;
        zt_status status;
        INIT(request);
        INIT(options);
        INIT(stats);
        want = read_component(zt_component_at(zt_object_at(file, i), 0), &want_size);
        got = (unsigned char *)malloc(want_size + 1);
        REQUIRE(got != NULL);
        request.component = zt_component_at(zt_object_at(file, i), 0);
        request.length = ZT_WHOLE;
        request.dst = got;
        request.dst_size = want_size;
        options.direct = ZT_DIRECT_ALWAYS;
        status = zt_read_batch(file, &request, 1, &options, &stats);
        if (status == ZT_ERROR_UNSUPPORTED)
            printf("open_handle: skipped: direct reads are not supported here\n");
        else if (CHECK_STATUS(status, ZT_OK))
            CHECK(stats.direct == 1 && memcmp(got, want, want_size) == 0);
        free(got);
        free(want);
    }
    zt_close(file);
    CHECK(remove(path) == 0);
    free(whole);
    free(bytes);
}

static void bad_handles(void)
{
    const char *path = scratch_path("bad.zt");
    HANDLE handle, one, other;
    size_t size;
    unsigned char *bytes = read_file(data_path(name), &size);
    write_file(path, bytes, size);
    free(bytes);
    expect_no_file(NULL, 0, ZT_WHOLE, ZT_ERROR_INVALID_ARGUMENT);
    expect_no_file(INVALID_HANDLE_VALUE, 0, ZT_WHOLE, ZT_ERROR_INVALID_ARGUMENT);
    handle = opened(path, GENERIC_READ, FILE_ATTRIBUTE_NORMAL);
    CHECK_STATUS(zt_open_handle(handle, 0, ZT_WHOLE, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(CloseHandle(handle));
    expect_no_file(handle, 0, ZT_WHOLE, ZT_ERROR_IO); /* closed */
    CHECK(zt_last_os_error() == ERROR_INVALID_HANDLE);
    handle = opened(path, GENERIC_READ, FILE_FLAG_OVERLAPPED);
    expect_no_file(handle, 0, ZT_WHOLE, ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "FILE_FLAG_OVERLAPPED") != NULL);
    CHECK(CloseHandle(handle));
    handle = opened(path, GENERIC_READ, FILE_FLAG_NO_BUFFERING);
    expect_no_file(handle, 0, ZT_WHOLE, ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "FILE_FLAG_NO_BUFFERING") != NULL);
    CHECK(CloseHandle(handle));
    handle = opened(path, GENERIC_WRITE, FILE_ATTRIBUTE_NORMAL);
    expect_no_file(handle, 0, ZT_WHOLE, ZT_ERROR_IO); /* not readable */
    CHECK(CloseHandle(handle));
    REQUIRE(CreatePipe(&one, &other, NULL, 0));
    expect_no_file(one, 0, ZT_WHOLE, ZT_ERROR_IO);
    CHECK(CloseHandle(one) && CloseHandle(other));
    handle = CreateEventA(NULL, TRUE, FALSE, NULL);
    REQUIRE(handle != NULL);
    expect_no_file(handle, 0, ZT_WHOLE, ZT_ERROR_IO); /* not a file */
    CHECK(CloseHandle(handle));
    CHECK(remove(path) == 0);
}

int main(void)
{
    zt_file *file = sentinel;
    parts(0);
    parts(64);
    parts(4100);
    parts(70001);
    direct(0);
    direct(12345);
    bad_handles();
    CHECK_STATUS(zt_open_fd(0, 0, ZT_WHOLE, NULL, &file), ZT_ERROR_UNSUPPORTED);
    CHECK(file == NULL && strstr(zt_last_error(), "zt_open_handle") != NULL);
    return check_done("open_handle");
}

#else

int main(void)
{
    int anything;
    zt_file *file = sentinel;
    CHECK_STATUS(zt_open_handle(&anything, 0, ZT_WHOLE, NULL, &file), ZT_ERROR_UNSUPPORTED);
    CHECK(file == NULL && strstr(zt_last_error(), "zt_open_fd") != NULL);
    file = sentinel;
    CHECK_STATUS(zt_open_handle(NULL, 0, ZT_WHOLE, NULL, &file), ZT_ERROR_UNSUPPORTED);
    CHECK(file == NULL);
    CHECK_STATUS(zt_open_handle(&anything, 0, ZT_WHOLE, NULL, NULL), ZT_ERROR_INVALID_ARGUMENT);
    return check_done("open_handle");
}

#endif
