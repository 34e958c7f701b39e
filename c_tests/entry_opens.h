/* Scenes of entry_points.h that open files and models, and read them. */
#ifndef ENTRY_OPENS_H
#define ENTRY_OPENS_H

#include "entry_reads.h"

static zt_status entry_open_and_read(const char *path, zt_mode mode)
{
    zt_open_options options;
    zt_file *file = NULL;
    zt_status status;
    INIT(options);
    options.mode = mode;
    TRY(zt_open(path, &options, &file));
    zt_close(zt_retain(file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_mapped(void) { return entry_open_and_read(entry_good, ZT_MODE_MAP); }
static zt_status read_positioned(void) { return entry_open_and_read(entry_good, ZT_MODE_READ); }

static zt_status read_memory(void)
{
    zt_file *file = NULL;
    zt_status status;
    TRY(zt_open_memory(entry_bytes, entry_size, NULL, &file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

static zt_status entry_parts(const zt_file *file)
{
    zt_status status;
    size_t i;
    for (i = 0; i < zt_part_count(file); i++) {
        zt_identity identity;
        INIT(identity);
        TRY(zt_part_identity(file, i, &identity));
        if (part_info(file, i).path == NULL || part_info(file, i).size != identity.size)
            return ZT_ERROR_INTERNAL;
    }
    {
        zt_model_info info;
        INIT(info);
        TRY(zt_model_get_info(file, &info));
    }
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *o = zt_object_at(file, i);
        const zt_component *c = zt_component_at(o, 0);
        if (zt_object_find(file, zt_object_name(o)) != o || component_info(c).part >= zt_part_count(file))
            return ZT_ERROR_INTERNAL;
        TRY(zt_component_read(c, entry_buffer, sizeof entry_buffer));
    }
    TRY(zt_verify(file, NULL, NULL));
end:
    return status;
}

static zt_status entry_model(const char *path, uint32_t threads)
{
    zt_file *file = NULL;
    zt_open_options options;
    zt_status status;
    INIT(options);
    options.threads = threads;
    TRY(zt_open_model(path, &options, &file));
    TRY(entry_parts(file));
end:
    zt_close(file);
    return status;
}

static zt_status open_a_model(void) { return entry_model(data_path("foreign/valid/amber-hf-sharded"), 1); }
static zt_status open_a_split(void)
{
    return entry_model(data_path("foreign/valid/amber-gguf-split-hand/llm-00002-of-00003.gguf"), 2);
}
static zt_status open_without_a_part(void)
{
    return entry_model(data_path("foreign/invalid/amber-set-hf-missing-shard"), 1);
}

/* A shard is opened at the first read of its bytes. */
static zt_status read_shards(void)
{
    zt_file *file = NULL;
    zt_tensor tensor;
    zt_status status;
    TRY(zt_open_model(data_path("v2/real/rs-sharded-xxh3.zt"), NULL, &file));
    TRY(zt_component_read(zt_component_at(zt_object_find(file, "blk.0.k"), 0), entry_buffer, sizeof entry_buffer));
    INIT(tensor);
    TRY(zt_tensor_find(file, "blk.1.k", &tensor));
    TRY(entry_parts(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_stored_arrays(void) { return entry_model(data_path("foreign/valid/amber-fortran.npz"), 1); }
static zt_status read_deflated_arrays(void) { return entry_model(data_path("foreign/valid/amber-all-deflated.npz"), 1); }
static zt_status read_a_checkpoint(void) { return entry_model(data_path("foreign/valid/amber-shared-views.pt"), 1); }
static zt_status refuse_an_archive(void) { return entry_model(data_path("foreign/invalid/amber-npz-zip-crc-differ.npz"), 1); }
static zt_status refuse_a_pickle(void) { return entry_model(data_path("foreign/invalid/amber-pt-global-os-system.pt"), 1); }

static zt_status open_parts(void)
{
    const char *paths[2];
    zt_file *file = NULL;
    zt_status status;
    paths[0] = entry_good;
    paths[1] = data_path("v1.1/oracle-object-attributes.zt");
    TRY(zt_open_parts(paths, 2, NULL, &file));
    TRY(entry_metadata(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_descriptor(void)
{
    zt_file *file = NULL;
    zt_status status;
    int fd = open(entry_good, O_RDONLY);
    TRY(zt_open_fd(fd, 0, ZT_WHOLE, NULL, &file));
    TRY(entry_metadata(file));
end:
    zt_close(file);
    if (fd >= 0)
        close(fd);
    return status;
}

static int entry_source_calls; /* before the source fails */

static zt_status entry_source_size(void *context, uint64_t *size)
{
    (void)context;
    *size = entry_size;
    return ZT_OK;
}

static zt_status entry_source_read(void *context, uint64_t offset, void *dst, size_t n)
{
    (void)context;
    memcpy(dst, entry_bytes + offset, n);
    return __atomic_sub_fetch(&entry_source_calls, 1, __ATOMIC_RELAXED) < 0 ? ZT_ERROR_IO : ZT_OK;
}

static zt_status entry_source(int calls)
{
    zt_file *file = NULL;
    zt_source source;
    zt_status status;
    INIT(source);
    source.size = entry_source_size, source.read_at = entry_source_read;
    entry_source_calls = calls;
    TRY(zt_open_source(&source, NULL, &file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

/* A model of three parts, by name, and one that does not exist. */
static zt_status entry_store_open(void *context, const char *name, zt_source *source)
{
    (void)context;
    if (strcmp(name, "good") != 0) {
        zt_set_last_error("no such file");
        return ZT_ERROR_NO_FILE;
    }
    source->size = entry_source_size, source->read_at = entry_source_read;
    source->name = "good";
    return ZT_OK;
}

static zt_status entry_store_list(void *context, const char *folder, zt_name_callback add, void *names)
{
    (void)context;
    return folder[0] ? ZT_ERROR_NOT_FOUND : add(names, "missing.zt");
}

static zt_status entry_store(const char *name)
{
    zt_file *file = NULL;
    zt_store store;
    zt_status status;
    INIT(store);
    store.open = entry_store_open, store.list = entry_store_list;
    entry_source_calls = 1 << 30;
    TRY(zt_open_model_from(&store, name, NULL, &file));
    TRY(entry_read(file));
end:
    zt_close(file);
    return status;
}

static zt_status read_store(void) { return entry_store("good"); }
static zt_status open_a_listed_file_that_is_not_there(void) { return entry_store(""); }
static zt_status read_source(void) { return entry_source(1 << 30); }
static zt_status source_that_fails(void) { return entry_source(1); }
static zt_status source_that_fails_later(void) { return entry_source(4); }

/* Opens a file, with all checks on. */
static zt_status entry_open(const char *path)
{
    zt_open_options options;
    zt_file *file = NULL;
    zt_status status;
    INIT(options);
    options.strict = 1, options.verify = 1;
    status = zt_open(path, &options, &file);
    zt_close(file);
    return status;
}

static zt_status open_missing(void) { return entry_open(entry_long); }
static zt_status open_a_folder(void) { return entry_open(entry_folder); }
static zt_status open_a_cut_file(void) { return entry_open(entry_cut); }
static zt_status open_the_torn(void) { return entry_open(entry_torn); }
static zt_status open_the_damaged(void) { return entry_open(entry_damaged); }
static zt_status open_the_corrupt(void) { return entry_open(data_path("invalid/cbor-truncated-map.zt")); }
static zt_status open_0_1(void) { return entry_open(data_path("v0.1/py-0.1.4-all-dtypes.zt")); }
static zt_status open_1_0(void) { return entry_open(data_path("v1.0/oracle-attributes.zt")); }
static zt_status open_1_1(void) { return entry_open(data_path("v1.1/oracle-object-attributes.zt")); }
static zt_status open_many(void) { return entry_open(data_path("v1.2/py-1.2.3-1000.zt")); }

static zt_status open_no_descriptor(void)
{
    zt_file *file = NULL;
    return zt_open_fd(9999, 0, ZT_WHOLE, NULL, &file);
}

static zt_status open_no_handle(void)
{
    zt_file *file = NULL;
    return zt_open_handle(NULL, 0, ZT_WHOLE, NULL, &file);
}

static zt_status read_the_damaged(void)
{
    zt_file *file = NULL;
    zt_status status;
    TRY(zt_open(entry_damaged, NULL, &file));
    TRY(entry_views(file));
    status = zt_verify(file, NULL, NULL);
end:
    zt_close(file);
    return status;
}

static zt_status ask_for_what_is_not_there(void)
{
    zt_file *file = NULL;
    zt_tensor tensor;
    zt_status status;
    INIT(tensor);
    TRY(zt_open(entry_good, NULL, &file));
    if ((status = zt_csr_view(zt_object_find(file, "coo"), (zt_csr *)NULL)) != ZT_ERROR_INVALID_ARGUMENT)
        goto end;
    if ((status = zt_component_read(zt_component_find(zt_object_find(file, "plain"), "data"), entry_buffer, 3)) != ZT_ERROR_BUFFER_SIZE)
        goto end;
    status = zt_tensor_find(file, "nothing of that name", &tensor);
end:
    zt_close(file);
    return status;
}

#endif
