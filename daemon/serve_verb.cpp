#include <charconv>
#include <cstdio>

#include "base/duration_text.hpp"
#include "daemon/exit_status.hpp"
#include "daemon/messages.hpp"
#include "daemon/server.hpp"
#include "daemon/verbs.hpp"

namespace rocklock {
namespace {

void print_setting(const char* name, const Setting& setting) {
    print(std::string(name) + " = " + setting.value + "    # " + setting.source);
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos || slash == 0 ? "" : path.substr(0, slash);
}

}  // namespace

int serve_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto durability = settings->choice("durability", "durable", {"durable", "written"});
    if (!durability) return fail(durability.error());
    const auto idle_exit = settings->duration("idle-exit", "0");
    if (!idle_exit) return fail(idle_exit.error());
    const bool memory = arguments.has("memory");
    if (memory && arguments.has("db")) {
        return fail(
            {ErrorCode::invalid_argument, "--memory keeps nothing, --db names where: give one"});
    }

    const auto socket = server_socket(*settings);
    const auto store = server_store(*settings);
    if (arguments.has("print-config")) {
        print_setting("socket", socket);
        print_setting("db", memory ? Setting{"(memory)", "the command line"} : store);
        print_setting("durability", settings->get("durability", "durable"));
        print_setting("idle-exit", settings->get("idle-exit", "0"));
        return exit_status::done;
    }

    ServerOptions options;
    options.socket_path = socket.value;
    options.store = memory ? "" : store.value;
    options.durability = *durability == "written" ? Durability::written : Durability::durable;
    options.idle_exit = *idle_exit;
    if (const auto fd = arguments.get("ready-fd")) {
        std::from_chars(fd->data(), fd->data() + fd->size(), options.ready_fd);
        // Whoever starts us by itself may do so while the one before us is still leaving.
        options.patience = std::chrono::seconds{20};
    }
    for (const auto& directory : {directory_of(options.socket_path), directory_of(options.store)}) {
        if (directory.empty()) continue;
        if (auto made = make_directories(directory); !made) return fail(made.error());
    }
    const auto served = serve(options);
    return served ? exit_status::done : fail(served.error());
}

}  // namespace rocklock
