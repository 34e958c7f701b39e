/* Calls every function that the pages in docs/ show, on files with sparse, quantized and unknown objects:
 *     run OUT FILE...
 * tests/repository/guides/mod.rs puts the blocks of the pages before this text. */

#define CHECK(good) ((good) ? (void)0 : failed(__LINE__, #good))

static const char *current = "";
static size_t loaded_weights;

static void failed(int line, const char *text)
{
    fprintf(stderr, "run.c:%d: %s\n    file: %s\n    last error: %s\n", line, text, current, zt_last_error());
    exit(1);
}

/* The component that the pages load: the first of a dense object whose bytes can be read. */
static const zt_component *dense_data(const zt_object *object)
{
    const zt_component *data = zt_component_find(object, "data");
    return zt_object_format(object) == ZT_FORMAT_DENSE && (zt_component_caps(data) & ZT_CAP_READ) ? data : NULL;
}

/* big_models.md; returns the number of loaded tensors. */
static size_t load(const zt_file *file)
{
    size_t n = zt_object_count(file), loaded = 0;
    void **places = calloc(n + 1, sizeof *places);
    size_t *sizes = calloc(n + 1, sizeof *sizes);
    volatile int stop = 0;
    CHECK(places != NULL && sizes != NULL);
    for (size_t i = 0; i < n; i++) {
        /* Stores every object in a slot, like an engine that only needs sizes. */
        sizes[i] = (size_t)zt_component_size(zt_component_find(zt_object_at(file, i), "data"));
        places[i] = malloc(sizes[i] + 1);
        CHECK(places[i] != NULL);
        memset(places[i], 0xa5, sizes[i] + 1);
    }
    CHECK(load_all(file, places, sizes, &stop) == ZT_OK);
    for (size_t i = 0; i < n; i++) {
        const zt_component *data = dense_data(zt_object_at(file, i));
        if (data != NULL) {
            unsigned char *bytes = malloc(sizes[i] + 1);
            CHECK(bytes != NULL && zt_component_read(data, bytes, sizes[i]) == ZT_OK);
            CHECK(memcmp(bytes, places[i], sizes[i]) == 0);
            CHECK(bytes_of(data, bytes, sizes[i]) != NULL);
            free(bytes);
            loaded++;
        } else {
            for (size_t k = 0; k <= sizes[i]; k++)
                CHECK(((unsigned char *)places[i])[k] == 0xa5);
        }
        free(places[i]);
    }
    free(places);
    free(sizes);
    return loaded;
}

/* quantised.md: numbers read by path equal those read from the object. */
static void load_weight(const zt_file *file, const zt_object *object)
{
    size_t size = 0, written = 0;
    void *numbers = load_bf16(current, zt_object_name(object), &size);
    if (numbers != NULL && zt_object_find(file, zt_object_name(object)) == object) {
        void *again = malloc(size + 1);
        CHECK(again != NULL && zt_object_read_as(object, ZT_DTYPE_BF16, again, size, &written) == ZT_OK);
        CHECK(written == size && memcmp(numbers, again, size) == 0);
        loaded_weights++;
        free(again);
    }
    free(numbers);
}

/* Calls the functions for one object on each; they may succeed or reject it. */
static void look(zt_file *file)
{
    for (size_t i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        const zt_component *data = dense_data(object);
        size_t size = (size_t)zt_component_size(data);
        void *dst = malloc(size + 1);
        CHECK(dst != NULL);
        zt_status status = my_columns(object, 0, 1, dst, size);
        CHECK((status == ZT_OK) == (data != NULL && zt_object_rank(object) == 2));
        free(dst);
        (void)first_weight(file, zt_object_name(object));
        load_weight(file, object);
        CHECK(zt_object_format(object) == ZT_FORMAT_SPARSE_CSR || row_sum(object, 0) == 0);
        CHECK(size_of(file, "no object of this name") == 0);
    }
    list(file);
    for (zt_dtype dtype = ZT_DTYPE_OTHER; dtype <= ZT_DTYPE_BOOL; dtype++)
        (void)bytes_of_dtype(file, dtype);
}

static uint64_t uploaded;

/* streaming.md: sums the received bytes. */
static void upload(uint64_t tag, uint64_t offset, const void *bytes, size_t size)
{
    CHECK(tag == 7 && offset == uploaded && bytes != NULL);
    uploaded += size;
}

static void write_and_read(const char *out)
{
    const float weight[6] = {1, 2, 3, 4, 5, 6}, *vectors[2] = {weight, weight + 2};
    const char *names[2] = {"one", "two"};
    const uint64_t lengths[2] = {2, 4};
    zt_writer *writer;
    zt_file *file;
    current = out;
    CHECK(save(out, weight, 2, 3) == 0);
    CHECK((file = open_or_say(out)) != NULL);
    CHECK(first_weight(file, "weight") == 1);
    CHECK(size_of(file, "weight") == sizeof weight);
    float column[4];
    CHECK(my_columns(zt_object_find(file, "weight"), 1, 3, column, sizeof column) == ZT_OK);
    CHECK(column[0] == 2 && column[1] == 5);
    CHECK(worker(zt_retain(file)) == NULL);
    const zt_read_request expert = {.struct_size = sizeof expert, .component = zt_component_at(zt_object_at(file, 0), 0), .length = ZT_WHOLE};
    const size_t route[3] = {0, 0, 0};
    CHECK(use_experts(&expert, route, 3, 1 << 16, 64) == ZT_OK);
    CHECK(use_experts(&expert, route, 3, 100, 64) == ZT_ERROR_LIMIT);
    zt_read_request request = {.struct_size = sizeof request, .length = ZT_WHOLE, .tag = 7,
                               .component = zt_component_find(zt_object_find(file, "weight"), "data")};
    CHECK(load_streamed(&request, 1, NULL, 65536, 2, upload) == ZT_OK && uploaded == sizeof weight);
    zt_close(file);

    CHECK(zt_write_create(out, NULL, &writer) == ZT_OK);
    CHECK(zt_write_dense(writer, "head", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &lengths[0], 1, weight, 8) == ZT_OK);
    CHECK(zt_write_finish(writer, NULL) == ZT_OK && replace_head(out, weight + 3, 3) == 0);
    CHECK((file = open_or_say(out)) != NULL);
    CHECK(first_weight(file, "head") == 4 && first_weight(file, "head.old") == 1);
    CHECK(zt_value_count(zt_object_attributes(zt_object_find(file, "head.old"))) == 1);
    zt_close(file);

    char base[4096]; /* the shard "base" of out, which is STEM.zt */
    snprintf(base, sizeof base, "%.*s-base.zt", (int)strlen(out) - 3, out);
    zt_write_options of_2 = {.struct_size = sizeof of_2, .spec = ZT_SPEC_2};
    CHECK(zt_write_create(base, &of_2, &writer) == ZT_OK);
    CHECK(zt_write_dense(writer, "one", 0, ZT_DTYPE_F32, ZT_TYPE_NONE, &lengths[0], 1, weight, 8) == ZT_OK);
    CHECK(zt_write_finish(writer, NULL) == ZT_OK && (file = open_or_say(base)) != NULL);
    CHECK(zt_write_create(out, &of_2, &writer) == ZT_OK && overlay(writer, file) == 0);
    zt_close(file);
    CHECK(zt_write_finish(writer, NULL) == ZT_OK && zt_open_model(out, NULL, &file) == ZT_OK);
    CHECK(first_weight(file, "one") == 1 && zt_part_count(file) == 2);
    zt_close(file);
    CHECK(remove(base) == 0);

    FILE *halves = tmpfile();
    CHECK(halves != NULL && fwrite(weight, 2, 12, halves) == 12);
    rewind(halves);
    CHECK(zt_write_create(out, NULL, &writer) == ZT_OK);
    CHECK(save_all(writer, names, vectors, lengths, 2) == 0 && stream(writer, halves, 12) == 0);
    CHECK(zt_write_finish(writer, NULL) == ZT_OK);
    fclose(halves);

    static unsigned char bytes[1 << 16];
    FILE *whole = fopen(out, "rb");
    CHECK(whole != NULL);
    struct blob blob = {bytes, fread(bytes, 1, sizeof bytes, whole)};
    fclose(whole);
    CHECK(open_blob(&blob, &file) == ZT_OK);
    CHECK(zt_object_count(file) == 3 && first_weight(file, "two") == 3 && size_of(file, "embedding") == 24);
    CHECK(load(file) == 3);
    zt_close(file);
}

int main(int argc, char **argv)
{
    size_t loaded = 0, objects = 0, formats[5] = {0};
    CHECK(argc > 2 && is_compatible());
    for (int i = 2; i < argc; i++) {
        zt_file *file = open_or_say(current = argv[i]);
        CHECK(file != NULL && weights_of(current) == 0);
        objects += zt_object_count(file);
        for (size_t k = 0; k < zt_object_count(file); k++)
            formats[zt_object_format(zt_object_at(file, k))]++;
        loaded += load(file);
        look(file);
        zt_close(file);
    }
    CHECK(open_or_say(argv[0]) == NULL);
    int stop = 7;
    CHECK(progress(&stop, 1, 2) == 7);
    write_and_read(argv[1]);
    CHECK(loaded_weights > 100);
    printf("loaded %zu of %zu objects\n", loaded, objects);
    for (int i = 0; i < 5; i++)
        CHECK(formats[i] > 0);
    return loaded > 0 && loaded < objects ? 0 : 1;
}
