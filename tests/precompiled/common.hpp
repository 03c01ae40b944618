// The headers that most tests include. With -Db_pch=true, they are compiled once for a program of
// many files. Tests must not rely on this header, because the option is off by default.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
