/*
 * Opens a model, whatever it is: .zt, safetensors, GGUF, one file, many files with an index or with numbers, a folder.
 * Lists its tensors with the file that each is in.
 *
 *     open_any MODEL [TENSORS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ztensor.h>

int main(int argc, char **argv)
{
    zt_file *model;
    size_t shown = argc > 2 ? strtoul(argv[2], NULL, 10) : SIZE_MAX;

    if (argc < 2) {
        fprintf(stderr, "usage: open_any MODEL [TENSORS]\n");
        return 2;
    }
    if (zt_open_model(argv[1], NULL, &model) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    for (size_t i = 0; i < zt_part_count(model); i++)
        printf("%zu: %s, %s, %" PRIu64 " bytes\n", i, zt_part_path(model, i),
               zt_container_name(zt_file_container(model, i)), zt_part_size(model, i));
    for (size_t i = 0; i < zt_object_count(model) && i < shown; i++) {
        zt_tensor tensor = {.struct_size = sizeof tensor};
        const zt_object *object = zt_object_at(model, i);
        if (zt_tensor_view(object, &tensor) != ZT_OK) { /* sparse, or of an unknown type */
            printf("%s: %s\n", zt_object_name(object), zt_object_format_name(object));
            continue;
        }
        printf("%s: %s [", zt_object_name(object), zt_type_name(tensor.type) ? zt_type_name(tensor.type) : zt_dtype_name(tensor.dtype));
        for (size_t d = 0; d < tensor.rank; d++)
            printf("%s%" PRIu64, d ? ", " : "", tensor.shape[d]);
        printf("], %zu bytes of file %zu\n", tensor.size, zt_component_part(zt_component_at(object, 0)));
    }
    zt_close(model);
    return 0;
}
