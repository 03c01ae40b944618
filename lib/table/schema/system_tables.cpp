#include "table/schema/system_tables.hpp"

#include "item/key_codec.hpp"

namespace rocklock {

std::string RowOrder::position(std::string_view hash) const {
    std::string bytes = prefix_;
    append_partition(bytes, AttributeValue(hash));
    return bytes;
}

std::string RowOrder::position(std::string_view hash, std::uint64_t range) const {
    std::string bytes = position(hash);
    append_key_value(bytes, AttributeValue(Number(range)));
    return bytes;
}

}  // namespace rocklock
