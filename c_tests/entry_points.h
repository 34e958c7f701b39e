/* Calls every function of the headers as an application does, in scenes that succeed and in scenes that fail.
 * Used by tests of general guarantees (memory, stack). A scene only needs the files that entry_files() makes,
 * and returns its final status. tests/repository/header compares all entry_*.h with the headers. */
#ifndef ENTRY_POINTS_H
#define ENTRY_POINTS_H

#include "entry_opens.h"
#include "entry_writes.h"

static zt_status names_of_numbers(void)
{
    zt_dtype dtype;
    zt_type type;
    zt_status status;
    int32_t number;
    (void)zt_abi_version();
    (void)zt_last_os_error();
    (void)(zt_version() && zt_last_error() && zt_last_error_rule() && zt_status_name(ZT_OK));
    (void)(zt_dtype_name(ZT_DTYPE_F32) && zt_type_name(ZT_TYPE_COMPLEX64) && zt_format_name(ZT_FORMAT_DENSE) &&
           zt_encoding_name(ZT_ENCODING_RAW));
    TRY(zt_dtype_from_name("f32", &dtype));
    TRY(zt_type_from_name("complex64", &type));
    TRY(zt_type_block(type, NULL, NULL));
    TRY(zt_type_from_ggml(2, &dtype, &type));
    TRY(zt_type_ggml(dtype, type, &number));
    status = zt_dtype_from_name("no such dtype", &dtype);
end:
    return status;
}

static const struct entry_scene {
    const char *name;
    zt_status (*run)(void);
    zt_status status; /* its final status */
} entry_scenes[] = {
#define SCENE(name, status) {#name, name, status}
    SCENE(names_of_numbers, ZT_ERROR_NOT_FOUND), SCENE(open_missing, ZT_ERROR_NO_FILE), SCENE(open_a_folder, ZT_ERROR_IO),
    SCENE(open_a_cut_file, ZT_ERROR_CORRUPT), SCENE(open_the_torn, ZT_ERROR_CORRUPT),
    SCENE(open_the_damaged, ZT_ERROR_DIGEST_MISMATCH), SCENE(open_the_corrupt, ZT_ERROR_CORRUPT),
    SCENE(open_0_1, ZT_OK), SCENE(open_1_0, ZT_OK), SCENE(open_1_1, ZT_OK), SCENE(open_many, ZT_OK),
    SCENE(open_a_model, ZT_OK), SCENE(open_a_split, ZT_OK), SCENE(open_without_a_part, ZT_ERROR_NO_FILE),
    SCENE(read_shards, ZT_OK),
    SCENE(read_stored_arrays, ZT_OK), SCENE(read_deflated_arrays, ZT_OK), SCENE(read_a_checkpoint, ZT_OK),
    SCENE(refuse_an_archive, ZT_ERROR_CORRUPT), SCENE(refuse_a_pickle, ZT_ERROR_UNSUPPORTED),
    SCENE(open_parts, ZT_OK), SCENE(open_no_descriptor, ZT_ERROR_IO), SCENE(open_no_handle, ZT_ERROR_UNSUPPORTED),
    SCENE(read_mapped, ZT_OK), SCENE(read_positioned, ZT_OK),
    SCENE(read_memory, ZT_OK), SCENE(read_descriptor, ZT_OK), SCENE(read_source, ZT_OK), SCENE(read_store, ZT_OK),
    SCENE(open_a_listed_file_that_is_not_there, ZT_ERROR_NO_FILE),
    SCENE(source_that_fails, ZT_ERROR_IO), SCENE(source_that_fails_later, ZT_ERROR_IO),
    SCENE(read_the_damaged, ZT_ERROR_DIGEST_MISMATCH), SCENE(ask_for_what_is_not_there, ZT_ERROR_NOT_FOUND),
    SCENE(share_dlpack, ZT_OK), SCENE(write_raw, ZT_OK), SCENE(write_hashed, ZT_OK), SCENE(write_zstd, ZT_OK),
    SCENE(write_threads, ZT_OK), SCENE(write_durable, ZT_OK), SCENE(write_nowhere, ZT_ERROR_NO_FILE),
    SCENE(write_on_a_folder, ZT_ERROR_IO), SCENE(write_what_is_refused, ZT_ERROR_EXISTS),
    SCENE(nest_attributes, ZT_OK), SCENE(sink_tensors, ZT_OK), SCENE(sink_that_fails, ZT_ERROR_IO), SCENE(copy_tensors, ZT_OK),
    SCENE(link_objects, ZT_ERROR_EXISTS),
    SCENE(append_tensors, ZT_OK), SCENE(edit_objects, ZT_OK), SCENE(append_to_nothing, ZT_ERROR_NO_FILE), SCENE(append_to_a_cut_file, ZT_ERROR_CORRUPT),
    SCENE(append_to_0_1, ZT_ERROR_UNSUPPORTED), SCENE(repair_good, ZT_OK), SCENE(repair_torn, ZT_OK),
    SCENE(repair_nothing, ZT_ERROR_NO_FILE), SCENE(repair_a_cut_file, ZT_ERROR_CORRUPT),
#undef SCENE
};

/* Restores the target before a scene. */
static inline void entry_reset(void)
{
    size_t size;
    unsigned char *bytes = read_file(entry_old, &size);
    write_file(entry_target, bytes, size);
    free(bytes);
}

/* Sets the paths, in any process. */
static inline void entry_begin(const char *name)
{
    size_t i;
    snprintf(entry_folder, sizeof entry_folder, "%s", scratch_path(name));
    REQUIRE(mkdir(entry_folder, 0700) == 0);
    snprintf(entry_good, sizeof entry_good, "%s/good.zt", entry_folder);
    snprintf(entry_damaged, sizeof entry_damaged, "%s/damaged.zt", entry_folder);
    snprintf(entry_cut, sizeof entry_cut, "%s/cut.zt", entry_folder);
    snprintf(entry_old, sizeof entry_old, "%s/old.zt", entry_folder);
    snprintf(entry_torn, sizeof entry_torn, "%s/torn.zt", entry_folder);
    snprintf(entry_target, sizeof entry_target, "%s/target.zt", entry_folder);
    snprintf(entry_long, sizeof entry_long, "%.3000s/missing/%0500d.zt", entry_folder, 0);
    entry_long[strlen(entry_folder) + 9 + 200] = '/'; /* a file name cannot have 500 bytes */
    entry_long[strlen(entry_folder) + 9 + 400] = '/';
    for (i = 0; i < ENTRY_BIG; i++)
        entry_data[i] = (unsigned char)((i * i) >> 11 & 1);
}

/* Makes the files with the library. */
static inline void entry_files(void)
{
    unsigned char *now;
    size_t old_size, now_size, at;
    zt_file *file;
    REQUIRE(entry_create(entry_good, ZT_ENCODING_RAW, ZT_DIGEST_CRC32C, 1, 0) == ZT_OK);
    REQUIRE(entry_create(entry_old, ZT_ENCODING_RAW, ZT_DIGEST_NONE, 1, 0) == ZT_OK);
    file = open_path(entry_good);
    at = (size_t)component_info(component_of(file, "plain", "data")).offset;
    zt_close(file);
    now = read_file(entry_good, &now_size);
    write_file(entry_cut, now, now_size / 2);
    now[at + 7] ^= 2;
    write_file(entry_damaged, now, now_size);
    free(now);
    now = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &old_size);
    write_file(entry_old, now, old_size);
    entry_reset();
    REQUIRE(append_tensors() == ZT_OK);
    free(now);
    {
        unsigned char *old = read_file(entry_old, &old_size);
        now = read_file(entry_target, &now_size);
        memcpy(now, old, old_size); /* the old end is not cleared yet */
        write_file(entry_torn, now, now_size - 5);
        free(old), free(now);
    }
    entry_reset();
}

static inline void entry_read_good(void)
{
    entry_bytes = read_file(entry_good, &entry_size);
}

static inline void entry_end(void)
{
    free(entry_bytes);
    remove(entry_good), remove(entry_damaged), remove(entry_cut), remove(entry_old), remove(entry_torn);
    remove(entry_target);
    CHECK(rmdir(entry_folder) == 0);
}

#endif
