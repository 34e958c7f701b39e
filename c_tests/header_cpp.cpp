// The header works without includes before it in C++17, and its functions have C linkage.
#include "ztensor.h"

extern "C" {
typedef zt_status (*open_function)(const char *, const zt_open_options *, zt_file **);
}

open_function header_cpp_open = zt_open;

static_assert(ZT_OK == 0, "success is 0");
static_assert(sizeof(zt_status) == 4, "statuses have a fixed width");
