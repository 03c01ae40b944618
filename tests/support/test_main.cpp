// The `main` of every Boost.Test program.
#define BOOST_TEST_MODULE rocklock
#include <boost/test/unit_test.hpp>
