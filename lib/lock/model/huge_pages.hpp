// An allocator for arrays that can be very large and are accessed in random order.
//
// With pages of 4 KB, almost every access to an array of many megabytes misses the processor's
// cache of page addresses (TLB), and the processor first reads the page table, which takes longer
// than the access itself, above all in a virtual machine. Large arrays therefore consist of huge
// pages, if the system permits them (/sys/kernel/mm/transparent_hugepage/enabled).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace rocklock {

inline constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Advises the system to use huge pages for the aligned blocks of 2 MB that are completely in this
// memory, which must be mapped. If the system does not permit huge pages, only the speed is
// different.
inline void advise_huge_pages(void* memory, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const std::size_t skipped = (huge_page_bytes - address % huge_page_bytes) % huge_page_bytes;
    if (bytes < skipped + huge_page_bytes) return;
    madvise(static_cast<char*>(memory) + skipped,
            (bytes - skipped) / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);
}

// Threads: thread-safe.
template <typename T>
struct HugePageAllocator {
    using value_type = T;
    // Smaller arrays are allocated with `new`.
    static constexpr std::size_t min_bytes = 2 * huge_page_bytes;

    HugePageAllocator() = default;
    template <typename Other>
    HugePageAllocator(const HugePageAllocator<Other>& /*other*/) {}

    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (count > PTRDIFF_MAX / sizeof(T) || bytes < min_bytes) {
            return std::allocator<T>().allocate(count);
        }
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        advise_huge_pages(memory, bytes);
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        const std::size_t bytes = count * sizeof(T);
        if (bytes < min_bytes) return std::allocator<T>().deallocate(memory, count);
        munmap(memory, bytes);
    }

    friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

}  // namespace rocklock
