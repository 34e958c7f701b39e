/* Writes a compressed tensor, reads it back, and compares a file of an earlier release with its own copy. */
#include <stdio.h>
#include <string.h>
#include <ztensor.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, zt_last_error());
    return 1;
}

static int write_file(const char *path, const zt_object *copied, const int16_t *numbers, size_t size)
{
    const uint64_t shape[2] = {10, 100};
    zt_write_options options;
    zt_copy_options as = ZT_INIT(zt_copy_options);
    zt_writer *writer;

    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.encoding = ZT_ENCODING_ZSTD;
    options.digest = ZT_DIGEST_SHA256;
    if (zt_write_create(path, &options, &writer) != ZT_OK)
        return failed("zt_write_create");
    if (zt_write_dense(writer, "numbers", 0, ZT_DTYPE_I16, ZT_TYPE_NONE, shape, 2, numbers, size) != ZT_OK)
        return failed("zt_write_dense");
    as.name = "copied";
    if (zt_write_copy(writer, copied, &as) != ZT_OK)
        return failed("zt_write_copy");
    if (zt_write_finish(writer, NULL) != ZT_OK)
        return failed("zt_write_finish");
    return 0;
}

int main(int argc, char **argv)
{
    int16_t numbers[1000], back[1000];
    float original[64], copy[64];
    zt_component_info info = ZT_INIT(zt_component_info);
    const zt_component *component;
    const zt_object *object;
    zt_file *old, *written;
    size_t i;

    for (i = 0; i < 1000; i++)
        numbers[i] = (int16_t)(i * i % 97 - 48);
    if (argc != 3 || zt_open(argv[1], NULL, &old) != ZT_OK)
        return failed("zt_open");
    object = zt_object_find(old, "zstd-sha256");
    if (zt_component_read(zt_component_find(object, "data"), original, sizeof original) != ZT_OK)
        return failed("zt_component_read");

    if (write_file(argv[2], object, numbers, sizeof numbers) != 0)
        return 1;
    if (zt_open(argv[2], NULL, &written) != ZT_OK || zt_verify(written, NULL, NULL) != ZT_OK)
        return failed("cannot open the written file");

    component = zt_component_find(zt_object_find(written, "numbers"), "data");
    if (zt_component_get_info(component, &info) != ZT_OK || info.stored_size >= sizeof numbers)
        return failed("not compressed");
    if (zt_component_read(component, back, sizeof back) != ZT_OK || memcmp(numbers, back, sizeof back) != 0)
        return failed("the numbers differ");
    component = zt_component_find(zt_object_find(written, "copied"), "data");
    if (zt_component_read(component, copy, sizeof copy) != ZT_OK || memcmp(original, copy, sizeof copy) != 0)
        return failed("the copy differs");

    zt_close(written);
    zt_close(old);
    return 0;
}
