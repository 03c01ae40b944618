//! [first_program]
#include <iostream>

#include <rocklock/database.hpp>

int main() {
    // The directory is created if it does not exist. One process can have it open at a time.
    auto database = rocklock::Database::open("locks");
    if (!database) {
        std::cerr << database.error().message << '\n';
        return 1;
    }
    auto session = database->open_session("ann");
    if (!session) {
        std::cerr << session.error().message << '\n';
        return 1;
    }
    auto guard = session->acquire("orders/42");
    if (!guard) {
        std::cerr << guard.error().message << '\n';
        return 1;
    }
    std::cout << "locked orders/42 with token " << rocklock::number(guard->token()) << '\n';
    // The destructors release the lock and close the session and the store.
}
//! [first_program]
