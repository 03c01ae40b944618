#include "storage/rocksdb/memtable.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "storage/entry_list.hpp"
#include "storage/frequent_yield.hpp"

namespace rocklock {
namespace {

using rocksdb::KeyHandle;
using rocksdb::Slice;

// Whether this is a thread of RocksDB that writes memtables to files. No caller waits for its
// reads.
thread_local bool flushes = false;
thread_local FrequentYield flush_yield;

class FlushListener final : public rocksdb::EventListener {
public:
    void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { flushes = true; }
};

// If RocksDB passes an arena for an iterator, it destroys the iterator without freeing its memory.
// It never destroys the iterators of MemTableRep::Get(). The functions below therefore manage the
// memory, and `delete` of an iterator frees none.
class EntryIterator : public rocksdb::MemTableRep::Iterator {
public:
    explicit EntryIterator(const EntryList& list) : list_(list) {}
    static void operator delete(void*) {}

    bool Valid() const override { return node_ != nullptr; }
    const char* key() const override { return node_->entry(); }
    void Next() override {
        node_ = node_->next();
        if (yields_) flush_yield.step();
    }
    void Prev() override { node_ = list_.last_before(node_->key()); }
    void Seek(const Slice& key, const char* entry) override {
        node_ = list_.first_not_before(internal_key(key, entry));
    }
    void SeekForPrev(const Slice& key, const char* entry) override {
        Seek(key, entry);
        if (!Valid()) SeekToLast();
        const std::string_view wanted = internal_key(key, entry);
        while (Valid() && compare_internal_keys(node_->key(), wanted) > 0) Prev();
    }
    void SeekToFirst() override { node_ = list_.first(); }
    void SeekToLast() override { node_ = list_.last(); }

private:
    static std::string_view internal_key(const Slice& key, const char* entry) {
        return (entry == nullptr ? key : rocksdb::GetLengthPrefixedSlice(entry)).ToStringView();
    }

    const EntryList& list_;
    const EntryList::Node* node_ = nullptr;
    const bool yields_ = flushes;
};

// Whether this thread has destroyed its IteratorMemory. Objects that are destroyed later, at the
// exit of the process, can still use iterators.
thread_local bool memory_destroyed = false;

// The memory of iterators that were destroyed by this thread.
class IteratorMemory {
public:
    IteratorMemory() { free_.reserve(max_free); }
    IteratorMemory(const IteratorMemory&) = delete;
    IteratorMemory& operator=(const IteratorMemory&) = delete;
    ~IteratorMemory() {
        memory_destroyed = true;
        for (void* const memory : free_) ::operator delete(memory);
    }

    static void* take(std::size_t size) {
        if (memory_destroyed || of_thread().free_.empty()) return ::operator new(size);
        auto& free = of_thread().free_;
        void* const memory = free.back();
        free.pop_back();
        return memory;
    }
    // Does not free `memory`, because the destructor that calls this function still uses it.
    static void put(void* memory) noexcept {
        if (memory_destroyed) return;
        auto& free = of_thread().free_;
        if (free.size() == max_free) {
            ::operator delete(free.back());
            free.pop_back();
        }
        free.push_back(memory);
    }

private:
    static constexpr std::size_t max_free = 16;

    static IteratorMemory& of_thread() {
        thread_local IteratorMemory memory;
        return memory;
    }

    std::vector<void*> free_;
};

class PooledIterator final : public EntryIterator {
public:
    using EntryIterator::EntryIterator;
    PooledIterator(const PooledIterator&) = delete;
    PooledIterator& operator=(const PooledIterator&) = delete;
    // The memory is not used again before the destructor has returned, because it is reused only by
    // this thread.
    ~PooledIterator() override { IteratorMemory::put(this); }
};

class Memtable final : public rocksdb::MemTableRep {
public:
    explicit Memtable(rocksdb::Allocator* allocator) : MemTableRep(allocator) {}

    KeyHandle Allocate(std::size_t size, char** entry) override {
        const int height = list_.random_height();
        EntryList::Node* const node =
            EntryList::initialize(aligned(EntryList::node_bytes(height) + size), height);
        *entry = node->entry();
        return node;
    }
    void Insert(KeyHandle handle) override { InsertKey(handle); }
    bool InsertKey(KeyHandle handle) override {
        return list_.insert(static_cast<EntryList::Node*>(handle), hint_);
    }
    void InsertWithHint(KeyHandle handle, void** hint) override { InsertKeyWithHint(handle, hint); }
    bool InsertKeyWithHint(KeyHandle handle, void** hint) override {
        if (*hint == nullptr) *hint = ::new (aligned(sizeof(EntryList::Hint))) EntryList::Hint;
        return list_.insert(static_cast<EntryList::Node*>(handle),
                            *static_cast<EntryList::Hint*>(*hint));
    }
    bool Contains(const char* entry) const override {
        const std::string_view key = rocksdb::GetLengthPrefixedSlice(entry).ToStringView();
        const EntryList::Node* const node = list_.first_not_before(key);
        return node != nullptr && compare_internal_keys(node->key(), key) == 0;
    }
    // All memory is allocated through the allocator.
    std::size_t ApproximateMemoryUsage() override { return 0; }
    Iterator* GetIterator(rocksdb::Arena*) override {
        return ::new (IteratorMemory::take(sizeof(PooledIterator))) PooledIterator(list_);
    }
    // Without a prefix extractor, RocksDB calls this only in MemTableRep::Get(), which uses one
    // iterator at a time and does not destroy it.
    Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override {
        if (arena != nullptr) return GetIterator(arena);
        alignas(EntryIterator) thread_local std::byte memory[sizeof(EntryIterator)];
        return ::new (static_cast<void*>(memory)) EntryIterator(list_);
    }

private:
    void* aligned(std::size_t size) {
        constexpr std::size_t alignment = alignof(EntryList::Hint);
        char* memory = nullptr;
        // RocksDB's arena returns aligned memory only for some sizes.
        MemTableRep::Allocate(size + alignment - 1, &memory);
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        return memory + (alignment - address % alignment) % alignment;
    }

    EntryList list_;
    EntryList::Hint hint_;
};

class MemtableFactory final : public rocksdb::MemTableRepFactory {
public:
    const char* Name() const override { return "RocklockMemtable"; }
    using MemTableRepFactory::CreateMemTableRep;
    rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator&,
                                            rocksdb::Allocator* allocator,
                                            const rocksdb::SliceTransform*,
                                            rocksdb::Logger*) override {
        return new Memtable(allocator);
    }
    bool CanHandleDuplicatedKey() const override { return true; }
};

}  // namespace

std::shared_ptr<rocksdb::EventListener> make_flush_listener() {
    return std::make_shared<FlushListener>();
}

std::shared_ptr<rocksdb::MemTableRepFactory> make_memtable_factory() {
    return std::make_shared<MemtableFactory>();
}

}  // namespace rocklock
