/* ztensor.hpp: containers and models, lists, attributes in bulk, failures, progress, DLPack. */
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "ztensor.hpp"

#include "../check.h"

void files();

#ifndef ZT_TEST_DATA
#define ZT_TEST_DATA "tests/data"
#endif

#ifndef ZT_TEST_TMP
#define ZT_TEST_TMP "."
#endif

namespace {

std::string data(const char *name)
{
    const char *folder = std::getenv("ZT_TEST_DATA");
    return std::string(folder ? folder : ZT_TEST_DATA) + "/" + name;
}
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
        return error.status();
    }
    return ZT_OK;
}
bool stop(std::uint64_t, std::uint64_t) { return false; }

void containers()
{
    const struct { const char *path; zt_container is; std::size_t objects; } rows[] = {
        {"v0.1/py-0.1.4-all-dtypes.zt", ZT_CONTAINER_ZT_0_1, 13},
        {"v1.0/py-1.0.0-all-dtypes.zt", ZT_CONTAINER_ZT_1_0, 13},
        {"v1.1/py-1.1.1-all-dtypes.zt", ZT_CONTAINER_ZT_1_1, 13},
        {"v1.2/py-1.2.3-all-dtypes.zt", ZT_CONTAINER_ZT_1_2, 13},
        {"foreign/valid/amber-all-dtypes-python.safetensors", ZT_CONTAINER_SAFETENSORS, 20},
        {"foreign/valid/amber-all-types-py.gguf", ZT_CONTAINER_GGUF, 33},
        {"foreign/valid/amber-all-deflated.npz", ZT_CONTAINER_NPZ, 14},
        {"foreign/valid/amber-all-dtypes-typed.pt", ZT_CONTAINER_TORCH, 12},
    };
    for (const auto &row : rows) {
        const zt::file file = zt::file::open(data(row.path));
        CHECK(file.part().container == row.is && file.size() == row.objects && file.part(1).container == ZT_CONTAINER_NONE);
        const auto objects = file.objects();
        const auto components = file.components();
        CHECK(objects.size() == row.objects && components.size() == file.verify().components);
        CHECK(objects.back().object == file[row.objects - 1].get() && components[0].object == file[0].get());
        CHECK(file.components(file[1]).size() == file[1].size() && file.components(file[1])[0].component == file[1][0].get());
        zt::open_options others;
        others.containers = ((2u << ZT_CONTAINER_TORCH) - 2) & ~(1u << row.is);
        CHECK_STATUS(status_of([&] { (void)zt::file::open(data(row.path), others); }), ZT_ERROR_UNSUPPORTED);
    }
    const zt::block q4 = zt::block_of(ZT_TYPE_GGUF_Q4_0);
    CHECK(q4.elements == 32 && q4.bytes == 18);
    CHECK_STATUS(status_of([] { (void)zt::block_of(ZT_TYPE_NONE); }), ZT_ERROR_INVALID_ARGUMENT);
    CHECK(zt::ggml_number(ZT_DTYPE_U8, ZT_TYPE_GGUF_Q4_0) == 2 && zt::type_from_ggml(30).dtype == ZT_DTYPE_BF16);
    CHECK(zt::dtype_from_name("bf16") == ZT_DTYPE_BF16 && zt::type_from_name("gguf.q4_0") == ZT_TYPE_GGUF_Q4_0);
    CHECK_STATUS(status_of([] { (void)zt::dtype_from_name("bf17"); }), ZT_ERROR_NOT_FOUND);

    const zt::file model = zt::file::open_model(data("foreign/valid/amber-hf-sharded"));
    CHECK(model.part_count() == 3 && model.size() == 12 && model[11].data().part() == 2);
    CHECK(model.identify_part(1).size == model.part(1).size && model.part(2).container == ZT_CONTAINER_SAFETENSORS);
    CHECK_STATUS(status_of([&] { (void)model.identify_part(3); }), ZT_ERROR_INVALID_ARGUMENT);
    zt::open_options small;
    small.max_memory = 100;
    CHECK_STATUS(status_of([&] { (void)zt::file::open(data(rows[3].path), small); }), ZT_ERROR_LIMIT);
}

struct shards {
    std::string folder;
    struct source {
        std::string bytes;
        std::uint64_t size() const { return bytes.size(); }
        void read_at(std::uint64_t offset, void *dst, std::size_t n) { bytes.copy(static_cast<char *>(dst), n, static_cast<std::size_t>(offset)); }
    };
    source open(const char *name)
    {
        std::FILE *stream = std::fopen((folder + "/" + name).c_str(), "rb");
        if (!stream)
            throw std::runtime_error(std::string("no such shard: ") + name);
        source made;
        char part[4096];
        for (std::size_t n; (n = std::fread(part, 1, sizeof part, stream)) > 0;)
            made.bytes.append(part, n);
        std::fclose(stream);
        return made;
    }
};
struct listed_shards : shards {
    std::vector<std::string> list(const char *)
    {
        return {"model.safetensors.index.json", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                "model-00003-of-00003.safetensors"};
    }
};

void stores()
{
    const std::string folder = data("foreign/valid/amber-hf-sharded");
    shards store{folder};
    CHECK(zt::file::open_model_from(store, "model.safetensors.index.json").part_count() == 3);
    CHECK(zt::file::open_model_from(listed_shards{{folder}}, "").size() == 12);
    std::string said;
    try {
        (void)zt::file::open_model_from(store, "none");
    } catch (const std::runtime_error &error) {
        said = error.what();
    }
    CHECK_STR(said.c_str(), "no such shard: none");
}

void attributes()
{
    const zt::file file = zt::file::open(data("foreign/valid/amber-kv-all-le3.gguf"));
    const zt::value all = file.attributes();
    CHECK(all.find("arr.u16").dtype() == ZT_DTYPE_U16 && all.find("arr.u16").numbers<std::uint16_t>()[1] == 65535);
    CHECK_STATUS(status_of([&] { (void)all.find("arr.u16").numbers<std::uint8_t>(); }), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(status_of([&] { (void)all.find("arr.u16").tag(); }), ZT_ERROR_INVALID_ARGUMENT);
    const zt::file words = zt::file::open(data("foreign/valid/amber-vocab.gguf"));
    const auto tokens = words.attributes().find(std::string_view("tokenizer.ggml.tokens")).strings();
    CHECK(tokens.size() > 3 && tokens[0] == "<unk>" && tokens[2] == "</s>");
    CHECK_STATUS(status_of([&] { (void)all.find("arr.u16").strings(); }), ZT_ERROR_INVALID_ARGUMENT);
}

void failures_and_progress()
{
    const std::string path = scratch("files.zt");
    zt::writer_options checked;
    checked.digest = ZT_DIGEST_CRC32C;
    std::uint64_t grown = 0;
    zt::writer w = zt::writer::create(path, checked, [&](std::uint64_t done, std::uint64_t) { grown = done; });
    for (const char *name : {"a", "b", "c"})
        w.dense(name, {64}, std::vector<float>(64));
    w.set_attribute(std::string_view("n\0n", 3), 1);
    w.set_attribute_json("when", R"({"$tag":[1,5]})");
    w.finish();
    CHECK(grown > 700);
    const std::string twin = scratch("stopped.zt");
    CHECK_STATUS(status_of([&] {
                     zt::writer stopped = zt::writer::create(twin, checked, stop);
                     stopped.copy(zt::file::open(path).at("a"), "d");
                     stopped.finish();
                 }),
                 ZT_ERROR_CANCELLED);
    CHECK_STATUS(status_of([&] { zt::repair(path, {}, stop); }), ZT_ERROR_CANCELLED);
    zt::writer edit = zt::writer::append(path, {}, [](std::uint64_t, std::uint64_t) {});
    edit.rename_object(std::string_view("c"), std::string_view("c\0c", 3));
    edit.finish();

    zt::open_options whole;
    whole.verify = 1;
    whole.mode = ZT_MODE_READ;
    CHECK_STATUS(status_of([&] { (void)zt::file::open(path, whole, stop); }), ZT_ERROR_CANCELLED);
    zt::file file = zt::file::open(path, whole, [](std::uint64_t, std::uint64_t) {});
    CHECK_STATUS(status_of([&] { (void)file.at("a").data().load(zt::read_options(), stop); }), ZT_ERROR_CANCELLED);
    CHECK(file.at("a").data().load(zt::read_options(), [](std::uint64_t, std::uint64_t) {}).size() == 256);
    CHECK(file.find(std::string_view("c\0c", 3)) && file.attributes().find(std::string_view("n\0n", 3)).as<std::int64_t>() == 1);
    CHECK(file.attributes().find("when").tag() == 1 && file.attributes().find("when")[0].as<std::uint64_t>() == 5);
    zt::writer exchanged = zt::writer::create(twin);
    exchanged.dlpack("a", zt::dlpack(file.at("a").to_dlpack()).get());
    exchanged.dlpack("b", zt::dlpack(file.at("b").data().to_dlpack()).get());
    exchanged.dlpack("old", zt::dlpack_unversioned(file.at("b").to_dlpack_unversioned()).get());
    exchanged.finish();
    CHECK(zt::file::open(twin).size() == 3);

    const std::uint64_t at[2] = {file.at("a").data().offset(), file.at("b").data().offset()};
    file.close();
    std::FILE *stream = std::fopen(path.c_str(), "r+b");
    for (std::uint64_t offset : at) {
        std::fseek(stream, static_cast<long>(offset), SEEK_SET);
        std::fputc(1, stream);
    }
    std::fclose(stream);
    file = zt::file::open(path);
    std::string broken;
    auto on_failure = [&](const zt::failure &f) {
        broken += f.object.name();
        CHECK(f.status == ZT_ERROR_DIGEST_MISMATCH && f.component && std::strstr(f.message, "crc32c"));
    };
    zt::verify_options one_thread;
    one_thread.threads = 1;
    CHECK_STATUS(status_of([&] { file.verify(one_thread, [](std::uint64_t, std::uint64_t) {}, on_failure); }), ZT_ERROR_DIGEST_MISMATCH);
    CHECK_STR(broken.c_str(), "ab");
    int calls = 0;
    auto first = [&](const zt::failure &) { return ++calls, false; };
    CHECK(status_of([&] { file.verify(one_thread, [](std::uint64_t, std::uint64_t) {}, first); }) != ZT_OK && calls == 1);
    auto throwing = [](const zt::failure &) { throw std::runtime_error("own"); };
    bool own = false;
    try {
        file.verify(one_thread, [](std::uint64_t, std::uint64_t) {}, throwing);
    } catch (const zt::error &) {
    } catch (const std::runtime_error &) {
        own = true;
    }
    CHECK(own);
    try {
        (void)file.verify(file.at("a").data());
        CHECK(false);
    } catch (const zt::error &error) {
        CHECK_STR(error.rule(), "digest-mismatch");
        CHECK(error.os_error() == 0);
    }
    try {
        (void)zt::file::open(scratch("missing.zt"));
    } catch (const zt::error &error) {
        CHECK(error.os_error() != 0 && error.rule()[0] == '\0');
    }
    file.close();
    std::remove(path.c_str());
    std::remove(twin.c_str());
}

} // namespace

void files()
{
    containers();
    stores();
    attributes();
    failures_and_progress();
}
