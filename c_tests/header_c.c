/* The header works without includes before it, in C99 and in C11. Macros before it do not affect it. */
#include "ztensor.h"

/* Uses a declaration, so that this file is not empty. */
zt_status (*const header_c_open)(const char *, const zt_open_options *, zt_file **) = zt_open;
