/* Two units include the header, twice each, and are linked. The header must not define anything, and its
 * declarations must agree. */
#include "ztensor_advanced.h"
#include "ztensor_advanced.h"

#include "check.h"

#ifdef __cplusplus
extern "C"
#endif
const char *version_of_the_other_unit(void);

int main(void)
{
    CHECK_STR(version_of_the_other_unit(), zt_version());
    CHECK(version_of_the_other_unit() == zt_version());
    return check_done("double_include");
}
