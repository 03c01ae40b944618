#include <rocklock/types.hpp>

#include "base/assert.hpp"
#include "base/base64url.hpp"

namespace rocklock {
namespace {

template <typename Id>
std::optional<Id> parse_id(std::string_view text) {
    Id id;
    if (!base64url_decode(text, id.bytes)) return std::nullopt;
    return id;
}

}  // namespace

std::string_view to_string(Mode mode) {
    switch (mode) {
        case Mode::read:
            return "read";
        case Mode::write:
            return "write";
        case Mode::exclusive:
            return "exclusive";
    }
    ROCKLOCK_ASSERT(false && "a mode");
}

std::string_view to_string(Intent intent) {
    switch (intent) {
        case Intent::read:
            return "read";
        case Intent::edit:
            return "edit";
    }
    ROCKLOCK_ASSERT(false && "an intent");
}

std::string_view to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::held:
            return "held";
        case Outcome::released:
            return "released";
        case Outcome::expired:
            return "expired";
        case Outcome::stolen:
            return "stolen";
        case Outcome::broken:
            return "broken";
        case Outcome::transferred:
            return "transferred";
        case Outcome::already_released:
            return "already_released";
        case Outcome::converted:
            return "converted";
        case Outcome::drained:
            return "drained";
        case Outcome::resumed:
            return "resumed";
    }
    ROCKLOCK_ASSERT(false && "an outcome");
}

std::optional<Mode> parse_mode(std::string_view text) {
    for (const Mode mode : {Mode::read, Mode::write, Mode::exclusive}) {
        if (text == to_string(mode)) return mode;
    }
    return std::nullopt;
}

std::optional<Intent> parse_intent(std::string_view text) {
    for (const Intent intent : {Intent::read, Intent::edit}) {
        if (text == to_string(intent)) return intent;
    }
    return std::nullopt;
}

std::string to_string(const SessionId& session) { return base64url_encode(session.bytes); }

std::string to_string(const Secret& secret) { return base64url_encode(secret.bytes); }

std::optional<SessionId> parse_session_id(std::string_view text) {
    return parse_id<SessionId>(text);
}

std::optional<Secret> parse_secret(std::string_view text) { return parse_id<Secret>(text); }

}  // namespace rocklock
