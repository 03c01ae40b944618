// Memory for what the lock table is made of, within 32 GB of addresses that are reserved once, so
// that a pointer into it fits in four bytes and a piece costs no more than its size.
//
// There may be millions of held locks, each of a few small pieces that point at each other: with
// the ordinary allocator and ordinary pointers they take half as much again.
//
// Freed pieces are kept for others of their size; the memory goes back to the system when the last
// piece of all is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rocklock {

// Threads: thread-safe.
class Arena {
public:
    static constexpr std::size_t alignment = 8;

    // At most 4 KB. Throws std::bad_alloc as `new` does.
    static void* allocate(std::size_t bytes);
    static void free(void* memory, std::size_t bytes) noexcept;

    // Where the addresses begin; known from the first allocation on.
    [[gnu::visibility("hidden")]] static char* base;
};

// A class that derives from this lies in the arena when it is made with `new`.
struct InArena {
    static void* operator new(std::size_t bytes) { return Arena::allocate(bytes); }
    static void* operator new(std::size_t, void* place) noexcept { return place; }
    static void operator delete(void* memory, std::size_t bytes) { Arena::free(memory, bytes); }
};

// A pointer to something in the arena, or null.
template <typename T>
class Near {
public:
    Near() = default;
    // As a T* does, from and to.
    Near(T* to) : place_(place_of(to)) {}
    operator T*() const { return get(); }
    T* operator->() const { return get(); }
    T& operator*() const { return *get(); }

    T* get() const {
        if (place_ == 0) return nullptr;
        return reinterpret_cast<T*>(Arena::base + std::size_t{place_} * Arena::alignment);
    }

private:
    static std::uint32_t place_of(const T* to) {
        if (to == nullptr) return 0;
        const auto offset = reinterpret_cast<const char*>(to) - Arena::base;
        return static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / Arena::alignment);
    }

    std::uint32_t place_ = 0;
};

// The same for what it owns.
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

    T* get() const { return held_.get(); }
    T* operator->() const { return held_.get(); }
    T& operator*() const { return *held_; }
    explicit operator bool() const { return held_.get() != nullptr; }

private:
    Near<T> held_;
};

}  // namespace rocklock
