/* Opens a model in a bucket or on a web server and reads its first tensor:
 *     remote s3://models/llama/model.safetensors.index.json
 * Links libztensor_remote and libztensor; docs/remote.md. */
#include <stdio.h>
#include <stdlib.h>

#include "ztensor_remote.h"

int main(int argc, char **argv)
{
    zt_file *file = NULL;
    const zt_component *component;
    zt_buffer *bytes = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: remote URL\n");
        return 2;
    }
    if (zt_remote_open(argv[1], NULL, NULL, &file) != ZT_OK) {
        fprintf(stderr, "remote: %s\n", zt_last_error());
        return 1;
    }
    printf("%zu objects in %zu files\n", zt_object_count(file), zt_part_count(file));
    component = zt_component_at(zt_object_at(file, 0), 0);
    if (component && zt_component_load(component, NULL, &bytes) != ZT_OK) {
        fprintf(stderr, "remote: %s\n", zt_last_error());
        zt_close(file);
        return 1;
    }
    if (component)
        printf("%s: %zu bytes read\n", zt_object_name(zt_object_at(file, 0)), zt_buffer_size(bytes));
    zt_buffer_free(bytes);
    zt_close(file);
    return 0;
}
