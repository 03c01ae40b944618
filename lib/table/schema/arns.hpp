// The names of tables as Amazon Resource Names: "arn:aws:dynamodb:<region>:<account>:table/<name>".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rocklock::table {

class Arns {
public:
    Arns(std::string_view region, std::string_view account);

    std::string of_table(std::string_view table) const;
    std::string of_index(std::string_view table, std::string_view index) const;
    // Of a key that tables are encrypted with: of its id or alias, or as it is where it is an ARN.
    // That of the account's own where it is empty.
    std::string of_key(std::string_view key) const;
    // The name alone, of a name or of an ARN; nothing where it is one of another region or account.
    std::optional<std::string_view> name_of(std::string_view table) const;

private:
    std::string prefix_;
    std::string key_prefix_;
};

// Whether it has the form of a table's ARN, of whatever region and account.
bool is_table_arn(std::string_view text);

}  // namespace rocklock::table
