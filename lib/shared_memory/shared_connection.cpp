#include "shared_memory/shared_connection.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>

namespace rocklock {
namespace {

constexpr std::size_t call_bytes = 16U << 10;
constexpr std::size_t response_bytes = 64U << 10;
constexpr std::size_t state_bytes = 512;
// MFD_NOEXEC_SEAL, which older headers do not define. Some systems refuse memory without it.
constexpr unsigned not_executable = 8;
constexpr std::size_t mapped_bytes = state_bytes + call_bytes + response_bytes;
// The maximum time for which a client polls for a response before it sleeps.
constexpr std::chrono::microseconds max_spin{200};

// The counter that is decremented for each wake-up of the client. The daemon creates it with the
// first value, and the client adds the second one, so that it suffices for all time.
constexpr unsigned first_wake_ups = UINT32_MAX;
constexpr std::uint64_t more_wake_ups = UINT64_MAX - 1 - UINT32_MAX;

bool add(int event, std::uint64_t value) {
    return ::write(event, &value, sizeof value) == sizeof value;
}

// Decrements the counter of an eventfd with EFD_SEMAPHORE, which wakes the processes that wait
// until the eventfd is writable. Does not block. Returns false if the counter is 0, or if the
// system does not support this.
bool take_one(int event) {
    std::uint64_t value = 0;
    const iovec space{&value, sizeof value};
    return ::preadv2(event, &space, 1, -1, RWF_NOWAIT) == sizeof value;
}

bool add_to_epoll(int poll, int fd, std::uint32_t events, int data) {
    epoll_event event{};
    event.events = events;
    event.data.fd = data;
    return ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

// Writes as many bytes as there is space for. If these are not all, sets `flag`, so that the reader
// wakes the writer when it reads. `wanted` is the value of the flag.
ssize_t write_or_want_space(RingWriter& ring, std::string_view bytes,
                            std::atomic<std::uint32_t>& flag, bool& wanted) {
    const auto size = ring.write(bytes);
    if (size < 0 && errno != EAGAIN) return size;
    const auto written = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    if (written < bytes.size()) {
        if (!std::exchange(wanted, true)) flag.store(1);
        // The reader may have read before it could see the flag.
        const auto more = ring.write(bytes.substr(written));
        return more < 0 ? size : static_cast<ssize_t>(written) + more;
    }
    if (std::exchange(wanted, false)) flag.store(0);
    return size;
}

}  // namespace

// The part of the memory that is not the space of a queue.
struct SharedMapping::State {
    RingPositions calls;
    RingPositions responses;
    // Written by the client: whether it has mapped the memory; whether it is waiting, so that it
    // must be woken when the daemon writes; and whether it must be woken when the daemon reads.
    alignas(64) std::atomic<std::uint32_t> attached;
    std::atomic<std::uint32_t> client_waits;
    std::atomic<std::uint32_t> client_wants_space;
    // Written by the daemon: whether it must be woken when the client reads.
    alignas(64) std::atomic<std::uint32_t> daemon_wants_space;
};

// ---- The memory ----

std::unique_ptr<SharedMapping> SharedMapping::map(int memory) {
    struct stat status {};
    if (::fstat(memory, &status) != 0 || status.st_size < static_cast<off_t>(mapped_bytes)) {
        return nullptr;
    }
    void* const address =
        ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (address == MAP_FAILED) return nullptr;
    return std::make_unique<SharedMapping>(address);
}

Descriptor SharedMapping::create() {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    Descriptor memory(::memfd_create("rocklock", flags | not_executable));
    // Linux knows the flag since version 6.3.
    if (!memory && errno == EINVAL) memory = Descriptor(::memfd_create("rocklock", flags));
    if (!memory) return {};
    constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (::ftruncate(memory.get(), mapped_bytes) != 0) return {};
    if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0) return {};
    return memory;
}

SharedMapping::~SharedMapping() { ::munmap(address_, mapped_bytes); }

SharedMapping::State& SharedMapping::state() const {
    static_assert(sizeof(State) <= state_bytes);
    return *static_cast<State*>(address_);
}

std::span<char> SharedMapping::calls() const {
    return {static_cast<char*>(address_) + state_bytes, call_bytes};
}

std::span<char> SharedMapping::responses() const {
    return {static_cast<char*>(address_) + state_bytes + call_bytes, response_bytes};
}

// ---- The daemon's end ----

std::unique_ptr<SharedDaemonEnd> SharedDaemonEnd::create() {
    auto memory = SharedMapping::create();
    auto mapping = memory ? SharedMapping::map(memory.get()) : nullptr;
    if (!mapping) return nullptr;
    std::unique_ptr<SharedDaemonEnd> end(
        new SharedDaemonEnd(std::move(memory), std::move(mapping)));
    if (!end->daemon_event_ || !end->client_event_) return nullptr;
    // Linux supports this since version 5.8.
    if (!take_one(end->client_event_.get())) return nullptr;
    return end;
}

SharedDaemonEnd::SharedDaemonEnd(Descriptor memory, std::unique_ptr<SharedMapping> mapping)
    : mapping_(std::move(mapping)),
      calls_(mapping_->state().calls, mapping_->calls()),
      responses_(mapping_->state().responses, mapping_->responses()),
      memory_(std::move(memory)),
      daemon_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      client_event_(::eventfd(first_wake_ups, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {}

bool SharedDaemonEnd::attached() const {
    return mapping_->state().attached.load(std::memory_order_relaxed) != 0;
}

ssize_t SharedDaemonEnd::receive(std::span<char> buffer) {
    const auto size = calls_.read(buffer);
    if (size > 0 && mapping_->state().client_wants_space.load() != 0) wake_client();
    return size;
}

ssize_t SharedDaemonEnd::send(std::string_view bytes) {
    const auto size =
        write_or_want_space(responses_, bytes, mapping_->state().daemon_wants_space, wants_space_);
    if (size > 0 && mapping_->state().client_waits.load() != 0) wake_client();
    return size;
}

void SharedDaemonEnd::watch_reads() {
    wants_space_ = true;
    mapping_->state().daemon_wants_space.store(1);
}

void SharedDaemonEnd::wake_client() const { take_one(client_event_.get()); }

// ---- The client's end ----

std::shared_ptr<SharedClientEnd> SharedClientEnd::attach(std::vector<Descriptor> descriptors) {
    if (descriptors.size() != 3) return nullptr;
    auto mapping = SharedMapping::map(descriptors[0].get());
    if (!mapping) return nullptr;
    std::shared_ptr<SharedClientEnd> end(
        new SharedClientEnd(std::move(mapping), std::move(descriptors)));
    constexpr auto events = EPOLLOUT | EPOLLET;
    if (!end->poll_ || !add_to_epoll(end->poll_.get(), end->client_event_.get(), events, -1) ||
        !add(end->client_event_.get(), more_wake_ups)) {
        return nullptr;
    }
    end->mapping_->state().attached.store(1);
    return end;
}

SharedClientEnd::SharedClientEnd(std::unique_ptr<SharedMapping> mapping,
                                 std::vector<Descriptor> descriptors)
    : mapping_(std::move(mapping)),
      calls_(mapping_->state().calls, mapping_->calls()),
      responses_(mapping_->state().responses, mapping_->responses()),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      client_event_(std::move(descriptors[1])),
      daemon_event_(std::move(descriptors[2])) {}

ssize_t SharedClientEnd::send(std::string_view bytes) {
    const auto size =
        write_or_want_space(calls_, bytes, mapping_->state().client_wants_space, wants_space_);
    if (size > 0) wake_daemon();
    return size;
}

ssize_t SharedClientEnd::receive(std::span<char> buffer) {
    const auto size = responses_.read(buffer);
    if (size > 0 && mapping_->state().daemon_wants_space.load() != 0) wake_daemon();
    return size;
}

bool SharedClientEnd::watch(int fd) { return add_to_epoll(poll_.get(), fd, EPOLLIN, fd); }

// A client that makes one call after another gets each response some ten microseconds after its
// call, and it would take longer to sleep and to be woken. The thread therefore spins first.
int SharedClientEnd::wait(std::chrono::milliseconds timeout) {
    const auto start = std::chrono::steady_clock::now();
    const bool may_sleep = timeout.count() > 0;
    if (may_sleep && quick_ && !has_input()) {
        backoff_.spin(start, max_spin, [this] { return has_input(); });
    }
    auto& waits = mapping_->state().client_waits;
    waits.store(1);
    // The daemon may have written before it could see that this client waits.
    if (has_input()) timeout = {};
    std::array<epoll_event, 4> events;
    const int count = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(timeout.count()));
    if (!always_wakes_) waits.store(0);
    if (may_sleep) quick_ = std::chrono::steady_clock::now() - start < 2 * max_spin;
    const auto ready = std::span(events).first(static_cast<std::size_t>(std::max(count, 0)));
    const auto watched = std::find_if(ready.begin(), ready.end(),
                                      [](const epoll_event& each) { return each.data.fd >= 0; });
    return watched == ready.end() ? -1 : watched->data.fd;
}

void SharedClientEnd::always_wake() {
    always_wakes_ = true;
    mapping_->state().client_waits.store(1);
}

void SharedClientEnd::wake_daemon() const { add(daemon_event_.get(), 1); }

}  // namespace rocklock
