// The servers that can be measured, and the command that starts each.
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "daemon/server.hpp"

namespace rocklock::bench {
namespace {

using Words = std::vector<std::string>;

// Returns a port that no process uses at the moment.
int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int failed = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    if (failed != 0) give_up("there is no port");
    return ntohs(address.sin_port);
}

// Some servers refuse to run as root. Returns the user that runs them instead, or null if this
// process does not run as root.
const char* unprivileged_user() { return ::geteuid() == 0 ? "postgres" : nullptr; }

Words as_user(const char* user, Words command) {
    if (user == nullptr) return command;
    Words words = {"setpriv",
                   std::string("--reuid=") + user,
                   std::string("--regid=") + user,
                   "--init-groups",
                   "--pdeathsig=QUIT",
                   "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

// Returns the folder in which Debian installs the programs of a PostgreSQL server, or an empty
// string if there is none.
std::string postgres_programs() {
    std::error_code ignored;
    std::string newest;
    for (const auto& version :
         std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
        const auto folder = version.path() / "bin";
        if (std::filesystem::exists(folder / "initdb")) newest = std::max(newest, folder.string());
    }
    return newest;
}

void add_rocklock(std::vector<Contestant>& all, const std::string& program,
                  const std::string& directory) {
    for (const std::string kind : {"in memory", "written", "durable"}) {
        const auto path = (std::filesystem::path(directory) / kind.substr(0, 2)).string();
        const int port = free_port();
        Words command = {program,     "serve",  "--socket",
                         path + ".s", "--http", "127.0.0.1:" + std::to_string(port)};
        const Words store =
            kind == "in memory" ? Words{"--memory"} : Words{"--db", path, "--durability", kind};
        command.insert(command.end(), store.begin(), store.end());
        // In a benchmark, all clients have the same user. The daemon still counts the resources of
        // the user, but the limits are so high that no benchmark reaches them.
        for (const std::string limit : {"sessions", "grants", "waiters", "lock-bytes",
                                        "connections", "drafts", "table-bytes"}) {
            command.insert(command.end(), {"--max-user-" + limit, "1000000000000"});
        }
        all.push_back({.name = "Rocklock, " + kind,
                       .command = std::move(command),
                       .socket = path + ".s",
                       .port = port,
                       .client = rocklock_client});
    }
}

void add_caches(std::vector<Contestant>& all, const std::string& directory) {
    const std::vector<std::pair<std::string, std::string>> logs = {
        {"Redis, no log", "no"},
        {"Redis, synced every second", "everysec"},
        {"Redis, always synced", "always"}};
    for (const auto& [name, policy] : logs) {
        const auto path = (std::filesystem::path(directory) / ("redis-" + policy)).string();
        all.push_back(
            {.name = name,
             .prepare = {"mkdir", path},
             .command = {"redis-server", "--port", "0", "--unixsocket", path + "/s", "--dir", path,
                         "--save", "", "--appendonly", policy == "no" ? "no" : "yes",
                         "--appendfsync", policy, "--maxclients", "15000"},
             .socket = path + "/s",
             .client = redis_client,
             .makes_queue = "*3\r\n$5\r\nRPUSH\r\n$4\r\nlock\r\n$1\r\n1\r\n"});
    }
    const passwd* self = ::getpwuid(::geteuid());
    const auto socket = directory + "/mc";
    all.push_back(
        {.name = "memcached",
         .command = {"memcached", "-u", self == nullptr ? "root" : self->pw_name, "-s", socket},
         .socket = socket,
         .client = memcached_client});
}

void add_postgres(std::vector<Contestant>& all, const std::string& directory) {
    const auto programs = postgres_programs();
    const auto* user = unprivileged_user();
    for (const bool row : {true, false}) {
        const auto path = directory + (row ? "/postgres-row" : "/postgres-advisory");
        Contestant contestant{
            .name = row ? "PostgreSQL, row lock" : "PostgreSQL, advisory lock",
            .prepare = as_user(user, {programs + "/initdb", "-D", path, "-U", "postgres", "-A",
                                      "trust", "-E", "UTF8", "--no-sync"}),
            .socket = path + "/.s.PGSQL.5432",
            .client = row ? postgres_row_client : postgres_advisory_client};
        if (!programs.empty()) {
            contestant.command =
                as_user(user, {programs + "/postgres", "-D", path, "-c", "listen_addresses=", "-c",
                               "unix_socket_directories=" + path, "-c", "max_connections=300"});
            contestant.check = {programs + "/pg_isready", "--quiet", "--host", path};
        }
        all.push_back(std::move(contestant));
    }
}

void add_etcd(std::vector<Contestant>& all, const std::string& directory) {
    const int port = free_port();
    const auto url = "http://127.0.0.1:" + std::to_string(port);
    all.push_back(
        {.name = "etcd",
         .command = {"etcd", "--data-dir", directory + "/etcd", "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls",
                     "http://127.0.0.1:" + std::to_string(free_port()), "--logger", "zap"},
         .port = port,
         .client = etcd_client});
}

void add_dynalite(std::vector<Contestant>& all, const std::string& program,
                  const std::string& directory) {
    for (const bool keeps : {false, true}) {
        const int port = free_port();
        Contestant contestant{.name = keeps ? "dynalite, LevelDB" : "dynalite, in memory",
                              .command = {program, "--host", "127.0.0.1", "--port",
                                          std::to_string(port), "--createTableMs", "0"},
                              .port = port};
        if (keeps) {
            contestant.command.insert(contestant.command.end(),
                                      {"--path", directory + "/dynalite"});
        }
        all.push_back(std::move(contestant));
    }
}

void add_dynamodb_local(std::vector<Contestant>& all, const std::string& folder,
                        const std::string& directory) {
    for (const bool keeps : {false, true}) {
        const auto path = directory + (keeps ? "/dynamodb-local" : "/dynamodb-local-memory");
        const int port = free_port();
        // The server writes a file to its working directory.
        Contestant contestant{
            .name = keeps ? "DynamoDB Local, on file" : "DynamoDB Local, in memory",
            .prepare = {"mkdir", path},
            .directory = path,
            .port = port};
        if (!folder.empty()) {
            const auto programs = std::filesystem::absolute(folder).string();
            const auto libraries = programs + "/DynamoDBLocal_lib";
            std::string library_path = "-Djava.library.path=";
            library_path.append(programs).append(":").append(libraries);
            std::string class_path = programs;
            class_path.append("/*:").append(libraries).append("/*");
            contestant.command = {"java",
                                  std::move(library_path),
                                  "-cp",
                                  std::move(class_path),
                                  "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
                                  "-port",
                                  std::to_string(port)};
            const Words store = keeps ? Words{"-dbPath", path} : Words{"-inMemory"};
            contestant.command.insert(contestant.command.end(), store.begin(), store.end());
        }
        all.push_back(std::move(contestant));
    }
}

}  // namespace

std::vector<Contestant> contestants(const Programs& programs, const std::string& directory) {
    std::vector<Contestant> all;
    add_rocklock(all, programs.rocklock, directory);
    add_caches(all, directory);
    add_postgres(all, directory);
    add_etcd(all, directory);
    add_dynalite(all, programs.dynalite, directory);
    add_dynamodb_local(all, programs.dynamodb_local, directory);
    return all;
}

}  // namespace rocklock::bench
