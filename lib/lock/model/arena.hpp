// Memory for the nodes of lock tables and the buckets of their indexes, within 32 GB of address
// space that is reserved once. A pointer to an object in this range needs only four bytes, and an
// allocated piece of memory has no header. Beyond the first 16 MB, the system is advised to use
// huge pages.
//
// There may be millions of held locks, and each consists of a few small nodes that point to each
// other. With the ordinary allocator and ordinary pointers, the nodes would need 50% more memory.
//
// Freed pieces are reused for pieces of the same size. When all pieces are free, the memory is
// returned to the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rocklock {

// Threads: thread-safe.
class Arena {
public:
    static constexpr std::size_t alignment = 8;
    static constexpr std::size_t max_piece = 4096;

    // Allocates at most `max_piece` bytes. Throws std::bad_alloc if there is no memory, as `new`
    // does.
    static void* allocate(std::size_t bytes);
    static void free(void* memory, std::size_t bytes) noexcept;
    // Returns the number of pieces that are allocated and not freed, for tests.
    static std::size_t pieces_in_use();

    // The beginning of the address range. Null until the first allocation.
    [[gnu::visibility("hidden")]] static char* base;
};

// Base class: `new` allocates the objects of derived classes in the arena.
struct InArena {
    static void* operator new(std::size_t bytes) { return Arena::allocate(bytes); }
    static void* operator new(std::size_t, void* address) noexcept { return address; }
    static void operator delete(void* memory, std::size_t bytes) { Arena::free(memory, bytes); }
};

// A pointer to an object in the arena, or null.
template <typename T>
class Near {
public:
    Near() = default;
    // Converts implicitly from and to T*.
    Near(T* to) : offset_(offset_of(to)) {}
    operator T*() const { return get(); }
    T* operator->() const { return get(); }
    T& operator*() const { return *get(); }

    T* get() const {
        if (offset_ == 0) return nullptr;
        return reinterpret_cast<T*>(Arena::base + std::size_t{offset_} * Arena::alignment);
    }

private:
    static std::uint32_t offset_of(const T* to) {
        if (to == nullptr) return 0;
        const auto offset = reinterpret_cast<const char*>(to) - Arena::base;
        return static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / Arena::alignment);
    }

    std::uint32_t offset_ = 0;
};

// An owning pointer to an object in the arena, or null.
template <typename T>
class NearOwner {
public:
    NearOwner() = default;
    NearOwner(const NearOwner&) = delete;
    NearOwner& operator=(const NearOwner&) = delete;
    NearOwner& operator=(std::unique_ptr<T> owned) {
        delete held_.get();
        held_ = owned.release();
        return *this;
    }
    ~NearOwner() { delete held_.get(); }
    // Returns the object, which the caller owns then.
    std::unique_ptr<T> take() {
        std::unique_ptr<T> taken(held_.get());
        held_ = nullptr;
        return taken;
    }

    T* get() const { return held_.get(); }
    T* operator->() const { return held_.get(); }
    T& operator*() const { return *held_; }
    explicit operator bool() const { return held_.get() != nullptr; }

private:
    Near<T> held_;
};

}  // namespace rocklock
