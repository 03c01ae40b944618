#include <rocklock/version.hpp>

namespace rocklock {

std::string_view version() noexcept { return ROCKLOCK_VERSION; }

}  // namespace rocklock
