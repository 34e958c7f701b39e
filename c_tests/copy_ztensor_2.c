/* Copies to zTensor 2: from zTensor 1.2 and back, from safetensors, and in canonical form. */
#include "ztensor_2.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(zt_object_name(*(const zt_object *const *)a), zt_object_name(*(const zt_object *const *)b));
}

/* Copies all objects in the order of their names. */
static void copy_all(const zt_file *from, zt_writer *w, zt_encoding encoding)
{
    const zt_object *objects[64];
    size_t i, count = zt_object_count(from);
    REQUIRE(count <= COUNT(objects));
    for (i = 0; i < count; i++)
        objects[i] = zt_object_at(from, i);
    qsort((void *)objects, count, sizeof objects[0], by_name);
    CHECK_STATUS(zt_write_copy_attributes(w, from), ZT_OK);
    for (i = 0; i < count; i++)
        if (encoding == ZT_ENCODING_DEFAULT)
            CHECK_STATUS(zt_write_copy(w, objects[i], NULL), ZT_OK);
        else
            CHECK_STATUS(copy_as(w, objects[i], NULL, encoding, ZT_DIGEST_XXH3, ZT_DTYPE_OTHER), ZT_OK);
    finish(w);
}

/* The same values in a file of zTensor 2, with its digests; and back. */
static void copied(const char *name, zt_encoding encoding)
{
    zt_file *from = open_data(name), *to;
    size_t i, c;
    copy_all(from, create(path, spec_2()), encoding);
    to = open_path(path);
    CHECK(part_info(to, 0).container == ZT_CONTAINER_ZT_2);
    CHECK_U64(zt_object_count(to), zt_object_count(from));
    for (i = 0; i < zt_object_count(from); i++) {
        const zt_object *a = zt_object_at(from, i), *b = zt_object_find(to, zt_object_name(a));
        CHECK_STR(format_name(b), format_name(a));
        for (c = 0; c < zt_component_count(a); c++) {
            const zt_component *old = zt_component_at(a, c), *now = zt_component_find(b, zt_component_role(old));
            const char *digest = zt_component_digest(old);
            zt_encoding stored = encoding ? encoding : zt_component_encoding(old);
            size_t size;
            unsigned char *bytes = read_component(old, &size);
            CHECK_STR(dtype_name(now), dtype_name(old));
            digest = encoding || !digest || strncmp(digest, "crc32c:", 7) == 0 ? "xxh3:" : "sha256:";
            holds(to, zt_object_name(a), zt_component_role(old), stored == ZT_ENCODING_ZSTD ? ZT_ENCODING_ZSTD_SEEKABLE : stored, digest,
                bytes, size);
            free(bytes);
        }
    }
    zt_close(from);
    copy_all(to, create(other, spec_1_2()), ZT_ENCODING_DEFAULT);
    zt_close(to);
    to = open_path(other);
    CHECK_STR(zt_file_version(to), "1.2.0");
    CHECK_STATUS(zt_verify(to, NULL, NULL), ZT_OK);
    zt_close(to);
}

/* Three objects, two with the same bytes, one call for each. */
static void write_canonical(zt_writer *w)
{
    CHECK_STATUS(bytes(w, "a", lines, SIZE), ZT_OK);
    CHECK_STATUS(bytes(w, "b", lines, SIZE), ZT_OK);
    CHECK_STATUS(bytes(w, "c", noise, SIZE), ZT_OK);
}

static void canonical_form(void)
{
    const char *release = "v2/real/release-2.1.2-canonical.zt";
    zt_writer *w = create(path, canonical());
    zt_write_request batch[3];
    zt_file *file;
    size_t size;
    unsigned char *wanted;
    write_canonical(w);
    finish(w);
    wanted = read_file(path, &size);
    file = open_path(path);
    CHECK_U64(component_info(component_of(file, "a", "data")).offset, 65536);
    CHECK_U64(component_info(component_of(file, "b", "data")).offset, 65536);
    CHECK_U64(component_info(component_of(file, "c", "data")).offset, 131072);
    holds(file, "b", "data", ZT_ENCODING_RAW, "xxh3:", lines, SIZE);
    copy_all(file, create(other, canonical()), ZT_ENCODING_DEFAULT);
    CHECK(file_is(other, wanted, size));
    copy_all(file, create(other, spec_2()), ZT_ENCODING_ZSTD);
    zt_close(file);
    CHECK(!file_is(other, wanted, size));
    file = open_path(other);
    copy_all(file, create(path, canonical()), ZT_ENCODING_DEFAULT);
    zt_close(file);
    CHECK(file_is(path, wanted, size));
    batch[0] = request("a", lines);
    batch[1] = request("b", lines);
    batch[2] = request("c", noise);
    w = create(path, canonical());
    CHECK_STATUS(zt_write_batch(w, batch, 3), ZT_OK);
    finish(w);
    CHECK(file_is(path, wanted, size));
    free(wanted);
    wanted = read_file(data_path(release), &size);
    file = open_data(release);
    copy_all(file, create(path, canonical()), ZT_ENCODING_DEFAULT);
    zt_close(file);
    CHECK(file_is(path, wanted, size));
    free(wanted);
}

static void what_canonical_form_has_not(void)
{
    zt_writer *w = create(path, canonical());
    zt_write_request batch[2];
    size_t size;
    unsigned char *wanted;
    CHECK_STATUS(bytes(w, "a", lines, SIZE), ZT_OK);
    refused(bytes(w, "A", noise, 1), ZT_ERROR_INVALID_ARGUMENT, "comes after \"a\"");
    refused(bytes(w, "e\xcc\x81", noise, 1), ZT_ERROR_INVALID_ARGUMENT, "normal form C");
    batch[0] = request("y", noise);
    batch[1] = request("x", noise);
    refused(zt_write_batch(w, batch, 2), ZT_ERROR_INVALID_ARGUMENT, "comes after \"y\"");
    batch[1] = request("z", noise);
    batch[1].digest = ZT_DIGEST_NONE;
    refused(zt_write_batch(w, batch, 2), ZT_ERROR_INVALID_ARGUMENT, "xxh3 digest");
    batch[1] = request("z", noise);
    batch[1].encoding = ZT_ENCODING_ZSTD;
    refused(zt_write_batch(w, batch, 2), ZT_ERROR_INVALID_ARGUMENT, "it has to be raw");
    CHECK_STATUS(bytes(w, "b", lines, SIZE), ZT_OK);
    CHECK_STATUS(bytes(w, "c", noise, SIZE), ZT_OK);
    finish(w);
    wanted = read_file(path, &size);
    w = create(path, canonical());
    write_canonical(w);
    finish(w);
    CHECK(file_is(path, wanted, size)); /* as if the rejected calls had not been made */
    free(wanted);
    w = create(other, canonical());
    CHECK_STATUS(streamed(w, "a", lines, ZT_ENCODING_DEFAULT), ZT_OK);
    refused(streamed(w, "b", lines, ZT_ENCODING_DEFAULT), ZT_ERROR_UNSUPPORTED, "give the bytes in one call");
    zt_write_abort(w);
}

int main(void)
{
    set_up();
    copied("v1.2/py-1.2.3-digests.zt", ZT_ENCODING_DEFAULT);
    copied("v1.2/py-1.2.3-zstd.zt", ZT_ENCODING_DEFAULT);
    copied("v1.2/py-1.2.3-digests.zt", ZT_ENCODING_ZSTD);
    copied("foreign/valid/amber-torch-save.safetensors", ZT_ENCODING_DEFAULT);
    copied("foreign/valid/amber-torch-save.safetensors", ZT_ENCODING_ZSTD);
    canonical_form();
    what_canonical_form_has_not();
    CHECK(remove(path) == 0 && remove(other) == 0);
    return check_done("copy_ztensor_2");
}
