"""Tests a program that uses DynamoDB against Rocklock in a container, with Testcontainers and pytest:

    podman build -t rocklock . || docker build -f Containerfile -t rocklock .
    pip install testcontainers boto3 pytest
    pytest docs/examples/container/orders_test.py

With podman, set DOCKER_HOST to its socket, and TESTCONTAINERS_RYUK_DISABLED=true.
"""

import boto3
import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy


@pytest.fixture(scope="module")
def orders():
    """A new table in a new store, which is in memory."""
    container = DockerContainer("rocklock").with_exposed_ports(8000).with_command("serve --container --memory")
    with container.waiting_for(LogMessageWaitStrategy("the store is open")):
        endpoint = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(8000)}"
        tables = boto3.resource("dynamodb", endpoint_url=endpoint, region_name="local", aws_access_key_id="any",
                                aws_secret_access_key="any")
        table = tables.create_table(TableName="orders", BillingMode="PAY_PER_REQUEST",
                                    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                                    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
        table.wait_until_exists()
        yield table


def test_an_order_is_saved_once(orders):
    orders.put_item(Item={"id": "42", "text": "five chairs"}, ConditionExpression="attribute_not_exists(id)")
    with pytest.raises(orders.meta.client.exceptions.ConditionalCheckFailedException):
        orders.put_item(Item={"id": "42", "text": "six chairs"}, ConditionExpression="attribute_not_exists(id)")
    assert orders.get_item(Key={"id": "42"})["Item"]["text"] == "five chairs"
