// Lists the objects of a .zt file, in C++17.
//
//     inspect FILE
#include <iostream>
#include <ztensor.hpp>

static void print(zt::object object)
{
    std::cout << object.name() << ": " << object.format_name() << " [";
    const char *comma = "";
    for (std::uint64_t dimension : object.shape()) {
        std::cout << comma << dimension;
        comma = ", ";
    }
    std::cout << "]\n";
    for (zt::component component : object)
        std::cout << "    " << component.role() << " " << component.dtype_name() << ", " << component.size() << " bytes\n";
}

int main(int argc, char **argv)
try {
    if (argc != 2) {
        std::cerr << "usage: inspect FILE\n";
        return 2;
    }
    const zt::file file = zt::file::open(argv[1]);
    for (zt::object object : file)
        print(object);
    std::cout << file.size() << " objects, zTensor " << file.version() << "\n";
    return 0;
} catch (const zt::error &error) {
    std::cerr << error.what() << "\n";
    return 1;
}
