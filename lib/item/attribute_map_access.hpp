// Gives access to the array of an AttributeMap. Used by functions that construct maps from names
// that are in order already, so that the map does not check the order again.
#pragma once

#include <vector>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

class AttributeMapAccess {
public:
    // The names must ascend strictly before the map is used.
    static std::vector<Attribute>& attributes(AttributeMap& map) { return map.attributes_; }
};

}  // namespace rocklock
