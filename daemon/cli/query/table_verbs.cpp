// table bind, table unbind and table ls: the resources to which the items of a table belong.
#include <utility>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

int print_binding(const Result<TableBinding>& binding, std::string_view verb,
                  const Arguments& arguments) {
    if (!binding) return fail(binding.error());
    if (arguments.has("json")) {
        print(write_value(*binding));
    } else if (!arguments.has("quiet")) {
        print("table " + printable(binding->table) + std::string(verb) +
              printable(binding->resource) + (binding->strict ? ", strict" : ""));
    }
    return exit_status::done;
}

}  // namespace

int table_bind_verb(const Arguments& arguments) {
    const TableBinding binding{arguments.operands[0], arguments.operands[1],
                               arguments.has("strict")};
    return print_binding(ask_manager<TableBinding>(BindTable{binding}, arguments), " is bound to ",
                         arguments);
}

int table_unbind_verb(const Arguments& arguments) {
    return print_binding(
        ask_manager<TableBinding>(UnbindTable{arguments.operands.front()}, arguments),
        " is no longer bound to ", arguments);
}

int table_list_verb(const Arguments& arguments) {
    const auto list = ask_manager<BindingList>(ListBindings{}, arguments);
    if (!list) return fail(list.error());
    TextTable table({"TABLE", "RESOURCE", "STRICT"});
    for (const auto& binding : list->bindings) {
        if (arguments.has("json")) {
            print(write_value(binding));
            continue;
        }
        table.add(
            {printable(binding.table), printable(binding.resource), binding.strict ? "yes" : "no"});
    }
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

}  // namespace rocklock
