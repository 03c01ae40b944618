#include "support/scenario/scenario.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/model_mirror.hpp"
#include "support/scenario/scenario_words.hpp"

namespace rocklock::proof {

using namespace script;

namespace {

using std::chrono::milliseconds;

struct KnownGrant {
    GrantId id{};
    std::string owner;
    std::vector<std::string> resources;
    std::optional<Outcome> ended;
    Grant last;
};

// One run of one script.
class Player {
public:
    Player(Subject& subject, bool beside_model) : subject_(subject), beside_model_(beside_model) {
        now_.boot = BootTime{std::chrono::hours{1}};
        now_.wall = WallTime{std::chrono::hours{24 * 365 * 56}};
    }

    std::vector<std::string> play(const std::filesystem::path& script) {
        std::ifstream file(script);
        if (!file) return {"cannot read " + script.string()};
        int number = 0;
        int played = 0;
        for (std::string line; std::getline(file, line);) {
            ++number;
            line = trim(line);
            if (line.empty() || line.starts_with("#")) continue;
            const auto where = script.filename().string() + ":" + std::to_string(number) + ": ";
            try {
                const auto arrow = line.find("->");
                if (arrow == std::string::npos) throw BadScript("no `->`");
                said_.clear();
                do_line(trim(line.substr(0, arrow)));
                compare(where, trim(line.substr(arrow + 2)));
                ++played;
            } catch (const std::exception& error) {
                wrong_.push_back(where + error.what());
            }
            for (const auto& text : complaints_) wrong_.push_back(where + text);
            complaints_.clear();
        }
        if (played == 0) wrong_.push_back(script.filename().string() + ": has no lines to play");
        return wrong_;
    }

private:
    void compare(const std::string& where, const std::string& expected_text) {
        std::multiset<std::string> expected;
        for (const auto& part : split(expected_text, ";")) {
            if (part.empty() || part == "nothing") continue;
            expected.insert(part.starts_with("deadlock") && !subject_.reports_cycles() ? "deadlock"
                                                                                       : part);
        }
        std::multiset<std::string> real;
        for (auto& part : said_) {
            // If a script does not name the grant, any of several grants may be named in the
            // answer.
            const bool any_grant =
                part.starts_with("already_held") && expected.contains("already_held");
            real.insert(any_grant ? "already_held" : part);
        }
        if (expected == real) return;
        std::string text;
        for (const auto& part : real) text += (text.empty() ? "" : "; ") + part;
        wrong_.push_back(where + "expected: " + expected_text +
                         "\n      got: " + (text.empty() ? "nothing" : text));
    }

    // ---- Acting ----
    void do_line(const std::string& left) {
        Words words = words_of(left);
        actor_.clear();
        show_modes_ = false;
        if (words[0].starts_with("+")) return pass(duration(words[0].substr(1)));
        if (words[0] == "stall") {
            now_.boot += duration(words.at(1));
            now_.wall += duration(words.at(1));
            return;
        }
        if (words[0] == "wall") {
            now_.wall += duration(words.at(1));
            return;
        }
        if (words[0] == "tick") return act(Tick{});
        if (words[0] == "restart" || words[0] == "reboot") return restart(words[0] == "restart");
        if (words[0] == "class") return act(Request(PutClass{class_of(words)}));
        if (words[0] == "delete_class") return act(Request(DeleteClass{words.at(1)}));
        if (words[0] == "drain") return act(Request(DrainClass{words.at(1), "upkeep", "root"}));
        if (words[0] == "resume") return act(Request(ResumeClass{words.at(1), "root"}));
        if (words[0] == "disconnect") return disconnect({words.begin() + 1, words.end()});
        if (words[0] == "show") return show(unescape(words.at(1)));
        actor_ = words[0];
        const std::string verb = actor_verb_ = words.at(1);
        words.erase(words.begin(), words.begin() + 2);
        if (verb == "open") return open(words);
        if (verb == "acquire") return acquire(words);
        if (verb == "cancel") {
            if (waits_[actor_].empty()) throw BadScript(actor_ + " does not wait");
            return act(CancelWait{waits_[actor_].back()});
        }
        const auto session = session_of(actor_);
        if (verb == "renew") {
            RenewSession request;
            request.session = session;
            if (const auto v = take(words, "lease"))
                request.lease = *v == "none" ? no_expiry : duration(*v);
            if (const auto v = take(words, "late")) request.as_of = now_.boot - duration(*v);
            request.active = take_flag(words, "active");
            return act(Request(request));
        }
        if (verb == "close") return act(Request(CloseSession{session}));
        if (verb == "end") {
            return act(Request(EndSession{session_of(words.at(0)), "because", actor_}));
        }
        if (verb == "holds") {
            const bool held = subject_.holds(session, unescape(words.at(0)),
                                             parse_mode(words.at(1)).value(), now_);
            said_.emplace_back(held ? "yes" : "no");
            return;
        }
        const auto grant = grant_of(words.at(0));
        words.erase(words.begin());
        last_grant_ = grant;
        if (verb == "release") return act(Request(Release{session, grant}));
        if (verb == "reacquire") return act(Request(Reacquire{session, grant}));
        if (verb == "break") {
            Break request{grant, "because", actor_};
            if (const auto v = take(words, "as")) request.identities = split(*v, ",");
            return act(Request(request));
        }
        if (verb == "transfer") {
            const auto to = session_of(words.at(1));
            act(Request(Transfer{session, grant, to}));
            if (said_.front().find(" to ") != std::string::npos) end(grant, Outcome::transferred);
            return;
        }
        if (verb == "steal") {
            Steal request{session, grant, "because"};
            request.administrator = take_flag(words, "administrator");
            request.force = take_flag(words, "force");
            if (const auto v = take(words, "as")) request.identities = split(*v, ",");
            return act(Request(request));
        }
        if (verb == "allow" || verb == "deny") {
            return act(Request(AnswerWanted{session, grant, verb == "allow"}));
        }
        if (verb == "convert") {
            Convert request;
            request.session = session;
            request.grant = grant;
            request.patience = patience_of(words);
            if (const auto v = take(words, "id")) request.request_id = *v;
            if (words.size() == 1 && parse_mode(words[0])) {
                request.mode = parse_mode(words[0]);
            } else {
                request.locks = locks_of(words);
            }
            return act(Request(request));
        }
        throw BadScript("no such verb: " + verb);
    }

    OpenSession opening(Words& words, const std::string& name) {
        OpenSession request;
        request.principal = name.substr(0, name.find('/'));
        if (const auto v = take(words, "principal"))
            request.principal = *v == "%empty" ? "" : unescape(*v);
        if (const auto v = take(words, "lease"))
            request.lease = *v == "none" ? no_expiry : duration(*v);
        if (take_flag(words, "bound")) request.bound = Bound::connection;
        if (const auto v = take(words, "uid"))
            request.uid = static_cast<std::uint32_t>(std::stoul(*v));
        if (const auto v = take(words, "note")) request.note = unescape(*v);
        return request;
    }

    // Disconnects these clients: all their waits and sessions end.
    void disconnect(const Words& names) {
        Disconnect disconnected;
        for (const auto& name : names) {
            const auto& waits = waits_[name];
            disconnected.waits.insert(disconnected.waits.end(), waits.begin(), waits.end());
            disconnected.sessions.push_back({session_of(name)});
        }
        act(disconnected);
    }

    void open(Words& words) {
        auto request = opening(words, actor_);
        if (const auto v = take(words, "id")) request.request_id = unescape(*v);
        if (!words.empty()) throw BadScript("too much: " + words[0]);
        act(Request(request));
    }

    void acquire(Words& words) {
        Acquire request;
        request.patience = patience_of(words);
        if (take_flag(words, "own")) {
            request.opens = opening(words, actor_);
        } else {
            request.session = session_of(actor_);
        }
        if (const auto v = take(words, "held")) {
            request.held = *v == "join" ? Held::join : *v == "count" ? Held::count : Held::refuse;
        }
        if (const auto v = take(words, "max_hold")) request.max_hold = duration(*v);
        if (const auto v = take(words, "min_hold")) request.min_hold = duration(*v);
        if (const auto v = take(words, "id")) request.request_id = unescape(*v);
        if (const auto v = take(words, "priority"))
            request.priority = static_cast<std::uint32_t>(std::stoul(*v));
        request.any = take_flag(words, "any");
        if (const auto v = take(words, "note")) request.note = unescape(*v);
        if (const auto v = take(words, "many")) {
            for (unsigned long i = 0; i < std::stoul(*v); ++i) {
                LockRequest lock;
                lock.resource = "many/" + std::to_string(i);
                request.locks.push_back(lock);
            }
        } else {
            request.locks = locks_of(words);
        }
        show_modes_ = std::any_of(request.locks.begin(), request.locks.end(),
                                  [](const auto& lock) { return !lock.mode; });
        if (request.any) any_.insert(Ticket{tickets_ + 1});
        act(Request(request));
    }

    // Advances the clock as for a manager that sleeps until the next event is due.
    void pass(milliseconds by) {
        const auto until = now_.boot + by;
        for (int rounds = 0; rounds < 10'000; ++rounds) {
            const auto wake = subject_.next_wake();
            if (!wake || *wake > until) break;
            if (*wake > now_.boot) {
                now_.wall += std::chrono::duration_cast<milliseconds>(*wake - now_.boot);
                now_.boot = *wake;
            }
            act(Tick{});
        }
        now_.wall += std::chrono::duration_cast<milliseconds>(until - now_.boot);
        now_.boot = until;
        act(Tick{});
    }

    void restart(bool exact) {
        subject_.restart(now_, exact);
        mirror_.model().restart(now_, exact);
        mirror_.forget_owed();
        waits_.clear();
    }

    void act(const Event& event) {
        const Ticket ticket{++tickets_};
        SessionId fresh;
        fresh.bytes[0] = static_cast<std::uint8_t>(tickets_ >> 8);
        fresh.bytes[1] = static_cast<std::uint8_t>(tickets_);
        fresh.bytes[15] = 7;
        asker_[ticket] = actor_;
        Decision decision;
        subject_.apply(event, ticket, fresh, now_, decision);
        const auto* cancel = std::get_if<CancelWait>(&event);
        own_ticket_ = cancel != nullptr ? cancel->ticket : ticket;
        if (std::holds_alternative<Request>(event)) waits_[actor_].push_back(ticket);
        report(decision);
        if (beside_model_) {
            mirror_.expect(event, ticket, fresh, now_);
            if (auto wrong = mirror_.got(decision, std::holds_alternative<Tick>(event)))
                complain(*wrong);
            if (auto wrong = mirror_.same_holders(subject_.list(now_), now_)) complain(*wrong);
        }
        if (auto wrong = subject_.audit(now_)) complain("audit: " + *wrong);
        if (std::holds_alternative<Request>(event) &&
            std::find(waits_[actor_].begin(), waits_[actor_].end(), ticket) !=
                waits_[actor_].end()) {
            said_.emplace_back("waits");
        }
    }

    void complain(const std::string& text) { complaints_.push_back(text); }

    // ---- Names ----
    SessionId session_of(const std::string& name) {
        const auto known = sessions_.find(name);
        if (known != sessions_.end()) return known->second;
        if (name == "nobody") return SessionId{};
        // The first mention of a name opens a session with the default lease.
        const auto actor = actor_;
        const auto said = said_;
        actor_ = name;
        OpenSession request;
        request.principal = name.substr(0, name.find('/'));
        act(Request(request));
        actor_ = actor;
        said_ = said;
        return sessions_.at(name);
    }

    static std::string principal_of(const std::string& name) {
        return name.substr(0, name.find('/'));
    }

    std::string name_of(const SessionId& id) const {
        for (const auto& [name, known] : sessions_) {
            if (known == id) return name;
        }
        return "somebody";
    }

    GrantId grant_of(const std::string& word) const {
        if (word.starts_with("#")) {
            const auto wanted = std::stoul(word.substr(1));
            for (const auto& [real, number_given] : numbers_) {
                if (number_given == wanted) return GrantId{real};
            }
            return GrantId{wanted + 1'000'000'000};
        }
        const auto name = unescape(word);
        for (auto grant = grants_.rbegin(); grant != grants_.rend(); ++grant) {
            if (grant->owner != actor_) continue;
            if (std::find(grant->resources.begin(), grant->resources.end(), name) !=
                grant->resources.end()) {
                return grant->id;
            }
        }
        throw BadScript(actor_ + " never had " + word);
    }

    std::string number_of(std::uint64_t real) const {
        const auto known = numbers_.find(real);
        return known == numbers_.end() ? "?" : std::to_string(known->second);
    }

    // New tokens get small numbers. Several tokens of one decision are numbered in the order of
    // their requests.
    void give_numbers(const Decision& decision) {
        std::map<Ticket, const Grant*> grants;
        for (const auto& reply : decision.replies) {
            if (!reply.answer) continue;
            if (const auto* grant = std::get_if<Grant>(&*reply.answer))
                grants[reply.ticket] = grant;
        }
        for (const auto& [ticket, grant] : grants) {
            numbers_.try_emplace(number(grant->id), numbers_.size() + 1);
            numbers_.try_emplace(number(grant->token), numbers_.size() + 1);
        }
    }

    // ---- Reporting ----
    void report(Decision& decision) {
        const auto questions = std::exchange(decision.history, {});
        for (const auto& question : questions) decision_from_history(question, decision);
        give_numbers(decision);
        for (const auto& reply : decision.replies) {
            const auto who = asker_[reply.ticket];
            std::erase(waits_[who], reply.ticket);
            const bool own = reply.ticket == own_ticket_;
            std::string text = (own ? "" : who + " ") + text_of(reply.answer, who, own);
            const auto* grant = reply.answer ? std::get_if<Grant>(&*reply.answer) : nullptr;
            if (grant != nullptr && any_.contains(reply.ticket))
                text += " for " + grant->locks.front().resource;
            said_.push_back(text);
        }
        for (const auto& notice : decision.lost) {
            std::string text = name_of(notice.session) + " lost " +
                               number_of(number(notice.grant.id)) + " " +
                               std::string(to_string(notice.ending.outcome));
            if (!notice.ending.by.empty()) text += " by " + notice.ending.by;
            said_.push_back(text);
            end(notice.grant.id, notice.ending.outcome);
        }
        for (const auto& notice : decision.wanted) {
            said_.push_back(name_of(notice.session) +
                            (notice.wanted.answer_by ? " asked for " : " wanted ") +
                            number_of(number(notice.wanted.grant)) + " by " + notice.wanted.by);
        }
    }

    // Answers a lookup in the history from the results so far. If an administrator acts, the
    // session is not checked.
    void decision_from_history(const HistoryLookup& question, Decision& decision) {
        if (question.verb != HistoryLookup::Verb::reacquire) {
            decision.replies.push_back(TicketAnswer{question.ticket, history(question)});
            return;
        }
        const auto known = std::find_if(grants_.begin(), grants_.end(), [&](const auto& grant) {
            return grant.id == question.grant;
        });
        if (known == grants_.end()) {
            decision.replies.push_back(
                TicketAnswer{question.ticket, Error(ErrorCode::not_owner, "history")});
        } else if (known->ended != Outcome::expired && known->ended != Outcome::broken) {
            decision.replies.push_back(
                TicketAnswer{question.ticket, Error(ErrorCode::grant_ended, "history")});
        } else {
            subject_.apply(ReacquireLocks{question.session, question.grant, known->last.locks,
                                          principal_of(known->owner)},
                           question.ticket, {}, now_, decision);
        }
    }

    Result<Answer> history(const HistoryLookup& question) {
        const bool by_session = question.session != SessionId{};
        const bool forced = actor_verb_ == "steal" || actor_verb_ == "break";
        if (question.grant == GrantId{}) {
            return Error(name_of(question.session) == "somebody" ? ErrorCode::session_not_found
                                                                 : ErrorCode::session_expired,
                         "history");
        }
        if (by_session && name_of(question.session) == "somebody") {
            return Error(ErrorCode::session_not_found, "history");
        }
        const auto known = std::find_if(grants_.begin(), grants_.end(), [&](const auto& grant) {
            return grant.id == question.grant;
        });
        if (known == grants_.end()) {
            return Error(ErrorCode::not_owner, "history");
        }
        if (question.verb == HistoryLookup::Verb::replay) {
            Grant last_grant = known->last;
            last_grant.ended = Ending{known->ended.value_or(Outcome::released), {}, {}, {}};
            return Answer(last_grant);
        }
        const bool own = name_of(question.session) == known->owner;
        const auto outcome = known->ended.value_or(Outcome::held);
        if (question.verb == HistoryLookup::Verb::release) {
            if (!own) return Error(ErrorCode::not_owner, "history");
            return Answer(
                Released{outcome == Outcome::released ? Outcome::already_released : outcome, 0});
        }
        return Error(own || forced ? ErrorCode::grant_ended : ErrorCode::not_owner, "history");
    }

    void end(GrantId id, Outcome outcome) {
        for (auto& grant : grants_) {
            if (grant.id == id && !grant.ended) grant.ended = outcome;
        }
    }

    std::string text_of(const Result<Answer>& answer, const std::string& who, bool own) {
        if (!answer) return text_of(answer.error());
        if (const auto* grant = std::get_if<Grant>(&*answer)) return text_of(*grant, who, own);
        if (const auto* released = std::get_if<Released>(&*answer)) {
            if (own && released->outcome == Outcome::released) end(last_grant_, Outcome::released);
            return std::string(to_string(released->outcome)) +
                   (released->outcome == Outcome::held ? " " + std::to_string(released->count)
                                                       : "");
        }
        if (const auto* session = std::get_if<SessionInfo>(&*answer)) {
            const bool known = sessions_.contains(who) && sessions_[who] == session->id;
            sessions_[who] = session->id;
            return known ? "renewed" : "opened";
        }
        if (const auto* closed = std::get_if<ClosedSession>(&*answer)) {
            std::set<std::string> numbers;
            for (const auto id : closed->released) {
                numbers.insert(number_of(number(id)));
                end(id, actor_verb_ == "end" ? Outcome::broken : Outcome::released);
            }
            std::string text = "closed";
            for (const auto& one : numbers) text += " " + one;
            return text;
        }
        return "class";
    }

    std::string text_of(const Grant& grant, const std::string& who, bool own) {
        if (grant.own_session) sessions_[who] = grant.session;
        const auto owner = name_of(grant.session);
        auto known = std::find_if(grants_.begin(), grants_.end(),
                                  [&](const auto& g) { return g.id == grant.id; });
        if (known == grants_.end()) {
            KnownGrant made;
            made.id = grant.id;
            made.owner = owner;
            for (const auto& lock : grant.locks) made.resources.push_back(lock.resource);
            grants_.push_back(std::move(made));
            known = std::prev(grants_.end());
        }
        known->last = grant;
        std::string text = "granted " + number_of(number(grant.id));
        if (number(grant.token) != number(grant.id))
            text += " token " + number_of(number(grant.token));
        if (owner != who) text += " to " + owner;
        if (own && show_modes_) {
            for (const auto& lock : grant.locks) {
                if (!lock.cause.empty() || grant.locks.size() > 10) continue;
                text += lock.permits > 0 ? " permits " + std::to_string(lock.permits)
                                         : " " + std::string(to_string(lock.mode));
            }
        }
        std::set<std::string> dependants;
        for (const auto& lock : grant.locks) {
            if (!lock.cause.empty()) {
                dependants.insert(lock.resource + ":" + std::string(to_string(lock.mode)) + ":" +
                                  lock.cause);
            }
        }
        for (const auto& one : dependants) text += " with " + one;
        if (grant.count > 0) text += " count " + std::to_string(grant.count);
        if (grant.ended) text += " ended " + std::string(to_string(grant.ended->outcome));
        return text;
    }

    std::string text_of(const Error& error) const {
        std::string text(to_string(error.code));
        if (error.code == ErrorCode::conflict) {
            std::set<std::string> blockers;
            for (const auto& holder : error.blockers)
                blockers.insert(number_of(number(holder.grant)));
            for (const auto& one : blockers) text += " " + one;
            std::set<std::string> behind;
            for (const auto& waiter : error.waiters) behind.insert(name_of(waiter.session));
            for (const auto& one : behind) text += " behind " + one;
            if (error.retry_after && blockers.empty() && behind.empty()) {
                text += " retry " + std::to_string(error.retry_after->count()) + "ms";
            }
        }
        if (error.code == ErrorCode::steal_refused && error.policy) {
            text += " " + std::string(to_string(*error.policy));
            if (error.retry_after)
                text += " retry " + std::to_string(error.retry_after->count()) + "ms";
        }
        if (error.code == ErrorCode::already_held && error.grant)
            text += " " + number_of(number(*error.grant));
        if (error.code == ErrorCode::deadlock && subject_.reports_cycles()) {
            // The cycle begins with the requester.
            std::vector<std::string> names;
            for (const auto& step : error.cycle) names.push_back(name_of(step.session));
            const auto self = std::find(names.begin(), names.end(), actor_);
            std::rotate(names.begin(), self, names.end());
            for (const auto& one : names) text += " " + one;
        }
        return text;
    }

    void show(const std::string& resource) {
        std::map<std::uint64_t, std::string> rows;
        for (const auto& holder : subject_.list(now_).locks) {
            if (holder.resource != resource) continue;
            rows[number(holder.grant)] =
                name_of(holder.session) + " " +
                (holder.permits > 0 ? std::to_string(holder.permits)
                                    : std::string(to_string(holder.mode))) +
                (holder.subtree ? " subtree" : "") + " " + number_of(number(holder.grant)) +
                (holder.cause.empty() ? "" : " because of " + holder.cause);
        }
        for (const auto& [id, row] : rows) said_.push_back(row);
    }

    Subject& subject_;
    const bool beside_model_;
    ModelMirror mirror_;
    Instant now_;
    std::string actor_;
    std::string actor_verb_;
    std::uint64_t tickets_ = 0;
    Ticket own_ticket_{};
    GrantId last_grant_{};
    bool show_modes_ = false;
    std::map<Ticket, std::string> asker_;
    // The acquires for any one of several locks.
    std::set<Ticket> any_;
    std::map<std::string, std::vector<Ticket>> waits_;
    std::map<std::string, SessionId> sessions_;
    std::vector<KnownGrant> grants_;
    std::map<std::uint64_t, std::uint64_t> numbers_;
    std::vector<std::string> said_;
    std::vector<std::string> complaints_;
    std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> play(const std::filesystem::path& script, Subject& subject,
                              bool beside_model) {
    return Player(subject, beside_model).play(script);
}

}  // namespace rocklock::proof
