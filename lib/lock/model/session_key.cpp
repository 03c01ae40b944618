#include "lock/model/session_key.hpp"

#include "base/hmac.hpp"

namespace rocklock {

Secret session_secret(const SessionKey& key, const SessionId& id) {
    return {hmac_sha256({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()},
                        {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()})};
}

}  // namespace rocklock
