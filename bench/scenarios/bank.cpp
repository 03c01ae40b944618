#include "scenarios/bank.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <rocklock/items/change_set.hpp>

#include "support.hpp"

namespace rocklock::bench {
namespace {

const std::string locked = "locked";
const std::string versioned = "versioned";
constexpr std::int64_t first_balance = 1000;

AttributeMap account_key(std::size_t account) {
    AttributeMap key;
    key.set("account", "account-" + std::to_string(account));
    return key;
}

std::int64_t balance_of(const Item& account) {
    const auto* balance = account.find("balance");
    if (balance == nullptr || balance->get_if<Number>() == nullptr) {
        give_up("look at an account", "it has no balance");
    }
    return std::strtoll(balance->get_if<Number>()->to_string().c_str(), nullptr, 10);
}

Item with(Item account, std::int64_t more) {
    account.set("balance", Number(balance_of(account) + more));
    return account;
}

// Moves `sum` from the account `from` to the account `to`.
struct Transfer {
    std::size_t from = 0;
    std::size_t to = 0;
    std::int64_t sum = 0;
};

Transfer draw(Worker& worker, std::size_t among) {
    const std::size_t from = worker.below(among);
    const std::size_t step = 1 + worker.below(among - 1);
    return {from, (from + step) % among, static_cast<std::int64_t>(1 + worker.below(100))};
}

Item read(ChangeSet& changes, std::size_t account) {
    auto item = must(changes.get(versioned, account_key(account)), "read an account");
    if (!item) give_up("read an account", "there is none");
    return *std::move(item);
}

WriteItem put_of(Item account) {
    WriteItem put;
    put.table = locked;
    put.item = std::move(account);
    return put;
}

}  // namespace

Bank::Bank(Database& database, std::size_t accounts)
    : database_(database),
      tables_(*must(database.tables(), "open the tables")),
      accounts_(accounts) {
    create(versioned);
    create(locked);
    must(database_.bind_table({locked, "accounts/{account}"}), "bind the accounts");
}

void Bank::create(const std::string& table) {
    CreateTable request;
    request.table = table;
    request.attributes = {{"account", AttributeType::string}};
    request.key = {{"account", KeyType::hash}};
    request.billing = BillingMode::pay_per_request;
    must(tables_.create_table(request), "create the accounts");
    constexpr std::size_t batch_size = 25;
    for (std::size_t i = 0; i < accounts_; i += batch_size) {
        BatchWrite batch;
        for (std::size_t k = i; k < std::min(i + batch_size, accounts_); ++k) {
            WriteItem put;
            put.table = table;
            put.item = account_key(k);
            put.item.set("balance", Number(first_balance));
            batch.writes.push_back(std::move(put));
        }
        must(tables_.batch_write(batch), "open accounts");
    }
}

void Bank::transfer_optimistically(Worker& worker, std::size_t among,
                                   std::chrono::microseconds thinks) {
    const Transfer wanted = draw(worker, among);
    const auto start = std::chrono::steady_clock::now();
    while (true) {
        ChangeSet changes(tables_, "clerk-" + std::to_string(worker.index));
        Item from = read(changes, wanted.from);
        Item to = read(changes, wanted.to);
        hold(thinks);
        must(changes.put(versioned, with(std::move(from), -wanted.sum)), "take from an account");
        must(changes.put(versioned, with(std::move(to), wanted.sum)), "give to an account");
        const auto done = changes.commit();
        if (done) break;
        if (done.error().code != ErrorCode::condition_failed) {
            give_up("transfer", done.error().message);
        }
        ++worker.wasted;
    }
    worker.waits.record(std::chrono::steady_clock::now() - start);
    ++worker.done;
}

void Bank::transfer_under_locks(Worker& worker, std::size_t among,
                                std::chrono::microseconds thinks) {
    const Transfer wanted = draw(worker, among);
    const auto start = std::chrono::steady_clock::now();
    EditRequest request;
    for (const auto account : {wanted.from, wanted.to}) {
        ItemToLock item;
        item.table = locked;
        item.key = account_key(account);
        request.items.push_back(std::move(item));
    }
    AcquireOptions options;
    options.patience = no_limit;
    Edit edit = must(worker.session.begin_edit(tables_, request, options), "lock the accounts");
    hold(thinks);
    TransactWrite save;
    save.actions = {put_of(with(edit.items[0].item.value(), -wanted.sum)),
                    put_of(with(edit.items[1].item.value(), wanted.sum))};
    must(edit.guard.save_and_release(tables_, std::move(save)), "save the accounts");
    worker.waits.record(std::chrono::steady_clock::now() - start);
    ++worker.done;
}

void Bank::audit(const std::string& table) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < accounts_; ++i) {
        GetItem request;
        request.table = table;
        request.key = account_key(i);
        const auto answer = must(tables_.get_item(request), "audit an account");
        if (!answer.item) give_up("audit an account", "there is none");
        sum += balance_of(*answer.item);
    }
    if (sum != first_balance * static_cast<std::int64_t>(accounts_)) {
        give_up("audit the bank", "the sum of all accounts has changed");
    }
}

void Bank::audit() {
    audit(versioned);
    audit(locked);
}

}  // namespace rocklock::bench
