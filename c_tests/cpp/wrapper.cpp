/* ztensor.hpp with exceptions: reading, writing, callables that throw, owners that move. */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "ztensor.hpp"

#include "../support.h"

#ifndef ZT_TEST_TMP
#define ZT_TEST_TMP "."
#endif

namespace {

std::string scratch(const char *name)
{
    const char *folder = std::getenv("ZT_TEST_TMP");
    return std::string(folder ? folder : ZT_TEST_TMP) + "/cpp-" + name;
}

template <class F> zt_status status_of(F &&body)
{
    try {
        body();
    } catch (const zt::error &error) {
        return std::strlen(error.what()) > 0 ? error.status() : -1;
    }
    return ZT_OK;
}

struct memory_sink {
    std::vector<unsigned char> *bytes;
    bool *finished;
    void write(const void *data, std::size_t n)
    {
        const auto *from = static_cast<const unsigned char *>(data);
        bytes->insert(bytes->end(), from, from + n);
    }
    void finish() { *finished = true; }
};

struct memory_source {
    std::vector<unsigned char> bytes;
    std::uint64_t size() const { return bytes.size(); }
    void read_at(std::uint64_t offset, void *dst, std::size_t n)
    {
        if (offset == 8 && n == 0)
            throw std::out_of_range("never");
        std::memcpy(dst, bytes.data() + offset, n);
    }
};

std::vector<unsigned char> written()
{
    std::vector<unsigned char> bytes;
    bool finished = false;
    zt::writer w = zt::writer::to_sink(memory_sink{&bytes, &finished});
    w.set_attribute("model", "small");
    w.set_attribute("layers", 3);
    w.set_attribute("scale", 0.5f);
    w.set_attribute("tied", true);
    w.set_attribute_json("nested", R"({"a":[1,2]})");
    w.set_attribute("scores", std::vector<float>{0.5f, -1});
    w.set_attribute("gone", 1);
    w.remove_attribute("gone");
    /* texts with a NUL are not cut */
    w.set_attribute(std::string_view("k\0ey", 4), std::string("v\0alue", 7));
    w.dense("weight", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
    const zt::bfloat16 ones[2] = {{0x3f80}, {0x3f80}};
    w.dense("ones", {2}, zt::span<const zt::bfloat16>(ones));
    const std::uint64_t indices[] = {1, 0}, indptr[] = {0, 1, 2};
    const double values[] = {1.5, -2};
    w.csr("sparse", 2, 2, zt::span<const double>(values), indices, indptr);
    w.coo(std::string_view("po\0ints", 7), {2, 2}, zt::span<const double>(values), {0, 1, 1, 0});
    w.begin("streamed", ZT_FORMAT_DENSE, {4});
    w.set_object_attribute("streamed", "unit", std::string("m"));
    w.component("data", ZT_DTYPE_U8);
    w.data("ab", 2);
    w.data("cd", 2);
    w.end();
    const zt::write_summary summary = w.finish();
    CHECK(finished && summary.objects == 5 && summary.file_size == bytes.size());
    CHECK(!w && status_of([&] { w.finish(); }) == ZT_ERROR_STATE);
    return bytes;
}

void reading()
{
    const std::vector<unsigned char> bytes = written();
    const zt::file file = zt::file::open_source(memory_source{bytes});
    CHECK(file && file.size() == 5 && !file.empty() && file.part().size == bytes.size());
    CHECK_STR(file.version(), "1.2.0");
    CHECK(file.mode() == ZT_MODE_READ);
    const zt::file in_memory = zt::file::open_memory(bytes.data(), bytes.size());
    CHECK(in_memory.mode() == ZT_MODE_MAP && in_memory.bytes().size() == bytes.size());
    CHECK(static_cast<const void *>(in_memory.bytes().data()) == bytes.data());
    std::string names;
    std::size_t parts = 0;
    for (zt::object object : file) {
        names += std::string(object.name()) + " ";
        for (zt::component component : object)
            parts += component.size() > 0;
    }
    CHECK(names == std::string("weight ones sparse po\0ints streamed ", 36));
    CHECK_U64(parts, 1 + 2 + 3 + 1 + 1);
    const zt::value attributes = file.attributes();
    CHECK(attributes.find("layers").as<std::int64_t>() == 3 && attributes.find("model").as<std::string_view>() == "small");
    CHECK(attributes.find("scale").as<double>() == 0.5 && attributes.find("tied").as<bool>());
    CHECK(attributes.find(std::string_view("k\0ey", 4)).as<std::string_view>() == std::string_view("v\0alue", 7));
    CHECK(attributes.find("none").value_or<std::int64_t>(7) == 7);
    CHECK_STATUS(status_of([&] { (void)attributes.find("model").as<bool>(); }), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STR(attributes.find("nested").json().c_str(), R"({"a":[1,2]})");
    CHECK(attributes.find("scores").numbers<float>() == std::vector<float>({0.5f, -1}) && !attributes.find("gone"));
    CHECK_STATUS(status_of([&] { (void)attributes.find("scores").numbers<std::int32_t>(); }), ZT_ERROR_INVALID_ARGUMENT);
    std::uint64_t items = 0;
    for (zt::value item : attributes.find("nested").find("a"))
        items += item.as<std::uint64_t>();
    CHECK_U64(items, 3);

    const zt::object weight = file.at("weight");
    CHECK(weight.shape().size() == 2 && weight.shape()[1] == 3 && weight.element_count() == 6);
    CHECK_STATUS(status_of([&] { (void)file.at("nothing"); }), ZT_ERROR_NOT_FOUND);
    CHECK(!file.find("nothing") && !file.find(std::string_view()) && !weight.find("scales"));
    const zt::buffer loaded = weight.data().load();
    const zt::span<const float> floats = loaded.as<float>();
    CHECK(floats.size() == 6 && floats[5] == 6);
    CHECK_STATUS(status_of([&] { (void)loaded.as<double>(); }), ZT_ERROR_INVALID_ARGUMENT);
    zt::read_options by;
    by.threads = 1;
    CHECK(weight.data().load(by).size() == loaded.size());
    const zt::tensor_view view = weight.tensor();
    CHECK(view.size == loaded.size() && view.rank == 2);
    CHECK_U64(file.verify(weight).objects, 1);
    CHECK_STATUS(status_of([&] { file.verify(file.find("absent")); }), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(status_of([&] { file.verify(weight.find("absent")); }), ZT_ERROR_INVALID_ARGUMENT);
    const zt::identity same = file.identify();
    CHECK(same.size == file.part().size);
    std::vector<unsigned char> stored(static_cast<std::size_t>(weight.data().stored_size()));
    weight.data().read_stored(stored.data(), stored.size());
    CHECK(stored.size() == loaded.size() && are_elements(loaded.data(), stored.data(), stored.size(), sizeof(float)));
    CHECK_STATUS(status_of([&] { weight.data().read_stored(stored.data(), stored.size() - 1); }), ZT_ERROR_BUFFER_SIZE);
    float corner[2] = {};
    weight.read_slice({0, 2}, {2, 1}, corner, sizeof corner);
    CHECK(corner[0] == 3 && corner[1] == 6);
    CHECK_STATUS(status_of([&] { weight.read_slice({0}, {2, 1}, corner, sizeof corner); }), ZT_ERROR_INVALID_ARGUMENT);
    std::vector<double> wide(6);
    CHECK(weight.size_as(ZT_DTYPE_F64) == 48 && weight.read_as<double>(wide) == 6 && wide[4] == 5);
    CHECK(file.at("sparse").read_as<double>(wide) * 8 == file.at("sparse").size_as(ZT_DTYPE_F64));
    /* sources cannot be mapped */
    CHECK_STATUS(status_of([&] { (void)weight.data().bytes(); }), ZT_ERROR_NOT_MAPPABLE);
    const zt::csr_view csr = file.at("sparse").csr();
    CHECK(csr.nnz == 2 && zt::elements<double>(csr.values)[1] == -2 && zt::elements<std::uint64_t>(csr.indptr)[2] == 2);
    CHECK(file.at(std::string_view("po\0ints", 7)).coo().nnz == 2);
    CHECK(zt::elements<float>(file.tensor("weight"))[0] == 1);
    CHECK_STATUS(status_of([&] { (void)file.tensor("sparse"); }), ZT_ERROR_UNSUPPORTED);
    CHECK_U64(file.verify().components, 8);
    CHECK_STATUS(status_of([&] { file.verify(weight.data()); }), ZT_OK); /* the writer added a digest */
}

void mapped()
{
    const std::string path = scratch("mapped.zt");
    zt::writer w = zt::writer::create(path);
    w.dense("a", {3}, std::vector<std::int16_t>{1, -2, 3});
    const bool flags[2] = {true, false};
    const std::complex<float> turn[1] = {{0, 1}};
    const std::uint64_t two = 2, one = 1;
    const zt::write_request requests[] = {{"flags", {&two, 1}, zt::span<const bool>(flags)},
                                          {"turn", {&one, 1}, zt::span<const std::complex<float>>(turn)}};
    w.batch(requests);
    CHECK_STATUS(status_of([&] { w.batch({requests + 1, 1}); }), ZT_ERROR_EXISTS);
    w.finish();
    zt::file file = zt::file::open(path);
    if (!borrows_little_endian(2)) {
        CHECK_STATUS(status_of([&] { (void)file.at("a").data().bytes(); }), ZT_ERROR_NOT_MAPPABLE);
        std::remove(path.c_str());
        return;
    }
    const zt::span<const std::int16_t> a = file.at("a").data().as<std::int16_t>();
    CHECK(a.size() == 3 && a[1] == -2 && std::count(a.begin(), a.end(), 3) == 1);
    const char *const paths[] = {path.c_str()};
    const zt::file model = zt::file::open_model(path), parts = zt::file::open_parts(paths);
    CHECK(model.part_count() == 1 && parts.part().size == file.part().size && parts.part().path == path);
    CHECK(model.at("a").data().part() == 0);
    CHECK(file.at("flags").data().as<std::uint8_t>()[0] == 1);
    CHECK(file.at("turn").data().as<std::complex<float>>()[0].imag() == 1);
    CHECK(file.at("turn").data().as<float>().size() == 2); /* the storage */
    CHECK_STATUS(status_of([&] { (void)file.at("a").data().as<std::uint16_t>(); }), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(status_of([&] { (void)file.at("a").data().as<std::complex<float>>(); }), ZT_ERROR_INVALID_ARGUMENT);

    zt::file second = file.share(), third = std::move(file);
    CHECK(!file && file.size() == 0 && second && third);
    second = std::move(third);
    CHECK(second && a[0] == 1);
    zt::file &same = second;
    second = std::move(same);
    CHECK(second.size() == 3);
    second.close();
    second.close();
    CHECK(!second);

    zt::writer more = zt::writer::append(path);
    more.copy(zt::file::open(path).at("a"), "b");
    zt::writer moved = std::move(more);
    CHECK(!more && moved);
    moved.finish();
    { zt::writer dropped = zt::writer::append(path); } /* leaves no file */
    CHECK(zt::file::open(path).size() == 4);
    zt::writer edits = zt::writer::append(path);
    edits.remove_object("b");
    edits.copy(zt::file::open(path).at("a"), "b");
    edits.rename_object("a", std::string("first"));
    edits.set_object_attribute("first", "scale", 0.5);
    edits.set_object_attribute("first", "gone", "x");
    edits.remove_object_attribute("first", "gone");
    CHECK_STATUS(status_of([&] { edits.remove_object("b"); }), ZT_ERROR_STATE);
    edits.finish();
    {
        zt::file edited = zt::file::open(path);
        CHECK(edited.size() == 4 && !edited.find("a") && edited.at("b").data().as<std::int16_t>().size() == 3);
        CHECK_U64(zt_value_count(zt_object_attributes(edited.at("first").get())), 1);
    }
    CHECK_U64(zt::repair(path).objects, 4);
    CHECK_STATUS(status_of([&] { (void)zt::file::open(scratch("missing.zt")); }), ZT_ERROR_NO_FILE);
    std::remove(path.c_str());
}

struct thrown : std::runtime_error {
    using std::runtime_error::runtime_error;
};
template <class F> bool throws(F &&body)
{
    try {
        body();
    } catch (const thrown &) {
        return true;
    }
    return false;
}

void callables()
{
    const std::vector<unsigned char> bytes = written();
    const zt::file file = zt::file::open_memory(bytes.data(), bytes.size());
    std::uint64_t last = 0;
    file.verify({}, [&](std::uint64_t done, std::uint64_t) { last = done; });
    CHECK(last > 0);
    CHECK_STATUS(status_of([&] { file.verify({}, [](std::uint64_t, std::uint64_t) { return false; }); }), ZT_ERROR_CANCELLED);
    CHECK(throws([&] { file.verify({}, [](std::uint64_t, std::uint64_t) { throw thrown("stop"); }); }));

    float weight[6] = {};
    std::uint8_t streamed[4] = {};
    const zt::read_request requests[] = {{file.at("weight").data(), weight, sizeof weight},
                                         {file.at("streamed").data(), streamed, sizeof streamed, 1}};
    CHECK_U64(file.read_batch(requests).bytes, 28);
    CHECK(weight[5] == 6 && streamed[3] == 'd');
    CHECK(throws([&] { file.read_batch(requests, {}, [](std::uint64_t, std::uint64_t) { throw thrown("stop"); }); }));
    CHECK_STATUS(status_of([&] { file.read_batch(requests, {}, [](std::uint64_t, std::uint64_t) { return false; }); }), ZT_ERROR_CANCELLED);

    struct full {
        void write(const void *, std::size_t) { throw thrown("full"); }
    };
    CHECK(throws([] {
        zt::writer w = zt::writer::to_sink(full{});
        w.dense("a", {2 << 20}, std::vector<std::uint8_t>(2 << 20));
        w.finish();
    }));
    struct failing {
        std::uint64_t size() const { return 1000; }
        bool read_at(std::uint64_t, void *, std::size_t) { return false; }
    };
    struct throwing {
        std::uint64_t size() const { return 1000; }
        void read_at(std::uint64_t, void *, std::size_t) { throw thrown("gone"); }
    };
    CHECK_STATUS(status_of([] { (void)zt::file::open_source(failing{}); }), ZT_ERROR_IO);
    CHECK_STATUS(status_of([] { (void)zt::file::open_source(throwing{}); }), ZT_ERROR_IO);
}

/* zt::cache: a pin ends with its owner. */
void caching()
{
    const std::vector<unsigned char> bytes = written();
    zt::cache_options options;
    CHECK_STATUS(status_of([&] { (void)zt::cache::create(options); }), ZT_ERROR_INVALID_ARGUMENT);
    options.budget = 1 << 16;
    options.slot_size = 4096;
    options.threads = 1;
    const zt::cache cache = zt::cache::create(options);
    const zt::file file = zt::file::open_memory(bytes.data(), bytes.size());
    const zt::read_request slices[] = {{file.at("weight").data(), nullptr, 0}, {file.at("ones").data(), nullptr, 0}};
    cache.prefetch(slices);
    {
        zt::cached_slice one = cache.pin(slices[0]), two = cache.pin(slices[1]);
        const zt::cached_slice again = cache.pin(slices[0], 1000000000);
        CHECK(one && one.size() == 24 && one.data() == again.data() && two.size() == 4);
        CHECK(cache.stats().pinned == 2);
        zt::cached_slice moved = std::move(two);
        CHECK(moved && !two);
        moved = std::move(one);
        CHECK(moved.data() == again.data());
        moved.unpin();
        CHECK(!moved && cache.stats().pinned == 2);
    }
    CHECK(cache.stats().pinned == 0 && cache.stats().used == 2);
    cache.drop({slices, 1});
    CHECK_U64(cache.stats().used, 1);
    cache.cancel();
    cache.drop_all();
    CHECK_U64(cache.stats().used, 0);
}

/* zt::load: a range of events. Their bytes end with them. */
void loading()
{
    const std::vector<unsigned char> bytes = written();
    const zt::file file = zt::file::open_memory(bytes.data(), bytes.size());
    unsigned char own[24] = {0};
    const zt::read_request requests[] = {{file.at("weight").data(), own, sizeof own, 1}, {file.at("ones").data(), nullptr, 0, 2}};
    zt::load_options options;
    options.slot_size = 65536;
    options.slot_count = 1;
    zt::load load = zt::load::start(requests, options);
    std::uint64_t tags = 0, total = 0;
    for (const zt::load_event &event : load) {
        CHECK(event.kind() == ZT_LOAD_KIND_DATA && event.status() == ZT_OK && event.is_last() && event.offset() == 0);
        CHECK((event.tag() == 1) == (static_cast<const void *>(event.data()) == own));
        tags += event.tag();
        total += event.size();
    }
    CHECK(tags == 3 && total == 28);
    CHECK(load.next(0).kind() == ZT_LOAD_KIND_DONE);
    const std::vector<zt::load_part_stats> parts = load.part_stats();
    CHECK(parts.size() == 1 && parts[0].file == file.get() && parts[0].part == 0);
    CHECK(parts[0].stored_bytes == 28 && parts[0].direct_bytes == 0 && parts[0].reason != nullptr);
    CHECK_U64(load.finish().bytes, 28);
    CHECK(!load);

    /* One slot: the second event comes after the first is released. */
    const zt::read_request twice[] = {{file.at("weight").data(), nullptr, 0, 1}, {file.at("weight").data(), nullptr, 0, 2}};
    load = zt::load::start(twice, options);
    {
        zt::load_event one = load.next();
        const zt::load_event moved = std::move(one);
        CHECK(moved.size() == 24 && std::memcmp(moved.data(), own, 24) == 0);
    }
    load.cancel();
    CHECK(load.next().kind() == ZT_LOAD_KIND_DONE);
    CHECK_STATUS(status_of([&] { (void)load.finish(); }), ZT_ERROR_CANCELLED);
    CHECK_STATUS(status_of([] { (void)zt::load().cancel(); }), ZT_ERROR_INVALID_ARGUMENT);
}

} // namespace

void files(); /* wrapper_files.cpp */
/* wrapper_results.cpp: the other error mode in the same program */
std::size_t objects_without_exceptions(const char *path);

int main()
{
    reading();
    mapped();
    callables();
    caching();
    loading();
    files();
    const std::string path = scratch("both.zt");
    zt::writer w = zt::writer::create(path);
    w.dense("a", {1}, std::vector<double>{1});
    w.finish();
    CHECK_U64(objects_without_exceptions(path.c_str()), 1);
    std::remove(path.c_str());
    return check_done("wrapper");
}
