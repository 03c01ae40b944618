#include "base/bytes.hpp"

#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

namespace rocklock {

BOOST_AUTO_TEST_SUITE(bytes)

BOOST_AUTO_TEST_CASE(are_big_endian) {
    std::string out;
    append_u8(out, 0x01);
    append_u16(out, 0x0203);
    append_u32(out, 0x04050607);
    append_u64(out, 0x08090a0b0c0d0e0f);
    BOOST_TEST(out == "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f");
}

BOOST_AUTO_TEST_CASE(are_read_as_they_were_written) {
    for (const std::uint64_t number :
         {0ULL, 1ULL, 127ULL, 128ULL, 16383ULL, 16384ULL, 1ULL << 53, ~0ULL - 1, ~0ULL}) {
        std::string out;
        append_varint(out, number);
        append_u8(out, static_cast<std::uint8_t>(number));
        append_u16(out, static_cast<std::uint16_t>(number));
        append_u32(out, static_cast<std::uint32_t>(number));
        append_u64(out, number);
        append_string(out, std::string("a\0b", 3));
        append_string(out, "");
        Reader reader(out);
        BOOST_TEST((reader.varint() == number));
        BOOST_TEST((reader.u8() == static_cast<std::uint8_t>(number)));
        BOOST_TEST((reader.u16() == static_cast<std::uint16_t>(number)));
        BOOST_TEST((reader.u32() == static_cast<std::uint32_t>(number)));
        BOOST_TEST((reader.u64() == number));
        BOOST_TEST((reader.string() == std::string("a\0b", 3)));
        BOOST_TEST(!reader.done());
        BOOST_TEST((reader.string() == ""));
        BOOST_TEST(reader.done());
    }
}

// Varints are encoded and decoded in a different way if they have at most eight bytes, and decoded
// in a different way if fewer than eight bytes of input are left.
BOOST_AUTO_TEST_CASE(of_a_varint_contain_seven_bits_each) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t number : {1ULL << bit, (1ULL << bit) - 1, (1ULL << bit) + 1,
                                           0x5A5A5A5A5A5A5A5AULL >> bit, ~0ULL >> bit}) {
            std::string expected;
            std::uint64_t rest = number;
            for (; rest >= 0x80; rest >>= 7) expected += static_cast<char>(rest | 0x80);
            expected += static_cast<char>(rest);
            std::string out;
            append_varint(out, number);
            BOOST_TEST(out == expected);
            std::string written;
            ByteWriter writer(written);
            writer.varint(number);
            writer.flush();
            BOOST_TEST(written == expected);
            for (const std::size_t after : {0U, 1U, 7U, 8U, 20U}) {
                const std::string bytes = expected + std::string(after, '\xff');
                Reader reader(bytes);
                BOOST_TEST((reader.varint() == number));
                BOOST_TEST(reader.rest().size() == after);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(that_are_cut_anywhere_are_refused) {
    std::string out;
    append_u32(out, 7);
    append_varint(out, 300);
    append_string(out, "text");
    append_u64(out, 9);
    for (std::size_t size = 0; size < out.size(); ++size) {
        Reader reader(std::string_view(out).substr(0, size));
        reader.u32();
        reader.varint();
        reader.string();
        BOOST_TEST(!reader.u64());
        BOOST_TEST(!reader.ok());
        BOOST_TEST(!reader.bytes(0));
    }
}

BOOST_AUTO_TEST_CASE(of_a_varint_have_exactly_one_encoding) {
    using namespace std::string_literals;
    for (const std::string& wrong : {
             "\x80\x00"s,           // Zero, encoded in two bytes.
             "\x80\x00zzzzzz"s,     // The same, before other bytes.
             "\xff\x80\x00zzzzz"s,  // A last byte that is redundant.
             "\x80\x80\x80\x80\x80\x80\x80\x00"s,
             "\x80"s,                                      // The last byte is missing.
             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,  // 65 bits.
             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
         }) {
        BOOST_TEST(!Reader(wrong).varint());
    }
}

BOOST_AUTO_TEST_CASE(of_a_string_never_exceed_the_input) {
    std::string out;
    append_varint(out, ~0ULL);
    out += "text";
    BOOST_TEST(!Reader(out).string());
}

// The buffer of a ByteWriter has 256 bytes, so sizes around it and around half of it are tried.
BOOST_AUTO_TEST_CASE(of_a_writer_are_those_of_the_functions) {
    for (std::size_t before = 0; before < 260; ++before) {
        for (const std::size_t size :
             {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{128}, std::size_t{129},
              std::size_t{256}, std::size_t{300}}) {
            std::string expected = "x";
            std::string found = "x";
            ByteWriter writer(found);
            const auto write = [&](auto& out) {
                for (std::size_t i = 0; i < before; ++i)
                    append_u8(out, static_cast<unsigned>(i) & 0xFF);
                append_varint(out, ~0ULL);
                append_varint(out, size);
                append_string(out, std::string(size, 'a'));
                append_u16(out, 0x0203);
                append_u64(out, 0x08090a0b0c0d0e0f);
                append_bytes(out, std::string_view());
            };
            write(expected);
            write(writer);
            BOOST_TEST(writer.size() == expected.size());
            // A byte of the buffer and one of the string; then one byte becomes several.
            for (const std::size_t at : {std::size_t{0}, expected.size() - 1}) {
                expected[at] = 's';
                writer.set(at, 's');
            }
            expected.replace(before / 2, 1, "12");
            writer.replace(before / 2, "12");
            append_u32(expected, 7);
            append_u32(writer, 7);
            writer.flush();
            BOOST_TEST((found == expected));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
