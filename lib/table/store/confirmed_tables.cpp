#include "table/store/confirmed_tables.hpp"

namespace rocklock::table {

Result<TableDescription> ConfirmedTables::create_table(const CreateTable& request) {
    return committed(tables_->create_table(request));
}

Result<TableDescription> ConfirmedTables::describe_table(const std::string& table) {
    return confirmed(tables_->describe_table(table));
}

Result<TableDescription> ConfirmedTables::update_table(const UpdateTable& request) {
    return confirmed(tables_->update_table(request));
}

Result<TableDescription> ConfirmedTables::delete_table(const std::string& table) {
    return committed(tables_->delete_table(table));
}

Result<TableNames> ConfirmedTables::list_tables(const ListTables& request) {
    return confirmed(tables_->list_tables(request));
}

Result<UpdateTimeToLive> ConfirmedTables::update_time_to_live(const UpdateTimeToLive& request) {
    return confirmed(tables_->update_time_to_live(request));
}

Result<TimeToLive> ConfirmedTables::describe_time_to_live(const std::string& table) {
    return confirmed(tables_->describe_time_to_live(table));
}

Result<SweepReport> ConfirmedTables::sweep_expired(const SweepExpired& step) {
    return tables_->sweep_expired(step);
}

Result<void> ConfirmedTables::tag_resource(const TagResource& request) {
    return confirmed(tables_->tag_resource(request));
}

Result<void> ConfirmedTables::untag_resource(const UntagResource& request) {
    return confirmed(tables_->untag_resource(request));
}

Result<TagPage> ConfirmedTables::list_tags_of_resource(const ListTagsOfResource& request) {
    return confirmed(tables_->list_tags_of_resource(request));
}

Result<TableBinding> ConfirmedTables::bind_table(const TableBinding& request) {
    return confirmed(tables_->bind_table(request));
}

Result<TableBinding> ConfirmedTables::unbind_table(const std::string& table) {
    return committed(tables_->unbind_table(table));
}

Result<std::vector<TableBinding>> ConfirmedTables::list_bindings() {
    return confirmed(tables_->list_bindings());
}

Result<DraftPage> ConfirmedTables::list_drafts(const DraftsRequest& request) {
    return confirmed(tables_->list_drafts(request));
}

Result<Draft> ConfirmedTables::take_draft(const std::string& principal, DraftId draft,
                                          std::optional<UserId> only_of) {
    return committed(tables_->take_draft(principal, draft, only_of));
}

Result<void> ConfirmedTables::discard_draft(const std::string& principal, DraftId draft,
                                            std::optional<UserId> only_of) {
    return committed(tables_->discard_draft(principal, draft, only_of));
}

Result<WriteAnswer> ConfirmedTables::write_item(const WriteItem& request) {
    return committed(tables_->write_item(request));
}

Result<GetAnswer> ConfirmedTables::get_item(const GetItem& request) {
    return confirmed(tables_->get_item(request));
}

Result<Page> ConfirmedTables::query(const Query& request) {
    return confirmed(tables_->query(request));
}

Result<Page> ConfirmedTables::scan(const Scan& request) {
    return confirmed(tables_->scan(request));
}

Result<BatchWriteAnswer> ConfirmedTables::batch_write(const BatchWrite& request) {
    return committed(tables_->batch_write(request));
}

Result<BatchGetAnswer> ConfirmedTables::batch_get(const BatchGet& request) {
    return confirmed(tables_->batch_get(request));
}

Result<TransactWriteAnswer> ConfirmedTables::transact_write(const TransactWrite& request) {
    auto answer = tables_->transact_write(request);
    // A repeated request with a token succeeds without a commit.
    return request.token ? confirmed(std::move(answer)) : committed(std::move(answer));
}

Result<TransactGetAnswer> ConfirmedTables::transact_get(const TransactGet& request) {
    return confirmed(tables_->transact_get(request));
}

}  // namespace rocklock::table
