// A part is a sorted list of entries (entry_list.hpp). The user key of an entry is the family and
// the key of the record, and its trailer is the sequence number of the write. An entry is never
// changed or removed, so a snapshot of a part is only a sequence number.
//
//     varint: length    1: family   key   8: sequence number    4: length    value
//
// The last length is in the byte order of the machine.
#include "storage/record_buffer.hpp"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <memory_resource>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "storage/entry_list.hpp"

namespace rocklock {
namespace {

using Node = EntryList::Node;

// The greatest sequence number. A search with it finds the newest entry of a user key.
constexpr std::uint64_t max_sequence = UINT64_MAX;

// The size of the first block of memory of a part. Later blocks are greater.
constexpr std::size_t first_block_bytes = 64U << 10;

// Allocates whole pages, which are returned to the system when they are freed. malloc() would keep
// the blocks of a part, which are several megabytes, although they are freed at every flush.
class PageMemory final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        ROCKLOCK_ASSERT(alignment <= 4096);
        void* const memory =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return memory;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) override {
        ::munmap(memory, bytes);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

std::string make_user_key(Family family, std::string_view key) {
    std::string user_key;
    user_key.reserve(1 + key.size() + trailer_bytes);
    user_key.push_back(static_cast<char>(family));
    user_key += key;
    return user_key;
}

char* write_trailer(char* at, std::uint64_t trailer) {
    for (std::size_t i = 0; i < trailer_bytes; ++i, trailer >>= 8) {
        *at++ = static_cast<char>(trailer & 0xFF);
    }
    return at;
}

std::string internal_key_of(std::string user_key, std::uint64_t sequence) {
    const std::size_t size = user_key.size();
    user_key.resize(size + trailer_bytes);
    write_trailer(user_key.data() + size, sequence);
    return user_key;
}

std::string_view user_key_of(const Node* node) {
    auto key = node->key();
    key.remove_suffix(trailer_bytes);
    return key;
}

std::string_view value_of(const Node* node) {
    const auto key = node->key();
    const char* const at = key.data() + key.size();
    std::uint32_t size = 0;
    std::memcpy(&size, at, sizeof size);
    return {at + sizeof size, size};
}

// Returns the memory of a node of the most frequent height, 1.
std::size_t bytes_of(const Node* node) {
    const auto value = value_of(node);
    return static_cast<std::size_t>(value.data() + value.size() -
                                    reinterpret_cast<const char*>(node));
}

// Returns the entry of the user key with the greatest sequence number up to `sequence`, or null.
const Node* find(const EntryList& list, std::string user_key, std::uint64_t sequence) {
    const std::size_t size = user_key.size();
    const std::string wanted = internal_key_of(std::move(user_key), sequence);
    const Node* const node = list.first_not_before(wanted);
    if (node == nullptr || user_key_of(node) != std::string_view(wanted).substr(0, size)) {
        return nullptr;
    }
    return node;
}

// Iterates over the keys of a list. For each key, the cursor is at the entry with the greatest
// sequence number up to `sequence`. Keys without such an entry are skipped.
class EntryCursor final : public Snapshot::Cursor {
public:
    // The range of user keys is [first, last).
    EntryCursor(const EntryList& list, std::uint64_t sequence, std::string first, std::string last)
        : list_(list), sequence_(sequence), first_(std::move(first)), last_(std::move(last)) {}

    void start(ScanDirection direction) {
        direction_ = direction;
        if (direction == ScanDirection::ascending) {
            ascend_from(list_.first_not_before(internal_key_of(first_, max_sequence)));
        } else {
            descend_from(list_.last_before(internal_key_of(last_, max_sequence)));
        }
    }

    bool valid() const override { return node_ != nullptr; }
    std::string_view key() const override { return user_key_of(node_).substr(1); }
    std::string_view value() const override { return value_of(node_); }
    void next() override {
        ROCKLOCK_ASSERT(valid());
        const auto current = user_key_of(node_);
        if (direction_ == ScanDirection::descending) {
            return descend_from(
                list_.last_before(internal_key_of(std::string(current), max_sequence)));
        }
        const Node* node = node_->next();
        while (node != nullptr && user_key_of(node) == current) node = node->next();
        ascend_from(node);
    }
    Result<void> status() const override { return {}; }

private:
    void ascend_from(const Node* node) {
        while (node != nullptr && trailer_of(node->key()) > sequence_) node = node->next();
        node_ = node != nullptr && user_key_of(node) < last_ ? node : nullptr;
    }
    // `node` is any entry of the next key.
    void descend_from(const Node* node) {
        for (node_ = nullptr; node != nullptr && user_key_of(node) >= first_;) {
            const std::string user_key(user_key_of(node));
            node_ = find(list_, user_key, sequence_);
            if (node_ != nullptr) return;
            node = list_.last_before(internal_key_of(user_key, max_sequence));
        }
    }

    const EntryList& list_;
    const std::uint64_t sequence_;
    const std::string first_;
    const std::string last_;
    ScanDirection direction_ = ScanDirection::ascending;
    const Node* node_ = nullptr;
};

// A range [first, last) of user keys.
struct UserKeys {
    // If `last_key` is empty, the range ends with the family.
    UserKeys(Family family, std::string_view first_key, std::string_view last_key)
        : first(make_user_key(family, first_key)),
          last(last_key.empty() ? std::string(1, static_cast<char>(family) + 1)
                                : make_user_key(family, last_key)) {}
    std::string first;
    std::string last;
};

std::unique_ptr<Snapshot::Cursor> scan_list(const EntryList& list, std::uint64_t sequence,
                                            UserKeys keys, ScanDirection direction) {
    auto cursor =
        std::make_unique<EntryCursor>(list, sequence, std::move(keys.first), std::move(keys.last));
    cursor->start(direction);
    return cursor;
}

}  // namespace

// Threads: one thread at a time calls add(). The other functions are thread-safe, also during an
//          add().
class RecordBuffer::Part {
public:
    void add(const Change& change, std::uint64_t sequence) {
        const auto [family, key, value] = change;
        const auto value_size = static_cast<std::uint32_t>(value.size());
        char key_size[max_varint_bytes];
        const std::size_t prefix = encode_varint(key_size, 1 + key.size() + trailer_bytes);
        const int height = list_.random_height();
        const std::size_t bytes = EntryList::node_bytes(height) + prefix + 1 + key.size() +
                                  trailer_bytes + sizeof value_size + value.size();
        Node* const node = EntryList::initialize(memory_.allocate(bytes, alignof(Node)), height);
        char* at = std::copy_n(key_size, prefix, node->entry());
        *at++ = static_cast<char>(family);
        at = std::copy(key.begin(), key.end(), at);
        at = write_trailer(at, sequence);
        std::memcpy(at, &value_size, sizeof value_size);
        std::copy(value.begin(), value.end(), at + sizeof value_size);
        const bool added = list_.insert(node, hint_for(key));
        ROCKLOCK_ASSERT(added);
        bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
        count_current(node);
    }

    const EntryList& list() const { return list_; }
    std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    std::size_t current_bytes() const { return current_bytes_.load(std::memory_order_relaxed); }
    bool has_records() const { return bytes() > 0; }

private:
    // Counts the record of a new node as current, and the one that it replaces, which follows it in
    // the list, as replaced.
    void count_current(const Node* node) {
        std::size_t bytes = current_bytes() + bytes_of(node);
        const Node* const next = node->next();
        if (next != nullptr && user_key_of(next) == user_key_of(node)) bytes -= bytes_of(next);
        current_bytes_.store(bytes, std::memory_order_relaxed);
    }
    EntryList::Hint& hint_for(std::string_view key) {
        const char kind = key.empty() ? '\0' : key.front();
        return hints_[static_cast<unsigned char>(kind) % hints_.size()];
    }

    PageMemory pages_;
    std::pmr::monotonic_buffer_resource memory_{first_block_bytes, &pages_};
    EntryList list_;
    // By the kind of the key, which is its first byte. If the previous insertion with the hint was
    // far from the new one, the insertion takes longer.
    std::array<EntryList::Hint, 8> hints_;
    std::atomic<std::size_t> bytes_{0};
    std::atomic<std::size_t> current_bytes_{0};
};

namespace {

// A snapshot that keeps its part in memory.
class PartSnapshot final : public Snapshot {
public:
    PartSnapshot(std::shared_ptr<const void> part, const EntryList& list)
        : part_(std::move(part)), list_(list) {}

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        const Node* const node = find(list_, make_user_key(family, key), max_sequence);
        if (node == nullptr) return std::optional<std::string>();
        return std::optional(std::string(value_of(node)));
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                 std::string_view last) const override {
        return scan_list(list_, max_sequence, {family, first, last}, ScanDirection::ascending);
    }
    std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                      std::string_view last) const override {
        return scan_list(list_, max_sequence, {family, first, last}, ScanDirection::descending);
    }

private:
    const std::shared_ptr<const void> part_;
    const EntryList& list_;
};

}  // namespace

RecordBuffer::RecordBuffer()
    : parts_(std::make_shared<const Parts>(Parts{std::make_shared<Part>(), nullptr})) {}

RecordBuffer::~RecordBuffer() = default;

void RecordBuffer::apply(std::span<const Change> changes) {
    Part& active = *current_parts()->active;
    std::uint64_t sequence = published_.load(std::memory_order_relaxed);
    for (const Change& change : changes) active.add(change, ++sequence);
    published_.store(sequence, std::memory_order_release);
}

RecordBuffer::Lookup RecordBuffer::get(Family family, std::string_view key) const {
    return view().get(family, key);
}

std::optional<std::optional<std::uint64_t>> RecordBuffer::version(Family family,
                                                                  std::string_view key) const {
    const View view = this->view();
    const auto value = view.find_value(family, key);
    if (!value) return std::nullopt;
    return std::optional(value->empty() ? std::nullopt : std::optional(version_of(*value)));
}

std::size_t RecordBuffer::bytes() const {
    MutexLock lock(mutex_);
    return parts_->active->bytes();
}

std::size_t RecordBuffer::current_bytes() const {
    MutexLock lock(mutex_);
    return parts_->active->current_bytes();
}

bool RecordBuffer::begin_drain() {
    const auto parts = current_parts();
    if (parts->draining != nullptr || !parts->active->has_records()) return false;
    replace_parts(std::make_shared<const Parts>(Parts{std::make_shared<Part>(), parts->active}));
    return true;
}

std::unique_ptr<Snapshot> RecordBuffer::draining() const {
    const auto parts = current_parts();
    if (parts->draining == nullptr) return nullptr;
    return std::make_unique<PartSnapshot>(parts->draining, parts->draining->list());
}

void RecordBuffer::end_drain() {
    const auto parts = current_parts();
    ROCKLOCK_ASSERT(parts->draining != nullptr);
    replace_parts(std::make_shared<const Parts>(Parts{parts->active, nullptr}));
}

RecordBuffer::View RecordBuffer::view() const {
    // If a drain begins before the number is read, the view contains all writes to these parts and
    // none to the later part, which is a prefix of the writes.
    auto parts = current_parts();
    return View(std::move(parts), published_.load(std::memory_order_acquire));
}

std::shared_ptr<const RecordBuffer::Parts> RecordBuffer::current_parts() const {
    MutexLock lock(mutex_);
    return parts_;
}

void RecordBuffer::replace_parts(std::shared_ptr<const Parts> parts) {
    MutexLock lock(mutex_);
    parts_.swap(parts);
}

std::optional<std::string_view> RecordBuffer::View::find_value(Family family,
                                                               std::string_view key) const {
    for (const Part* const part : parts_->newest_first()) {
        if (part == nullptr || !part->has_records()) continue;
        const Node* const node = find(part->list(), make_user_key(family, key), sequence_);
        if (node != nullptr) return value_of(node);
    }
    return std::nullopt;
}

RecordBuffer::Lookup RecordBuffer::View::get(Family family, std::string_view key) const {
    const auto value = find_value(family, key);
    if (!value) return {};
    return {true, value->empty() ? std::nullopt : std::optional(std::string(*value))};
}

std::vector<std::unique_ptr<Snapshot::Cursor>> RecordBuffer::View::scan(
    Family family, std::string_view first, std::string_view last, ScanDirection direction) const {
    std::vector<std::unique_ptr<Snapshot::Cursor>> cursors;
    for (const Part* const part : parts_->newest_first()) {
        if (part == nullptr || !part->has_records()) continue;
        cursors.push_back(scan_list(part->list(), sequence_, {family, first, last}, direction));
    }
    return cursors;
}

}  // namespace rocklock
