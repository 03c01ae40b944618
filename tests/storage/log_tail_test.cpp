#include "storage/files/log_tail.hpp"

#include <string>

#include <boost/crc.hpp>
#include <boost/test/unit_test.hpp>

#include "base/bytes.hpp"

namespace rocklock::testing {
namespace {

// Returns a record in RocksDB's format. Kind 1 is a complete record.
std::string record(const std::string& payload, char kind = 1) {
    const std::string covered = kind + payload;
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(covered.data(), covered.size());
    const std::uint32_t plain = crc.checksum();
    const std::uint32_t masked = ((plain >> 15) | (plain << 17)) + 0xA282EAD8U;
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(masked >> shift);
    bytes += static_cast<char>(payload.size());
    bytes += static_cast<char>(payload.size() >> 8);
    return bytes + covered;
}

LogTail tail_of(const std::string& log) {
    LogTail tail;
    for (std::size_t at = 0; at < log.size(); at += LogTail::block_bytes) {
        tail.read(std::string_view(log).substr(at, LogTail::block_bytes));
    }
    return tail;
}

std::string zeros(std::size_t count) { return std::string(count, '\0'); }

// Returns a record that fills a block except for `left` bytes.
std::string block_but(std::size_t left) {
    return record(std::string(LogTail::block_bytes - LogTail::header_bytes - left, 'x'));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_tail)

BOOST_AUTO_TEST_CASE(is_the_end_of_a_file_without_preallocated_zeros) {
    for (const std::string& log :
         {std::string(), record("a"), record("a") + record("bb"), record("a").substr(0, 5),
          record("a") + record("bb").substr(0, 8), block_but(3) + zeros(3) + record("a")}) {
        BOOST_TEST(tail_of(log).end() == log.size());
        BOOST_TEST(!tail_of(log).gap());
    }
}

BOOST_AUTO_TEST_CASE(is_after_the_last_record) {
    const std::string written = record("a") + record("b");
    for (const std::size_t space : {1, 6, 7, 100, 32'000, 100'000}) {
        BOOST_TEST(tail_of(written + zeros(space)).end() == written.size());
    }
    BOOST_TEST(tail_of(zeros(100'000)).end() == 0U);
}

BOOST_AUTO_TEST_CASE(is_after_a_record_that_ends_with_zeros) {
    const std::string written = record("a" + zeros(20));
    BOOST_TEST(tail_of(written + zeros(100)).end() == written.size());
}

BOOST_AUTO_TEST_CASE(is_at_the_end_of_a_block) {
    for (const std::size_t left : {0, 1, 6}) {
        const std::string log = block_but(left) + zeros(left);
        BOOST_TEST(tail_of(log + zeros(LogTail::block_bytes)).end() == log.size());
        BOOST_TEST(tail_of(log + record("a") + zeros(9)).end() == log.size() + record("a").size());
    }
}

// Without the preallocated space the file would end there, with its last record truncated.
BOOST_AUTO_TEST_CASE(is_within_a_record_of_which_the_rest_was_not_written) {
    const std::string before = record("before");
    const std::string last = record("a record without zeros");
    for (std::size_t part = 1; part < last.size(); ++part) {
        std::string log = before + last.substr(0, part);
        // Zeros at the end of the truncated record look like preallocated space.
        std::size_t expected = log.size();
        while (log[expected - 1] == '\0') --expected;
        log += zeros(1'000);
        BOOST_TEST(tail_of(log).end() == expected);
        BOOST_TEST(!tail_of(log).gap());
    }
}

BOOST_AUTO_TEST_CASE(has_a_gap_if_records_follow_zeros) {
    const std::string before = record("before");
    const std::string in_block = before + zeros(50) + record("after") + zeros(100);
    BOOST_TEST(tail_of(in_block).gap().value() == before.size());
    BOOST_TEST(tail_of(in_block).end() == in_block.size());
    const std::string in_the_next =
        before + zeros(LogTail::block_bytes - before.size()) + record("after");
    BOOST_TEST(tail_of(in_the_next).gap().value() == before.size());
}

// RocksDB itself reports the error.
BOOST_AUTO_TEST_CASE(is_the_end_of_the_file_if_a_record_cannot_be_parsed) {
    const std::string strange_kind = record("a") + record("b", 77) + zeros(100);
    BOOST_TEST(tail_of(strange_kind).end() == strange_kind.size());
    std::string too_long = block_but(20);
    too_long += record(std::string(200, 'x')).substr(0, 20) + zeros(100);
    BOOST_TEST(tail_of(too_long).end() == too_long.size());
    BOOST_TEST(!tail_of(too_long).gap());
}

// Only the last record is examined. RocksDB finds damage before it.
BOOST_AUTO_TEST_CASE(is_unchanged_if_an_earlier_byte_is_damaged) {
    std::string log = record("abc") + record("def");
    log[9] = 'x';
    const std::size_t written = log.size();
    log += zeros(100);
    BOOST_TEST(tail_of(log).end() == written);
    // The last record is complete, although one of its bytes is damaged.
    log[written - 2] = 'x';
    BOOST_TEST(tail_of(log).end() == written);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
