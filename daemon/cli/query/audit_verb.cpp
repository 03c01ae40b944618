// audit: lists or exports the grants that were stolen, broken or transferred, and the classes that
// were drained or resumed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

constexpr std::uint32_t rows_per_page = 10'000;

struct Exported {
    std::uint64_t rows = 0;
    // The sequence number of the last row; if there are no rows, the number after which the reading
    // began.
    std::uint64_t last = 0;
};

// Passes each row after `after` to `take`, in order. A page can be shorter than requested although
// there are more rows, so the end is the first empty page.
Result<Exported> read_rows(LockConnection& manager, std::uint64_t after,
                           const std::function<Result<void>(const AuditRow&)>& take) {
    Exported read{0, after};
    while (true) {
        const auto page = manager.ask<AuditPage>(Call{ListAudit{read.last, rows_per_page}, {}, {}});
        if (!page) return Error(page.error());
        if (page->rows.empty()) return read;
        for (const auto& row : page->rows) {
            if (auto taken = take(row); !taken) return std::move(taken).error();
            read.last = row.sequence;
            ++read.rows;
        }
    }
}

// Returns the file that a path names, through symbolic links.
std::string target_of(const std::string& path) {
    std::error_code failed;
    auto target = std::filesystem::canonical(path, failed);
    return failed ? path : target.string();
}

// A file that replaces the file at `path` only when it is complete. The destructor removes an
// incomplete one. If `path` names a device, a pipe or another special file, it is written directly.
class NewFile {
public:
    explicit NewFile(const std::string& path)
        : path_(target_of(path)), partial_(path_ + ".new-" + std::to_string(::getpid())) {
        struct stat old {};
        const bool exists = ::stat(path_.c_str(), &old) == 0;
        existed_ = exists;
        direct_ = exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode);
        const mode_t mode = exists ? old.st_mode & 0777U : 0600U;
        const int descriptor =
            direct_ ? ::open(path_.c_str(), O_WRONLY | O_CLOEXEC)
                    : ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                             0600);
        if (descriptor >= 0 && !direct_) std::ignore = ::fchmod(descriptor, mode);
        if (descriptor >= 0) file_ = ::fdopen(descriptor, "w");
        if (file_ == nullptr) reason_ = errno;
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() {
        if (file_ == nullptr) return;
        std::fclose(file_);
        if (!direct_) ::unlink(partial_.c_str());
    }

    // Whether `path` named a file or a special file before.
    bool existed() const { return existed_; }
    Result<void> opened() const { return reason_ == 0 ? Result<void>() : failed(reason_); }
    Result<void> write_line(const std::string& line) {
        const bool whole = std::fwrite(line.data(), 1, line.size(), file_) == line.size() &&
                           std::fputc('\n', file_) != EOF;
        return whole ? Result<void>() : failed(errno);
    }
    // If `only_new`, fails if another process has created a file at `path` meanwhile.
    Result<void> finish(bool only_new) {
        if (direct_)
            return std::fclose(std::exchange(file_, nullptr)) == 0 ? Result<void>() : failed(errno);
        if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) return failed(errno);
        if (!put_in_place(only_new)) return failed(errno);
        if (!sync_directory()) return failed(errno);
        std::fclose(std::exchange(file_, nullptr));
        return {};
    }

private:
    bool put_in_place(bool only_new) const {
        if (!only_new) return ::rename(partial_.c_str(), path_.c_str()) == 0;
        return ::link(partial_.c_str(), path_.c_str()) == 0 && ::unlink(partial_.c_str()) == 0;
    }
    // Syncs the directory of the file, so that a power cut does not restore the old file.
    bool sync_directory() const {
        const auto slash = path_.rfind('/');
        const auto directory = slash == std::string::npos ? std::string(".")
                               : slash == 0               ? std::string("/")
                                                          : path_.substr(0, slash);
        const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0) return false;
        const bool synced = ::fsync(descriptor) == 0;
        ::close(descriptor);
        return synced;
    }
    Error failed(int reason) const {
        const bool denied = reason == EACCES || reason == EPERM || reason == EROFS;
        const bool wrong =
            reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == EEXIST;
        return {denied  ? ErrorCode::read_only
                : wrong ? ErrorCode::invalid_argument
                        : ErrorCode::io_error,
                "cannot write " + path_ + ": " + std::strerror(reason) +
                    "; name a file in a directory that exists and that you can write to"};
    }

    const std::string path_;
    const std::string partial_;
    bool existed_ = false;
    bool direct_ = false;
    std::FILE* file_ = nullptr;
    int reason_ = 0;
};

// If `trimmed` is set, it is the number of rows that were deleted after the export.
void print_exported(const Exported& exported, const std::optional<std::uint64_t>& trimmed,
                    const std::string& path, const Arguments& arguments) {
    if (arguments.has("json")) {
        JsonWriter json;
        json.begin_object();
        json.key("File");
        json.string(path);
        json.key("Rows");
        json.number(exported.rows);
        json.key("LastSequence");
        json.number(exported.last);
        if (trimmed) {
            json.key("Deleted");
            json.number(*trimmed);
        }
        json.end_object();
        print(json.text());
    } else if (!arguments.has("quiet")) {
        const auto counted = [](std::uint64_t count) {
            return std::to_string(count) + (count == 1 ? " row" : " rows");
        };
        print(counted(exported.rows) + " exported to " + printable(path) +
              (trimmed ? ", and " + counted(*trimmed) + " deleted from the log" : "") +
              "; continue with --after " + std::to_string(exported.last));
    }
}

int export_rows(LockConnection& manager, std::uint64_t after, const std::string& path,
                const Arguments& arguments) {
    NewFile file(path);
    if (auto opened = file.opened(); !opened) return fail(opened.error());
    if (file.existed() && arguments.has("trim")) {
        return fail(Error(ErrorCode::invalid_argument,
                          path + " exists, and may contain the only copy of earlier rows: with "
                                 "--trim, name a new file"));
    }
    const auto exported = read_rows(
        manager, after, [&](const AuditRow& row) { return file.write_line(write_value(row)); });
    if (!exported) return fail(exported.error());
    if (auto finished = file.finish(arguments.has("trim")); !finished)
        return fail(finished.error());
    std::optional<std::uint64_t> trimmed;
    if (arguments.has("trim")) {
        trimmed = 0;
        if (exported->rows > 0) {
            const auto reply = manager.ask<TrimmedAudit>(Call{TrimAudit{exported->last}, {}, {}});
            if (!reply) return fail(reply.error());
            trimmed = reply->rows;
        }
    }
    print_exported(*exported, trimmed, path, arguments);
    return exit_status::done;
}

}  // namespace

int audit_verb(const Arguments& arguments) {
    std::uint64_t after = 0;
    if (const auto text = arguments.get("after")) {
        const auto number = number_in("after", *text);
        if (!number) return fail(number.error());
        after = *number;
    }
    if (arguments.has("trim") && (!arguments.get("export") || arguments.has("after"))) {
        return fail(Error(ErrorCode::invalid_argument,
                          "--trim deletes all rows after they were exported: add --export FILE and "
                          "omit --after"));
    }
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto manager =
        open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());
    if (const auto path = arguments.get("export")) {
        return export_rows(**manager, after, absolute_path(*path), arguments);
    }
    TextTable table(
        {"SEQUENCE", "AT", "OUTCOME", "BY", "RESOURCE", "PRINCIPAL", "GRANT", "REASON"});
    const auto read = read_rows(**manager, after, [&](const AuditRow& row) -> Result<void> {
        if (arguments.has("json")) {
            print(write_value(row));
            return {};
        }
        table.add({std::to_string(row.sequence), format_time(row.at),
                   std::string(word(row.outcome)), printable(row.by), printable(row.resource),
                   printable(row.principal),
                   row.grant == GrantId{} ? "" : std::to_string(number(row.grant)),
                   printable(row.reason)});
        return {};
    });
    if (!read) return fail(read.error());
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

}  // namespace rocklock
