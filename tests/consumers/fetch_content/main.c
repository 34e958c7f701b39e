/* Iterates over the tensors of a file of version 0.1. */
#include <stdio.h>
#include <string.h>
#include <ztensor.h>

int main(int argc, char **argv)
{
    zt_file *file;
    size_t i;
    unsigned seen = 0;

    if (argc != 2 || zt_open(argv[1], NULL, &file) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    for (i = 0; i < zt_object_count(file); i++) {
        const zt_object *object = zt_object_at(file, i);
        const zt_component *data = zt_component_find(object, "data");
        const void *bytes;
        size_t size;

        if (zt_object_element_count(object) != 15 || zt_component_ptr(data, &bytes, &size) != ZT_OK ||
            size != 15 * zt_dtype_size(zt_component_dtype(data)) ||
            strcmp(zt_object_name(object), zt_dtype_name(zt_component_dtype(data))) != 0) {
            fprintf(stderr, "%s: %s\n", zt_object_name(object), zt_last_error());
            return 1;
        }
        seen |= 1u << zt_component_dtype(data);
    }
    if (strcmp(zt_file_version(file), "0.1.0") != 0 || seen != 0x3ffe) {
        fprintf(stderr, "not all 13 dtypes of a 0.1.0 file: %#x\n", seen);
        return 1;
    }
    zt_close(file);
    return 0;
}
