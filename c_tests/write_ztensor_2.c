/* zTensor 2 with every call that writes: what is read back, and which calls are rejected with which status
 * and message. */
#include "ztensor_2.h"

/* One object or more with each call. */
static void write_all(zt_writer *w)
{
    static const unsigned char nibbles[2] = {0x21, 0x03}, flags[2] = {1, 0};
    static const uint64_t three = 3, pair = 2;
    zt_write_request batch[3];
    zt_object_desc d = object_desc("object", ZT_FORMAT_OTHER, &three, 1);
    zt_component_desc parts[2];
    CHECK_STATUS(set_i64(w, NULL, "layers", 32), ZT_OK);
    CHECK_STATUS(set_json(w, NULL, "b", "{\"x\":[1.5,null]}"), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "dense", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, two_by_three, 2, numbers, sizeof numbers), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "f4", 0, ZT_DTYPE_U8, ZT_TYPE_F4_E2M1, &three, 1, nibbles, 2), ZT_OK);
    CHECK_STATUS(zt_write_dense(w, "flags", 0, ZT_DTYPE_BOOL, ZT_TYPE_NONE, &pair, 1, flags, 2), ZT_OK);
    batch[0] = request("batch zstd", lines);
    batch[0].encoding = ZT_ENCODING_ZSTD;
    batch[0].digest = ZT_DIGEST_SHA256;
    batch[1] = request("batch none", noise);
    batch[1].digest = ZT_DIGEST_NONE;
    batch[2] = request("batch", noise);
    CHECK_STATUS(zt_write_batch(w, batch, 3), ZT_OK);
    CHECK_STATUS(streamed(w, "streamed", lines, ZT_ENCODING_ZSTD), ZT_OK);
    CHECK_STATUS(zt_write_csr(w, "csr", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, three_by_four, 3, numbers, 12, columns, rows), ZT_OK);
    CHECK_STATUS(zt_write_coo(w, "coo", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, three_by_four, 2, 3, numbers, 12, coords), ZT_OK);
    parts[0] = component_desc("first", ZT_DTYPE_F32, numbers, sizeof numbers);
    parts[1] = component_desc("more", ZT_DTYPE_U8, flags, 2);
    d.format_name = "acme.thing/3";
    d.components = parts;
    d.component_count = 2;
    d.attributes_json = "{\"scale\":0.5}";
    CHECK_STATUS(zt_write_object(w, &d), ZT_OK);
}

/* Codes of 4 bits, two in a byte, in groups of 3 along rows, as a view returns them. */
static void groups_of_codes(void)
{
    static const unsigned char codes[3] = {0x21, 0x43, 0x65}, powers[2] = {127, 128};
    zt_quantized_desc d;
    zt_quantized q;
    zt_file *file;
    zt_writer *w = create(path, spec_2());
    INIT(d);
    d.bits = 4;
    d.group_size = 3;
    d.packed_weight = codes;
    d.packed_weight_size = sizeof codes;
    d.packed_weight_dtype = ZT_DTYPE_U8;
    d.scales = powers;
    d.scales_size = sizeof powers;
    d.scales_dtype = ZT_DTYPE_U8;
    d.scales_type = ZT_TYPE_F8_E8M0;
    d.has_axis = 1;
    d.axis = 1;
    d.zero_point = -8;
    d.msb_first = 1;
    CHECK_STATUS(zt_write_quantized(w, "q", 0, two_by_three, 2, &d), ZT_OK);
    CHECK_STATUS(zt_write_quantized(w, "q", 0, two_by_three, 2, &d), ZT_ERROR_EXISTS);
    d.msb_first = 2;
    refused(zt_write_quantized(w, "r", 0, two_by_three, 2, &d), ZT_ERROR_INVALID_ARGUMENT, "msb_first is 2");
    finish(w);
    file = open_path(path);
    INIT(q);
    CHECK_STATUS(zt_quantized_view(zt_object_find(file, "q"), &q), ZT_OK);
    CHECK(q.bits == 4 && q.group_size == 3 && q.axis == 1 && q.zero_point == -8 && q.msb_first == 1 && q.zeros_packed == 0);
    CHECK(q.weights_per_element == 2 && q.zeros.data == NULL && q.scales.type == ZT_TYPE_F8_E8M0);
    CHECK(q.packed_weight.size == 3 && memcmp(q.packed_weight.data, codes, 3) == 0 && memcmp(q.scales.data, powers, 2) == 0);
    zt_close(file);
    w = create(path, spec_1_2());
    d.msb_first = 1;
    refused(zt_write_quantized(w, "q", 0, two_by_three, 2, &d), ZT_ERROR_UNSUPPORTED, "how its groups are arranged");
    finish(w);
}

static void check_sparse(const zt_file *file)
{
    zt_csr csr;
    zt_coo coo;
    INIT(csr);
    INIT(coo);
    CHECK_STATUS(zt_csr_view(zt_object_find(file, "csr"), &csr), ZT_OK);
    CHECK(csr.rows == 3 && csr.columns == 4 && csr.nnz == 3);
    CHECK_STATUS(zt_coo_view(zt_object_find(file, "coo"), &coo), ZT_OK);
    CHECK(coo.nnz == 3 && coo.rank == 2);
    holds(file, "csr", "values", ZT_ENCODING_RAW, "xxh3:", numbers, 12);
    holds(file, "csr", "indices", ZT_ENCODING_RAW, "xxh3:", columns, sizeof columns);
    holds(file, "csr", "indptr", ZT_ENCODING_RAW, "xxh3:", rows, sizeof rows);
    holds(file, "coo", "values", ZT_ENCODING_RAW, "xxh3:", numbers, 12);
    holds(file, "coo", "coords", ZT_ENCODING_RAW, "xxh3:", coords, sizeof coords);
}

static void check_all(const char *at)
{
    zt_file *file = open_path(at);
    const zt_object *object = zt_object_find(file, "object");
    const zt_value *attributes = zt_file_attributes(file);
    zt_verify_options o;
    int64_t number = 0;
    double scale = 0;
    char json[64];
    size_t needed = 0;
    CHECK(part_info(file, 0).container == ZT_CONTAINER_ZT_2);
    CHECK_U64(zt_object_count(file), 10);
    CHECK_STR(zt_component_digest(component_of(file, "dense", "data")), "xxh3:a6e707ccf7703447");
    holds(file, "dense", "data", ZT_ENCODING_RAW, "xxh3:", numbers, sizeof numbers);
    holds(file, "f4", "data", ZT_ENCODING_RAW, "xxh3:", "\x21\x03", 2);
    CHECK(zt_component_type(component_of(file, "f4", "data")) == ZT_TYPE_F4_E2M1);
    holds(file, "flags", "data", ZT_ENCODING_RAW, "xxh3:", "\1\0", 2);
    CHECK(zt_component_dtype(component_of(file, "flags", "data")) == ZT_DTYPE_BOOL);
    holds(file, "batch zstd", "data", ZT_ENCODING_ZSTD_SEEKABLE, "sha256:", lines, SIZE);
    holds(file, "batch none", "data", ZT_ENCODING_RAW, NULL, noise, SIZE);
    holds(file, "batch", "data", ZT_ENCODING_RAW, "xxh3:", noise, SIZE);
    holds(file, "streamed", "data", ZT_ENCODING_ZSTD_SEEKABLE, "xxh3:", lines, SIZE);
    check_sparse(file);
    CHECK_STR(format_name(object), "acme.thing/3");
    holds(file, "object", "first", ZT_ENCODING_RAW, "xxh3:", numbers, sizeof numbers);
    holds(file, "object", "more", ZT_ENCODING_RAW, "xxh3:", "\1\0", 2);
    CHECK_STATUS(zt_value_get_f64(zt_value_find(zt_object_attributes(object), "scale"), &scale), ZT_OK);
    CHECK(is_double(scale, 0.5));
    CHECK_STATUS(zt_value_get_i64(zt_value_find(zt_object_attributes(zt_object_find(file, "streamed")), "step"), &number), ZT_OK);
    CHECK(number == -7);
    CHECK_STATUS(zt_value_to_json(attributes, json, sizeof json, &needed), ZT_OK);
    CHECK_STR(json, "{\"b\":{\"x\":[1.5,null]},\"layers\":32}"); /* sorted, as the format requires */
    INIT(o);
    o.checks = ZT_VERIFY_DIGESTS | ZT_VERIFY_CONTENTS | ZT_VERIFY_PADDING;
    CHECK_STATUS(zt_verify(file, &o, NULL), ZT_OK);
    zt_close(file);
}

/* A sink gets the same bytes as a file in a folder. */
static zt_status keep(void *context, const void *data, size_t size)
{
    return fwrite(data, 1, size, (FILE *)context) == size ? ZT_OK : ZT_ERROR_IO;
}

static void every_call(void)
{
    zt_write_options o = spec_2();
    zt_write_summary summary;
    zt_writer *w = create(path, o);
    zt_sink sink;
    size_t size, same;
    unsigned char *a, *b;
    INIT(summary);
    write_all(w);
    CHECK_STATUS(zt_write_finish(w, &summary), ZT_OK);
    check_all(path);
    a = read_file(path, &size);
    CHECK_U64(summary.file_size, size);
    CHECK(summary.objects == 10 && summary.components == 14);
    INIT(sink);
    sink.context = fopen(other, "wb");
    REQUIRE(sink.context != NULL);
    sink.write = keep;
    w = NULL;
    REQUIRE(CHECK_STATUS(zt_write_create_sink(&sink, &o, &w), ZT_OK));
    write_all(w);
    finish(w);
    CHECK(fclose((FILE *)sink.context) == 0);
    b = read_file(other, &same);
    CHECK(same == size && memcmp(a, b, size) == 0);
    free(a);
    free(b);
}

/* The old bytes are unchanged, before the added ones. */
static void appended(void)
{
    zt_file *file, *from = open_data("foreign/valid/amber-torch-save.safetensors");
    const char *copy = zt_object_name(zt_object_at(from, 0));
    zt_writer *w = create(path, spec_2());
    zt_write_options o;
    zt_repair_report report;
    zt_attribute two = attribute(ZT_ATTRIBUTE_KIND_F64);
    double scale = 0;
    size_t size, grown, cut;
    unsigned char *old, *now;
    write_all(w);
    finish(w);
    old = read_file(path, &size);
    two.f64 = 2;
    o = spec_2();
    w = NULL;
    CHECK_STATUS(zt_write_append(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL && strstr(zt_last_error(), "an append keeps the version") != NULL);
    INIT(o);
    o.canonical = 1;
    CHECK_STATUS(zt_write_append(path, &o, &w), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(w == NULL && strstr(zt_last_error(), "cannot keep the canonical form") != NULL);
    w = append(path);
    CHECK_STATUS(bytes(w, "unwanted", noise, SIZE), ZT_OK);
    zt_write_abort(w);
    CHECK(file_is(path, old, size));

    w = append(path);
    CHECK_STATUS(bytes(w, "dense", noise, 1), ZT_ERROR_EXISTS);
    CHECK_STATUS(bytes(w, "new", noise, SIZE), ZT_OK);
    CHECK_STATUS(streamed(w, "streamed too", lines, ZT_ENCODING_ZSTD), ZT_OK);
    CHECK_STATUS(zt_write_copy(w, zt_object_at(from, 0), NULL), ZT_OK);
    CHECK_STATUS(zt_write_remove(w, "flags", 0), ZT_OK);
    CHECK_STATUS(zt_write_rename(w, "f4", 0, "renamed", 0), ZT_OK);
    CHECK_STATUS(zt_write_remove(w, "batch", 0), ZT_OK);
    CHECK_STATUS(bytes(w, "batch", lines, 3), ZT_OK);
    CHECK_STATUS(zt_write_attribute(w, "object", 0, "scale", &two), ZT_OK);
    CHECK_STATUS(set_remove(w, NULL, "b"), ZT_OK);
    finish(w);
    now = read_file(path, &grown);
    CHECK(grown > size && memcmp(now, old, size) == 0);
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 12);
    CHECK(zt_object_find(file, "flags") == NULL && zt_object_find(file, "f4") == NULL && zt_object_find(file, copy) != NULL);
    holds(file, "renamed", "data", ZT_ENCODING_RAW, "xxh3:", "\x21\x03", 2);
    holds(file, "batch", "data", ZT_ENCODING_RAW, "xxh3:", lines, 3);
    holds(file, "new", "data", ZT_ENCODING_RAW, "xxh3:", noise, SIZE);
    holds(file, "streamed too", "data", ZT_ENCODING_ZSTD_SEEKABLE, "xxh3:", lines, SIZE);
    CHECK_STATUS(zt_value_get_f64(zt_value_find(zt_object_attributes(zt_object_find(file, "object")), "scale"), &scale), ZT_OK);
    CHECK(is_double(scale, 2));
    CHECK_U64(zt_value_count(zt_file_attributes(file)), 1);
    CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
    zt_close(file);

    /* Truncated anywhere after the old end: rejected until it is repaired. */
    for (cut = size + 1; cut < grown; cut += 1 + (grown - size) / 20) {
        file = NULL;
        write_file(path, now, cut);
        CHECK_STATUS(zt_open(path, NULL, &file), ZT_ERROR_CORRUPT);
        INIT(report);
        CHECK_STATUS(zt_repair(path, NULL, &report), ZT_OK);
        CHECK(report.old_size == cut && report.new_size == size && report.objects == 10);
        CHECK(file_is(path, old, size));
    }
    check_all(path);
    zt_close(from);
    free(old);
    free(now);
}


static void what_2_has_not(void)
{
    static const uint64_t ranks[65] = {0};
    const zt_status unsupported = ZT_ERROR_UNSUPPORTED, invalid = ZT_ERROR_INVALID_ARGUMENT;
    zt_file *from = open_data("v1.2/py-1.2.3-quantized.zt");
    zt_write_options o = spec_2();
    zt_quantized_desc quantized;
    zt_write_request batch[2];
    zt_object_desc d = object_desc("o", ZT_FORMAT_QUANTIZED_GROUP, &of_size, 1);
    zt_component_desc c = component_desc("data", ZT_DTYPE_U8, noise, SIZE);
    zt_writer *w;
    zt_file *file;
    char name[1026];
    o.digest = ZT_DIGEST_CRC32C;
    refused_options(o, unsupported, "crc32c");
    o = spec_2();
    o.frame_size = 32 << 20;
    o.encoding = ZT_ENCODING_ZSTD;
    refused_options(o, unsupported, "frames");
    o = spec_1_2();
    o.canonical = 1;
    refused_options(o, unsupported, "a canonical form");
    o = canonical();
    o.encoding = ZT_ENCODING_ZSTD;
    refused_options(o, invalid, "an encoding is not possible");
    o = canonical();
    o.digest = ZT_DIGEST_SHA256;
    refused_options(o, invalid, "a digest other than xxh3");
    o = canonical();
    o.alignment = 1 << 17;
    refused_options(o, invalid, "an alignment is not possible");
    o = spec_2();
    o.canonical = 2;
    refused_options(o, invalid, "canonical");

    w = create(path, spec_2());
    memset(name, 'n', 1025);
    name[1025] = 0;
    refused(bytes(w, name, noise, 1), unsupported, "1025 bytes; 1 to 1024");
    refused(zt_write_dense(w, "r", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, ranks, 65, NULL, 0), unsupported, "rank is 65, above 64");
    refused(set_remove(w, NULL, "none"), ZT_ERROR_NOT_FOUND, "none");
    refused(set_json(w, NULL, "t", "{\"$tag\":[5,1]}"), unsupported, "has the tag 5");
    refused(set_i64(w, NULL, name, 1), unsupported, "1025 bytes; 1 to 1024");
    batch[0] = request("fine", noise);
    batch[1] = request("digest", noise);
    batch[1].digest = ZT_DIGEST_CRC32C;
    refused(zt_write_batch(w, batch, 2), unsupported, "\"digest\"");
    INIT(quantized);
    quantized.packed_weight_dtype = ZT_DTYPE_U8;
    quantized.scales_dtype = ZT_DTYPE_F32;
    quantized.packed_weight = noise;
    quantized.packed_weight_size = 3;
    quantized.scales = numbers;
    quantized.scales_size = 12;
    refused(zt_write_quantized(w, "q", 0, two_by_three, 2, &quantized), unsupported, "zt.quant_group/1");
    quantized.axis = 1;
    refused(zt_write_quantized(w, "q", 0, two_by_three, 2, &quantized), invalid, "has_axis is 0");
    quantized.has_axis = 1;
    quantized.bits = 3;
    quantized.group_size = 3;
    refused(zt_write_quantized(w, "q", 0, two_by_three, 2, &quantized), unsupported, "codes of 3 bits");
    refused(zt_write_copy(w, zt_object_at(from, 0), NULL), unsupported, "zt.quant_group/1");
    refused(zt_write_begin(w, &d), unsupported, "zt.quant_group/1");
    d.format = ZT_FORMAT_OTHER;
    d.format_name = "thing";
    refused(zt_write_begin(w, &d), unsupported, "not namespace.name/number");
    d.format_name = "acme.thing/1";
    CHECK_STATUS(zt_write_begin(w, &d), ZT_OK);
    c.digest = ZT_DIGEST_CRC32C;
    refused(zt_write_component(w, &c), unsupported, "crc32c");
    c.digest = ZT_DIGEST_DEFAULT;
    CHECK_STATUS(zt_write_component(w, &c), ZT_OK);
    CHECK_STATUS(zt_write_end(w), ZT_OK);
    finish(w); /* nothing from rejected calls is in the file */
    file = open_path(path);
    CHECK_U64(zt_object_count(file), 1);
    CHECK_U64(component_info(component_of(file, "o", "data")).offset, 4096);
    holds(file, "o", "data", ZT_ENCODING_RAW, "xxh3:", noise, SIZE);
    zt_close(file);
    zt_close(from);
}

int main(void)
{
    set_up();
    what_2_has_not();
    every_call();
    groups_of_codes();
    appended();
    CHECK(remove(path) == 0 && remove(other) == 0);
    return check_done("write_ztensor_2");
}
