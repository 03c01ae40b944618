// Clients of every kind, each with a cluster, for tests of the contract that all clients must
// satisfy.
//
// To add a kind: add it to `Kind`, `operator<<`, make_subject() and `every_kind`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "storage/etcd/client/client.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::testing::etcd_contract {

namespace data = boost::unit_test::data;

enum class Kind { fake };

inline std::ostream& operator<<(std::ostream& out, Kind kind) {
    constexpr const char* names[] = {"fake"};
    return out << names[static_cast<int>(kind)];
}

struct SubjectOptions {
    // 0 means the default of the cluster.
    std::int64_t quota_bytes = 0;
};

// A client, and what a test does to its cluster. A cluster may be used by several subjects in
// succession: revisions then continue, and each subject uses keys with a prefix of its own.
class Subject {
public:
    Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    virtual ~Subject() = default;

    virtual etcd::Client& client() = 0;
    virtual std::string prefix() const { return "/contract/"; }
    // Lets time pass on the clock that ends the leases.
    virtual void pass_time(std::chrono::seconds duration) = 0;

    // The following return false if this kind of subject cannot do it; the case then ends.

    // From now on, the members accept no connection.
    virtual bool refuse_connections() = 0;
    // From now on, the members accept requests and do not answer.
    virtual bool stall() = 0;
    // From now on, the client has no right to read or write.
    virtual bool deny_access() = 0;
    // Ends the streams of the client's watches, without cancelling them.
    virtual bool end_streams() = 0;
};

class FakeSubject final : public Subject {
public:
    explicit FakeSubject(const SubjectOptions& options)
        : cluster_(clock_), client_(cluster_.connect()) {
        cluster_.set_quota(options.quota_bytes);
    }

    etcd::Client& client() override { return *client_; }
    void pass_time(std::chrono::seconds duration) override { clock_.advance(duration); }
    bool refuse_connections() override {
        cluster_.node().cut(EtcdCut::refused);
        return true;
    }
    bool stall() override {
        cluster_.node().cut(EtcdCut::requests_lost);
        return true;
    }
    bool deny_access() override {
        cluster_.node().fail_next(EtcdFault::access_denied, 100);
        return true;
    }
    bool end_streams() override {
        cluster_.node().end_watches();
        return true;
    }

private:
    SimulatedClock clock_;
    FakeCluster cluster_;
    const std::unique_ptr<etcd::Client> client_;
};

inline std::unique_ptr<Subject> make_subject(Kind kind, const SubjectOptions& options) {
    switch (kind) {
        case Kind::fake:
            return std::make_unique<FakeSubject>(options);
    }
    return nullptr;
}

inline const auto every_kind = data::make({Kind::fake});

// A subject, with short forms of the requests. Names of keys are relative to its prefix.
struct Connected {
    static constexpr std::chrono::milliseconds timeout{10'000};

    explicit Connected(Kind kind, const SubjectOptions& options = {})
        : subject(make_subject(kind, options)), prefix(subject->prefix()), start(revision()) {}

    etcd::Client* operator->() const { return &subject->client(); }

    std::string key(const std::string& name) const { return prefix + name; }
    etcd::Operation put(const std::string& name, const std::string& value,
                        etcd::LeaseId lease = 0) const {
        return etcd::Put{key(name), value, lease};
    }
    etcd::Operation erase(const std::string& name) const {
        return etcd::DeleteRange{key(name), ""};
    }
    etcd::Operation erase(const std::string& name, const std::string& end) const {
        return etcd::DeleteRange{key(name), key(end)};
    }
    etcd::Range get(const std::string& name) const { return etcd::Range{key(name), ""}; }
    etcd::Range get(const std::string& name, const std::string& end) const {
        return etcd::Range{key(name), key(end)};
    }
    etcd::Compare is(const std::string& name, const std::string& value) const {
        return {key(name), value};
    }
    etcd::Compare created(const std::string& name, etcd::Revision at) const {
        return {key(name), at};
    }

    Result<etcd::TxnResponse> txn(const etcd::Txn& txn) const {
        return subject->client().txn(txn, timeout);
    }
    // Executes the operations in one transaction, and returns its revision.
    etcd::Revision write(std::vector<etcd::Operation> operations) const {
        return txn({{}, std::move(operations), {}}).value().header.revision;
    }
    Result<etcd::RangeResponse> range(const etcd::Range& range) const {
        return subject->client().range(range, timeout);
    }
    std::optional<std::string> value(const std::string& name) const {
        const auto response = range(get(name)).value();
        if (response.kvs.empty()) return std::nullopt;
        return response.kvs.front().value;
    }
    etcd::Revision revision() const {
        return subject->client().status(timeout).value().header.revision;
    }
    std::unique_ptr<etcd::Watch> watch(const std::string& name, const std::string& end,
                                       etcd::Revision first) const {
        return subject->client().watch(key(name), end.empty() ? end : key(end), first).value();
    }
    // Returns a text such as "a=1 b=2".
    std::string text(const std::vector<etcd::KeyValue>& kvs) const {
        std::string text;
        for (const auto& kv : kvs) {
            if (!text.empty()) text += ' ';
            text += kv.key.substr(prefix.size()) + '=' + kv.value;
        }
        return text;
    }
    // Waits for `count` changes or for an error, and returns a text such as "a=1@+1 -b@+2", with
    // the revisions since `start`. The changes of one response are separated by a space, responses
    // are not.
    std::string changes(etcd::Watch& watch, std::size_t count) const {
        std::string text;
        for (std::size_t seen = 0; seen < count;) {
            const auto response = watch.next(timeout).value();
            if (!response) return text + " (timeout)";
            for (const auto& event : response->events) {
                if (seen++ > 0) text += ' ';
                const auto name = event.kv.key.substr(prefix.size());
                text += event.deleted ? '-' + name : name + '=' + event.kv.value;
                text += "@+" + std::to_string(event.kv.mod_revision - start);
            }
        }
        return text;
    }
    // Lets time pass until the condition holds, up to 20 s.
    bool eventually(const std::function<bool()>& condition) const {
        for (int i = 0; i < 20; ++i) {
            if (condition()) return true;
            subject->pass_time(std::chrono::seconds(1));
        }
        return condition();
    }

    std::unique_ptr<Subject> subject;
    std::string prefix;
    // The revision at the beginning of the test.
    etcd::Revision start;
};

// Returns whether the result is an error with this code whose message contains `text`.
template <typename T>
boost::test_tools::predicate_result fails(const Result<T>& result, ErrorCode expected,
                                          const std::string& text = "") {
    boost::test_tools::predicate_result verdict(false);
    if (result) {
        verdict.message() << "no error";
        return verdict;
    }
    const auto& error = result.error();
    verdict = error.code == expected && error.message.find(text) != std::string::npos;
    verdict.message() << to_string(error.code) << ": " << error.message;
    return verdict;
}

}  // namespace rocklock::testing::etcd_contract
