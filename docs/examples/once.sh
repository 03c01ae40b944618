#!/bin/sh
# Runs a command for a message that several replicas have received. One of them runs it; if it does
# not finish within SECONDS, another one may retry.
#
#     once.sh ENDPOINT MESSAGE SECONDS COMMAND...
#
# The exit status is 75 if another replica is running the command or has run it.
set -eu
[ $# -ge 4 ] || { sed -n '/^# /s/^# //p' "$0" >&2; exit 64; }
endpoint=$1 message=$2 seconds=$3
shift 3
case $message in
*[\"\\]*) echo "a message may have no quotes and no backslashes" >&2; exit 64 ;;
esac

export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=local AWS_PAGER=
ddb() { aws dynamodb --endpoint-url "$endpoint" "$@"; }

ddb describe-table --table-name messages >/dev/null 2>&1 ||
    ddb create-table --table-name messages --billing-mode PAY_PER_REQUEST \
        --attribute-definitions AttributeName=id,AttributeType=S \
        --key-schema AttributeName=id,KeyType=HASH >/dev/null ||
    ddb describe-table --table-name messages >/dev/null

# The condition compares the expiry time itself, so it does not depend on the deletion of expired
# items.
now=$(date +%s)
if ! refused=$(ddb put-item --table-name messages \
    --item "{\"id\":{\"S\":\"$message\"},\"expired_at\":{\"N\":\"$((now + seconds))\"}}" \
    --condition-expression "attribute_not_exists(id) OR expired_at < :now" \
    --expression-attribute-values "{\":now\":{\"N\":\"$now\"}}" 2>&1); then
    case $refused in
    *ConditionalCheckFailedException*) exit 75 ;;
    esac
    echo "$refused" >&2
    exit 1
fi

"$@"
# Done. Without an expiry time the item is permanent, so a repeated message is recognized, even if
# the old item has been deleted meanwhile.
ddb put-item --table-name messages --item "{\"id\":{\"S\":\"$message\"}}" >/dev/null
