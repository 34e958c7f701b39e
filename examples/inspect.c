/*
 * Lists the objects of a .zt file:
 *
 *     inspect FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <ztensor.h>

/* The name in the file if the library does not know it. */
static const char *name_of(const char *own, const char *known)
{
    return own ? own : known;
}

static void print_component(const zt_component *component)
{
    zt_component_info info = ZT_INIT(zt_component_info);

    if (zt_component_get_info(component, &info) != ZT_OK)
        return;
    printf("    %-14s %s", info.role, name_of(info.dtype_name, zt_dtype_name(info.dtype)));
    if (info.type != ZT_TYPE_NONE)
        printf(" (%s)", name_of(info.type_name, zt_type_name(info.type)));
    printf(", %" PRIu64 " bytes", info.size);
    if (info.encoding != ZT_ENCODING_RAW)
        printf(", %s to %" PRIu64, name_of(info.encoding_name, zt_encoding_name(info.encoding)), info.stored_size);
    if (info.digest)
        printf(", %s", info.digest);
    printf("\n");
}

static void print_object(const zt_object *object)
{
    zt_object_info info = ZT_INIT(zt_object_info);

    if (zt_object_get_info(object, &info) != ZT_OK)
        return;
    /* A name may be any text: do not print it unescaped if the file is untrusted. */
    printf("%s: %s [", info.name, name_of(info.format_name, zt_format_name(info.format)));
    for (size_t i = 0; i < info.rank; i++)
        printf("%s%" PRIu64, i ? ", " : "", info.shape[i]);
    printf("]\n");
    for (size_t i = 0; i < info.component_count; i++)
        print_component(zt_component_at(object, i));
}

int main(int argc, char **argv)
{
    zt_part_info part = ZT_INIT(zt_part_info);
    zt_file *file;

    if (argc != 2) {
        fprintf(stderr, "usage: inspect FILE\n");
        return 2;
    }
    if (zt_open(argv[1], NULL, &file) != ZT_OK || zt_part_get_info(file, 0, &part) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    for (size_t i = 0; i < zt_object_count(file); i++)
        print_object(zt_object_at(file, i));
    printf("%zu objects, %" PRIu64 " bytes, zTensor %s\n", zt_object_count(file), part.size,
           zt_file_version(file));
    zt_close(file);
    return 0;
}
