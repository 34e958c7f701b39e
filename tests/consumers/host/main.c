/*
 * A host with its own zstd and another Rust library. It decodes zstd through libztensor, unwinds in both Rust
 * libraries, and checks that its own zstd is still used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <ztensor.h>

unsigned ZSTD_versionNumber(void);
#ifdef WITH_RUST
int host_unwinds(void);
int zt_test_unwinds(void);
#endif

int main(int argc, char **argv)
{
    zt_file *file;
    unsigned least, version = ZSTD_versionNumber();

    if (argc != 3 || zt_open(argv[1], NULL, &file) != ZT_OK || zt_verify(file, NULL, NULL) != ZT_OK) {
        fprintf(stderr, "%s\n", zt_last_error());
        return 1;
    }
    zt_close(file);

    least = (unsigned)atoi(argv[2]); /* the imitation has version 1, which no real zstd has */
    if (version < least || (least == 1 && version != 1)) {
        fprintf(stderr, "the host's zstd was replaced by version %u\n", version);
        return 1;
    }
#ifdef WITH_RUST
    if (host_unwinds() != 42 || zt_test_unwinds() != 42) {
        fprintf(stderr, "a panic was not caught\n");
        return 1;
    }
#endif
    return 0;
}
