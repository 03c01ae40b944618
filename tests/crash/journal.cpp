#include "crash/journal.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/assert.hpp"

namespace rocklock::crash {
namespace {

constexpr std::size_t journal_bytes =
    sizeof(JournalHeader) + (Journal::capacity + 1) * sizeof(Entry);

}  // namespace

Journal::Journal(const std::string& path, bool create) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0),
                            S_IRUSR | S_IWUSR);
    if (file < 0) throw std::runtime_error("no journal " + path);
    if (create && ftruncate(file, static_cast<off_t>(journal_bytes)) != 0) {
        ::close(file);
        throw std::runtime_error("no space for the journal " + path);
    }
    mapped_ = mmap(nullptr, journal_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped_ == MAP_FAILED) throw std::runtime_error("the journal cannot be mapped");
    // A file of zeros is an empty journal.
    header_ = static_cast<JournalHeader*>(mapped_);
    static_assert(sizeof(JournalHeader) % alignof(Entry) == 0);
    entries_ = reinterpret_cast<Entry*>(static_cast<char*>(mapped_) + sizeof(JournalHeader));
}

Journal Journal::create(const std::string& path, const Orders& orders) {
    Journal journal(path, true);
    journal.header().orders = orders;
    return journal;
}

Journal Journal::open(const std::string& path) { return {path, false}; }

Journal::Journal(Journal&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      header_(other.header_),
      entries_(other.entries_) {}

Journal::~Journal() {
    if (mapped_ != nullptr) munmap(mapped_, journal_bytes);
}

Entry& Journal::prepare(const Operation& operation) const {
    const std::uint32_t index = header_->entries.fetch_add(1);
    ROCKLOCK_ASSERT(index < capacity);
    Entry& entry = entries_[index];
    const std::string bytes = encode(operation);
    ROCKLOCK_ASSERT(bytes.size() <= entry.operation.size());
    std::copy(bytes.begin(), bytes.end(), entry.operation.begin());
    entry.prepared_bytes.store(static_cast<std::uint32_t>(bytes.size()));
    return entry;
}

void Journal::decide(Entry& entry, Instant now) const {
    entry.boot = now.boot.time_since_epoch().count();
    entry.wall = now.wall.time_since_epoch().count();
    entry.decided.store(header_->decisions.fetch_add(1) + 1);
}

void Journal::answer(Entry& entry, const Result<Answer>& answer) {
    const std::string bytes = encode(answer);
    ROCKLOCK_ASSERT(bytes.size() <= entry.answer.size());
    std::copy(bytes.begin(), bytes.end(), entry.answer.begin());
    entry.answered_bytes.store(static_cast<std::uint32_t>(bytes.size()));
}

std::optional<Life> read(const Journal& journal) {
    Life life;
    const JournalHeader& header = journal.header();
    for (std::uint32_t i = 0; i < header.entries.load(); ++i) {
        const Entry& entry = journal.entry(i);
        const std::uint32_t size = entry.prepared_bytes.load();
        // The worker was killed while it wrote the operation, so it has not submitted it.
        if (size == 0) continue;
        auto operation = decode_operation({entry.operation.data(), size});
        if (!operation) return std::nullopt;
        Step step;
        step.operation = *std::move(operation);
        step.decided = entry.decided.load();
        step.at = {BootTime(BootTime::duration(entry.boot)),
                   WallTime(WallTime::duration(entry.wall))};
        life.decisions = std::max(life.decisions, step.decided);
        if (const std::uint32_t answered = entry.answered_bytes.load(); answered > 0) {
            step.answer = decode_answer({entry.answer.data(), answered});
            if (!step.answer) return std::nullopt;
        }
        life.steps.push_back(std::move(step));
    }
    const Orders& orders = header.orders;
    const bool alone = orders.threads == 1 && !orders.background;
    if (alone && header.killed_itself.load() != 0) life.written = header.written.load();
    return life;
}

}  // namespace rocklock::crash
