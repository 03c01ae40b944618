#include "storage/etcd/client/load_client.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "storage/etcd/client/client_library.hpp"

namespace rocklock::etcd {

namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "librocklock_etcd.so." ROCKLOCK_SOVERSION;
constexpr const char* library_variable = "ROCKLOCK_ETCD_LIBRARY";

// Returns the folder of the program or shared library that contains this function; empty if it is
// not known.
fs::path own_folder() {
    static const char in_this_object = 0;
    Dl_info info{};
    link_map* object = nullptr;
    if (dladdr1(&in_this_object, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) {
        return {};
    }
    std::error_code failed;
    // The name of the program is empty. `info` contains the name with which it was started, which
    // may be relative to another folder.
    const bool is_program = object == nullptr || object->l_name[0] == '\0';
    const fs::path path = is_program ? fs::path("/proc/self/exe") : fs::path(object->l_name);
    return fs::canonical(path, failed).parent_path();
}

std::vector<fs::path> candidates() {
    // Ignored in programs that run with more rights than their user.
    if (const char* path = secure_getenv(library_variable)) return {path};
    std::vector<fs::path> paths;
    if (const fs::path folder = own_folder(); !folder.empty()) {
        for (const fs::path& each :
             {folder, folder.parent_path() / ROCKLOCK_LIBDIR, folder.parent_path() / "lib"}) {
            std::error_code failed;
            if (fs::exists(each / library_name, failed)) paths.push_back(each / library_name);
        }
    }
    paths.emplace_back(library_name);
    return paths;
}

// Opens the first candidate that exists. The library stays loaded, because gRPC has threads.
Result<void*> open_library() {
    const fs::path path = candidates().front();
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
        return library;
    }
    const char* reason = dlerror();
    return Error(ErrorCode::invalid_argument,
                 "this installation has no support for etcd: install librocklock_etcd, or set "
                 "ROCKLOCK_ETCD_LIBRARY to its path (" +
                     std::string(reason == nullptr ? path.c_str() : reason) + ")");
}

}  // namespace

Result<std::unique_ptr<Client>> load_client(const ClientOptions& options) {
    auto library = open_library();
    if (!library) return std::move(library.error());
    auto* const make = reinterpret_cast<MakeClient*>(dlsym(*library, make_client_name));
    Error error(ErrorCode::invalid_argument,
                "librocklock_etcd is not of the version " ROCKLOCK_VERSION
                ", which this program has: install the same version of both");
    Client* const client = make == nullptr ? nullptr : make(ROCKLOCK_VERSION, options, error);
    if (client == nullptr) return error;
    return std::unique_ptr<Client>(client);
}

}  // namespace rocklock::etcd
