#include "table/turns.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace rocklock::table {

Turns::Turn::~Turn() {
    for (const std::size_t place : places_) turns_.leave(turns_.places_[place]);
}

std::size_t Turns::place_of(std::string_view key) {
    return std::hash<std::string_view>{}(key) % place_count;
}

bool Turns::is_crowded(const std::vector<std::size_t>& places) const {
    return std::any_of(places.begin(), places.end(), [this](std::size_t place) {
        return places_[place].present.load(std::memory_order_relaxed) > 0;
    });
}

void Turns::take(std::vector<std::size_t> places, std::optional<Turn>& turn) {
    // Everybody goes from lower to higher places, so nobody waits in a circle.
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::size_t place : places) wait_at(places_[place]);
    turn.emplace(*this, std::move(places));
}

void Turns::wait_at(Place& place) {
    place.present.fetch_add(1, std::memory_order_relaxed);
    MutexLock lock(place.mutex);
    const std::uint64_t ticket = place.next_ticket++;
    while (place.served != ticket) place.changed.wait(place.mutex);
}

void Turns::leave(Place& place) {
    MutexLock lock(place.mutex);
    ++place.served;
    place.present.fetch_sub(1, std::memory_order_relaxed);
    place.changed.notify_all();
}

}  // namespace rocklock::table
