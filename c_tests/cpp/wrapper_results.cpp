/* ztensor.hpp without exceptions, in the same program as with exceptions: results, and every template
 * once. */
#ifndef ZTENSOR_NO_EXCEPTIONS
#define ZTENSOR_NO_EXCEPTIONS
#endif
#include "ztensor.hpp"

#include "../check.h"
#include "../support.h"

std::size_t objects_without_exceptions(const char *path);

static int same(zt::span<const float> a, float first) { return a.size() == 2 && a[0] == first; }

/* The wrong element is one object more than the limit. */
std::size_t objects_without_exceptions(const char *path)
{
    auto missing = zt::file::open("no such file");
    if (missing || missing.status() != ZT_ERROR_NO_FILE || missing.message()[0] == '\0')
        return 1000;
    auto opened = zt::file::open(path);
    if (!opened)
        return 1001;
    zt::file file = std::move(*opened);
    if (file.at("none") || file.at("none").status() != ZT_ERROR_NOT_FOUND || file.at("none").message()[0] == '\0')
        return 1002;
    auto a = file.at("a");
    const bool borrows = borrows_little_endian(sizeof(double)) != 0;
    const zt_status wrong = borrows ? ZT_ERROR_INVALID_ARGUMENT : ZT_ERROR_NOT_MAPPABLE;
    if (!a || a->data().as<float>() || a->data().as<float>().status() != wrong)
        return 1003;
    auto elements = a->data().as<double>();
    if (borrows ? !elements || (*elements)[0] != 1 : elements || elements.status() != ZT_ERROR_NOT_MAPPABLE)
        return 1004;
    auto stopped = file.verify({}, [](std::uint64_t, std::uint64_t) { return false; });
    if (stopped || stopped.status() != ZT_ERROR_CANCELLED || !file.verify())
        return 1005;
    struct counting {
        std::size_t *bytes;
        bool write(const void *, std::size_t n) { return *bytes += n, true; }
    };
    std::size_t bytes = 0;
    auto w = zt::writer::to_sink(counting{&bytes});
    const float two[2] = {4, 5};
    if (!w || !same(two, 4) || !w->dense("x", {2}, zt::span<const float>(two)) || !w->set_attribute("n", 1))
        return 1006;
    if (w->dense("x", {2}, zt::span<const float>(two)).status() != ZT_ERROR_EXISTS)
        return 1007;
    auto summary = w->finish();
    if (!summary || summary->file_size != bytes || w->finish())
        return 1008;
    return file.size();
}
