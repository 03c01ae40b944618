#include "service/edit_endpoint.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.hpp"
#include "database/item_locks.hpp"
#include "service/lock_headers.hpp"
#include "table/guard/drafts.hpp"
#include "wire/call_json.hpp"
#include "wire/error_names.hpp"
#include "wire/table_call.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

// In the order of EditBody.
const std::vector<std::string_view> verbs = {"BeginEdit", "TakeOverEdit", "ShowEdit", "SaveEdit"};

ServiceAnswer json_answer(std::string body) { return {200, json_type, {}, std::move(body), {}}; }

ServiceAnswer error_answer(const Error& error) {
    return {http_status(error.code), json_type,  {},
            write_error(error),      error.code, error.drafts != 0};
}

// Returns the first reason that reports a missing or lost lock, or null. The response to the whole
// save contains this reason and its facts.
const CancellationReason* lock_reason(const Error& error) {
    const auto found =
        std::find_if(error.reasons.begin(), error.reasons.end(), [](const auto& reason) {
            return reason.code == ErrorCode::stale_token || reason.code == ErrorCode::lock_required;
        });
    return found == error.reasons.end() ? nullptr : &*found;
}

// Returns false if the client may have held the grant before the call.
bool may_give_back(const Call& call) {
    const auto* acquire = std::get_if<Acquire>(&call.body);
    return acquire == nullptr || acquire->held != Held::join;
}

void give_back(LockService& locks, const Grant& grant) {
    if (grant.own_session) {
        std::ignore = locks.ask(CloseSession{grant.own_session->id, "its items were not read"});
    } else {
        std::ignore = locks.ask(Release{grant.session, grant.id});
    }
}

}  // namespace

EditEndpoint::EditEndpoint(TableService& tables, LockService& locks,
                           std::function<void(const Error&)> failed)
    : tables_(tables),
      locks_(locks),
      failed_(std::move(failed)),
      counters_("edit_", "verb", verbs) {}

void EditEndpoint::ask(EditBody verb, Sent sent, AskClient ask_client, Done answered) {
    auto done = [this, index = verb.index(), start = steady_clock::now(),
                 answered = std::move(answered)](ServiceAnswer answer) {
        counters_.add(index, answer.refused, steady_clock::now() - start);
        answered(std::move(answer));
    };
    Client client{std::move(ask_client), std::move(sent.room), std::move(done)};
    threads_.run(
        [this, verb = std::move(verb), sent = std::move(sent), client = std::move(client)] {
            auto edit = read_edit(verb, sent.body);
            if (!edit) return client.done(error_answer(edit.error()));
            if (auto* show = std::get_if<ShowEdit>(&edit->body))
                return client.done(response_of(this->show(*show)));
            if (auto* save = std::get_if<SaveEdit>(&edit->body)) {
                const auto secret = edit->call.secret.value_or(Secret{});
                return client.done(this->save(std::move(*save), secret, sent.uid));
            }
            if (std::holds_alternative<BeginEdit>(edit->body))
                return begin(*std::move(edit), client);
            take_over(*std::move(edit), client);
        });
}

void EditEndpoint::begin(EditCall edit, Client client) {
    auto& begin = std::get<BeginEdit>(edit.body);
    auto locks = locks_of(tables_, {begin.items, begin.acquire.locks});
    if (!locks) return client.done(response_of(std::move(locks).error()));
    begin.acquire.locks = *std::move(locks);
    edit.call.body = std::move(begin.acquire);
    lock_and_read(std::move(edit.call), std::move(begin.items), std::move(client));
}

void EditEndpoint::take_over(EditCall edit, Client client) {
    auto& taken = std::get<TakeOverEdit>(edit.body);
    edit.call.body = std::move(taken.steal);
    lock_and_read(std::move(edit.call), std::move(taken.items), std::move(client));
}

void EditEndpoint::lock_and_read(Call call, std::vector<ItemToLock> items, Client client) {
    const bool given_back = may_give_back(call);
    const auto ask = client.ask;
    ask(std::move(call), [this, given_back, items = std::move(items), client = std::move(client)](
                             Result<Reply> reply, TakeBack take_back) {
        if (!reply) return client.done(error_answer(reply.error()));
        ROCKLOCK_ASSERT(std::holds_alternative<Grant>(*reply));
        threads_.run([this, given_back, items, grant = std::get<Grant>(*std::move(reply)), client,
                      take_back = std::move(take_back)] {
            auto answer = read(grant, items, client.room);
            if (!answer && given_back && take_back()) give_back(locks_, grant);
            client.done(response_of(std::move(answer)));
        });
    });
}

Result<std::string> EditEndpoint::read(const Grant& grant, const std::vector<ItemToLock>& items,
                                       const AnswerRoom& room) {
    // A repeated request can return a grant that has ended. No items were read under it.
    if (grant.ended) return write_edit(grant, {});
    auto read = read_under(tables_, locks_, grant, items);
    if (!read) return std::move(read).error();
    auto answer = write_edit(grant, *read);
    if (room) {
        if (auto reserved = room(answer.size()); !reserved) return std::move(reserved).error();
    }
    return answer;
}

Result<std::string> EditEndpoint::show(const ShowEdit& edit) {
    auto resource = resource_of_bound(tables_, edit.table, edit.key);
    if (!resource) return std::move(resource).error();
    auto view = locks_.show(*resource);
    if (!view) return std::move(view).error();
    return write_reply(Reply(*std::move(view)));
}

ServiceAnswer EditEndpoint::save(SaveEdit save, const Secret& secret, UserId uid) {
    const auto owner = check_sender(&locks_, save.session, secret);
    if (!owner) return error_answer(owner.error());
    note_token(&locks_, save.session, save.token);
    for (WriteItem& action : save.write.actions) {
        action.proof = LockProof{save.session, save.token, uid, *owner};
    }
    const auto saved = tables_.transact_write(save.write);
    if (saved) return json_answer(write_saved(*saved));
    return response_of(saved.error());
}

ServiceAnswer EditEndpoint::response_of(Result<std::string> answer) const {
    if (answer) return json_answer(*std::move(answer));
    const Error& error = answer.error();
    if (const auto* reason = lock_reason(error)) {
        Error lost(*reason->code, reason->message + table::describe_drafts(error.drafts));
        lost.blockers = reason->blockers;
        lost.ended = reason->ended;
        lost.drafts = error.drafts;
        return error_answer(lost);
    }
    const int status = table_error_status(error);
    if (status >= 500 && failed_) failed_(error);
    if (error.code != ErrorCode::transaction_cancelled) return error_answer(error);
    return {status, json_type, {}, write_save_error(error), error.code, error.drafts != 0};
}

}  // namespace rocklock
