// The members of everything the protocol carries, each named once.
//
// A codec walks over them to write or to read: `required` members are always there, `optional` ones
// are left out where they say nothing (empty, zero, false), and keep their default where they are
// absent.
//
//     codec.required("Resource", lock.resource);
//     codec.optional("Subtree", lock.subtree);
//
// What differs between both directions asks `Codec::reading`.
#pragma once

#include "wire/grant_members.hpp"
#include "wire/query_members.hpp"
#include "wire/session_members.hpp"
#include "wire/settings_members.hpp"
#include "wire/value_members.hpp"
