/*
 * libztensor for C++17: ztensor.h with owners that cannot leak or close twice, ranges, typed spans and exceptions.
 * Header only, nothing of its own at run time: link libztensor as C does.
 *
 *     zt::file file = zt::file::open("model.zt");
 *     for (zt::object object : file)
 *         std::cout << object.name() << " has rank " << object.shape().size() << "\n";
 *     zt::span<const float> weight = file.at("weight").data().as<float>();     // in the mapped file, not copied
 *
 * Owners (file, buffer, writer) move and do not copy. Views (object, component, value) are pointers: they cost nothing,
 * live as long as their file's last handle, and may be null where find() found nothing. What a function of ztensor.h
 * says of lifetimes, units and threads holds for the member that calls it; the names are the same.
 *
 * A failure is thrown as zt::error. With ZTENSOR_NO_EXCEPTIONS defined (or -fno-exceptions) what can fail returns
 * zt::result<T> instead, with the same names. Callables given as progress, source or sink may throw: nothing passes
 * through C, and it is thrown again by the call that was under way (from a source: the status is ZT_ERROR_IO).
 */
#ifndef ZTENSOR_HPP
#define ZTENSOR_HPP

#include "ztensor/base.hpp"
#include "ztensor/reader.hpp"
#include "ztensor/source.hpp"
#include "ztensor/file.hpp"
#include "ztensor/cache.hpp"
#include "ztensor/load.hpp"
#include "ztensor/writer.hpp"

#endif /* ZTENSOR_HPP */
