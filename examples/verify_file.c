/*
 * Verifies files: every digest, every compressed byte, the structure of sparse and quantized objects.
 *
 *     verify_file FILE...
 */
#include <inttypes.h>
#include <stdio.h>
#include <ztensor.h>

static int verify(const char *path)
{
    zt_verify_report report = ZT_INIT(zt_verify_report);
    zt_file *file;
    zt_status status = zt_open(path, NULL, &file);

    if (status == ZT_OK)
        status = zt_verify(file, NULL, &report);
    zt_close(file); /* accepts NULL, which zt_open stores on failure */
    if (status != ZT_OK) {
        printf("FAILED (%s)\n", zt_status_name(status));
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    printf("ok: %" PRIu64 " objects, %" PRIu64 " bytes, %" PRIu64 " digests verified, %" PRIu64 " absent\n",
           report.objects, report.bytes, report.digests_verified, report.digests_absent);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: verify_file FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        failed |= verify(argv[i]);
    return failed;
}
