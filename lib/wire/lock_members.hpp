// The members of all values in the protocol. Each member is named in one place, for all encodings
// and for both directions.
//
// A function describe(codec, value) calls the codec for each member of the value. The codec is a
// writer or a reader of JSON or frames. It has a function for each kind of member:
//
// - required: always written. In frames, however, an empty std::optional is omitted.
// - optional: omitted if it is empty, zero or false. If it is absent, a reader keeps the default.
// - defaulted: always written. If it is absent, a reader keeps the default.
// - patience: a duration for which -1 means no limit.
// - flat_optional: the members of an optional value, which are written into the same object.
//
//     codec.required("Resource", lock.resource);
//     codec.optional("Subtree", lock.subtree);
//
// Code for only one direction tests `Codec::reading`.
#pragma once

#include "wire/cluster_members.hpp"
#include "wire/grant_members.hpp"
#include "wire/query_members.hpp"
#include "wire/session_members.hpp"
#include "wire/settings_members.hpp"
#include "wire/value_members.hpp"
