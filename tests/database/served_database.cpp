#include "database/served_database.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "daemon/net/connection.hpp"
#include "daemon/net/io_thread.hpp"
#include "service/dispatcher.hpp"
#include "service/item_endpoint.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;

// The service of a database without threads: after each request, it runs the work that is due.
class TickedService final : public ServerService {
public:
    TickedService(Database& database, bool ticks) : database_(database), ticks_(ticks) {}

    Ticket submit(Request request, Completion done) override {
        const auto ticket = inner().submit(std::move(request), std::move(done));
        run_due_work();
        return ticket;
    }
    void cancel(Ticket ticket) override {
        inner().cancel(ticket);
        run_due_work();
    }
    Result<Answer> call(Request request, std::stop_token stop) override {
        return inner().call(std::move(request), std::move(stop));
    }
    Result<LockView> show(std::string_view resource) override { return inner().show(resource); }
    Result<LockPage> list(const ListLocks& request) override { return inner().list(request); }
    Result<std::vector<SessionView>> sessions(std::string_view principal) override {
        return inner().sessions(principal);
    }
    Result<std::vector<Grant>> grants(const SessionId& session) override {
        return inner().grants(session);
    }
    Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) override {
        return inner().authenticate(session, secret);
    }
    bool holds(const SessionId& session, std::string_view resource, Mode mode) override {
        return inner().holds(session, resource, mode);
    }
    std::vector<LockClass> classes() override { return inner().classes(); }
    std::vector<WaitEdge> wait_graph() override { return inner().wait_graph(); }
    std::vector<Deadlock> recent_deadlocks() override { return inner().recent_deadlocks(); }
    Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) override {
        return inner().audit(after, limit);
    }
    Result<std::uint64_t> trim_audit(std::uint64_t through) override {
        return inner().trim_audit(through);
    }
    LockStatistics statistics() override { return inner().statistics(); }
    Result<void> close() { return database_.close(); }
    Result<Outliers> outliers(std::uint32_t limit) override { return inner().outliers(limit); }
    Result<HistoryPage> history(const HistoryRequest& request) override {
        return inner().history(request);
    }
    Result<EventPage> watch(const WatchRequest& request, std::stop_token stop) override {
        return inner().watch(request, std::move(stop));
    }
    Ticket submit_watch(WatchRequest request, WatchCompletion done) override {
        return inner().submit_watch(std::move(request), std::move(done));
    }

private:
    LockService& inner() { return database_.service(); }
    // A Reacquire is decided in two steps.
    void run_due_work() {
        if (!ticks_) return;
        database_.tick();
        database_.tick();
    }

    Database& database_;
    const bool ticks_;
};

}  // namespace

struct ServedDatabase::State {
    State(Database& database, Clock& clock, bool ticks)
        : service(database, ticks),
          dispatcher(service, nullptr,
                     {"memory",
                      "durable",
                      ::geteuid(),
                      nullptr,
                      [&database](const std::string& to) { return database.backup(to); },
                      &clock,
                      {},
                      {},
                      {},
                      database.tables().value()}),
          acceptor(control, Local::endpoint(path)),
          tables(*database.tables().value(), service, {}) {
        accept();
        for (auto& thread : served) thread.start();
        accepting = std::jthread([this] { control.run(); });
    }
    // The threads must stop before any member is destroyed: a request that a client has abandoned
    // may still be in a socket.
    ~State() {
        control.stop();
        accepting.join();
        for (auto& thread : served) thread.stop();
    }

    void accept() {
        acceptor.async_accept([this](boost::system::error_code error, Local::socket socket) {
            if (error) return;
            const std::scoped_lock lock(mutex);
            descriptors.push_back(::dup(socket.native_handle()));
            HttpServices services;
            services.tables = &tables;
            Caller caller;
            caller.uid = ::geteuid();
            caller.pid = ::getpid();
            const Connection::Side side{std::move(caller), services, dispatcher, traffic};
            auto& thread = served.at(descriptors.size() % served.size());
            Connection::start(socket.release(), thread, side);
            accept();
        });
    }

    const TemporaryDirectory directory;
    const std::string path = directory / "socket";
    TickedService service;
    Dispatcher dispatcher;
    // Each connection decrements the counters when its thread destroys it.
    Traffic traffic;
    static std::optional<std::chrono::milliseconds> nothing_to_flush() { return std::nullopt; }
    std::array<IoThread, 2> served{IoThread(nothing_to_flush), IoThread(nothing_to_flush)};
    asio::io_context control;
    Local::acceptor acceptor;
    std::mutex mutex;
    std::vector<int> descriptors;
    ItemEndpoint tables;
    std::jthread accepting;
};

ServedDatabase::ServedDatabase(Database& database, Clock& clock, bool ticks)
    : state_(std::make_unique<State>(database, clock, ticks)) {}

ServedDatabase::~ServedDatabase() {
    drop_connections();
    // The service's threads answer connections, and connections must not outlive the I/O context.
    std::ignore = state_->service.close();
}

const std::string& ServedDatabase::path() const { return state_->path; }

void ServedDatabase::drop_connections() {
    const std::scoped_lock lock(state_->mutex);
    for (const int descriptor : std::exchange(state_->descriptors, {})) {
        ::shutdown(descriptor, SHUT_RDWR);
        ::close(descriptor);
    }
}

bool over_a_socket() {
    // Set by the build before any thread starts.
    const char* way = std::getenv("ROCKLOCK_TEST_DATABASE");
    return way != nullptr && std::string_view(way) == "socket";
}

}  // namespace rocklock::testing
