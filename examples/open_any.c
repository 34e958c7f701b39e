/*
 * Opens any model: .zt, safetensors, GGUF; one file, several files with an index or numbers, or a folder.
 * Lists its tensors and the file of each.
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
    for (size_t i = 0; i < zt_part_count(model); i++) {
        zt_part_info part = ZT_INIT(zt_part_info);
        if (zt_part_get_info(model, i, &part) == ZT_OK)
            printf("%zu: %s, %s, %" PRIu64 " bytes\n", i, part.path, zt_container_name(part.container), part.size);
    }
    for (size_t i = 0; i < zt_object_count(model) && i < shown; i++) {
        zt_tensor tensor = ZT_INIT(zt_tensor);
        zt_component_info info = ZT_INIT(zt_component_info);
        const zt_object *object = zt_object_at(model, i);
        if (zt_tensor_view(object, &tensor) != ZT_OK || zt_component_get_info(zt_component_at(object, 0), &info) != ZT_OK) {
            printf("%s: %s\n", zt_object_name(object), zt_last_error()); /* sparse, or of an unknown type */
            continue;
        }
        printf("%s: %s [", zt_object_name(object), zt_type_name(tensor.type) ? zt_type_name(tensor.type) : zt_dtype_name(tensor.dtype));
        for (size_t d = 0; d < tensor.rank; d++)
            printf("%s%" PRIu64, d ? ", " : "", tensor.shape[d]);
        printf("], %zu bytes of file %u\n", tensor.size, (unsigned)info.part);
    }
    zt_close(model);
    return 0;
}
