/* Models with files that the caller's functions open; profiles of sources, and error texts of functions. */
#include "support.h"

/* Files in memory, by name, in a folder "m/". */
typedef struct {
    const char *name;
    unsigned char *bytes;
    size_t size;
    uint64_t identity;
    int closed;
    int fails; /* reads fail: 1 without a text, 2 with a text */
} member;

static member members[5];
static int listed;

static zt_status size_of(void *context, uint64_t *size)
{
    *size = ((member *)context)->size;
    return ZT_OK;
}

static zt_status read_at(void *context, uint64_t offset, void *dst, size_t n)
{
    member *m = (member *)context;
    if (m->fails == 2)
        zt_set_last_error("the cable is out");
    if (m->fails)
        return ZT_ERROR_IO;
    if (offset > m->size || n > m->size - offset)
        return ZT_ERROR_LIMIT;
    memcpy(dst, m->bytes + offset, n);
    return ZT_OK;
}

static void close_it(void *context)
{
    ((member *)context)->closed++;
}

static void fill(zt_source *source, member *m)
{
    source->context = m;
    source->size = size_of;
    source->read_at = read_at;
    source->close = close_it;
    source->name = m->name;
    source->identity = m->identity;
}

/* An invalid source is closed nevertheless. */
static zt_status open_without_size(void *context, const char *name, zt_source *source)
{
    (void)context, (void)name;
    fill(source, &members[1]);
    source->struct_size = 7;
    return ZT_OK;
}

/* A source that a failing function fills is not closed by the library. */
static zt_status open_and_fail(void *context, const char *name, zt_source *source)
{
    return open_without_size(context, name, source) == ZT_OK ? ZT_ERROR_TIMEOUT : ZT_ERROR_INTERNAL;
}

static zt_status open_it(void *context, const char *name, zt_source *source)
{
    size_t i;
    CHECK(context == members && source->struct_size == sizeof *source && source->size == NULL);
    for (i = 0; i < COUNT(members) && members[i].name; i++) {
        if (strcmp(members[i].name, name) == 0) {
            fill(source, &members[i]);
            return ZT_OK;
        }
    }
    zt_set_last_error("the bucket has no such object");
    return ZT_ERROR_NO_FILE;
}

static zt_status list(void *context, const char *folder, zt_name_callback add, void *names)
{
    zt_status status = ZT_OK;
    size_t i;
    (void)context;
    if (strcmp(folder, "m") != 0)
        return ZT_ERROR_NOT_FOUND;
    listed++;
    for (i = 0; i < COUNT(members) && members[i].name && status == ZT_OK; i++)
        status = add(names, members[i].name + 2);
    return status;
}

static void load(size_t at, const char *name, const char *path)
{
    members[at].name = name;
    members[at].bytes = read_file(path, &members[at].size);
    members[at].identity = 40 + at;
}

static zt_file *open_from(const zt_store *store, const char *name)
{
    zt_file *file = NULL;
    CHECK_STATUS(zt_open_model_from(store, name, NULL, &file), ZT_OK);
    REQUIRE(file != NULL);
    return file;
}

static uint64_t identity_of(const zt_file *file)
{
    zt_identity identity;
    INIT(identity);
    CHECK_STATUS(zt_file_identity(file, &identity), ZT_OK);
    return identity.source_identity;
}

/* The same objects with the same bytes as the model on disk. */
static void same(const zt_file *file, const char *path)
{
    zt_file *there = NULL;
    size_t i;
    CHECK_STATUS(zt_open_model(path, NULL, &there), ZT_OK);
    REQUIRE(there != NULL && zt_object_count(there) == zt_object_count(file));
    for (i = 0; i < zt_object_count(there); i++) {
        const zt_component *a = zt_component_at(zt_object_at(file, i), 0), *b = zt_component_at(zt_object_at(there, i), 0);
        zt_buffer *x = NULL, *y = NULL;
        CHECK(strcmp(zt_object_name(zt_object_at(file, i)), zt_object_name(zt_object_at(there, i))) == 0);
        CHECK_STATUS(zt_component_load(a, NULL, &x), ZT_OK);
        CHECK_STATUS(zt_component_load(b, NULL, &y), ZT_OK);
        REQUIRE(x != NULL && y != NULL);
        CHECK(zt_buffer_size(x) == zt_buffer_size(y) && memcmp(zt_buffer_data(x), zt_buffer_data(y), zt_buffer_size(x)) == 0);
        zt_buffer_free(x), zt_buffer_free(y);
    }
    CHECK(identity_of(there) == 0);
    zt_close(there);
}

static const char index_path[] = "foreign/valid/amber-hf-sharded/model.safetensors.index.json";

int main(void)
{
    zt_store store;
    zt_file *file;
    uint64_t identity;
    size_t i;
    char path[256];
    INIT(store);
    store.context = members;
    store.open = open_it;
    store.list = list;
    load(0, "m/model.safetensors.index.json", data_path(index_path));
    for (i = 1; i <= 3; i++) {
        static const char *const names[] = {"m/model-00001-of-00003.safetensors", "m/model-00002-of-00003.safetensors",
                                            "m/model-00003-of-00003.safetensors"};
        snprintf(path, sizeof path, "foreign/valid/amber-hf-sharded/%s", names[i - 1] + 2);
        load(i, names[i - 1], data_path(path));
    }

    /* By its index, by one of its files, by the folder; each source is closed once. */
    file = open_from(&store, "m/model.safetensors.index.json");
    CHECK(zt_part_count(file) == 3 && listed == 1 && part_info(file, 0).path == NULL);
    CHECK(members[0].closed == 1 && members[1].closed == 0);
    same(file, data_path(index_path));
    identity = identity_of(file);
    CHECK(identity != 0 && identity != members[1].identity);
    zt_close(file);
    CHECK(members[1].closed == 1 && members[2].closed == 1 && members[3].closed == 1);
    file = open_from(&store, "m/model-00002-of-00003.safetensors");
    CHECK(zt_part_count(file) == 3);
    CHECK(identity_of(file) == identity);
    zt_close(file);
    file = open_from(&store, "m");
    CHECK(listed == 3 && zt_part_count(file) == 3);
    zt_close(file);
    members[3].identity++; /* the object was changed */
    file = open_from(&store, "m");
    CHECK(identity_of(file) != identity);
    zt_close(file);
    store.open = open_without_size;
    members[1].closed = 0;
    file = open_from(&store, "one.safetensors");
    CHECK(zt_part_count(file) == 1);
    zt_close(file);
    CHECK(members[1].closed == 1);
    store.open = open_and_fail;
    CHECK_STATUS(zt_open_model_from(&store, "one.safetensors", NULL, &file), ZT_ERROR_TIMEOUT);
    CHECK(members[1].closed == 1 && file == NULL);
    store.open = open_it;
    store.list = NULL;
    CHECK_STATUS(zt_open_model_from(&store, "m", NULL, &file), ZT_ERROR_NO_FILE);
    store.list = list;

    /* The error text of a function is in the message, after the file's name; without one, a default text
     * is. */
    members[3].name = "m/other";
    CHECK_STATUS(zt_open_model_from(&store, "m/model.safetensors.index.json", NULL, &file), ZT_ERROR_NO_FILE);
    CHECK(strstr(zt_last_error(), "model-00003-of-00003.safetensors: the bucket has no such object") != NULL);
    members[1].fails = 1;
    CHECK_STATUS(zt_open_model_from(&store, "m/model-00001-of-00003.safetensors", NULL, &file), ZT_ERROR_IO);
    CHECK(strstr(zt_last_error(), "zt_source.read_at returned status 2") != NULL);
    members[1].fails = 2;
    {
        zt_source source;
        INIT(source);
        fill(&source, &members[1]);
        CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_ERROR_IO);
        CHECK(strstr(zt_last_error(), members[1].name) != NULL && strstr(zt_last_error(), "the cable is out") != NULL);
        members[1].fails = 1;
        CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_ERROR_IO);
        CHECK(strstr(zt_last_error(), "the cable is out") == NULL);
        /* The same for one source. */
        members[1].fails = 0;
        CHECK_STATUS(zt_open_source(&source, NULL, &file), ZT_OK);
        CHECK(identity_of(file) == members[1].identity);
        zt_close(file);
    }
    zt_set_last_error("by itself");
    CHECK(strcmp(zt_last_error(), "by itself") == 0 && zt_last_os_error() == 0);
    zt_set_last_error(zt_last_error());
    CHECK(strcmp(zt_last_error(), "by itself") == 0);
    {
        static char longer[5000];
        memset(longer, 'x', sizeof longer - 1);
        zt_set_last_error(longer);
        CHECK(strlen(zt_last_error()) >= 2047 && strlen(zt_last_error()) < 2100);
    }
    for (i = 0; i < COUNT(members); i++)
        free(members[i].bytes);
    return check_done("store");
}
