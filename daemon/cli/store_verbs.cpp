// db check, db stats, db backup and db restore.
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <rocklock/storage/etcd.hpp>
#include <rocklock/storage/maintenance.hpp>

#include "base/time_format.hpp"
#include "daemon/cli/etcd_settings.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/manager_choice.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/progress.hpp"
#include "daemon/cli/verbs.hpp"
#include "storage/rocksdb/store_copy.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {
namespace {

namespace fs = std::filesystem;

// Returns the store that --db or the settings name, or by default the one of this user's daemon.
Result<std::string> store_of(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    auto store = server_store(*settings);
    if (!store) return std::move(store).error();
    return store->value;
}

Error in_use(Error error, const std::string& store) {
    if (error.code == ErrorCode::store_in_use) {
        error.message +=
            ", and only a closed store can be examined: stop that process, or back up the store "
            "and check the copy (rocklock db backup DIR; rocklock db check --db DIR)";
        // Not every message of this error names the store.
        if (error.message.find(store) == std::string::npos) {
            error.message += "; the store is " + store;
        }
    }
    return error;
}

std::string bytes_for_people(std::uint64_t bytes) {
    constexpr const char* units[] = {"B", "KB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    std::uint64_t tenths = bytes * 10;
    while (tenths >= 10'000 && unit + 1 < std::size(units)) {
        tenths /= 1000;
        ++unit;
    }
    std::string text = std::to_string(tenths / 10);
    if (unit > 0) text += "." + std::to_string(tenths % 10);
    return text + " " + units[unit];
}

// Writes facts as JSON or as lines of text, in the same order.
class FactWriter {
public:
    explicit FactWriter(bool json) : as_json_(json) {
        if (as_json_) json_.begin_object();
    }
    void add(std::string_view key, std::string_view title, std::string_view value) {
        if (as_json_) {
            json_.key(key);
            json_.string(value);
        } else {
            line(title, printable(value));
        }
    }
    void add(std::string_view key, std::string_view title, std::uint64_t value) {
        if (as_json_) {
            json_.key(key);
            json_.number(value);
        } else {
            line(title, std::to_string(value));
        }
    }
    void add(std::string_view key, std::string_view title, bool value) {
        if (as_json_) {
            json_.key(key);
            json_.boolean(value);
        } else {
            line(title, value ? "yes" : "no");
        }
    }
    JsonWriter& json() { return json_; }
    std::string take() {
        if (as_json_) {
            json_.end_object();
            return json_.take();
        }
        if (!text_.empty()) text_.pop_back();
        return std::move(text_);
    }

private:
    void line(std::string_view title, std::string_view value) {
        constexpr std::size_t column = 18;
        text_ += std::string(title) + std::string(column - title.size(), ' ') + std::string(value) +
                 "\n";
    }

    const bool as_json_;
    JsonWriter json_;
    std::string text_;
};

// Adds the facts that do not depend on the content of the store, if they are known.
void add_outside(FactWriter& writer, const std::string& store, const StoreFacts& facts) {
    writer.add("Store", "store", std::string_view(store));
    if (facts.created != WallTime{}) {
        writer.add("Created", "made", std::string_view(format_time(facts.created)));
    }
    if (facts.files == 0) return;
    writer.add("Files", "files", facts.files);
    writer.add("Bytes", "bytes", facts.bytes);
}

void add_facts(FactWriter& writer, const std::string& store, const StoreFacts& facts) {
    add_outside(writer, store, facts);
    writer.add("Sessions", "sessions", facts.sessions);
    writer.add("EndedSessions", "ended sessions", facts.ended_sessions);
    writer.add("Grants", "grants", facts.grants);
    writer.add("EndedGrants", "ended grants", facts.ended_grants);
    writer.add("Classes", "classes", facts.classes);
    writer.add("AuditRows", "audit rows", facts.audit_rows);
    writer.add("LastToken", "last token", facts.last_token);
    writer.add("TokenMark", "tokens below", facts.token_mark);
    writer.add("LastVersion", "last version", facts.last_version);
    writer.add("VersionMark", "versions below", facts.version_mark);
    writer.add("BootEpoch", "boot epoch", std::uint64_t{facts.boot_epoch});
    writer.add("Suspect", "suspect", facts.suspect);
    writer.add("Copy", "unopened copy", facts.copy);
}

void print_report(const StoreReport& report, const std::string& store, bool json) {
    if (json) {
        FactWriter writer(true);
        // If the store is damaged, its counts are incomplete.
        if (report.problems.empty()) {
            add_facts(writer, store, report.facts);
        } else {
            add_outside(writer, store, report.facts);
        }
        writer.add("Sound", "", report.problems.empty());
        writer.json().key("Problems");
        writer.json().begin_array();
        for (const auto& problem : report.problems) writer.json().string(problem);
        writer.json().end_array();
        return print(writer.take());
    }
    for (const auto& problem : report.problems) complain(printable(problem));
    if (!report.problems.empty()) return;
    const auto& facts = report.facts;
    print("sound: " + std::to_string(facts.files) + " files, " + bytes_for_people(facts.bytes) +
          "; " + std::to_string(facts.sessions) + " sessions, " + std::to_string(facts.grants) +
          " grants, " + std::to_string(facts.ended_grants) + " ended grants, " +
          std::to_string(facts.classes) + " classes");
}

// Returns the current size of the backup in `directory`. While the backup is made, the subdirectory
// with the database is renamed twice.
std::uint64_t grown(const std::string& directory) {
    for (const char* name : {"/db.partial.tmp", "/db.partial", "/db"}) {
        if (const auto size = size_of_directory(directory + name); size && size->files > 0) {
            return size->bytes;
        }
    }
    return 0;
}

// Shows the progress of a backup that a daemon makes on this machine. Returns null if the size of
// the store is unknown.
std::unique_ptr<Ticker> watch_backup(LockConnection& manager, const std::string& directory,
                                     ProgressBar& bar) {
    const auto pong = manager.ask<Pong>(Call{Ping{}, {}, {}});
    const auto whole = pong ? size_of_directory(pong->store + "/db")
                            : Result<DirectorySize>(Error(ErrorCode::io_error, ""));
    if (!whole) return nullptr;
    return std::make_unique<Ticker>(
        // The store may grow meanwhile. The bar stays below 100 % until the daemon has replied.
        [&bar, directory, bytes = whole->bytes] {
            if (bytes > 0) bar.set(std::min(grown(directory), bytes - bytes / 100), bytes);
        });
}

}  // namespace

int db_check_verb(const Arguments& arguments) {
    const auto store = store_of(arguments);
    if (!store) return fail(store.error());
    const auto report = check_store(*store);
    if (!report) return fail(in_use(report.error(), *store));
    print_report(*report, *store, arguments.has("json"));
    if (report->problems.empty()) return exit_status::done;
    complain(
        "the store in " + printable(*store) +
        " is damaged: restore a backup into a new directory (rocklock db restore BACKUP --db DIR) "
        "and serve that directory; keep the damaged store until you know which data was lost");
    return exit_status::internal;
}

int db_stats_verb(const Arguments& arguments) {
    const auto store = store_of(arguments);
    if (!store) return fail(store.error());
    const auto facts = inspect_store(*store);
    if (!facts) return fail(about_store(facts.error(), *store));
    FactWriter writer(arguments.has("json"));
    add_facts(writer, *store, *facts);
    print(writer.take());
    return exit_status::done;
}

int db_backup_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto manager =
        open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());
    // The daemon writes the backup, and its current directory is not ours.
    std::error_code nowhere;
    const auto directory =
        fs::absolute(arguments.operands.front(), nowhere).lexically_normal().string();
    if (nowhere) {
        return fail(Error(ErrorCode::invalid_argument,
                          "give a directory that is new or empty, and an absolute path if the "
                          "current directory was removed"));
    }
    Result<BackedUp> made = Error(ErrorCode::io_error, "");
    {
        ProgressBar bar("backing up");
        const auto watch = watch_backup(**manager, directory, bar);
        made = (*manager)->ask<BackedUp>(Call{Backup{directory}, {}, {}});
    }
    if (!made) return fail(made.error());
    if (arguments.has("json")) {
        FactWriter writer(true);
        writer.add("Directory", "", std::string_view(made->directory));
        writer.add("Files", "", made->files);
        writer.add("Bytes", "", made->bytes);
        print(writer.take());
    } else if (!arguments.has("quiet")) {
        print("backed up to " + printable(made->directory) + ": " + std::to_string(made->files) +
              " files, " + bytes_for_people(made->bytes));
    }
    return exit_status::done;
}

namespace {

// Returns the URL of the store on etcd into which `db restore` writes; empty for a directory.
Result<std::string> etcd_target(const Arguments& arguments, const Settings& settings) {
    if (arguments.has("db") && arguments.has("store")) {
        return Error(ErrorCode::invalid_argument,
                     "--db and --store are both given: a backup is restored into one of them");
    }
    if (arguments.has("db")) return std::string();
    return read_etcd_url(settings);
}

Result<void> restore(const std::string& backup, const std::string& store, bool on_etcd,
                     const Settings& settings) {
    ProgressBar bar("restoring");
    const auto show = [&](auto done, auto whole) { bar.set(done, whole); };
    if (on_etcd) {
        EtcdOptions options;
        if (auto read = read_etcd_access(settings, options); !read) return read;
        return restore_store_to_etcd(backup, store, options, show);
    }
    if (const auto slash = store.rfind('/'); slash != std::string::npos && slash > 0) {
        if (auto made = make_directories(store.substr(0, slash)); !made) return made;
    }
    return restore_store(backup, store, show);
}

}  // namespace

int db_restore_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto url = etcd_target(arguments, *settings);
    if (!url) return fail(url.error());
    const bool on_etcd = !url->empty();
    const auto store = on_etcd ? *url : store_of(arguments);
    if (!store) return fail(store.error());
    const auto restored = restore(arguments.operands.front(), *store, on_etcd, *settings);
    if (!restored && restored.error().code == ErrorCode::corrupt) {
        complain(printable(restored.error().message) + "; restore another backup");
        return exit_status::internal;
    }
    if (!restored) return fail(restored.error());
    if (arguments.has("json")) {
        FactWriter writer(true);
        writer.add("Store", "", std::string_view(*store));
        print(writer.take());
    } else if (!arguments.has("quiet")) {
        print("restored to " + printable(*store) +
              ": its first open ends the sessions and grants of the backup");
    }
    return exit_status::done;
}

}  // namespace rocklock
