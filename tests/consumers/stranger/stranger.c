/* A user's first program: opens a model and reads its tensors. */
#include <stdio.h>
#include <ztensor.h>

int main(int argc, char **argv)
{
    zt_file *file;
    if (argc != 2 || zt_open(argv[1], NULL, &file) != ZT_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? zt_last_error() : "usage: stranger MODEL");
        return 1;
    }
    for (size_t i = 0; i < zt_object_count(file); i++) {
        zt_tensor tensor = ZT_INIT(zt_tensor);
        if (zt_tensor_view(zt_object_at(file, i), &tensor) == ZT_OK)
            printf("%s: %lu bytes\n", zt_object_name(zt_object_at(file, i)), (unsigned long)tensor.size);
    }
    printf("%lu objects\n", (unsigned long)zt_object_count(file));
    zt_close(file);
    return 0;
}
