/* PyTorch checkpoints: views of one storage, plain values, checksums, the form before 1.6, errors. */
#include "support.h"

static zt_file *open_in(const char *name, zt_mode mode)
{
    zt_file *file = open_data_mode(name, mode);
    CHECK(part_info(file, 0).container == ZT_CONTAINER_TORCH);
    return file;
}

static const zt_component *data_of(const zt_file *file, const char *name)
{
    const zt_component *data = zt_component_find(zt_object_find(file, name), "data");
    REQUIRE(data != NULL);
    return data;
}

/* Ten tensors of one storage of 6 x 5 floats: rows are borrowed, columns are gathered. */
static void views(zt_mode mode)
{
    zt_file *file = open_in("foreign/valid/amber-shared-views.pt", mode);
    const zt_component *full = data_of(file, "full@amber"), *turned = data_of(file, "transposed@amber");
    const zt_component *diagonal = data_of(file, "diag@amber"), *tail = data_of(file, "tail@amber");
    const uint64_t start[2] = {1, 2}, count[2] = {2, 3};
    const void *bytes = NULL;
    float matrix[30], transposed[30], part[6], diag[5];
    size_t size = 0, i;
    CHECK_STATUS(zt_component_read(full, matrix, sizeof matrix), ZT_OK);
    CHECK_STATUS(zt_component_read(turned, transposed, sizeof transposed), ZT_OK);
    CHECK_STATUS(zt_component_read(diagonal, diag, sizeof diag), ZT_OK);
    for (i = 0; i < 30; i++)
        CHECK(memcmp(&transposed[i % 5 * 6 + i / 5], &matrix[i], sizeof matrix[i]) == 0);
    for (i = 0; i < 5; i++)
        CHECK(memcmp(&diag[i], &matrix[i * 6], sizeof diag[i]) == 0);
    CHECK_STATUS(zt_object_read_slice(zt_object_find(file, "transposed@amber"), start, count, NULL, part, sizeof part), ZT_OK);
    for (i = 0; i < 3; i++)
        CHECK(memcmp(&part[i], &transposed[8 + i], 4) == 0 && memcmp(&part[3 + i], &transposed[14 + i], 4) == 0);
    CHECK_STATUS(zt_component_read_range(turned, 24, part, 8), ZT_OK);
    CHECK(memcmp(part, &transposed[6], 8) == 0);
    CHECK(component_info(tail).offset == component_info(full).offset + 10 * sizeof(float));
    if (mode == ZT_MODE_MAP && borrows_little_endian(4)) {
        CHECK_STATUS(zt_component_ptr(full, &bytes, &size), ZT_OK);
        CHECK(size == sizeof matrix && memcmp(bytes, matrix, size) == 0);
        CHECK_STATUS(zt_component_ptr(turned, &bytes, &size), ZT_ERROR_NOT_MAPPABLE);
        CHECK((zt_component_caps(full) & ZT_CAP_MAP) != 0 && (zt_component_caps(turned) & ZT_CAP_MAP) == 0);
    }
    CHECK((zt_component_caps(full) & ZT_CAP_PAGE_EXCLUSIVE) == 0 && (zt_component_caps(full) & ZT_CAP_VERIFY) != 0);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void plain_values(void)
{
    zt_file *file = open_in("foreign/valid/amber-checkpoint-nested.pt", ZT_MODE_MAP);
    const zt_value *map = zt_file_attributes(file), *items = zt_value_find(map, "optimizer.param_groups.0.params");
    const char *text = NULL;
    uint64_t epoch = 0;
    double rate = 0;
    size_t length = 0;
    CHECK_STATUS(zt_value_get_u64(zt_value_find(map, "epoch"), &epoch), ZT_OK);
    CHECK_STATUS(zt_value_get_f64(zt_value_find(map, "optimizer.param_groups.0.lr"), &rate), ZT_OK);
    CHECK_STATUS(zt_value_get_string(zt_value_find(map, "name"), &text, &length), ZT_OK);
    CHECK(epoch == 3 && is_double(rate, 0.001) && length == 5 && strcmp(text, "run\xc3\xa9") == 0);
    CHECK(zt_value_get_kind(items) == ZT_VALUE_KIND_ARRAY && zt_value_count(items) == 2);
    CHECK(zt_object_find(file, "optimizer.state.0.exp_avg") != NULL);
    zt_close(file);
}

static void other_byte_order(void)
{
    zt_file *file = open_in("foreign/valid/amber-byteorder-big.pt", ZT_MODE_MAP);
    const zt_component *data = data_of(file, "enc.0.norm.gain.27");
    const void *bytes = NULL;
    float floats[25];
    CHECK_STATUS(zt_component_ptr(data, &bytes, NULL), is_big_endian() ? ZT_OK : ZT_ERROR_NOT_MAPPABLE);
    CHECK_STATUS(zt_component_read(data, floats, sizeof floats), ZT_OK);
    zt_close(file);
}

/* It is listed, so that the tensor beside it stays readable. */
static void quantized(void)
{
    zt_file *file = open_in("foreign/invalid/amber-pt-quantised.pt", ZT_MODE_MAP);
    const zt_component *data = data_of(file, "q");
    const void *bytes = NULL;
    unsigned char read[64];
    CHECK(zt_component_dtype(data) == ZT_DTYPE_OTHER && strcmp(dtype_name(data), "torch.quantized") == 0);
    CHECK_STATUS(zt_component_ptr(data, &bytes, NULL), ZT_ERROR_UNSUPPORTED);
    CHECK_STATUS(zt_component_read(data, read, sizeof read), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "torch.quantized") != NULL);
    CHECK_STATUS(zt_component_read(data_of(file, "ok"), read, 8), ZT_OK);
    zt_close(file);
}

/* A sequence of pickles, then storages at any offset: unaligned elements are read, not borrowed. */
static void before_1_6(zt_mode mode)
{
    zt_file *file = open_in("foreign/valid/legacy.pt", mode);
    const void *bytes = NULL;
    float floats[6], part[3];
    int64_t longs[2];
    size_t i, size = 0;
    zt_status status;
    CHECK(zt_object_count(file) == 8);
    CHECK_STATUS(zt_component_read(data_of(file, "a"), floats, sizeof floats), ZT_OK);
    CHECK_STATUS(zt_component_read(data_of(file, "view"), part, sizeof part), ZT_OK);
    CHECK_STATUS(zt_component_read(data_of(file, "b"), longs, sizeof longs), ZT_OK);
    for (i = 0; i < 6; i++)
        CHECK(floats[i] == (float)i);
    CHECK(memcmp(part, floats + 3, sizeof part) == 0 && longs[0] == 1 && longs[1] == -2);
    status = zt_component_ptr(data_of(file, "b"), &bytes, &size);
    CHECK(status == ZT_ERROR_NOT_MAPPABLE || (size == sizeof longs && memcmp(bytes, longs, size) == 0));
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);
}

static void refused(void)
{
    static const struct {
        const char *name;
        zt_status status;
        const char *rule, *part;
    } cases[] = {
        {"foreign/invalid/amber-pt-global-os-system.pt", ZT_ERROR_UNSUPPORTED, "", "os.system"},
        {"foreign/invalid/amber-pt-torchscript.pt", ZT_ERROR_UNSUPPORTED, "", "TorchScript"},
        {"foreign/invalid/amber-pt-legacy-tar.pth", ZT_ERROR_UNSUPPORTED, "", "tar archive"},
        {"foreign/invalid/amber-pt-memo-doubling.pt", ZT_ERROR_LIMIT, "", "ways"},
        {"foreign/invalid/amber-pt-no-stop.pt", ZT_ERROR_CORRUPT, "pickle-syntax", "STOP"},
        {"foreign/invalid/amber-pt-view-last-elem.pt", ZT_ERROR_CORRUPT, "torch-view", "[2, 2]"},
        {"foreign/invalid/amber-pt-storage-missing.pt", ZT_ERROR_CORRUPT, "torch-storage", "enc.0.mlp.up"},
    };
    zt_file *file = NULL;
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        CHECK_STATUS(zt_open(data_path(cases[i].name), NULL, &file), cases[i].status);
        CHECK(file == NULL && strcmp(zt_last_error_rule(), cases[i].rule) == 0);
        CHECK(strstr(zt_last_error(), cases[i].part) != NULL);
    }
    file = open_in("foreign/invalid/amber-pt-storage-crc.pt", ZT_MODE_MAP);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_ERROR_CORRUPT);
    CHECK(strcmp(zt_last_error_rule(), "zip-checksum") == 0);
    zt_close(file);
}

int main(void)
{
    views(ZT_MODE_MAP);
    views(ZT_MODE_READ);
    plain_values();
    other_byte_order();
    quantized();
    before_1_6(ZT_MODE_MAP);
    before_1_6(ZT_MODE_READ);
    refused();
    return check_done("torch");
}
