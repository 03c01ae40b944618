"""A plugin for the aws command line: what it asks tables for shows the lock of `rocklock run`.

    rocklock run orders/42 -- aws dynamodb put-item --table-name orders --item '{"id": {"S": "42"}}'

In ~/.aws/config, for version 2 of aws with the folder that this file lies in:

    [plugins]
    cli_legacy_plugin_path = /usr/local/share/aws-plugins
    rocklock = aws_rocklock

Version 1 has no such path, so leave that line out: it finds the file as Python finds modules, with
PYTHONPATH=/usr/local/share/aws-plugins in its environment.

After `eval "$(rocklock acquire orders/42)"` what the shell starts shows that lock.
"""

import os


def show_lock(params, **_):
    for name, variable in (("X-Rocklock-Session", "ROCKLOCK_SESSION"), ("X-Rocklock-Token", "ROCKLOCK_TOKEN")):
        if variable in os.environ:
            params["headers"][name] = os.environ[variable]


def awscli_initialize(events):
    events.register("before-call.dynamodb", show_lock)
