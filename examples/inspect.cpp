// Lists what a .zt file holds, in C++17: handles in unique_ptr, a failure as an exception.
//
//     inspect FILE
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <ztensor.h>

namespace {

struct Closer {
    void operator()(zt_file *file) const noexcept { zt_close(file); }
};
using File = std::unique_ptr<zt_file, Closer>;

void check(zt_status status)
{
    if (status != ZT_OK)
        throw std::runtime_error(zt_last_error());
}

File open(const char *path)
{
    zt_file *file = nullptr;
    check(zt_open(path, nullptr, &file));
    return File(file);
}

std::string_view name(const zt_object *object)
{
    return {zt_object_name(object), zt_object_name_len(object)};
}

void print(const zt_object *object)
{
    const uint64_t *shape = zt_object_shape(object);
    std::cout << name(object) << ": " << zt_object_format_name(object) << " [";
    for (size_t i = 0; i < zt_object_rank(object); i++)
        std::cout << (i ? ", " : "") << shape[i];
    std::cout << "]\n";
    for (size_t i = 0; i < zt_object_component_count(object); i++) {
        const zt_component *component = zt_component_at(object, i);
        std::cout << "    " << zt_component_role(component) << " " << zt_component_dtype_name(component) << ", "
                  << zt_component_size(component) << " bytes\n";
    }
}

} // namespace

int main(int argc, char **argv)
try {
    if (argc != 2) {
        std::cerr << "usage: inspect FILE\n";
        return 2;
    }
    const File file = open(argv[1]);
    for (size_t i = 0; i < zt_object_count(file.get()); i++)
        print(zt_object_at(file.get(), i));
    std::cout << zt_object_count(file.get()) << " objects, zTensor " << zt_file_version(file.get()) << "\n";
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
}
