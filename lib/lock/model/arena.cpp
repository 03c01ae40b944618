#include "lock/model/arena.hpp"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <new>

#include "base/assert.hpp"
#include "base/mutex.hpp"
#include "lock/model/huge_pages.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) \
    (static_cast<void>(address), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) \
    (static_cast<void>(address), static_cast<void>(size))
#endif

namespace rocklock {

namespace {

// The address range that 32 bits can distinguish at the given alignment. If the system refuses to
// reserve so much, smaller ranges are tried.
constexpr std::size_t max_bytes = std::size_t{1} << 35;
constexpr std::size_t min_bytes = std::size_t{1} << 26;
// The range is made accessible in steps of this size.
constexpr std::size_t step_bytes = std::size_t{1} << 20;
// From this size on, the system is advised to use huge pages (lock/model/huge_pages.hpp).
constexpr std::size_t huge_from = std::size_t{1} << 24;
static_assert(huge_from % huge_page_bytes == 0 && huge_from % step_bytes == 0);

struct FreePiece {
    FreePiece* next;
};

class Pieces {
public:
    void* allocate(std::size_t bytes) ROCKLOCK_EXCLUDES(mutex_) {
        const std::size_t rounded = round_up(bytes);
        ROCKLOCK_ASSERT(bytes > 0 && rounded <= Arena::max_piece);
        MutexLock lock(mutex_);
        ++live_;
        FreePiece*& first = free_[rounded / Arena::alignment];
        if (first != nullptr) {
            FreePiece* const piece = first;
            ASAN_UNPOISON_MEMORY_REGION(piece, rounded);
            first = piece->next;
            return piece;
        }
        return fresh(rounded);
    }

    void free(void* memory, std::size_t bytes) noexcept ROCKLOCK_EXCLUDES(mutex_) {
        const std::size_t rounded = round_up(bytes);
        ROCKLOCK_ASSERT(bytes > 0 && rounded <= Arena::max_piece);
        MutexLock lock(mutex_);
        ROCKLOCK_ASSERT(live_ > 0);
        ROCKLOCK_ASSERT(memory > Arena::base && memory < Arena::base + used_);
        auto* const piece = static_cast<FreePiece*>(memory);
        FreePiece*& first = free_[rounded / Arena::alignment];
        piece->next = first;
        first = piece;
        ASAN_POISON_MEMORY_REGION(piece, rounded);
        if (--live_ == 0) give_back();
    }

    std::size_t in_use() ROCKLOCK_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        return live_;
    }

private:
    static std::size_t round_up(std::size_t bytes) {
        return (bytes + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
    }

    void* fresh(std::size_t bytes) ROCKLOCK_REQUIRES(mutex_) {
        if (Arena::base == nullptr) reserve();
        if (used_ + bytes > usable_ && !extend()) {
            --live_;
            throw std::bad_alloc();
        }
        void* const piece = Arena::base + used_;
        used_ += bytes;
        ROCKLOCK_ASSERT(used_ <= usable_ && usable_ <= reserved_);
        ASAN_UNPOISON_MEMORY_REGION(piece, bytes);
        return piece;
    }

    // Makes the next step of the range accessible. Returns false if that is not possible.
    bool extend() ROCKLOCK_REQUIRES(mutex_) {
        const std::size_t step = usable_ < huge_from ? step_bytes : huge_page_bytes;
        if (usable_ + step > reserved_) return false;
        char* const begin = Arena::base + usable_;
        if (mprotect(begin, step, PROT_READ | PROT_WRITE) != 0) return false;
        if (usable_ >= huge_from) advise_huge_pages(begin, step);
        usable_ += step;
        return true;
    }

    void reserve() ROCKLOCK_REQUIRES(mutex_) {
        for (std::size_t bytes = max_bytes; bytes >= min_bytes; bytes /= 2) {
            void* const memory = mmap(nullptr, bytes + huge_page_bytes, PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory == MAP_FAILED) continue;
            const auto address = reinterpret_cast<std::uintptr_t>(memory);
            Arena::base =
                static_cast<char*>(memory) + (huge_page_bytes - address % huge_page_bytes);
            reserved_ = bytes;
#if defined(__SANITIZE_ADDRESS__)
            __lsan_register_root_region(Arena::base, bytes);
#endif
            return;
        }
        --live_;
        throw std::bad_alloc();
    }

    void give_back() noexcept ROCKLOCK_REQUIRES(mutex_) {
        // Returning less memory would cost more than it saves.
        if (used_ < step_bytes) return;
        madvise(Arena::base, usable_, MADV_DONTNEED);
        free_ = {};
        used_ = Arena::alignment;
    }

    Mutex mutex_;
    std::array<FreePiece*, Arena::max_piece / Arena::alignment + 1> free_
        ROCKLOCK_GUARDED_BY(mutex_){};
    std::size_t live_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::size_t reserved_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::size_t usable_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    // Index 0 stands for null.
    std::size_t used_ ROCKLOCK_GUARDED_BY(mutex_) = Arena::alignment;
};

// Never destroyed, because lock tables may exist until the end of the process.
Pieces& pieces() {
    static auto* const all = new Pieces;
    return *all;
}

}  // namespace

char* Arena::base = nullptr;

void* Arena::allocate(std::size_t bytes) { return pieces().allocate(bytes); }

void Arena::free(void* memory, std::size_t bytes) noexcept { pieces().free(memory, bytes); }

std::size_t Arena::pieces_in_use() { return pieces().in_use(); }

}  // namespace rocklock
