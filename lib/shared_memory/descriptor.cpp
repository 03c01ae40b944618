#include "shared_memory/descriptor.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/assert.hpp"

namespace rocklock {
namespace {

using Control = std::array<char, CMSG_SPACE(max_passed * sizeof(int))>;

}  // namespace

void Descriptor::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

ssize_t send_with_descriptors(int socket, std::string_view bytes,
                              std::span<const int> descriptors) {
    ROCKLOCK_ASSERT(!bytes.empty() && !descriptors.empty() && descriptors.size() <= max_passed);
    const auto size = descriptors.size_bytes();
    alignas(cmsghdr) Control control{};
    iovec data{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr& header = *CMSG_FIRSTHDR(&message);
    header.cmsg_level = SOL_SOCKET;
    header.cmsg_type = SCM_RIGHTS;
    header.cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(&header), descriptors.data(), size);
    return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t receive_with_descriptors(int socket, std::span<char> buffer,
                                 std::vector<Descriptor>& descriptors) {
    alignas(cmsghdr) Control control;
    iovec data{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return size;
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const auto count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
            descriptors.emplace_back(number);
        }
    }
    return size;
}

}  // namespace rocklock
