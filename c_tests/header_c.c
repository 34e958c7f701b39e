/* The header needs nothing before it, in C99 and in C11; and nothing before it bends it. */
#include "ztensor.h"

/* A declaration of the header in use, so that this file is not empty. */
zt_status (*const header_c_open)(const char *, const zt_open_options *, zt_file **) = zt_open;
