/* Verifies a file with digests of both kinds. */
#include <stdio.h>
#include <string.h>
#include <ztensor.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, zt_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    zt_file *file;
    zt_tensor t;
    zt_verify_report report;

    if (argc != 2 || zt_open(argv[1], NULL, &file) != ZT_OK)
        return failed("zt_open");

    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    if (zt_tensor_find(file, "raw-crc32c", &t) != ZT_OK)
        return failed("zt_tensor_find");
    if (t.dtype != ZT_DTYPE_F32 || t.rank != 1 || t.shape[0] != 64 || t.size != 256)
        return failed("raw-crc32c is not 64 floats");

    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    if (zt_verify(file, NULL, &report) != ZT_OK)
        return failed("zt_verify");
    if (report.objects != 7 || report.digests_verified != 5 || report.digests_absent != 2)
        return failed("not 5 digests in 7 objects");

    zt_close(file);
    return 0;
}
