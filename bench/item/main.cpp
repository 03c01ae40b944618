// bench_item: the time to parse, print, copy, store and find items, on one thread, without a table
// or a disk.
//
//     bench_item [--quick] [--rounds N] [--only TEXT]
//
// Each row is one operation on a whole item or number. A round repeats it for some milliseconds. A
// row reports the median and the fastest round in nanoseconds of processor time, and the size in
// bytes of the data that is read or written.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>

#include "item/item_codec.hpp"
#include "item/item_limits.hpp"
#include "item/key_codec.hpp"
#include "wire/json/attribute_json.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Options {
    std::size_t rounds = 9;
    milliseconds duration{50};
    // Only rows with this text in their name are measured.
    std::string only;
};

// Returns the processor time of this thread. Other load on the machine affects the processor time
// less than it affects the elapsed time.
nanoseconds time_used() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

// Adds up the results of the operations, so that the compiler cannot remove them.
std::uint64_t sink = 0;

class Bench {
public:
    explicit Bench(Options options) : options_(std::move(options)) {
        std::printf("| operation | bytes | ns, median | ns, fastest |\n|---|---|---|---|\n");
    }

    // Measures `once`, which must return a value that depends on everything it did.
    template <typename Once>
    void row(const std::string& name, std::size_t bytes, const Once& once) {
        if (name.find(options_.only) == std::string::npos) return;
        std::vector<double> times;
        // A round that is not counted.
        round(once);
        for (std::size_t i = 0; i < options_.rounds; ++i) times.push_back(round(once));
        std::sort(times.begin(), times.end());
        std::printf("| %s | %zu | %.0f | %.0f |\n", name.c_str(), bytes, times[times.size() / 2],
                    times.front());
    }

private:
    // Returns nanoseconds per operation.
    template <typename Once>
    double round(const Once& once) {
        const auto begin = time_used();
        std::uint64_t count = 0;
        auto end = begin;
        do {
            for (int i = 0; i < 100; ++i) sink += once();
            count += 100;
            end = time_used();
        } while (end - begin < options_.duration);
        return std::chrono::duration<double, std::nano>(end - begin).count() /
               static_cast<double>(count);
    }

    const Options options_;
};

// An item as used for a lock in DynamoDB.
constexpr std::string_view small_item = R"({
    "pk":{"S":"orders/42"},"owner_id":{"S":"billing-worker-3"},"expired_at":{"N":"1795284000"},
    "token":{"N":"3706140701491200"},"status":{"S":"normal"},"version":{"N":"17"}})";

// Returns an order of six lines, about a kilobyte of JSON.
std::string large_item() {
    std::string lines;
    for (int line = 1; line <= 6; ++line) {
        if (line > 1) lines += ',';
        lines += R"({"M":{"article":{"S":"article-)" + std::to_string(1000 + line) +
                 R"("},"count":{"N":")" + std::to_string(line * 3) +
                 R"("},"price":{"N":"19.95"},"text":{"S":"as agreed by phone"}}})";
    }
    return R"({"pk":{"S":"customer#4711"},"sk":{"S":"order#2026-11-21#000042"},"lines":{"L":[)" +
           lines +
           R"(]},"tags":{"SS":["express","gift","export"]},"paid":{"BOOL":false},"note":{"NULL":true},)"
           R"("total":{"N":"1256.85"},"created":{"N":"1795284000.123"},"signature":{"B":"AAECAwQFBgc="}})";
}

boost::json::value parsed(std::string_view text, boost::json::storage_ptr storage = {}) {
    boost::json::parse_options options;
    options.max_depth = 128;
    return boost::json::parse(text, std::move(storage), options);
}

void items(Bench& bench, const std::string& name, std::string_view text) {
    const auto parsed_text = parsed(text);
    const Item item = read_item(parsed_text).value();
    std::string bytes;
    append_item(bytes, item);
    JsonWriter written;
    write_item(written, item);
    const auto json = written.take();

    bench.row(name + ": JSON text parsed", json.size(), [&] {
        unsigned char memory[4096];
        boost::json::monotonic_resource resource(memory, sizeof memory);
        return parsed(json, &resource).as_object().size();
    });
    bench.row(name + ": item from parsed JSON", json.size(),
              [&] { return read_item(parsed_text)->size(); });
    bench.row(name + ": JSON text of an item", json.size(), [&] {
        JsonWriter writer;
        write_item(writer, item);
        return writer.text().size();
    });
    bench.row(name + ": checked against the limits", bytes.size(),
              [&] { return check_item(item, ItemWrite::put).has_value() ? 1U : 0U; });
    bench.row(name + ": encoded", bytes.size(), [&] {
        std::string encoded;
        append_item(encoded, item);
        return encoded.size();
    });
    bench.row(name + ": decoded", bytes.size(), [&] { return decode_item(bytes)->size(); });
    bench.row(name + ": copied", bytes.size(), [&] { return Item(item).size(); });
    bench.row(name + ": compared with its equal", bytes.size(),
              [&, copy = item] { return item == copy ? 1U : 0U; });
    bench.row(name + ": an attribute found", bytes.size(),
              [&] { return item.find("pk") != nullptr ? 1U : 0U; });
}

void keys(Bench& bench) {
    const AttributeValue hash = "customer#4711";
    const AttributeValue range = "order#2026-11-21#000042";
    const AttributeValue number = Number::parse("1795284000.123").value();
    std::string key;
    append_partition(key, hash);
    append_key_value(key, range);
    bench.row("key of two strings", key.size(), [&] {
        std::string bytes;
        append_partition(bytes, hash);
        append_key_value(bytes, range);
        return bytes.size();
    });
    bench.row("key of a string and a number", 30, [&] {
        std::string bytes;
        append_partition(bytes, hash);
        append_key_value(bytes, number);
        return bytes.size();
    });
    bench.row("key of two strings, read", key.size(), [&] {
        std::string_view rest = key;
        return take_partition(rest).has_value() && take_key_value(rest).has_value() ? 1U : 0U;
    });
}

void numbers(Bench& bench) {
    const std::string long_text = "12345678901234567890.123456789012345678";
    const auto small = Number::parse("1795284000").value();
    const auto fraction = Number::parse("1256.85").value();
    const auto large = Number::parse(long_text).value();
    const auto text_of = [](const Number& number) { return number.to_string().size(); };
    const auto read = [](std::string_view text) { return Number::parse(text)->hash(); };
    const auto sum = [](const Number& left, const Number& right) {
        return add(left, right)->hash();
    };
    bench.row("number read, 10 digits", 10, [&] { return read("1795284000"); });
    bench.row("number read, 38 digits", long_text.size(), [&] { return read(long_text); });
    bench.row("number written, 10 digits", 10, [&] { return text_of(small); });
    bench.row("number written, 38 digits", long_text.size(), [&] { return text_of(large); });
    bench.row("integers added", 10, [&] { return sum(small, Number(1)); });
    bench.row("fractions added", 10, [&] { return sum(small, fraction); });
    bench.row("numbers of 38 digits added", long_text.size(), [&] { return sum(large, large); });
    bench.row("numbers compared", 10, [&] { return small < fraction ? 1U : 2U; });
}

Options read_options(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = arguments[i];
        const bool last = i + 1 == count;
        if (word == "--quick") {
            options.rounds = 1;
            options.duration = milliseconds{1};
        } else if (word == "--rounds" && !last) {
            options.rounds = std::max(1UL, std::stoul(arguments[++i]));
        } else if (word == "--only" && !last) {
            options.only = arguments[++i];
        } else {
            std::cerr << "bench_item [--quick] [--rounds N] [--only TEXT]" << std::endl;
            std::exit(2);
        }
    }
    return options;
}

}  // namespace
}  // namespace rocklock::bench

int main(int count, char** arguments) {
    using namespace rocklock::bench;
    Bench bench(read_options(count, arguments));
    items(bench, "lock", small_item);
    items(bench, "order", large_item());
    keys(bench);
    numbers(bench);
    // `sink` is never 0, but the compiler cannot know that, so it must compute `sink`.
    return sink == 0 ? 1 : 0;
}
