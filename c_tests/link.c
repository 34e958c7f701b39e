/* Objects whose bytes stay in shards: what a writer of zTensor 2 links, and what it rejects. */
#include "ztensor_2.h"

static const char *base, *root;

static zt_file *open_root(void)
{
    zt_file *file = NULL;
    REQUIRE(CHECK_STATUS(zt_open_model(root, NULL, &file), ZT_OK));
    return file;
}

static void write_base(void)
{
    zt_writer *w = create(base, spec_2());
    CHECK_STATUS(bytes(w, "noise", noise, SIZE), ZT_OK);
    CHECK_STATUS(streamed(w, "lines", lines, ZT_ENCODING_ZSTD), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, three_by_four, 3, numbers, 12, columns, rows), ZT_OK);
    finish(w);
}

static void links_are_read_from_their_shard(void)
{
    zt_file *shard = open_path(base), *file;
    zt_writer *w = create(root, spec_2());
    zt_verify_options o;
    zt_csr csr;
    size_t i, size;
    CHECK_STATUS(bytes(w, "own", lines, 100), ZT_OK);
    CHECK_STATUS(zt_write_shard(w, "base", 0, shard), ZT_OK);
    for (i = 0; i < zt_object_count(shard); i++)
        CHECK_STATUS(zt_write_link(w, zt_object_at(shard, i), NULL, 0), ZT_OK);
    CHECK_STATUS(zt_write_link(w, zt_object_find(shard, "noise"), "again and more", 5), ZT_OK);
    zt_close(shard); /* not needed after its objects are linked */
    finish(w);
    free(read_file(root, &size));
    CHECK(size < SIZE); /* the root does not contain those bytes */
    file = open_root();
    CHECK(zt_object_count(file) == 5 && zt_part_count(file) == 2);
    holds(file, "own", "data", ZT_ENCODING_RAW, "xxh3:", lines, 100);
    holds(file, "noise", "data", ZT_ENCODING_RAW, "xxh3:", noise, SIZE);
    holds(file, "again", "data", ZT_ENCODING_RAW, "xxh3:", noise, SIZE);
    holds(file, "lines", "data", ZT_ENCODING_ZSTD_SEEKABLE, "xxh3:", lines, SIZE);
    CHECK(component_info(component_of(file, "own", "data")).part == 0 && component_info(component_of(file, "noise", "data")).part == 1);
    CHECK(zt_value_find(zt_object_attributes(zt_object_find(file, "lines")), "step") != NULL);
    INIT(csr);
    CHECK_STATUS(zt_csr_view(zt_object_find(file, "csr"), &csr), ZT_OK);
    INIT(o);
    o.checks = ZT_VERIFY_SHARDS;
    CHECK_STATUS(zt_verify(file, &o, NULL), ZT_OK);
    zt_close(file);
}

static void what_is_no_shard_is_refused(void)
{
    zt_file *shard = open_path(base), *same = open_path(base), *file = open_data("v1.2/py-1.2.3-sparse.zt"), *linked;
    const zt_object *object = zt_object_find(shard, "noise");
    zt_writer *w = create(root, spec_2());
    zt_object_desc d = object_desc("open", ZT_FORMAT_DENSE, &of_size, 1);
    refused(zt_write_link(w, object, NULL, 0), ZT_ERROR_INVALID_ARGUMENT, "\"noise\": its file was not made a shard");
    refused(zt_write_shard(w, "../base", 0, shard), ZT_ERROR_UNSUPPORTED, "../base");
    CHECK_STR(zt_last_error_rule(), "ShardName");
    refused(zt_write_shard(w, "base", 0, file), ZT_ERROR_UNSUPPORTED, "needs shards of the same container");
    CHECK_STATUS(zt_write_shard(w, "base\0and more", 4, shard), ZT_OK);
    refused(zt_write_shard(w, "base", 0, shard), ZT_ERROR_EXISTS, "base");
    refused(zt_write_link(w, zt_object_find(same, "noise"), NULL, 0), ZT_ERROR_INVALID_ARGUMENT, "was not made a shard");
    CHECK_STATUS(zt_write_link(w, object, NULL, 0), ZT_OK);
    refused(zt_write_link(w, object, NULL, 0), ZT_ERROR_EXISTS, "noise");
    CHECK_STATUS(zt_write_begin(w, &d), ZT_OK);
    refused(zt_write_link(w, object, "more", 0), ZT_ERROR_STATE, "open");
    refused(zt_write_shard(w, "more", 0, same), ZT_ERROR_STATE, "open");
    zt_write_abort(w);

    w = create(other, spec_1_2());
    refused(zt_write_shard(w, "base", 0, shard), ZT_ERROR_UNSUPPORTED, "spec 1.2.0 cannot represent shards");
    zt_write_abort(w);
    w = create(other, canonical());
    refused(zt_write_shard(w, "base", 0, shard), ZT_ERROR_INVALID_ARGUMENT, "canonical form has no shards");
    zt_write_abort(w);
    w = append(base);
    refused(zt_write_shard(w, "base", 0, shard), ZT_ERROR_UNSUPPORTED, "new file");
    zt_write_abort(w);

    linked = open_root(); /* the root of links_are_read_from_their_shard */
    w = create(other, spec_2());
    CHECK_STATUS(zt_write_shard(w, "root", 0, linked), ZT_OK);
    refused(zt_write_link(w, zt_object_find(linked, "noise"), NULL, 0), ZT_ERROR_UNSUPPORTED, "shards of shards");
    CHECK_STATUS(zt_write_link(w, zt_object_find(linked, "own"), NULL, 0), ZT_OK);
    zt_write_abort(w);
    zt_close(linked);
    zt_close(file);
    zt_close(same);
    zt_close(shard);
}

int main(void)
{
    char at_base[4096];
    set_up();
    snprintf(at_base, sizeof at_base, "%s", scratch_path("ztensor_2-base.zt"));
    base = at_base;
    root = path; /* readers look for shards beside it */
    write_base();
    links_are_read_from_their_shard();
    what_is_no_shard_is_refused();
    CHECK(remove(base) == 0 && remove(path) == 0);
    return check_done("link");
}
