/* Reads a sparse matrix from a file that was written in three steps. */
#include <stdio.h>
#include <string.h>
#include <ztensor_advanced.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, zt_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    zt_file *file;
    zt_csr m;
    float first;

    if (argc != 2 || zt_open(argv[1], NULL, &file) != ZT_OK)
        return failed("zt_open");
    if (strcmp(zt_file_version(file), "1.2.0") != 0 || zt_object_count(file) != 4)
        return failed("not a 1.2.0 file of 4 objects");

    memset(&m, 0, sizeof m);
    m.struct_size = sizeof m;
    if (zt_csr_view(zt_object_find(file, "d"), &m) != ZT_OK)
        return failed("zt_csr_view");
    if (m.rows != 3 || m.columns != 3 || m.nnz != 3 || m.values.dtype != ZT_DTYPE_F32)
        return failed("d is not 3 x 3 with 3 entries");
    memcpy(&first, m.values.data, sizeof first);
    if (first < 0.931434f || first > 0.931435f)
        return failed("its first value is wrong");

    zt_close(file);
    return 0;
}
