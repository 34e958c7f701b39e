/* The second unit of double_include_a.c. */
#include "ztensor_advanced.h"
#include "ztensor_advanced.h"

#ifdef __cplusplus
extern "C"
#endif
const char *version_of_the_other_unit(void);

const char *version_of_the_other_unit(void)
{
    return zt_version();
}
