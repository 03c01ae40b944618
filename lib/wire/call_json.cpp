#include "wire/call_json.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>

#include "base/time_format.hpp"
#include "lock/model/names.hpp"
#include "wire/draft_json.hpp"
#include "wire/error_names.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/json/lock_body.hpp"
#include "wire/json_body.hpp"
#include "wire/json_reader.hpp"
#include "wire/lock_members.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

// Writes the members of values as JSON. The functions describe() and describe_call() of
// lock_members.hpp call it for each member.
class JsonMembers {
public:
    static constexpr bool reading = false;

    explicit JsonMembers(JsonWriter& json, const ForeignReply* foreign = nullptr)
        : json_(json), foreign_(foreign) {}

    template <typename T>
    void required(std::string_view name, const T& value) {
        json_.key(name);
        write(value);
    }
    template <typename T>
    void defaulted(std::string_view name, const T& value) {
        required(name, value);
    }
    template <typename T>
    void optional(std::string_view name, const T& value) {
        if (!says_nothing(value)) required(name, value);
    }
    void patience(std::string_view name, std::chrono::milliseconds value) {
        json_.key(name);
        json_.number(value == no_limit ? -1 : value.count());
    }
    // Writes the id of the boot to which times of the boot clock belong, if it is known.
    void boot_of_machine(std::string_view name) {
        static const std::string boot = system_clock().boot_id();
        optional(name, boot);
        if (foreign_ != nullptr) required("Node", foreign_->node);
    }
    template <typename T>
    void boot_deadline(const T& reply) {
        if (foreign_ == nullptr) return required("DeadlineBootMs", reply.deadline);
        // `remaining` is rounded down, so the decision may have been up to a millisecond earlier
        // than `deadline` minus `remaining`.
        using std::chrono::milliseconds;
        const auto held = since_arrival(reply.deadline - reply.remaining) - milliseconds{1};
        required("HeldMs", std::max(held, milliseconds{0}));
    }
    void boot_cap(const Grant& grant) {
        if (foreign_ == nullptr) return optional("CapBootMs", grant.cap);
        if (grant.cap) required("CapMs", since_arrival(*grant.cap));
    }
    template <typename T>
    void flat_optional(std::string_view /*name*/, const std::optional<T>& value) {
        if (value) describe(*this, *value);
    }

    template <typename T>
    requires std::is_class_v<T>
    void write(const T& value) {
        json_.begin_object();
        describe(*this, value);
        json_.end_object();
    }
    void write(const std::string& value) { json_.string(value); }
    void write(const WriteItem& value) { write_draft_action(json_, value); }

private:
    void write(bool value) { json_.boolean(value); }
    void write(std::uint32_t value) { json_.number(value); }
    void write(std::int32_t value) { json_.number(value); }
    void write(std::uint64_t value) { json_.number(value); }
    void write(std::int64_t value) { json_.number(value); }
    void write(Token value) { json_.number(number(value)); }
    void write(GrantId value) { json_.number(number(value)); }
    void write(DraftId value) { json_.number(number(value)); }
    void write(std::chrono::milliseconds value) { json_.number(value.count()); }
    void write(std::chrono::nanoseconds value) {
        using std::chrono::microseconds;
        constexpr std::int64_t max_exact = (std::int64_t{1} << 53) - 1;
        json_.number(
            std::min<std::int64_t>(std::chrono::floor<microseconds>(value).count(), max_exact));
    }
    void write(BootTime value) {
        using std::chrono::milliseconds;
        json_.number(std::chrono::floor<milliseconds>(value.time_since_epoch()).count());
    }
    void write(WallTime value) { json_.string(format_time(value)); }
    void write(const SessionId& value) { json_.string(to_string(value)); }
    void write(const Secret& value) { json_.string(to_string(value)); }
    void write(const Metadata& value) {
        json_.begin_object();
        for (const auto& [name, text] : value) {
            json_.foreign_key(name);
            json_.string(text);
        }
        json_.end_object();
    }
    template <typename T>
    requires std::is_enum_v<T>
    void write(T value) { json_.string(word(value)); }
    template <typename T>
    void write(const std::optional<T>& value) {
        if (value) {
            write(*value);
        } else {
            json_.null();
        }
    }
    template <typename T>
    void write(const std::vector<T>& values) {
        json_.begin_array();
        for (const auto& value : values) write(value);
        json_.end_array();
    }

    std::chrono::milliseconds since_arrival(BootTime time) const {
        return std::chrono::floor<std::chrono::milliseconds>(time - foreign_->arrived);
    }

    JsonWriter& json_;
    // Null for a client with the same boot clock.
    const ForeignReply* foreign_;
};

template <typename T>
std::string written(const T& value, const ForeignReply* foreign = nullptr) {
    JsonWriter json;
    JsonMembers(json, foreign).write(value);
    return json.take();
}

template <typename T>
Result<Reply> reply_of(std::string_view json, bool* is_foreign) {
    T value{};
    FirstProblem problem;
    with_object(json, problem, [&](const boost::json::object& object) {
        JsonReader reader(object, "", false, problem);
        describe(reader, value);
        if (is_foreign != nullptr) *is_foreign = object.contains("HeldMs");
    });
    if (problem.found()) {
        return Error(ErrorCode::io_error, "the daemon's answer is invalid: " + problem.message());
    }
    return Reply(std::move(value));
}

template <typename Body>
bool read_usual(Call& call, std::string_view json) {
    if (!std::holds_alternative<Body>(call.body)) return false;
    Body body;
    Secret secret;
    if (!read_usual_body(json, body, secret)) return false;
    call.body = std::move(body);
    call.secret = secret;
    return true;
}

}  // namespace

Result<Call> read_call(Call empty, std::string_view json) {
    if (read_usual<Acquire>(empty, json) || read_usual<Release>(empty, json) ||
        read_usual<RenewSession>(empty, json)) {
        return empty;
    }
    FirstProblem problem;
    with_request(json, problem, [&](const boost::json::object& object) {
        JsonReader reader(object, "", true, problem);
        std::visit([&](auto& body) { describe_call(reader, empty, body); }, empty.body);
        reader.finish();
    });
    if (problem.found()) return Error(ErrorCode::invalid_argument, problem.message());
    return empty;
}

std::string write_call(const Call& call) {
    JsonWriter json;
    JsonMembers members(json);
    json.begin_object();
    std::visit([&](const auto& body) { describe_call(members, call, body); }, call.body);
    json.end_object();
    return json.take();
}

Result<Reply> read_reply(const CallBody& asked, std::string_view json, bool* is_foreign) {
    return std::visit(
        [&](const auto& verb) {
            return reply_of<ReplyTo<std::decay_t<decltype(verb)>>>(json, is_foreign);
        },
        asked);
}

std::string write_reply(const Reply& reply, const ForeignReply* foreign) {
    return std::visit([&](const auto& value) { return written(value, foreign); }, reply);
}

std::string write_answer(const Answer& answer) {
    return std::visit([](const auto& value) { return written(value); }, answer);
}

std::string write_error(const Error& error) {
    JsonWriter json;
    JsonMembers members(json);
    json.begin_object();
    json.key("__type");
    json.string("rocklock#" + std::string(error_name(error.code)));
    json.key("message");
    json.string(error.message);
    if (http_status(error.code) == 500) {
        json.key("Cause");
        json.string(to_string(error.code));
    }
    describe_facts(members, error);
    if (error.code == ErrorCode::session_expired && error.ended) {
        members.required("ExpiredAt", error.ended->at);
    }
    bool own = false;
    for (const auto& blocker : error.blockers) own = own || blocker.you;
    members.optional("You", own);
    json.end_object();
    return json.take();
}

void write_members(JsonWriter& json, const Grant& grant) {
    JsonMembers members(json);
    describe(members, grant);
}

void write_facts(JsonWriter& json, const Error& error) {
    JsonMembers members(json);
    describe_facts(members, error);
}

Error read_error(std::string_view json) {
    Error error;
    std::string type;
    std::string cause;
    FirstProblem problem;
    with_object(json, problem, [&](const boost::json::object& object) {
        JsonReader reader(object, "", false, problem);
        reader.required("__type", type);
        reader.required("message", error.message);
        reader.optional("Cause", cause);
        describe_facts(reader, error);
    });
    const auto name = std::string_view(type).substr(type.find('#') + 1);
    const auto code = error_code(name, cause);
    if (problem.found()) {
        return {ErrorCode::io_error, "the daemon's answer is invalid: " + std::string(json)};
    }
    if (!code) {
        error.code = ErrorCode::io_error;
        error.message = std::string(name) + ": " + error.message;
    } else {
        error.code = *code;
    }
    return error;
}

std::string write_value(const Holder& holder) { return written(holder); }

std::string write_value(const SessionView& session) { return written(session); }

std::string write_value(const LockClass& lock_class) { return written(lock_class); }
std::string write_value(const LockEvent& event) { return written(event); }

std::string write_value(const HistoryRow& row) { return written(row); }

std::string write_value(const Draft& draft) { return written(draft); }

std::string write_value(const TableBinding& binding) { return written(binding); }

std::string write_value(const AuditRow& row) { return written(row); }

std::string write_value(const WaitEdge& edge) { return written(edge); }

std::string write_value(const Deadlock& deadlock) { return written(deadlock); }

std::string write_value(const ClusterNode& node) { return written(node); }

std::string write_value(const NodeChecked& checked) { return written(checked); }

}  // namespace rocklock
