/* Models of many files with the functions for all files: parts, views, batches, advice, verification. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L /* ftruncate */
#endif
#include <fcntl.h>

#include "advice.h"
#include "support.h"

static zt_file *open_model(const char *name, zt_mode mode, uint32_t threads)
{
    zt_open_options options;
    zt_file *file = NULL;
    INIT(options);
    options.mode = mode;
    options.threads = threads;
    if (!CHECK_STATUS(zt_open_model(data_path(name), &options, &file), ZT_OK))
        fprintf(stderr, "cannot open %s: %s\n", name, zt_last_error());
    REQUIRE(file != NULL);
    return file;
}

static const char split_first[] = "foreign/valid/amber-gguf-split-hand/llm-00001-of-00003.gguf";
static const char index_path[] = "foreign/valid/amber-hf-sharded/model.safetensors.index.json";

/* Each part equals the file that zt_open opens: size, identity, container, and objects with the same
 * bytes. */
static void parts(const char *name, size_t count, zt_mode mode, uint32_t threads)
{
    zt_file *model = open_model(name, mode, threads);
    size_t part, at = 0;
    uint64_t total = 0;
    zt_part_info none;
    CHECK(zt_part_count(model) == count && zt_file_mode(model) == mode);
    for (part = 0; part < count; part++) {
        const char *path = part_info(model, part).path;
        zt_file *alone;
        zt_identity a, b;
        const void *bytes = NULL;
        uint64_t size = 0;
        size_t i;
        REQUIRE(path != NULL);
        alone = open_path(path);
        CHECK(zt_part_count(alone) == 1 && strcmp(part_info(alone, 0).path, path) == 0);
        INIT(a), INIT(b);
        CHECK_STATUS(zt_part_identity(model, part, &a), ZT_OK);
        CHECK_STATUS(zt_file_identity(alone, &b), ZT_OK);
        CHECK(SAME_FROM(size, a, b));
        CHECK(part_info(model, part).size == file_size(alone));
        CHECK(part_info(model, part).container == part_info(alone, 0).container);
        total += file_size(alone);
        CHECK_STATUS(zt_file_bytes(model, part, &bytes, &size), mode == ZT_MODE_READ ? ZT_ERROR_NOT_MAPPABLE : ZT_OK);
        for (i = 0; i < zt_object_count(alone); i++, at++) {
            const zt_object *here = zt_object_at(model, at), *there = zt_object_at(alone, i);
            const zt_component *c = zt_component_find(here, "data"), *d = zt_component_find(there, "data");
            zt_tensor x, y;
            REQUIRE(c != NULL && d != NULL);
            CHECK(strcmp(zt_object_name(here), zt_object_name(there)) == 0);
            CHECK(zt_object_find(model, zt_object_name(there)) == here);
            CHECK(component_info(c).part == part && component_info(d).part == 0);
            CHECK(component_info(c).offset == component_info(d).offset && zt_component_caps(d) >= zt_component_caps(c));
            INIT(x), INIT(y);
            CHECK_STATUS(zt_tensor_view(here, &x), ZT_OK);
            CHECK_STATUS(zt_tensor_view(there, &y), ZT_OK);
            CHECK(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
            if (bytes)
                CHECK(are_elements(y.data, (const char *)bytes + component_info(c).offset, y.size, zt_dtype_size(y.dtype)));
            CHECK_STATUS(zt_component_advise(c, ZT_ADVICE_WILLNEED), takes_advice(ZT_ADVICE_WILLNEED, mode) ? ZT_OK : ZT_ERROR_UNSUPPORTED);
            CHECK_STATUS(verify_object(model, here), ZT_OK);
        }
        zt_close(alone);
    }
    CHECK(at == zt_object_count(model) && total == file_size(model));
    INIT(none);
    CHECK_STATUS(zt_part_get_info(model, count, &none), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(none.path == NULL && none.size == 0);
    {
        const void *bytes = NULL;
        zt_identity identity;
        INIT(identity);
        CHECK_STATUS(zt_file_bytes(model, count, &bytes, NULL), ZT_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zt_part_identity(model, count, &identity), ZT_ERROR_INVALID_ARGUMENT);
        CHECK(strstr(zt_last_error(), "there is no part") != NULL);
        CHECK_STATUS(zt_file_identity(model, &identity), ZT_OK);
        CHECK(identity.size == total);
    }
    zt_close(model);
}

/* One listing and one batch cover all parts. */
static void all_at_once(zt_mode mode)
{
    enum { MOST = 32, SPACE = 4096 };
    static unsigned char space[MOST][SPACE];
    zt_file *model = open_model(index_path, mode, 0);
    zt_component_info infos[MOST];
    zt_read_request requests[MOST];
    zt_verify_report report;
    size_t n = 0, i;
    INIT(infos[0]);
    CHECK_STATUS(zt_component_list(model, NULL, 0, infos, MOST, &n), ZT_OK);
    REQUIRE(n > 3 && n < MOST);
    for (i = 0; i < n; i++) {
        REQUIRE(infos[i].size <= SPACE);
        CHECK(infos[i].part == component_info(infos[i].component).part && (i == 0 || infos[i].part >= infos[i - 1].part));
        INIT(requests[i]);
        requests[i].component = infos[i].component;
        requests[i].length = ZT_WHOLE;
        requests[i].dst = space[i];
        requests[i].dst_size = SPACE;
    }
    CHECK(infos[0].part == 0 && infos[n - 1].part == 2);
    CHECK_STATUS(zt_read_batch(model, requests, n, NULL, NULL), ZT_OK);
    for (i = 0; i < n; i++) {
        zt_tensor tensor;
        INIT(tensor);
        CHECK_STATUS(zt_tensor_view(infos[i].object, &tensor), ZT_OK);
        CHECK(tensor.size == infos[i].size && memcmp(tensor.data, space[i], tensor.size) == 0);
    }
    INIT(report);
    CHECK_STATUS(zt_verify(model, NULL, &report), ZT_OK);
    CHECK(report.objects == zt_object_count(model));
    zt_close(model);
}

/* The parts in any order, including a file of another container. */
static void by_paths(void)
{
    char first[4096], third[4096];
    const char *paths[3];
    zt_open_options options;
    zt_file *file = NULL;
    INIT(options);
    snprintf(first, sizeof first, "%s", data_path("foreign/valid/amber-hf-no-metadata/a.safetensors"));
    snprintf(third, sizeof third, "%s", data_path("v1.2/py-1.2.3-all-dtypes.zt"));
    paths[0] = third, paths[1] = first;
    CHECK_STATUS(zt_open_parts(paths, 2, NULL, &file), ZT_OK);
    REQUIRE(file != NULL);
    CHECK(zt_part_count(file) == 2 && part_info(file, 0).container == ZT_CONTAINER_ZT_1_2);
    CHECK(part_info(file, 1).container == ZT_CONTAINER_SAFETENSORS && strcmp(zt_file_version(file), "1.2.0") == 0);
    zt_close(file);
    /* If a file is given twice, each name is in two parts: the error names both. */
    paths[2] = first;
    CHECK_STATUS(zt_open_parts(paths + 1, 2, NULL, &file), ZT_ERROR_CORRUPT);
    CHECK(file == NULL && strcmp(zt_last_error_rule(), "name-duplicate") == 0);
    CHECK(strstr(zt_last_error(), "is in two parts") != NULL && strstr(zt_last_error(), "a.safetensors") != NULL);
    /* Limits count all parts together. */
    options.max_objects = 3;
    CHECK_STATUS(zt_open_model(data_path(split_first), &options, &file), ZT_ERROR_LIMIT);
    CHECK(strstr(zt_last_error(), "parts together have more than 3 objects") != NULL);
    options.max_objects = 0, options.max_memory = 3000;
    CHECK_STATUS(zt_open_model(data_path(split_first), &options, &file), ZT_ERROR_LIMIT);
    CHECK(strstr(zt_last_error(), "max_memory") != NULL);
    options.max_memory = 0, options.containers = 1u << ZT_CONTAINER_SAFETENSORS;
    CHECK_STATUS(zt_open_model(data_path(split_first), &options, &file), ZT_ERROR_UNSUPPORTED);
    options.containers = 0, options.name = "llama";
    CHECK_STATUS(zt_open_model(data_path("foreign/invalid/amber-set-gguf-part-truncated/m-00001-of-00003.gguf"), &options, &file),
                 ZT_ERROR_CORRUPT);
    CHECK(strncmp(zt_last_error(), "llama: ", 7) == 0 && strstr(zt_last_error(), "m-00002-of-00003.gguf") != NULL);
    /* zt_open opens exactly one file. */
    CHECK_STATUS(zt_open(data_path("foreign/valid/amber-hf-sharded"), NULL, &file), ZT_ERROR_IO);
    CHECK_STATUS(zt_open(data_path(index_path), NULL, &file), ZT_ERROR_UNKNOWN_CONTAINER);
    CHECK_STATUS(zt_open(data_path(split_first), NULL, &file), ZT_OK);
    CHECK(zt_part_count(file) == 1);
    zt_close(file);
    CHECK_STATUS(zt_open_model(data_path("foreign"), NULL, &file), ZT_ERROR_NO_FILE);
    CHECK_STATUS(zt_open_model(data_path("v1.2"), NULL, &file), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(zt_last_error(), "holds several models") != NULL);
    CHECK_STATUS(zt_open_model("no such model", NULL, &file), ZT_ERROR_NO_FILE);
}

/* A part is truncated while the model is open: errors name the part, and the other parts are read. */
static void a_part_is_cut(void)
{
    static unsigned char space[4096];
    char paths[2][4096];
    const char *both[2];
    zt_open_options options;
    zt_file *file = NULL;
    size_t size, i, failed = 0;
    int n, cut;
    for (n = 0; n < 2; n++) {
        unsigned char *bytes = read_file(data_path(n ? "foreign/valid/amber-hf-no-metadata/b.safetensors"
                                                     : "foreign/valid/amber-hf-no-metadata/a.safetensors"), &size);
        snprintf(paths[n], sizeof paths[n], "%s", scratch_path(n ? "cut-b" : "cut-a"));
        write_file(paths[n], bytes, size);
        both[n] = paths[n];
        free(bytes);
    }
    INIT(options);
    options.mode = ZT_MODE_READ;
    CHECK_STATUS(zt_open_parts(both, 2, &options, &file), ZT_OK);
    REQUIRE(file != NULL);
    cut = open(paths[1], O_WRONLY);
    REQUIRE(cut >= 0 && ftruncate(cut, 100) == 0 && close(cut) == 0);
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_component *c = zt_component_at(zt_object_at(file, i), 0);
        const zt_status wanted = component_info(c).part ? ZT_ERROR_IO : ZT_OK;
        CHECK_STATUS(zt_component_read(c, space, sizeof space), wanted);
        if (wanted != ZT_OK) {
            failed++;
            CHECK(strstr(zt_last_error(), "cut-b: object \"") != NULL);
        }
    }
    CHECK(failed > 0 && failed < zt_object_count(file));
    CHECK(zt_verify(file, NULL, NULL) == ZT_OK || strstr(zt_last_error(), "cut-b") != NULL);
    zt_close(file);
    CHECK_STATUS(zt_open_parts(both, 2, &options, &file), ZT_ERROR_CORRUPT);
    CHECK(strstr(zt_last_error(), "cut-b") != NULL);
    remove(paths[1]);
    CHECK_STATUS(zt_open_parts(both, 2, &options, &file), ZT_ERROR_NO_FILE);
    CHECK(strstr(zt_last_error(), "cut-b") != NULL);
    remove(paths[0]);
}

/* Only files can be changed: a model is rejected, for every path that opens it. */
static void is_not_changed(void)
{
    zt_writer *writer = NULL;
    CHECK_STATUS(zt_write_append(data_path("foreign/valid/amber-hf-sharded"), NULL, &writer), ZT_ERROR_IO);
    CHECK_STATUS(zt_write_append(data_path(index_path), NULL, &writer), ZT_ERROR_UNSUPPORTED);
    CHECK(writer == NULL && strstr(zt_last_error(), "a model of several files") != NULL);
    CHECK_STATUS(zt_repair(data_path(index_path), NULL, NULL), ZT_ERROR_UNSUPPORTED);
    CHECK(strstr(zt_last_error(), "a model of several files") != NULL);
}

static int started;

static void on_start(void *context, uint32_t thread)
{
    (void)context;
    (void)thread;
    __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
}

/* The caller's options let several threads open parts. */
static void on_threads(void)
{
    zt_open_options options;
    zt_thread_hooks hooks;
    zt_file *file = NULL;
    INIT(options);
    INIT(hooks);
    hooks.on_start = on_start;
    options.thread_hooks = &hooks;
    options.threads = 1;
    CHECK_STATUS(zt_open_model(data_path(split_first), &options, &file), ZT_OK);
    zt_close(file);
    CHECK(started == 0);
    options.threads = 3;
    CHECK_STATUS(zt_open_model(data_path(split_first), &options, &file), ZT_OK);
    zt_close(file);
    CHECK(started == 2);
}

/* A safetensors file with two tensors of a byte. */
static void write_two(const char *path, const char *a, const char *b)
{
    unsigned char bytes[256] = {0};
    int n = snprintf((char *)bytes + 8, sizeof bytes - 8,
                     "{\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                     "\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                     a, b);
    REQUIRE(n > 0 && n < 240);
    bytes[0] = (unsigned char)n;
    write_file(path, bytes, (size_t)n + 10);
}

static size_t objects_of(const char *path, uint32_t part, uint32_t include_unlisted, uint64_t unlisted)
{
    zt_open_options options;
    zt_model_info info;
    zt_file *file = NULL;
    size_t count;
    INIT(options), INIT(info);
    options.part = part;
    options.include_unlisted = include_unlisted;
    CHECK_STATUS(zt_open_model(path, &options, &file), ZT_OK);
    REQUIRE(file != NULL);
    CHECK_STATUS(zt_model_get_info(file, &info), ZT_OK);
    CHECK(info.unlisted == unlisted && info.passed_over == 0);
    count = zt_object_count(file);
    zt_close(file);
    return count;
}

/* An index beside a part defines the model. Tensors that it omits are counted and can be included. A part can
 * be opened alone. */
static void left_out(void)
{
    char one[512], two[512], index_file[512], index[600];
    const char *name;
    int n;
    snprintf(one, sizeof one, "%s", scratch_path("mc-00001-of-00002.safetensors"));
    snprintf(two, sizeof two, "%s", scratch_path("mc-00002-of-00002.safetensors"));
    snprintf(index_file, sizeof index_file, "%s", scratch_path("mc.safetensors.index.json"));
    name = strrchr(one, '/') ? strrchr(one, '/') + 1 : one;
    n = snprintf(index, sizeof index, "{\"weight_map\": {\"a\": \"%s\"}}", name);
    REQUIRE(n > 0 && n < (int)sizeof index);
    write_two(one, "a", "b");
    write_two(two, "c", "d");
    CHECK(objects_of(one, 0, 0, 0) == 4 && objects_of(two, 1, 0, 0) == 2);
    write_file(index_file, index, (size_t)n);
    CHECK(objects_of(one, 0, 0, 3) == 1 && objects_of(two, 0, 0, 3) == 1 && objects_of(index_file, 0, 0, 3) == 1);
    CHECK(objects_of(two, 0, 1, 0) == 4 && objects_of(two, 1, 1, 0) == 2);
    remove(index_file);
    remove(one);
    {
        zt_file *file = NULL;
        CHECK_STATUS(zt_open_model(two, NULL, &file), ZT_ERROR_NO_FILE);
        CHECK(file == NULL && strstr(zt_last_error(), "mc-00001-of-00002.safetensors") != NULL);
    }
    remove(two);
}

int main(void)
{
    static const zt_mode modes[] = {ZT_MODE_MAP, ZT_MODE_READ, ZT_MODE_PRIVATE};
    size_t i;
    left_out();
    for (i = 0; i < COUNT(modes); i++) {
        parts(split_first, 3, modes[i], 1);
        parts("foreign/valid/amber-gguf-split-py", 3, modes[i], 4);
        parts("foreign/valid/amber-gguf-split-empty-first/efamber-00003-of-00003.gguf", 3, modes[i], 0);
        parts(index_path, 3, modes[i], 2);
        parts("foreign/valid/amber-hf-no-metadata", 2, modes[i], 0);
        all_at_once(modes[i]);
    }
    by_paths();
    a_part_is_cut();
    is_not_changed();
    on_threads();
    return check_done("model");
}
