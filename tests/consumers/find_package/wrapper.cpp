// Uses the installed C++ header, and the header for DLPack.
#include <ztensor.hpp>
#include <ztensor_dlpack.h>

int main(int, char **argv)
{
    const zt::file file = zt::file::open(argv[1]);
    return file.verify().digests_verified == 5 && file.size() == 7 ? 0 : 1;
}
