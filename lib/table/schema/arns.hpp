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
    // Returns the ARN of an encryption key, given its id, alias or ARN. If `key` is empty, returns
    // the ARN of the account's own key.
    std::string of_key(std::string_view key) const;
    // Returns the name of a table, given its name or ARN. Returns nullopt for an ARN of another
    // region or account.
    std::optional<std::string_view> name_of(std::string_view table) const;

private:
    std::string prefix_;
    std::string key_prefix_;
};

// Returns whether the text has the form of a table's ARN, in any region and account.
bool is_table_arn(std::string_view text);

}  // namespace rocklock::table
