/* Damaged bytes are not copied under a new digest. Bytes without a digest are counted. */
#include "support.h"

static const char *path, *copy;

/* An npz file with a flipped bit in its data. */
static zt_file *damaged_npz(void)
{
    size_t size;
    unsigned char *bytes = read_file(data_path("foreign/valid/amber-all-stored.npz"), &size);
    zt_file *file = open_data("foreign/valid/amber-all-stored.npz");
    bytes[component_info(zt_component_at(zt_object_at(file, 0), 0)).offset] ^= 1;
    zt_close(file);
    write_file(path, bytes, size);
    free(bytes);
    return open_path(path);
}

static void copies(zt_spec version)
{
    zt_file *from = damaged_npz(), *to;
    const zt_object *object = zt_object_at(from, 0);
    zt_write_options options;
    zt_write_summary summary;
    zt_verify_options wanted;
    zt_verify_report report;
    zt_writer *writer = NULL;
    INIT(options), INIT(summary), INIT(wanted), INIT(report);
    options.spec = version;
    CHECK_STATUS(zt_write_create(copy, &options, &writer), ZT_OK);
    CHECK_STATUS(zt_write_copy(writer, object, NULL), ZT_ERROR_CORRUPT);
    CHECK_STATUS(copy_as(writer, object, NULL, ZT_ENCODING_ZSTD, ZT_DIGEST_SHA256, ZT_DTYPE_OTHER), ZT_ERROR_CORRUPT);
    /* The writer is unchanged. */
    CHECK_STATUS(zt_write_copy(writer, zt_object_at(from, 1), NULL), ZT_OK);
    CHECK_STATUS(zt_write_finish(writer, &summary), ZT_OK);
    CHECK(summary.damaged == 0 && summary.objects == 1);
    options.allow_damaged = 1;
    CHECK_STATUS(zt_write_create(copy, &options, &writer), ZT_OK);
    CHECK_STATUS(copy_named(writer, object, "a"), ZT_OK);
    CHECK_STATUS(copy_as(writer, object, "b", ZT_ENCODING_ZSTD, ZT_DIGEST_DEFAULT, ZT_DTYPE_OTHER), ZT_OK);
    CHECK_STATUS(copy_named(writer, zt_object_at(from, 1), "c"), ZT_OK);
    CHECK_STATUS(zt_write_finish(writer, &summary), ZT_OK);
    CHECK(summary.damaged == 2 && summary.objects == 3);
    to = open_path(copy);
    CHECK(zt_component_digest(component_of(to, "a", "data")) == NULL);
    CHECK(zt_component_digest(component_of(to, "b", "data")) == NULL);
    CHECK_STATUS(verify_component(to, component_of(to, "c", "data")), ZT_OK);
    CHECK_STATUS(zt_verify(to, NULL, &report), ZT_OK);
    CHECK_U64(report.digests_absent, 2);
    CHECK_U64(report.bytes_not_covered,
        component_info(component_of(to, "a", "data")).stored_size + component_info(component_of(to, "b", "data")).stored_size);
    wanted.checks = ZT_VERIFY_REQUIRE_DIGESTS;
    CHECK_STATUS(zt_verify(to, &wanted, NULL), ZT_ERROR_UNSUPPORTED);
    wanted.component = component_of(to, "c", "data");
    CHECK_STATUS(zt_verify(to, &wanted, NULL), ZT_OK);
    zt_close(to);
    zt_close(from);
    options.allow_damaged = 2;
    CHECK_STATUS(zt_write_create(copy, &options, &writer), ZT_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    path = scratch_path("damaged.npz");
    copy = scratch_path("damaged-copy.zt");
    copies(ZT_SPEC_1_1_0);
    copies(ZT_SPEC_1_2_0);
    copies(ZT_SPEC_2);
    remove(path);
    remove(copy);
    return check_done("damaged");
}
