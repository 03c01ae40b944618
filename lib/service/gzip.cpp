#include "service/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace rocklock {
namespace {

// The largest window, plus the flag for the gzip format.
constexpr int gzip_window = 15 + 16;
constexpr std::size_t piece_bytes = 64u << 10;

class Inflater {
public:
    explicit Inflater(std::string_view packed) {
        // zlib does not modify the input, but its interface lacks const.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
        stream_.avail_in = static_cast<uInt>(packed.size());
        ready_ = ::inflateInit2(&stream_, gzip_window) == Z_OK;
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater() {
        if (ready_) ::inflateEnd(&stream_);
    }

    bool ready() const { return ready_; }
    // Appends the next piece to `bytes` and returns the state of zlib.
    int next(std::string& bytes) {
        std::array<char, piece_bytes> piece;
        stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream_.avail_out = static_cast<uInt>(piece.size());
        const int state = ::inflate(&stream_, Z_NO_FLUSH);
        bytes.append(piece.data(), piece.size() - stream_.avail_out);
        // At the end of a member, another one may follow (RFC 1952, 2.2).
        if (state != Z_STREAM_END || stream_.avail_in == 0) return state;
        return ::inflateReset(&stream_);
    }

private:
    z_stream stream_{};
    bool ready_ = false;
};

}  // namespace

std::optional<Unpacked> unpack_gzip(std::string_view packed, std::size_t max_bytes) {
    Inflater inflater(packed);
    if (!inflater.ready()) return std::nullopt;
    Unpacked unpacked;
    int state = Z_OK;
    while (state == Z_OK && unpacked.bytes.size() <= max_bytes)
        state = inflater.next(unpacked.bytes);
    unpacked.too_long = unpacked.bytes.size() > max_bytes;
    if (unpacked.too_long || state == Z_STREAM_END) return unpacked;
    return std::nullopt;
}

std::uint32_t crc32_of(std::string_view bytes) {
    // zlib accepts up to 4 GB per call. No body is that long.
    return static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace rocklock
