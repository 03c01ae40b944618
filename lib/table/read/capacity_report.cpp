#include "table/read/capacity_report.hpp"

#include <utility>

#include "base/assert.hpp"

namespace rocklock::table {
namespace {

void add_index(ConsumedCapacity& report, const IndexSchema& index, double units) {
    auto& list = index.kind == IndexKind::local ? report.local_indexes : report.global_indexes;
    list[index.name] += units;
}

void add_all(std::map<std::string, double>& sums, const std::map<std::string, double>& units,
             double factor) {
    for (const auto& [name, number] : units) sums[name] += factor * number;
}

}  // namespace

std::optional<ConsumedCapacity> report_write(const Schema& schema, ReturnCapacity wanted,
                                             double table_units, const IndexUnits& index_units) {
    if (wanted == ReturnCapacity::none) return std::nullopt;
    ConsumedCapacity report;
    report.table = schema.name;
    report.units = table_units;
    for (const auto& [name, units] : index_units) report.units += units;
    if (wanted == ReturnCapacity::total) return report;
    report.table_units = table_units;
    for (const auto& [name, units] : index_units) {
        const IndexSchema* const index = schema.index(name);
        ROCKLOCK_ASSERT(index != nullptr);
        add_index(report, *index, units);
    }
    return report;
}

std::optional<ConsumedCapacity> report_read(const Schema& schema, const IndexSchema* index,
                                            ReturnCapacity wanted, double units,
                                            double fetched_units) {
    if (wanted == ReturnCapacity::none) return std::nullopt;
    ConsumedCapacity report;
    report.table = schema.name;
    report.units = units + fetched_units;
    if (wanted == ReturnCapacity::total) return report;
    report.table_units = index ? fetched_units : units;
    if (index) add_index(report, *index, units);
    return report;
}

void CapacitySum::add(const std::optional<ConsumedCapacity>& consumed) {
    if (!consumed) return;
    ROCKLOCK_ASSERT(!consumed->table.empty());
    ConsumedCapacity& sum = tables_[consumed->table];
    sum.table = consumed->table;
    sum.units += factor_ * consumed->units;
    if (consumed->table_units) {
        sum.table_units = sum.table_units.value_or(0) + factor_ * *consumed->table_units;
    }
    add_all(sum.local_indexes, consumed->local_indexes, factor_);
    add_all(sum.global_indexes, consumed->global_indexes, factor_);
}

std::vector<ConsumedCapacity> CapacitySum::take() {
    std::vector<ConsumedCapacity> list;
    for (auto& [name, sum] : tables_) list.push_back(std::move(sum));
    return list;
}

}  // namespace rocklock::table
