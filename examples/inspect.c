/*
 * Lists what a .zt file holds:
 *
 *     inspect FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <ztensor.h>

static void print_component(const zt_component *component)
{
    printf("    %-14s %s", zt_component_role(component), zt_component_dtype_name(component));
    if (zt_component_type_name(component))
        printf(" (%s)", zt_component_type_name(component));
    printf(", %" PRIu64 " bytes", zt_component_size(component));
    if (zt_component_encoding(component) != ZT_ENCODING_RAW)
        printf(", %s to %" PRIu64, zt_component_encoding_name(component), zt_component_stored_size(component));
    if (zt_component_digest(component))
        printf(", %s", zt_component_digest(component));
    printf("\n");
}

static void print_object(const zt_object *object)
{
    const uint64_t *shape = zt_object_shape(object);

    /* A name may be any text: print it with care where it may come from a stranger. */
    printf("%s: %s [", zt_object_name(object), zt_object_format_name(object));
    for (size_t i = 0; i < zt_object_rank(object); i++)
        printf("%s%" PRIu64, i ? ", " : "", shape[i]);
    printf("]\n");
    for (size_t i = 0; i < zt_component_count(object); i++)
        print_component(zt_component_at(object, i));
}

int main(int argc, char **argv)
{
    zt_file *file;

    if (argc != 2) {
        fprintf(stderr, "usage: inspect FILE\n");
        return 2;
    }
    if (zt_open(argv[1], NULL, &file) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    for (size_t i = 0; i < zt_object_count(file); i++)
        print_object(zt_object_at(file, i));
    printf("%zu objects, %" PRIu64 " bytes, zTensor %s\n", zt_object_count(file), zt_file_size(file),
           zt_file_version(file));
    zt_close(file);
    return 0;
}
