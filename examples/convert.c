/*
 * Copies a file of any container that the library opens (safetensors, GGUF, .zt of any version, ...) into a .zt file, as
 * `zt convert IN OUT.zt` does; `zt convert OUT.zt BACK` converts it back to GGUF or safetensors.
 *
 *     convert IN OUT [zstd]
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <ztensor_advanced.h>

static zt_status copy_all(zt_writer *writer, const zt_file *file, zt_encoding encoding)
{
    zt_copy_options options = ZT_INIT(zt_copy_options);

    /* The file's attributes, and what is needed to convert it back. */
    zt_status status = zt_write_copy_attributes(writer, file);

    /* Copies the stored bytes, or decodes and rewrites them if an option asks for it. */
    options.encoding = encoding, options.digest = ZT_DIGEST_CRC32C;
    for (size_t i = 0; status == ZT_OK && i < zt_object_count(file); i++)
        status = zt_write_copy(writer, zt_object_at(file, i), &options);
    return status;
}

int main(int argc, char **argv)
{
    zt_write_summary summary = ZT_INIT(zt_write_summary);
    zt_file *file;
    zt_writer *writer = NULL;
    zt_status status;

    if (argc != 3 && !(argc == 4 && strcmp(argv[3], "zstd") == 0)) {
        fprintf(stderr, "usage: convert IN OUT [zstd]\n");
        return 2;
    }
    status = zt_open(argv[1], NULL, &file);
    if (status == ZT_OK)
        status = zt_write_create(argv[2], NULL, &writer);
    if (status == ZT_OK)
        status = copy_all(writer, file, argc == 4 ? ZT_ENCODING_ZSTD : ZT_ENCODING_DEFAULT);
    if (status == ZT_OK) {
        status = zt_write_finish(writer, &summary); /* frees the writer, even if it fails */
        writer = NULL;
    }
    if (status == ZT_OK)
        printf("%s: %" PRIu64 " objects, file of %" PRIu64 " bytes\n", argv[2], summary.objects, summary.file_size);
    else
        fprintf(stderr, "%s\n", zt_last_error());
    zt_write_abort(writer); /* the file at OUT does not change */
    zt_close(file);
    return status != ZT_OK;
}
